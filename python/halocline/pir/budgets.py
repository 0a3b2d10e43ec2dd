# SPDX-License-Identifier: Apache-2.0
"""Budgets of servers of private retrieval, found before any record is read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from .. import _core
from ..base.errors import OutOfMemory

_KNOWN = ("resident", "lru", "planned")
"""Policies whose needs are known before the work."""


@contextlib.contextmanager
def budget_checked(shape: _core.RetrievalGeometry, budget: int, policy: str, raw: bool) -> Iterator[None]:
    """Raises OutOfMemory where a budget is too small for a server on a CPU that answers one query at a time.

    At once where that is clear; what is raised inside gets the same explanation: which budgets are enough,
    under this policy and storage, and under those that need less.
    """
    if policy not in _KNOWN:
        yield
        return
    explain = explaining(shape, policy, raw)
    if _core.retrieval_budget_falls_short(shape, raw, budget, policy):
        said = f"a budget of {_bytes(budget)} is too small for this database and one query"
        raise OutOfMemory(f"pir.Server: {said}; {_enough(shape, policy, raw)}")
    try:
        yield
    except OutOfMemory as error:
        raise explain(error) from None


Explain = Callable[[OutOfMemory], OutOfMemory]
"""Adds to an error what would be enough."""


def explaining(shape: _core.RetrievalGeometry, policy: str, raw: bool) -> Explain:
    """For errors of a server on a CPU: of a budget a little below what it needs, the first answer tells."""

    def explain(error: OutOfMemory) -> OutOfMemory:
        if policy not in _KNOWN or "pir.Server:" in str(error):
            return error
        return OutOfMemory(f"{error}. pir.Server: {_enough(shape, policy, raw)}")

    return explain


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """The same on other devices, where it is not known what is enough."""
    try:
        yield
    except OutOfMemory as error:
        raise OutOfMemory(
            f"{error}. pir.Server: storage='raw' takes less memory, and so does a budget with policy='lru'"
        ) from None


def _enough(shape: _core.RetrievalGeometry, policy: str, raw: bool) -> str:
    needs = {
        (moves, stored): needed
        for stored in (False, True)
        for moves, needed in _core.least_retrieval_budgets(shape, stored).items()
    }
    least = needs["resident" if policy == "resident" else "lru", raw]
    parts = [f"{_bytes(least)} are enough with {_words(policy, raw)}"]
    for (moves, stored), needed in sorted(needs.items(), key=lambda each: -each[1]):
        if needed < least:  # of equal ones the first, which is transformed
            parts.append(f"{_bytes(needed)} with {_words(moves, stored)}")
            least = needed
    return ", ".join(parts)


def _words(policy: str, raw: bool) -> str:
    return f"policy='{policy}' and storage='{'raw' if raw else 'transformed'}'"


def _bytes(count: int) -> str:
    return f"{_core.format_bytes(count)} ({count} bytes)"
