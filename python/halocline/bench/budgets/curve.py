# SPDX-License-Identifier: Apache-2.0
"""Slowdown of a program against `resident`, by policy and budget.

Budgets range from all bytes that the program touches down to the smallest for which a plan exists. Measured
on an engine, or replayed on a device model. Subclasses of `BudgetCurve` define the program.
"""

from __future__ import annotations

import dataclasses
import statistics
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...base.errors import OutOfMemory
from ...base.names import policy_name
from ...base.values import byte_count
from ...ckks.ciphertext import Ciphertext
from ...engine.engine import Engine
from ...memory.budget import budget_of
from ...memory.trace import Trace
from ...tracing.plan_trace import plan_trace
from ...tracing.replay import (
    DEFAULT_ASYNC_RATIO,
    DeviceModel,
    decide,
    device_models,
    replay,
)
from ...workloads.options import RunOptions
from ..keeping import Watcher, expect_row
from .options import BLOCKING, MINIMUM, BudgetOptions, async_peak_of
from .rig import PolicyRig, Program, Rehearsal, Shape, Timed, timed

SLOW_SECONDS = 2.0
"""Of a kind whose first run takes longer, one more is enough."""
ENDLESS_SECONDS = 5.0
"""A later run that takes longer is the last one, and counts by itself."""
PLACING = ("static", "profiled", "dynamic", "managed")
"""Policies that decide once for each buffer, keys as well, where it lies."""

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Kind:
    """What one row is about."""

    policy: str
    """As it was given: "profiled@65%" is `profiled` with a pool of at most 65% of the budget, or BLOCKING."""
    batch: int
    memory: str
    """As it was given."""
    budget_bytes: int
    """0: unlimited."""

    @property
    def manner(self) -> str:
        """Name of the policy."""
        return self.policy.partition("@")[0]

    @property
    def async_peak(self) -> float:
        """Share of the budget that the pool of `profiled` may take."""
        return async_peak_of(self.policy)


