# SPDX-License-Identifier: Apache-2.0
"""Logistic regression on packed ciphertexts: four levels an iteration, one bootstrap for all weights.

Packing. A ciphertext has W = slots / rows slots for each row, and K = columns / W ciphertexts hold the data,
row by row as in the HELR papers. But rows begin with another column in each of them, so that sums over
ciphertexts come before sums over slots:

    forward[k][i]  = z[floor(i / W), (i + W k) mod columns]
    backward[k][i] = z[(ceil(i / W) + k) mod rows, i mod columns]

Weights repeat themselves after `columns` slots, so they are a sparse ciphertext, whose bootstrap is cheap.
z v is the sum over k of forward[k] times v rotated by W k, and then over W slots: right in the first slot of
each row. The sigmoid's mask leaves only these, and another sum over W slots puts each into W slots again. The
gradient is the sum over k of backward[k] times that rotated by W k, and then over all slots that belong to a
column, which is cyclic and needs no mask.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import _core
from ...base.errors import InvalidArgument
from ...base.values import expect, power_of_two
from ...circuits.bootstrapping import Bootstrapper
from ...circuits.transforms import LinearTransform
from ...ckks.ciphertext import Ciphertext
from ...ckks.params import Params
from ...engine.engine import Engine
from .model import Constants

Array = npt.NDArray[np.float64]
Levels = list[list[Ciphertext]]
"""For each iteration of a period, the ciphertexts of the data at its level."""

ITERATION_LEVELS = 4
"""Forward product, two of the sigmoid, backward product."""


@dataclasses.dataclass(frozen=True)
class HelrLayout:
    """Where samples and weights lie in slots; all numbers are powers of two."""

    slots: int
    rows: int
    columns: int

    @classmethod
    def of(cls, slots: int, samples: int, columns: int) -> HelrLayout:
        """The smallest layout for so many samples and columns; rows of zeros fill a ciphertext."""
        width = power_of_two(columns)
        if width > slots or samples > slots:
            raise InvalidArgument(
                f"helr: {samples} samples of {columns} columns, expected at most {slots} of both, the slots "
                "of a ciphertext; take parameters of a larger ring"
            )
        return cls(slots, max(power_of_two(samples), slots // width), width)

    @property
    def width(self) -> int:
        """Slots of a row in one ciphertext."""
        return self.slots // self.rows

    @property
    def ciphertexts(self) -> int:
        """Of the data, forward and backward each."""
        return self.columns // self.width

    def _padded(self, signed: Array) -> Array:
        padded = np.zeros((self.rows, self.columns))
        padded[: signed.shape[0], : signed.shape[1]] = signed
        return padded

    def forward(self, signed: Array) -> list[Array]:
        """Data for the product with the weights."""
        z, slot = self._padded(signed), np.arange(self.slots)
        shifts = range(0, self.columns, self.width)
        return [z[slot // self.width, (slot + shift) % self.columns] for shift in shifts]

    def backward(self, signed: Array) -> list[Array]:
        """Data for the gradient."""
        z, slot = self._padded(signed), np.arange(self.slots)
        first = -(-slot // self.width)
        return [z[(first + k) % self.rows, slot % self.columns] for k in range(self.ciphertexts)]

    def vector(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value for each column, zeros behind."""
        return np.pad(values, (0, self.columns - len(values)))


@dataclasses.dataclass(frozen=True)
class OperationCounts:
    """Operations by kind."""

    rotate: int
    """Rotations that are added, some at a time: see `Engine.inner_sum`."""
    hoisted_rotate: int
    """Rotations that share the decomposition of their ciphertext with others."""
    relinearize: int
    multiply: int
    """Products of ciphertexts; those of a sum are relinearized together."""
    plain_multiply: int
    constant_multiply: int


