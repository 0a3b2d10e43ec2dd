# SPDX-License-Identifier: Apache-2.0
"""The interface of an engine for planned runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from ..memory.trace import Trace


class PlannedHost(Host, Protocol):
    """An engine that can say what a program will touch: `halocline.Engine` is one."""

    @property
    def budget_bytes(self) -> int:
        """Bytes of the device's memory that may be used."""

    _composes: bool
    """Whether plans may make rotations of others."""

    _circuits: CircuitChoice
    """How it organises circuits."""

    _keep_seeds: bool | frozenset[int]
    """Whether all keys stay seeded, or which."""

    def _keep_seeds_as(self, other: PlannedHost) -> None:
        """Keeps those keys seeded that its twin has chosen."""

    def stats(self) -> dict[str, Any]:
        """Counters of its memory runtime."""

    def record(self) -> AbstractContextManager[Trace]:
        """Fills a trace with what happens until the end of the block."""

    def ghost_input(
        self,
        *,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
        real: bool = True,
    ) -> Ciphertext:
        """On a ghost engine, a ciphertext without contents."""

    _automatic: Any
    """Its automatic bootstraps: an `AutomaticRuns`; None where it has none."""

    def _call(self, program: Callable[..., Any], arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """The program with arguments of this engine, bootstrapped where that was found to be needed."""

    def _follow(self, other: PlannedHost) -> None:
        """Bootstraps the program that comes where another engine does."""

    _begins_cold: bool
    """Whether keys were brought in for this run or evicted before it, so that none left them in memory."""

    def _plan_keys(self) -> list[tuple[int, int]]:
        """(Galois element, level) of the keys that plans are made with."""

    def _plan_context(self, device: str | None = None) -> str:
        """What a plan's program ran with."""

    def _ghost_twin(self, keys: list[tuple[int, int]]) -> PlannedHost:
        """A ghost engine with keys of the same sizes."""

    def _take_encoded(self) -> list[tuple[Any, int]]:
        """Circuits and levels that were encoded since the last call."""
