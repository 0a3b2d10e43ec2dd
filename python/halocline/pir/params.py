# SPDX-License-Identifier: Apache-2.0
"""Parameters of private retrieval: a preset, or a preset with other fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, integer, kind_of
from .layout import describe_geometry, make_geometry, security_of

DEFAULT = "pir-n4096"
REQUIRED_SECURITY = 128.0

_OPTIONAL = ("expansion_digits", "selection_digits", "secret_digits", "answer_bits")
_INTEGERS = ("log_n", "prime_count", "plain_bits", *_OPTIONAL)
_NUMBERS = ("prime_bits", "error_stddev", "log2_failure")


def preset_names() -> list[str]:
    """Names that `Params` accepts; `paper` needs `allow_insecure=True`."""
    return _core.retrieval_preset_names()


class Params:
    """A ring, its plaintexts and the largest allowed probability of a wrong answer. Immutable.

    `Params()` is the preset `pir-n4096`: the least work and the shortest answers. `pir-n2048` has shorter
    queries and keys, for small databases. `paper` has the numbers of the OnionPIRv2 publication, for
    comparisons: its security and failure probability are below what the others keep.

    overrides: fields of the preset that are to be others: log_n, prime_count, prime_bits, plain_bits (log2 of
    the plaintext modulus), error_stddev, log2_failure, expansion_digits, selection_digits, secret_digits,
    answer_bits. The last four are chosen for each database where they are None.

    Raises InsecureParameters below 128 bits of security unless `allow_insecure`; InvalidArgument.
    """

    def __init__(self, preset: str = DEFAULT, *, allow_insecure: bool = False, **overrides: Any) -> None:
        core = _core.RetrievalParams.preset(
            expect(preset, str, "pir.Params"), bool(allow_insecure or overrides)
        )
        if overrides:
            fields = core.fields() | _checked(overrides)
            fields["allow_insecure"] = bool(allow_insecure)
            fields |= {name: fields[name] or 0 for name in _OPTIONAL}
            fields["name"] = str(overrides.get("name", f"{preset}, changed"))
            core = _core.RetrievalParams.make(**fields)
        self._core = core

    @classmethod
    def _wrap(cls, core: _core.RetrievalParams) -> Params:
        made = cls.__new__(cls)
        made._core = core
        return made

    @property
    def name(self) -> str:
        """Name of the preset; a label."""
        return str(self._core.fields()["name"])

    @property
    def fields(self) -> dict[str, Any]:
        """All fields by name."""
        return self._core.fields()

    @property
    def n(self) -> int:
        """Ring degree."""
        return self._core.n

    @property
    def log2_q(self) -> float:
        """Base-2 logarithm of the ciphertext modulus."""
        return self._core.log2_q

    @property
    def plaintext_bytes(self) -> int:
        """Bytes of records that one plaintext holds."""
        return self._core.plaintext_bytes

    @property
    def security_bits(self) -> float:
        """Estimated security by published tables; 0 where none applies, as for `paper` (its authors: 117)."""
        return self._core.security_bits

    @property
    def log2_failure(self) -> float:
        """log2 of the largest allowed probability that a record decodes wrongly."""
        return float(self._core.fields()["log2_failure"])

    def describe(
        self,
        records: int,
        record_bytes: int,
        *,
        device: str = "cpu",
        batch: int = 1,
        memory: int | str | None = None,
    ) -> dict[str, Any]:
        """What a database of so many records would be like: sizes on the wire, failure probability, security.

        See `DatabaseInfo.describe`. device, batch, memory: what its layout is chosen for, as in
        `Database.build`.
        """
        made = make_geometry(self._core, records, record_bytes, device=device, batch=batch, memory=memory)
        return describe_geometry(made)

    def __eq__(self, other: object) -> bool:
        return self.fields == other.fields if isinstance(other, Params) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.fields.items()))

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], Params], tuple[dict[str, Any]]]:
        return _unpickle, (self.fields,)

    def __repr__(self) -> str:
        secure = security_of(self._core)
        return f"pir.Params({self.name!r}: N = {self.n}, log2 q = {self.log2_q:.1f}, security: {secure})"


def _checked(overrides: dict[str, Any]) -> dict[str, Any]:
    for name, value in overrides.items():
        if name in _INTEGERS and not (name in _OPTIONAL and value is None):
            integer(value, f"pir.Params: {name}", 1, 1 << 16)
        elif name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise WrongType(f"pir.Params: {name}: got {kind_of(value)}, expected a number")
        elif name == "name":
            expect(value, str, "pir.Params: name")
        elif name not in _INTEGERS + _NUMBERS:
            known = ", ".join((*_INTEGERS, *_NUMBERS))
            raise InvalidArgument(f"pir.Params: unknown field {name!r}; expected one of: {known}")
    return overrides


def _unpickle(fields: dict[str, Any]) -> Params:
    """Parameters of a pickle, checked anew: nothing in it can allow insecure ones."""
    given = dict(expect(fields, dict, "unpickling pir.Params"))
    given.pop("allow_insecure", None)
    return Params(**given)


def params_of(params: Params | str) -> Params:
    """Parameters, or those of a preset."""
    if isinstance(params, str):
        return Params(params)
    return expect(params, Params, "params", "give pir.Params() or the name of a preset")
