# SPDX-License-Identifier: Apache-2.0
"""Polynomials to evaluate on encrypted values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument, WrongType
from ..base.values import integer, kind_of, vector

Interval = tuple[float, float]


def interval(domain: Sequence[float], what: str) -> Interval:
    """A pair (low, high) of finite numbers, low < high."""
    try:
        low, high = (float(each) for each in domain)
    except (TypeError, ValueError):
        raise WrongType(f"{what}: domain is {domain!r}, expected a pair of numbers (low, high)") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InvalidArgument(f"{what}: domain ({low}, {high}), expected finite numbers, the lower one first")
    return low, high


class Polynomial:
    """p(x) = sum_k coefficients[k] b_k(x): powers of x, or Chebyshev polynomials of an interval.

    coefficients: at least two numbers, the constant first; real or complex.
    basis: "monomial" (b_k = x^k) or "chebyshev" (b_k = T_k(u), u = (2 x - low - high) / (high - low)). Beyond
        degree ten or so take the Chebyshev basis, which keeps intermediate values small.
    domain: interval of x for the Chebyshev basis.

    Calling it evaluates it in the clear, as a reference. `levels` is what an encrypted evaluation costs.
    """

    def __init__(
        self, coefficients: npt.ArrayLike, basis: str = "monomial", domain: Sequence[float] = (-1.0, 1.0)
    ) -> None:
        self.coefficients, self.is_real = vector(coefficients, "polynomial")
        if basis not in ("monomial", "chebyshev"):
            raise InvalidArgument(f"polynomial: basis {basis!r}, expected 'monomial' or 'chebyshev'")
        self.basis = basis
        self.domain = interval(domain, "polynomial")
        self.max_error = 0.0
        """Largest distance found from the function that it was fitted to."""

    @classmethod
    def fit(
        cls, function: Callable[[float], float], domain: Sequence[float] = (-1.0, 1.0), degree: int = 15
    ) -> Polynomial:
        """The polynomial of that degree that equals a function in the Chebyshev points of an interval.

        Degrees 2^k - 1 use all of their k levels. `max_error` is measured between the points.
        """
        if not callable(function):
            raise WrongType(f"polynomial: got {kind_of(function)}, expected a function of a number")
        low, high = interval(domain, "polynomial")
        degree = integer(degree, "polynomial: degree", 1, 4096)
        coefficients, error, _ = _core.chebyshev_fit(lambda x: float(function(x)), low, high, degree)
        made = cls(coefficients.real, "chebyshev", (low, high))
        made.max_error = error
        return made

    @property
    def degree(self) -> int:
        """Largest k with a non-zero coefficient."""
        found = np.flatnonzero(self.coefficients)
        return int(found[-1]) if len(found) else 0

    @property
    def levels(self) -> int:
        """Levels that an encrypted evaluation costs."""
        return _core.polynomial_levels(self.coefficients, self.basis == "chebyshev", *self.domain)

    def __call__(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values at x in the clear."""
        points = np.asarray(x)
        coefficients = self.coefficients.real if self.is_real else self.coefficients
        if self.basis == "monomial":
            return np.polynomial.polynomial.polyval(points, coefficients)
        low, high = self.domain
        return np.polynomial.chebyshev.chebval((2 * points - low - high) / (high - low), coefficients)

    def __repr__(self) -> str:
        return f"Polynomial(degree {self.degree}, {self.basis!r}, {self.levels} levels)"