class BudgetCurve(ABC):
    """One run of such a benchmark."""

    def __init__(self, suite: str, call: str, options: BudgetOptions, watcher: Watcher) -> None:
        """suite: name of the benchmark; call: of the program in traces."""
        self.suite, self.call, self.options, self._watcher = suite, call, options, watcher
        self._model = device_models().get(options.device)
        self._rig: PolicyRig
        self._program: Program
        self._rehearsals: dict[int, Rehearsal] = {}
        self._placed: dict[tuple[int, int], Trace] = {}
        self._minimum: dict[int, int] = {}
        self._engine: Engine | None = None
        self._engine_policy = ""

    # What subclasses say

    @abstractmethod
    def shapes(self, batch: int) -> list[Shape]:
        """The inputs of a call."""

    @abstractmethod
    def inputs(self, engine: Engine, batch: int) -> list[Ciphertext]:
        """Inputs on an engine."""

    @abstractmethod
    def quality(self, results: Any, batch: int) -> Row:
        """What a row says of the results of the last call."""

    @abstractmethod
    def facts(self) -> Row:
        """What the report says of the program."""

    def _begin(self, rig: PolicyRig, program: Program) -> None:
        """Rehearses the program for every batch."""
        self._rig, self._program = rig, program
        self._rehearsals = {batch: self._rehearse(batch) for batch in self.options.batch_sizes()}
        self._minimum = {batch: self._least(each) for batch, each in self._rehearsals.items()}

    def _run_options(self) -> RunOptions:
        device = "ghost" if self._model else self.options.device
        return RunOptions(device=device, threads=self.options.threads)

    def run(self) -> Row:
        """Measures everything that an interrupted run has not."""
        batches = self.options.batch_sizes()
        kinds = [*(Kind("resident", batch, "all", 0) for batch in batches), *self._kinds()]
        wanted = [dataclasses.asdict(kind) for kind in kinds]
        rows = [expect_row(*each) for each in zip(self._watcher.rows(), wanted, strict=False)]
        base = {row["batch"]: row.get("seconds") for row in rows[: len(batches)]}
        for kind in kinds[len(rows) :]:
            found = self._times(kind) if self._model is None else self._replayed(self._model, kind)
            rows.append(self._row(kind, found, base.setdefault(kind.batch, found.get("seconds"))))
            self._watcher.row("measuring", self._report(rows), len(rows), len(kinds))
        self._engine = None
        return self._report(rows)

    def _report(self, rows: list[Row]) -> Row:
        """The rows, and what they are about."""
        o = self.options
        about = {"suite": self.suite, "device": o.device, "simulated": self._model is not None}
        batches = [
            {"batch": batch, "footprint_bytes": each.peak_bytes, "minimum_bytes": self._minimum[batch]}
            for batch, each in self._rehearsals.items()
        ]
        how = {"seeded": o.seeded, "threads": o.threads, "runs": o.runs, "async_peak": DEFAULT_ASYNC_RATIO}
        return about | self.facts() | how | {"batches": batches, "rows": list(rows)}

    # Before

    def _rehearse(self, batch: int, *, setup: bool = False, calls: int = 2) -> Rehearsal:
        names = [(f"{self.call} {number + 1}", self._program) for number in range(calls)]
        return self._rig.rehearse(self.shapes(batch), names, setup=setup)

    def _least(self, rehearsal: Rehearsal) -> int:
        return plan_trace(rehearsal.trace, rehearsal.peak_bytes).summary.minimum_bytes

    def _budget(self, batch: int, text: str) -> int:
        if text == MINIMUM:
            return self._minimum[batch]
        found = byte_count(budget_of(text, self._rehearsals[batch].peak_bytes), f"{self.suite}: budget")
        return min(found, self._model.usable_bytes) if self._model else found

    def _kinds(self) -> Iterator[Kind]:
        for policy in self.options.policies:
            for batch in self.options.batch_sizes():
                for text in self.options.budgets:
                    yield Kind(policy, batch, text, self._budget(batch, text))

    def _row(self, kind: Kind, found: Row, base: float | None) -> Row:
        budget = kind.budget_bytes
        share = budget / self._rehearsals[kind.batch].peak_bytes if budget else None
        if "seconds" in found:
            found = found | {"slowdown": None if base is None else found["seconds"] / base}
        return dataclasses.asdict(kind) | {"share": share} | found

    # On a device

    def _times(self, kind: Kind) -> Row:
        """Runs a batch several times; or why it could not."""
        try:
            return self._timed(self._engine_for(kind), kind.batch)
        except OutOfMemory as refused:
            return {"out_of_memory": str(refused)}

    def _engine_for(self, kind: Kind) -> Engine:
        """An engine within a budget: the one that is there, where its policy is asked for again.

        Decisions of `profiled` count allocations from an engine's beginning, and depend on the budget.
        """
        policy, budget = kind.manner, kind.budget_bytes
        if policy == "profiled" or self._engine is None or self._engine_policy != kind.policy:
            self._engine = None  # its keys go before those of the next one come
            decisions, room = None, None
            if policy == "profiled":
                decisions, room = self._decisions(kind), budget
            elif policy != "resident":
                room = max(each.peak_bytes for each in self._rehearsals.values())
            self._engine = self._rig.engine(policy, room, decisions, blocking=kind.policy == BLOCKING)
            self._engine_policy = kind.policy
        if budget != self._engine.budget_bytes:
            self._engine.set_budget(budget)
        return self._engine

    def _decisions(self, kind: Kind) -> bytes:
        trace = self._placing(kind.batch, self._uncounted + self.options.runs)
        pool = max(1, int(kind.async_peak * kind.budget_bytes))
        return bytes(self._rig.tables) + decide(trace, pool_bytes=pool)

    def _timed(self, engine: Engine, batch: int) -> Row:
        inputs = self.inputs(engine, batch)
        runs: list[Timed] = []
        for number in range(self._uncounted + self.options.runs):
            if number > self._uncounted and runs[0].report.seconds > SLOW_SECONDS:
                break
            made, results = timed(engine, self._program, inputs)
            runs.append(made)
            if number > 0 and made.report.seconds > ENDLESS_SECONDS:
                break
        return _summary(runs, min(self._uncounted, len(runs) - 1)) | self.quality(results, batch)

    @property
    def _uncounted(self) -> int:
        """Runs before those that count. On a GPU the third one makes the graph that the later ones launch."""
        return 3 if self.options.device.startswith("cuda") else 1

    # On a model

    def _replayed(self, model: DeviceModel, kind: Kind) -> Row:
        policy, budget = kind.manner, kind.budget_bytes or None
        trace = self._placing(kind.batch) if policy in PLACING else self._rehearsals[kind.batch].trace
        if policy == "resident":  # also where the device has too little memory
            model = model.with_memory(max(model.usable_bytes, 2 * trace.peak_bytes))
        try:
            found = replay(trace, model, policy_name(policy), budget, async_ratio=kind.async_peak)
        except OutOfMemory as refused:
            return {"out_of_memory": str(refused)}
        first, last = (float(found.operations()[self.call][at]) for at in (0, -1))
        numbers = ("stall_seconds", "loaded_bytes", "stored_bytes")
        both = {f"both_{name}": getattr(found, name) for name in numbers}
        return {"seconds": last, "first_seconds": first} | both

    def _placing(self, batch: int, calls: int = 2) -> Trace:
        """Calls with the allocation of keys and constants before them."""
        if (batch, calls) not in self._placed:
            self._placed[batch, calls] = self._rehearse(batch, setup=True, calls=calls).trace
        return self._placed[batch, calls]


def _summary(runs: Sequence[Timed], uncounted: int) -> Row:
    """Medians of all runs but the first ones."""
    counted = runs[uncounted:]

    def median(values: Iterable[float]) -> float:
        return float(statistics.median(values))

    last = counted[-1].report
    return {
        "seconds": median(each.report.seconds for each in counted),
        "first_seconds": runs[0].report.seconds,
        "runs": len(counted),
        "cpu_seconds": median(each.cpu_seconds for each in counted),
        "stall_seconds": median(each.report.stall_seconds for each in counted),
        "plan_seconds": sum(each.report.plan_seconds for each in runs),
        "loaded_bytes": last.bytes_moved.get("loaded", 0),
        "written_bytes": last.bytes_moved.get("written", 0),
        "regenerated_bytes": sum(last.bytes_moved.get(kind, 0) for kind in ("expanded", "encoded")),
        "peak_bytes": last.peak_fast_bytes if last.bytes_moved else last.peak_bytes,
        "followed_plan": last.followed_plan,
    }
