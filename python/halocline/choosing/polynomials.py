# SPDX-License-Identifier: Apache-2.0
"""Polynomials and chains of comparisons on numbers, with the noise of their encrypted evaluation.

They are split as `circuits/polynomial_plan.cpp` splits them: powers of the variable (or Chebyshev polynomials
of it) that are products of two lower ones, and sums of products with giant powers. Each product and each sum
that is rescaled adds the error of one division.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .. import _core
from ..base.values import ComplexVector
from ..circuits.minimax import _chain
from ..circuits.polynomial import Polynomial
from .noise import NoiseSource, Rows

_EXACT_SLOPE = 2.0**20
"""Integer slopes of an interval up to this cost no level and no rounding."""


def _depth(power: int) -> int:
    return (power - 1).bit_length()


@dataclasses.dataclass
class _Basis:
    """Powers of one variable, made when they are needed."""

    noise: NoiseSource
    chebyshev: bool
    slots: int
    scale: float
    known: dict[int, Rows]

    def division(self) -> Rows:
        """The error of one division at the scale of the evaluation."""
        return self.noise.division(self.slots, self.scale)

    def at(self, power: int) -> Rows:
        """x^power or T_power(x)."""
        if power not in self.known:
            first = 1 << ((power - 1).bit_length() - 1)
            second = power - first
            product = self.at(first) * self.at(second)
            made: Rows = (2.0 * product if self.chebyshev else product) + self.division()
            if self.chebyshev:
                made = made - (1.0 if first == second else self.at(first - second))
            self.known[power] = made
        return self.known[power]


def _divide(p: ComplexVector, giant: int, chebyshev: bool) -> tuple[ComplexVector, ComplexVector]:
    """Quotient and remainder by x^giant or T_giant; the degree is at most twice that."""
    quotient, remainder = p[giant:].copy(), p[:giant].copy()
    if chebyshev:
        for j in range(1, len(quotient)):
            remainder[giant - j] -= quotient[j]
        quotient[1:] *= 2.0
    return quotient, remainder


def _trimmed(p: ComplexVector) -> ComplexVector:
    found = np.flatnonzero(p)
    return p[: found[-1] + 1] if len(found) else p[:1]


def _evaluate(basis: _Basis, p: ComplexVector, budget: int, babies: int) -> Rows:
    """p at a level `budget` below the variable: sums of giants times smaller polynomials, and of powers."""
    p = _trimmed(p)
    total = np.zeros((basis.noise.rows, basis.slots), dtype=np.complex128)
    divided = False

    def usable(rest: ComplexVector) -> bool:
        return all(not rest[i] or _depth(i) < budget for i in range(1, len(rest)))

    while len(p) - 1 > babies or not usable(p):
        giant = 1 << ((len(p) - 1).bit_length() - 1)
        quotient, remainder = _divide(p, giant, basis.chebyshev)
        quotient = _trimmed(quotient)
        if len(quotient) == 1:
            total += quotient[0] * basis.at(giant)
        else:
            total += basis.at(giant) * _evaluate(basis, quotient, budget - 1, babies)
        divided = True
        p = _trimmed(remainder)
    for power in range(1, len(p)):
        if p[power]:
            total += p[power] * basis.at(power)
            divided = True
    if divided:
        total += basis.division()
    return total + (p[0] if len(p) else 0.0)


def _babies(degree: int) -> int:
    """Powers that are made before giant steps: about the square root of the degree, 2^k - 1."""
    return (1 << math.ceil(degree.bit_length() / 2)) - 1


def evaluate_polynomial(noise: NoiseSource, p: Polynomial, x: Rows, result: _core.Ciphertext) -> Rows:
    """p(x); `result` has the shape of the result."""
    low, high = p.domain
    chebyshev = p.basis == "chebyshev"
    slope = 2.0 / (high - low) if chebyshev else 1.0
    offset = -(high + low) / (high - low) if chebyshev else 0.0
    variable: Rows = x * slope + offset
    if slope != round(slope) or slope > _EXACT_SLOPE:
        variable = variable + noise.division(result.slots, result.scale)
    basis = _Basis(noise, chebyshev, result.slots, result.scale, {1: variable})
    degree = p.degree
    return _evaluate(basis, p.coefficients[: degree + 1], degree.bit_length(), _babies(degree))


def evaluate_chain(
    noise: NoiseSource, name: str, alpha: int, bound: float, x: Rows, result: _core.Ciphertext
) -> Rows:
    """What a comparison makes of its argument, or of the difference of its two."""
    stages = [series.astype(np.complex128) for series in _chain(alpha)]
    if name != "sign":
        stages[-1] = stages[-1] * 0.5
        stages[-1][0] = 0.5
    value = x
    for index, series in enumerate(stages):
        domain = (-bound, bound) if index == 0 else (-1.0, 1.0)
        value = evaluate_polynomial(noise, Polynomial(series, "chebyshev", domain), value, result)
    if name in ("relu", "maximum", "minimum"):
        return x * value + noise.division(result.slots, result.scale)
    return value
