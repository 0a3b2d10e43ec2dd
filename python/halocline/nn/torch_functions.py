# SPDX-License-Identifier: Apache-2.0
"""Layers for functions of torch, and methods of its tensors."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..base.values import integer
from .activations import GELU, Erf, Mish, Sigmoid, SiLU, Smooth, Softplus, Softsign, Tanh
from .composites import Hardswish
from .graph_builder import Unsupported, Value, only
from .layers import AvgPool, ReLU, Shortcut
from .torch_builder import Batch, TorchBuilder
from .torch_modules import (
    SELU_HEIGHT,
    SELU_SCALE,
    averaged,
    flattened,
    hardsigmoid,
    maxima,
    output_size,
    padded,
    resized,
)

Import = Callable[..., Any]


def function_table(torch: Any, b: TorchBuilder) -> dict[Any, Import]:
    """How each function, or the method of a name, is imported."""
    table: dict[Any, Import] = {}
    for rows in (_arithmetic(torch), _shapes(torch), _pooling(torch), _functions(torch), _cornered(torch)):
        for function, targets in rows:
            table.update({target: functools.partial(function, b) for target in targets})
    return table


Rows = list[tuple[Import, tuple[Any, ...]]]


def _arithmetic(torch: Any) -> Rows:
    return [
        (_sum, (operator.add, torch.add, "add")),
        (_in_place(_sum), (operator.iadd, "add_")),
        (_difference, (operator.sub, torch.sub, "sub")),
        (_in_place(_difference), (operator.isub, "sub_")),
        (_product, (operator.mul, torch.mul, "mul")),
        (_in_place(_product), (operator.imul, "mul_")),
        (_quotient, (operator.truediv, torch.div, "div", "true_divide")),
        (_rounded_down, (operator.floordiv, torch.floor_divide, "floor_divide")),
        (lambda b, x: b.affine(x, -1.0), (operator.neg, torch.neg, "neg")),
        (lambda b, x, exponent: b.power(x, exponent), (operator.pow, torch.pow, "pow")),
        (lambda b, x: b.power(x, 2), (torch.square, "square")),
        (lambda b, x, y: b.larger(x, y), (torch.maximum, "maximum")),
        (_smaller, (torch.minimum, "minimum")),
        (lambda b, x, min=None, max=None: b.clip(x, min, max), (torch.clamp, torch.clip, "clamp", "clip")),
        (lambda b, x: b.corners(x, [0.0], [2.0], -1.0), (torch.abs, "abs")),
        (_linear, (torch.nn.functional.linear,)),
        (lambda b, x, weight: _linear(b, x, weight, columns=True), (operator.matmul, torch.matmul, "matmul")),
    ]


def _shapes(torch: Any) -> Rows:
    return [
        (flattened, (torch.flatten, "flatten")),
        (_view, ("view", "reshape", torch.reshape)),
        (_permute, ("permute", torch.permute)),
        (_transpose, ("transpose", torch.transpose)),
        (_unsqueeze, ("unsqueeze", torch.unsqueeze)),
        (_squeeze, ("squeeze", torch.squeeze)),
        (lambda b, values, dim=0: b.concatenate(values, dim), (torch.cat, torch.concat)),
        (_chunk, ("chunk", torch.chunk)),
        (_split, ("split", torch.split)),
        (_pad, (torch.nn.functional.pad,)),
        (_item, (operator.getitem,)),
        (_size, ("size",)),
        (_attribute, (getattr,)),
        (
            lambda b, x, *rest, **options: x,
            ("contiguous", torch.nn.functional.dropout, "clone", "float", "double"),
        ),
    ]


def _pooling(torch: Any) -> Rows:
    functional = torch.nn.functional
    return [
        (_mean, (torch.mean, "mean")),
        (averaged, (functional.avg_pool2d,)),
        (maxima, (functional.max_pool2d, torch.max_pool2d)),
        (lambda b, x, size: b.adaptive(x, output_size(b, x, size)), (functional.adaptive_avg_pool2d,)),
        (lambda b, x, size: b.adaptive(x, output_size(b, x, size), True), (functional.adaptive_max_pool2d,)),
        (_interpolate, (functional.interpolate, functional.upsample)),
    ]


def _smooth(kind: type[Smooth]) -> Import:
    def made(b: TorchBuilder, x: Any, inplace: bool = False) -> Value:
        result = b.add(kind(precision=b.precision), x)
        return b.in_place(x, result) if inplace else result  # type: ignore[no-any-return]

    return made


def _functions(torch: Any) -> Rows:
    functional = torch.nn.functional

    def gelu(b: TorchBuilder, x: Any, approximate: str = "none") -> Value:
        return b.add(GELU(approximate, precision=b.precision), x)

    def softplus(b: TorchBuilder, x: Any, beta: float = 1.0, threshold: float = 20.0) -> Value:
        return b.add(Softplus(float(beta), precision=b.precision), x)

    return [
        (_relu, (functional.relu, torch.relu, "relu")),
        (lambda b, x: _relu(b, x, True), (functional.relu_, torch.relu_, "relu_")),
        (_smooth(Sigmoid), (torch.sigmoid, functional.sigmoid, "sigmoid")),
        (_smooth(Tanh), (torch.tanh, functional.tanh, "tanh")),
        (_smooth(SiLU), (functional.silu,)),
        (_smooth(Mish), (functional.mish,)),
        (_smooth(Erf), (torch.erf, "erf")),
        (_smooth(Softsign), (functional.softsign,)),
        (gelu, (functional.gelu,)),
        (softplus, (functional.softplus,)),
    ]


def _maybe_in_place(function: Import) -> Import:
    def made(b: TorchBuilder, x: Any, *arguments: Any, inplace: bool = False, **options: Any) -> Any:
        result = function(b, x, *arguments, **options)
        return b.in_place(x, result) if inplace else result

    return made


def _cornered(torch: Any) -> Rows:
    functional = torch.nn.functional
    return [
        (_maybe_in_place(lambda b, x: b.clip(x, 0.0, 6.0)), (functional.relu6,)),
        (
            _maybe_in_place(lambda b, x, negative_slope=0.01: b.leaky(x, negative_slope)),
            (functional.leaky_relu,),
        ),
        (_maybe_in_place(lambda b, x: b.add(Hardswish(b.alpha), x)), (functional.hardswish,)),
        (_maybe_in_place(hardsigmoid), (functional.hardsigmoid,)),
        (
            _maybe_in_place(lambda b, x, min_val=-1.0, max_val=1.0: b.clip(x, min_val, max_val)),
            (functional.hardtanh,),
        ),
        (_maybe_in_place(lambda b, x, alpha=1.0: b.elu(x, alpha)), (functional.elu,)),
        (_maybe_in_place(lambda b, x: b.elu(x, SELU_HEIGHT, 1.0, SELU_SCALE)), (functional.selu,)),
    ]


def _in_place(function: Import) -> Import:
    def made(b: TorchBuilder, x: Any, *arguments: Any, **options: Any) -> Any:
        return b.in_place(x, function(b, x, *arguments, **options))

    return made


def _are_counts(*values: Any) -> bool:
    """Whether these are numbers of the graph, such as sizes, and no tensors."""
    return all(isinstance(each, int | float) for each in values)


def _relu(b: TorchBuilder, x: Any, inplace: bool = False) -> Any:
    made = b.add(ReLU(b.alpha), x)
    return b.in_place(x, made) if inplace else made


def _sum(b: TorchBuilder, x: Any, y: Any, alpha: float = 1) -> Any:
    return x + y if _are_counts(x, y) else b.sum(x, y, alpha)


def _difference(b: TorchBuilder, x: Any, y: Any, alpha: float = 1) -> Any:
    return x - y if _are_counts(x, y) else b.sum(x, y, -alpha)


def _product(b: TorchBuilder, x: Any, y: Any) -> Any:
    return x * y if _are_counts(x, y) else b.product(x, y)


def _quotient(b: TorchBuilder, x: Any, y: Any, rounding_mode: Any = None) -> Any:
    only(rounding_mode is None, f"rounding_mode={rounding_mode!r}")
    if _are_counts(x, y):
        return x // y if isinstance(x, int) and isinstance(y, int) and x % y == 0 else x / y
    return b.quotient(x, y)


def _rounded_down(b: TorchBuilder, x: Any, y: Any) -> Any:
    only(_are_counts(x, y), "values rounded down; supported is a division without rounding: x / y")
    return x // y


def _smaller(b: TorchBuilder, x: Any, y: Any) -> Value:
    negative = [b.affine(each, -1.0) if isinstance(each, Value) else -each for each in (x, y)]
    return b.affine(b.larger(*negative), -1.0)


def _sizes(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sizes as one tuple or as several arguments."""
    return tuple(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments


def _view(b: TorchBuilder, x: Any, *arguments: Any, shape: Any = None) -> Value:
    wanted = _sizes(arguments) if shape is None else shape
    known = len(wanted) > 1 and all(isinstance(each, int) for each in wanted[1:])
    fits = known and (isinstance(wanted[0], Batch) or (wanted[0] == -1 and -1 not in wanted[1:]))
    only(fits, "supported are shapes whose first size is that of the batch: x.view(x.size(0), -1)")
    return b.reshape(x, wanted[1:])


def _permute(b: TorchBuilder, x: Any, *arguments: Any, dims: Any = None) -> Value:
    return b.permute(x, _sizes(arguments) if dims is None else dims)


def _transpose(b: TorchBuilder, x: Any, dim0: int, dim1: int) -> Value:
    axes = list(range(len(b.shape_of(x)) + 1))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return b.permute(x, axes)


def _unsqueeze(b: TorchBuilder, x: Any, dim: int) -> Value:
    shape = list(b.shape_of(x))
    shape.insert(dim % (len(shape) + 2) - 1, 1)
    if len(shape) == 2:  # a step on the way to an image
        shape.append(1)
    only(dim != 0, "an axis before the batch")
    return b.reshape(x, shape) if len(b.shape_of(x)) == 1 else _already_image(b, x, dim)


def _already_image(b: TorchBuilder, x: Value, dim: int) -> Value:
    """x.unsqueeze(-1).unsqueeze(-1) of a vector, whose first step gave rows and columns of one."""
    only(b.shape_of(x)[1:] == (1, 1) and dim in (2, 3, -1, -2), "an image with another axis")
    return x


def _squeeze(b: TorchBuilder, x: Any, dim: Any = None) -> Value:
    only(len(b.shape_of(x)) == 1 or b.shape_of(x)[1:] == (1, 1), "supported are images of one pixel")
    return b.flatten(x)


def _linear(b: TorchBuilder, x: Any, weight: Any, bias: Any = None, columns: bool = False) -> Value:
    """A product with a constant matrix, which has the outputs in its rows or in its columns."""
    only(
        isinstance(x, Value) and not isinstance(weight, Value) and getattr(weight, "ndim", 0) == 2,
        "supported is a vector of the network times a constant matrix",
    )
    return b.matrix(x, weight.T if columns else weight, bias)


def _axis(b: TorchBuilder, x: Any, dim: int) -> int:
    axis = dim % (len(b.shape_of(x)) + 1) - 1
    only(axis >= 0, "parts of the batch")
    return axis


def _parts(b: TorchBuilder, x: Any, axis: int, ends: Sequence[int]) -> tuple[Value, ...]:
    """What lies before each of these places of an axis, behind the one before."""
    made = []
    for first, end in itertools.pairwise((0, *ends)):
        index = [slice(None)] * len(b.shape_of(x))
        index[axis] = slice(first, end)
        made.append(b.cut(x, index))
    return tuple(made)


def _chunk(b: TorchBuilder, x: Any, chunks: int, dim: int = 0) -> tuple[Value, ...]:
    axis = _axis(b, x, dim)
    return _split(b, x, -(-b.shape_of(x)[axis] // integer(chunks, "chunks", 1)), dim)


def _split(b: TorchBuilder, x: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Value, ...]:
    axis, wanted = _axis(b, x, dim), split_size_or_sections
    length = b.shape_of(x)[axis]
    if not isinstance(wanted, tuple):
        size = integer(wanted, "split", 1)
        return _parts(b, x, axis, [min(first + size, length) for first in range(0, length, size)])
    sizes = [integer(each, "split", 1) for each in wanted]
    only(sum(sizes) == length, f"parts of {sizes}; supported are parts that add up to {length}")
    return _parts(b, x, axis, list(itertools.accumulate(sizes)))


def _pad(b: TorchBuilder, x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Value:
    if mode == "constant" and value in (None, 0) and len(pad) == 6 and not any(pad[:4]) and min(pad) >= 0:
        before, behind = pad[4:]
        layer, channels = b.layer_of(x), b.image(x)[0] + before + behind
        option_a = before == (before + behind) // 2 and behind > 0
        same = isinstance(layer, Shortcut) and layer.channels == b.shapes[b.nodes[x.name].inputs[0]][0]
        if option_a and isinstance(layer, Shortcut) and same and b.is_last_use(x):
            return b.replace(x, Shortcut(layer.stride, channels))
        if option_a:
            return b.add(Shortcut(1, channels), x)
    return padded(b, x, pad, mode, value)


def _item(b: TorchBuilder, x: Any, index: Any) -> Any:
    if isinstance(x, tuple):
        return x[index]
    shape, parts = b.shape_of(x), index if isinstance(index, tuple) else (index,)
    if Ellipsis in parts:
        raise Unsupported("an index with ...; supported are slices of each axis")
    if len(shape) == 1 and parts[2:] == (None, None) and all(each == slice(None) for each in parts[:2]):
        return b.reshape(x, (*shape, 1, 1))
    only(
        all(isinstance(each, slice) for each in parts), "an index that is no slice; x[:, 0:1] keeps the axis"
    )
    parts = (*parts, *[slice(None)] * (len(shape) + 1 - len(parts)))
    only(parts[0] == slice(None), "a slice of the batch")
    steps = [each.step or 1 for each in parts]
    whole = all(each.start in (None, 0) and each.stop is None for each in parts)
    if whole and len(shape) == 3 and steps[1] == 1 and steps[2] == steps[3]:
        return x if steps[2] == 1 else b.add(Shortcut(steps[2], shape[0]), x)
    return b.cut(x, parts[1:])


def _size(b: TorchBuilder, x: Any, dim: int | None = None) -> Any:
    known = (Batch(), *b.shape_of(x))
    return known if dim is None else known[dim]


def _attribute(b: TorchBuilder, x: Any, name: str) -> Any:
    only(name == "shape", f"attribute {name!r}")
    return _size(b, x)


def _mean(b: TorchBuilder, x: Any, dim: Any = None, keepdim: bool = False) -> Value:
    dims = sorted(each % 4 for each in dim) if isinstance(dim, tuple) else dim
    only(dims == [2, 3] and len(b.shape_of(x)) == 3, f"dim={dim}; supported is (2, 3)")
    pooled = b.add(AvgPool(), x)
    return pooled if keepdim else b.flatten(pooled)


def _interpolate(
    b: TorchBuilder,
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    **options: Any,
) -> Value:
    only(
        not any(options.values()),
        f"{', '.join(options)}; supported are size, scale_factor, mode, align_corners",
    )
    return resized(b, x, size, scale_factor, mode, bool(align_corners))
