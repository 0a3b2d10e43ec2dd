# SPDX-License-Identifier: Apache-2.0
"""Layers of networks on packed ciphertexts: convolutions, matrices, images in slots."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument
from ..base.names import Mode
from ..base.values import expect, integer, power_of_two, unshared
from ..ckks.ciphertext import Ciphertext
from .encoded import EncodedCircuit


def _array(values: npt.ArrayLike, dimensions: int, what: str) -> npt.NDArray[np.generic]:
    array = np.asarray(values)
    if array.ndim != dimensions or array.dtype.kind not in "biufc" or array.size == 0:
        raise InvalidArgument(
            f"{what}: shape {array.shape}, type {array.dtype}; expected {dimensions} dimensions of numbers"
        )
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{what}: NaN or infinite weights; expected finite numbers")
    return array


@dataclasses.dataclass(frozen=True)
class ImageLayout:
    """Where the pixels of packed images are: pixel (y, x) of image b is in slot
    b * block + gap * (y * pitch + x).
    """

    rows: int
    """Of an image."""
    columns: int
    """Of an image."""
    block: int
    """Slots of an image, a power of two; slots / block images in a ciphertext."""
    pitch: int = 0
    """Positions from a row to the next; 0 means `columns`."""
    gap: int = 1
    """Slots from a pixel to its neighbour: 1 until a stride widens it."""

    def slot(self, y: int, x: int) -> int:
        """Slot of a pixel within its block."""
        return self.gap * (y * (self.pitch or self.columns) + x)

    def strided(self, stride: int) -> ImageLayout:
        """Where the results of a convolution with that stride are."""
        rows, columns = -(-self.rows // stride), -(-self.columns // stride)
        return ImageLayout(rows, columns, self.block, self.pitch or self.columns, self.gap * stride)

    def _slots(self) -> npt.NDArray[np.int64]:
        return np.array([[self.slot(y, x) for x in range(self.columns)] for y in range(self.rows)])

    def pack(self, images: npt.ArrayLike, slots: int) -> npt.NDArray[np.float64]:
        """Slot values of images (count, rows, columns); slots without a pixel are 0."""
        array = np.asarray(images, dtype=np.float64)
        array = array[np.newaxis] if array.ndim == 2 else array
        if array.shape[1:] != (self.rows, self.columns) or len(array) * self.block > slots:
            raise InvalidArgument(
                f"pack: images of shape {array.shape}, expected at most {slots // self.block} of "
                f"{self.rows} x {self.columns}"
            )
        values = np.zeros((slots // self.block, self.block))
        values[: len(array), self._slots()] = array
        return values.ravel()

    def unpack(self, values: npt.ArrayLike, count: int) -> npt.NDArray[np.float64]:
        """The first `count` images (count, rows, columns) in decrypted slots."""
        array = np.real(np.asarray(values)).astype(np.float64)
        if not 0 <= count * self.block <= len(array):
            raise InvalidArgument(f"unpack: {count} images of {self.block} slots in {len(array)} slots")
        return array.reshape(-1, self.block)[:count, self._slots()]


class Convolution2d(EncodedCircuit):
    """A plain 2-D convolution of packed images, with zero padding of (kernel - 1) / 2.

    weights: (outputs, inputs, kernel, kernel), kernel odd; bias: (outputs,) or None; layout: of the inputs;
    slots: of the ciphertexts. One ciphertext for each channel; results are in `output_layout`. As in neural
    networks, out[o](y, x) = bias[o] + sum w[o, i](dy, dx) in[i](stride y + dy, stride x + dx). The bias is
    added in every slot; other slots without a pixel hold 0 besides.
    """

    _what = "convolution"

    def __init__(
        self,
        weights: npt.ArrayLike,
        layout: ImageLayout,
        slots: int,
        *,
        bias: npt.ArrayLike | None = None,
        stride: int = 1,
        mode: Mode = "naive",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        array = _array(weights, 4, "convolution: weights")
        outputs, inputs, *kernel = array.shape
        added = [] if bias is None else _array(bias, 1, "convolution: bias").astype(np.float64).tolist()
        if array.dtype.kind == "c" or kernel[0] != kernel[1] or len(added) not in (0, outputs):
            raise InvalidArgument(
                f"convolution: weights {array.shape} of type {array.dtype} and {len(added)} biases, expected "
                "real (outputs, inputs, kernel, kernel) and one bias for each output"
            )
        self._weights = unshared(np.ascontiguousarray(array, dtype=np.float64), array)
        self._bias, self._stride = added, integer(stride, "convolution: stride", 1)
        self._layout = expect(layout, ImageLayout, "convolution: layout")
        slots = integer(slots, "convolution: slots", 1)
        super().__init__(slots, inputs, outputs, True, mode, baby_count, compact)

    @property
    def output_layout(self) -> ImageLayout:
        """Where the pixels of the results are."""
        return self._layout.strided(self._stride)

    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        layout = list(dataclasses.astuple(self._layout))
        return _core.Circuit.convolution(engine, how, self._weights, self._bias, self._stride, layout)


class MatrixVector(EncodedCircuit):
    """A plain matrix of any shape times an encrypted vector that is repeated in all slots.

    With R and C the numbers of rows and columns rounded up to powers of two: slot i of the input holds
    x[i mod C], slot i of the result y[i mod R], so layers follow each other without repacking. A
    ciphertext of exactly C slots is such a vector. Takes min(R, C) diagonals.
    """

    _what = "matrix product"

    def __init__(
        self,
        matrix: npt.ArrayLike,
        slots: int | None = None,
        *,
        mode: Mode = "double_hoisted",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        array = _array(matrix, 2, "matrix product")
        self._matrix = unshared(np.ascontiguousarray(array, dtype=np.complex128), array)
        rows, columns = array.shape
        self._periods = power_of_two(columns), power_of_two(rows)
        slots = max(self._periods) if slots is None else integer(slots, "matrix product: slots", 1)
        super().__init__(slots, 1, 1, array.dtype.kind != "c", mode, baby_count, compact)

    @property
    def input_period(self) -> int:
        """C: slots after which the input repeats."""
        return self._periods[0]

    @property
    def output_period(self) -> int:
        """R: slots after which the result repeats."""
        return self._periods[1]

    def repeat(self, values: npt.ArrayLike) -> npt.NDArray[np.generic]:
        """A vector of at most C values as `client.encrypt` must get it."""
        array = _array(values, 1, "repeat")
        if len(array) > self.input_period:
            raise InvalidArgument(f"repeat: {len(array)} values, expected at most {self.input_period}")
        padded = np.concatenate([array, np.zeros(self.input_period - len(array), array.dtype)])
        return np.tile(padded, self._slots // self.input_period)

    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        return _core.Circuit.matrix_vector(engine, how, self._matrix)

    def __call__(self, x: Ciphertext) -> Ciphertext:  # type: ignore[override]
        """The product, one level lower."""
        return self._apply([expect(x, Ciphertext, "matrix product")])[0]


class BlockMatmul(EncodedCircuit):
    """The same small matrices applied to every block of `block` slots: slots / block vectors in a ciphertext.

    matrices: matrices[o][i] with at most `block` rows and columns; output o of each block is
    sum_i matrices[o][i] @ x_i. fold: see `folded` in the C++ class `block_matmul`: fewer diagonals, but slots
    behind the results hold values of no meaning, which mix blocks and must be multiplied by zero before
    results are handed out.
    """

    _what = "block product"

    def __init__(
        self,
        matrices: Sequence[Sequence[npt.ArrayLike]],
        block: int,
        slots: int,
        *,
        fold: bool = True,
        mode: Mode = "double_hoisted",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        rows = [[_array(each, 2, "block product") for each in row] for row in matrices]
        counts = [len(row) for row in rows]
        if len(set(counts)) != 1 or not counts[0]:
            raise InvalidArgument(f"block product: rows of {counts} matrices, expected equally many in each")
        self._matrices = [
            [unshared(np.ascontiguousarray(each, dtype=np.complex128), each) for each in row] for row in rows
        ]
        self._block, self._fold = integer(block, "block product: block", 1), bool(fold)
        real = all(each.dtype.kind != "c" for row in rows for each in row)
        slots = integer(slots, "block product: slots", 1)
        super().__init__(slots, counts[0], len(rows), real, mode, baby_count, compact)

    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        return _core.Circuit.block_matmul(engine, how, self._matrices, self._block, self._fold)
