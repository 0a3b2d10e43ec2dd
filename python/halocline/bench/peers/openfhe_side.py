# SPDX-License-Identifier: Apache-2.0
"""OpenFHE's side of the comparison, where its wheel can be imported."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import Error
from . import sets
from .side import Values

DISTRIBUTION = "openfhe"


def import_openfhe() -> tuple[Any, str]:
    """The module and "", or None and why it cannot be imported: its wheels are for a few versions of CPython.

    Its OpenMP runtime reads the number of threads when it is loaded: one, as for SEAL, which has no others.
    """
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        return importlib.import_module("openfhe"), ""
    except (ImportError, OSError) as error:  # OSError: a wheel of a newer system
        return None, str(error)
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def openfhe_version() -> str:
    """Version of the installed wheel."""
    return importlib.metadata.version(DISTRIBUTION)


class OpenfheSide:
    """OpenFHE with hybrid key switching and the fewest digits that pass its 128-bit check. See `Side`."""

    log_pq = math.nan  # its Python interface does not report it

    def __init__(self, module: Any, peer_set: sets.PeerSet, x: Values, y: Values) -> None:
        self._module = module
        self._slots = peer_set.slots
        try:
            self._context = self._make_context(peer_set)
        except (RuntimeError, AttributeError, TypeError) as error:
            raise Error(
                f"bench peers: OpenFHE {openfhe_version()} refuses set {peer_set.name}: {error}; to compare "
                f"without it, run pip uninstall {DISTRIBUTION}"
            ) from None
        self._keys = self._context.KeyGen()
        self._context.EvalMultKeyGen(self._keys.secretKey)
        self._context.EvalRotateKeyGen(self._keys.secretKey, [1])
        self.label = f"OpenFHE ({DISTRIBUTION} {openfhe_version()})"
        self.log_q = math.log2(float(self._context.GetModulus()))
        self.calls: dict[str, Callable[[], Any]] = self._make_calls(x, y)

    def _make_context(self, peer_set: sets.PeerSet) -> Any:
        module = self._module
        parameters = module.CCParamsCKKSRNS()
        parameters.SetRingDim(peer_set.n)
        parameters.SetBatchSize(peer_set.slots)
        parameters.SetMultiplicativeDepth(peer_set.levels)
        parameters.SetScalingModSize(peer_set.scale_bits)
        parameters.SetFirstModSize(peer_set.openfhe.first_bits)
        parameters.SetScalingTechnique(module.ScalingTechnique.FIXEDMANUAL)
        parameters.SetKeySwitchTechnique(module.KeySwitchTechnique.HYBRID)
        parameters.SetNumLargeDigits(peer_set.openfhe.digits)
        parameters.SetSecurityLevel(module.SecurityLevel.HEStd_128_classic)
        context = module.GenCryptoContext(parameters)
        for feature in ("PKE", "KEYSWITCH", "LEVELEDSHE"):
            context.Enable(getattr(module.PKESchemeFeature, feature))
        return context

    def _make_calls(self, x: Values, y: Values) -> dict[str, Callable[[], Any]]:
        context, public, secret = self._context, self._keys.publicKey, self._keys.secretKey
        plain, other_plain = context.MakeCKKSPackedPlaintext(x), context.MakeCKKSPackedPlaintext(y)
        a, b = context.Encrypt(public, plain), context.Encrypt(public, other_plain)
        three_parts = context.EvalMultNoRelin(a, b)
        product = context.Relinearize(three_parts)
        # Its decryption always decodes, and the encoding happens where the plaintext is made.
        return {
            sets.ENCODE: lambda: context.MakeCKKSPackedPlaintext(x),
            sets.ENCRYPT: lambda: context.Encrypt(public, plain),
            sets.DECRYPT_DECODE: lambda: context.Decrypt(secret, a),
            sets.ADD: lambda: context.EvalAdd(a, b),
            sets.MULTIPLY_PLAIN: lambda: context.EvalMult(a, other_plain),
            sets.MULTIPLY: lambda: context.EvalMultNoRelin(a, b),
            sets.RELINEARIZE: lambda: context.Relinearize(three_parts),
            sets.RESCALE: lambda: context.Rescale(product),
            sets.MULTIPLY_FULL: lambda: context.Rescale(context.EvalMult(a, b)),
            sets.ROTATE: lambda: context.EvalRotate(a, 1),
        }

    def reveal(self, result: Any) -> Values:
        """Slots of a ciphertext or plaintext."""
        if isinstance(result, self._module.Ciphertext):
            result = self._context.Decrypt(self._keys.secretKey, result)
        result.SetLength(self._slots)
        return np.asarray(result.GetRealPackedValue(), dtype=np.float64)
