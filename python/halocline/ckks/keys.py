# SPDX-License-Identifier: Apache-2.0
"""Public keys: for evaluation and for encryption, and plans that say which ones are needed."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from .. import _core
from ..base.errors import CorruptData, InvalidArgument
from ..base.files import load_object, parse_json, save_object
from ..base.values import byte_string, expect, integer, positive, vector
from .ciphertext import Ciphertext
from .params import ENCAPSULATION, Params, carried_params

RELINEARIZATION = 1
"""Galois element that names the relinearization key."""


class _KeyNames(ABC):
    """What a set of Galois elements means, for key bundles and plans alike."""

    params: Params

    @abstractmethod
    def requests(self) -> list[tuple[int, int]]:
        """(Galois element, highest level) of each key, ascending."""

    @property
    def levels(self) -> dict[int, int]:
        """Galois element -> highest level."""
        return dict(self.requests())

    @property
    def rotations(self) -> list[int]:
        """Rotation steps, ascending; a step k and k - N/2 are the same rotation."""
        steps = (self.params._core.rotation_of(element) for element, _ in self.requests())
        return sorted(step for step in steps if step)

    @property
    def conjugation(self) -> bool:
        """Whether the conjugation key is among them."""
        return self.params._core.conjugation_element in self.levels

    @property
    def relinearization(self) -> bool:
        """Whether the relinearization key is among them."""
        return RELINEARIZATION in self.levels

    @property
    def encapsulation(self) -> bool:
        """Whether the encapsulation key of bootstrapping is among them."""
        return ENCAPSULATION in self.levels

    def __len__(self) -> int:
        return len(self.requests())

    def _summary(self) -> str:
        if not self.requests():
            return "no keys"
        names = [f"rotations {self.rotations}"]
        names += ["conjugation"] * self.conjugation + ["relinearization"] * self.relinearization
        names += ["encapsulation"] * self.encapsulation
        return ", ".join(names)


class KeyPlan(_KeyNames):
    """Which evaluation keys a program needs, and up to which level: exactly those, nothing more.

    Made by `halocline.key_plan` from a ghost run; `client.evaluation_keys(plan=plan)` generates the keys. A
    plan holds nothing secret; `to_json` and `from_json` carry it from a server to a client.
    """

    def __init__(self, params: Params, requests: Iterable[tuple[int, int]]) -> None:
        self.params = expect(params, Params, "KeyPlan")
        largest = _core.largest_key_element(params._core)
        self._requests = sorted(
            (
                integer(element, "Galois element", 1, largest),
                integer(level, "level", 0, params.top_level),
            )
            for element, level in requests
        )

    def requests(self) -> list[tuple[int, int]]:
        """(Galois element, highest level) of each key, ascending."""
        return list(self._requests)

    def nbytes(self, seeded: bool = False) -> int:
        """Bytes of the keys in memory; seeded, as they travel, about half of it."""
        return sum(self.params._request_bytes(*each, seeded) for each in self._requests)

    def seeded_within(self, nbytes: int, uses: Mapping[int, int]) -> frozenset[int]:
        """Galois elements of the keys that must stay seeded for all of them to fit, `Engine(keep_seeds=...)`.

        uses: how often each is used, as `ProgramTrace.key_uses` says: those used least are seeded first,
            because each use expands them, and of these the largest.
        @throws InvalidArgument when the keys exceed `nbytes` even if all are seeded.
        """
        limit = integer(nbytes, "seeded_within: nbytes", 1)
        total, seeded = self.nbytes(), set()
        for element, level in sorted(self._requests, key=lambda each: (uses.get(each[0], 0), -each[1])):
            if total <= limit:
                break
            size = self.params._request_bytes(element, level, False)
            total -= size - self.params._request_bytes(element, level, True)
            seeded.add(element)
        if total > limit:
            raise InvalidArgument(
                f"seeded_within: the keys take {total} bytes even if all stay seeded, more than {limit}; "
                "give them more memory, or ask for fewer keys"
            )
        return frozenset(seeded)

    def to_json(self) -> str:
        """The plan as JSON."""
        content = {"schema": 1, "parameters": self.params.fingerprint, "keys": self._requests}
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str, params: Params) -> KeyPlan:
        """A plan from `to_json`, made for equal parameters."""
        try:
            content = parse_json(text, "key plan")
            schema, fingerprint = content["schema"], content["parameters"]
            pairs = [(element, level) for element, level in content["keys"]]
        except CorruptData:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptData(f"key plan: not the JSON of a key plan ({error})") from None
        if schema != 1:
            raise InvalidArgument(
                f"key plan: schema {schema!r}, expected 1; it was written by a newer version"
            )
        if fingerprint != params.fingerprint:
            raise InvalidArgument(
                f"key plan: made for parameters {fingerprint!r:.40}, expected {params.fingerprint} "
                f"('{params.name}')"
            )
        made = cls(params, pairs)
        if len(made.levels) != len(pairs):
            raise CorruptData("key plan: it names a key twice; expected each Galois element once")
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyPlan):
            return NotImplemented
        return self.params == other.params and self._requests == other._requests

    def __hash__(self) -> int:
        return hash((self.params, tuple(self._requests)))

    def __repr__(self) -> str:
        return f"KeyPlan({self._summary()})"


class EvaluationKeys(_KeyNames):
    """Keys that let an engine multiply and rotate. They hold no secret: send them to the server.

    Made by `Client.evaluation_keys`. In memory, in files and on the way the keys are seeded: half the bytes.
    A bundle may be empty, for programs that need no keys; it still names the secret key.
    """

    def __init__(self, core: _core.EvaluationKeys) -> None:
        self._core = expect(core, _core.EvaluationKeys, "EvaluationKeys", "use client.evaluation_keys(...)")
        self.params = Params._wrap(core.params)

    def requests(self) -> list[tuple[int, int]]:
        """(Galois element, highest level) of each key, ascending."""
        return self._core.list()

    @property
    def key_id(self) -> str | None:
        """The secret key that they are for, as `Client.key_id`; None where that is unknown."""
        return self._core.key_id

    @property
    def nbytes(self) -> int:
        """Bytes that the keys occupy here."""
        return self._core.nbytes

    def to_bytes(self) -> bytes:
        """The container form."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, params: Params | None = None, *, allow_insecure: bool = False
    ) -> EvaluationKeys:
        """Keys from `to_bytes`. Everything is checked before a key comes out.

        With `params` the keys must belong to them; otherwise the parameters that the bytes carry are taken,
        which must be secure unless `allow_insecure=True`. Raises CorruptData, InvalidArgument (another kind
        of object, other parameters), InsecureParameters.
        """
        data = byte_string(data, "EvaluationKeys.from_bytes")
        return cls(_core.keys_from_bytes(data, carried_params(data, params, allow_insecure)._core))

    def save(self, path: str | Path) -> None:
        """Writes a container file: as a whole or not at all. Raises IoError."""
        save_object(path, "EvaluationKeys.save", self._core.save, self.to_bytes)

    @classmethod
    def load(
        cls, path: str | Path, params: Params | None = None, *, allow_insecure: bool = False
    ) -> EvaluationKeys:
        """Keys from a file of `save`; see `from_bytes`. Raises IoError when it cannot be read."""
        return load_object(
            path,
            "EvaluationKeys.load",
            lambda name: cls(_core.keys_from_file(name, carried_params(name, params, allow_insecure)._core)),
            lambda data: cls.from_bytes(data, params, allow_insecure=allow_insecure),
        )

    def __program_identity__(self) -> EvaluationKeys:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return EvaluationKeys.from_bytes, (self.to_bytes(), self.params)

    def __iter__(self) -> Iterator[str]:
        return (_core.describe_key(self.params._core, element) for element, _ in self.requests())

    def __repr__(self) -> str:
        return f"EvaluationKeys({self._summary()}; {_core.format_bytes(self.nbytes)})"


