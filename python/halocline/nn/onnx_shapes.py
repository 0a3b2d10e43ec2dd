# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX that change shapes, and what is computed of constants, such as shapes, when a file
is read."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import CorruptData
from .graph_builder import Builder, Value, only
from .layers import Shape
from .linear_maps import Resample, chosen_matrix
from .model import MAX_VALUES


def ints(values: Any) -> list[int]:
    """Whole numbers of a list; one that is too long for any operator is refused before it is copied."""
    count = np.size(values)
    only(count <= limits.ONNX_LIST, f"a list of {count} numbers; supported are at most {limits.ONNX_LIST}")
    return [int(each) for each in np.ravel(values)]


def axes_of(op: Any, index: int, count: int) -> list[int]:
    """Axes by an input or an attribute, from 0."""
    found = op.constant(index, "axes")
    only(found is not None, "no axes")
    return [each % count for each in ints(found)]


def _reshape(b: Builder, op: Any) -> Value:
    shape, x = ints(op.constant(1, "shape")), op.value()
    _dimensions(len(shape))
    only(not op.get("allowzero", 0) and len(shape) > 1, f"shape {shape}")
    known = b.shape_of(x)
    first, rest = shape[0], [known[i] if n == 0 and i < len(known) else n for i, n in enumerate(shape[1:])]
    size = math.prod(each for each in rest if each != -1)
    whole = -1 in rest or size == math.prod(known)
    only(
        first in (0, 1, -1) and whole and not (first == -1 and -1 in rest),
        f"shape {shape}; the batch must stay first",
    )
    return b.reshape(x, rest)


def _dimensions(count: int) -> None:
    """Refuses tensors of so many dimensions, before their sizes are multiplied."""
    most = limits.TENSOR_DIMENSIONS
    only(count <= most, f"a tensor of {count} dimensions; supported are at most {most}")


def _flatten(b: Builder, op: Any) -> Value:
    only(op.get("axis", 1) == 1, f"axis {op.get('axis')}; supported is 1")
    return b.flatten(op.value())


def _squeeze(b: Builder, op: Any) -> Value:
    x = op.value()
    only(len(b.shape_of(x)) == 1 or b.shape_of(x)[1:] == (1, 1), "supported are images of one pixel")
    return b.flatten(x)


def _unsqueeze(b: Builder, op: Any) -> Value:
    x, axes = op.value(), axes_of(op, 1, 4)
    only(
        len(b.shape_of(x)) == 1 and sorted(axes) == [2, 3],
        f"axes {axes}; supported are rows and columns of vectors",
    )
    return b.reshape(x, (*b.shape_of(x), 1, 1))


def _slice(b: Builder, op: Any) -> Value:
    x = op.value()
    count = len(b.shape_of(x)) + 1
    starts, ends = ints(op.constant(1, "starts")), ints(op.constant(2, "ends"))
    axes, steps = op.constant(3, "axes", range(len(starts))), op.constant(4, "", [1] * len(starts))
    index = [slice(None)] * count
    for axis, start, end, step in zip(ints(list(axes)), starts, ends, ints(steps), strict=True):
        index[axis % count] = slice(start, end, step)
    only(index[0] == slice(None), "a slice of the batch")
    return b.cut(x, index[1:])


