# SPDX-License-Identifier: Apache-2.0
"""Parameter sets: how large, how deep, how secure."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import _core
from ..base.errors import InsecureParameters, InvalidArgument, WrongType
from ..base.files import check_utf8, load_object, save_object
from ..base.values import byte_string, expect, integer, kind_of, positive

ENCAPSULATION = 2
"""Element that names the encapsulation key among the Galois elements of keys."""

REQUIRED_SECURITY = 128
"""Bits below which parameters are refused unless the caller says allow_insecure=True."""


@dataclasses.dataclass(frozen=True)
class LevelInfo:
    """One row of the level table."""

    level: int
    """Multiplications left."""
    log2_modulus: float
    """Base-2 logarithm of the modulus."""
    scale: float
    """Canonical scale: what automatic operations keep ciphertexts at."""
    arrival_scale: float
    """Scale of a rescaled product of the level above: `scale`, unless that level belongs to another group."""
    use: str
    """"message", or the step of bootstrapping that alone uses the level: "eval_mod" or "coeff_to_slot"."""
    primes: int
    """Primes in the modulus."""
    terminals: int
    """How many of them are terminal primes."""
    mains: int
    """How many of them are main primes."""
    ciphertext_bytes: int
    """Bytes of a ciphertext with two components."""
    key_bytes: int
    """Bytes of one evaluation key for levels up to this one."""


@dataclasses.dataclass(frozen=True)
class Bootstrapping:
    """What a parameter set has for bootstrapping."""

    eval_mod_levels: int
    """Levels next above `Params.max_level`."""
    eval_mod_bits: float
    """Base-2 logarithm of their scale."""
    coeff_to_slot_levels: int
    """The highest levels."""
    coeff_to_slot_bits: float
    """Base-2 logarithm of their scale."""
    slot_to_coeff_levels: int
    """Ordinary levels that each bootstrapping takes for SlotToCoeff."""
    raise_weight: int
    """Hamming weight of the secret under which the modulus is raised; the mean of a ternary one."""
    encapsulated: bool
    """Whether that is a sparse secret of its own, to which the encapsulation key leads."""
    ephemeral_log2_pq: float
    """Base-2 logarithm of the modulus under the sparse secret. This and what follows: 0 without one."""
    ephemeral_max_log2_pq: float
    """Bound on it for 128 bits of security."""
    ephemeral_security_bits: float
    """Estimated security of the sparse secret."""
    ephemeral_security_source: str
    """Publication and table that the estimate comes from."""

    def log2_overflow_probability(self, range_: float, slots: int) -> float:
        """log2 of the probability that bootstrapping `slots` slots leaves -range_..range_.

        That is, that one of the 2 `slots` coefficients, divided by the modulus of level 0, exceeds the range.
        """
        return _core.log2_overflow_probability(
            self.raise_weight,
            positive(range_, "log2_overflow_probability: range"),
            2 * integer(slots, "log2_overflow_probability: slots", 1, 1 << 16),
        )

    def overflow_range(self, log2_probability: float, slots: int) -> float:
        """The least whole range of EvalMod that is left with at most that probability."""
        if not isinstance(log2_probability, int | float):
            raise WrongType(
                f"overflow_range: log2_probability is {kind_of(log2_probability)}, expected a number"
            )
        count = integer(slots, "overflow_range: slots", 1, 1 << 16)
        return _core.overflow_range(self.raise_weight, float(log2_probability), 2 * count)


_permissions: list[_Permission] = []
"""What `allow_insecure_unpickling` has made and is in force."""


class _Permission:
    """In force from its making to the end of the `with` block, or of the process where there is none."""

    def __init__(self) -> None:
        _permissions.append(self)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _permissions.remove(self)


def allow_insecure_unpickling() -> contextlib.AbstractContextManager[None]:
    """Lets this process unpickle insecure parameters, and objects that belong to such, for tests.

    Pickles carry no permission: without this, unpickling parameters below 128 bits of security raises
    InsecureParameters, even where they were allowed when they were pickled. As a `with` block the permission
    ends with the block; as `initializer=` of a pool of processes it lasts as long as the worker. It is for
    all threads, because pools receive results in a thread of their own, and for nothing but pickles.
    """
    return _Permission()


class Params:
    """A checked parameter set: immutable, comparable, hashable, picklable.

    Made by `Params.preset(name)`, from JSON, or from fields:
    `Params(log_n=14, depth=7, scale_bits=40, base_bits=60, special_primes=4, digit_size=4)`. Fields and their
    units are those of the JSON form (`to_json`).

    Raises InvalidArgument for fields that are out of range or do not fit together, InsecureParameters below
    128 bits of security unless `allow_insecure=True`.
    """

    def __init__(self, *, allow_insecure: bool = False, **fields: Any) -> None:
        try:
            text = json.dumps({"schema": 1, "log_n": 14} | fields | {"allow_insecure": bool(allow_insecure)})
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument(
                f"Params: a field is no value of JSON ({error}); see Params.to_json()"
            ) from None
        self._core = _core.Params.from_json(text, False)

    @classmethod
    def _wrap(cls, core: _core.Params, allow_insecure: bool = True) -> Params:
        if not allow_insecure and core.security_bits < REQUIRED_SECURITY:
            raise InsecureParameters(
                f"parameters '{core.name}': {core.security_bits:.0f} bits of security, at least "
                f"{REQUIRED_SECURITY} required ({core.security_source}); for tests, and for files of sets "
                "that were secure by an older table, say allow_insecure=True"
            )
        made = cls.__new__(cls)
        made._core = core
        return made

    @classmethod
    def preset(cls, name: str, *, allow_insecure: bool = False) -> Params:
        """The preset of that name; `preset_names()` lists them. Those called test-... are insecure."""
        return cls._wrap(_core.Params.preset(expect(name, str, "Params.preset")), allow_insecure)

    @classmethod
    def from_json(cls, text: str | bytes, *, allow_insecure: bool = False) -> Params:
        """Parameters from what `to_json` wrote. Raises CorruptData when the text is no JSON.

        `allow_insecure` accepts any below 128 bits, also such as were secure by an older table.
        """
        if isinstance(text, bytes):
            check_utf8(text, "Params.from_json: the text")
            text = text.decode()
        core = _core.Params.from_json(expect(text, str, "Params.from_json"), bool(allow_insecure))
        return cls._wrap(core, allow_insecure)

    def to_json(self, indent: int = 2) -> str:
        """All fields as a JSON object; numbers round-trip exactly."""
        return self._core.to_json(integer(indent, "indent", 0, 16))

    @classmethod
    def from_bytes(cls, data: bytes, *, allow_insecure: bool = False) -> Params:
        """Parameters from `to_bytes`, or from the bytes of any other object, all of which carry theirs."""
        core = _core.params_from_bytes(byte_string(data, "Params.from_bytes"), True)
        return cls._wrap(core, allow_insecure)

    def to_bytes(self) -> bytes:
        """The container form."""
        return self._core.to_bytes()

    @classmethod
    def load(cls, path: str | Path, *, allow_insecure: bool = False) -> Params:
        """Parameters from a file of `save`, or from any other container file."""
        return load_object(
            path,
            "Params.load",
            lambda name: cls._wrap(_core.params_from_file(name, True), allow_insecure),
            lambda data: cls.from_bytes(data, allow_insecure=allow_insecure),
        )

    def save(self, path: str | Path) -> None:
        """Writes a container file: as a whole or not at all."""
        save_object(path, "Params.save", self._core.save, self._core.to_bytes)

    @property
    def name(self) -> str:
        """Label for messages and files; no part of the identity."""
        return self._core.name

    @property
    def log_n(self) -> int:
        """Base-2 logarithm of the ring degree."""
        return self._core.log_n

    @property
    def n(self) -> int:
        """Ring degree."""
        return self._core.n

    @property
    def slots(self) -> int:
        """Largest number of complex values in a ciphertext: half the ring degree."""
        return self._core.slots

    @property
    def max_level(self) -> int:
        """Level of a fresh ciphertext: how many multiplications it allows."""
        return self._core.max_level

    @property
    def top_level(self) -> int:
        """Highest level of all: `max_level`, and above it the levels that only bootstrapping uses."""
        return self._core.top_level

    @property
    def base_modulus(self) -> float:
        """The modulus of level 0, rounded to a float."""
        return self._core.base_modulus

    @cached_property
    def bootstrapping(self) -> Bootstrapping | None:
        """What bootstrapping needs; None for sets that cannot be bootstrapped."""
        found = self._core.bootstrapping()
        return None if found is None else Bootstrapping(**found)

    @property
    def word_bits(self) -> int:
        """32 or 64: bits of the machine words that hold residues."""
        return self._core.word_bits

    @property
    def security_bits(self) -> float:
        """Estimated security against classical attacks, in bits, by published tables.

        Of the weaker secret, where bootstrapping has a sparse one.
        """
        return self._core.security_bits

    @property
    def main_security_bits(self) -> float:
        """Estimated security of the main secret alone, in bits."""
        return self._core.main_security_bits

    @property
    def security_source(self) -> str:
        """Publication and table that the estimate comes from."""
        return self._core.security_source

    @property
    def max_log2_pq(self) -> float:
        """Bound on `log2_pq` for 128 bits of security; 0 where no table applies."""
        return self._core.max_log2_pq

    @property
    def log2_q(self) -> float:
        """Base-2 logarithm of the modulus of the highest level of all."""
        return self._core.log2_q

    @property
    def log2_p(self) -> float:
        """Base-2 logarithm of the product of the special primes."""
        return self._core.log2_p

    @property
    def log2_pq(self) -> float:
        """Base-2 logarithm of the product of all primes: what security depends on."""
        return self._core.log2_pq

    @property
    def digit_count(self) -> int:
        """Digits of a key switch (dnum)."""
        return self._core.digit_count

    @property
    def primes(self) -> list[int]:
        """All primes: special, terminal, main."""
        return self._core.primes

    @cached_property
    def levels(self) -> tuple[LevelInfo, ...]:
        """The level table, from level 0 up to `top_level`."""
        return tuple(LevelInfo(**self._core.level_row(level)) for level in range(self.top_level + 1))

    def level(self, level: int) -> LevelInfo:
        """One row of the level table."""
        return self.levels[self._level(level)]

    def ciphertext_bytes(self, level: int | None = None, components: int = 2) -> int:
        """Bytes of a ciphertext in memory; the level of fresh ones unless given."""
        return self._core.ciphertext_bytes(self._level(level), integer(components, "components", 1, 3))

    def plaintext_bytes(self, level: int | None = None) -> int:
        """Bytes of an encoded plaintext in memory."""
        return self._core.plaintext_bytes(self._level(level))

    def key_bytes(self, level: int | None = None, seeded: bool = False) -> int:
        """Bytes of one evaluation key for levels up to `level`; seeded keys keep one half as a seed."""
        return self._core.key_bytes(self._level(level), bool(seeded))

    def encapsulation_key_bytes(self, seeded: bool = False) -> int:
        """Bytes of the encapsulation key of bootstrapping; 0 for parameters that need none."""
        return self._core.encapsulation_key_bytes(self.top_level, bool(seeded))

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables (roots, moduli) that each client and engine holds."""
        return self._core.table_bytes()

    @property
    def public_key_bytes(self) -> int:
        """Bytes of a public encryption key in memory."""
        return self._core.public_key_bytes()

    @property
    def secret_key_bytes(self) -> int:
        """Bytes of a secret key in memory."""
        return self._core.secret_key_bytes()

    @property
    def permutation_bytes(self) -> int:
        """Bytes of the table that an engine keeps for each rotation it has used."""
        return self._core.permutation_bytes()

    def key_switch_workspace_bytes(self, level: int | None = None) -> int:
        """Scratch bytes of one key switch."""
        return self._core.key_switch_workspace_bytes(self._level(level))

    def _level(self, level: int | None) -> int:
        return self.max_level if level is None else integer(level, "level", 0, self.top_level)

    def _fresh_level(self, level: int | None, what: str) -> int:
        """A level at which something can be encrypted."""
        return self.max_level if level is None else integer(level, what, 0, self.max_level)

    def _request_bytes(self, element: int, level: int, seeded: bool = False) -> int:
        """Bytes of the key of a Galois element, of the encapsulation key (element 2) or of a raised rotation
        key (twice an odd one)."""
        return self._core.request_bytes(element, level, seeded)

    @property
    def fingerprint(self) -> str:
        """Hexadecimal name of everything that changes a ciphertext or a key."""
        return self._core.fingerprint.hex()

    def __eq__(self, other: object) -> bool:
        return self._core == other._core if isinstance(other, Params) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._core.fingerprint)

    def __program_identity__(self) -> str:
        return self.fingerprint

    def __reduce__(self) -> tuple[Callable[[str], Params], tuple[str]]:
        return _unpickle, (self.to_json(0),)

    def __copy__(self) -> Params:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Params:
        return self

    def __repr__(self) -> str:
        return (
            f"Params({self.name!r}: N = 2^{self.log_n}, {self.max_level} levels, "
            f"log2 PQ = {self.log2_pq:.1f}, {self.security_bits:.0f} bits of security)"
        )


