# SPDX-License-Identifier: Apache-2.0
"""The client of a network on a server: it has a specification, a secret key and inputs, but no weights."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import _core
from ..base import limits
from ..base.errors import ActivationRange, InvalidArgument, NotPicklable, WrongType
from ..base.progress import Progress
from ..base.values import byte_count, expect, integer, kind_of
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client as KeyOwner
from ..ckks.keys import EvaluationKeys
from ..ckks.params import expect_same
from .client_spec import ClientSpec
from .layers import Array, real_values
from .model import channels_last

_FULL = 0.25  # of the limit of results: what sums of calibrated inputs leave free


class Client:
    """Encrypts inputs and decrypts results of a network of which it has a `ClientSpec` only.

    `Client(spec)` draws a secret key; `owner` is a `halocline.Client` of the same parameters that has one.
    Nothing that a specification says makes a client use parameters below 128 bits of security, write to
    places other than slots of its own, or reveal its key; a wrong one gives wrong results.
    """

    def __init__(
        self, spec: ClientSpec, owner: KeyOwner | None = None, *, threads: int | None = None
    ) -> None:
        self._spec = expect(spec, ClientSpec, "Client", "use ClientSpec.load(path), or Client.load(path)")
        if owner is not None:
            expect(owner, KeyOwner, "Client: owner")
            expect_same(spec.params, [("the owner of the key", owner.params)], "Client")
        self._owner = owner or KeyOwner(spec.params, threads=threads)

    @classmethod
    def load(
        cls,
        spec: str | os.PathLike[str],
        *,
        secret_key: str | Path | None = None,
        threads: int | None = None,
        allow_insecure: bool = False,
    ) -> Client:
        """The client of a file that `client_spec().save` wrote.

        secret_key: a file of `save_secret_key`, made with the same parameters; a fresh key unless given.
        @throws CorruptData, IoError, InsecureParameters (unless `allow_insecure`), InvalidArgument
        """
        read = ClientSpec.load(spec, allow_insecure=allow_insecure)
        owner = None if secret_key is None else KeyOwner.load(secret_key, read.params, threads=threads)
        return cls(read, owner, threads=threads)

    @property
    def spec(self) -> ClientSpec:
        """What it was made from."""
        return self._spec

    @property
    def owner(self) -> KeyOwner:
        """The secret key, for what else can be done with it."""
        return self._owner

    @property
    def key_id(self) -> str | None:
        """Public name of the secret key, as `halocline.Client.key_id`."""
        return self._owner.key_id

    def save_secret_key(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the secret key, unencrypted, to a file that only its owner may read."""
        self._owner.save_secret_key(path, overwrite=overwrite)

    def evaluation_keys(
        self, *, limit: int | str = limits.CLIENT_KEYS, progress: Progress | None = None
    ) -> EvaluationKeys:
        """The keys that the server needs; they hold no secret.

        limit: bytes that they may take as they are sent. Specifications come from outside, so a client makes
            no more unless the caller allows it. progress: called with the number of keys done and in all.
        @throws InvalidArgument where they would take more
        """
        plan, most = self._spec.key_plan, byte_count(limit, "evaluation_keys: limit")
        if (found := plan.nbytes(seeded=True)) > most:
            raise InvalidArgument(
                f"evaluation_keys: the specification asks for {len(plan)} keys of "
                f"{_core.format_bytes(found)}, more than {_core.format_bytes(most)}; if you trust it, pass "
                "limit="
            )
        return self._owner.evaluation_keys(plan=plan, progress=progress)

    def prepare(self, inputs: Any) -> Array:
        """Normalised inputs (count, *shape) of one input, or of several in front.

        Warns (`ActivationRange`) where values leave the range of the specification.
        @throws InvalidArgument for other shapes, NaN and infinite values
        """
        given, shape = self._spec.input, self._spec.input.shape
        array = real_values(inputs, "encrypt")
        batch = array[np.newaxis] if array.shape == shape else array
        if batch.shape[1:] != shape or len(batch) == 0:
            raise InvalidArgument(
                f"encrypt: an input of shape {array.shape}, expected {shape}, or several of them in an array "
                f"with the count in front{channels_last(array.shape, shape)}"
            )
        if not np.isfinite(batch).all():
            raise InvalidArgument("encrypt: NaN or infinite values; expected finite numbers")
        prepared = given.prepare(batch.astype(np.float64))
        low, high = float(prepared.min()), float(prepared.max())
        if given.range is not None and not given.range[0] <= low <= high <= given.range[1]:
            warnings.warn(
                f"values from {low:.4g} to {high:.4g}, but the network was made for inputs from "
                f"{given.range[0]:.4g} to {given.range[1]:.4g}: encrypted results may be wrong. Pass inputs "
                "in the units that the network expects",
                ActivationRange,
                stacklevel=3,
            )
        return prepared

    def encrypt(self, inputs: Any) -> Ciphertext | list[Ciphertext]:
        """Inputs, prepared and encrypted at the level that the network needs: each ciphertext can be saved.

        A `Ciphertext` for one input where one holds no more, else a list: for each group of as many inputs as
        the specification packs together, its ciphertexts. Groups that are not full repeat the last input.
        """
        given = self._spec.input
        single = np.shape(inputs) == given.shape
        prepared = self.prepare(inputs)
        step, slots = given.places.images, given.places.slots
        vectors = [
            vector
            for first in range(0, len(prepared), step)
            for vector in given.places.pack(prepared[first : first + step])
        ]
        made = [self._owner.encrypt(each, level=given.level, slots=slots) for each in vectors]
        layouts = (given.places, self._spec.output.places)
        alone = single and all(each.images == each.ciphertexts == 1 for each in layouts)
        return made[0] if alone else made

    def decrypt(self, results: Ciphertext | Sequence[Ciphertext], count: int | None = None) -> Array:
        """What the network says: of the result's shape for one ciphertext, (count, *shape) for a list.

        count: so many results; all that the ciphertexts have room for unless given.
        Warns (`ActivationRange`) of results so large that larger ones would have wrapped around.
        @throws KeyMismatch for results of another client; InvalidArgument for what is no result of this one
        """
        if count is not None:
            count = integer(count, "decrypt: count", 1)
        made, listed = self._spec.output, self._listed(results)
        for each in listed:
            self._check_result(each)
        together = made.places.ciphertexts
        if not listed or len(listed) % together:
            raise InvalidArgument(
                f"decrypt: {len(listed)} ciphertexts, expected {together} for {made.places.images} "
                "results, or a multiple of that"
            )
        vectors = [self._owner.decrypt(each, real=True) for each in listed]
        groups = [
            made.places.unpack(vectors[first : first + together])
            for first in range(0, len(vectors), together)
        ]
        values: Array = np.concatenate(groups)[:count] * made.scale
        if (found := float(np.abs(values).max())) > _FULL * made.limit:
            warnings.warn(
                f"results of up to {found:.3g}, but encrypted ones hold {made.limit:.3g} at most: larger "
                "ones come out wrong. Take smaller inputs",
                ActivationRange,
                stacklevel=2,
            )
        return values[0] if isinstance(results, Ciphertext) and len(values) == 1 else values

    @staticmethod
    def _listed(results: Any) -> list[Any]:
        if isinstance(results, Ciphertext):
            return [results]
        if not isinstance(results, Iterable):
            raise WrongType(
                f"decrypt: got {kind_of(results)}, expected a Ciphertext or a list of them, as run returns"
            )
        return list(results)

    def _check_result(self, result: Any) -> None:
        places = self._spec.output.places
        expect(result, Ciphertext, "decrypt", "Ciphertext.load(path) reads a file")
        expect_same(self._spec.params, [("the result", result.params)], "decrypt")
        if result.slots != places.slots:
            raise InvalidArgument(
                f"decrypt: a ciphertext of {result.slots} slots, results of this network have {places.slots}"
            )

    def classify(self, results: Ciphertext | Sequence[Ciphertext], count: int | None = None) -> list[str]:
        """The class of each result, by the rule of the specification; its number where that names none.

        Raises InvalidArgument where the results are numbers that stand for no class.
        """
        values = self.decrypt(results, count).reshape(-1, *self._spec.output.shape)
        names, found = self._spec.output.classes, self._spec.output.decision(values)
        return [names[each] if names else str(each) for each in found]

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a Client owns a secret key and cannot be pickled or copied; keep the key in a file with "
            "save_secret_key, and the specification with spec.save"
        )

    def __repr__(self) -> str:
        return f"Client({self._spec.name!r}: input {self._spec.input.shape}, key {self.key_id})"
