# SPDX-License-Identifier: Apache-2.0
"""Layers for operators of ONNX (https://onnx.ai/onnx/operators), by their definitions there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .activations import GELU, Erf, Mish, Sigmoid, SiLU, Smooth, Softplus, Softsign, Tanh
from .composites import Hardswish
from .graph_builder import Builder, Value, only
from .layers import ReLU, fold_batch_norm
from .onnx_shapes import SHAPES, axes_of, ints


@dataclasses.dataclass(frozen=True)
class Operator:
    """One operator of a graph with what it gets."""

    kind: str
    inputs: Sequence[Any]
    """Values of the network, arrays, or None for those left out"""
    attributes: Mapping[str, Any]
    outputs: int = 1

    def value(self, index: int = 0) -> Any:
        """An input that must be a value of the network."""
        found = self.inputs[index] if index < len(self.inputs) else None
        only(isinstance(found, Value), f"input {index} is no tensor of the network")
        return found

    def constant(self, index: int, name: str = "", default: Any = None) -> Any:
        """An input that must be known, or the attribute of that name."""
        found = self.inputs[index] if index < len(self.inputs) else None
        only(
            not isinstance(found, Value),
            f"input {index} depends on the input of the network; expected a constant",
        )
        return self.attributes.get(name, default) if found is None else found

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)


Import = Callable[[Builder, Operator], Any]


def _smooth(kind: type[Smooth]) -> Import:
    return lambda b, op: b.add(kind(precision=b.precision), op.value())


def _windows(b: Builder, op: Operator, extent: Sequence[int]) -> tuple[tuple[int, int], tuple[Any, Any]]:
    """Strides and padding ((top, bottom), (left, right)) of an operator with windows of that extent."""
    stride = ints(op.get("strides", [1, 1]))
    only(
        len(extent) == 2 and len(stride) == 2, f"{len(extent)} axes; nearest is a kernel of rows and columns"
    )
    auto = op.get("auto_pad", b"NOTSET").decode()
    if auto in ("NOTSET", "VALID"):
        top, left, bottom, right = ints(op.get("pads", [0, 0, 0, 0])) if auto == "NOTSET" else (0, 0, 0, 0)
        return (stride[0], stride[1]), ((top, bottom), (left, right))
    only(auto in ("SAME_UPPER", "SAME_LOWER"), f"auto_pad {auto!r}")
    made = []
    for size, width, step in zip(b.image(op.value())[1:], extent, stride, strict=True):
        total = max((-(-size // step) - 1) * step + width - size, 0)
        half = total // 2
        made.append((half, total - half) if auto == "SAME_UPPER" else (total - half, half))
    return (stride[0], stride[1]), (made[0], made[1])


def _conv(b: Builder, op: Operator) -> Value:
    weight, bias = np.asarray(op.constant(1), dtype=np.float64), op.constant(2)
    only(weight.ndim == 4, f"a kernel of {weight.ndim - 2} axes; nearest is a kernel of rows and columns")
    dilation = ints(op.get("dilations", [1, 1]))
    extent = [(n - 1) * d + 1 for n, d in zip(weight.shape[2:], dilation, strict=True)]
    stride, (rows, columns) = _windows(b, op, extent)
    padding, groups = (*rows, *columns), int(op.get("group", 1))
    return b.convolution(op.value(), weight, bias, stride, padding, (dilation[0], dilation[1]), groups)


def _gemm(b: Builder, op: Operator) -> Value:
    only(not op.get("transA", 0), "transA")
    weight = np.asarray(op.constant(1), dtype=np.float64) * op.get("alpha", 1.0)
    weight = weight if op.get("transB", 0) else weight.T
    added = op.constant(2)
    bias = None if added is None else np.broadcast_to(added, (1, len(weight)))[0] * op.get("beta", 1.0)
    return b.matrix(op.value(), weight, bias)


def _matmul(b: Builder, op: Operator) -> Value:
    weight = np.asarray(op.constant(1), dtype=np.float64)
    only(weight.ndim == 2 and len(b.shape_of(op.value())) == 1, "a product that is not vector times matrix")
    return b.matrix(op.value(), weight.T)


def _batch_norm(b: Builder, op: Operator) -> Value:
    gamma, beta, mean, variance = (np.asarray(op.constant(index), dtype=np.float64) for index in range(1, 5))
    scale, shift = fold_batch_norm(
        np.ones(len(mean)), None, gamma, beta, mean, variance, op.get("epsilon", 1e-5)
    )
    ones = (1,) * (len(b.shape_of(op.value())) - 1)
    return b.affine(op.value(), scale.reshape(-1, *ones), shift.reshape(-1, *ones))


def _pool(largest: bool) -> Import:
    def made(b: Builder, op: Operator) -> Value:
        only(
            op.outputs == 1 and set(ints(op.get("dilations", [1, 1]))) == {1},
            "dilations, or indices as outputs",
        )
        kernel = ints(op.attributes["kernel_shape"])
        stride, padding = _windows(b, op, kernel)
        size, ceil_mode = (kernel[0], kernel[1]), bool(op.get("ceil_mode", 0))
        if largest:
            return b.largest(op.value(), size, stride, padding, ceil_mode)
        return b.average(op.value(), size, stride, padding, ceil_mode, bool(op.get("count_include_pad", 0)))

    return made


def _mean(b: Builder, op: Operator) -> Value:
    axes = axes_of(op, 1, 4)
    only(sorted(axes) == [2, 3], f"axes {axes}; supported are rows and columns")
    pooled = b.adaptive(op.value(), (1, 1))
    return pooled if op.get("keepdims", 1) else b.flatten(pooled)


def _fold(function: Callable[[Builder, Any, Any], Value]) -> Import:
    """An operator of any number of inputs, by one of two."""

    def made(b: Builder, op: Operator) -> Any:
        result = op.inputs[0]
        for other in op.inputs[1:]:
            result = function(b, result, other)
        return result

    return made


def _smaller(b: Builder, x: Any, y: Any) -> Value:
    negative = [b.affine(each, -1.0) if isinstance(each, Value) else -np.asarray(each) for each in (x, y)]
    return b.affine(b.larger(*negative), -1.0)


def _clip(b: Builder, op: Operator) -> Value:
    low, high = op.constant(1, "min"), op.constant(2, "max")
    ends = [None if each is None or abs(float(each)) > 1e30 else float(each) for each in (low, high)]
    return b.clip(op.value(), *ends)


def _prelu(b: Builder, op: Operator) -> Value:
    slope = np.asarray(op.constant(1))
    only(slope.size == 1, f"{slope.size} slopes; supported is one")
    return b.leaky(op.value(), float(slope.item()))


def _hard_sigmoid(b: Builder, op: Operator) -> Value:
    slope, middle = float(op.get("alpha", 0.2)), float(op.get("beta", 0.5))
    only(slope > 0, "alpha of 0")
    return b.corners(op.value(), [-middle / slope, (1 - middle) / slope], [slope, -slope])


def _celu(b: Builder, op: Operator) -> Value:
    height = float(op.get("alpha", 1.0))
    return b.elu(op.value(), height, 1 / height)


OPERATORS: dict[str, Import] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "BatchNormalization": _batch_norm,
    "MaxPool": _pool(True),
    "AveragePool": _pool(False),
    "GlobalAveragePool": lambda b, op: b.adaptive(op.value(), (1, 1)),
    "GlobalMaxPool": lambda b, op: b.adaptive(op.value(), (1, 1), True),
    "ReduceMean": _mean,
    "Relu": lambda b, op: b.add(ReLU(b.alpha), op.value()),
    "LeakyRelu": lambda b, op: b.leaky(op.value(), float(op.get("alpha", 0.01))),
    "PRelu": _prelu,
    "Clip": _clip,
    "Abs": lambda b, op: b.corners(op.value(), [0.0], [2.0], -1.0),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda b, op: b.add(Hardswish(b.alpha), op.value()),
    "Elu": lambda b, op: b.elu(op.value(), float(op.get("alpha", 1.0))),
    "Celu": _celu,
    "Selu": lambda b, op: b.elu(
        op.value(),
        float(op.get("alpha", 1.6732632423543772)),
        1.0,
        float(op.get("gamma", 1.0507009873554805)),
    ),
    "Sigmoid": _smooth(Sigmoid),
    "Tanh": _smooth(Tanh),
    "Erf": _smooth(Erf),
    "Mish": _smooth(Mish),
    "Softplus": _smooth(Softplus),
    "Softsign": _smooth(Softsign),
    "Swish": _smooth(SiLU),
    "Gelu": lambda b, op: b.add(
        GELU(op.get("approximate", b"none").decode(), precision=b.precision), op.value()
    ),
    "Add": _fold(lambda b, x, y: b.sum(x, y)),
    "Sum": _fold(lambda b, x, y: b.sum(x, y)),
    "Sub": _fold(lambda b, x, y: b.sum(x, y, -1.0)),
    "Mul": _fold(lambda b, x, y: b.product(x, y)),
    "Div": _fold(lambda b, x, y: b.quotient(x, y)),
    "Max": _fold(lambda b, x, y: b.larger(x, y)),
    "Min": _fold(_smaller),
    "Neg": lambda b, op: b.affine(op.value(), -1.0),
    "Pow": lambda b, op: b.power(op.value(), op.constant(1)),
    **SHAPES,
}
