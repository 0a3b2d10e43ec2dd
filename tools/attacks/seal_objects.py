# SPDX-License-Identifier: Apache-2.0
"""Loaders of files of SEAL: what they take must be computed with."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from attacks.target import Target
from halocline import seal

_PRIMES = [1099511592961, 1099511590913, 1099511560193]
"""Of 40 bits, 1 modulo 2048."""


def seal_size(data: bytes) -> bytes:
    """An object whose header says how many bytes it has."""
    return data[:8] + struct.pack("<Q", len(data)) + data[16:] if len(data) >= 16 else data


class _Rig:
    """An engine, and objects that it takes."""

    def __init__(self) -> None:
        self.params = seal.Parameters(1024, _PRIMES)
        rng = np.random.default_rng(5)
        limbs = [rng.integers(0, q, (2, 1, 1024), dtype=np.uint64) for q in _PRIMES[:2]]
        self.x = seal.Ciphertext(self.params, np.concatenate(limbs, axis=1), 2.0**20)
        self.engine = seal.Engine(self.params, allow_insecure=True, threads=1)

    def ciphertext(self, data: bytes) -> None:
        """What is taken is squared and stored."""
        taken = self.engine.load(seal.from_bytes(data, seal.Ciphertext, self.params))
        if taken.size <= 8 and taken.scale < 2.0**30:
            self.engine.square(taken).store()

    def plaintext(self, data: bytes) -> None:
        """What is taken is stored again."""
        self.engine.load(seal.from_bytes(data, seal.Plaintext, self.params)).store()

    def keys(self, data: bytes) -> None:
        """Keys that are taken switch a product."""
        relin = seal.from_bytes(data, seal.RelinKeys, self.params)
        engine = seal.Engine(self.params, relin_keys=relin, allow_insecure=True, threads=1)
        x = engine.load(self.x)
        engine.relinearize(engine.square(x)).store()

    def parameters(self, data: bytes) -> None:
        """Parameters that are taken describe themselves."""
        repr(seal.from_bytes(data, seal.Parameters))


def _relin_keys(of: seal.Parameters) -> bytes:
    """Relinearization keys, which no public class makes: two digits of two polynomials over all primes."""
    rng = np.random.default_rng(6)
    limbs = [rng.integers(0, q, 1024, dtype=np.uint64).tobytes() for q in of.primes]

    def wrapped(members: bytes) -> bytes:
        return seal_size(seal.to_bytes(of)[:16] + members)

    words = wrapped(struct.pack("<Q", 6 * 1024) + b"".join(limbs * 2))
    shape = struct.pack("<BQQQdQ", 1, 2, 1024, 3, 1.0, 1)
    digit = wrapped(of.parms_id() + shape + words)
    return wrapped(of.parms_id() + struct.pack("<QQ", 1, 2) + digit * 2)


def seal_targets() -> dict[str, Target]:
    """All loaders of SEAL's files."""
    rig = _Rig()
    plain = seal.Plaintext(rig.params, rig.x.residues[:1], 8.0)
    made: dict[str, tuple[bytes, Callable[[bytes], Any]]] = {
        "ciphertext": (seal.to_bytes(rig.x), rig.ciphertext),
        "ciphertext, zlib": (seal.to_bytes(rig.x, compression="zlib"), rig.ciphertext),
        "ciphertext, zstd": (seal.to_bytes(rig.x, compression="zstd"), rig.ciphertext),
        "plaintext": (seal.to_bytes(plain), rig.plaintext),
        "relinearization keys": (_relin_keys(rig.params), rig.keys),
        "parameters": (seal.to_bytes(rig.params), rig.parameters),
    }
    return {f"SEAL {name}": Target(data, load, seal_size) for name, (data, load) in made.items()}
