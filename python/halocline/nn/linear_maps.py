# SPDX-License-Identifier: Apache-2.0
"""Linear layers that move, copy and scale values: scalars, reshaping, parts of images, pooling,
resampling."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..base.values import expect, integer
from .layers import MAX_SIDE, Array, LinearMap, Pair, Shape, Slots, image, pair, real_array, real_values

MAX_MATRIX = 1 << 26
"""Numbers in the matrix of pooling along an axis."""
MAX_REACH = 1 << 11
"""Rows or columns of an image that resampling takes as a matrix."""


@dataclasses.dataclass(frozen=True, eq=False)
class Affine(LinearMap):
    """scale x + shift: a number for all values, or arrays that numpy spreads over the input's shape, such as
    (channels, 1, 1). Batch norms that no convolution precedes become this.
    """

    scale: npt.ArrayLike = 1.0
    shift: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("scale", "shift"):
            values = real_values(getattr(self, name), f"Affine: {name}")
            if values.ndim not in (0, 1, 3):
                raise InvalidArgument(
                    f"Affine: {name} of shape {values.shape}, expected a number, (features,) or (channels, "
                    "rows, columns) with ones where values are shared"
                )
            values = values.reshape(()) if values.size == 1 else values
            object.__setattr__(self, name, real_array(values, values.ndim, f"Affine: {name}"))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the input."""
        (shape,) = shapes
        for name in ("scale", "shift"):
            values: Array = getattr(self, name)
            fits = values.ndim in (0, len(shape)) and all(
                mine in (1, theirs) for mine, theirs in zip(values.shape, shape, strict=False)
            )
            if not fits:
                raise InvalidArgument(
                    f"Affine: {name} of shape {values.shape} for an input of shape {shape}; expected "
                    "a number, or that shape with ones where values are shared"
                )
        return shape

    def forward(self, *arrays: Array) -> Array:
        """The product and sum."""
        return np.asarray(arrays[0] * np.asarray(self.scale) + np.asarray(self.shift))

    def triplets(self, shape: Shape) -> tuple[Slots, Slots, Array]:
        """A diagonal matrix."""
        index = np.arange(math.prod(shape))
        return index, index, np.broadcast_to(np.asarray(self.scale, dtype=np.float64), shape).ravel()


class Rearrangement(LinearMap):
    """A layer that gives values of its input in another order or shape, and zeros."""

    def triplets(self, shape: Shape) -> tuple[Slots, Slots, Array]:
        """One entry for each value that is there: found by what becomes of numbered values."""
        numbers = np.arange(1, 1 + math.prod(shape), dtype=np.float64).reshape(1, *shape)
        source = np.rint(self.forward(numbers)).astype(np.int64).ravel() - 1
        row = np.flatnonzero(source >= 0)
        return row, source[row], np.ones(len(row))


@dataclasses.dataclass(frozen=True)
class Reshape(Rearrangement):
    """The same values, in the same order, in another shape: (channels, rows, columns) or (features,)."""

    shape: Shape

    def __post_init__(self) -> None:
        shape = tuple(self.shape)
        if len(shape) not in (1, 3):
            raise InvalidArgument(
                f"Reshape: shape {shape}, expected (channels, rows, columns) or (features,)"
            )
        object.__setattr__(self, "shape", tuple(integer(n, "Reshape: shape", 1, 1 << 24) for n in shape))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """`shape`"""
        if math.prod(shapes[0]) != math.prod(self.shape):
            raise InvalidArgument(
                f"Reshape: {math.prod(shapes[0])} values of shape {shapes[0]} to shape {self.shape}"
            )
        return self.shape

    def forward(self, *arrays: Array) -> Array:
        """The same values."""
        return arrays[0].reshape(len(arrays[0]), *self.shape)


@dataclasses.dataclass(frozen=True)
class Permute(Rearrangement):
    """The axes of an image in another order: axis i of the result is axis `axes[i]` of the input, from 0."""

    axes: tuple[int, int, int]

    def __post_init__(self) -> None:
        axes = tuple(integer(each, "Permute: axes", 0, 2) for each in self.axes)
        if sorted(axes) != [0, 1, 2]:
            raise InvalidArgument(f"Permute: axes {axes}, expected 0, 1 and 2 in some order")
        object.__setattr__(self, "axes", axes)

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The sizes in the new order."""
        shape = image(shapes, "Permute")
        return tuple(shape[each] for each in self.axes)

    def forward(self, *arrays: Array) -> Array:
        """A view with the axes in the new order."""
        return arrays[0].transpose(0, *(each + 1 for each in self.axes))


@dataclasses.dataclass(frozen=True)
class Slice(Rearrangement):
    """A part of an array: `start`, `stop` and `step` along each of its axes, as those of Python's slices."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, low in (("start", 0), ("stop", 1), ("step", 1)):
            numbers = tuple(integer(n, f"Slice: {name}", low, 1 << 24) for n in getattr(self, name))
            object.__setattr__(self, name, numbers)
        if not len(self.start) == len(self.stop) == len(self.step) or len(self.start) not in (1, 3):
            raise InvalidArgument("Slice: expected a start, stop and step for each of 1 or 3 axes")

    @property
    def steps(self) -> Pair:
        """Of rows and columns."""
        return self.step[-2:] if len(self.step) == 3 else (1, 1)  # type: ignore[return-value]

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """What is left of each axis."""
        (shape,) = shapes
        if len(shape) != len(self.start):
            raise InvalidArgument(f"Slice: input of shape {shape}, expected {len(self.start)} axes")
        sizes = tuple(len(range(n)[each]) for n, each in zip(shape, self._slices(), strict=True))
        if not all(sizes):
            raise InvalidArgument(f"Slice: nothing is left of an input of shape {shape}")
        return sizes

    def _slices(self) -> list[slice]:
        return [slice(*each) for each in zip(self.start, self.stop, self.step, strict=True)]

    def forward(self, *arrays: Array) -> Array:
        """A view."""
        index = (slice(None), *self._slices())
        return arrays[0][index]


