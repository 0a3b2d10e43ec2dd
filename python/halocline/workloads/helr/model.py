# SPDX-License-Identifier: Apache-2.0
"""Logistic regression with Nesterov updates in the clear: the reference, and the twin of the encrypted one.

Sources: Kim, Song, Kim, Lee and Cheon, "Logistic regression model training based on the approximate
homomorphic encryption" (2018); Han, Song, Cheon and Park, "Logistic regression on homomorphic encrypted data
at scale" (AAAI 2019). With z = label * (features, 1), t = 0, 1, ...

    w' = v + (rate / samples) sum_i sigma(-z_i v) z_i
    v' = (1 - eta_t) w' + eta_t w,   eta_t = (1 - lambda_t) / lambda_(t+1),
    lambda_0 = 1, lambda_(t+1) = (1 + sqrt(1 + 4 lambda_t^2)) / 2
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ...base.errors import InvalidArgument

Array = npt.NDArray[np.float64]
Activation = Callable[[Array], Array]

WEIGHT_SCALE = 1.0
"""About what a weight is multiplied by: more is more precise, until the sine of a bootstrap bends."""
SLOT_WEIGHT_SCALE = 0.5
"""The same where bootstraps reduce slots, not coefficients (`order="stc_first"`): slots must not exceed
1, and reach 1.04 times the scale with MNIST."""
STEP_FIELDS = ("shift", "v_by_v", "v_by_x", "v_by_mean", "x_by_v", "x_by_x")
"""Columns of `Constants.steps`."""


@dataclasses.dataclass(frozen=True)
class Sigmoid:
    """sigma(-u) replaced by constant + linear u + cubic u^3, the best on [-interval, interval]."""

    interval: float
    constant: float
    linear: float
    cubic: float

    def __call__(self, u: Array) -> Array:
        """The values in the clear."""
        return self.constant + self.linear * u + self.cubic * u**3


def fit_sigmoid(interval: float) -> Sigmoid:
    """Least squares over the interval, by projection on Legendre polynomials of degrees 1 and 3."""
    nodes, weights = np.polynomial.legendre.leggauss(256)
    values = exact_sigmoid(interval * nodes) - 0.5
    first = 1.5 * float(weights @ (values * nodes))
    third = 3.5 * float(weights @ (values * (2.5 * nodes**3 - 1.5 * nodes)))
    return Sigmoid(interval, 0.5, (first - 1.5 * third) / interval, 2.5 * third / interval**3)


def exact_sigmoid(u: Array) -> Array:
    """sigma(-u) = 1 / (1 + exp(u))."""
    return 0.5 * (1 - np.tanh(0.5 * u))


def momenta(iterations: int) -> list[float]:
    """eta_t of each iteration: 0, then negative numbers towards -1."""
    made, last = [], 1.0
    for _ in range(iterations):
        following = (1 + math.sqrt(1 + 4 * last * last)) / 2
        made.append((1 - last) / following)
        last = following
    return made


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What training gave."""

    weights: Array
    largest_product: float
    """Of |z v|, which the polynomial's interval must hold."""

    def accuracy(self, samples: Array, labels: Array) -> float:
        """Share of samples on the right side."""
        return accuracy(self.weights, samples, labels)


def accuracy(weights: Array, samples: Array, labels: Array) -> float:
    """Share of samples on the right side of a hyperplane."""
    return float((np.sign(samples @ weights) == labels).mean())


def train(signed: Array, iterations: int, rate: float, activation: Activation) -> Trained:
    """Training in the clear as the papers state it; activation: u to sigma(-u)."""
    v: Array = np.zeros(signed.shape[1])
    w, largest = v, 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # a polynomial that is left explodes
        for eta in momenta(iterations):
            u = signed @ v
            largest = max(largest, float(np.abs(u).max()))
            following = v + rate / len(signed) * (signed.T @ activation(u))
            v, w = (1 - eta) * following + eta * w, following
    return Trained(w, largest)


