# SPDX-License-Identifier: Apache-2.0
"""Ways to evaluate a function by sums and products: single polynomials, and iterations that sharpen them.

Each takes numbers in the clear (numpy arrays) or ciphertexts, and does the same with both.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ..circuits.polynomial import Interval, Polynomial
from ..ckks.ciphertext import Ciphertext
from .series import Array, Function, fit, products

_GRID = 4096
"""Points at which polynomials of small degree are fitted to inverse square roots."""
_MOST_STEPS = 16
_ROUNDING = 2.0**-44
"""Relative errors of doubles, which count where more is asked of an iteration than they have."""


def apply_polynomial(polynomial: Polynomial, x: Any) -> Any:
    """p(x), for numbers or a ciphertext."""
    return x.engine.polynomial(x, polynomial) if isinstance(x, Ciphertext) else polynomial(x)


@dataclasses.dataclass(frozen=True)
class Approximation(ABC):
    """A way to evaluate a function on an interval; calling it does, on numbers or a ciphertext."""

    polynomial: Polynomial
    steps: int
    """Iterations after the polynomial."""
    error: float
    """Bound on the distance from the function, without the noise of encryption."""

    @property
    def degree(self) -> int:
        """Of its polynomial."""
        return self.polynomial.degree

    @property
    def method(self) -> str:
        """What it does, in words."""
        return self._words.format(self.steps)

    @property
    def levels(self) -> int:
        """Levels that it costs."""
        return self._cost()[0]

    @property
    def products(self) -> int:
        """About how many products of ciphertexts it takes."""
        return self._cost()[1]

    def __call__(self, x: Any) -> Any:
        """The function's value in every slot."""
        return self._value(x)

    _words: ClassVar[str] = "polynomial"

    @abstractmethod
    def _cost(self) -> tuple[int, int]:
        """Levels and products."""

    @abstractmethod
    def _value(self, x: Any) -> Any:
        """The function's value."""

    def _cost_of_polynomial(self, levels: int, count: int) -> tuple[int, int]:
        """That of the polynomial, with so much more."""
        return self.polynomial.levels + levels, products(self.degree) + count


class Single(Approximation):
    """One Chebyshev series."""

    def _cost(self) -> tuple[int, int]:
        return self._cost_of_polynomial(0, 0)

    def _value(self, x: Any) -> Any:
        return apply_polynomial(self.polynomial, x)


class Squared(Approximation):
    """exp(x) = exp(x / 2^k)^(2^k): a polynomial on a shorter interval, then k squarings."""

    _words = "polynomial, {} squarings"

    def _cost(self) -> tuple[int, int]:
        return self._cost_of_polynomial(self.steps, self.steps)

    def _value(self, x: Any) -> Any:
        y = apply_polynomial(self.polynomial, x)
        for _ in range(self.steps):
            y = y * y
        return y


class Doubled(Approximation):
    """cos(2 x) = 2 cos(x)^2 - 1: a polynomial for a fraction of the angle, then k doublings."""

    _words = "polynomial, {} doublings of the angle"

    def _cost(self) -> tuple[int, int]:
        return self._cost_of_polynomial(self.steps, self.steps)

    def _value(self, x: Any) -> Any:
        y = apply_polynomial(self.polynomial, x)
        for _ in range(self.steps):
            y = y * y * 2 - 1
        return y


@dataclasses.dataclass(frozen=True)
class Goldschmidt(Approximation):
    """1 / x by a Chebyshev polynomial and Goldschmidt's iteration (1964).

    With T of degree n = 2^j and u(x) in [-1, 1], the residual e(x) = T(u(x)) / T(u(0)) is the least one of
    that degree with e(0) = 1, so y(x) = (1 - e(x)) / x is the best polynomial in relative error. Then

        1 / x = y (1 + e) (1 + e^2) (1 + e^4) ...

    e comes by doubling beside y, not from 1 - x y, which would cost a level. Factors are put into the
    doublings, e_i = e_(i-1)^2 - c_i, so that they cost none.
    """

    slope: float
    offset: float
    constants: tuple[float, ...]

    _words = "polynomial, {} Goldschmidt steps"

    def _cost(self) -> tuple[int, int]:
        doublings = len(self.constants)
        return 1 + doublings + self.steps, products(self.degree) + doublings + 2 * self.steps - 1

    def _value(self, x: Any) -> Any:
        y = apply_polynomial(self.polynomial, x)
        e = x * self.slope + self.offset
        for constant in self.constants:
            e = e * e - constant
        for step in range(self.steps):
            e = e * e if step else e
            y = y + y * e
        return y


