# SPDX-License-Identifier: Apache-2.0
"""Programs as graphs: what each operation takes, and how many levels it costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..base.errors import InvalidArgument
from ..base.values import integer

INPUT = "input"
"""Operation of the nodes that are a program's arguments."""


@dataclasses.dataclass(frozen=True)
class Node:
    """One ciphertext of a program, and the operation that makes it."""

    operation: str
    """Such as "multiply"; `INPUT` for arguments."""
    operands: tuple[int, ...] = ()
    """Numbers of the nodes that it is made of; none for arguments."""
    levels: int = 0
    """Levels that it costs: its own level is this much below that of its lowest operand."""
    fixed_level: int | None = None
    """Its level whatever the operands have: of arguments, and of bootstraps that the program does itself."""
    needs: int = 0
    """Least level of operands, where it is more than `levels`."""
    most: int | None = None
    """Its level is at most this: what `drop_level` asked for."""
    slots: int = 0
    """Of the ciphertext."""
    real: bool = False
    """Whether its slots are real numbers."""
    refreshable: bool = True
    """Whether it can be bootstrapped: it has two components and the scale of its level."""
    work: float = 1.0
    """Key switches that it takes; about 0.1 for what needs none."""
    where: str = ""
    """File and line of the program that asked for it."""


@dataclasses.dataclass(frozen=True)
class ProgramGraph:
    """All ciphertexts of a program in the order in which they are made; loops appear unrolled."""

    nodes: tuple[Node, ...]
    results: tuple[int, ...] = ()
    """What the program returned, as far as it is known."""
    by_hand: tuple[int, ...] = ()
    """Nodes that the program bootstrapped itself, where recording left these bootstraps out."""

    def __post_init__(self) -> None:
        for number, node in enumerate(self.nodes):
            integer(node.levels, f"graph: levels of node {number}", 0)
            wrong = [each for each in node.operands if not 0 <= each < number]
            if wrong:
                raise InvalidArgument(
                    f"graph: node {number} has the operand {wrong[0]}; expected numbers of earlier nodes, "
                    f"0 to {number - 1}"
                )
            if not node.operands and node.fixed_level is None:
                raise InvalidArgument(
                    f"graph: node {number} ({node.operation}) has no operands; expected a fixed_level, the "
                    "level at which it is there"
                )

    def __len__(self) -> int:
        return len(self.nodes)

    def consumers(self) -> list[list[int]]:
        """For each node the nodes that take it, each once, in order."""
        made: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for each in dict.fromkeys(node.operands):
                made[each].append(number)
        return made

    @property
    def depth(self) -> int:
        """Most levels that a chain of operations costs, if nothing is bootstrapped."""
        depths: list[int] = []
        for node in self.nodes:
            before = 0 if node.fixed_level is not None else max(depths[each] for each in node.operands)
            depths.append(before + node.levels)
        return max(depths, default=0)


def chain(levels: Sequence[int], start: int) -> ProgramGraph:
    """A program of one ciphertext that goes through operations of so many levels each."""
    nodes = [Node(INPUT, fixed_level=start)]
    for number, each in enumerate(levels):
        nodes.append(Node("step", (number,), each))
    return ProgramGraph(tuple(nodes), (len(levels),))
