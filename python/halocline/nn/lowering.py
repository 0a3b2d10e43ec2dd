# SPDX-License-Identifier: Apache-2.0
"""Linear layers as sparse matrices, and those as plain linear maps of slots.

A layer, or a chain of them, is first a matrix between flattened arrays (`SparseMatrix`), whatever its kind.
Two layouts make a map of slots of it: entry (o, i) multiplies slot `in(i)` and adds to slot `out(o)`, so it
belongs to generalized diagonal in(i) - out(o). With m the smaller of both numbers of slots only the distance
modulo m matters, because

* an input of fewer slots repeats itself, and
* an output of fewer slots is the sum of all slots that are congruent: each entry may add to any of them, and
  log2 of the ratio rotations add them up (`SlotMap.folds`).

This makes a dense layer of 10 outputs after pooling 16 diagonals and as many rotations as the repeated
halving of 4096 slots to 16 takes.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument
from ..base.names import Mode
from ..base.values import expect
from ..circuits.encoded import EncodedCircuit
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from .layers import Array, AvgPool, Conv2d, Flatten, Layer, Linear, LinearMap, Shape, Shortcut
from .layout import Layout, Slots

MAX_ENTRIES = 1 << 23
"""Entries of a matrix that a chain of layers may become; longer chains are computed layer by layer."""


@dataclasses.dataclass(frozen=True, eq=False)
class SparseMatrix:
    """value[k] at (row[k], column[k]) of a matrix (rows, columns); equal positions add up."""

    rows: int
    columns: int
    row: Slots
    column: Slots
    value: Array

    @classmethod
    def identity(cls, size: int) -> SparseMatrix:
        """Leaves everything as it is."""
        index = np.arange(size)
        return cls(size, size, index, index, np.ones(size))

    @property
    def entries(self) -> int:
        """How many there are, repeated positions counted."""
        return len(self.value)

    def scaled(self, factor: float) -> SparseMatrix:
        """All values times a number."""
        return dataclasses.replace(self, value=self.value * factor)

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        joined = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("row", "column", "value")
        )
        return SparseMatrix(self.rows, self.columns, *joined)

    def product_entries(self, before: SparseMatrix) -> int:
        """Entries that `after(before)` has."""
        counts = np.bincount(before.row, minlength=before.rows)
        return int(counts[self.column].sum())

    def after(self, before: SparseMatrix) -> SparseMatrix:
        """The matrix product with a matrix that is applied before."""
        order = np.argsort(before.row, kind="stable")
        counts = np.bincount(before.row, minlength=before.rows)
        starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
        repeats = counts[self.column]
        mine = np.repeat(np.arange(self.entries), repeats)
        first = np.repeat(np.cumsum(repeats) - repeats, repeats)
        theirs = order[starts[self.column[mine]] + np.arange(len(mine)) - first]
        value = self.value[mine] * before.value[theirs]
        return SparseMatrix(self.rows, before.columns, self.row[mine], before.column[theirs], value)

    def dense(self) -> Array:
        """The whole matrix."""
        made = np.zeros((self.rows, self.columns))
        np.add.at(made, (self.row, self.column), self.value)
        return made


def matrix_of(layer: Layer, shape: Shape) -> SparseMatrix:
    """What a linear layer does to inputs of that shape, without its bias."""
    size = int(np.prod(shape))
    if isinstance(layer, Conv2d):
        return _convolution(layer, shape)
    if isinstance(layer, Linear):
        row, column = np.nonzero(layer.weight)
        return SparseMatrix(len(layer.weight), size, row, column, layer.weight[row, column])
    if isinstance(layer, AvgPool):
        return _pooling(layer, shape)
    if isinstance(layer, Flatten):
        return SparseMatrix.identity(size)
    if isinstance(layer, Shortcut):
        return _shortcut(layer, shape)
    if isinstance(layer, LinearMap):
        return SparseMatrix(int(np.prod(layer.output_shape([shape]))), size, *layer.triplets(shape))
    raise InvalidArgument(f"lowering: {type(layer).__name__} is no linear layer of one input")


def _convolution(layer: Conv2d, shape: Shape) -> SparseMatrix:
    channels, rows, columns = shape
    outputs, down, across = layer.output_shape([shape])
    per_group = outputs // layer.groups
    (step_y, step_x), (dilation_y, dilation_x) = layer.strides, layer.dilations
    (top, _), (left, _) = layer.pads
    parts = []
    for dy, dx in np.ndindex(*layer.kernel):
        o, i = np.nonzero(layer.weight[:, :, dy, dx])
        first = o // per_group * layer.weight.shape[1]
        y: Slots = np.arange(down)
        x: Slots = np.arange(across)
        from_y, from_x = step_y * y + dilation_y * dy - top, step_x * x + dilation_x * dx - left
        y, from_y = (each[(from_y >= 0) & (from_y < rows)] for each in (y, from_y))
        x, from_x = (each[(from_x >= 0) & (from_x < columns)] for each in (x, from_x))
        to = (o[:, None, None] * down + y[:, None]) * across + x
        source = ((first + i)[:, None, None] * rows + from_y[:, None]) * columns + from_x
        value = np.broadcast_to(layer.weight[o, i, dy, dx][:, None, None], to.shape)
        parts.append((to.ravel(), source.ravel(), value.ravel()))
    joined = (np.concatenate(each) for each in zip(*parts, strict=True))
    return SparseMatrix(outputs * down * across, channels * rows * columns, *joined)


def _pooling(layer: AvgPool, shape: Shape) -> SparseMatrix:
    channels, rows, columns = shape
    _, down, across = layer.output_shape([shape])
    height, width, stride = layer.window(shape)
    c, y, x, dy, dx = np.ogrid[:channels, :down, :across, :height, :width]
    to = (c * down + y) * across + x + 0 * (dy + dx)
    source = (c * rows + stride * y + dy) * columns + stride * x + dx
    value = np.full(to.size, 1.0 / (height * width))
    return SparseMatrix(
        channels * down * across, channels * rows * columns, to.ravel(), source.ravel(), value
    )


def _shortcut(layer: Shortcut, shape: Shape) -> SparseMatrix:
    channels, rows, columns = shape
    outputs, down, across = layer.output_shape([shape])
    c, y, x = np.ogrid[:channels, :down, :across]
    to = ((c + layer.before(channels)) * down + y) * across + x
    source = (c * rows + layer.stride * y) * columns + layer.stride * x
    size = channels * rows * columns
    return SparseMatrix(outputs * down * across, size, to.ravel(), source.ravel(), np.ones(to.size))


@dataclasses.dataclass(frozen=True, eq=False)
class SlotMap:
    """A matrix between two layouts as diagonals of `slots` slots, made when they are asked for."""

    matrix: Callable[[], SparseMatrix]
    """Between the flattened arrays."""
    source: Layout
    target: Layout

    @property
    def slots(self) -> int:
        """Slots in which it is computed: those of the layout with more."""
        return max(self.source.slots, self.target.slots)

    @property
    def folds(self) -> int:
        """Congruent slots of the product that add up to a slot of the result, a power of two."""
        return self.slots // self.target.slots

    def diagonals(self) -> dict[int, Array]:
        """y[i] = sum_d diagonals[d][i] x[(i + d) mod slots]; y folded is the result."""
        matrix = self.matrix()
        to, source = self.target.index()[matrix.row], self.source.index()[matrix.column]
        period = min(self.source.slots, self.target.slots)
        # The same distance for all congruent slots, near 0 on either side, where babies and giants are few.
        distance = (source - to + period // 2) % period - period // 2
        at = to if self.source.slots < self.slots else (source - distance) % self.slots
        numbers, which = np.unique(distance, return_inverse=True)
        size = len(numbers) * self.slots
        sums = np.bincount(which * self.slots + at, weights=matrix.value, minlength=size)
        table: Array = np.asarray(sums, dtype=np.float64).reshape(len(numbers), self.slots)
        return {int(d): each for d, each in zip(numbers, table, strict=True) if each.any()}

    def apply(self, values: npt.ArrayLike) -> Array:
        """What the encrypted map computes, in the clear: slots to slots."""
        x = np.resize(np.asarray(values, dtype=np.float64), self.slots)
        y = np.zeros(self.slots)
        for d, diagonal in self.diagonals().items():
            y += diagonal * np.roll(x, -d)
        return y.reshape(self.folds, -1).sum(axis=0)


class EncodedVector:
    """A vector to add to ciphertexts, encoded at the first use on an engine and level, and kept there.

    keep: as that of `EncodedMap`.
    """

    def __init__(self, values: Callable[[], Array], slots: int, *, keep: bool = True) -> None:
        self._values, self._slots, self._keep = values, slots, keep
        self._encoded: weakref.WeakKeyDictionary[Host, dict[int, _core.Plaintext]]
        self._encoded = weakref.WeakKeyDictionary()

    def _on(self, engine: Host, level: int) -> _core.Plaintext:
        kept = self._encoded.setdefault(engine, {}) if self._keep else {}
        if level not in kept:
            scale = engine.params.level(level).scale
            values = self._values().astype(np.complex128)
            kept[level] = _core.encode(engine._core, values, level, scale, self._slots)
            if self._keep and engine._encoded_log is not None:
                engine._encoded_log.append((self, level))
        return kept[level]

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """The sum."""
        engine = x._on("bias")
        plain = self._on(engine, x.level)
        return Ciphertext(_core.add_plain(engine._core, engine._own(x, "bias"), plain), engine, x.is_real)


class EncodedMap(EncodedCircuit):
    """A map of slots on encrypted vectors: `y = encoded(x)`, one level lower.

    keep: keep the encoded diagonals of every engine and level; otherwise they are encoded at each use and
    dropped. The other arguments are those of `EncodedCircuit`. Diagonals in the clear exist only while they
    are encoded.
    """

    _what = "linear layer"

    def __init__(
        self,
        slot_map: SlotMap,
        *,
        keep: bool = True,
        mode: Mode = "double_hoisted",
        baby_count: int = 0,
        compact: bool = True,
    ) -> None:
        super().__init__(slot_map.slots, 1, 1, True, mode, baby_count, compact)
        self.slot_map, self._keep = slot_map, keep
        self._products: int | None = None

    @property
    def products(self) -> int:
        """Diagonals that it multiplies with."""
        if self._products is None:  # encoding it counts them
            self._products = len(self.slot_map.diagonals())
        return self._products

    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        diagonals = self.slot_map.diagonals()
        self._products = len(diagonals)
        cell = {d: np.asarray(each, dtype=np.complex128) for d, each in diagonals.items()}
        return _core.Circuit.grid(engine, how, [[cell]])

    def _on(self, engine: Host, level: int) -> _core.Circuit:
        if self._keep:
            return super()._on(engine, level)
        return self._make(engine._core, self._how(engine, level))

    def __call__(self, x: Ciphertext) -> Ciphertext:  # type: ignore[override]
        """The map applied to a ciphertext in the source layout; the result is in the target layout."""
        x = expect(x, Ciphertext, self._what)
        wide = x if x.slots == self._slots else x.with_slots(self._slots)
        y = self._apply([wide])[0]
        folds, slots = self.slot_map.folds, self.slot_map.target.slots
        return y if folds == 1 else y._on(self._what).inner_sum(y, folds, slots).with_slots(slots)
