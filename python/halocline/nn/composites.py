# SPDX-License-Identifier: Apache-2.0
"""Layers that encrypted networks compute by several others: comparisons, products, functions with corners.

Each one says which: `Model.expanded` puts them in its place. So they need no circuits, levels or
bootstraps of their own, and what lies between them gets calibrated ranges as all activations do.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from ..base.errors import InvalidArgument
from ..base.values import positive
from ..circuits.polynomial import Polynomial as PolynomialFunction
from .activations import Decay
from .layers import (
    Add,
    Array,
    Composite,
    Conv2d,
    Pair,
    Part,
    Polynomial,
    ReLU,
    Shape,
    image,
    pair,
    real_array,
)
from .linear_maps import Affine, Pad

MAX_WINDOW = 1 << 10
"""Values of a window of maximum pooling."""
MAX_FILTERS = 1 << 26
"""Numbers in the filters that choose what is compared: channels times half of the square of a window."""
MAX_KNOTS = 16
"""Corners of a function of straight lines."""


def _checked_alpha(alpha: int) -> int:
    return ReLU(alpha).alpha


def _same_shape(shapes: Sequence[Shape], what: str) -> Shape:
    if shapes[0] != shapes[1]:
        raise InvalidArgument(f"{what}: inputs of shapes {shapes[0]} and {shapes[1]}, expected equal shapes")
    return shapes[0]


@dataclasses.dataclass(frozen=True)
class MaxPool(Composite):
    """The largest value of each window, or of each whole channel: then the result is (channels, 1, 1).

    Encrypted as a tournament: max(a, b) = b + ReLU(a - b), for all windows and half of the remaining
    values at once. A window of k values takes ceil(log2(k)) rounds, each a linear map and a ReLU.
    """

    kernel: int | Pair | None = None
    """Rows and columns of a window; None: the whole channel"""
    stride: int | Pair | None = None
    """Pixels from window to window; None: `kernel`"""
    padding: int | tuple[int, ...] = 0
    """Pixels around the image, which no window takes for the largest: a number, (rows, columns), or (top,
    bottom, left, right)"""
    alpha: int = 13
    """Precision of the comparisons in bits, as in `Engine.relu`"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checked_alpha(self.alpha))
        if self.kernel is None:
            if self.stride is not None or self.padding:
                raise InvalidArgument(
                    "MaxPool: stride or padding without a kernel; global pooling has one window"
                )
            return
        kernel = pair(self.kernel, "MaxPool: kernel")
        stride = kernel if self.stride is None else pair(self.stride, "MaxPool: stride")
        object.__setattr__(self, "kernel", kernel[0] if kernel[0] == kernel[1] else kernel)
        object.__setattr__(self, "stride", stride[0] if stride[0] == stride[1] else stride)
        if any(max(each) >= size for each, size in zip(self.around, kernel, strict=True)):
            raise InvalidArgument(
                f"MaxPool: padding {self.padding!r}, expected less than the kernel {kernel}"
            )

    @property
    def around(self) -> tuple[Pair, Pair]:
        """Pixels before and behind rows, and columns."""
        given = self.padding if isinstance(self.padding, tuple | list) else (self.padding, self.padding)
        if len(given) == 4:
            (top, bottom), (left, right) = (
                pair(each, "MaxPool: padding", 0) for each in (given[:2], given[2:])
            )
            return (top, bottom), (left, right)
        rows, columns = pair(given, "MaxPool: padding", 0)
        return (rows, rows), (columns, columns)

    def window(self, shape: Shape) -> tuple[Pair, Pair]:
        """Rows and columns of a window, and strides, on images of that shape."""
        if self.kernel is None:
            return (shape[1], shape[2]), (shape[1], shape[2])
        kernel = pair(self.kernel, "MaxPool: kernel")
        return kernel, kernel if self.stride is None else pair(self.stride, "MaxPool: stride")

    def _padding_layer(self) -> Pad | None:
        """The nearest pixel of the image is in the window too, so that it changes no maximum."""
        (top, bottom), (left, right) = self.around
        return Pad((0, top, left), (0, bottom, right), "edge") if self.padding else None

    def _selection(self, shape: Shape, weight: Array) -> Conv2d:
        """Combinations of the values of each window: weight (combinations, rows, columns)."""
        kernel, stride = self.window(shape)
        filters = np.tile(weight.reshape(-1, 1, *kernel), (shape[0], 1, 1, 1))
        return Conv2d(filters, stride=stride, padding=0, groups=shape[0])

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """(channels, windows down, windows across)"""
        shape = image(shapes, "MaxPool")
        kernel, _ = self.window(shape)
        values = kernel[0] * kernel[1]
        if values > MAX_WINDOW or shape[0] * values * ((values + 1) // 2) > MAX_FILTERS:
            raise InvalidArgument(
                f"MaxPool: {shape[0]} channels with windows of {kernel}, expected at most "
                f"{MAX_WINDOW} values; pool in several steps"
            )
        around = self._padding_layer()
        padded = shape if around is None else around.output_shape([shape])
        if any(size < each for size, each in zip(padded[1:], kernel, strict=True)):
            raise InvalidArgument(f"MaxPool: a window of {kernel} in an image of {padded[1]} x {padded[2]}")
        return self._selection(padded, np.ones((1, *kernel))).output_shape([padded])

    def forward(self, *arrays: Array) -> Array:
        """The exact maxima."""
        (batch,) = arrays
        around = self._padding_layer()
        padded = batch if around is None else around.forward(batch)
        kernel, stride = self.window(padded.shape[1:])
        windows: Array = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))  # type: ignore[call-overload]
        return np.asarray(windows[:, :, :: stride[0], :: stride[1]].max(axis=(4, 5)))

    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """The tournament."""
        before, shape, made = inputs[0], shapes[0], []
        around = self._padding_layer()
        if around is not None:
            shape = around.output_shape([shape])
            made.append(Part(f"{name}.pad", around, (before,)))
            before = f"{name}.pad"
        channels, (kernel, _) = shape[0], self.window(shape)
        count, number = kernel[0] * kernel[1], 1
        if count == 1:
            return [*made, Part(name, self._selection(shape, np.ones((1, 1))), (before,))]
        select = functools.partial(self._selection, shape)
        while count > 1:
            last = name if count <= 2 else f"{name}.round{number}"
            made += _round(f"{name}.compare{number}", last, before, (count, channels, self.alpha), select)
            before, count, number = last, (count + 1) // 2, number + 1
            select = functools.partial(_combination, channels)
        return made


