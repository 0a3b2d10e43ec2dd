# SPDX-License-Identifier: Apache-2.0
"""Where a program's ciphertexts are bootstrapped: the cheapest set of points at which no level is missing.

The problem is to hit every path of a graph that costs more levels than there are, at least cost; it is
NP-hard in general (Paindavoine and Vialla, "Minimizing the number of bootstrappings in fully homomorphic
encryption", SAC 2015; Benhamouda, Lepoint, Mathieu and Zhou, "Optimization of bootstrapping in circuits",
SODA 2017). Most programs are long and narrow, and there it is easy: `placement_search.py` goes
through the operations once, with the levels of all live ciphertexts as state, as compilers for networks do
with the level of one (Ebel, Garimella and Reagen, "Orion", ASPLOS 2025). `placement_improvement.py` then
weighs what operations cost at their levels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from ..base.errors import InvalidArgument, LevelExhausted
from ..base.values import expect, integer
from .placement_improvement import improved
from .placement_problem import LevelCost, Problem, Refresh
from .placement_search import DEFAULT_STATES, search
from .program_graph import Node, ProgramGraph

RefreshOf = Callable[[Node], Refresh | None]
"""How a ciphertext is bootstrapped; None where it cannot be."""


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where ciphertexts are bootstrapped."""

    refreshed: tuple[int, ...]
    """Nodes that are bootstrapped as soon as they are there, in order."""
    groups: tuple[tuple[int, ...], ...]
    """The same, by calls: what is there before any of it is used is bootstrapped together."""
    lowered: Mapping[int, int]
    """Bootstrapped nodes and arguments that go on at a lower level than they could: all that follows needs
    no more, and costs less there."""
    levels: tuple[int, ...]
    """Of every node, after its bootstrap."""
    cost: float
    """Of bootstraps and operations together."""
    exact: bool
    """Whether the cost of bootstraps alone is proven to be the least possible."""

    @property
    def count(self) -> int:
        """How many ciphertexts are bootstrapped."""
        return len(self.refreshed)


def place(
    graph: ProgramGraph,
    refresh: Refresh | RefreshOf,
    *,
    level_cost: LevelCost | None = None,
    states: int = DEFAULT_STATES,
) -> Placement:
    """The cheapest bootstraps with which no operation of a program lacks levels.

    refresh: what a bootstrap does and costs, for all ciphertexts or for each.
    level_cost: cost of one key switch at a level, in the unit of `Refresh.cost`; operations count nothing
        unless given.
    states: how many combinations of levels are kept while the program is gone through. Where that is
        enough, the cost of bootstraps is the least possible (`Placement.exact`).

    Raises LevelExhausted that names the operation which lacks levels even if all is bootstrapped that can be.
    """
    expect(graph, ProgramGraph, "place: graph", "use record_graph(params, program)")
    states = integer(states, "place: states", 1)
    problem = Problem.of(graph, _by_node(refresh), level_cost)
    problem.check()
    chosen, exact = search(problem, states)
    if level_cost is not None:
        chosen = improved(problem, chosen)
    found = problem.evaluate(chosen)
    if found is None:
        raise LevelExhausted("place: no placement was found")  # the search keeps to what can be finished
    order = tuple(sorted(chosen))
    return Placement(order, _groups(graph, order), found.lowered, found.levels, found.cost, exact)


def _by_node(refresh: Refresh | RefreshOf) -> RefreshOf:
    if isinstance(refresh, Refresh):
        return lambda node: refresh
    if not callable(refresh):
        raise InvalidArgument("place: refresh must be a Refresh, or a function of a Node that gives one")
    return refresh


def _groups(graph: ProgramGraph, order: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Bootstrapped nodes by calls: those of equal slots and kind that wait when one of them is used."""
    chosen = set(order)
    waiting: dict[tuple[int, bool], list[int]] = {}
    made: list[tuple[int, ...]] = []
    of: dict[int, tuple[int, bool]] = {}
    for number, node in enumerate(graph.nodes):
        for operand in node.operands:
            kind = of.get(operand)
            if kind is not None and operand in waiting.get(kind, ()):
                made.append(tuple(waiting.pop(kind)))
        if number in chosen:
            of[number] = (node.slots, node.real)
            waiting.setdefault(of[number], []).append(number)
    return tuple([*made, *(tuple(each) for each in waiting.values())])