@dataclasses.dataclass(frozen=True)
class Newton(Approximation):
    """1 / sqrt(x) by a polynomial and Newton's iteration y <- y (3 - x y^2) / 2, two levels a step.

    y sqrt(x) lies in [t, 1] before a step. The step is done for m y with the m that makes its results at
    both ends equal, so that t grows by up to 2.6 instead of 1.5 (Chen and Chow, A stable scaling of
    Newton-Schulz, 2014). The factors cost no level: y <- 1.5 m y - (m^3 x / 2) y^3.
    """

    factors: tuple[float, ...]

    _words = "polynomial, {} Newton steps"

    def _cost(self) -> tuple[int, int]:
        return self._cost_of_polynomial(2 * self.steps, 3 * self.steps)

    def _value(self, x: Any) -> Any:
        y = apply_polynomial(self.polynomial, x)
        for m in self.factors:
            y = y * (1.5 * m) - (x * (m**3 / 2) * y) * (y * y)
        return y


class Root(Newton):
    """sqrt(x) = x / sqrt(x), by `Newton`; one level more."""

    _words = "x times 1 / sqrt(x) by a polynomial, {} Newton steps"

    def _cost(self) -> tuple[int, int]:
        return self._cost_of_polynomial(2 * self.steps + 1, 3 * self.steps + 1)

    def _value(self, x: Any) -> Any:
        return x * super()._value(x)


@dataclasses.dataclass(frozen=True)
class Negated(Approximation):
    """An odd function on the other side of zero: f(x) = -f(-x)."""

    inner: Approximation

    @property
    def method(self) -> str:
        """That of the positive side."""
        return self.inner.method

    def _cost(self) -> tuple[int, int]:
        return self.inner._cost()

    def _value(self, x: Any) -> Any:
        return -self.inner(-x)


def negated(inner: Approximation) -> Approximation:
    """The same way for negative numbers."""
    return Negated(inner.polynomial, inner.steps, inner.error, inner)


def single(function: Function, interval: Interval, tolerance: float, least: float) -> Iterator[Approximation]:
    """One polynomial, if its degree suffices."""
    found = fit(function, interval, tolerance, least)
    if found:
        yield Single(found.polynomial, 0, found.error)


def squared(interval: Interval, tolerance: float) -> Iterator[Approximation]:
    """Exponentials by squaring."""
    low, high = interval
    top = math.exp(high)
    for steps in range(1, 13):
        parts = 2.0**steps
        # (1 + d)^parts - 1 <= tolerance / top for the relative error d of the polynomial
        relative = math.expm1(math.log1p(tolerance / top) / parts)
        found = fit(functools.partial(_part, np.exp, 0.0, parts), interval, relative * math.exp(low / parts))
        if found:
            worst = found.error / math.exp(low / parts)
            yield Squared(found.polynomial, steps, top * math.expm1(parts * math.log1p(worst)))


def doubled(shift: float, interval: Interval, tolerance: float) -> Iterator[Approximation]:
    """cos(x - shift) by doublings of the angle; an error e becomes 4 e + 2 e^2."""
    for steps in range(1, 13):
        parts = 2.0**steps
        error = tolerance / 4.0**steps / (1 + tolerance)
        found = fit(functools.partial(_part, np.cos, shift, parts), interval, error)
        if found:
            yield Doubled(found.polynomial, steps, _after_doublings(found.error, steps))


