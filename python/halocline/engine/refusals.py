# SPDX-License-Identifier: Apache-2.0
"""Refusals of a budget that state once what a whole run needs, instead of what the next step lacks."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from .. import _core
from ..base.errors import Error, OutOfMemory
from ..base.values import size_to_type
from ..ckks.ciphertext import Ciphertext, bind_all
from .host import PlannedHost
from .key_loading import Keys
from .minimum import MinimumBudget, engine_minimum, find_minimum
from .planned_run import shape_arguments
from .program_identity import Arguments


class RefusingHost(PlannedHost, Protocol):
    """An engine that can say what a program would have needed: `halocline.Engine` is one."""

    _explaining: PlannedHost | None
    _shared: Any
    """The budget that it shares with others, or None."""

    @property
    def policy(self) -> str:
        """Name of the memory policy."""

    @property
    def is_ghost(self) -> bool:
        """Whether it executes shapes only."""

    def _bare_ghost(self) -> PlannedHost:
        """A ghost engine without keys that keeps keys as this one does."""


@contextlib.contextmanager
def stating_engine_minimum(
    engine: RefusingHost,
    budget: int,
    held: Sequence[tuple[int, int]],
    keys: Keys | None,
) -> Iterator[None]:
    """A budget that tables and keys alone exceed is refused with what these take.

    held: keys that the engine has already. keys: those that it gets.
    """
    try:
        yield
    except OutOfMemory:
        if engine._shared is not None or budget == 0:
            raise
        wanted = dict(held)
        for element, level in [] if keys is None else keys.requests():
            wanted[element] = level  # replaced where it is there
        found = engine_minimum(engine._bare_ghost(), list(wanted.items()))
        needed = found.at_least(engine.policy)
        if needed is None or needed <= budget:
            raise  # for another reason than the size of the budget
        raise _engine_refusal(found, budget, engine.policy, bool(wanted)) from None


@contextlib.contextmanager
def stating_run_minimum(
    engine: RefusingHost, program: Callable[..., Any], arguments: Arguments
) -> Iterator[None]:
    """A run that is refused is refused with what the whole of it needs.

    Unless the engine shares its budget, where the error names what others hold, or the program cannot be
    called on a ghost, because it reaches for objects of this engine.
    """
    budget = engine.budget_bytes
    if budget == 0 or engine.is_ghost or engine._shared is not None:
        yield
        return
    foreign = _foreign_bytes(engine, arguments)
    try:
        yield
    except OutOfMemory as error:
        said = _explained(engine, program, arguments, foreign)
        if said is None:
            raise
        raise said from error


def _explained(
    engine: RefusingHost, program: Callable[..., Any], arguments: Arguments, foreign: int
) -> OutOfMemory | None:
    """What a refused run raises; None where the size of the budget is not the reason."""
    manual, budget = engine._core.manual, engine.budget_bytes

    def make_ghost() -> PlannedHost:
        ghost = engine._bare_ghost()
        ghost._core.manual = manual
        return ghost

    def shape(ghost: PlannedHost) -> Arguments:
        engine._explaining = ghost  # parts of the run that the program asks this engine for run there
        return shape_arguments(arguments, ghost)

    try:
        found = find_minimum(make_ghost, engine._core.list_keys(), program, shape)
    except Error:
        return None
    finally:
        engine._explaining = None
    found = dataclasses.replace(found, resident=found.resident + foreign)
    needed = found.bytes(engine.policy)
    return (
        None
        if budget >= (found.resident if needed is None else needed)
        else refusal(found, budget, engine.policy)
    )


def _foreign_bytes(engine: RefusingHost, arguments: Arguments) -> int:
    """Bytes of the ciphertexts on an engine that are no arguments: they stay there during a run."""
    own: dict[int, int] = {}

    def count(ct: Ciphertext) -> Ciphertext:
        if ct._engine is engine:
            own[id(ct)] = ct.nbytes
        return ct

    for each in (*arguments[0], *arguments[1].values()):
        bind_all(each, count)
    return max(0, int(engine.stats()["live_by_class"]["ciphertext"]) - sum(own.values()))


def _stated(count: int, policy: str) -> str:
    return f"{size_to_type(count)} ({count} bytes) under '{policy}'"


def refusal(found: MinimumBudget, budget: int, policy: str) -> OutOfMemory:
    """The error that states what a whole run needs: under this policy, and `planned` where that is less."""
    given = f"the budget is {_core.format_bytes(budget)} ({budget} bytes)"
    own = found.bytes(policy)
    if own is None:
        why = (
            "needs more, for freed blocks that it keeps" if policy == "cached" else "decides by what is free"
        )
        needs = f"{_stated(found.resident, 'resident')}; '{policy}' {why}"
        largest, name = found.resident, " with policy='resident'"
    else:
        needs, largest, name = _stated(own, policy), own, ""
    whole = f"memory='{size_to_type(largest)}'{name}"
    if found.planned >= largest:
        return OutOfMemory(f"run: the whole program needs a budget of {needs}; {given}. Give {whole}")
    way = "policy='planned'"
    if found.planned > budget:
        way = f"memory='{size_to_type(found.planned)}' with {way}"
    return OutOfMemory(
        f"run: the whole program needs a budget of {_stated(found.planned, 'planned')}, which moves bytes to "
        f"a file, or {needs}; {given}. Give {way}, or {whole}"
    )


def _engine_refusal(found: MinimumBudget, budget: int, policy: str, has_keys: bool) -> OutOfMemory:
    """The error of an engine whose tables and keys alone exceed the budget."""
    own = found.at_least(policy)
    assert own is not None
    least = "at least " if policy == "cached" else ""
    other = f" ({size_to_type(found.planned)} under 'planned')" if found.planned < own else ""
    what, given = ("tables and evaluation keys", ", keys=keys") if has_keys else ("tables", "")
    return OutOfMemory(
        f"Engine: {what} alone need {least}{_stated(own, policy)}{other}; the budget is "
        f"{_core.format_bytes(budget)} ({budget} bytes). A program may "
        f"need more: trace_program(params, program{given}).minimum_budget says how much"
    )
