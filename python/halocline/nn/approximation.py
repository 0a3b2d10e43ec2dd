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
from ..circuits.minimax import minimax_relu
from ..circuits.polynomial import Polynomial as PolynomialFunction
from ..ckks.ciphertext import Ciphertext
from ..engine.engine import Engine
from .layers import Activation, Array, Polynomial, ReLU

_GRID = 4097  # points at which the range of a polynomial is looked for


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
        )
    if isinstance(layer, Polynomial):
        _check_polynomial(layer.polynomial, bound / margin, name)
        return _polynomial(layer.polynomial, bound)
    raise InvalidArgument(f"layer {name!r}: {type(layer).__name__}; supported activations: ReLU, Polynomial")


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