def _part(function: Function, shift: float, parts: float, x: Array) -> Array:
    """The function of a fraction of its argument."""
    return function((x - shift) / parts)


def _after_doublings(error: float, steps: int) -> float:
    for _ in range(steps):
        error = 4 * error + 2 * error * error
    return error


def goldschmidt(interval: Interval, tolerance: float) -> Iterator[Approximation]:
    """Reciprocals of positive numbers."""
    low, high = interval
    outside = (high + low) / (high - low)  # -u(0)
    for doublings in range(1, 8):
        degree = 2**doublings
        largest = math.cosh(degree * math.acosh(outside)) if degree * math.acosh(outside) < 700 else math.inf
        if largest == math.inf:
            return
        for steps in range(1, 13):
            error = (largest ** -(2.0**steps) + _ROUNDING * 2**doublings) / low
            if error <= tolerance:
                yield _goldschmidt(interval, doublings, steps, largest, error)
                break


def _goldschmidt(
    interval: Interval, doublings: int, steps: int, largest: float, error: float
) -> Approximation:
    low, high = interval
    degree = 2**doublings

    def residual(x: Any) -> Any:
        u = (2 * x - low - high) / (high - low)
        return np.cos(degree * np.arccos(np.clip(u, -1, 1))) / largest

    nodes = np.pi * (np.arange(degree) + 0.5) / degree
    points = (low + high) / 2 + (high - low) / 2 * np.cos(nodes)
    coefficients = np.polynomial.chebyshev.chebfit(np.cos(nodes), (1 - residual(points)) / points, degree - 1)
    factors = [1.0 / largest]  # of T_(2^i), from the last; 2 factors[i+1] / factors[i]^2 = 1
    for _ in range(doublings):
        factors.insert(0, math.sqrt(2 * factors[0]))
    slope = 2 / (high - low) * factors[0]
    return Goldschmidt(
        Polynomial(coefficients, "chebyshev", interval),
        steps,
        error,
        slope,
        -(high + low) / (high - low) * factors[0],
        tuple(factors[1:]),
    )


def newton(interval: Interval, tolerance: float, *, root: bool = False) -> Iterator[Approximation]:
    """Inverse square roots of positive numbers, and with `root` their square roots."""
    low, high = interval
    largest = math.sqrt(high) if root else 1 / math.sqrt(low)
    for logarithm in range(2, 8):
        start, least = _start_of_newton(interval, 2**logarithm - 1)
        factors: list[float] = []
        while least > 0 and 1 - least > tolerance / largest and len(factors) < _MOST_STEPS:
            factors.append(_scaling(least))
            least = _newton_step(factors[-1] * least)
        if factors and 1 - least <= tolerance / largest:
            error = (1 - least + _ROUNDING) * largest
            yield (Root if root else Newton)(start, len(factors), error, tuple(factors))


def _start_of_newton(interval: Interval, degree: int) -> tuple[Polynomial, float]:
    """A polynomial p with p(x) sqrt(x) in [t, 1], and t: least squares of the relative error."""
    low, high = interval
    u = np.cos(np.pi * (np.arange(_GRID) + 0.5) / _GRID)
    roots = np.sqrt((low + high) / 2 + (high - low) / 2 * u)
    basis = np.polynomial.chebyshev.chebvander(u, degree)
    coefficients = np.linalg.lstsq(basis * roots[:, None], np.ones(_GRID), rcond=None)[0]
    found = basis @ coefficients * roots
    room = 1 + float(np.abs(np.diff(found)).max())  # between the points
    coefficients = coefficients / (found.max() * room)
    return Polynomial(coefficients, "chebyshev", interval), float(found.min() / (found.max() * room) / room)


def _newton_step(t: float) -> float:
    return t * (3 - t * t) / 2


def _scaling(least: float) -> float:
    """m with step(m least) = step(m): m^2 (1 + t + t^2) = 3."""
    return math.sqrt(3 / (1 + least + least * least))
