# SPDX-License-Identifier: Apache-2.0
"""Networks in the clear as tables of layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..base.tables import Table

_LONGEST = 60  # characters of the settings of a layer


class _Node(Protocol):
    """A node of a `Model`; layers are dataclasses."""

    @property
    def name(self) -> str: ...
    @property
    def layer(self) -> Any: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...


def model_table(
    nodes: Sequence[_Node], shapes: Mapping[str, tuple[int, ...]], input_name: str, output: str
) -> Table:
    """A row for each layer: what it takes, what it is, the shape of its result, its numbers."""
    rows = [
        [
            node.name,
            type(node.layer).__name__,
            _settings(node.layer),
            ", ".join(node.inputs),
            _shape(shapes[node.name]),
            str(weights_of(node.layer)) if weights_of(node.layer) else "",
        ]
        for node in nodes
    ]
    total = sum(weights_of(node.layer) for node in nodes)
    title = f"{len(nodes)} layers: {_shape(shapes[input_name])} to {_shape(shapes[output])}"
    columns = ("layer", "kind", "settings", "takes", ">result", ">weights")
    return Table(title, columns, rows, [f"{total} weights; the result is {output!r}"])


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(str(each) for each in shape)


def weights_of(layer: Any) -> int:
    """How many numbers the arrays of a layer have."""
    return sum(value.size for value in _fields(layer).values() if isinstance(value, np.ndarray))


def _settings(layer: Any) -> str:
    """Fields that are no arrays and differ from their defaults."""
    usual = {field.name: field.default for field in _described(layer)}
    small = (
        f"{name}={value}"
        for name, value in _fields(layer).items()
        if isinstance(value, int | float | str | tuple) and value != usual[name]
    )
    text = ", ".join(small)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _fields(layer: Any) -> dict[str, Any]:
    return {field.name: getattr(layer, field.name) for field in _described(layer)}


def _described(layer: Any) -> tuple[dataclasses.Field[Any], ...]:
    """None for layers of callers that are no dataclasses."""
    return dataclasses.fields(layer) if dataclasses.is_dataclass(layer) else ()
