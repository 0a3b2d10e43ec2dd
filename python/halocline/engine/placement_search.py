# SPDX-License-Identifier: Apache-2.0
"""Fewest bootstraps: dynamic programming over the operations of a program in their order.

A state is the level of every live ciphertext; each operation makes one more, with or without a bootstrap.
Levels beyond those that everything behind could use count as equal. A state is dropped where another one has
at least its levels for at most its cost, and where levels are missing whatever is bootstrapped later, so no
state ends in a dead end. With fewer states than are kept at a time the result is optimal.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from .placement_problem import Problem, Refresh

DEFAULT_STATES = 256
"""States that are kept after each operation."""

_PARTS = 100
"""Parts of a choice that are searched again where states had to be dropped."""
_PART_WORK = 40_000
"""Operations that these searches together may go through, a second or two."""
_PART_SIZES = (16, 32, 48)
"""Nodes of a part."""
_PART_STATES = 64
"""States that are kept in these searches at most."""
_PAIRS = 1 << 22
"""Entries of the comparison of all states with each other, above which states are compared in parts."""

Array = npt.NDArray[Any]


def search(problem: Problem, states: int) -> tuple[frozenset[int], bool]:
    """Nodes to bootstrap, and whether no cheaper choice exists; levels suffice where `check` passes.

    Where states had to be dropped, parts of the choice are searched again, one after another.
    """
    worth = candidates(problem)
    whole = _Search(problem, states, worth)
    chosen = whole.run()
    if chosen is None:  # levels that programs ask for may need what is never worth it without them
        worth = [each is not None for each in problem.refreshes]
        whole = _Search(problem, states, worth)
        chosen = whole.run()
    assert chosen is not None  # `check` has passed, and only given choices lead to dead ends
    return (chosen, True) if whole.exact else (_searched_in_parts(problem, states, worth, chosen), False)


def _searched_in_parts(
    problem: Problem, states: int, worth: list[bool], chosen: frozenset[int]
) -> frozenset[int]:
    """A choice that costs no more: around one bootstrap after another all is decided anew, the rest stays.

    Equal choices are taken too, which is how the search leaves local minima. The order is the same always.
    """
    draw = random.Random(len(problem.nodes))
    parts = min(_PARTS, max(1, _PART_WORK // len(problem.nodes)))
    for _ in range(parts):
        if not chosen:
            break
        centre = draw.choice(sorted(chosen))
        size = draw.choice(_PART_SIZES)
        other = _Search(
            problem, min(states, _PART_STATES), worth, chosen, _around(problem, centre, size)
        ).run()
        if other is not None and problem.cost_of(other) <= problem.cost_of(chosen):
            chosen = other
    return chosen


def _around(problem: Problem, centre: int, size: int) -> set[int]:
    """The nearest nodes in the graph, in both directions."""
    found, at = {centre: None}, [centre]
    for number in at:
        for each in (*problem.nodes[number].operands, *problem.consumers[number]):
            if len(found) < size and each not in found:
                found[each] = None
                at.append(each)
    return set(found)


def _sinks(problem: Problem) -> list[int | None]:
    """For each node the first later one through which all goes that is made of it, at the cost of no level.

    Bootstrapping that one is at least as good: it raises the same and more, at the same level. The nearest
    common postdominator, as Cooper, Harvey and Kennedy compute it, among operations that cost nothing.
    """
    made: list[int | None] = [None] * len(problem.nodes)
    for number in range(len(problem.nodes) - 1, -1, -1):
        followers = problem.consumers[number]
        if not followers or not all(_is_free(problem, each) for each in followers):
            continue
        common: int | None = followers[0]
        for each in followers[1:]:
            common = _meet(made, common, each)
        made[number] = common
    return made


def _is_free(problem: Problem, number: int) -> bool:
    node = problem.nodes[number]
    return node.levels == 0 and node.needs == 0 and node.fixed_level is None and node.most is None


def _meet(sinks: list[int | None], a: int | None, b: int | None) -> int | None:
    while a != b:
        if a is None or b is None:
            return None
        if a < b:
            a = sinks[a]
        else:
            b = sinks[b]
    return a


def _roots(problem: Problem) -> list[int]:
    """For each node the earliest one that it is made of, alone, at the cost of no level.

    Bootstrapping that one is at least as good: it has the same level, and raises the same and more.
    """
    made: list[int] = []
    for number, node in enumerate(problem.nodes):
        from_ = {made[each] for each in node.operands} if _is_free(problem, number) else set()
        made.append(from_.pop() if len(from_) == 1 else number)
    return made


def _replaces(other: Refresh | None, refresh: Refresh) -> bool:
    """Whether a bootstrap of one node is at least as good as that of another one at the same level."""
    return (
        other is not None
        and other.input_level <= refresh.input_level
        and other.output_level >= refresh.output_level
        and other.cost <= refresh.cost
    )


def candidates(problem: Problem) -> list[bool]:
    """Which nodes can be worth a bootstrap: for each of the others one of these is at least as good."""
    roots, sinks, refreshes = _roots(problem), _sinks(problem), problem.refreshes
    made: list[bool] = []
    for number, refresh in enumerate(refreshes):
        worth = refresh is not None and problem.needed[number] <= refresh.output_level
        worth = worth and problem.deepest[number] > 0
        root = roots[number]
        if worth and refresh is not None and root != number and made[root]:
            worth = not _replaces(refreshes[root], refresh)
        made.append(worth)
    for number, refresh in enumerate(refreshes):
        sink = sinks[number] if made[number] else None
        while sink is not None and not made[sink]:
            sink = sinks[sink]
        if sink is not None and refresh is not None and _replaces(refreshes[sink], refresh):
            made[number] = False
    return made


class _Search:
    """States as rows of levels; a column for each live ciphertext."""

    def __init__(
        self,
        problem: Problem,
        states: int,
        worth: list[bool],
        given: frozenset[int] | None = None,
        part: Collection[int] = (),
    ) -> None:
        """worth: what may be bootstrapped. given: a choice that stays outside of `part`, if not None."""
        self.problem, self.states, self.given, self.part = problem, states, given, part
        self.worth = worth
        self.needed, _ = problem.levels_needed(worth)
        self.last_use = [taken[-1] if taken else number for number, taken in enumerate(problem.consumers)]
        self.column: dict[int, int] = {}
        self.free: list[int] = []
        self.levels: Array = np.zeros((1, 0), np.int32)
        self.cost: Array = np.zeros(1)
        self.history: list[tuple[int, Array, Array]] = []
        """(node, whether it was bootstrapped, the state before) after each choice or loss of states."""
        self.exact = True

    def run(self) -> frozenset[int] | None:
        """The cheapest choice found; None where levels are missing with the given one."""
        for number in range(len(self.problem.nodes)):
            self._step(number)
            if not len(self.cost):
                return None
        best = int(np.argmin(self.cost))
        chosen = set()
        for number, refreshed, before in reversed(self.history):
            if refreshed[best]:
                chosen.add(number)
            best = int(before[best])
        return frozenset(chosen)

    def _step(self, number: int) -> None:
        problem, node = self.problem, self.problem.nodes[number]
        if node.fixed_level is not None:
            made: Array = np.full(len(self.cost), node.fixed_level, np.int32)
        else:
            columns = [self.column[each] for each in dict.fromkeys(node.operands)]
            made = self.levels[:, columns].min(axis=1) - node.levels
        if node.most is not None:
            made = np.minimum(made, node.most)
        refresh = problem.refreshes[number]
        kept, raised = self._choices(number, made)
        self._drop_dead(number, node.operands)
        if len(kept) == len(made) and not len(raised):
            self._set(number, made)
            self._merge(number, None)
            return
        before = np.concatenate([kept, raised])
        refreshed = np.repeat([False, True], [len(kept), len(raised)])
        level, cost = made[before], self.cost[before]
        if refresh is not None:
            level = np.where(refreshed, refresh.output_level, level)
            cost = cost + np.where(refreshed, refresh.cost, 0.0)
        self.levels, self.cost = self.levels[before], cost
        self._set(number, level)
        self.history.append((number, refreshed, before))
        self._merge(number, len(raised))

    def _choices(self, number: int, made: Array) -> tuple[Array, Array]:
        """States in which a node is left as it is, and those in which it is bootstrapped."""
        refresh = self.problem.refreshes[number]
        none: Array = np.zeros(0, np.intp)
        kept = np.flatnonzero(made >= self.needed[number])
        if refresh is None:
            return kept, none
        can = (made >= refresh.input_level) & (made < refresh.output_level)
        if self.given is not None and number not in self.part:
            return (none, np.flatnonzero(can)) if number in self.given else (kept, none)
        if not self.worth[number]:
            return kept, none
        return kept, np.flatnonzero(can & (made < self.problem.deepest[number]))

    def _drop_dead(self, number: int, operands: tuple[int, ...]) -> None:
        for each in dict.fromkeys(operands):
            if self.last_use[each] == number:
                column = self.column.pop(each)
                self.levels[:, column] = 0
                self.free.append(column)

    def _set(self, number: int, level: Array) -> None:
        """Gives a node's levels a column, unless nothing takes it."""
        if not self.problem.consumers[number]:
            return
        if not self.free:
            self.free.append(self.levels.shape[1])
            self.levels = np.pad(self.levels, ((0, 0), (0, 1)))
        column = self.column[number] = self.free.pop()
        self.levels[:, column] = np.minimum(level, self.problem.deepest[number])

    def _merge(self, number: int, raised: int | None) -> None:
        """Drops states that others are at least as good as, and the worst where too many are left."""
        count = len(self.cost)
        if count == 1 or (raised is None and count <= self.states // 4):
            return
        order = np.lexsort((-self.levels.sum(axis=1), self.cost))
        levels = self.levels[np.ix_(order, sorted(self.column.values()))]
        left = order[_undominated(levels)]
        if len(left) > self.states:
            left, self.exact = left[: self.states], False
        if len(left) < count:
            self.levels, self.cost = self.levels[left], self.cost[left]
            self.history.append((number, np.zeros(len(left), bool), left))


def _undominated(levels: Array) -> Array:
    """Rows that no earlier row exceeds or equals in all columns; rows come in the order of their cost."""
    count, width = levels.shape
    alive = np.ones(count, bool)
    size = max(1, _PAIRS // max(1, count * max(1, width)))
    for begin in range(0, count, size):
        end = min(count, begin + size)
        if not alive[begin:end].any():
            continue
        covered = (levels[begin:end, None, :] >= levels[None, begin:, :]).all(axis=2)
        later = np.arange(begin, count)[None, :] > np.arange(begin, end)[:, None]
        alive[begin:] &= ~(covered & later).any(axis=0)
    return np.flatnonzero(alive)