@dataclasses.dataclass(frozen=True)
class Pad(Rearrangement):
    """Values around an array: zeros ("constant"), or those of its edge ("edge"), or mirrored ("reflect").

    before, behind: how many along each axis.
    """

    before: tuple[int, ...]
    behind: tuple[int, ...]
    mode: str = "constant"
    """Which values: "constant", "edge" or "reflect" """

    def __post_init__(self) -> None:
        for name in ("before", "behind"):
            numbers = tuple(integer(n, f"Pad: {name}", 0, MAX_SIDE) for n in getattr(self, name))
            object.__setattr__(self, name, numbers)
        if len(self.before) != len(self.behind) or len(self.before) not in (1, 3):
            raise InvalidArgument("Pad: expected numbers before and behind each of 1 or 3 axes")
        if self.mode not in ("constant", "edge", "reflect"):
            raise InvalidArgument(f"Pad: mode {self.mode!r}, expected 'constant', 'edge' or 'reflect'")

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """Sizes with what is added."""
        (shape,) = shapes
        if len(shape) != len(self.before):
            raise InvalidArgument(f"Pad: input of shape {shape}, expected {len(self.before)} axes")
        around = list(zip(shape, self.before, self.behind, strict=True))
        if self.mode == "reflect" and any(max(a, b) >= n for n, a, b in around):
            raise InvalidArgument(f"Pad: more values than an input of shape {shape} has to mirror")
        return tuple(n + a + b for n, a, b in around)

    def forward(self, *arrays: Array) -> Array:
        """The array with values around it."""
        around = ((0, 0), *zip(self.before, self.behind, strict=True))
        return np.asarray(np.pad(arrays[0], around, mode=self.mode))  # type: ignore[call-overload]


@dataclasses.dataclass(frozen=True)
class Expand(Rearrangement):
    """Values repeated along the axes where there is one, up to `shape`: what numpy calls broadcasting."""

    shape: Shape

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", Reshape(self.shape).shape)

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """`shape`"""
        (shape,) = shapes
        pairs = list(zip(shape, self.shape, strict=False))
        if len(shape) != len(self.shape) or any(mine not in (1, wanted) for mine, wanted in pairs):
            raise InvalidArgument(f"Expand: shape {shape} to {self.shape}; only axes of 1 can become longer")
        return self.shape

    def forward(self, *arrays: Array) -> Array:
        """The repeated values."""
        return np.broadcast_to(arrays[0], (len(arrays[0]), *self.shape))


