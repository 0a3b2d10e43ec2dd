# SPDX-License-Identifier: Apache-2.0
"""Networks from the graphs of other libraries: values by name, arithmetic of them, with numpy's
broadcasting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.values import integer
from ..circuits.polynomial import Polynomial as PolynomialFunction
from .composites import ELU, Maximum, MaxPool, Multiply, PiecewiseLinear
from .layers import Add, Array, AvgPool, Conv2d, Flatten, Layer, Linear, Pair, Polynomial, Shape
from .linear_maps import (
    Affine,
    Expand,
    Pad,
    Permute,
    Resample,
    Reshape,
    Slice,
    Upsample,
    adaptive_matrix,
    chosen_matrix,
    interpolation,
    pooling_matrix,
)
from .model import INPUT, MAX_VALUES, Model, Node

NEAREST = {
    "ConvTranspose": "Upsample and a convolution",
    "GroupNorm": "BatchNorm, which has statistics of its own",
    "GroupNormalization": "BatchNormalization",
    "InstanceNorm": "BatchNorm, which has statistics of its own",
    "InstanceNormalization": "BatchNormalization",
    "LayerNorm": "BatchNorm, which has statistics of its own",
    "LayerNormalization": "BatchNormalization",
    "Softmax": "none: leave it out, the largest input is the largest output",
    "LogSoftmax": "none: leave it out, the largest input is the largest output",
    "ArgMax": "none: leave it out, the client takes the largest of the decrypted values",
    "Reciprocal": "a polynomial on a known interval",
    "Sqrt": "a polynomial on a known interval",
    "Exp": "a polynomial on a known interval",
    "LSTM": "a convolution or Linear with a smooth activation",
    "GRU": "a convolution or Linear with a smooth activation",
    "RNN": "a convolution or Linear with a smooth activation",
    "Attention": "a convolution or Linear with products of tensors",
    "Conv1d": "Conv2d with a kernel of one row",
    "Conv3d": "Conv2d",
    "MaxPool1d": "MaxPool2d with a kernel of one row",
    "AvgPool1d": "AvgPool2d with a kernel of one row",
    "Embedding": "Linear on one-hot inputs",
    "PReLU": "LeakyReLU, with one slope",
    "Parametrized": "the module after torch.nn.utils.parametrize.remove_parametrizations(module, 'weight')",
    "DataParallel": "the module in it, `.module`",
    "Lazy": "the module after a first call, which tells its sizes",
    "Tanhshrink": "x - torch.tanh(x)",
    "Softshrink": "sums of ReLUs: relu(x - lambd) - relu(-x - lambd)",
    "Hardshrink": "Softshrink as a sum of ReLUs; its jumps are not supported",
    "LogSigmoid": "-Softplus(-x)",
    "Threshold": "ReLU; its jump is not supported",
    "RReLU": "LeakyReLU with the mean of the slopes",
    "GLU": "a product of x.chunk(2, 1): a * torch.sigmoid(b)",
    "ConstantPad": "ZeroPad2d",
    "PixelShuffle": "Upsample and a convolution",
    "DepthToSpace": "Upsample and a convolution",
    "MatMul": "Linear: a vector times a constant matrix",
    "Einsum": "Linear, permute, and products of tensors",
    "ReduceSum": "ReduceMean of rows and columns, times their number",
    "Floor": "none: encrypted numbers cannot be rounded",
    "Round": "none: encrypted numbers cannot be rounded",
    "LocalResponseNorm": "BatchNorm, which has statistics of its own",
}


class Unsupported(Exception):
    """Why an operation cannot be imported."""


class Value:
    """A tensor of the imported network: the layer that makes it."""

    def __init__(self, name: str) -> None:
        self.name = name


def only(condition: bool, what: str) -> None:
    """Unsupported unless something holds."""
    if not condition:
        raise Unsupported(what)


def nearest(name: str) -> str:
    """What is nearest to an operation that is not supported, for messages; empty where nothing is known."""
    for known, text in NEAREST.items():
        if known.lower() in name.lower().replace("_", ""):
            return f"; nearest is {text}"
    return ""


class Builder:
    """Layers that are added one after the other."""

    def __init__(self, shape: Shape, alpha: int, precision: int) -> None:
        self.shape, self.alpha, self.precision = shape, alpha, precision
        self.nodes: dict[str, Node] = {}
        self.shapes: dict[str, Shape] = {INPUT: shape}
        self.wanted = ""
        """Name of the next layer; where it is taken, a number follows."""

    def model(self, output: str, metadata: Mapping[str, str]) -> Model:
        """The model of what the output needs."""
        used, nodes = {output}, []
        for made in reversed(self.nodes.values()):
            if made.name in used:  # others compute what the output does not need
                used.update(made.inputs)
                nodes.append(made)
        return Model(self.shape, tuple(reversed(nodes)), output, metadata)

    def shape_of(self, value: Value) -> Shape:
        """Of a value, without the batch."""
        return self.shapes[value.name]

    def add(self, layer: Layer, *inputs: Any) -> Value:
        """A new layer."""
        only(all(isinstance(each, Value) for each in inputs), "an operand that is no tensor of the network")
        shape = layer.output_shape([self.shapes[each.name] for each in inputs])
        only(math.prod(shape) <= MAX_VALUES, f"values of shape {shape}; expected at most {MAX_VALUES}")
        name, count = self.wanted, 1
        while name in self.shapes:
            name, count = f"{self.wanted}.{count}", count + 1
        self.nodes[name] = Node(name, layer, tuple(each.name for each in inputs))
        self.shapes[name] = shape
        return Value(name)

    # Arithmetic; operands are values, numbers and arrays

    def constant(self, operand: Any, shape: Shape) -> Array:
        """A number or array next to values of that shape, with as many axes as these, or none."""
        try:
            array = np.asarray(operand, dtype=np.float64)
        except (TypeError, ValueError):
            raise Unsupported(
                f"an operand that is no number and no tensor of the network: {operand!r:.60}"
            ) from None
        if array.size == 1:
            return array.reshape(())
        if array.ndim == len(shape) + 1 and len(array) == 1:
            array = array[0]
        only(
            array.ndim <= len(shape),
            f"an operand of shape {array.shape} next to values of shape {shape}; a batch has no "
            "constants of its own",
        )
        return array.reshape((1,) * (len(shape) - array.ndim) + array.shape)

    def affine(self, x: Value, scale: Any = 1.0, shift: Any = 0.0) -> Value:
        """scale x + shift, of constants; spread over more values where the constants have more."""
        shape = self.shape_of(x)
        factors = self.constant(scale, shape), self.constant(shift, shape)
        wide = np.broadcast_shapes(shape, *(each.shape for each in factors))
        if wide != shape:
            x = self.add(Expand(wide), x)
        return self.add(Affine(*factors), x)

    def _spread(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Both with one shape."""
        shapes = [self.shape_of(a), self.shape_of(b)]
        only(len(shapes[0]) == len(shapes[1]), f"operands of shapes {shapes[0]} and {shapes[1]}")
        try:
            wide = np.broadcast_shapes(*shapes)
        except ValueError:
            raise Unsupported(f"operands of shapes {shapes[0]} and {shapes[1]}") from None
        a, b = (each if self.shape_of(each) == wide else self.add(Expand(wide), each) for each in (a, b))
        return a, b

    def sum(self, a: Any, b: Any, factor: float = 1.0) -> Value:
        """a + factor b"""
        if not isinstance(b, Value):
            return self.affine(a, 1.0, factor * np.asarray(b, dtype=np.float64))
        b = b if factor == 1 else self.affine(b, factor)
        return self.affine(b, 1.0, a) if not isinstance(a, Value) else self.add(Add(), *self._spread(a, b))

    def product(self, a: Any, b: Any) -> Value:
        """a b"""
        if not isinstance(b, Value):
            return self.affine(a, b)
        if not isinstance(a, Value):
            return self.affine(b, a)
        return self.power(a, 2) if a.name == b.name else self.add(Multiply(), *self._spread(a, b))

    def quotient(self, a: Any, b: Any) -> Value:
        """a / b of a constant b"""
        only(not isinstance(b, Value), "a division by values of the network; nearest is a polynomial")
        divisor = np.asarray(b, dtype=np.float64)
        only(bool((divisor != 0).all()), "a division by 0")
        return self.affine(a, 1.0 / divisor)

    def power(self, x: Any, exponent: Any) -> Value:
        """x^n for whole n"""
        value = np.asarray(exponent, dtype=np.float64)
        only(value.size == 1 and value == np.rint(value), f"exponent {exponent!r}; supported are 2 to 64")
        degree = integer(int(value.item()), "exponent", 1, 64)
        return x if degree == 1 else self.add(Polynomial(PolynomialFunction([0] * degree + [1])), x)

    def corners(
        self,
        x: Value,
        knots: Sequence[float],
        changes: Sequence[float],
        slope: float = 0.0,
        offset: float = 0.0,
    ) -> Value:
        """A function of straight lines."""
        lines = PiecewiseLinear(np.array(knots), np.array(changes), slope, offset, self.alpha)
        return self.add(lines, x)

    def larger(self, a: Any, b: Any) -> Value:
        """The larger of both."""
        if not isinstance(a, Value):
            a, b = b, a
        if isinstance(b, Value):
            return self.add(Maximum(self.alpha), *self._spread(a, b))
        knot = self.constant(b, self.shape_of(a))
        only(knot.ndim == 0, "a maximum with an array of constants; supported is a number")
        return self.corners(a, [float(knot)], [1.0], 0.0, float(knot))

    def clip(self, x: Value, low: float | None, high: float | None) -> Value:
        """min(max(x, low), high)"""
        if low is not None and high is not None:
            return self.corners(x, [low, high], [1.0, -1.0], 0.0, low)
        if low is not None:
            return self.larger(x, low)
        return x if high is None else self.corners(x, [high], [-1.0], 1.0)

    def leaky(self, x: Value, slope: float) -> Value:
        """x, or slope x where x is negative"""
        return self.corners(x, [0.0], [1.0 - slope], slope)

    def elu(self, x: Value, height: float = 1.0, rate: float = 1.0, scale: float = 1.0) -> Value:
        """ELU, CELU and SELU"""
        return self.add(ELU(height, rate, scale, self.alpha, self.precision), x)

    # Shapes

    def flatten(self, x: Value) -> Value:
        """A vector."""
        return x if len(self.shape_of(x)) == 1 else self.add(Flatten(), x)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Another shape without the batch, with at most one -1."""
        size, wanted = math.prod(self.shape_of(x)), list(shape)
        only(wanted.count(-1) <= 1, f"shape {tuple(shape)}")
        if -1 in wanted:
            rest = math.prod(each for each in wanted if each != -1)
            only(rest > 0 and size % rest == 0, f"shape {tuple(shape)} of {size} values")
            wanted[wanted.index(-1)] = size // rest
        only(
            len(wanted) in (1, 3),
            f"shape {tuple(wanted)}; supported are (channels, rows, columns) and (features,)",
        )
        if tuple(wanted) == self.shape_of(x):
            return x
        return self.flatten(x) if len(wanted) == 1 else self.add(Reshape(tuple(wanted)), x)

    def permute(self, x: Value, axes: Sequence[int]) -> Value:
        """The axes in another order, the batch (0) first."""
        shape = self.shape_of(x)
        order = [each % (len(shape) + 1) for each in axes]
        only(
            len(shape) == 3 and sorted(order) == [0, 1, 2, 3] and order[0] == 0,
            f"axes {tuple(axes)}; supported is any order of channels, rows and columns behind the batch",
        )
        return x if order == [0, 1, 2, 3] else self.add(Permute(tuple(each - 1 for each in order[1:])), x)  # type: ignore[arg-type]

    def cut(self, x: Value, index: Sequence[slice]) -> Value:
        """A slice along each axis, without the batch."""
        shape = self.shape_of(x)
        numbers = [each.indices(size) for each, size in zip(index, shape, strict=True)]
        only(all(step > 0 for _, _, step in numbers), "a slice with a step backwards")
        if all(each == (0, size, 1) for each, size in zip(numbers, shape, strict=True)):
            return x
        start, stop, step = zip(*numbers, strict=True)
        return self.add(Slice(start, stop, step), x)

    def pad(self, x: Value, before: Sequence[int], behind: Sequence[int], mode: str = "constant") -> Value:
        """Values around; negative numbers cut."""
        shape = self.shape_of(x)
        only(len(before) == len(shape), f"padding of {len(before)} axes, for values of shape {shape}")
        if min(*before, *behind) < 0:
            ends = [size + min(each, 0) for size, each in zip(shape, behind, strict=True)]
            index = [slice(max(-a, 0), end) for a, end in zip(before, ends, strict=True)]
            x = self.cut(x, index)
            before, behind = ([max(each, 0) for each in side] for side in (before, behind))
        if not any((*before, *behind)):
            return x
        return self.add(Pad(tuple(before), tuple(behind), mode), x)

    def convolution(
        self,
        x: Value,
        weight: Array,
        bias: Any,
        stride: Pair,
        padding: Sequence[int],
        dilation: Pair,
        groups: int,
    ) -> Value:
        """Conv2d; padding that no window of the kernel needs whole is a layer of its own."""
        most = max((n - 1) * d for n, d in zip(weight.shape[2:], dilation, strict=True))
        if max(padding) > most:
            top, bottom, left, right = padding
            x, padding = self.pad(x, (0, top, left), (0, bottom, right)), (0, 0, 0, 0)
        return self.add(Conv2d(weight, bias, stride, tuple(padding), dilation, groups), x)

    def concatenate(self, values: Sequence[Any], axis: int) -> Value:
        """Along an axis, the batch being 0: sums of values with zeros around them."""
        only(
            all(isinstance(each, Value) for each in values) and len(values) > 0,
            "a concatenation with constants",
        )
        shapes = [self.shape_of(each) for each in values]
        count = len(shapes[0])
        at = axis % (count + 1) - 1
        same = {(*each[:at], *each[at + 1 :]) for each in shapes if len(each) == count}
        only(
            at >= 0 and len(same) == 1 and all(len(each) == count for each in shapes),
            f"axis {axis} of {shapes}",
        )
        total, done, result = sum(each[at] for each in shapes), 0, None
        for value, shape in zip(values, shapes, strict=True):
            before, behind = [0] * count, [0] * count
            before[at], behind[at] = done, total - done - shape[at]
            padded = self.pad(value, before, behind)
            result = padded if result is None else self.add(Add(), result, padded)
            done += shape[at]
        assert result is not None
        return result

    # Pooling and resampling

    def average(
        self,
        x: Value,
        kernel: Pair,
        stride: Pair,
        padding: tuple[Pair, Pair],
        ceil_mode: bool = False,
        count_padding: bool = True,
    ) -> Value:
        """Means of windows: see `pooling_matrix`."""
        plain = not any(map(any, padding)) and not ceil_mode
        if plain and kernel[0] == kernel[1] and stride[0] == stride[1]:
            return self.add(AvgPool(kernel[0], stride[0]), x)
        shape = self.image(x)
        axes = zip(shape[1:], kernel, stride, padding, strict=True)
        return self.add(Resample(*(pooling_matrix(*each, ceil_mode, count_padding) for each in axes)), x)

    def largest(
        self, x: Value, kernel: Pair, stride: Pair, padding: tuple[Pair, Pair], ceil_mode: bool = False
    ) -> Value:
        """Maxima of windows."""
        around = []
        for size, width, step, (before, behind) in zip(
            self.image(x)[1:], kernel, stride, padding, strict=True
        ):
            left = (size + before + behind - width) % step
            last = (size + before + behind - width) // step * step + step - before
            more = step - left if ceil_mode and left and last < size else 0
            around += [before, behind + more]
        return self.add(MaxPool(kernel, stride, tuple(around), self.alpha), x)

    def image(self, x: Value) -> Shape:
        """The shape of an image."""
        shape = self.shape_of(x)
        only(len(shape) == 3, f"values of shape {shape}; expected (channels, rows, columns)")
        return shape

    def adaptive(self, x: Value, size: Pair, largest: bool = False) -> Value:
        """Windows such that the result has that size."""
        shape = self.image(x)
        if size == (1, 1):
            return self.add(MaxPool(alpha=self.alpha) if largest else AvgPool(), x)
        whole = all(n % wanted == 0 for n, wanted in zip(shape[1:], size, strict=True))
        kernel = shape[1] // size[0], shape[2] // size[1]
        if whole:
            none = (0, 0)
            return (self.largest if largest else self.average)(x, kernel, kernel, (none, none))
        only(not largest, f"output_size {size} of {shape}; supported are sizes that divide rows and columns")
        return self.add(Resample(adaptive_matrix(shape[1], size[0]), adaptive_matrix(shape[2], size[1])), x)

    def resize(self, x: Value, size: Pair, mode: str, align_corners: bool = False) -> Value:
        """Nearest pixels or linear interpolation, up to a size."""
        only(mode in ("nearest", "bilinear"), f"mode {mode!r}; supported are 'nearest' and 'bilinear'")
        shape = self.image(x)
        times = [wanted / n for n, wanted in zip(shape[1:], size, strict=True)]
        if all(each == int(each) for each in times):
            return self.add(Upsample((int(times[0]), int(times[1])), mode, align_corners), x)
        if mode == "bilinear":
            made = [
                interpolation(n, wanted, align_corners) for n, wanted in zip(shape[1:], size, strict=True)
            ]
        else:
            made = [chosen_matrix(np.arange(w) * n // w, n) for n, w in zip(shape[1:], size, strict=True)]
        return self.add(Resample(*made), x)

    def matrix(self, x: Value, weight: Array, bias: Array | None = None) -> Value:
        """weight @ x + bias"""
        return self.add(Linear(weight) if bias is None else Linear(weight, bias), x)
