# SPDX-License-Identifier: Apache-2.0
"""Networks in the clear: layers by name, their connections, and the exact forward pass."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..base import limits
from ..base.errors import Error, InvalidArgument, WrongType
from ..base.tables import Table
from ..base.values import expect, integer, kind_of
from .layers import Activation, Array, Composite, Layer, Shape, real_values
from .model_table import model_table, weights_of

INPUT = "input"
"""Name by which layers refer to the input of the network."""

MAX_NODES = 4096
"""Layers of a network."""
MAX_VALUES = 1 << 24
"""Values that a layer may have for one input."""
MAX_NAME = 200
"""Characters of a layer's name."""

SUPPORTED = (
    "Conv2d, Linear, Affine, AvgPool, MaxPool, Resample, Upsample, Shortcut, Flatten, Reshape, "
    "Permute, Slice, "
    "Pad, Expand, Add, Multiply, Maximum, ReLU, Step, Polynomial, PiecewiseLinear, ELU, Hardswish, "
    "and the smooth "
    "functions Sigmoid, Tanh, GELU, SiLU, Mish, Softplus, Softsign, Erf, Decay"
)

Approximation = Mapping[str, Callable[[Array], Array]]


def checked_name(name: object) -> str:
    """A name that a layer may have."""
    text = expect(name, str, "layer: name")
    if not text.isprintable() or not 0 < len(text) <= MAX_NAME or text == INPUT:
        raise InvalidArgument(
            f"layer: name {text[:MAX_NAME]!r}, expected 1 to {MAX_NAME} printable characters, not {INPUT!r}"
        )
    return text


