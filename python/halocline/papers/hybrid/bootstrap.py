# SPDX-License-Identifier: Apache-2.0
"""What BM-bootstrap executes: every kind of bootstrapping on one parameter set after another.

The benchmark of "Hybrid CUDA Unified Memory Management in FHE Workloads" (section III-C) bootstraps with all
parameter sets of its library in turn; "after each operation, the parameters and corresponding keys required
are switched". Its program is not public: kinds and their order are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.errors import InvalidArgument, LevelExhausted
from ...circuits.bootstrapping import Bootstrapper
from ...ckks.keys import KeyPlan
from ...ckks.params import Params
from ...engine.engine import Engine
from ...memory.trace import Trace
from ...tracing.replay import decide
from ...workloads.bootstrap.messages import make_bootstrapper
from ...workloads.running import recording
from .kinds import KINDS
from .traces import concatenate


@dataclasses.dataclass(frozen=True)
class Task:
    """A kind of bootstrapping with one parameter set."""

    kind: str
    bootstrapper: Bootstrapper


@dataclasses.dataclass(frozen=True)
class Rehearsal:
    """What a parameter set's turns would do to its engine, as a ghost found it."""

    trace: Trace | None
    """From the first key on, if that was asked for."""
    key_plan: KeyPlan
    peak_bytes: int
    live_bytes: int
    """What stays after the first round: keys, constants, tables."""


class Stage:
    """A parameter set with the kinds that apply to it.

    settings: fields of `BootstrapOptions` for all kinds. Diagonals are compact unless they say otherwise:
    expanded ones of seven sets and six kinds would be several times the size of the keys.
    """

    def __init__(self, params: Params, kinds: Sequence[str], settings: Mapping[str, Any]) -> None:
        self.params = params
        self.tasks: list[Task] = []
        self.skipped: dict[str, str] = {}
        """Kind -> why it does not apply to these parameters."""
        for kind in kinds:
            if kind not in KINDS:
                raise InvalidArgument(
                    f"bm-bootstrap: unknown kind '{kind}'; expected one of: {', '.join(KINDS)}"
                )
            made = make_bootstrapper(params, {"compact": True} | dict(settings) | KINDS[kind])
            try:
                made.describe()
            except LevelExhausted as reason:
                self.skipped[kind] = str(reason)
            else:
                self.tasks.append(Task(kind, made))

    def key_plan(self) -> KeyPlan:
        """The keys of all kinds, each up to the highest level at which one of them uses it."""
        levels: dict[int, int] = {}
        for task in self.tasks:
            for element, level in task.bootstrapper.key_plan.requests():
                levels[element] = max(level, levels.get(element, 0))
        return KeyPlan(self.params, levels.items())

    def rehearse(
        self,
        rounds: int = 1,
        *,
        seeded: bool = False,
        record: bool = False,
        cache_bytes: int = 0,
        limited: bool = False,
    ) -> Rehearsal:
        """Everything that will happen, in the same order, on a ghost.

        cache_bytes: of the device that the ghost stands for. limited: whether its engine has a budget.
        Allocations are as many, and in the same order, as on a real engine that gets one key after the other,
        so that decisions of policy `profiled` made from the trace fit.
        """
        plan = self.key_plan()
        engine = Engine(self.params, device="ghost", keep_seeds=seeded)
        engine._core.cache_bytes = cache_bytes
        engine._core.joining_budget = int(limited)
        live = 0
        with recording(engine, record) as trace:
            for request in plan.requests():
                engine._core.prepare_keys([request])
            for number in range(1, rounds + 1):
                for task in self.tasks:
                    made = task.bootstrapper
                    made.encode(engine)
                    with engine.phase(phase_name(task, number)):
                        made(engine.ghost_input(level=made.input_level, slots=made.slots, real=False))
                live = live or engine.stats()["live_bytes"]
            peak = engine.stats()["peak_bytes"]
        return Rehearsal(trace, plan, peak, live)


def phase_name(task: Task, number: int) -> str:
    """Name of a task's phase in round `number`: kinds are operations of a trace, rounds their repetitions."""
    return f"{task.kind} {number}"


def footprint_of(rehearsals: Sequence[Rehearsal]) -> int:
    """Most bytes that are live at once when the keys and constants of finished sets stay."""
    peak = before = 0
    for each in rehearsals:
        peak = max(peak, before + each.peak_bytes)
        before += each.live_bytes
    total = sum(each.live_bytes for each in rehearsals)
    return max(peak, *(total - each.live_bytes + each.peak_bytes for each in rehearsals))


def joined_trace(stages: Sequence[Stage], traces: Sequence[Trace], rounds: int = 1) -> Trace:
    """One trace of all sets' turns in their order; what stays is freed at the end of all."""
    named = [(stage.params.name, trace) for stage, trace in zip(stages, traces, strict=True)]
    return concatenate(named, rounds)


def decide_for_all(
    stages: Sequence[Stage], rehearsals: Sequence[Rehearsal], rounds: int, pool_bytes: int
) -> list[bytes]:
    """Decisions of policy `profiled` for each set, from its first key on, made from the whole workload.

    Allocations of all sets go to the pool in ascending order of lifetime, while it holds `pool_bytes`.
    """
    traces = [each.trace for each in rehearsals if each.trace is not None]
    joined = joined_trace(stages, traces, rounds)
    made = np.frombuffer(decide(joined, pool_bytes=max(1, pool_bytes)), dtype=np.uint8)
    columns = joined.columns
    owner = np.asarray(columns["object"])[columns["action"] == "allocate"] % len(stages)
    fresh = [int((trace.columns["action"] == "allocate").sum()) for trace in traces]
    return [made[owner == part][-count:].tobytes() for part, count in enumerate(fresh)]