@dataclasses.dataclass(frozen=True, eq=False)
class Constants:
    """All numbers of an encrypted training, chosen so that none of them costs a level.

    Ciphertexts hold V = k v and X = k x, x the w of one iteration before, with a k for each iteration. One
    iteration with U = forward * (z V) is

        S = mask * U (U^2 + shift)
        V' = v_by_v V + v_by_x X + v_by_mean * mean(z) + backward * sum_i S_i z_i
        X' = x_by_v V + x_by_x X

    k follows from the next iteration's, so that the cubic term has coefficient 1: the sigmoid costs two
    levels with the mask in them. A new period begins with twice the k, because unpacking doubles.
    """

    sigmoid: Sigmoid
    forward: float
    backward: float
    mask: float
    steps: Array
    """(iterations, 6): STEP_FIELDS."""
    per_period: int
    final_scale: float
    """k after the last iteration."""
    final_momentum: float

    def periods(self) -> Iterator[Array]:
        """The steps between two bootstraps, one period after another."""
        for begin in range(0, len(self.steps), self.per_period):
            yield self.steps[begin : begin + self.per_period]

    def weights_of(self, v: Array, x: Array) -> Array:
        """w from V and X after the last iteration: v = (1 - eta) w + eta x."""
        eta = self.final_momentum
        made: Array = (v - eta * x) / ((1 - eta) * self.final_scale)
        return made


def make_constants(
    samples: int,
    iterations: int,
    rate: float,
    interval: float,
    per_period: int,
    weight_scale: float = WEIGHT_SCALE,
) -> Constants:
    """Constants for training with that many samples, bootstrapped after each `per_period` iterations."""
    if iterations < 1:
        raise InvalidArgument(f"helr: {iterations} iterations, expected at least 1")
    if not (0 < rate < math.inf and 0 < interval < math.inf):
        raise InvalidArgument(f"helr: rate {rate} and interval {interval}, expected positive numbers")
    sigmoid = fit_sigmoid(interval)
    etas = momenta(iterations)
    gains = [rate * (1 - eta) / samples for eta in etas]
    forward = 1 / (weight_scale * interval)
    # With this product the weights' scale settles where |U| <= 1; a part of it goes into the mask, because
    # data of less than 2^-10 would lose precision in its encoding.
    product = weight_scale * float(np.mean(gains)) * sigmoid.cubic * interval**3
    mask = min(1.0, math.sqrt(product))
    steps = np.zeros((iterations, len(STEP_FIELDS)))
    following = weight_scale  # k with which the next iteration takes over
    for t in reversed(range(iterations)):
        ends_period = (t + 1) % per_period == 0 and t + 1 < iterations
        out = following / 2 if ends_period else following
        own = float(np.cbrt(out * gains[t] * sigmoid.cubic / (product * forward**3)))
        before = etas[t - 1] if t else 0.0
        w_by_v, w_by_x = 1 / (1 - before), -before / (1 - before)
        steps[t] = (
            sigmoid.linear / sigmoid.cubic * (forward * own) ** 2,
            out / own * (1 - etas[t] + etas[t] * w_by_v),
            out / own * etas[t] * w_by_x,
            out * gains[t] * samples * sigmoid.constant,
            out / own * w_by_v,
            out / own * w_by_x,
        )
        following = own
    return Constants(
        sigmoid, forward, product / mask, mask, _fractions(steps), per_period, weight_scale, etas[-1]
    )


def _fractions(steps: Array) -> Array:
    """Integers moved by a rounding error: products with them take another way, and the program must not
    depend on the numbers."""
    return np.where(steps == np.round(steps), steps + 2.0**-45, steps)


@dataclasses.dataclass(frozen=True, eq=False)
class Rehearsal:
    """What the twin found."""

    weights: Array
    packed: Sequence[npt.NDArray[np.complex128]]
    """V + i X before each bootstrap and at the end."""


def rehearse(signed: Array, constants: Constants) -> Rehearsal:
    """The encrypted training in the clear: the same numbers in the same order, without packing and noise."""
    mean = signed.mean(axis=0)
    state = np.zeros(signed.shape[1], dtype=np.complex128)
    packed = []
    for period in constants.periods():
        v, x = 2 * state.real, 2 * state.imag
        for shift, v_by_v, v_by_x, v_by_mean, x_by_v, x_by_x in period:
            u = constants.forward * (signed @ v)
            s = constants.mask * u * (u * u + shift)
            step = constants.backward * (signed.T @ s)
            v, x = v_by_v * v + v_by_x * x + v_by_mean * mean + step, x_by_v * v + x_by_x * x
        state = v + 1j * x
        packed.append(state)
    return Rehearsal(constants.weights_of(state.real, state.imag), packed)
