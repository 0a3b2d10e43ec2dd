# SPDX-License-Identifier: Apache-2.0
"""Chebyshev series of functions: the least degree for an error, and intervals that cost no level."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ..circuits.polynomial import Interval, Polynomial

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

MAX_DEGREE = 1023
"""Largest degree of a single polynomial: 10 levels."""
_POINTS = 8192
"""Points of the series that polynomials are cut out of."""
_ROUNDING = 2.0**-50
"""Coefficients below this share of the largest value are errors of doubles."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """A polynomial near a function."""

    polynomial: Polynomial
    error: float
    """Bound on the distance on the interval."""

    @property
    def degree(self) -> int:
        """Of the polynomial."""
        return self.polynomial.degree

    @property
    def levels(self) -> int:
        """That an encrypted evaluation costs."""
        return self.polynomial.levels


def chebyshev_coefficients(function: Function, interval: Interval, count: int = _POINTS) -> Array:
    """Coefficients of the interpolation in `count` Chebyshev points, by a fast cosine transform."""
    low, high = interval
    angles = np.pi * (np.arange(count) + 0.5) / count
    with np.errstate(all="ignore"):  # what is not finite fits nothing
        values = np.asarray(function((low + high) / 2 + (high - low) / 2 * np.cos(angles)), np.float64)
    if not np.isfinite(values).all():
        return np.full(count, math.inf)
    spectrum = np.fft.rfft(np.concatenate([values, values[::-1]]))[:count]
    turned = spectrum * np.exp(-0.5j * np.pi * np.arange(count) / count)
    found: Array = turned.real / count
    found[0] /= 2
    return found


def free_domains(interval: Interval, least: float) -> Iterator[Interval]:
    """The interval, and wider ones whose variable costs no level: those of half-width 1 / m.

    least: the function is not defined at and below it; NaN where nothing is known. The wider interval has the
    same middle where the function is defined on it, which keeps odd and even functions so, and the same lower
    end otherwise.
    """
    yield interval
    low, high = interval
    half = (high - low) / 2
    if half >= 1 or math.isnan(least):
        return
    wider = 1.0 / math.floor(1.0 / half * (1 + 2.0**-40))
    middle = (low + high) / 2
    first = middle - wider if middle - wider > least else low
    yield first, first + 2 * wider


def fit(function: Function, interval: Interval, tolerance: float, least: float = -math.inf) -> Fit | None:
    """The polynomial of fewest levels, then of least degree, within a tolerance of a function.

    The error is bounded by the sum of the magnitudes of the coefficients that are left out (Trefethen,
    Approximation Theory and Approximation Practice, chapter 4). None where MAX_DEGREE does not suffice.
    """
    best: Fit | None = None
    for domain in free_domains(interval, least):
        found = _cut(chebyshev_coefficients(function, domain), domain, tolerance)
        if found and (best is None or (found.levels, found.degree) < (best.levels, best.degree)):
            best = found
    return best


def _cut(coefficients: Array, domain: Interval, tolerance: float) -> Fit | None:
    """The series cut where what is left out adds up to no more than the tolerance."""
    sizes = np.abs(coefficients)
    # What the series has beyond its points counts twice, as it also changes the coefficients. It is no more
    # than the second half, if it falls like 1 / k^2, as that of a square root down to 0 does; for analytic
    # functions both are rounding.
    rounding = _ROUNDING * max(1.0, float(sizes.max())) + 2 * float(sizes[len(sizes) // 2 :].sum())
    beyond = np.append(np.cumsum(sizes[::-1])[::-1][1:], 0.0)  # beyond[k]: sum of those after k
    fitting = np.flatnonzero(beyond[: MAX_DEGREE + 1] <= tolerance - rounding)
    if not len(fitting):
        return None
    kept = coefficients[: max(int(fitting[0]), 1) + 1].copy()
    kept[np.abs(kept) < _ROUNDING * sizes.max()] = 0.0
    if not kept[1:].any():
        kept[1] = _ROUNDING  # a constant as a polynomial of x
    return Fit(Polynomial(kept, "chebyshev", domain), float(beyond[len(kept) - 1]) + rounding)


def products(degree: int) -> int:
    """About how many products of ciphertexts a polynomial takes (Paterson and Stockmeyer, 1973)."""
    return round(2 * math.sqrt(degree)) + degree.bit_length() - 1
