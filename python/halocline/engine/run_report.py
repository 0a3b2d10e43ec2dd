# SPDX-License-Identifier: Apache-2.0
"""What a run took."""

from __future__ import annotations

import dataclasses
import time
from typing import Protocol

from ..remote.offload import numbers_of
from .host import PlannedHost
from .plan_choice import PlanChoice

_KINDS = ("loaded", "written", "populated", "expanded", "encoded")


@dataclasses.dataclass(frozen=True)
class RunReport:
    """What the last `Engine.run` did."""

    seconds: float
    """From the bound arguments to the result."""
    plan_seconds: float
    """Ghost pass and planning; 0 where the policy makes no plan."""
    stall_seconds: float
    """Waiting for bytes; 0 where nothing moves."""
    bytes_moved: dict[str, int]
    """Bytes per way of moving during the run; empty where nothing moves. loaded: from the slow tier;
    written: ciphertexts written back; populated: first copies of keys and plaintexts on the slow tier;
    expanded, encoded: made again from seeds and coefficients."""
    peak_bytes: int
    """Largest sum of live bytes during the run, on whatever tier, with what was there before it."""
    steps: int
    """Backend operations."""
    peak_fast_bytes: int = 0
    """Most bytes of the fast tier in use or kept for re-use during the run; never above the budget."""
    followed_plan: bool = False
    """Whether the run followed a plan to its end: every step was the one that was planned."""
    divergence: str | None = None
    """Why there was no plan, or at which step the run left it; None where it followed one or needed none."""
    link_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    """Bytes that came from each tier behind the fast one during the run, by its name, nearest first; empty
    where nothing moves."""
    ghost_passes: int = 0
    """How often the program was called on a ghost to plan this run; 0 where an older plan was kept."""
    key_nodes: dict[str, int] = dataclasses.field(default_factory=dict)
    """What key nodes did in this run, as in `Engine.stats`; empty where the engine has none."""
    bootstraps: int = 0
    """Ciphertexts that were bootstrapped because of `Engine(bootstrap=...)`."""
    choice: PlanChoice | None = None
    """What `optimize="io"` took among several plans; None where it was not asked for."""


class _Planner(Protocol):
    """What a report says of how runs are planned: `ProgramPlanner` is one."""

    ghost_passes: int
    divergence: str | None


class _Prepared(Protocol):
    """What a report says of a plan: `Prepared` is one."""

    choice: PlanChoice | None


class RunMeter:
    """Measures one run of an engine, whose planner makes and follows plans; None where there is none."""

    def __init__(self, engine: PlannedHost, planner: _Planner | None) -> None:
        self._engine, self._planner = engine, planner
        self._passes = 0 if planner is None else planner.ghost_passes

    def begin(self) -> None:
        """The program begins now."""
        self._engine._core.reset_peak()
        self._steps, self._moved = self._engine.stats()["steps"], self._engine._core.movement()
        self._links = self._engine._core.link_statistics()
        self._nodes = self._node_counts()
        self._bootstraps = self._bootstrap_count()
        self._start = time.perf_counter()

    def _node_counts(self) -> dict[str, int]:
        elsewhere = self._engine._elsewhere
        return {} if elsewhere is None else numbers_of(elsewhere.counts())

    def _bootstrap_count(self) -> int:
        automatic = self._engine._automatic
        return 0 if automatic is None else int(automatic.refresher.count)

    def report(self, plan_seconds: float, prepared: _Prepared | None) -> RunReport:
        """What happened since `begin`. prepared: the plan that there was to follow."""
        seconds = time.perf_counter() - self._start
        after, moved = self._engine.stats(), self._engine._core.movement()
        change = {name: moved[name] - self._moved[name] for name in moved}
        links = self._engine._core.link_statistics()
        divergence = None if self._planner is None else self._planner.divergence
        return RunReport(
            seconds=seconds,
            plan_seconds=plan_seconds,
            stall_seconds=change["stall_seconds"] + change["regenerate_seconds"],
            bytes_moved={kind: change[f"{kind}_bytes"] for kind in _KINDS}
            if self._engine._core.moves
            else {},
            peak_bytes=after["peak_bytes"],
            steps=after["steps"] - self._steps,
            peak_fast_bytes=after["peak_fast_bytes"],
            followed_plan=prepared is not None and divergence is None,
            divergence=divergence,
            link_bytes={
                now["name"]: now["read_bytes"] - before["read_bytes"]
                for now, before in zip(links, self._links, strict=True)
            },
            key_nodes={name: count - self._nodes[name] for name, count in self._node_counts().items()},
            ghost_passes=0 if self._planner is None else self._planner.ghost_passes - self._passes,
            bootstraps=self._bootstrap_count() - self._bootstraps,
            choice=None if prepared is None else prepared.choice,
        )