def _split(b: Builder, op: Any) -> tuple[Value, ...]:
    x = op.value()
    shape = b.shape_of(x)
    axis = op.get("axis", 0) % (len(shape) + 1) - 1
    only(axis >= 0, "a split of the batch")
    parts = op.constant(1, "split")
    each = -(-shape[axis] // op.outputs)
    sizes = (
        ints(parts)
        if parts is not None
        else [each] * (op.outputs - 1) + [shape[axis] - each * (op.outputs - 1)]
    )
    only(sum(sizes) == shape[axis] and min(sizes) > 0, f"sizes {sizes} of {shape[axis]}")
    made, first = [], 0
    for size in sizes:
        index = [slice(None)] * len(shape)
        index[axis] = slice(first, first + size)
        made.append(b.cut(x, index))
        first += size
    return tuple(made)


def _pad(b: Builder, op: Any) -> Value:
    x, mode = op.value(), op.get("mode", b"constant").decode()
    value = op.constant(2, "value", 0.0)
    only(mode in ("constant", "edge", "reflect") and not np.any(value), f"mode {mode!r} with value {value}")
    count = len(b.shape_of(x)) + 1
    pads, axes = ints(op.constant(1, "pads")), op.constant(3)
    places = [each % count for each in ints(axes)] if axes is not None else list(range(count))
    only(len(pads) == 2 * len(places), f"{len(pads)} numbers for {len(places)} axes")
    before, behind = [0] * count, [0] * count
    for index, axis in enumerate(places):
        before[axis], behind[axis] = pads[index], pads[index + len(places)]
    only(before[0] == behind[0] == 0, "padding of the batch")
    return b.pad(x, before[1:], behind[1:], mode)


def _resize(b: Builder, op: Any) -> Value:
    """Resize, and the older Upsample, whose coordinates are asymmetric."""
    x, old = op.value(), op.kind == "Upsample"
    shape = b.image(x)
    size = _new_size(op, shape, old)
    mode = op.get("mode", b"nearest").decode()
    coordinates = "asymmetric" if old else op.get("coordinate_transformation_mode", b"half_pixel").decode()
    if mode == "linear":
        only(
            coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners"),
            f"coordinates {coordinates!r}",
        )
        return b.resize(x, (size[0], size[1]), "bilinear", coordinates == "align_corners")
    only(mode == "nearest", f"mode {mode!r}; supported are nearest and linear")
    rounding = "floor" if old else op.get("nearest_mode", b"round_prefer_floor").decode()
    only(max(size) <= MAX_VALUES // max(shape[1:]), f"{size} pixels")
    chosen = [_chosen(n, wanted, coordinates, rounding) for n, wanted in zip(shape[1:], size, strict=True)]
    repeated = [np.arange(w) * n // w for n, w in zip(shape[1:], size, strict=True)]
    if all(np.array_equal(*each) for each in zip(chosen, repeated, strict=True)):
        return b.resize(x, (size[0], size[1]), "nearest")
    return b.add(Resample(*(chosen_matrix(each, n) for n, each in zip(shape[1:], chosen, strict=True))), x)


def _new_size(op: Any, shape: Shape, old: bool) -> list[int]:
    """Rows and columns of the result; what else would change is refused."""
    for name, value in (("antialias", 0), ("exclude_outside", 0), ("keep_aspect_ratio_policy", b"stretch")):
        only(op.get(name, value) == value, f"{name}; supported is resizing without it")
    axes = [each % 4 for each in op.get("axes", [0, 1, 2, 3])]
    only(axes in ([0, 1, 2, 3], [2, 3]), f"axes {axes}; supported are rows and columns, [2, 3]")
    scales, sizes = op.constant(1 if old else 2, "scales"), None if old else op.constant(3)
    known = sizes if sizes is not None and np.size(sizes) else scales
    only(known is not None and np.size(known) == len(axes), "neither scales nor sizes of rows and columns")
    if known is sizes:
        only(len(axes) == 2 or ints(sizes)[1] == shape[0], "another number of channels")
        return ints(sizes)[-2:]
    factors = [float(each) for each in np.ravel(scales)]
    only(len(axes) == 2 or factors[:2] == [1, 1], f"scales {factors}; supported are rows and columns")
    size = [n * factor for n, factor in zip(shape[1:], factors[-2:], strict=True)]
    only(
        all(abs(each - round(each)) < 1e-3 for each in size),  # scales are float32
        f"scales {factors[-2:]} of {shape[1]} x {shape[2]} pixels; supported are whole pixels: pass sizes",
    )
    return [round(each) for each in size]


def _chosen(size: int, wanted: int, coordinates: str, rounding: str) -> Any:
    """Which pixel each one of the result is, along an axis."""
    index = np.arange(wanted)
    places = {
        "half_pixel": (index + 0.5) * size / wanted - 0.5,
        "pytorch_half_pixel": (index + 0.5) * size / wanted - 0.5 if wanted > 1 else np.zeros(1),
        "asymmetric": index * size / wanted,
        "align_corners": index * (size - 1) / max(wanted - 1, 1),
    }
    only(coordinates in places, f"coordinates {coordinates!r}; supported are {', '.join(places)}")
    at = places[coordinates]
    rounded = {
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
        "floor": np.floor(at),
        "ceil": np.ceil(at),
    }
    only(rounding in rounded, f"nearest_mode {rounding!r}; supported are {', '.join(rounded)}")
    return np.clip(rounded[rounding], 0, size - 1).astype(np.int64)


def _concat(b: Builder, op: Any) -> Value:
    return b.concatenate(op.inputs, op.attributes["axis"])


SHAPES: dict[str, Callable[[Builder, Any], Any]] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": lambda b, op: b.permute(op.value(), op.get("perm") or [0]),
    "Concat": _concat,
    "Slice": _slice,
    "Split": _split,
    "Pad": _pad,
    "Resize": _resize,
    "Upsample": _resize,
    "Dropout": lambda b, op: op.value(),
    "Identity": lambda b, op: op.value(),
    "Cast": lambda b, op: op.value(),
    # The size of the batch is 0 there: what takes shapes reads it as "the same".
    "Shape": lambda b, op: np.array([0, *b.shape_of(op.value())])[op.get("start", 0) : op.get("end")],
}


def _bounded(count: int) -> None:
    """Refuses a constant of so many numbers, before it is made: small ones become large by broadcasting."""
    if count > limits.ONNX // 8:
        raise CorruptData(f"from_onnx: a constant of {count} numbers, expected at most {limits.ONNX // 8}")


def _paired(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """An operator of two constants."""

    def made(op: Any) -> Any:
        a, b = op.inputs
        _bounded(math.prod(np.broadcast_shapes(np.shape(a), np.shape(b))))
        return function(a, b)

    return made


def _joined(op: Any) -> Any:
    _bounded(sum(np.size(each) for each in op.inputs))
    return np.concatenate([np.atleast_1d(each) for each in op.inputs], axis=op.get("axis", 0))


def _gather(op: Any) -> Any:
    shape, axis = np.shape(op.inputs[0]), op.get("axis", 0)
    _bounded(math.prod(shape) // max(shape[axis], 1) * np.size(op.inputs[1]))
    return np.take(op.inputs[0], np.asarray(op.inputs[1]), axis=op.get("axis", 0))


def _expanded(op: Any) -> Any:
    axes = sorted(ints(op.constant(1, "axes")))
    _dimensions(np.ndim(op.inputs[0]) + len(axes))
    return np.expand_dims(op.inputs[0], tuple(axes))


def _reshaped(op: Any) -> Any:
    shape = ints(op.inputs[1])
    _dimensions(len(shape))
    return np.reshape(op.inputs[0], shape)


def _cut(op: Any) -> Any:
    starts, ends = ints(op.constant(1, "starts")), ints(op.constant(2, "ends"))
    axes, steps = op.constant(3, "axes", range(len(starts))), op.constant(4, "", [1] * len(starts))
    array = np.asarray(op.inputs[0])
    index = [slice(None)] * array.ndim
    for axis, start, end, step in zip(ints(list(axes)), starts, ends, ints(steps), strict=True):
        index[axis] = slice(start, end, step)
    return array[tuple(index)]


CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "Identity": lambda op: op.inputs[0],
    "Cast": lambda op: op.inputs[0],
    "Gather": _gather,
    "Unsqueeze": _expanded,
    "Squeeze": lambda op: np.squeeze(op.inputs[0]),
    "Concat": _joined,
    "Slice": _cut,
    "Reshape": _reshaped,
    "Transpose": lambda op: np.transpose(op.inputs[0], op.get("perm")),
    "Neg": lambda op: -op.inputs[0],
    "Add": _paired(operator.add),
    "Sub": _paired(operator.sub),
    "Mul": _paired(operator.mul),
    "Div": _paired(operator.truediv),
    "Sqrt": lambda op: np.sqrt(op.inputs[0]),
}
"""Operators of constants alone, which are computed when a file is read."""
