# SPDX-License-Identifier: Apache-2.0
"""Models as files: a small JSON description of the layers, and their weights as safetensors.

The format is described in docs/guides/networks.md. Descriptions are data from outside: nothing in them is
executed, and every key, type, size and number is checked.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import CorruptData, Error, InvalidArgument
from ..base.files import parse_json, read_file, write_file
from ..base.values import expect, kind_of, path_text
from ..circuits.polynomial import Polynomial as PolynomialFunction
from . import layer_formats
from . import tensors as files
from .layers import (
    Add,
    AvgPool,
    Conv2d,
    Flatten,
    Layer,
    Linear,
    Polynomial,
    ReLU,
    Shortcut,
    fold_batch_norm,
)
from .model import INPUT, MAX_NODES, Model, Node, checked_name

FORMAT = "halocline-model"
VERSION = 2
"""Of descriptions with layers of `layer_formats.py`, or with convolutions that version 1 had not. Others are
written as version 1, which older releases read."""
MAX_BYTES = 16 << 20
"""Bytes of a description."""

_NORM = ("weight", "bias", "running_mean", "running_var")
_REQUIRED = object()


class _Fields:
    """One object of a description: its keys are taken one by one, and `done` refuses those left over."""

    def __init__(self, value: object, what: str, version: int = VERSION) -> None:
        self.version = version
        self._left = dict(_typed(value, dict, what))
        self._what = what

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = _REQUIRED) -> Any:
        """The value of a key, which must have that type."""
        if key not in self._left:
            if default is _REQUIRED:
                raise CorruptData(f"{self._what}: no {key!r}")
            return default
        return _typed(self._left.pop(key), kind, f"{self._what}: {key!r}")

    def done(self) -> None:
        """CorruptData if there are keys that were not used."""
        if self._left:
            raise CorruptData(f"{self._what}: unknown keys {files.names_text(map(str, self._left))}")


_KINDS = {
    bool: "true or false",
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
}


def _typed(value: object, kind: type | tuple[type, ...], what: str) -> Any:
    """`value` if it is of that JSON type; whole numbers are numbers, true and false are neither."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    fits = isinstance(value, (*kinds, int) if float in kinds else kinds) and isinstance(value, bool) == (
        bool in kinds
    )
    if not fits or (isinstance(value, float) and not math.isfinite(value)):
        expected = " or ".join(_KINDS.get(each, "null") for each in kinds)
        raise CorruptData(f"{what}: got {_short(value)}, expected {expected}")
    return value


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | None) else kind_of(value)
    return text if len(text) <= 60 else text[:60] + "..."


