# SPDX-License-Identifier: Apache-2.0
"""The server of a network: a compiled model and the evaluation keys of one client."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

from ..base.errors import KeyMismatch, MissingKey, NotPicklable
from ..base.values import byte_string, expect
from ..ckks.ciphertext import Ciphertext
from ..ckks.keys import EvaluationKeys
from ..ckks.params import expect_same
from ..engine.engine import Engine
from .compiled import CompiledModel


class Server:
    """Evaluates a network for the client whose evaluation keys it has; inputs are untrusted.

    Everything is checked before anything is computed: keys when the server is made, each input before it
    runs. `options` are those of `Engine`: memory, policy, device, threads.
    """

    def __init__(self, compiled: CompiledModel, keys: EvaluationKeys, **options: Any) -> None:
        self._compiled = expect(compiled, CompiledModel, "Server: network", "use halocline.nn.compile")
        self._keys = expect(keys, EvaluationKeys, "Server: keys", "use EvaluationKeys.load(path, params)")
        expect_same(compiled.params, [("the key bundle", keys.params)], "Server")
        there = keys.levels
        lacking = [each for each, level in compiled.key_plan.requests() if there.get(each, -1) < level]
        if lacking:
            raise MissingKey(
                f"Server: {len(lacking)} of {len(compiled.key_plan)} evaluation keys are missing, or are for "
                "too few levels; the client makes them with nn.Client.evaluation_keys() from the "
                "specification of this network"
            )
        self._engine = Engine(compiled.params, keys, **options)

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a Server holds an engine and cannot be pickled; pickle the network and the keys, and make one "
            "in each process"
        )

    @property
    def engine(self) -> Engine:
        """What computes."""
        return self._engine

    def run(self, inputs: Ciphertext | Sequence[Ciphertext]) -> Any:
        """The encrypted result of one ciphertext, or the list of results of the list that `encrypt` made.

        @throws KeyMismatch for an input of another client; InvalidArgument for one of other parameters, slots
            or levels
        """
        for ct in inputs if isinstance(inputs, list | tuple) else [inputs]:
            self._check(ct)
        return self._compiled.run(self._engine, inputs)

    def _check(self, ct: Any) -> None:
        """That a ciphertext has the parameters of the network and the secret key of the keys."""
        expect(ct, Ciphertext, "Server: input", "nn.Client.encrypt makes it")
        expect_same(self._compiled.params, [("the input", ct.params)], "Server")
        if None not in (ct.key_id, self._keys.key_id) and ct.key_id != self._keys.key_id:
            raise KeyMismatch(
                f"Server: the input belongs to the secret key {ct.key_id}, the evaluation keys to "
                f"{self._keys.key_id}; both must come from one client"
            )

    def answer(self, request: bytes | Sequence[bytes]) -> Any:
        """The same from bytes to bytes, or from a list of them to a list. Raises CorruptData too."""
        if isinstance(request, list | tuple):
            return [each.to_bytes() for each in self.run([self._read(each) for each in request])]
        return self.run(self._read(request)).to_bytes()

    def _read(self, data: Any) -> Ciphertext:
        return Ciphertext.from_bytes(byte_string(data, "Server: request"), self._compiled.params)

    def answer_file(self, source: str | os.PathLike[str], to: str | os.PathLike[str]) -> None:
        """The same from a file to a file, which is written as a whole or not at all. Raises IoError too.

        For networks that take one ciphertext and give one.
        """
        self.run(Ciphertext.load(os.fspath(source), self._compiled.params)).save(os.fspath(to))

    def __repr__(self) -> str:
        return f"Server({self._compiled!r}, keys of {self._keys.key_id})"
