# SPDX-License-Identifier: Apache-2.0
"""The placement of bootstraps as arrays: levels that values must have, and what a choice costs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from ..base.errors import LevelExhausted
from ..base.values import integer, positive
from .program_graph import Node, ProgramGraph

LevelCost = Callable[[int], float]
"""Cost of one key switch at a level."""


@dataclasses.dataclass(frozen=True)
class Refresh:
    """What a bootstrap does to a ciphertext."""

    input_level: int
    """Least level at which it takes one."""
    output_level: int
    """Level of the result."""
    cost: float = 1.0
    """In any unit."""

    def __post_init__(self) -> None:
        integer(self.input_level, "Refresh: input_level", 0)
        integer(self.output_level, "Refresh: output_level", self.input_level + 1)
        positive(self.cost, "Refresh: cost")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What a choice of bootstraps means."""

    levels: tuple[int, ...]
    """Of every node, after its bootstrap."""
    lowered: dict[int, int]
    """Nodes that go on at a lower level than they could."""
    cost: float


class Problem:
    """A graph with the bootstraps that its nodes may have; `check` before anything else."""

    def __init__(
        self, graph: ProgramGraph, refreshes: Sequence[Refresh | None], level_cost: LevelCost | None
    ) -> None:
        self.graph, self.nodes, self.refreshes = graph, graph.nodes, refreshes
        self.level_cost = level_cost
        self.consumers = graph.consumers()
        self.deepest = self._deepest()
        """For each node the levels that what follows it costs without further bootstraps."""
        self.needed, self.arriving = self.levels_needed()

    @classmethod
    def of(
        cls, graph: ProgramGraph, refresh_of: Callable[[Node], Refresh | None], level_cost: LevelCost | None
    ) -> Problem:
        """Of a graph; nodes that nothing takes are never bootstrapped."""
        kept: dict[tuple[int, bool], Refresh | None] = {}
        found: list[Refresh | None] = []
        consumers = graph.consumers()
        for node, taken in zip(graph.nodes, consumers, strict=True):
            kind = (node.slots, node.real)
            if kind not in kept:
                kept[kind] = refresh_of(node)
            found.append(kept[kind] if taken and node.refreshable else None)
        return cls(graph, found, level_cost)

    def _deepest(self) -> list[int]:
        made = [0] * len(self.nodes)
        for number in range(len(self.nodes) - 1, -1, -1):
            made[number] = max((self._asked(each, made[each]) for each in self.consumers[number]), default=0)
        return made

    def _asked(self, number: int, own: int) -> int:
        """The level that operands of a node need if the node needs `own` when it is made."""
        node = self.nodes[number]
        return max(node.needs, node.levels + (0 if node.fixed_level is not None else own))

    def levels_needed(self, able: Sequence[bool] | None = None) -> tuple[list[int], list[int]]:
        """Levels that a node must have for its consumers, and before its own bootstrap.

        They suffice if everything that follows is bootstrapped wherever that helps; able: which nodes may be.
        """
        needed, arriving = [0] * len(self.nodes), [0] * len(self.nodes)
        for number in range(len(self.nodes) - 1, -1, -1):
            asked = (self._asked(each, arriving[each]) for each in self.consumers[number])
            own = needed[number] = max(asked, default=0)
            refresh = self.refreshes[number] if able is None or able[number] else None
            helps = refresh is not None and own <= refresh.output_level
            arriving[number] = min(own, refresh.input_level) if refresh is not None and helps else own
        return needed, arriving

    def check(self) -> None:
        """Raises LevelExhausted where levels are missing although all is bootstrapped that can be."""
        for number, node in enumerate(self.nodes):
            limits = [each for each in (node.fixed_level, node.most) if each is not None]
            if limits and min(limits) < self.arriving[number]:
                raise LevelExhausted(self._lack(number, min(limits)))

    def _lack(self, number: int, there: int) -> str:
        """The message where a node has fewer levels than what follows it needs."""
        path = [number]
        while followers := self.consumers[path[-1]]:
            last = max(followers, key=lambda each: self._asked(each, self.arriving[each]))
            path.append(last)
            if self.arriving[last] < self.needed[last]:
                break  # bootstrapped, if all are
        first, end = self.nodes[number], self.nodes[path[-1]]
        at = f" ({end.where})" if end.where else ""
        needs = self.arriving[number]
        return (
            f"bootstraps: between {first.operation}, which has {there} levels, and {end.operation}{at} "
            f"nothing can be bootstrapped, and {needs} levels are needed; levels missing: {needs - there}. "
            "Take parameters with more levels, bootstraps that leave more (fewer slots, fewer stc_levels), "
            "or operations of fewer levels, such as polynomials of lower degree"
        )

    def arrives(self, number: int, levels: Sequence[int]) -> int:
        """Level of a node before its bootstrap, from those of the nodes before it; below 0 where it lacks."""
        node = self.nodes[number]
        if node.fixed_level is not None:
            short = any(levels[each] < max(node.needs, node.levels) for each in node.operands)
            return -1 if short else node.fixed_level
        lowest = min(levels[each] for each in node.operands)
        if lowest < node.needs:
            return -1
        made = lowest - node.levels
        return made if node.most is None else min(made, node.most)

    def evaluate(self, chosen: Collection[int]) -> Evaluation | None:
        """Levels and cost where these nodes are bootstrapped; None where levels are missing."""
        levels: list[int] = []
        for number in range(len(self.nodes)):
            level = self.arrives(number, levels)
            if number in chosen:
                refresh = self.refreshes[number]
                if refresh is None or level < refresh.input_level:
                    return None
                level = refresh.output_level
            if level < 0:
                return None
            levels.append(level)
        lowered = self._lowered(levels, chosen)
        return Evaluation(tuple(levels), lowered, self._cost(levels, chosen))

    def _lowered(self, levels: list[int], chosen: Collection[int]) -> dict[int, int]:
        """Lowers arguments and bootstrapped nodes to what is needed of them; `levels` is changed."""
        low = [0] * len(self.nodes)
        for number in range(len(self.nodes) - 1, -1, -1):
            own = 0
            for each in self.consumers[number]:
                refresh = self.refreshes[each] if each in chosen else None
                own = max(own, self._asked(each, low[each] if refresh is None else refresh.input_level))
            low[number] = own
        made: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            if number not in chosen and node.fixed_level is None:
                levels[number] = self.arrives(number, levels)
                continue
            free = number in chosen or (not node.operands and bool(self.consumers[number]))
            if free and low[number] < levels[number]:
                made[number] = levels[number] = low[number]
        return made

    def cost_of(self, chosen: Collection[int]) -> float:
        """Of bootstraps alone."""
        return sum(each.cost for each in map(self.refreshes.__getitem__, chosen) if each is not None)

    def _cost(self, levels: Sequence[int], chosen: Collection[int]) -> float:
        total = self.cost_of(chosen)
        if self.level_cost is None:
            return total
        costs: dict[int, float] = {}
        for node in self.nodes:
            if node.operands:
                at = min(levels[each] for each in node.operands)
                if at not in costs:
                    costs[at] = self.level_cost(at)
                total += node.work * costs[at]
        return total