class PublicKey:
    """Key with which any party can encrypt for the client. Made by `Client.public_key`."""

    def __init__(self, core: _core.PublicKey) -> None:
        self._core = expect(core, _core.PublicKey, "PublicKey", "use client.public_key()")
        self.params = Params._wrap(core.params)

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
    ) -> Ciphertext:
        """A ciphertext of `values`; arguments, result and errors as those of `Client.encrypt`."""
        array, real = vector(values, "encrypt")
        level = self.params._fresh_level(level, "encrypt: level")
        scale = None if scale is None else positive(scale, "encrypt: scale")
        count = 0 if slots is None else integer(slots, "encrypt: slots", 1)
        return Ciphertext(_core.encrypt_with(self._core, array, level, scale, count), None, real)

    @property
    def key_id(self) -> str | None:
        """The secret key that it is for, as `Client.key_id`; None where that is unknown."""
        return self._core.key_id

    @property
    def nbytes(self) -> int:
        """Bytes that the key occupies here."""
        return self._core.nbytes

    def to_bytes(self) -> bytes:
        """The container form."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(
        cls, data: bytes, params: Params | None = None, *, allow_insecure: bool = False
    ) -> PublicKey:
        """A key from `to_bytes`; see `EvaluationKeys.from_bytes`."""
        data = byte_string(data, "PublicKey.from_bytes")
        return cls(_core.public_key_from_bytes(data, carried_params(data, params, allow_insecure)._core))

    def save(self, path: str | Path) -> None:
        """Writes a container file: as a whole or not at all. Raises IoError."""
        save_object(path, "PublicKey.save", self._core.save, self.to_bytes)

    @classmethod
    def load(
        cls, path: str | Path, params: Params | None = None, *, allow_insecure: bool = False
    ) -> PublicKey:
        """A key from a file of `save`; see `EvaluationKeys.from_bytes`."""
        return load_object(
            path,
            "PublicKey.load",
            lambda name: cls(
                _core.public_key_from_file(name, carried_params(name, params, allow_insecure)._core)
            ),
            lambda data: cls.from_bytes(data, params, allow_insecure=allow_insecure),
        )

    def __program_identity__(self) -> PublicKey:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return PublicKey.from_bytes, (self.to_bytes(), self.params)

    def __repr__(self) -> str:
        return f"PublicKey({_core.format_bytes(self.nbytes)})"
