# SPDX-License-Identifier: Apache-2.0
"""The layers of a traced PyTorch module: which of its nodes made them, and what happens in place."""

from __future__ import annotations

from typing import Any

from ..base.values import kind_of
from .graph_builder import Builder, Value, only
from .layers import Layer, Pair, Shape, pair
from .model import INPUT, Node


class Batch:
    """The size of the batch, which no layer may depend on."""


class TorchBuilder(Builder):
    """Layers of one pass over a traced graph."""

    def __init__(self, shape: Shape, alpha: int, precision: int) -> None:
        super().__init__(shape, alpha, precision)
        self.values: dict[Any, Any] = {}
        """What the nodes of the graph stand for."""
        self.made_by: dict[str, Any] = {}
        """The graph's node that a layer was made for."""
        self._now: Any = None

    def begin(self, node: Any) -> None:
        """What is added next belongs to this node of the graph: named after the module, or as the graph
        names the call of a function.
        """
        self._now = node
        self.wanted = str(node.target if node.op == "call_module" else node.name)

    def add(self, layer: Layer, *inputs: Any) -> Value:
        """A new layer."""
        made = super().add(layer, *inputs)
        self.made_by[made.name] = self._now
        return made

    def input(self) -> Value:
        """That of the network."""
        only(INPUT not in self.made_by, "a second input; supported is one")
        self.made_by[INPUT] = self._now
        return Value(INPUT)

    def replace(self, value: Value, layer: Layer) -> Value:
        """Another layer in the place of one."""
        node = self.nodes[value.name]
        self.shapes[value.name] = layer.output_shape([self.shapes[each] for each in node.inputs])
        self.nodes[value.name] = Node(node.name, layer, node.inputs)
        return value

    def layer_of(self, value: Value) -> Layer | None:
        """What makes a value; None for the input."""
        return self.nodes[value.name].layer if value.name in self.nodes else None

    def is_last_use(self, value: Value) -> bool:
        """Whether nothing but the current node uses a tensor, also not by another name."""
        node = self._now
        while node is not self.made_by[value.name]:
            if not node.args:
                return False
            node = node.args[0]
            if not hasattr(node, "users") or len(node.users) != 1:
                return False
        return True

    def in_place(self, old: Any, new: Any) -> Any:
        """The result of an operation in place, which later users of the operand see too."""
        if isinstance(old, Value) and isinstance(new, Value):
            for node, value in self.values.items():
                if isinstance(value, Value) and value.name == old.name:
                    self.values[node] = new
        return new


def array(tensor: Any) -> Any:
    """A tensor's numbers."""
    return tensor.detach().cpu().double().numpy()


def sizes(value: Any, what: str, low: int = 1) -> Pair:
    """A number for rows and columns, or one for each."""
    numbers = value if isinstance(value, tuple | list) else (value, value)
    if len(numbers) == 1:
        numbers = (*numbers, *numbers)
    only(
        len(numbers) == 2 and all(isinstance(each, int) for each in numbers),
        f"{what} {value!r} ({kind_of(value)}); supported are whole numbers for rows and columns",
    )
    return pair(tuple(numbers), what, low)


def around(value: Any, what: str) -> tuple[Pair, Pair]:
    """A padding that is the same before and behind."""
    rows, columns = sizes(value, what, 0)
    return (rows, rows), (columns, columns)
