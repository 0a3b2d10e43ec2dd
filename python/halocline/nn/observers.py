# SPDX-License-Identifier: Apache-2.0
"""Callbacks that tell how far the evaluation of a network is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..engine.engine import Engine

Phase = Callable[[str], AbstractContextManager[None]]
"""Called with the name of a layer, which is evaluated inside the context."""
OnBootstrap = Callable[[str, int, int], None]
"""Called after each bootstrap with the layer's name, how many are done, and how many there are."""
Progress = Callable[[int, int], None]
"""Called with the number of segments done and that of all."""


def no_phase(_: str) -> AbstractContextManager[None]:
    """Nobody is told."""
    return contextlib.nullcontext()


class Observers:
    """The callbacks of a run behind callables that stay the same, by which plans and graphs are kept."""

    def __init__(self) -> None:
        self.name_phase: Phase = no_phase
        self.tell: OnBootstrap | None = None
        # Bound once: each access to a method makes another object.
        self.phase: Phase = self._phase
        self.bootstrapped: OnBootstrap = self._bootstrapped

    def run(self, engine: Engine, program: Callable[..., Any], value: Any) -> Any:
        """A run of the engine that is watched."""
        return engine.run(program, value, phase=self.phase, on_bootstrap=self.bootstrapped)

    def _phase(self, name: str) -> AbstractContextManager[None]:
        return self.name_phase(name)

    def _bootstrapped(self, name: str, done: int, count: int) -> None:
        if self.tell is not None:
            self.tell(name, done, count)
