# SPDX-License-Identifier: Apache-2.0
"""Models from ONNX files. They are data: nothing in them is executed, and the onnx package only parses
them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import CorruptData, Error, InvalidArgument
from ..base.values import integer
from .activations import MAX_PRECISION
from .graph_builder import Builder, Unsupported, Value, nearest, only
from .layers import ReLU
from .model import INPUT, MAX_NAME, Model
from .onnx_files import Tensors, input_of, read_model
from .onnx_operators import OPERATORS, Operator
from .onnx_shapes import CONSTANTS
from .tensors import names_text

_DOMAINS = ("", "ai.onnx")
_LONGEST = 1000  # characters of a message
_LAST = ("ArgMax", "LogSoftmax", "Softmax")
"""Operators that the client computes, of the result."""
_ERRORS = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What attributes and constants of wrong types, lengths and values raise."""


def from_onnx(
    source: str | os.PathLike[str] | bytes,
    *,
    input_shape: Sequence[int] | None = None,
    output: str | None = None,
    metadata: Mapping[str, str] | None = None,
    alpha: int = 13,
    precision: int = 12,
) -> Model:
    """The model in an ONNX file, or in its bytes, for inputs (batch, *input_shape).

    Numbers may be in files beside that of the model, in its folder or below. input_shape: where the file
    does not say it. output: name of the tensor that is the result, in place of the graph's output: that
    before a Softmax or ArgMax, which the client computes. alpha, precision: as for `from_torch`.

    @throws InvalidArgument that names the node and operator that are not supported, and what is nearest
    @throws CorruptData for files that are no models, that are too large, or that point elsewhere
    """
    alpha = ReLU(alpha).alpha
    precision = integer(precision, "from_onnx: precision", 1, MAX_PRECISION)
    message, folder = read_model(source)
    name, shape = input_of(message.graph, input_shape)
    return _Import(message, folder, Builder(shape, alpha, precision)).model(name, output, metadata or {})


class _Import:
    """One pass over a graph."""

    def __init__(self, message: Any, folder: Path | None, builder: Builder) -> None:
        self._graph, self._builder = message.graph, builder
        self._tensors = Tensors(folder)
        self._stored = {each.name: each for each in message.graph.initializer}
        self._values: dict[str, Any] = {"": None}
        self._constant_bytes = 0
        if message.graph.sparse_initializer:
            raise InvalidArgument("from_onnx: sparse initializers; supported are dense ones")

    def model(self, name: str, output: str | None, metadata: Mapping[str, str]) -> Model:
        """The model of the graph's output, or of the tensor of that name."""
        self._values[name] = Value(INPUT)
        wanted = output
        if wanted is None:
            if len(self._graph.output) != 1:
                names = names_text(each.name for each in self._graph.output)
                raise InvalidArgument(f"from_onnx: {len(self._graph.output)} outputs ({names}); pass output=")
            wanted = self._graph.output[0].name
        for index, node in enumerate(self._graph.node):
            if wanted in self._values:
                break
            self._node(node, index)
        result = self._values.get(wanted)
        if not isinstance(result, Value) or result.name == INPUT:
            raise InvalidArgument(f"from_onnx: output {wanted!r:.200} is made by no node from the input")
        try:
            return self._builder.model(result.name, metadata)
        except Error as error:
            raise InvalidArgument(f"from_onnx: {error}") from None

    def _node(self, node: Any, index: int) -> None:
        kind = node.op_type if node.op_type.isprintable() else repr(node.op_type)
        title = f"node {node.name or index!r:.200} ({kind:.200})"
        name = node.name if node.name.isprintable() and 0 < len(node.name) <= MAX_NAME - 10 else ""
        self._builder.wanted = name if name and name != INPUT else f"{node.op_type.lower()[:40]}{index}"
        try:
            made = self._made(node, title)
        except CorruptData:
            raise
        except (Unsupported, Error) as error:
            what = f"{error!s:.{_LONGEST}}"  # some show arrays of the file
            ends = node.op_type in _LAST and bool(node.input)
            hint = f": output={node.input[0]!r:.200} stops before it" if ends else ""
            raise InvalidArgument(f"from_onnx: {title}: {what}{nearest(node.op_type)}{hint}") from None
        except _ERRORS as error:
            raise CorruptData(
                f"from_onnx: {title}: inputs or attributes that do not fit ({type(error).__name__}: "
                f"{str(error)!r:.200})"
            ) from None
        results = made if isinstance(made, tuple) else (made,)
        for result_name, value in zip(node.output, results, strict=False):
            self._values[result_name] = value

    def _made(self, node: Any, title: str) -> Any:
        """Values or constants that a node makes."""
        known = node.op_type in OPERATORS or node.op_type in CONSTANTS or node.op_type == "Constant"
        if node.domain not in _DOMAINS or not known:
            domain = f" of {node.domain!r:.200}" if node.domain not in _DOMAINS else ""
            names = ", ".join(sorted({*OPERATORS, "Constant"}))
            raise Unsupported(f"operator{domain} is not supported. Supported are {names}")
        attributes = {each.name: _attribute(each) for each in node.attribute}
        if node.op_type == "Constant":
            return self._constant(attributes)
        inputs = [self._input(each, title) for each in node.input]
        only(bool(inputs), "no inputs")
        op = Operator(node.op_type, inputs, attributes, len(node.output))
        if any(isinstance(each, Value) for each in inputs):
            only(node.op_type in OPERATORS, "not supported for tensors of the network")
            return OPERATORS[node.op_type](self._builder, op)
        only(node.op_type in CONSTANTS, "not supported for constants")
        made = np.asarray(CONSTANTS[node.op_type](op))
        self._constant_bytes += made.nbytes
        if self._constant_bytes > limits.ONNX:
            raise CorruptData(f"from_onnx: {title}: constants become more than {limits.ONNX} bytes")
        return made

    def _input(self, name: str, title: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name not in self._stored:
            raise CorruptData(f"from_onnx: {title} takes {name!r:.200}, which nothing before it makes")
        self._values[name] = self._tensors.array(self._stored[name])
        return self._values[name]

    def _constant(self, attributes: Mapping[str, Any]) -> Any:
        for name in ("value_float", "value_floats", "value_int", "value_ints"):
            if name in attributes:
                return np.asarray(attributes[name])
        only(
            "value" in attributes, "a constant of no number; supported are tensors, numbers and lists of them"
        )
        return self._tensors.array(attributes["value"])


def _attribute(attribute: Any) -> Any:
    """The value of an attribute: a number, bytes, a tensor, or a list."""
    fields = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
    only(
        attribute.type in fields,
        f"attribute {attribute.name!r:.200} of kind {attribute.type}, such as a graph",
    )
    found = getattr(attribute, fields[attribute.type])
    return list(found) if attribute.type in (6, 7, 8) else found
