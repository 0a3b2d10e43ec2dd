# SPDX-License-Identifier: Apache-2.0
"""Smooth functions and steps as activations.

Encrypted networks evaluate smooth ones as the Chebyshev interpolation of least degree that reaches the wanted
precision on the calibrated range (Trefethen, "Approximation Theory and Approximation Practice", chapter 8:
the error falls geometrically where the function is analytic), and steps as composite minimax polynomials.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import ClassVar

import numpy as np

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import integer, positive
from .layers import Activation, Array

MAX_PRECISION = 30
"""Bits that a smooth activation may ask for: beyond, doubles and noise decide."""

_erf = np.frompyfunc(math.erf, 1, 1)


@dataclasses.dataclass(frozen=True)
class Smooth(Activation):
    """A smooth function of each value; encrypted by a polynomial that is off by at most 2^-precision times
    the largest value that the function takes on the calibrated range.
    """

    precision: int = dataclasses.field(default=12, kw_only=True)
    """Bits"""

    non_negative: ClassVar[bool] = False
    """Whether inputs are never negative, so that ranges begin at 0."""

    def __post_init__(self) -> None:
        what = f"{type(self).__name__}: precision"
        object.__setattr__(self, "precision", integer(self.precision, what, 1, MAX_PRECISION))

    @abc.abstractmethod
    def function(self, x: Array) -> Array:
        """The exact function."""

    def forward(self, *arrays: Array) -> Array:
        """The exact function."""
        return np.asarray(self.function(np.asarray(arrays[0], dtype=np.float64)), dtype=np.float64)


def _logistic(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, x))


@dataclasses.dataclass(frozen=True)
class Sigmoid(Smooth):
    """1 / (1 + exp(-x))"""

    def function(self, x: Array) -> Array:
        """The logistic function."""
        return _logistic(x)


@dataclasses.dataclass(frozen=True)
class Tanh(Smooth):
    """tanh(x)"""

    def function(self, x: Array) -> Array:
        """The hyperbolic tangent."""
        return np.asarray(np.tanh(x))


@dataclasses.dataclass(frozen=True)
class Erf(Smooth):
    """The error function, of which GELU is made."""

    def function(self, x: Array) -> Array:
        """From the standard library, value by value."""
        return np.asarray(_erf(x), dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class GELU(Smooth):
    """x Phi(x) with the normal distribution Phi ("none"), or with PyTorch's formula for it ("tanh")."""

    approximate: str = "none"
    """As in PyTorch: "none" or "tanh"; which of the two formulas"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.approximate not in ("none", "tanh"):
            raise InvalidArgument(f"GELU: approximate {self.approximate!r}, expected 'none' or 'tanh'")

    def function(self, x: Array) -> Array:
        """Gaussian error linear unit (Hendrycks and Gimpel, 2016)."""
        if self.approximate == "tanh":
            return np.asarray(x * _logistic(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)))
        return np.asarray(x * (0.5 + 0.5 * np.asarray(_erf(x / math.sqrt(2)), dtype=np.float64)))


@dataclasses.dataclass(frozen=True)
class SiLU(Smooth):
    """x / (1 + exp(-x)), also called swish."""

    def function(self, x: Array) -> Array:
        """x times the logistic function."""
        return x * _logistic(x)


@dataclasses.dataclass(frozen=True)
class Mish(Smooth):
    """x tanh(softplus(x))"""

    def function(self, x: Array) -> Array:
        """Misra (2019)."""
        return x * np.tanh(_softplus(x))


@dataclasses.dataclass(frozen=True)
class Softplus(Smooth):
    """log(1 + exp(beta x)) / beta"""

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", positive(self.beta, "Softplus: beta"))

    def function(self, x: Array) -> Array:
        """A smooth ReLU."""
        return _softplus(self.beta * x) / self.beta


@dataclasses.dataclass(frozen=True)
class Softsign(Smooth):
    """x / (1 + |x|). Its second derivative jumps at 0: high precision takes high degrees."""

    def function(self, x: Array) -> Array:
        """The quotient."""
        return x / (1 + np.abs(x))


@dataclasses.dataclass(frozen=True)
class Decay(Smooth):
    """exp(-x) of values that are never negative: Gaussian kernels, and the tails of ELU and SELU."""

    non_negative: ClassVar[bool] = True

    def function(self, x: Array) -> Array:
        """The exponential of -x."""
        return np.asarray(np.exp(-x))


@dataclasses.dataclass(frozen=True)
class Step(Activation):
    """1 where x > 0, else 0; encrypted by composite minimax polynomials, right to 2^-alpha where |x| exceeds
    `halocline.sign_epsilon(alpha)` times the calibrated bound, and between 0 and 1 nearer to 0.
    """

    alpha: int = 10
    """Precision in bits, as in `Engine.step`"""

    def __post_init__(self) -> None:
        known = _core.sign_alphas()
        object.__setattr__(self, "alpha", integer(self.alpha, "Step: alpha", min(known), max(known)))

    def forward(self, *arrays: Array) -> Array:
        """The exact function."""
        return (arrays[0] > 0).astype(np.float64)
