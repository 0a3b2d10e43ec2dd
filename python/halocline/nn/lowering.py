# SPDX-License-Identifier: Apache-2.0
"""Linear layers as sparse matrices, and vectors that are added.

A layer, or a chain of them, is first a matrix between flattened arrays (`SparseMatrix`), whatever its kind;
`tensor_map.py` makes maps of slots of it.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Iterator

import numpy as np

from .. import _core
from ..base.errors import InvalidArgument
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from .layers import Array, AvgPool, Conv2d, Flatten, Layer, Linear, LinearMap, Shape, Shortcut
from .layout import Slots

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


@dataclasses.dataclass(frozen=True, eq=False)
class Tap:
    """Where kernels of a convolution have one of their weights, and what these are.

    Output channel output[k] at (y, x) gets value[k] times input channel input[k] at (down y + row,
    across x + column), with `steps_of` down and across, where that is on the image.
    """

    row: int
    column: int
    output: Slots
    input: Slots
    value: Array


def steps_of(layer: Conv2d) -> tuple[int, int]:
    """Pixels of the input between neighbours of the output, down and across."""
    return layer.strides


def taps_of(layer: Conv2d) -> Iterator[Tap]:
    """Weights of a convolution that are not 0, by their place in the kernel."""
    (down, across), ((top, _), (left, _)) = layer.dilations, layer.pads
    outputs, inputs = layer.weight.shape[:2]
    for dy, dx in np.ndindex(*layer.kernel):
        o, i = np.nonzero(layer.weight[:, :, dy, dx])
        first = o // (outputs // layer.groups) * inputs
        yield Tap(down * dy - top, across * dx - left, o, first + i, layer.weight[o, i, dy, dx])


def _convolution(layer: Conv2d, shape: Shape) -> SparseMatrix:
    channels, rows, columns = shape
    outputs, down, across = layer.output_shape([shape])
    by_row, by_column = steps_of(layer)
    parts = []
    for tap in taps_of(layer):
        y: Slots = np.arange(down)
        x: Slots = np.arange(across)
        from_y, from_x = by_row * y + tap.row, by_column * x + tap.column
        y, from_y = (each[(from_y >= 0) & (from_y < rows)] for each in (y, from_y))
        x, from_x = (each[(from_x >= 0) & (from_x < columns)] for each in (x, from_x))
        to = (tap.output[:, None, None] * down + y[:, None]) * across + x
        source = (tap.input[:, None, None] * rows + from_y[:, None]) * columns + from_x
        value = np.broadcast_to(tap.value[:, None, None], to.shape)
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
            kept[level] = _core.encode(engine._native, values, level, scale, self._slots, kept=self._keep)
            if self._keep and engine._encoded_log is not None:
                engine._encoded_log.append((self, level))
        return kept[level]

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """The sum."""
        engine = x._on("bias")
        plain = self._on(engine, x.level)
        engine._own(x, "bias")
        return Ciphertext(engine._add_encoded(x, plain), engine, x.is_real)
