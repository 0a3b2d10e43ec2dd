# SPDX-License-Identifier: Apache-2.0
"""What a program needs, found on ghosts before keys are loaded for it: its keys in order, and memory."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from ..base.errors import InvalidArgument, WrongType
from ..base.forks import renew_in_children
from ..base.values import kind_of
from .engine import Engine
from .host import PlannedHost
from .minimum import MinimumBudget, find_minimum
from .planned_run import PLANS_KEPT, shape_arguments
from .program_identity import Arguments, ProgramIdentities


@dataclasses.dataclass(frozen=True)
class ProgramNeeds:
    """Of one program and shapes of its arguments, with the keys of any user."""

    requests: list[tuple[int, int]]
    """(Galois element, highest level) of its keys, in the order of their first uses."""
    key_bytes: int
    """Of these keys in the engine."""
    minimum: MinimumBudget | None
    """The smallest budgets of a run with these keys; None where the engine has no budget."""


class NeedsOfPrograms:
    """Keeps the needs of the programs of one engine. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._identities = ProgramIdentities()
        self._found: OrderedDict[Hashable, ProgramNeeds] = OrderedDict()
        self.ghost_passes = 0
        """How many programs were called on ghosts so far."""
        self._renew_locks()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()

    def fresh_arguments(self, program: Callable[..., Any]) -> Arguments:
        """A fresh ciphertext without contents for each positional parameter that must be given."""
        if not callable(program):
            raise WrongType(f"prefetch: got {kind_of(program)}, expected a function of ciphertexts")
        ghost = self._engine._bare_ghost()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(program).parameters.values()
        needed = [each for each in parameters if each.kind in kinds and each.default is each.empty]
        return tuple(ghost.ghost_input() for _ in needed), {}

    def of(self, program: Callable[..., Any], arguments: Arguments, name: Hashable) -> ProgramNeeds:
        """The needs of a program for arguments of these shapes.

        name: what stands for the program instead of its code and the values that it reaches.
        Raises InvalidArgument where one of these cannot be compared between runs; what the program raises.
        """
        if not callable(program):
            raise WrongType(f"run: got {kind_of(program)}, expected a function of ciphertexts")
        with self._lock:  # not the engine's turn, which may take long
            budget, manual = self._engine.budget_bytes, self._engine._core.manual
            key = (self._identities.identify(program, arguments, name), budget, manual)
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
                return found
        with self._engine._turns:
            found = self._found.get(key)  # another thread may have found it meanwhile
            if found is None:
                found = self._find(program, arguments)
                self.ghost_passes += 1
                with self._lock:
                    self._found[key] = found
                    while len(self._found) > PLANS_KEPT:
                        self._found.popitem(last=False)
            return found

    def _find(self, program: Callable[..., Any], arguments: Arguments) -> ProgramNeeds:
        engine = self._engine

        def make_ghost() -> PlannedHost:
            ghost = engine._bare_ghost()
            ghost._core.manual = engine._core.manual
            return ghost

        def shape(ghost: PlannedHost) -> Arguments:
            engine._explaining = ghost  # parts of the run that the program asks this engine for run there
            return shape_arguments(arguments, ghost)

        with self._as_part_of_a_run():
            ghost = make_ghost()
            args, kwargs = shape(ghost)
            program(*args, **kwargs)
            requests = ghost._core.needed_keys_in_order()
            minimum = None
            if engine.budget_bytes != 0:
                minimum = find_minimum(make_ghost, sorted(requests), program, shape)
        held = engine._bare_ghost()
        held._core.prepare_keys(requests)  # with seeds as the engine keeps them
        return ProgramNeeds(requests, int(held.stats()["live_by_class"]["evaluation_key"]), minimum)

    @contextlib.contextmanager
    def _as_part_of_a_run(self) -> Iterator[None]:
        """Calls of `engine.run` inside go to the ghost."""
        engine = self._engine
        before = engine._depth, engine._explaining
        if before[0] != 0 and before[1] is None:
            raise InvalidArgument("run: a program must not run or prefetch another program for a user")
        engine._depth = 1
        try:
            yield
        finally:
            engine._depth, engine._explaining = before