def _combination(channels: int, weight: Array) -> Conv2d:
    """Combinations of the values that lie side by side as channels: weight (combinations, values)."""
    filters = np.tile(weight[:, :, np.newaxis, np.newaxis], (channels, 1, 1, 1))
    return Conv2d(filters, padding=0, groups=channels)


def _round(
    compare: str, last: str, before: str, sizes: tuple[int, int, int], select: Callable[[Array], Conv2d]
) -> list[Part]:
    """Half of the values of each window: those that win, and one that has no other to meet."""
    count, channels, alpha = sizes
    unit = np.eye(count)
    pairs, kept = count // 2, (count + 1) // 2
    difference = unit[0 : 2 * pairs : 2] - unit[1 : 2 * pairs : 2]
    other = np.concatenate([unit[1 : 2 * pairs : 2], unit[2 * pairs :]])
    made = [
        Part(f"{compare}.difference", select(difference), (before,)),
        Part(compare, ReLU(alpha), (f"{compare}.difference",)),
        Part(f"{compare}.other", select(other), (before,)),
    ]
    won = compare
    if kept > pairs:
        won = f"{compare}.won"
        made.append(Part(won, _combination(channels, np.eye(kept, pairs)), (compare,)))
    return [*made, Part(last, Add(), (f"{compare}.other", won))]


@dataclasses.dataclass(frozen=True)
class Maximum(Composite):
    """The larger of two arrays of one shape, value by value: b + ReLU(a - b)."""

    inputs: ClassVar[int] = 2

    alpha: int = 13
    """Precision of the comparison in bits, as in `Engine.relu`"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checked_alpha(self.alpha))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of both."""
        return _same_shape(shapes, "Maximum")

    def forward(self, *arrays: Array) -> Array:
        """The exact maximum."""
        return np.maximum(arrays[0], arrays[1])

    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """A difference, a ReLU, a sum."""
        minus, compare = f"{name}.minus", f"{name}.compare"
        return [
            Part(minus, Affine(-1.0), (inputs[1],)),
            Part(f"{name}.difference", Add(), (inputs[0], minus)),
            Part(compare, ReLU(self.alpha), (f"{name}.difference",)),
            Part(name, Add(), (inputs[1], compare)),
        ]