class AxisMaps(LinearMap):
    """A layer that applies a matrix to the columns, and one to the rows, of every channel."""

    @abc.abstractmethod
    def matrices(self, shape: Shape) -> tuple[Array, Array]:
        """For rows and for columns of an image of that shape: (result, input)."""

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(channels, rows of the one matrix, rows of the other)"""
        shape = image(shapes, type(self).__name__)
        if max(shape[1:]) > MAX_REACH:
            raise InvalidArgument(
                f"{type(self).__name__}: {shape[1]} x {shape[2]} pixels, expected at most {MAX_REACH} "
                "each way"
            )
        down, across = self.matrices(shape)
        return shape[0], len(down), len(across)

    def forward(self, *arrays: Array) -> Array:
        """Both products."""
        down, across = self.matrices(arrays[0].shape[1:])
        return np.asarray(down @ (arrays[0] @ across.T))

    def triplets(self, shape: Shape) -> tuple[Slots, Slots, Array]:
        """The Kronecker product of both, for every channel."""
        channels, rows, columns = shape
        down, across = self.matrices(shape)
        (y, from_y), (x, from_x) = np.nonzero(down), np.nonzero(across)
        c = np.arange(channels)[:, None, None]
        to = (c * len(down) + y[:, None]) * len(across) + x
        source = (c * rows + from_y[:, None]) * columns + from_x
        value = np.broadcast_to(down[y, from_y][:, None] * across[x, from_x], to.shape)
        return to.ravel(), source.ravel(), value.ravel()


@dataclasses.dataclass(frozen=True, eq=False)
class Resample(AxisMaps):
    """`rows` @ channel @ `columns`.T for every channel: pooling and resampling of any kind."""

    rows: Array
    """(rows of the result, rows of the input)"""
    columns: Array
    """(columns of the result, columns of the input)"""

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            object.__setattr__(self, name, real_array(getattr(self, name), 2, f"Resample: {name}"))

    def matrices(self, shape: Shape) -> tuple[Array, Array]:
        """As given, checked against the shape."""
        if (self.rows.shape[1], self.columns.shape[1]) != shape[1:]:
            raise InvalidArgument(
                f"Resample: an image of {shape[1]} x {shape[2]}, expected {self.rows.shape[1]} x "
                f"{self.columns.shape[1]}"
            )
        return self.rows, self.columns


@dataclasses.dataclass(frozen=True)
class Upsample(AxisMaps):
    """An image `scale` times as large: each pixel repeated ("nearest"), or linear interpolation between the
    centres of pixels ("bilinear"; with align_corners between those of the first and last ones).
    """

    scale: int | Pair = 2
    mode: str = "nearest"
    """Of interpolation: "nearest" or "bilinear" """
    align_corners: bool = False

    def __post_init__(self) -> None:
        rows, columns = pair(self.scale, "Upsample: scale")
        object.__setattr__(self, "scale", rows if rows == columns else (rows, columns))
        if self.mode not in ("nearest", "bilinear"):
            raise InvalidArgument(f"Upsample: mode {self.mode!r}, expected 'nearest' or 'bilinear'")
        expect(self.align_corners, bool, "Upsample: align_corners")

    def matrices(self, shape: Shape) -> tuple[Array, Array]:
        """Of the interpolation."""
        rows, columns = pair(self.scale, "Upsample: scale")
        for size, scale in ((shape[1], rows), (shape[2], columns)):
            if size * scale > MAX_REACH:
                raise InvalidArgument(
                    f"Upsample: {size} pixels times {scale}, expected at most {MAX_REACH} of the result"
                )
        return self._matrix(shape[1], rows), self._matrix(shape[2], columns)

    def _matrix(self, size: int, scale: int) -> Array:
        if self.mode == "nearest":
            return np.repeat(np.eye(size), scale, axis=0)
        return interpolation(size, size * scale, self.align_corners)


def interpolation(size: int, wanted: int, align_corners: bool) -> Array:
    """The matrix (wanted, size) of linear interpolation along an axis, as PyTorch and ONNX define it."""
    index = np.arange(wanted)
    if align_corners:
        at = index * ((size - 1) / max(wanted - 1, 1))
    else:
        at = np.clip((index + 0.5) * size / wanted - 0.5, 0, size - 1)
    low = np.minimum(np.floor(at).astype(np.int64), max(size - 2, 0))
    made = np.zeros((wanted, size))
    made[index, np.minimum(low + 1, size - 1)] += at - low
    made[index, low] += 1 - (at - low)
    return made


def pooling_matrix(
    size: int, kernel: int, stride: int, padding: Pair, ceil_mode: bool = False, count_padding: bool = True
) -> Array:
    """The matrix (windows, size) of means along an axis, with zeros around it.

    ceil_mode: windows may also begin, but not end, inside; count_padding: zeros count for the mean. Windows
    count what lies beyond the padding never. As PyTorch's AvgPool2d.
    """
    integer(kernel, "pooling: kernel", 1, MAX_SIDE)
    integer(stride, "pooling: stride", 1, MAX_SIDE)
    padded = size + sum(integer(each, "pooling: padding", 0, MAX_SIDE) for each in padding)
    if padded < kernel:
        raise InvalidArgument(f"pooling: a window of {kernel} in {size} pixels with padding {padding}")
    steps = (padded - kernel) / stride
    windows = (math.ceil(steps) if ceil_mode else math.floor(steps)) + 1
    if ceil_mode and (windows - 1) * stride >= size + padding[0]:
        windows -= 1
    if windows * size > MAX_MATRIX:
        raise InvalidArgument(
            f"pooling: a matrix of {windows} windows by {size} pixels, supported are at most {MAX_MATRIX} "
            "values; make the image or the padding smaller"
        )
    made = np.zeros((windows, size))
    for index in range(windows):
        first = index * stride - padding[0]
        last = min(first + kernel, size + padding[1])
        inside = range(max(first, 0), min(last, size))
        made[index, inside.start : inside.stop] = 1.0 / ((last - first) if count_padding else len(inside))
    return made


def chosen_matrix(chosen: Slots, size: int) -> Array:
    """The matrix (len(chosen), size) that takes these pixels of an axis."""
    made = np.zeros((len(chosen), size))
    made[np.arange(len(chosen)), chosen] = 1.0
    return made


def adaptive_matrix(size: int, wanted: int) -> Array:
    """The matrix (wanted, size) of adaptive pooling: window i from floor(i size / wanted) to
    ceil((i + 1) size / wanted), as PyTorch's AdaptiveAvgPool2d.
    """
    made = np.zeros((wanted, size))
    for index in range(wanted):
        first, last = index * size // wanted, -(-(index + 1) * size // wanted)
        made[index, first:last] = 1.0 / (last - first)
    return made
