# SPDX-License-Identifier: Apache-2.0
"""Activations as the polynomials that encrypted networks evaluate, on inputs brought to [-1, 1]."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np

from ..base.errors import ActivationRange, InvalidArgument
from ..base.values import expect
from ..circuits.methods import sign_levels
from ..circuits.minimax import minimax_relu, minimax_sign, relu_error
from ..circuits.polynomial import Polynomial as PolynomialFunction
from ..ckks.ciphertext import Ciphertext
from ..engine.engine import Engine
from .activations import Smooth, Step
from .layers import Activation, Array, Polynomial, ReLU

_GRID = 4097  # points at which the range of a polynomial is looked for
_POINTS: Array = np.linspace(-1.0, 1.0, _GRID, dtype=np.float64)
_DEGREES = (1, 2, 3, 5, 7, 11, 15, 23, 31, 47, 63, 95, 127, 191, 255, 383, 511)
_BELOW = 1 / 64  # of the range of values that are never negative: noise may bring them so far below 0


@dataclasses.dataclass(frozen=True)
class Approximation:
    """An activation f of values z as output(z) = scale * function((z - middle) / half)."""

    middle: float
    half: float
    """Encrypted values are u = (z - middle) / half, in [-1, 1]."""
    scale: float
    """Results are `scale` times the encrypted ones, which lie in [-1, 1] up to errors."""
    levels: int
    evaluate: Callable[[Ciphertext], Ciphertext]
    """On encrypted u."""
    function: Callable[[Array], Array]
    """On u in the clear."""
    error: float = 0.0
    """Largest distance of `clear` from the exact activation within the bound; for a step, farther from 0 than
    `sign_epsilon` times the bound"""

    def clear(self, values: Array) -> Array:
        """What the encrypted network makes of inputs of the activation, without noise."""
        return np.asarray(self.scale * self.function((values - self.middle) / self.half))


def approximate(layer: Activation, bound: float, name: str, margin: float = 1.0) -> Approximation:
    """How an activation on [-bound, bound] is evaluated; name: of the layer, margin: of the bound.

    Warns (`ActivationRange`) of a polynomial that was made for fewer values than it gets.
    """
    if isinstance(layer, ReLU):
        alpha = layer.alpha
        return Approximation(
            middle=0.0,
            half=bound,
            scale=bound,
            levels=sign_levels(alpha) + 1,
            evaluate=lambda u: expect(u._on("relu"), Engine, "relu").relu(u, alpha=alpha),
            function=lambda u: minimax_relu(u, alpha),
            error=bound * relu_error(alpha),
        )
    if isinstance(layer, Step):
        return _step(layer.alpha, bound)
    if isinstance(layer, Smooth):
        return _smooth(layer, bound, name)
    if isinstance(layer, Polynomial):
        _check_polynomial(layer.polynomial, bound / margin, name)
        return _polynomial(layer.polynomial, bound)
    raise InvalidArgument(
        f"layer {name!r}: {type(layer).__name__}; supported activations: ReLU, Step, Polynomial and "
        "the smooth "
        "functions of halocline.nn"
    )


def _step(alpha: int, bound: float) -> Approximation:
    return Approximation(
        middle=0.0,
        half=bound,
        scale=1.0,
        levels=sign_levels(alpha),
        evaluate=lambda u: expect(u._on("step"), Engine, "step").step(u, alpha=alpha),
        function=lambda u: 0.5 + 0.5 * minimax_sign(u, alpha),
        error=2.0**-alpha,
    )


def _smooth(layer: Smooth, bound: float, name: str) -> Approximation:
    """The Chebyshev interpolation of the least degree that is precise enough."""
    low, high = (-bound * _BELOW if layer.non_negative else -bound), bound
    middle, half = (low + high) / 2, (high - low) / 2

    def of_u(u: Array) -> Array:
        return layer.function(middle + half * u)

    exact = of_u(_POINTS)
    scale = float(np.abs(exact).max()) or 1.0
    wanted = scale * 2.0**-layer.precision
    for degree in _DEGREES:
        series: Array = np.polynomial.chebyshev.chebinterpolate(of_u, degree)  # type: ignore[type-var,arg-type]
        error = float(np.abs(np.polynomial.chebyshev.chebval(_POINTS, series) - exact).max())
        if error <= wanted:
            break
    else:
        raise InvalidArgument(
            f"layer {name!r}: {type(layer).__name__} to {layer.precision} bits on [{low:.3g}, {high:.3g}]; a "
            f"polynomial of degree {_DEGREES[-1]} reaches {np.log2(scale / error):.1f}. Ask for a smaller "
            "precision, or train or scale the network such that this layer gets smaller values"
        )
    polynomial = PolynomialFunction(series / scale, "chebyshev")
    return Approximation(
        middle=middle,
        half=half,
        scale=scale,
        levels=polynomial.levels,
        evaluate=lambda u: expect(u._on("polynomial"), Engine, "polynomial").polynomial(u, polynomial),
        function=lambda u: np.asarray(polynomial(u), dtype=np.float64),
        error=error,
    )


def _check_polynomial(given: PolynomialFunction, found: float, name: str) -> None:
    """Refuses constants; warns of values that leave the domain of a Chebyshev series."""
    if given.degree == 0:
        raise InvalidArgument(
            f"layer {name!r}: a polynomial of degree 0 does not depend on its input; leave it out"
        )
    low, high = given.domain
    if given.basis == "chebyshev" and found > max(abs(low), abs(high)):
        warnings.warn(
            f"layer {name!r}: a polynomial on [{low:.3g}, {high:.3g}] gets values up to {found:.3g}. There "
            "it grows without bound, and encrypted results lose precision or are wrong: make it on a larger "
            "interval",
            ActivationRange,
            stacklevel=6,
        )


def _polynomial(given: PolynomialFunction, bound: float) -> Approximation:
    """The polynomial of u, divided by its largest value.

    Chebyshev series keep their interval, so that no level is needed to scale their variable.
    """
    low, high = given.domain if given.basis == "chebyshev" else (-bound, bound)
    middle, half = (low + high) / 2, (high - low) / 2
    scale = float(np.abs(given(np.linspace(low, high, _GRID))).max()) or 1.0
    factors: Array = np.ones(len(given.coefficients))
    if given.basis == "monomial":
        factors = np.power(half, np.arange(len(factors), dtype=np.float64))
    of_u = PolynomialFunction(given.coefficients.real * factors / scale, given.basis)
    return Approximation(
        middle=middle,
        half=half,
        scale=scale,
        levels=of_u.levels,
        evaluate=lambda u: expect(u._on("polynomial"), Engine, "polynomial").polynomial(u, of_u),
        function=lambda u: np.asarray(of_u(u), dtype=np.float64),
    )