@dataclasses.dataclass(frozen=True)
class Multiply(Composite):
    """The product of two arrays of one shape, value by value.

    Encrypted as a b = ((a + b)^2 - (a - b)^2) / 4, which takes one level, as a product does, and squares
    numbers of known range. balance: about how many times larger values of the first input are than those
    of the second: they are brought to one size before, because the larger ones decide the error.
    `nn.prepare` finds it.
    """

    inputs: ClassVar[int] = 2

    balance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "balance", positive(self.balance, "Multiply: balance"))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of both."""
        return _same_shape(shapes, "Multiply")

    def forward(self, *arrays: Array) -> Array:
        """The exact product."""
        return arrays[0] * arrays[1]

    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """Two squares."""
        if inputs[0] == inputs[1]:
            return [Part(name, _square(1.0), (inputs[0],))]
        size = float(np.sqrt(self.balance))
        a, b, minus = f"{name}.first", f"{name}.second", f"{name}.minus"
        return [
            Part(a, Affine(1 / size), (inputs[0],)),
            Part(b, Affine(size), (inputs[1],)),
            Part(minus, Affine(-size), (inputs[1],)),
            Part(f"{name}.sum", Add(), (a, b)),
            Part(f"{name}.difference", Add(), (a, minus)),
            Part(f"{name}.square1", _square(0.25), (f"{name}.sum",)),
            Part(f"{name}.square2", _square(0.25), (f"{name}.difference",)),
            Part(f"{name}.negative", Affine(-1.0), (f"{name}.square2",)),
            Part(name, Add(), (f"{name}.square1", f"{name}.negative")),
        ]


def _square(factor: float) -> Polynomial:
    return Polynomial(PolynomialFunction([0.0, 0.0, factor]))


@dataclasses.dataclass(frozen=True, eq=False)
class PiecewiseLinear(Composite):
    """offset + slope x + sum_i changes[i] max(x - knots[i], 0), with a ReLU for each knot.

    LeakyReLU, ReLU6, hard sigmoid, absolute values and clipping are of this form.
    """

    knots: Array
    """Where the slope changes, (corners,)"""
    changes: Array
    """By how much, (corners,)"""
    slope: float = 0.0
    offset: float = 0.0
    alpha: int = 13
    """Precision of the ReLUs in bits, as in `Engine.relu`"""

    def __post_init__(self) -> None:
        for name in ("knots", "changes"):
            object.__setattr__(self, name, real_array(getattr(self, name), 1, f"PiecewiseLinear: {name}"))
        if len(self.knots) != len(self.changes) or len(self.knots) > MAX_KNOTS:
            raise InvalidArgument(
                f"PiecewiseLinear: {len(self.knots)} knots and {len(self.changes)} changes of slope, "
                f"expected equally many, at most {MAX_KNOTS}"
            )
        line = real_array([self.slope, self.offset], 1, "PiecewiseLinear: slope and offset")
        object.__setattr__(self, "slope", float(line[0]))
        object.__setattr__(self, "offset", float(line[1]))
        object.__setattr__(self, "alpha", _checked_alpha(self.alpha))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the input."""
        return shapes[0]

    def forward(self, *arrays: Array) -> Array:
        """The exact function."""
        result = self.offset + self.slope * arrays[0]
        for knot, change in zip(self.knots, self.changes, strict=True):
            result = result + change * np.maximum(arrays[0] - knot, 0.0)
        return np.asarray(result)

    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """A ReLU for each knot, and their sum."""
        made, terms = [], []
        for index, (knot, change) in enumerate(zip(self.knots, self.changes, strict=True), 1):
            made += relu_of(f"{name}.relu{index}", inputs[0], float(knot), self.alpha)
            made.append(Part(f"{name}.term{index}", Affine(change), (f"{name}.relu{index}",)))
            terms.append(f"{name}.term{index}")
        line = Affine(self.slope, self.offset)
        return [*made, Part(f"{name}.line", line, (inputs[0],)), *added(name, [*terms, f"{name}.line"])]


