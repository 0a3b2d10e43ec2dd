# SPDX-License-Identifier: Apache-2.0
"""Halocline's side of the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _core
from ...ckks.client import Client
from ...ckks.params import Params
from ...engine.engine import Engine
from . import sets
from .side import Values


class HaloclineSide:
    """Our preset of a set, on the CPU with a given number of threads. See `Side`.

    The calls go to the extension module because its steps are those that the peers' interfaces have: the
    package's `client.encrypt` encodes and encrypts, `client.decrypt` decrypts and decodes.
    """

    def __init__(self, peer_set: sets.PeerSet, x: Values, y: Values, threads: int = 1) -> None:
        params = Params.preset(peer_set.name)
        client = Client(params, threads=threads)
        engine = Engine(params, client.evaluation_keys(rotations=[1]), threads=threads)
        self.label = f"Halocline {_core.version}"
        self.log_q = params.log2_q
        self.log_pq = params.log2_pq
        self.simd: str = engine.describe()["simd"]
        self._client = client._core
        self._engine = engine._core
        self._level = params.max_level
        self.calls: dict[str, Callable[[], Any]] = self._client_calls(x) | self._engine_calls(x, y)

    def _fresh(self, values: Values) -> _core.Ciphertext:
        return _core.encrypt_plain(self._client, _core.encode(self._client, values, self._level), True)

    def _client_calls(self, x: Values) -> dict[str, Callable[[], Any]]:
        client, level = self._client, self._level
        plain, ct = _core.encode(client, x, level), self._fresh(x)
        return {
            sets.ENCODE: lambda: _core.encode(client, x, level),
            sets.ENCRYPT: lambda: _core.encrypt_plain(client, plain, True),
            sets.ENCRYPT_SYMMETRIC: lambda: _core.encrypt_plain(client, plain, False),
            sets.DECRYPT: lambda: _core.decrypt_plain(client, ct),
            sets.DECODE: lambda: _core.decode(client, plain),
            sets.DECRYPT_DECODE: lambda: client.decrypt(ct, 0.0),
        }

    def _engine_calls(self, x: Values, y: Values) -> dict[str, Callable[[], Any]]:
        engine = self._engine
        a, b = engine.load(self._fresh(x)), engine.load(self._fresh(y))
        plain = _core.encode(engine, y, self._level)
        engine.manual = True
        three_parts = engine.multiply(a, b)
        product = engine.relinearize(three_parts)

        def multiply_full() -> _core.Ciphertext:
            engine.manual = False
            result = engine.multiply(a, b)
            engine.manual = True
            return result

        return {
            sets.ADD: lambda: engine.add(a, b),
            sets.MULTIPLY_PLAIN: lambda: _core.multiply_plain(engine, a, plain),
            sets.MULTIPLY: lambda: engine.multiply(a, b),
            sets.RELINEARIZE: lambda: engine.relinearize(three_parts),
            sets.RESCALE: lambda: engine.rescale(product),
            sets.MULTIPLY_FULL: multiply_full,
            sets.ROTATE: lambda: engine.rotate(a, 1),
        }

    def reveal(self, result: Any) -> Values:
        """Slots of a plaintext, of a ciphertext of the client or the engine, or of decoded values."""
        if isinstance(result, _core.Plaintext):
            result = _core.decode(self._client, result)
        elif isinstance(result, _core.Ciphertext):
            result = self._client.decrypt(result, 0.0)
        return np.ascontiguousarray(np.asarray(result).real)
