# SPDX-License-Identifier: Apache-2.0
"""What bootstrapping costs when memory is short: `halocline bench bootstrap-budget`.

Slowdown against `resident` by budget, from everything that a bootstrap touches down to the least that a plan
can do with, for one ciphertext and for several at once. Measured on an engine, or replayed on a device model.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._values import byte_count
from ..budget import budget_of
from ..engine import Engine
from ..errors import OutOfMemory
from ..params import Params
from ..planning import plan_trace
from ..replaying import (
    DEFAULT_ASYNC_RATIO,
    DeviceModel,
    decide,
    device_models,
    replay,
)
from .bootstrap_run import bits, largest_part, make_bootstrapper, random_message
from .policy_rig import PolicyRig, Program, Rehearsal, Shape, Timed, timed
from .running import Progress, RunOptions

SCHEMA = 1
SUITE = "bootstrap-budget"
POLICIES = ("planned", "lru", "profiled", "dynamic", "managed")
MINIMUM = "minimum"
BUDGETS = ("100%", "75%", "50%", "35%", "25%", "15%", "10%", MINIMUM)
BATCHES = (1, 8)
RUNS = 3
"""Timed runs of each kind, after one that is not timed."""
SLOW_SECONDS = 2.0
"""Of a kind whose first run takes longer, one more is enough."""

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class CurveOptions:
    """What is measured.

    device: cpu, cuda:0, or the name of a device model, on which everything is simulated.
    budgets: sizes, shares of what one call touches, or "minimum", the least that a plan can do with.
    batches: ciphertexts in one call. bootstrap: fields of `BootstrapOptions`.
    """

    device: str = "cpu"
    policies: Sequence[str] = POLICIES
    budgets: Sequence[str] = BUDGETS
    batches: Sequence[int] = BATCHES
    runs: int = RUNS
    threads: int | None = None
    seeded: bool = False
    async_peak: float = DEFAULT_ASYNC_RATIO
    bootstrap: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def run_bootstrap_budget(
    params: Params,
    options: CurveOptions | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Row:
    """A row for each policy, batch and budget, as `--json` writes it."""
    made = _Curve(params, options or CurveOptions(), progress)
    return made.run()


class _Curve:
    """One run of the benchmark."""

    def __init__(self, params: Params, options: CurveOptions, progress: Progress) -> None:
        self.params, self.options, self._progress = params, options, progress
        self._model = device_models().get(options.device)
        self.bootstrapper = make_bootstrapper(params, options.bootstrap)
        run = RunOptions(device="cpu" if self._model else options.device, threads=options.threads)
        self._rig = PolicyRig(
            params,
            self.bootstrapper.key_plan,
            self.bootstrapper.encode,
            run,
            seeded=options.seeded,
            progress=progress,
        )
        self._messages = [random_message(self.bootstrapper, seed) for seed in range(max(options.batches))]
        self._program: Program = self.bootstrapper
        self._rehearsals = {batch: self._rehearse(batch) for batch in options.batches}
        self._minimum = {batch: self._least(each) for batch, each in self._rehearsals.items()}
        self._rows: list[Row] = []
        self._engine: Engine | None = None

    def run(self) -> Row:
        """Measures everything."""
        o = self.options
        total = (len(o.policies) * len(o.budgets) + 1) * len(o.batches)
        for row in self._measure() if self._model is None else self._replay(self._model):
            self._rows.append(row)
            self._progress("measuring", len(self._rows), total)
        facts = self.bootstrapper.describe()
        return {
            "schema": SCHEMA,
            "suite": SUITE,
            "device": o.device,
            "simulated": self._model is not None,
            "params": self.params.name,
            "bootstrap": dataclasses.asdict(self.bootstrapper.options),
            "forecast_worst_bits": facts["worst_bits"],
            "seeded": o.seeded,
            "threads": o.threads,
            "runs": o.runs,
            "async_peak": o.async_peak,
            "batches": [
                {
                    "batch": batch,
                    "footprint_bytes": each.peak_bytes,
                    "minimum_bytes": self._minimum[batch],
                }
                for batch, each in self._rehearsals.items()
            ],
            "rows": self._rows,
        }

    # Before

    def _rehearse(self, batch: int, *, setup: bool = False, calls: int = 2) -> Rehearsal:
        shapes = [Shape(self.bootstrapper.input_level, self.bootstrapper.slots)] * batch
        names = [(f"bootstrap {number + 1}", self._program) for number in range(calls)]
        return self._rig.rehearse(shapes, names, setup=setup)

    def _least(self, rehearsal: Rehearsal) -> int:
        return plan_trace(rehearsal.trace, rehearsal.peak_bytes).summary.minimum_bytes

    def _budget(self, batch: int, text: str) -> int:
        if text == MINIMUM:
            return self._minimum[batch]
        return byte_count(budget_of(text, self._rehearsals[batch].peak_bytes), "bootstrap-budget: budget")

    def _kinds(self) -> Iterator[tuple[str, int, str, int]]:
        """Policy, batch, budget as it was given, and its bytes."""
        o = self.options
        for policy in o.policies:
            for batch in o.batches:
                for text in o.budgets:
                    yield policy, batch, text, self._budget(batch, text)

    def _row(self, kind: tuple[str, int, str, int], found: Row, base: float | None) -> Row:
        policy, batch, text, budget = kind
        share = budget / self._rehearsals[batch].peak_bytes if budget else None
        about = {"policy": policy, "batch": batch, "memory": text, "budget_bytes": budget, "share": share}
        if "seconds" in found:
            found = found | {"slowdown": None if base is None else found["seconds"] / base}
        return about | found

    # On a device

    def _measure(self) -> Iterator[Row]:
        base: dict[int, float | None] = {}
        for batch in self.options.batches:
            kind = ("resident", batch, "all", 0)
            found = self._times(*kind)
            base[batch] = found.get("seconds")
            yield self._row(kind, found, base[batch])
        for kind in self._kinds():
            yield self._row(kind, self._times(*kind), base[kind[1]])
        self._engine = None

    def _times(self, policy: str, batch: int, _: str, budget: int) -> Row:
        """Runs a batch several times; or why it could not."""
        try:
            return self._timed(self._engine_for(policy, batch, budget), batch)
        except OutOfMemory as refused:
            return {"out_of_memory": str(refused)}

    def _engine_for(self, policy: str, batch: int, budget: int) -> Engine:
        """An engine within a budget: the one that is there, where its policy is asked for again.

        Decisions of `profiled` count allocations from an engine's beginning, and depend on the budget.
        """
        if policy == "profiled" or self._engine is None or self._engine.policy != policy:
            self._engine = None  # its keys go before those of the next one come
            decisions, room = None, None
            if policy == "profiled":
                decisions, room = self._decisions(batch, budget), budget
            elif policy != "resident":
                room = max(each.peak_bytes for each in self._rehearsals.values())
            self._engine = self._rig.engine(policy, room, decisions)
        if budget != self._engine.budget_bytes:
            self._engine.set_budget(budget)
        return self._engine

    def _decisions(self, batch: int, budget: int) -> bytes:
        trace = self._rehearse(batch, setup=True, calls=1 + self.options.runs).trace
        pool = max(1, int(self.options.async_peak * budget))
        return bytes(self._rig.tables) + decide(trace, pool_bytes=pool)

    def _timed(self, engine: Engine, batch: int) -> Row:
        level, client = self.bootstrapper.input_level, self._rig.client
        messages = self._messages[:batch]
        inputs = [client.encrypt(each, level=level).to(engine) for each in messages]
        runs: list[Timed] = []
        # On a GPU the third run makes the graph that the later ones launch.
        uncounted = 3 if engine.device.startswith("cuda") else 1
        for number in range(uncounted + self.options.runs):
            if number > uncounted and runs[0].report.seconds > SLOW_SECONDS:
                break
            made, results = timed(engine, self._program, inputs)
            runs.append(made)
        errors = [
            largest_part(client.decrypt(each) - wanted).max()
            for each, wanted in zip(results, messages, strict=True)
        ]
        return _summary(runs, uncounted) | {"precision_worst_bits": bits(float(max(errors)))}

    # On a model

    def _replay(self, model: DeviceModel) -> Iterator[Row]:
        base: dict[int, float | None] = {}
        for batch in self.options.batches:
            trace = self._rehearsals[batch].trace
            roomy = model.with_memory(max(model.usable_bytes, 2 * trace.peak_bytes))
            found = self._replayed(roomy, "resident", batch, None)
            base[batch] = found.get("seconds")
            yield self._row(("resident", batch, "all", 0), found, base[batch])
        for kind in self._kinds():
            policy, batch, _, budget = kind
            yield self._row(kind, self._replayed(model, policy, batch, budget), base[batch])

    def _replayed(self, model: DeviceModel, policy: str, batch: int, budget: int | None) -> Row:
        trace = self._rehearsals[batch].trace
        try:
            found = replay(trace, model, policy, budget, async_ratio=self.options.async_peak)
        except OutOfMemory as refused:
            return {"out_of_memory": str(refused)}
        first, last = (float(found.operations()["bootstrap"][at]) for at in (0, -1))
        numbers = ("stall_seconds", "loaded_bytes", "stored_bytes")
        both = {f"both_{name}": getattr(found, name) for name in numbers}
        return {"seconds": last, "first_seconds": first} | both


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
