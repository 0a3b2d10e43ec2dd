# SPDX-License-Identifier: Apache-2.0
"""Objects of SEAL in host memory."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base import limits
from ..base.errors import InvalidArgument, NotPicklable, WrongType
from ..base.values import expect, integer, kind_of, positive

Words = npt.NDArray[np.uint64]

MAX_PRIMES = 256
"""Primes of a parameter set."""
MAX_DEGREE = 1 << 17
"""Ring degree."""


def read_limits() -> _core.SealLimits:
    """What reading an object may take."""
    return _core.SealLimits(limits.SEAL_FILE, limits.SEAL_UNPACKED_BASE, limits.SEAL_UNPACKED_FACTOR)


class Parameters:
    """Encryption parameters of CKKS: ring degree and primes, the special prime last. Immutable."""

    def __init__(self, n: int, primes: list[int]) -> None:
        """Parameters with the given primes: up to 256 different ones of at most 61 bits, 1 modulo 2 n.

        n: ring degree, a power of two up to 2^17. An engine needs at least 1024, and primes that are prime.
        """
        degree = integer(n, "seal.Parameters: n", 2, MAX_DEGREE)
        if isinstance(primes, str | bytes) or not hasattr(primes, "__iter__"):
            raise WrongType(f"seal.Parameters: primes: got {kind_of(primes)}, expected a list of integers")
        numbers = [integer(prime, "seal.Parameters: primes", 0, (1 << 64) - 1) for prime in primes]
        self._core = _core.SealParameters.make(degree, numbers)

    @classmethod
    def _hold(cls, core: _core.SealParameters) -> Parameters:
        made = cls.__new__(cls)
        made._core = core
        return made

    @property
    def n(self) -> int:
        """Ring degree; there are n / 2 slots."""
        return self._core.n

    @property
    def primes(self) -> list[int]:
        """All primes, in the order of SEAL: the special prime last."""
        return self._core.primes

    @property
    def data_primes(self) -> int:
        """Primes of a fresh ciphertext: all but the special one, or the only one."""
        return self._core.data_primes

    def parms_id(self, count: int | None = None) -> bytes:
        """The 32 bytes with which SEAL names the first `count` primes; by default all."""
        most = len(self.primes)
        chosen = most if count is None else integer(count, "parms_id: count", 1, most)
        return self._core.parms_id(chosen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self.parms_id() == other.parms_id()

    def __hash__(self) -> int:
        return hash(self.parms_id())

    def __repr__(self) -> str:
        bits = [prime.bit_length() for prime in self.primes]
        return f"seal.Parameters(n={self.n}, primes of {bits} bits)"


def core_parameters(parameters: Any, what: str) -> _core.SealParameters:
    """The core of parameters. Raises WrongType for anything else."""
    return expect(parameters, Parameters, what, "load them with seal.Parameters")._core


def _words(residues: Any, what: str) -> Words:
    array = np.asarray(residues)
    if array.dtype != np.uint64 or array.ndim != 3:
        raise InvalidArgument(
            f"{what}: residues of type {array.dtype} and shape {array.shape}; expected uint64 in the order "
            "(polynomials, primes, coefficients)"
        )
    return np.ascontiguousarray(array)


class _Object:
    """What all kinds have: a parameter set, and the object of the extension module."""

    _core: Any
    parameters: Parameters

    @classmethod
    def _hold(cls, core: Any, parameters: Parameters) -> Any:
        made = cls.__new__(cls)
        made._core, made.parameters = core, parameters
        return made


class _Scaled(_Object):
    """What ciphertexts and plaintexts have in common."""

    _core: _core.SealCiphertext | _core.SealPlaintext

    @property
    def prime_count(self) -> int:
        """Number of primes left."""
        return self._core.prime_count

    @property
    def scale(self) -> float:
        """Factor between message and encoded integers."""
        return self._core.scale


class Ciphertext(_Scaled):
    """A ciphertext in host memory: 2 to 16 polynomials in NTT form, as SEAL has them."""

    _core: _core.SealCiphertext

    def __init__(self, parameters: Parameters, residues: Words, scale: float) -> None:
        """A ciphertext of given residues, uint64 of shape (polynomials, primes, coefficients).

        The primes are the first ones of the parameters. Raises InvalidArgument for other shapes, CorruptData
        for a residue that is not below its prime.
        """
        of = core_parameters(parameters, "seal.Ciphertext")
        words, number = _words(residues, "seal.Ciphertext"), positive(scale, "seal.Ciphertext: scale")
        self._core, self.parameters = _core.SealCiphertext.make(of, words, number), parameters

    @property
    def size(self) -> int:
        """Number of polynomials: 2, or 3 for a product that is not relinearized."""
        return self._core.size

    @property
    def is_seeded(self) -> bool:
        """Whether a seed stands for the second polynomial."""
        return self._core.is_seeded

    @property
    def residues(self) -> Words:
        """A copy of the residues, a seed expanded: uint64 of shape (polynomials, primes, coefficients)."""
        return self._core.residues()

    def __repr__(self) -> str:
        return f"seal.Ciphertext(size={self.size}, primes={self.prime_count}, scale={self.scale:g})"


class Plaintext(_Scaled):
    """An encoded message in host memory, in NTT form."""

    _core: _core.SealPlaintext

    def __init__(self, parameters: Parameters, residues: Words, scale: float) -> None:
        """A plaintext of given residues, uint64 of shape (1, primes, coefficients); see `Ciphertext`."""
        of = core_parameters(parameters, "seal.Plaintext")
        words, number = _words(residues, "seal.Plaintext"), positive(scale, "seal.Plaintext: scale")
        if len(words) != 1:
            raise InvalidArgument(f"seal.Plaintext: {len(words)} polynomials, expected 1")
        self._core, self.parameters = _core.SealPlaintext.make(of, words, number), parameters

    @property
    def residues(self) -> Words:
        """A copy of the residues, uint64 of shape (1, primes, coefficients)."""
        return self._core.residues()

    def __repr__(self) -> str:
        return f"seal.Plaintext(primes={self.prime_count}, scale={self.scale:g})"


class PublicKey(_Object):
    """A public key: an encryption of zero over all primes."""

    _core: _core.SealPublicKey

    @property
    def is_seeded(self) -> bool:
        """Whether a seed stands for the second polynomial."""
        return self._core.is_seeded

    @property
    def residues(self) -> Words:
        """A copy of the residues, a seed expanded: uint64 of shape (2, all primes, coefficients)."""
        return self._core.residues()


class RelinKeys(_Object):
    """Relinearization keys."""

    _core: _core.SealRelinKeys

    @property
    def powers(self) -> list[int]:
        """Powers of the secret that they switch from: [2] unless more were asked for."""
        return self._core.entries

    @property
    def is_seeded(self) -> bool:
        """Whether seeds stand for the second polynomials."""
        return self._core.is_seeded


class GaloisKeys(_Object):
    """Keys of rotations and conjugation."""

    _core: _core.SealGaloisKeys

    @property
    def elements(self) -> list[int]:
        """Galois elements: 3^k modulo 2 n rotates to the left by k slots, 2 n - 1 conjugates."""
        return self._core.entries

    @property
    def is_seeded(self) -> bool:
        """Whether seeds stand for the second polynomials."""
        return self._core.is_seeded


class SecretKey(_Object):
    """A secret key. It goes from file to file only, and is zeroed in memory when it goes."""

    _core: _core.SealSecretKey

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("seal.SecretKey: secret keys are not pickled; write a file with seal.save")
