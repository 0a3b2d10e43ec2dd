# SPDX-License-Identifier: Apache-2.0
"""The smallest budget that a whole run of a program needs, found on ghosts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..base.errors import InvalidArgument
from ..base.values import size_to_type
from ..ckks.params import Params
from ..memory.budget import SMALLEST_CALLS
from ..memory.trace import Trace
from .host import PlannedHost
from .program_identity import Arguments

PAGE_BYTES = 4096
"""Frames of policies that move bytes are multiples of this."""


@dataclasses.dataclass(frozen=True)
class MinimumBudget:
    """Smallest budgets, in bytes, that hold whole runs on the CPU: from the engine's tables to the result.

    They hold the first run and later ones, which find all tables in memory and so need some bytes more.

    On a GPU a run can need more: drivers hand out memory in pieces of 32 MiB, and frames lie in a row.
    """

    resident: int
    """Under `resident` and `async`: most bytes that are live at once."""
    planned: int
    """Under `planned`: the largest step, with the parts of its operands that it touches."""
    lru: int
    """Under `lru`: the largest step, with its operands as a whole."""
    managed: int
    """Under `managed`: the same, where scratch moves too."""

    def bytes(self, policy: str) -> int | None:
        """The number for a policy; None for those that decide by what is free: known when they run."""
        names = {each.name for each in dataclasses.fields(self)}
        found = "resident" if policy == "async" else policy
        return int(getattr(self, found)) if found in names else None

    def at_least(self, policy: str) -> int | None:
        """The number for a policy, for `cached` one that is too small: it also keeps freed blocks."""
        return self.resident if policy == "cached" else self.bytes(policy)

    def text(self, policy: str) -> str:
        """The number as one types it, such as "17.3MiB", rounded up so that it is enough.

        Raises InvalidArgument for a policy whose minimum is not known.
        """
        found = self.bytes(policy)
        if found is None:
            raise InvalidArgument(
                f"minimum budget: policy {policy!r}; known for: resident, async, planned, lru, managed"
            )
        return size_to_type(found)

    def __str__(self) -> str:
        names = [each.name for each in dataclasses.fields(self)]
        return ", ".join(f"{self.text(name)} under '{name}'" for name in names)


def find_minimum(
    make_ghost: Callable[[], PlannedHost],
    keys: list[tuple[int, int]],
    program: Callable[..., Any],
    shape: Callable[[PlannedHost], Arguments],
    once: bool = False,
) -> MinimumBudget:
    """The minimum of runs on a fresh engine with these keys, the first one and later ones.

    make_ghost: makes a ghost engine without keys. shape: arguments without contents, on a ghost. once: there
    is one run only, which under `resident` does not find the tables that it makes after its peak.
    """
    ghost = make_ghost()
    ghost._core.joining_budget = SMALLEST_CALLS
    setup = _setup(ghost, keys)
    args, kwargs = shape(ghost)
    with ghost.record() as first:
        program(*args, **kwargs)
    first_peak = int(ghost.stats()["peak_bytes"])
    with ghost.record() as later:  # which finds all tables at its begin
        program(*args, **kwargs)
    resident = first_peak if once else int(ghost.stats()["peak_bytes"])
    encoding, steady = _with_weights(make_ghost, keys, program, shape) or (setup, later)
    tables = table_minimum(ghost.params)
    lru, _, managed = (max(each) for each in zip(*(_moving(each) for each in (setup, first)), strict=True))
    planned = max(_moving(steady)[1], _moving(setup)[0], _moving(encoding)[0], tables)
    return MinimumBudget(resident, planned, max(lru, tables), max(managed, tables))


def _with_weights(
    make_ghost: Callable[[], PlannedHost],
    keys: list[tuple[int, int]],
    program: Callable[..., Any],
    shape: Callable[[PlannedHost], Arguments],
) -> tuple[Trace, Trace] | None:
    """How a planned run encodes the weights of its circuits, before it begins, and the run with these.

    None where a program encodes nothing.
    """
    ghost, other = make_ghost(), make_ghost()
    ghost._core.joining_budget = SMALLEST_CALLS
    ghost._core.prepare_keys(keys)
    ghost._take_encoded()  # from now on it keeps a list
    args, kwargs = shape(ghost)
    program(*args, **kwargs)
    if not (encoded := ghost._take_encoded()):
        return None
    with other.record() as encoding:
        for circuit, level in encoded:
            circuit._on(other, level)
    with ghost.record() as steady:
        program(*args, **kwargs)
    return encoding, steady


def engine_minimum(ghost: PlannedHost, keys: list[tuple[int, int]]) -> MinimumBudget:
    """What an engine with these keys needs before any program; `ghost` has none yet."""
    moving = max(_moving(_setup(ghost, keys))[0], table_minimum(ghost.params))
    return MinimumBudget(int(ghost.stats()["peak_bytes"]), moving, moving, moving)


def _setup(ghost: PlannedHost, keys: list[tuple[int, int]]) -> Trace:
    """Keys without contents, added to a ghost."""
    with ghost.record() as made:
        ghost._core.prepare_keys(keys)
    return made


def _moving(trace: Trace) -> tuple[int, int, int]:
    """(under lru, under planned, under managed)"""
    return trace._core.minimum_budget()


def table_minimum(params: Params) -> int:
    """What a new engine touches at once: roots of unity in whole pages, without the few bytes of moduli."""
    return params.table_bytes // PAGE_BYTES * PAGE_BYTES