def _unpickle(text: str) -> Params:
    """Parameters of a pickle, checked anew: nothing in it can allow what this process does not."""
    core = _core.Params.from_json(expect(text, str, "unpickling parameters"), bool(_permissions))
    if core.security_bits < REQUIRED_SECURITY and not _permissions:
        raise InsecureParameters(
            f"parameters '{core.name}' of a pickle: {core.security_bits:.0f} bits of security, at least "
            f"{REQUIRED_SECURITY} required; for tests, unpickle them within allow_insecure_unpickling()"
        )
    return Params._wrap(core)


def preset_names() -> list[str]:
    """Names that `Params.preset` accepts."""
    return _core.preset_names()


def preset_description(name: str) -> str:
    """One line on what a preset is for."""
    return _core.preset_description(expect(name, str, "preset_description"))


def carried_params(source: bytes | str, params: Params | None, allow_insecure: bool = False) -> Params:
    """`params`, or those that a container carries: bytes, or a file by name.

    Carried ones must be secure unless this call allows others: what was loaded or made before plays no part.
    """
    if params is not None:
        return expect(params, Params, "params")
    if isinstance(source, bytes):
        return Params._wrap(_core.params_from_bytes(source, True), allow_insecure)
    return Params._wrap(_core.params_from_file(source, True), allow_insecure)


def expect_same(params: Params, objects: Iterable[tuple[str, Params]], what: str) -> None:
    """Raises InvalidArgument unless all (name, parameters) have the given parameters."""
    for name, other in objects:
        if other != params:
            raise InvalidArgument(
                f"{what}: {name} belongs to parameters '{other.name}' ({other.fingerprint[:16]}), expected "
                f"'{params.name}' ({params.fingerprint[:16]}); use objects of one parameter set"
            )