class HelrCircuit:
    """Programs of the training, for any engine; constants are arguments, so one plan serves all periods."""

    def __init__(
        self, params: Params, layout: HelrLayout, constants: Constants, bootstrapper: Bootstrapper
    ) -> None:
        self.layout = layout
        self.radix = int(bootstrapper.describe()["sum_radix"])
        """Rotations that are added at a time: as in the bootstrap, which has most keys of these sums."""
        self.per_period = constants.per_period
        self.level = bootstrapper.input_level + ITERATION_LEVELS * self.per_period
        """At which a period begins."""
        if self.level > bootstrapper.output_level:
            raise InvalidArgument(
                f"helr: {self.per_period} iterations take levels {self.level} to {bootstrapper.input_level}, "
                f"but a bootstrap with '{params.name}' gives {bootstrapper.output_level}; expected at most "
                f"{iterations_per_bootstrap(bootstrapper)} iterations between two bootstraps"
            )
        self.bootstrapper = bootstrapper.lowered(self.level)
        first_slots = np.zeros(layout.width)
        first_slots[0] = constants.mask
        self._mask = LinearTransform({0: first_slots}, slots=layout.slots)

    @property
    def backward_level(self) -> int:
        """At which the gradient's data is used first."""
        return self.level - ITERATION_LEVELS + 1

    def counts(self) -> OperationCounts:
        """Operations of one iteration."""
        k, layout = self.layout.ciphertexts, self.layout
        within, across = (_rotations(n, self.radix) for n in (layout.width, layout.slots // layout.columns))
        return OperationCounts(2 * within + across, 2 * (k - 1), 4, 2 * k + 2, 1, 5)

    # Programs

    def prepare(
        self, forward: Sequence[Ciphertext], backward: Sequence[Ciphertext], mean: Ciphertext
    ) -> tuple[Levels, Levels, list[Ciphertext]]:
        """The data and its mean at the levels of all iterations of a period, so that none lowers them."""
        means = [each[0] for each in self._lowered([mean])]
        return self._lowered(forward), self._lowered(backward), means

    def _lowered(self, data: Sequence[Ciphertext]) -> Levels:
        levels = [data[0].level - ITERATION_LEVELS * each for each in range(self.per_period)]
        return [[_at(ct, level) for ct in data] for level in levels]

    def period(
        self,
        state: Ciphertext,
        forward: Levels,
        backward: Levels,
        means: Sequence[Ciphertext],
        steps: Array,
    ) -> Ciphertext:
        """Iterations and the bootstrap behind them. state: V + i X, halved; steps: `Constants.steps`."""
        packed = self.last_period(state, forward, backward, means, steps)
        with _engine_of(packed).phase("bootstrap"):
            return self.bootstrapper(packed)

    def last_period(
        self,
        state: Ciphertext,
        forward: Levels,
        backward: Levels,
        means: Sequence[Ciphertext],
        steps: Array,
    ) -> Ciphertext:
        """Iterations without a bootstrap."""
        v, x = self._unpack(state)
        for each, row in enumerate(steps):
            v, x = self._iterate(v, x, forward[each], backward[each], means[each], row)
        return v + x.mul_i()

    def _unpack(self, state: Ciphertext) -> tuple[Ciphertext, Ciphertext]:
        """Twice the real parts and twice the imaginary parts."""
        state = _at(state, self.level)
        other = state.conj()
        return state + other, (other - state).mul_i()

    def _iterate(
        self,
        v: Ciphertext,
        x: Ciphertext,
        forward: Sequence[Ciphertext],
        backward: Sequence[Ciphertext],
        mean: Ciphertext,
        row: Array,
    ) -> tuple[Ciphertext, Ciphertext]:
        """One iteration: V and X of the next one, four levels lower. Formulas: `Constants`."""
        engine = _engine_of(v)
        shift, v_by_v, v_by_x, v_by_mean, x_by_v, x_by_x = (float(each) for each in row)
        layout = self.layout
        with engine.phase("forward"):
            u = self._sum(engine.dot(forward, self._turned(v)), 1, layout.width)
        with engine.phase("sigmoid"):
            s = self._sum(self._mask(u) * (u * u + shift), 1, layout.width)
        with engine.phase("backward"):
            total = self._sum(engine.dot(backward, self._turned(s)), layout.columns, layout.slots)
        with engine.phase("update"):
            rows = [[v_by_v, v_by_x, v_by_mean], [x_by_v, x_by_x, 0.0]]
            rest, made = engine.combine([v, x, mean], rows, level=total.level)
            return total.with_slots(layout.columns) + rest, made

    def _sum(self, ct: Ciphertext, stride: int, end: int) -> Ciphertext:
        """Sum over rotations by 0, stride, 2 stride, ... below `end`."""
        return _engine_of(ct).inner_sum(ct, end // stride, stride, self.radix)

    def _turned(self, ct: Ciphertext) -> list[Ciphertext]:
        """Rotated by W k for each ciphertext k of the data."""
        steps = [self.layout.width * k for k in range(1, self.layout.ciphertexts)]
        return [ct, *_engine_of(ct).rotate_many(ct, steps)] if steps else [ct]


def iterations_per_bootstrap(bootstrapper: Bootstrapper) -> int:
    """How many iterations the levels between two bootstraps allow."""
    return (bootstrapper.output_level - bootstrapper.input_level) // ITERATION_LEVELS


def _rotations(count: int, radix: int) -> int:
    """Of a sum of `count` slots."""
    return sum(len(stage) - 1 for stage in _core.sum_stages(1, count, radix))


def _at(ct: Ciphertext, level: int) -> Ciphertext:
    return ct if ct.level == level else ct.drop_level(level)


def _engine_of(ct: Ciphertext) -> Engine:
    return expect(ct._on("helr"), Engine, "helr")
