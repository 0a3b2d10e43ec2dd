# SPDX-License-Identifier: Apache-2.0
"""A placement made cheaper step by step: bootstraps and what operations cost at their levels."""

from __future__ import annotations

from collections.abc import Iterator

from .placement_problem import Problem

_WORK = 400_000
"""Nodes that all evaluations together may visit, about a second."""


def improved(problem: Problem, chosen: frozenset[int]) -> frozenset[int]:
    """A choice of nodes that costs no more: single bootstraps are left out, or moved to neighbours.

    Every move that lowers the cost is made, until none does or the time is used up. Bootstraps that move
    forward past an operation let it run at a lower level; those that move back serve more operations.
    """
    found = problem.evaluate(chosen)
    assert found is not None  # what the search returns
    cost = found.cost
    left = max(1, _WORK // max(1, len(problem.nodes)))
    again = True
    while again and left > 0:
        again = False
        for number in sorted(chosen):
            for other in _moves(problem, chosen, number):
                left -= 1
                tried = problem.evaluate(other)
                if tried is not None and tried.cost < cost * (1 - 1e-12):
                    chosen, cost, again = other, tried.cost, True
                    break
                if left <= 0:
                    return chosen
            if left <= 0:
                break
    return chosen


def _moves(problem: Problem, chosen: frozenset[int], number: int) -> Iterator[frozenset[int]]:
    """Choices that differ in one bootstrap."""
    if number not in chosen:
        return
    rest = chosen - {number}
    yield rest
    followers = problem.consumers[number]
    able = [each for each in followers if problem.refreshes[each] is not None]
    for each in able:
        yield rest | {each}
    if 1 < len(able) == len(followers):
        yield rest | set(able)
    operands = [each for each in problem.nodes[number].operands if problem.refreshes[each] is not None]
    for each in dict.fromkeys(operands):
        yield rest | {each}
    if len(set(operands)) > 1:
        yield rest | set(operands)
