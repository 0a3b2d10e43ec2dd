# SPDX-License-Identifier: Apache-2.0
"""How fast an operation can possibly be: bytes that must move, and multiplications that must be made.

Both are counted for algorithms without any waste: every operand and every limb of a key is read once from
memory, every result is written once, nothing in between leaves the chip, and reductions, additions and the
twiddle factors cost nothing. An operation can beat the floor of the bytes only where the shared cache still
holds operands of the operation before.

Symbols: N ring degree; limbs of N words; L limbs of the level, L' of the level below, which lacks d primes of
the level; K special primes; digits j with l_j primes of the level, J of them.

| operation | limbs read and written | butterflies / (N/2 log N) | multiply-adds / N |
|---|---|---|---|
| add | 6 L | | |
| multiply_plain | 5 L | | 2 L |
| ntt, intt, ntt_batch | 2 L | L | |
| rescale | 2 (L + L') | 2 (d + L') | 2 d L' |
| rotate | 4 L + 2 J (L + K) | switch + 2 (K + L) | switch + 2 K L |
| multiply | 4 L + 2 L' + 2 J (L + K) | switch + 2 (K + d + L') | 4 L + switch + 2 (K + d) L' |
| switch | | L + sum_j (L + K - l_j) | sum_j l_j (L + K - l_j) + 2 J (L + K) |
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable

from ..base.errors import InvalidArgument
from ..ckks.params import Params


@dataclasses.dataclass(frozen=True)
class Ceilings:
    """What a device reaches when it does nothing else."""

    bytes_per_second: float
    """Copy of large arrays, read and written bytes together."""
    butterflies_per_second: float
    """Radix-2 butterflies in registers, Shoup's multiplication."""
    products_per_second: float
    """Products of two words added to a sum of two words."""


H200_CEILINGS = {
    32: Ceilings(3.98e12, 2.45e12, 4.61e12),
    # A 64-bit product is a low half (4.08 T/s) and a high half (1.77 T/s); a butterfly takes two low and one.
    64: Ceilings(3.98e12, 1 / (2 / 4.08e12 + 1 / 1.77e12), 1 / (1 / 4.08e12 + 1 / 1.77e12)),
}
"""Word bits -> rates of one NVIDIA H200; those of 64-bit words are derived from two that were measured."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What an operation cannot do without."""

    bytes: int
    """Read and written."""
    butterflies: int
    """Of radix 2."""
    products: int
    """Multiply-adds outside transforms."""

    def seconds(self, ceilings: Ceilings) -> tuple[float, float]:
        """Floors: of the bytes, and of the arithmetic."""
        arithmetic = self.butterflies / ceilings.butterflies_per_second
        arithmetic += self.products / ceilings.products_per_second
        return self.bytes / ceilings.bytes_per_second, arithmetic


@dataclasses.dataclass(frozen=True)
class Shape:
    """Numbers of limbs of a level of a parameter set; letters as above."""

    n: int
    word_bytes: int
    limbs: int
    lower: int
    dropped: int
    special: int
    digits: tuple[int, ...]

    @classmethod
    def of(cls, params: Params, level: int) -> Shape:
        """Of a level above 0."""
        if not 1 <= level <= params.max_level:
            raise InvalidArgument(f"floors: level {level}, expected 1 to {params.max_level}")
        source = json.loads(params.to_json())
        here, below = params.level(level), params.level(level - 1)
        change = (here.terminals - below.terminals, here.mains - below.mains)
        most = max(each.terminals for each in params.levels)
        first, size = most - here.terminals, source["digit_size"]
        end = first + here.primes
        parts = (min(end, i + size) - max(first, i) for i in range(0, end, size))
        return cls(
            n=params.n,
            word_bytes=params.word_bits // 8,
            limbs=here.primes,
            lower=below.primes,
            dropped=sum(max(0, each) for each in change),
            special=source["special_primes"],
            digits=tuple(each for each in parts if each > 0),
        )

    def _work(self, limbs: int, transforms: int = 0, products: int = 0) -> Work:
        return Work(
            limbs * self.n * self.word_bytes,
            transforms * self.n // 2 * round(math.log2(self.n)),
            products * self.n,
        )

    def _raised(self) -> tuple[int, int]:
        """Transforms and products of raising the digits and multiplying them with a key."""
        every = self.limbs + self.special
        transforms = self.limbs + sum(every - each for each in self.digits)
        products = sum(each * (every - each) for each in self.digits) + 2 * len(self.digits) * every
        return transforms, products

    def _key_limbs(self) -> int:
        return 2 * len(self.digits) * (self.limbs + self.special)

    def add(self) -> Work:
        """Two ciphertexts."""
        return self._work(6 * self.limbs)

    def multiply_plain(self) -> Work:
        """A ciphertext by an encoded plaintext, without rescale."""
        return self._work(5 * self.limbs, 0, 2 * self.limbs)

    def ntt(self) -> Work:
        """One polynomial, in either direction."""
        return self._work(2 * self.limbs, self.limbs)

    def rescale(self) -> Work:
        """Both components."""
        products = 2 * self.dropped * self.lower
        return self._work(2 * (self.limbs + self.lower), 2 * (self.dropped + self.lower), products)

    def rotate(self) -> Work:
        """One rotation with its key."""
        transforms, products = self._raised()
        return self._work(
            4 * self.limbs + self._key_limbs(),
            transforms + 2 * (self.special + self.limbs),
            products + 2 * self.special * self.limbs,
        )

    def multiply(self) -> Work:
        """Two ciphertexts, relinearized and rescaled in one division."""
        transforms, products = self._raised()
        divided = self.special + self.dropped
        return self._work(
            4 * self.limbs + 2 * self.lower + self._key_limbs(),
            transforms + 2 * (divided + self.lower),
            4 * self.limbs + products + 2 * divided * self.lower,
        )


_WORK: dict[str, Callable[[Shape], Work]] = {
    "add": Shape.add,
    "multiply_plain": Shape.multiply_plain,
    "ntt": Shape.ntt,
    "intt": Shape.ntt,
    "ntt_batch": Shape.ntt,
    "rescale": Shape.rescale,
    "rotate": Shape.rotate,
    "multiply": Shape.multiply,
}


def work_of(operation: str, params: Params, level: int) -> Work:
    """Bytes and multiplications of an operation as `time_operation` names it (ntt_batch: of one in it)."""
    if operation not in _WORK:
        raise InvalidArgument(f"floors: unknown operation '{operation}'; expected {', '.join(_WORK)}")
    return _WORK[operation](Shape.of(params, level))
