# SPDX-License-Identifier: Apache-2.0
"""Layers of networks in the clear: weights, shapes, exact forward passes.

A shape is (channels, rows, columns) or (features,). Arrays have the batch in front of that. Layers do not
depend on encryption: `lowering` and `compiled` make encrypted programs of them.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, integer, positive
from ..circuits.polynomial import Polynomial as PolynomialFunction

Array = npt.NDArray[np.float64]
Shape = tuple[int, ...]

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
    except (TypeError, ValueError) as error:
        raise WrongType(f"{what}: no array of numbers ({error})") from None
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


def _image(shapes: Sequence[Shape], what: str) -> Shape:
    """The one shape, which must be that of images."""
    (shape,) = shapes
    if len(shape) != 3:
        raise InvalidArgument(
            f"{what}: input of shape {shape}, expected (channels, rows, columns); "
            "layers of images go before Flatten"
        )
    return shape


def _windows(size: int, kernel: int, stride: int, padding: int, what: str) -> int:
    """Positions of a window of `kernel` along one axis."""
    if size + 2 * padding < kernel:
        raise InvalidArgument(
            f"{what}: a window of {kernel} in {size} pixels with padding {padding}; "
            "make the kernel smaller or the padding larger"
        )
    return (size + 2 * padding - kernel) // stride + 1


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


@dataclasses.dataclass(frozen=True, eq=False)
class Conv2d(Layer):
    """out[o, y, x] = bias[o] + sum weight[o, i, dy, dx] in[i, s y + dy - p, s x + dx - p], with stride s,
    padding p, and zeros outside the image.
    """

    weight: Array
    """(outputs, inputs, rows, columns), rows and columns odd"""
    bias: Array = None  # type: ignore[assignment]
    """(outputs,); zeros when None is given"""
    stride: int = 1
    padding: int | None = None
    """Rows and columns of zeros around the image; None: (kernel - 1) / 2, which needs a square kernel"""

    def __post_init__(self) -> None:
        weight = real_array(self.weight, 4, "Conv2d: weight")
        rows, columns = weight.shape[2:]
        if rows % 2 == 0 or columns % 2 == 0:
            raise InvalidArgument(f"Conv2d: a kernel of {rows} x {columns}, supported are odd sizes")
        padding = self.padding
        if padding is None:
            if rows != columns:
                raise InvalidArgument(f"Conv2d: a kernel of {rows} x {columns} needs padding= as a number")
            padding = (rows - 1) // 2
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "bias", _bias(self.bias, len(weight), "Conv2d: bias"))
        object.__setattr__(self, "stride", integer(self.stride, "Conv2d: stride", 1, MAX_SIDE))
        object.__setattr__(self, "padding", integer(padding, "Conv2d: padding", 0, max(rows, columns) - 1))

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        return self.weight.shape[2], self.weight.shape[3]

    @property
    def pad(self) -> int:
        """`padding` as a number."""
        return self.padding or 0

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(outputs, windows down, windows across)."""
        channels, rows, columns = _image(shapes, "Conv2d")
        if channels != self.weight.shape[1]:
            raise InvalidArgument(
                f"Conv2d: input of {channels} channels, weight of shape {self.weight.shape} expects "
                f"{self.weight.shape[1]}"
            )
        down = _windows(rows, self.kernel[0], self.stride, self.pad, "Conv2d")
        across = _windows(columns, self.kernel[1], self.stride, self.pad, "Conv2d")
        unfolded = self.weight[0].size * down * across
        if unfolded > MAX_UNFOLDED:
            raise InvalidArgument(
                f"Conv2d: {down} x {across} windows of {self.weight[0].size} values, supported are at most "
                f"{MAX_UNFOLDED} values in all; make kernel or image smaller"
            )
        return len(self.weight), down, across

    def forward(self, *arrays: Array) -> Array:
        """The convolution as a matrix product.

        Many images at a time: threads that meet after every small product cost more than they give on a
        machine with other work.
        """
        (batch,) = arrays
        _, down, across = self.output_shape([batch.shape[1:]])
        matrix = self.weight.reshape(len(self.weight), -1)
        result = np.empty((len(batch), len(matrix), down * across))
        step = max(1, CHUNK_VALUES // (matrix.shape[1] * down * across))
        for first in range(0, len(batch), step):
            windows = _unfold(batch[first : first + step], self.kernel, self.stride, self.pad)
            columns = windows.transpose(1, 4, 5, 0, 2, 3).reshape(matrix.shape[1], -1)
            product = (matrix @ columns).reshape(len(matrix), len(windows), down * across)
            result[first : first + step] = product.transpose(1, 0, 2)
        result += self.bias[:, np.newaxis]
        return result.reshape(len(batch), len(matrix), down, across)


def _unfold(batch: Array, kernel: tuple[int, int], stride: int, padding: int) -> Array:
    """Windows (batch, channels, down, across, rows, columns) of images: a view."""
    around = (padding, padding)
    padded = np.pad(batch, ((0, 0), (0, 0), around, around)) if padding else batch
    windows: Array = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))  # type: ignore[call-overload]
    return windows[:, :, ::stride, ::stride]


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
        shape = _image(shapes, "AvgPool")
        rows, columns, stride = self.window(shape)
        down = _windows(shape[1], rows, stride, 0, "AvgPool")
        return shape[0], down, _windows(shape[2], columns, stride, 0, "AvgPool")

    def forward(self, *arrays: Array) -> Array:
        """The means."""
        (batch,) = arrays
        rows, columns, stride = self.window(batch.shape[1:])
        return np.asarray(_unfold(batch, (rows, columns), stride, 0).mean(axis=(4, 5)))


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
        channels, rows, columns = _image(shapes, "Shortcut")
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