def relu_of(name: str, source: str, knot: float, alpha: int) -> list[Part]:
    """max(x - knot, 0)"""
    if knot == 0:
        return [Part(name, ReLU(alpha), (source,))]
    shifted = Part(f"{name}.shift", Affine(1.0, -knot), (source,))
    return [shifted, Part(name, ReLU(alpha), (shifted.name,))]


def added(name: str, terms: Sequence[str]) -> list[Part]:
    """The sum of at least two values."""
    names = [*(f"{name}.sum{index}" for index in range(1, len(terms) - 1)), name]
    made, before = [], terms[0]
    for made_name, term in zip(names, terms[1:], strict=True):
        made.append(Part(made_name, Add(), (before, term)))
        before = made_name
    return made


@dataclasses.dataclass(frozen=True)
class Hardswish(Composite):
    """x min(max(x + 3, 0), 6) / 6 (Howard et al., 2019), by two ReLUs and a polynomial of degree 2.

    With c = x clipped to [-3, 3] it is max(x + 3, 0) - 3 + c (c - 3) / 6.
    """

    alpha: int = 13
    """Precision of the ReLUs in bits, as in `Engine.relu`"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _checked_alpha(self.alpha))

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the input."""
        return shapes[0]

    def forward(self, *arrays: Array) -> Array:
        """The exact function."""
        return np.asarray(arrays[0] * np.clip(arrays[0] + 3, 0, 6) / 6)

    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """Clipping, a parabola, a sum."""
        low, high, minus, clipped = (f"{name}.{each}" for each in ("low", "high", "minus", "clipped"))
        parabola = Polynomial(PolynomialFunction([-1.0, -0.5, 1 / 6]))
        return [
            *relu_of(low, inputs[0], -3.0, self.alpha),
            *relu_of(high, inputs[0], 3.0, self.alpha),
            Part(minus, Affine(-1.0, -3.0), (high,)),
            Part(clipped, Add(), (low, minus)),
            Part(f"{name}.parabola", parabola, (clipped,)),
            Part(f"{name}.line", Affine(1.0, -2.0), (low,)),
            Part(name, Add(), (f"{name}.line", f"{name}.parabola")),
        ]


@dataclasses.dataclass(frozen=True)
class ELU(Composite):
    """scale x for x > 0, else scale height (exp(rate x) - 1): ELU, CELU and SELU.

    By a ReLU r = max(x, 0), and exp(-z) of z = rate (r - x), which is never negative.
    """

    height: float = 1.0
    rate: float = 1.0
    scale: float = 1.0
    alpha: int = 13
    """Precision of the ReLU in bits, as in `Engine.relu`"""
    precision: int = 12
    """Of the exponential, in bits"""

    def __post_init__(self) -> None:
        for name in ("height", "rate", "scale"):
            object.__setattr__(self, name, positive(getattr(self, name), f"ELU: {name}"))
        object.__setattr__(self, "alpha", _checked_alpha(self.alpha))
        object.__setattr__(self, "precision", Decay(precision=self.precision).precision)

    def output_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the input."""
        return shapes[0]

    def forward(self, *arrays: Array) -> Array:
        """The exact function."""
        (x,) = arrays
        below = self.height * np.expm1(self.rate * np.minimum(x, 0.0))
        return np.asarray(self.scale * np.where(x > 0, x, below))

    def parts(self, name: str, inputs: Sequence[str], shapes: Sequence[Shape]) -> list[Part]:
        """A ReLU, an exponential of what it cut off, a sum."""
        relu, negative, cut, decay = (f"{name}.{each}" for each in ("relu", "negative", "cut", "decay"))
        height = self.scale * self.height
        return [
            Part(relu, ReLU(self.alpha), (inputs[0],)),
            Part(negative, Affine(-self.rate), (inputs[0],)),
            Part(f"{name}.positive", Affine(self.rate), (relu,)),
            Part(cut, Add(), (f"{name}.positive", negative)),
            Part(decay, Decay(precision=self.precision), (cut,)),
            Part(f"{name}.below", Affine(height, -height), (decay,)),
            Part(f"{name}.above", Affine(self.scale), (relu,)),
            Part(name, Add(), (f"{name}.above", f"{name}.below")),
        ]