class _Weights:
    """Tensors by name, which notes the names that a description uses."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = tensors
        self.used: set[str] = set()
        self.optional: set[str] = set()
        self._values = 0

    def get(self, name: str) -> Any:
        """A tensor; None where it is missing, which is reported for all of them together."""
        self.used.add(name)
        found = self._tensors.get(name)
        self._values += np.size(found) if found is not None else 0
        if self._values > files.MAX_VALUES:
            raise CorruptData(f"tensor {name!r}: more than {files.MAX_VALUES} numbers in all layers together")
        return found


def _weighted(fields: _Fields, name: str, weights: _Weights) -> tuple[Any, Any] | None:
    """Weight and bias of a layer with the batch norm behind it folded in; None where tensors are missing."""
    found = [weights.get(fields.take("weight", str, f"{name}.weight"))]
    bias = fields.take("bias", (str, type(None)), f"{name}.bias")
    found += [] if bias is None else [weights.get(bias)]
    norm = fields.take("batch_norm", (str, type(None)), None)
    eps = fields.take("eps", float, 1e-5)
    if norm is not None:
        found += [weights.get(f"{norm}.{each}") for each in _NORM]
        weights.optional.add(f"{norm}.num_batches_tracked")
    if any(each is None for each in found):
        return None
    weight, plain_bias = found[0], None if bias is None else found[1]
    if norm is None:
        return weight, plain_bias
    gamma, beta, mean, variance = found[-4:]
    return fold_batch_norm(weight, plain_bias, gamma, beta, mean, variance, eps)


def _conv2d(fields: _Fields, name: str, weights: _Weights) -> Layer | None:
    lists: tuple[type, ...] = (list,) if fields.version > 1 else ()
    stride = fields.take("stride", (int, *lists), 1)
    padding = fields.take("padding", (int, type(None), *lists), None)
    more = {}
    if fields.version > 1:
        more = {"dilation": fields.take("dilation", (int, list), 1), "groups": fields.take("groups", int, 1)}
    found = _weighted(fields, name, weights)
    return None if found is None else Conv2d(*found, stride=stride, padding=padding, **more)


def _newer(kind: str, fields: _Fields, name: str, weights: _Weights) -> Layer | None:
    """A layer of version 2."""
    arguments: dict[str, Any] = {}
    for key, kinds, default in layer_formats.options(kind):
        required = default is dataclasses.MISSING
        value = fields.take(key, kinds, *([] if required else [default]))
        arguments[key] = tuple(value) if isinstance(value, list) else value
    for key in layer_formats.TENSORS.get(kind, ()):
        arguments[key] = weights.get(fields.take(key, str, f"{name}.{key}"))
    if any(arguments[key] is None for key in layer_formats.TENSORS.get(kind, ())):
        return None
    return layer_formats.TYPES[kind](**arguments)


def _linear(fields: _Fields, name: str, weights: _Weights) -> Layer | None:
    found = _weighted(fields, name, weights)
    return None if found is None else Linear(*found)


def _avg_pool(fields: _Fields, name: str, weights: _Weights) -> Layer:
    nothing = type(None)
    return AvgPool(fields.take("kernel", (int, nothing)), fields.take("stride", (int, nothing), None))


def _relu(fields: _Fields, name: str, weights: _Weights) -> Layer:
    return ReLU(fields.take("alpha", int, ReLU.alpha))


MAX_COEFFICIENTS = 4097


def _polynomial(fields: _Fields, name: str, weights: _Weights) -> Layer:
    coefficients = fields.take("coefficients", list)
    if not 2 <= len(coefficients) <= MAX_COEFFICIENTS:
        raise CorruptData(f"{len(coefficients)} coefficients, expected 2 to {MAX_COEFFICIENTS}")
    numbers = [float(_typed(each, float, "coefficient")) for each in coefficients]
    domain = [float(_typed(each, float, "domain")) for each in fields.take("domain", list, [-1.0, 1.0])]
    return Polynomial(PolynomialFunction(numbers, fields.take("basis", str, "monomial"), domain))


_TYPES: dict[str, Callable[[_Fields, str, _Weights], Layer | None]] = {
    "conv2d": _conv2d,
    "linear": _linear,
    "avg_pool": _avg_pool,
    "relu": _relu,
    "polynomial": _polynomial,
    "shortcut": lambda f, n, w: Shortcut(f.take("stride", int), f.take("channels", int)),
    "add": lambda f, n, w: Add(),
    "flatten": lambda f, n, w: Flatten(),
}


def _node(value: object, before: str, index: int, weights: _Weights, version: int) -> Node | None:
    """One layer; None where its tensors are missing."""
    fields = _Fields(value, f"layer {index}", version)
    try:
        name = checked_name(fields.take("name", str))
    except InvalidArgument as error:
        raise CorruptData(f"layer {index}: {error}") from None
    what = f"layer {name!r}"
    kind = fields.take("type", str)
    newer = layer_formats.TYPES if version > 1 else {}
    if kind not in _TYPES and kind not in newer:
        hint = "; this type needs version 2" if kind in layer_formats.TYPES else ""
        known = ", ".join([*_TYPES, *newer])
        raise CorruptData(f"{what}: type {_short(kind)} is not supported{hint}; supported are {known}")
    inputs = fields.take("inputs", list, [before])
    try:
        make = _TYPES.get(kind) or functools.partial(_newer, kind)
        layer = make(fields, name, weights)
        fields.done()
        return None if layer is None else Node(name, layer, tuple(inputs))
    except (Error, OverflowError) as error:
        raise CorruptData(f"{what}: {error}") from None


def from_description(description: Mapping[str, Any], tensors: Mapping[str, Any]) -> Model:
    """The model that a description (a parsed JSON object) and the tensors that it names stand for."""
    fields = _Fields(description, "description")
    kind, version = fields.take("format", str), fields.take("version", int)
    if kind != FORMAT or version not in range(1, VERSION + 1):
        raise CorruptData(f"description: format {_short(kind)} {version}, expected {FORMAT!r} 1 to {VERSION}")
    shape = fields.take("input", list)
    layers = fields.take("layers", list)
    output, metadata = fields.take("output", str, ""), fields.take("metadata", dict, {})
    fields.done()
    if not 1 <= len(layers) <= MAX_NODES:
        raise CorruptData(f"description: {len(layers)} layers, expected 1 to {MAX_NODES}")
    weights, nodes, before = _Weights(tensors), [], INPUT
    for index, value in enumerate(layers):
        nodes.append(_node(value, before, index, weights, version))
        before = value["name"]
    files.check_names(tensors, weights.used, weights.optional, "weights")
    try:
        return Model(tuple(shape), tuple(expect(each, Node, "layer") for each in nodes), output, metadata)
    except Error as error:
        raise CorruptData(f"description: {error}") from None


def to_description(model: Model) -> tuple[dict[str, Any], dict[str, Any]]:
    """Description (for JSON) and tensors of a model; batch norms are part of the weights already."""
    layers, tensors = [], {}
    for node in expect(model, Model, "description").nodes:
        fields, arrays = _described(node.layer)
        layers.append({"name": node.name, "inputs": list(node.inputs), **fields})
        tensors.update({f"{node.name}.{key}": array for key, array in arrays.items()})
    version = 2 if any(_is_newer(fields) for fields in layers) else 1
    description = {"format": FORMAT, "version": version, "input": list(model.input_shape), "layers": layers}
    return {**description, "output": model.output, "metadata": dict(model.metadata)}, tensors


def _is_newer(fields: Mapping[str, Any]) -> bool:
    """Whether version 1 had no such layer."""
    return fields["type"] not in _TYPES or any(
        key in ("dilation", "groups") or (key in ("stride", "padding") and isinstance(value, list))
        for key, value in fields.items()
    )


def _convolution(layer: Conv2d) -> dict[str, Any]:
    """Options of a convolution; those that version 1 had not only where they say something."""
    values: dict[str, Any] = {"stride": layer.stride, "padding": layer.padding}
    values |= {"dilation": layer.dilation} if layer.dilation != 1 else {}
    values |= {"groups": layer.groups} if layer.groups != 1 else {}
    return {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}


def _described(layer: Layer) -> tuple[dict[str, Any], dict[str, Any]]:
    """Type and options of a layer, and its tensors."""
    if isinstance(layer, Conv2d):
        return {"type": "conv2d", **_convolution(layer)}, {"weight": layer.weight, "bias": layer.bias}
    if isinstance(layer, Linear):
        return {"type": "linear"}, {"weight": layer.weight, "bias": layer.bias}
    if isinstance(layer, AvgPool):
        return {"type": "avg_pool", "kernel": layer.kernel, "stride": layer.stride}, {}
    if isinstance(layer, ReLU):
        return {"type": "relu", "alpha": layer.alpha}, {}
    if isinstance(layer, Polynomial):
        of = layer.polynomial
        numbers = of.coefficients.real.tolist()
        return {
            "type": "polynomial",
            "coefficients": numbers,
            "basis": of.basis,
            "domain": list(of.domain),
        }, {}
    if isinstance(layer, Shortcut):
        return {"type": "shortcut", "stride": layer.stride, "channels": layer.channels}, {}
    if type(layer) in layer_formats.NAMES:
        return layer_formats.described(layer)
    if type(layer) not in (Add, Flatten):
        raise InvalidArgument(f"description: {kind_of(layer)}; files hold layers of halocline.nn only")
    return {"type": {Add: "add", Flatten: "flatten"}[type(layer)]}, {}


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """Parsed contents of a JSON file of at most `limits.MODEL` bytes."""
    return parse_json(read_file(path, what, limits.MODEL), path_text(path, what))


def write_json(value: object, path: str | os.PathLike[str], what: str) -> None:
    """A JSON file."""
    write_file(path_text(path, what), (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def _weights_path(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None) -> Path:
    return Path(path_text(path, "model")).with_suffix(".safetensors") if weights is None else Path(weights)


_OTHERS = {
    ".onnx": "halocline.nn.from_onnx reads ONNX files, halocline.nn.save writes what load reads",
    ".safetensors": "pass the description in JSON, and these as weights=",
    **dict.fromkeys(
        (".pt", ".pth", ".ckpt", ".bin"),
        "pass the module to halocline.nn.from_torch; halocline.nn.save writes what load reads",
    ),
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib"),
        "pass the estimator to halocline.nn.from_sklearn; halocline.nn.save writes what load reads",
    ),
}
"""What to do about files of other kinds."""


def _description_in(path: str | os.PathLike[str]) -> Any:
    try:
        return read_json(path, "model")
    except CorruptData as error:
        hint = _OTHERS.get(Path(path).suffix.lower())
        raise CorruptData(f"{error}; {hint}" if hint else str(error)) from None


def load(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None) -> Model:
    """The model of a JSON description and a safetensors file (None: of the same name, .safetensors)."""
    description = _description_in(path)
    tensors, _ = files.read_tensors(_weights_path(path, weights))
    try:
        return from_description(description, tensors)
    except CorruptData as error:
        raise CorruptData(f"{path_text(path, 'model')}: {error}") from None


def save(model: Model, path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None) -> None:
    """Writes description and weights such that `load` gives the same model."""
    description, tensors = to_description(model)
    write_json(description, path, "model")
    files.write_tensors(tensors, _weights_path(path, weights), {"format": FORMAT})
