# SPDX-License-Identifier: Apache-2.0
"""Polynomials to evaluate on encrypted values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument, PoorFit, WrongType
from ..base.names import Basis
from ..base.values import integer, kind_of, positive, vector

Interval = tuple[float, float]

_POLE = 10.0
"""A fit that is off by so many times the largest value at its points is none."""
_POOR = 0.1
"""A fit that is off by this share of what its values range over is worth a warning."""
_ROUNDING = 1e-12
"""Errors below this share of the largest value are those of doubles, also of constant functions."""


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
        self, coefficients: npt.ArrayLike, basis: Basis = "monomial", domain: Sequence[float] = (-1.0, 1.0)
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
        cls,
        function: Callable[[float], float],
        domain: Sequence[float] = (-1.0, 1.0),
        degree: int = 15,
        *,
        tolerance: float | None = None,
    ) -> Polynomial:
        """The polynomial of that degree that equals a function in the Chebyshev points of an interval.

        Degrees 2^k - 1 use all of their k levels. `max_error` is measured between the points.
        tolerance: the largest error that is accepted. Without it, an error above a tenth of what the values
            range over warns (`PoorFit`).

        Raises InvalidArgument where the function is not finite, where the error exceeds the tolerance, and
        where it is more than ten times the largest value in the points, as beside a pole.
        """
        if not callable(function):
            raise WrongType(f"polynomial: got {kind_of(function)}, expected a function of a number")
        low, high = interval(domain, "polynomial")
        degree = integer(degree, "polynomial: degree", 1, 4096)
        wanted = None if tolerance is None else positive(tolerance, "polynomial: tolerance")
        coefficients, error, where = _core.chebyshev_fit(lambda x: float(function(x)), low, high, degree)
        made = cls(coefficients.real, "chebyshev", (low, high))
        made.max_error = error
        made._judge(where, wanted, degree)
        return made

    def _judge(self, where: float, tolerance: float | None, degree: int) -> None:
        """Refuses, or warns of, a fit that is off by `max_error` at `where`."""
        low, high = self.domain
        angles = np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
        values = self((low + high) / 2 + (high - low) / 2 * np.cos(angles))  # the function's, at the points
        largest, spread = float(np.abs(values).max()), float(np.ptp(values))
        what = f"polynomial: the fit of degree {degree} on ({low:g}, {high:g}) is off by {self.max_error:.3g}"
        advice = "take a higher degree, or a domain where the function is smooth"
        if tolerance is not None:
            if self.max_error > tolerance:
                raise InvalidArgument(
                    f"{what} at {where:.6g}; expected at most {tolerance:g}, the tolerance: {advice}"
                )
        elif self.max_error > _POLE * largest:
            raise InvalidArgument(
                f"{what} at {where:.6g}, while the values at its points are at most {largest:.3g}: the "
                f"function has a pole or a peak there; {advice}"
            )
        elif self.max_error > _POOR * max(spread, largest * _ROUNDING):
            warnings.warn(
                f"{what} at {where:.6g}, while its values range over {spread:.3g}; {advice}, or say with "
                "tolerance= what is acceptable",
                PoorFit,
                stacklevel=3,
            )

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
