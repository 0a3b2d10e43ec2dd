# SPDX-License-Identifier: Apache-2.0
"""Programs on ciphertexts drawn at random, whose values stay within known bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import halocline as hc
import numpy as np
import numpy.typing as npt

Bounded = tuple[Any, float]
"""A ciphertext and a bound on its values."""

FUNCTIONS: tuple[Callable[[float], float], ...] = (np.sin, np.tanh, np.cos, lambda x: 1.0 / (3.0 + x))
LARGEST = 4.0
"""Values above this are scaled down."""


@dataclasses.dataclass
class RandomProgram:
    """`depth` rounds of operations on the values so far; equal seeds are equal programs."""

    seed: int
    depth: int
    slots: int
    inputs: int

    @classmethod
    def drawn(cls, seed: int, most_depth: int = 6, most_log_slots: int = 12) -> RandomProgram:
        """A program with a random depth, number of slots and number of inputs."""
        rng = np.random.default_rng([seed, 0])
        return cls(
            seed,
            int(rng.integers(1, most_depth + 1)),
            1 << int(rng.integers(3, most_log_slots + 1)),
            int(rng.integers(1, 4)),
        )

    def values(self) -> list[npt.NDArray[np.float64]]:
        """Inputs in [-1, 1]."""
        rng = np.random.default_rng([self.seed, 1])
        return [rng.uniform(-1.0, 1.0, self.slots) for _ in range(self.inputs)]

    def __call__(self, *cts: Any) -> list[Any]:
        """The last two values."""
        rng = np.random.default_rng([self.seed, 2])
        known: list[Bounded] = [(ct, 1.0) for ct in cts]
        for _ in range(self.depth):
            for _ in range(int(rng.integers(1, 3))):
                known.append(_kept(STEPS[rng.integers(len(STEPS))](rng, known)))
        return [value for value, _ in known[-2:]]


def _kept(made: Bounded) -> Bounded:
    value, bound = made
    return made if bound <= LARGEST else (value * (1.0 / bound), 1.0)


def _any(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    """One of the last values more often than one of the first."""
    return known[max(0, len(known) - 1 - int(rng.geometric(0.5)) + 1)]


def _product(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    (a, x), (b, y) = _any(rng, known), _any(rng, known)
    return a * b, x * y


def _sum(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    (a, x), (b, y) = _any(rng, known), _any(rng, known)
    return (a + b if rng.random() < 0.5 else a - b), x + y


def _plain(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    a, x = _any(rng, known)
    values = rng.uniform(-1.0, 1.0, a.slots)
    return (a * values, x) if rng.random() < 0.5 else (a + values, x + 1.0)


def _constant(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    a, x = _any(rng, known)
    number = float(rng.uniform(-2.0, 2.0))
    return (a * number + 0.25, x * abs(number) + 0.25)


def _rotation(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    a, x = _any(rng, known)
    return a + a.rotate(int(rng.integers(1, a.slots))), 2.0 * x


def _inner_sum(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    a, x = _any(rng, known)
    count = 1 << int(rng.integers(1, 4))
    return a.engine.inner_sum(a, min(count, a.slots)), min(count, a.slots) * x


def _polynomial(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    a, x = _any(rng, known)
    function = FUNCTIONS[rng.integers(len(FUNCTIONS))]
    domain = max(x, 0.5)
    if function is FUNCTIONS[-1] and domain > 2.0:
        function = FUNCTIONS[0]
    degree = (3, 7, 15)[rng.integers(3)] if domain <= 1.0 else 15  # lower ones are poor fits
    fit = hc.Polynomial.fit(function, (-domain, domain), degree)
    return a.engine.polynomial(a, fit), 1.2


def _map(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    a, x = _any(rng, known)
    count = int(rng.integers(1, 6))
    diagonals = {
        int(d): rng.uniform(-1.0, 1.0, a.slots) for d in rng.choice(a.slots, min(count, a.slots), False)
    }
    return hc.LinearTransform(diagonals)(a), x * len(diagonals)


def _dot(rng: np.random.Generator, known: list[Bounded]) -> Bounded:
    picked = [_any(rng, known) for _ in range(4)]
    (a, w), (b, x), (c, y), (d, z) = picked
    return a.engine.dot([a, b], [c, d]), w * y + x * z


STEPS = (_product, _product, _sum, _plain, _constant, _rotation, _inner_sum, _polynomial, _map, _dot)
