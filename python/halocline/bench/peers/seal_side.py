# SPDX-License-Identifier: Apache-2.0
"""Microsoft SEAL's side of the comparison, through the wheel `seal-python`."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import Error
from ...base.extras import install
from . import sets
from .side import Values

DISTRIBUTION = "seal-python"


class PeerNotInstalled(Error, ImportError):
    """A library that the comparison needs is not installed."""


def import_seal() -> Any:
    """The module. Raises PeerNotInstalled, which says how to install it."""
    try:
        module = importlib.import_module("seal")
    except ImportError as error:
        raise PeerNotInstalled(
            f"bench peers: {DISTRIBUTION} cannot be imported ({error}); install the extra 'peers' into this "
            f"Python: {install('peers')}, or in a checkout "
            ".venv/bin/pip install -r tools/requirements/peers.txt"
        ) from None
    if not hasattr(module, "CKKSEncoder"):
        raise PeerNotInstalled(
            f"bench peers: the module 'seal' is not that of {DISTRIBUTION}; remove what installed it and run "
            f"{install('peers')}"
        )
    return module


def seal_version() -> str:
    """Version of the installed wheel."""
    return importlib.metadata.version(DISTRIBUTION)


class SealSide:
    """SEAL with one digit per prime and one special prime, the only key switching it has. See `Side`."""

    def __init__(self, peer_set: sets.PeerSet, x: Values, y: Values) -> None:
        seal = import_seal()
        chain = seal.EncryptionParameters(seal.scheme_type.ckks)
        chain.set_poly_modulus_degree(peer_set.n)
        chain.set_coeff_modulus(seal.CoeffModulus.Create(peer_set.n, list(peer_set.seal_bits)))
        context = seal.SEALContext(chain)
        if not context.parameters_set():
            raise Error(f"bench peers: SEAL refuses set {peer_set.name}: {context.parameter_error_message()}")
        bits = [math.log2(prime.value()) for prime in chain.coeff_modulus()]
        self.label = f"SEAL ({DISTRIBUTION} {seal_version()})"
        self.log_q = sum(bits[:-1])
        self.log_pq = sum(bits)
        self._seal = seal
        self._scale = 2.0**peer_set.scale_bits
        self._encoder = seal.CKKSEncoder(context)
        self._evaluator = seal.Evaluator(context)
        self._make_keys(context)
        self.calls: dict[str, Callable[[], Any]] = self._client_calls(x) | self._evaluator_calls(x, y)

    def _make_keys(self, context: Any) -> None:
        seal = self._seal
        generator = seal.KeyGenerator(context)
        self._relin_keys = generator.create_relin_keys()
        self._galois_keys = seal.GaloisKeys()
        generator.create_galois_keys([1], self._galois_keys)
        self._encryptor = seal.Encryptor(context, generator.create_public_key(), generator.secret_key())
        self._decryptor = seal.Decryptor(context, generator.secret_key())

    def _client_calls(self, x: Values) -> dict[str, Callable[[], Any]]:
        encoder, encryptor, decryptor, scale = self._encoder, self._encryptor, self._decryptor, self._scale
        plain = encoder.encode(x, scale)
        ct = encryptor.encrypt(plain)
        return {
            sets.ENCODE: lambda: encoder.encode(x, scale),
            sets.ENCRYPT: lambda: encryptor.encrypt(plain),
            sets.ENCRYPT_SYMMETRIC: lambda: encryptor.encrypt_symmetric(plain),
            sets.DECRYPT: lambda: decryptor.decrypt(ct),
            sets.DECODE: lambda: encoder.decode(plain),
            sets.DECRYPT_DECODE: lambda: encoder.decode(decryptor.decrypt(ct)),
        }

    def _evaluator_calls(self, x: Values, y: Values) -> dict[str, Callable[[], Any]]:
        evaluator, relin_keys, galois_keys = self._evaluator, self._relin_keys, self._galois_keys
        a = self._encryptor.encrypt(self._encoder.encode(x, self._scale))
        plain = self._encoder.encode(y, self._scale)
        b = self._encryptor.encrypt(plain)
        three_parts = evaluator.multiply(a, b)
        product = evaluator.relinearize(three_parts, relin_keys)

        def multiply_full() -> Any:
            result = evaluator.multiply(a, b)
            evaluator.relinearize_inplace(result, relin_keys)
            evaluator.rescale_to_next_inplace(result)
            return result

        return {
            sets.ADD: lambda: evaluator.add(a, b),
            sets.MULTIPLY_PLAIN: lambda: evaluator.multiply_plain(a, plain),
            sets.MULTIPLY: lambda: evaluator.multiply(a, b),
            sets.RELINEARIZE: lambda: evaluator.relinearize(three_parts, relin_keys),
            sets.RESCALE: lambda: evaluator.rescale_to_next(product),
            sets.MULTIPLY_FULL: multiply_full,
            sets.ROTATE: lambda: evaluator.rotate_vector(a, 1, galois_keys),
        }

    def reveal(self, result: Any) -> Values:
        """Slots of a plaintext, a ciphertext, or decoded values."""
        if isinstance(result, self._seal.Ciphertext):
            result = self._decryptor.decrypt(result)
        if isinstance(result, self._seal.Plaintext):
            result = self._encoder.decode(result)
        return np.asarray(result, dtype=np.float64)