@dataclasses.dataclass(frozen=True)
class Node:
    """A layer of a network: its name, what it does, and the names of the layers (or `INPUT`) that feed it."""

    name: str
    """Of the layer: no other has it."""
    layer: Layer
    """What it does."""
    inputs: tuple[str, ...]
    """Names of the layers, or `INPUT`, that feed it."""

    def __post_init__(self) -> None:
        name = checked_name(self.name)
        if not isinstance(self.layer, Layer):
            raise WrongType(
                f"layer {name!r}: got {kind_of(self.layer)}, supported are {SUPPORTED} of halocline.nn"
            )
        names = (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs)
        if len(names) != self.layer.inputs or not all(isinstance(each, str) for each in names):
            raise InvalidArgument(
                f"layer {name!r} ({kind_of(self.layer)}): inputs {names!r}, expected {self.layer.inputs} "
                "names of layers"
            )
        object.__setattr__(self, "inputs", names)


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """A network: layers in an order in which each one follows those that feed it. It cannot be changed.

    input_shape: (channels, rows, columns) or (features,); output: name of the layer whose values are the
    result, "" for the last one; metadata: text by text. "normalize_mean" and "normalize_std" in it (numbers
    with commas, one for each channel) say how `prepare` makes inputs of images.
    """

    input_shape: Shape
    nodes: tuple[Node, ...]
    """The layers, in an order in which each one follows those that feed it."""
    output: str = ""
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
    shapes: Mapping[str, Shape] = dataclasses.field(init=False)
    """Shape of every layer's result, and of `INPUT`"""
    _normalization: tuple[Array, Array] | None = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = checked_shape(self.input_shape)
        nodes = tuple(expect(node, Node, "model: layer") for node in self.nodes)
        if not 1 <= len(nodes) <= MAX_NODES:
            raise InvalidArgument(f"model: {len(nodes)} layers, expected 1 to {MAX_NODES}")
        output = expect(self.output, str, "model: output") or nodes[-1].name
        object.__setattr__(self, "input_shape", shape)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "output", output)
        object.__setattr__(self, "metadata", types.MappingProxyType(_texts(self.metadata)))
        object.__setattr__(self, "shapes", types.MappingProxyType(_shapes(shape, nodes)))
        _check_use(nodes, output)
        object.__setattr__(self, "_normalization", _normalization(self.metadata, shape[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, (self.input_shape, self.nodes, self.output, dict(self.metadata))

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def table(self) -> Table:
        """A row for each layer; `print` and notebooks show it."""
        return model_table(self.nodes, self.shapes, INPUT, self.output)

    @property
    def output_shape(self) -> Shape:
        """Shape of the result."""
        return self.shapes[self.output]

    @property
    def normalization(self) -> tuple[Array, Array] | None:
        """Mean and standard deviation of each channel, as `prepare` uses them; None where there are none."""
        return self._normalization

    @property
    def activation_nodes(self) -> tuple[Node, ...]:
        """The nodes with an activation, in order."""
        return tuple(node for node in self.nodes if isinstance(node.layer, Activation))

    def node(self, name: str) -> Node:
        """The layer of that name."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise InvalidArgument(f"model: no layer {name!r}; there are {', '.join(n.name for n in self.nodes)}")

    @functools.cached_property
    def expanded(self) -> Model:
        """The same network, with these others for layers that encrypted networks compute by several.

        Ranges and compiled networks name its activations. A network without such layers is its own.
        """
        if not any(isinstance(node.layer, Composite) for node in self.nodes):
            return self
        nodes: list[Node] = []
        weights = 0
        for node in self.nodes:
            if isinstance(node.layer, Composite):
                shapes = [self.shapes[name] for name in node.inputs]
                made = [Node(*part) for part in node.layer.parts(node.name, node.inputs, shapes)]
            else:
                made = [node]
            nodes += made
            weights += sum(weights_of(each.layer) for each in made)
            if len(nodes) > MAX_NODES or weights > limits.WEIGHT_COUNT:  # before more is made
                raise InvalidArgument(
                    f"model: {len(nodes)} layers with {weights} numbers compute {node.name!r} and what is "
                    f"before it, expected at most {MAX_NODES} with {limits.WEIGHT_COUNT}; take fewer or "
                    "smaller layers that compare values"
                )
        return Model(self.input_shape, tuple(nodes), self.output, self.metadata)

    def prepare(self, images: Any) -> Array:
        """Inputs of the network from images (batch, *input_shape): (x - mean) / std for each channel, if the
        metadata say so.
        """
        batch = self._batch(images)
        if self._normalization is None:
            return batch
        mean, std = (each.reshape(-1, *(1,) * (batch.ndim - 2)) for each in self._normalization)
        return np.asarray((batch - mean) / std)

    def forward(self, batch: Any, approximate: Approximation | None = None) -> Array:
        """Results (batch, *output_shape) of inputs (batch, *input_shape).

        Activations are exact, except for those that `approximate` has a function for, by name.
        """
        for name, values in self._pass(batch, approximate or {}):
            if name == self.output:
                return values
        raise AssertionError("the output is one of the layers")  # pragma: no cover

    def activations(self, batch: Any, approximate: Approximation | None = None) -> dict[str, Array]:
        """What every layer makes of a batch, by name; also the batch itself, as `INPUT`."""
        return {INPUT: self._batch(batch), **dict(self._pass(batch, approximate or {}, keep=True))}

    def _batch(self, batch: Any) -> Array:
        array = real_values(batch, "model: input")
        if array.shape == self.input_shape:
            raise InvalidArgument(
                f"model: one input of shape {array.shape}; pass a batch of them: x[np.newaxis]"
            )
        if array.ndim == 0 or array.shape[1:] != self.input_shape:
            expected = ", ".join(str(each) for each in self.input_shape)
            raise InvalidArgument(
                f"model: input of shape {array.shape}, expected (batch, {expected})"
                f"{channels_last(array.shape, self.input_shape)}"
            )
        converted = array.astype(np.float64)
        if not np.isfinite(converted).all():
            raise InvalidArgument("model: input with NaN or infinite values; expected finite numbers")
        return converted

    def _pass(
        self, batch: Any, approximate: Approximation, keep: bool = False
    ) -> Iterator[tuple[str, Array]]:
        """Name and values of one layer after the other; values that are no longer needed are released."""
        for name in approximate:
            if not isinstance(self.node(name).layer, Activation):
                raise InvalidArgument(f"model: approximate has {name!r}, which is no activation")
        last = {name: index for index, node in enumerate(self.nodes) for name in node.inputs}
        values = {INPUT: self._batch(batch)}
        for index, node in enumerate(self.nodes):
            function = approximate.get(node.name, node.layer.forward)
            result = np.asarray(function(*(values[name] for name in node.inputs)), dtype=np.float64)
            values[node.name] = result
            yield node.name, result
            for name in () if keep else set(node.inputs):
                if last[name] == index:
                    del values[name]


def channels_last(found: Shape, expected: Shape) -> str:
    """What to do about images with channels behind rows and columns, for messages; empty for others."""
    if len(expected) != 3 or found[-3:] != (*expected[1:], expected[0]):
        return ""
    return f"; channels come first: x.transpose({'2, 0, 1' if len(found) == 3 else '0, 3, 1, 2'})"


def checked_shape(shape: Sequence[int]) -> Shape:
    """An input shape as a tuple of positive numbers."""
    if isinstance(shape, str | bytes) or not isinstance(shape, Sequence):
        raise WrongType(f"model: input shape {shape!r}, expected (channels, rows, columns) or (features,)")
    if len(shape) not in (1, 3):
        raise InvalidArgument(
            f"model: input shape {tuple(shape)!r}, expected (channels, rows, columns) or (features,)"
        )
    made = tuple(integer(each, "model: input shape", 1, MAX_VALUES) for each in shape)
    _check_values(made, "model: input")
    return made


def _check_values(shape: Shape, what: str) -> None:
    count = 1
    for each in shape:
        count *= each
    if count > MAX_VALUES:
        raise InvalidArgument(f"{what} of shape {shape}: {count} values, expected at most {MAX_VALUES}")


def _shapes(input_shape: Shape, nodes: Sequence[Node]) -> dict[str, Shape]:
    """Shapes of all results; names the layer whose inputs are not there or do not fit."""
    shapes = {INPUT: input_shape}
    for node in nodes:
        what = f"layer {node.name!r}"
        if node.name in shapes:
            raise InvalidArgument(f"{what}: two layers of that name; names must differ")
        for name in node.inputs:
            if name not in shapes:
                raise InvalidArgument(
                    f"{what} takes {name!r}, which is no layer before it; before it are {', '.join(shapes)}"
                )
        try:
            shapes[node.name] = node.layer.output_shape([shapes[name] for name in node.inputs])
        except Error as error:
            raise InvalidArgument(f"{what}: {error}") from None
        _check_values(shapes[node.name], what)
    return shapes


def _check_use(nodes: Sequence[Node], output: str) -> None:
    if output not in {node.name for node in nodes}:
        raise InvalidArgument(
            f"model: output {output!r} is no layer; there are {', '.join(n.name for n in nodes)}"
        )
    used = {output}
    for node in reversed(nodes):
        if node.name not in used:
            raise InvalidArgument(f"layer {node.name!r} does not lead to the output {output!r}; remove it")
        used.update(node.inputs)


def _texts(metadata: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        raise WrongType(f"model: metadata is {kind_of(metadata)}, expected text by text")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise WrongType(f"model: metadata {key!r}: {kind_of(value)}, expected text by text")
    return dict(metadata)


def _normalization(metadata: Mapping[str, str], channels: int) -> tuple[Array, Array] | None:
    """Mean and standard deviation of each channel, if the metadata have them."""
    given = [metadata.get(f"normalize_{what}") for what in ("mean", "std")]
    if given == [None, None]:
        return None
    found = []
    for what, text in zip(("mean", "std"), given, strict=True):
        try:
            numbers = np.array([float(each) for each in (text or "").split(",")])
        except ValueError:
            numbers = np.array([])
        valid = len(numbers) == channels and np.isfinite(numbers).all()
        if not valid or (what == "std" and (numbers <= 0).any()):
            raise InvalidArgument(
                f"model: metadata normalize_{what} is {text!r}, expected {channels} numbers with commas"
                + (", all positive" if what == "std" else "")
            )
        found.append(numbers)
    return found[0], found[1]
