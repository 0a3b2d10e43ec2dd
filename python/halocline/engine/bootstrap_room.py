# SPDX-License-Identifier: Apache-2.0
"""What the bootstraps of an engine may take of its budget, and how they are done within it."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from .. import _core
from ..circuits.bootstrapping import Bootstrapper

_Chosen = tuple[_core.BootstrapOptions, list[int]]


class BootstrapRoom:
    """The budget of an engine under policy "planned", as its bootstraps use it.

    The engine shares it with its ghosts, so that a bootstrapper is done the same way on all of them. What was
    chosen stays when the budget or the keys change.
    """

    def __init__(self, core: _core.Engine, seeds: bool | frozenset[int] | None) -> None:
        self._core, self._seeds = core, seeds
        self._chosen: weakref.WeakKeyDictionary[Bootstrapper, _Chosen] = weakref.WeakKeyDictionary()

    def prepare(self, circuit: Bootstrapper, options: _core.BootstrapOptions, may_choose: bool) -> None:
        """Completes options by what was chosen for a bootstrapper, or by the room that it has to choose."""
        if circuit in self._chosen:
            found, _ = self._chosen[circuit]
            options.memory_bytes = 0
            options.cts_ways, options.stc_ways = found.cts_ways, found.stc_ways
            options.sum_radix = found.sum_radix
        elif may_choose:
            options.memory_bytes = self._core.budget_bytes
            if not self._core.is_ghost:
                options.use_keys(self._core.list_keys())
            if self._seeds is not None:
                options.keep_seeds(self._seeds is True)

    def note(self, circuit: Bootstrapper, made: _core.Bootstrapper) -> None:
        """Keeps what was chosen, unless that was known."""
        self._chosen.setdefault(circuit, (made.options, made.seeded_keys))

    def seeds_of(self, circuit: Bootstrapper) -> list[int]:
        """Elements of the keys that are to stay seeded for a bootstrapper that was noted."""
        return self._chosen[circuit][1]


class BudgetHost(Protocol):
    """An engine that may have such room."""

    _core: _core.Engine
    _shared: Any
    """The budget that it shares with others, or None."""

    @property
    def policy(self) -> str:
        """Name of the memory policy."""


def room_of(engine: BudgetHost, seeds: bool | frozenset[int] | None) -> BootstrapRoom | None:
    """The room of an engine; None where it has no budget of its own, or follows no plans.

    seeds: whether all keys stay seeded, or which; None where that may be chosen.
    """
    if engine.policy != "planned" or engine._shared is not None or engine._core.budget_bytes == 0:
        return None
    return BootstrapRoom(engine._core, seeds)
