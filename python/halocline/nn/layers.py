# SPDX-License-Identifier: Apache-2.0
"""Layers of networks in the clear: weights, shapes, exact forward passes.

A shape is (channels, rows, columns) or (features,). Arrays have the batch in front of that. Layers do not
depend on encryption: `lowering` and `compiled` make encrypted programs of them.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, integer, kind_of, positive
from ..circuits.polynomial import Polynomial as PolynomialFunction

Array = npt.NDArray[np.float64]
Slots = npt.NDArray[np.int64]
Shape = tuple[int, ...]
Pair = tuple[int, int]

MAX_SIDE = 1 << 16
"""Largest stride, window and number of channels that a layer may ask for."""
MAX_UNFOLDED = 1 << 28
"""Values in all windows of a convolution, for one image."""
CHUNK_VALUES = 1 << 22
"""Values of a convolution's unfolded input that are in memory at a time."""


def real_values(values: Any, what: str) -> npt.NDArray[Any]:
    """`values` as an array of real numbers of any kind."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # torch: RuntimeError for tensors with gradients
        raise WrongType(f"{what}: no array of numbers ({error})") from None
    if array.dtype == object and array.ndim == 0:
        raise WrongType(f"{what}: got {kind_of(values)}, expected an array of numbers")
    if array.dtype.kind not in "biuf":
        raise WrongType(f"{what}: values of type {array.dtype}, expected real numbers")
    return array


def real_array(values: Any, dimensions: int, what: str) -> Array:
    """`values` as a read-only float64 array of its own, finite, with that many dimensions."""
    array = real_values(values, what)
    if array.ndim != dimensions or array.size == 0:
        raise InvalidArgument(f"{what}: shape {array.shape}, expected {dimensions} dimensions, none empty")
    made = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(made).all():
        raise InvalidArgument(f"{what}: NaN or infinite values; expected finite numbers")
    made.setflags(write=False)
    return made


def _bias(values: Any, count: int, what: str) -> Array:
    bias = real_array(np.zeros(count) if values is None else values, 1, what)
    if bias.shape != (count,):
        raise InvalidArgument(f"{what}: {len(bias)} values, expected one for each of {count} outputs")
    return bias


def image(shapes: Sequence[Shape], what: str) -> Shape:
    """The one shape, which must be that of images."""
    (shape,) = shapes
    if len(shape) != 3:
        raise InvalidArgument(
            f"{what}: input of shape {shape}, expected (channels, rows, columns); "
            "layers of images go before Flatten"
        )
    return shape


def _windows(size: int, kernel: int, stride: int, padding: Pair, what: str) -> int:
    """Positions of a window of `kernel` along one axis."""
    if size + sum(padding) < kernel:
        shown = padding[0] if padding[0] == padding[1] else padding
        raise InvalidArgument(
            f"{what}: a window of {kernel} in {size} pixels with padding {shown}; "
            "make the kernel smaller or the padding larger"
        )
    return (size + sum(padding) - kernel) // stride + 1


class Layer(abc.ABC):
    """One step of a network."""

    inputs: ClassVar[int] = 1
    """How many arrays it takes."""
    is_linear: ClassVar[bool] = True
    """Whether the encrypted layer is a linear map of slots (plus a constant)."""

    @abc.abstractmethod
    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """Shape of the result for inputs of these shapes; InvalidArgument where they do not fit."""

    @abc.abstractmethod
    def forward(self, *arrays: Array) -> Array:
        """The exact result for a batch: (batch, *shape) in and out."""


class Part(NamedTuple):
    """One of the layers that do the work of a composite one."""

    name: str
    layer: Layer
    inputs: tuple[str, ...]


class Composite(Layer):
    """A layer that encrypted networks compute by several others."""

    is_linear: ClassVar[bool] = False

    @abc.abstractmethod
    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """These layers in order: their names begin with `name`, that of the layer, which the last one bears.

        shapes: of the inputs.
        """


class LinearMap(Layer):
    """A layer of one input that encrypted networks take as its matrix, and as what it makes of zeros."""

    @property
    def steps(self) -> Pair:
        """Rows and columns of the input from a pixel of the result to the next: its strides."""
        return 1, 1

    @abc.abstractmethod
    def triplets(self, shape: Shape) -> tuple[Slots, Slots, Array]:
        """Rows, columns and values of the matrix between flattened arrays, for inputs of that shape."""


def pair(value: Any, what: str, low: int = 1) -> Pair:
    """One number for rows and columns, or one for each."""
    values = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(values) != 2:
        raise InvalidArgument(f"{what}: {value!r}, expected a number, or two for rows and columns")
    rows, columns = (integer(each, what, low, MAX_SIDE) for each in values)
    return rows, columns


def _shortest(numbers: tuple[int, ...]) -> Any:
    """A single number where all are the same."""
    return numbers[0] if len(set(numbers)) == 1 else numbers


@dataclasses.dataclass(frozen=True, eq=False)
class Conv2d(Layer):
    """out[o, y, x] = bias[o] + sum weight[o, i, dy, dx] in[i, s y + d dy - p, s x + d dx - p], with stride s,
    dilation d, padding p, and zeros outside the image. With groups g, output o takes the inputs / g
    channels of its group: those from (o // (outputs / g)) (inputs / g) on.
    """

    weight: Array
    """(outputs, inputs / groups, rows, columns)"""
    bias: Array = None  # type: ignore[assignment]
    """(outputs,); zeros when None is given"""
    stride: int | tuple[int, ...] = 1
    """Pixels from window to window; (rows, columns) where they differ"""
    padding: int | tuple[int, ...] | None = None
    """Zeros around the image: one number, (rows, columns), or (top, bottom, left, right). None: half of
    what the kernel covers, rounded down, which needs a square kernel of odd size"""
    dilation: int | tuple[int, ...] = 1
    """Pixels from one value of the kernel to the next; (rows, columns) where they differ"""
    groups: int = 1
    """Divides inputs and outputs; as many as inputs make the convolution depthwise"""

    def __post_init__(self) -> None:
        weight = real_array(self.weight, 4, "Conv2d: weight")
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "bias", _bias(self.bias, len(weight), "Conv2d: bias"))
        object.__setattr__(self, "stride", _shortest(pair(self.stride, "Conv2d: stride")))
        object.__setattr__(self, "dilation", _shortest(pair(self.dilation, "Conv2d: dilation")))
        object.__setattr__(self, "groups", integer(self.groups, "Conv2d: groups", 1, MAX_SIDE))
        object.__setattr__(self, "padding", _shortest(self._checked_padding()))
        if len(weight) % self.groups:
            raise InvalidArgument(
                f"Conv2d: {len(weight)} outputs in {self.groups} groups; expected a number that divides them"
            )

    def _checked_padding(self) -> tuple[int, ...]:
        rows, columns = self.kernel
        if self.padding is None:
            if rows != columns or rows % 2 == 0:
                raise InvalidArgument(f"Conv2d: a kernel of {rows} x {columns} needs padding= as a number")
            return tuple(each // 2 for each in self.extent)
        given = tuple(self.padding) if isinstance(self.padding, tuple | list) else (self.padding,)
        if len(given) not in (1, 2, 4):
            raise InvalidArgument(
                f"Conv2d: padding {self.padding!r}, expected a number, (rows, columns) or (top, "
                "bottom, left, "
                "right)"
            )
        most = max(self.extent) - 1
        return tuple(integer(each, "Conv2d: padding", 0, most) for each in given)

    @property
    def kernel(self) -> Pair:
        """Rows and columns of the kernel."""
        return self.weight.shape[2], self.weight.shape[3]

    @property
    def extent(self) -> Pair:
        """Rows and columns of the image that the kernel covers."""
        (rows, columns), (down, across) = self.kernel, self.dilations
        return (rows - 1) * down + 1, (columns - 1) * across + 1

    @property
    def strides(self) -> Pair:
        """`stride` for rows and columns."""
        return pair(self.stride, "Conv2d: stride")

    @property
    def dilations(self) -> Pair:
        """`dilation` for rows and columns."""
        return pair(self.dilation, "Conv2d: dilation")

    @property
    def pads(self) -> tuple[Pair, Pair]:
        """Zeros before and behind rows, and columns."""
        padding = self.padding
        if isinstance(padding, tuple):
            around = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
            return (around[0], around[1]), (around[2], around[3])
        each = padding or 0
        return (each, each), (each, each)

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(outputs, windows down, windows across)."""
        channels, rows, columns = image(shapes, "Conv2d")
        if channels != self.weight.shape[1] * self.groups:
            groups = f" in {self.groups} groups" if self.groups > 1 else ""
            wanted = self.weight.shape[1] * self.groups
            order = "; shapes are (channels, rows, columns)" if columns == wanted else ""
            raise InvalidArgument(
                f"Conv2d: input of {channels} channels, weight of shape {self.weight.shape}{groups} expects "
                f"{wanted}{order}"
            )
        down, across = (
            _windows(size, extent, stride, around, "Conv2d")
            for size, extent, stride, around in zip(
                (rows, columns), self.extent, self.strides, self.pads, strict=True
            )
        )
        unfolded = self.weight[0].size * self.groups * down * across
        if unfolded > MAX_UNFOLDED:
            raise InvalidArgument(
                f"Conv2d: {down} x {across} windows of {self.weight[0].size * self.groups} values, supported "
                f"are at most {MAX_UNFOLDED} values in all; make kernel or image smaller"
            )
        return len(self.weight), down, across

    def forward(self, *arrays: Array) -> Array:
        """The convolution as a matrix product for each group.

        Many images at a time: threads that meet after every small product cost more than they give on a
        machine with other work.
        """
        (batch,) = arrays
        _, down, across = self.output_shape([batch.shape[1:]])
        matrices = self.weight.reshape(self.groups, len(self.weight) // self.groups, -1)
        result = np.empty((len(batch), len(self.weight), down * across))
        values = self.groups * matrices.shape[2] * down * across
        step = max(1, CHUNK_VALUES // values)
        for first in range(0, len(batch), step):
            windows = self._windows_of(batch[first : first + step])
            count = len(windows)
            columns = windows.transpose(1, 4, 5, 0, 2, 3).reshape(self.groups, matrices.shape[2], -1)
            product = (matrices @ columns).reshape(len(self.weight), count, down * across)
            result[first : first + step] = product.transpose(1, 0, 2)
        result += self.bias[:, np.newaxis]
        return result.reshape(len(batch), len(self.weight), down, across)

    def _windows_of(self, batch: Array) -> Array:
        """(batch, channels, down, across, rows, columns)"""
        padded = np.pad(batch, ((0, 0), (0, 0), *self.pads)) if self.padding else batch
        down, across = self.dilations
        return _unfold(padded, self.extent, self.strides)[..., ::down, ::across]


def _unfold(batch: Array, kernel: Pair, strides: Pair) -> Array:
    """Windows (batch, channels, down, across, rows, columns) of images: a view."""
    windows: Array = np.lib.stride_tricks.sliding_window_view(batch, kernel, axis=(2, 3))  # type: ignore[call-overload]
    return windows[:, :, :: strides[0], :: strides[1]]


@dataclasses.dataclass(frozen=True, eq=False)
class Linear(Layer):
    """out = weight @ in + bias, of vectors: images go through `Flatten` before."""

    weight: Array
    """(outputs, inputs)"""
    bias: Array = None  # type: ignore[assignment]
    """(outputs,); zeros when None is given"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", real_array(self.weight, 2, "Linear: weight"))
        object.__setattr__(self, "bias", _bias(self.bias, len(self.weight), "Linear: bias"))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(outputs,)"""
        (shape,) = shapes
        if len(shape) != 1:
            raise InvalidArgument(f"Linear: input of shape {shape}, expected a vector; put Flatten before it")
        if shape[0] != self.weight.shape[1]:
            raise InvalidArgument(
                f"Linear: {shape[0]} inputs, weight of shape {self.weight.shape} expects "
                f"{self.weight.shape[1]}"
            )
        return (len(self.weight),)

    def forward(self, *arrays: Array) -> Array:
        """The product."""
        (batch,) = arrays
        return np.asarray(batch @ self.weight.T + self.bias)


@dataclasses.dataclass(frozen=True)
class AvgPool(Layer):
    """Means of square windows, or of each whole channel (kernel None: the result is (channels, 1, 1))."""

    kernel: int | None = None
    stride: int | None = None
    """Pixels from window to window; None: `kernel`"""

    def __post_init__(self) -> None:
        if self.kernel is None:
            if self.stride is not None:
                raise InvalidArgument("AvgPool: a stride without a kernel; global pooling has one window")
            return
        object.__setattr__(self, "kernel", integer(self.kernel, "AvgPool: kernel", 1, MAX_SIDE))
        stride = self.kernel if self.stride is None else self.stride
        object.__setattr__(self, "stride", integer(stride, "AvgPool: stride", 1, MAX_SIDE))

    def window(self, shape: Shape) -> tuple[int, int, int]:
        """Rows and columns of a window, and the stride, on images of that shape."""
        if self.kernel is None:
            return shape[1], shape[2], max(shape[1], shape[2])
        return self.kernel, self.kernel, self.stride or self.kernel

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(channels, windows down, windows across); what is left at the edges is not used."""
        shape = image(shapes, "AvgPool")
        rows, columns, stride = self.window(shape)
        down = _windows(shape[1], rows, stride, (0, 0), "AvgPool")
        return shape[0], down, _windows(shape[2], columns, stride, (0, 0), "AvgPool")

    def forward(self, *arrays: Array) -> Array:
        """The means."""
        (batch,) = arrays
        rows, columns, stride = self.window(batch.shape[1:])
        return np.asarray(_unfold(batch, (rows, columns), (stride, stride)).mean(axis=(4, 5)))


@dataclasses.dataclass(frozen=True)
class Flatten(Layer):
    """A vector of all values, channel by channel, row by row."""

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(features,)"""
        return (int(np.prod(shapes[0])),)

    def forward(self, *arrays: Array) -> Array:
        """The same values."""
        return arrays[0].reshape(len(arrays[0]), *self.output_shape([arrays[0].shape[1:]]))


@dataclasses.dataclass(frozen=True)
class Add(Layer):
    """The sum of two arrays of one shape: the end of a residual block."""

    inputs: ClassVar[int] = 2

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of both."""
        if shapes[0] != shapes[1]:
            raise InvalidArgument(f"Add: inputs of shapes {shapes[0]} and {shapes[1]}, expected equal shapes")
        return shapes[0]

    def forward(self, *arrays: Array) -> Array:
        """The sum."""
        return arrays[0] + arrays[1]


@dataclasses.dataclass(frozen=True)
class Shortcut(Layer):
    """Option A of He et al. (2015, section 3.3): every `stride`-th pixel, and channels of zeros, as many
    before as behind, up to `channels`.
    """

    stride: int
    channels: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "stride", integer(self.stride, "Shortcut: stride", 1, MAX_SIDE))
        object.__setattr__(self, "channels", integer(self.channels, "Shortcut: channels", 1, MAX_SIDE))

    def before(self, channels: int) -> int:
        """Channels of zeros before those of an input of `channels`."""
        return (self.channels - channels) // 2

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(channels, rows / stride, columns / stride), rounded up."""
        channels, rows, columns = image(shapes, "Shortcut")
        if channels > self.channels:
            raise InvalidArgument(
                f"Shortcut: input of {channels} channels, more than the {self.channels} of the result; "
                "channels can only be added"
            )
        return self.channels, -(-rows // self.stride), -(-columns // self.stride)

    def forward(self, *arrays: Array) -> Array:
        """The pixels and the zeros."""
        (batch,) = arrays
        result = np.zeros((len(batch), *self.output_shape([batch.shape[1:]])))
        first = self.before(batch.shape[1])
        result[:, first : first + batch.shape[1]] = batch[:, :, :: self.stride, :: self.stride]
        return result


class Activation(Layer):
    """A function of each value, which encrypted networks evaluate as a polynomial on a bounded range."""

    is_linear: ClassVar[bool] = False

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the input."""
        return shapes[0]


@dataclasses.dataclass(frozen=True)
class ReLU(Activation):
    """max(x, 0); encrypted by composite minimax polynomials, off by at most about bound 2^-alpha."""

    alpha: int = 13
    """Precision in bits, as in `Engine.relu`"""

    def __post_init__(self) -> None:
        known = _core.sign_alphas()
        object.__setattr__(self, "alpha", integer(self.alpha, "ReLU: alpha", min(known), max(known)))

    def forward(self, *arrays: Array) -> Array:
        """The exact function."""
        return np.maximum(arrays[0], 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Polynomial(Activation):
    """A polynomial with real coefficients of each value: `Polynomial(hc.Polynomial([0, 0, 1]))` squares."""

    polynomial: PolynomialFunction

    def __post_init__(self) -> None:
        polynomial = expect(self.polynomial, PolynomialFunction, "Polynomial")
        if not polynomial.is_real:
            raise InvalidArgument("Polynomial: complex coefficients, supported are real ones")

    def forward(self, *arrays: Array) -> Array:
        """The polynomial, also outside the domain that it was made for."""
        return np.asarray(self.polynomial(arrays[0]), dtype=np.float64)


def fold_batch_norm(
    weight: npt.ArrayLike,
    bias: npt.ArrayLike | None,
    gamma: npt.ArrayLike,
    beta: npt.ArrayLike,
    mean: npt.ArrayLike,
    variance: npt.ArrayLike,
    eps: float = 1e-5,
) -> tuple[Array, Array]:
    """Weight and bias of a convolution or matrix that does what it and the batch norm behind it did.

    With s = gamma / sqrt(variance + eps): weight s[o] and (bias - mean) s + beta.
    """
    array = np.asarray(weight)
    count = len(array) if array.ndim else 0
    array = real_array(array, array.ndim, "batch norm: weight before it")
    before = _bias(bias, count, "batch norm: bias before it")
    norm = (gamma, beta, mean, variance)
    names = ("weight", "bias", "running_mean", "running_var")
    scale, shift, mu, sigma = (_bias(v, count, f"batch norm: {n}") for v, n in zip(norm, names, strict=True))
    eps = positive(eps, "batch norm: eps")
    if (sigma < 0).any():
        raise InvalidArgument(f"batch norm: running_var is {sigma.min()}, expected no negative variance")
    factor = scale / np.sqrt(sigma + eps)
    folded = array * factor.reshape(-1, *(1,) * (array.ndim - 1))
    return real_array(folded, array.ndim, "batch norm: folded weight"), (before - mu) * factor + shift
