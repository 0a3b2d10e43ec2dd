# SPDX-License-Identifier: Apache-2.0
"""`halocline run bm-bootstrap`: every kind of bootstrapping on one parameter set after another.

Each set has a client and an engine of its own; the engines share one budget. The keys and constants of a
finished set stay where they are until the policy evicts them for those of the next.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

from ... import _core
from ...base.errors import InvalidArgument, OutOfMemory
from ...ckks.client import Client
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...memory.budget import MemoryBudget, budget_of
from ...memory.trace import Trace
from ...workloads.bootstrap.messages import bits, largest_part, random_message
from ...workloads.resident import peak_resident_bytes, resident_bytes
from ...workloads.running import (
    Progress,
    Stopwatch,
    make_engine,
    memory_report,
    probe_device,
    recording,
    send_keys,
)
from .bootstrap import (
    Rehearsal,
    Stage,
    Task,
    decide_for_all,
    footprint_of,
    joined_trace,
    phase_name,
)
from .options import BmOptions


@dataclasses.dataclass
class _Live:
    """What a set keeps from its first turn to the end."""

    client: Client
    engine: Engine
    seconds: dict[str, float]
    trace: Trace | None = None


class BmBootstrapRun:
    """One run of the workload. `report` is complete after `run`."""

    def __init__(
        self,
        params: Sequence[Params],
        options: BmOptions | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.options, self._progress = options or BmOptions(), progress
        o = self.options
        if not params or len({each.fingerprint for each in params}) < len(params):
            raise InvalidArgument("bm-bootstrap: expected at least one parameter set, and none twice")
        found = _core.report_device(o.device, False)
        self._free_bytes: int | None = None if found is None else int(found["free_bytes"])
        self._phases = Stopwatch()
        self._live: dict[str, _Live] = {}
        with self._phases("prepare"):
            self.stages = [Stage(each, o.kinds, o.bootstrap) for each in params]
        self.trace: Trace | None = None
        """What happened in all engines, one after the other, when that was asked for."""
        self.runs: list[RunReport] = []
        self.rows: list[dict[str, Any]] = []
        """Of the report: one for each bootstrap."""
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    def run(self) -> dict[str, Any]:
        """Executes all rounds and returns the report.

        A policy that runs out of memory ends the run; `report["failed"]` says where and why, the other rows
        are those of what had been done.
        """
        baseline = resident_bytes()
        rehearsals = self._rehearse()
        footprint = footprint_of(rehearsals)
        size = budget_of(self.options.memory, footprint)
        budget = None if size is None else MemoryBudget(size)
        self._make_decisions(rehearsals, footprint if budget is None else budget.capacity)
        self._total = sum(len(each.key_plan) for each in rehearsals)
        self._total += self.options.repeat * sum(len(stage.tasks) for stage in self.stages)
        self._done = 0
        failed = None
        with contextlib.ExitStack() as recordings:
            try:
                self._play(rehearsals, budget, recordings)
            except OutOfMemory as refused:
                failed = {"params": self._stage.params.name, "message": str(refused)}
        self._join_traces()
        self.report = self._head(footprint, budget) | {"failed": failed, "rows": self.rows}
        self.report |= {"presets": self._presets(rehearsals)}
        self.report |= {"peak_rss_bytes": peak_resident_bytes(), "baseline_rss_bytes": baseline}
        return self.report

    # Before the run

    def _rehearse(self) -> list[Rehearsal]:
        o = self.options
        found = []
        with self._phases("ghost"):
            cache, self._tables = probe_device(o.device)
            for done, stage in enumerate(self.stages):
                self._progress("ghost runs", done, len(self.stages))
                record = o.policy == "profiled"
                limited = o.memory is not None
                found.append(
                    stage.rehearse(
                        o.repeat, seeded=o.seeded, record=record, cache_bytes=cache, limited=limited
                    )
                )
        self._progress("ghost runs", len(self.stages), len(self.stages))
        return found

    def _make_decisions(self, rehearsals: Sequence[Rehearsal], memory: int) -> None:
        self._decisions: list[bytes | None] = [None] * len(self.stages)
        if self.options.policy == "profiled":
            with self._phases("decide"):
                pool = int(self.options.async_peak * memory)
                made = decide_for_all(self.stages, rehearsals, self.options.repeat, pool)
                self._decisions = [bytes(self._tables) + each for each in made]

    # The run

    def _play(
        self,
        rehearsals: Sequence[Rehearsal],
        budget: MemoryBudget | None,
        recordings: contextlib.ExitStack,
    ) -> None:
        for number in range(1, self.options.repeat + 1):
            for place, stage in enumerate(self.stages):
                self._stage = stage
                if number == 1:
                    self._begin(stage, rehearsals[place], self._decisions[place], budget, recordings)
                for task in stage.tasks:
                    self.rows.append(self._bootstrap(stage, task, number))
                    self._step(f"{stage.params.name}: {task.kind}")

    def _step(self, what: str) -> None:
        self._done += 1
        self._progress(what if self._done < self._total else "bm-bootstrap", self._done, self._total)

    def _begin(
        self,
        stage: Stage,
        rehearsal: Rehearsal,
        decisions: bytes | None,
        budget: MemoryBudget | None,
        recordings: contextlib.ExitStack,
    ) -> None:
        """The first turn of a set: its client, its engine, its keys."""
        o, watch = self.options, Stopwatch()
        with self._phases("keygen"), watch("client"):
            client = Client(stage.params, threads=o.threads)
        with self._phases("engine"), watch("engine"):
            engine = make_engine(
                stage.params,
                o,
                rehearsal.peak_bytes,
                memory=budget,
                keep_seeds=o.seeded,
                managed_cap=self._managed_cap(),
                decisions=decisions,
            )
        made = _Live(client, engine, watch.seconds)
        self._live[stage.params.name] = made
        made.trace = recordings.enter_context(recording(engine, o.record_trace))
        with self._phases("keygen"), watch("keys"):
            send_keys(client, engine, rehearsal.key_plan, lambda *_: self._step(stage.params.name))

    def _bootstrap(self, stage: Stage, task: Task, number: int) -> dict[str, Any]:
        """One bootstrap: what it took, and how precise it is."""
        live, made = self._live[stage.params.name], task.bootstrapper
        message = random_message(made, self.options.seed + number)
        before = self._moved()
        with self._phases("encode"):
            made.encode(live.engine)
        with self._phases("encrypt"):
            source = live.client.encrypt(message, level=made.input_level)
        with self._phases("evaluate"), live.engine.phase(phase_name(task, number)):
            result = live.engine.run(made, source)
        ran = live.engine.last_run
        assert ran is not None  # it just ran
        self.runs.append(ran)
        with self._phases("decrypt"):
            error = largest_part(live.client.decrypt(result) - message)
        return {
            "round": number,
            "params": stage.params.name,
            "kind": task.kind,
            "seconds": ran.seconds,
            "precision_bits": bits(float(error.mean())),
            "precision_worst_bits": bits(float(error.max())),
            "forecast_worst_bits": made.describe()["worst_bits"],
            "slots": made.slots,
            "input_level": made.input_level,
            "output_level": result.level,
            "keys": len(made.key_plan),
            "key_bytes": made.key_plan.nbytes(self.options.seeded),
            "bytes_moved": {way: count - before.get(way, 0) for way, count in self._moved().items()},
            "stall_seconds": ran.stall_seconds,
            "plan_seconds": ran.plan_seconds,
            "followed_plan": ran.followed_plan,
            "live_peak_bytes": ran.peak_bytes,
            "peak_bytes": ran.peak_fast_bytes if ran.bytes_moved else ran.peak_bytes,
            "all_live_peak_bytes": ran.peak_bytes + self._live_elsewhere(live.engine),
        }

    def _managed_cap(self) -> int | None:
        """What earlier engines leave of the unified memory that all of them together may allocate."""
        if self._free_bytes is None:
            return None
        held = sum(int(each.engine.stats()["live_bytes"]) for each in self._live.values())
        return max(1, self._free_bytes // 2 - held)

    def _moved(self) -> dict[str, int]:
        """Bytes per way of moving of all engines so far: those of earlier sets move when room is needed."""
        total: dict[str, int] = {}
        for each in self._live.values():
            if each.engine._core.moves:
                moved = each.engine._core.movement()
                for way in ("loaded", "written", "populated", "expanded", "encoded"):
                    total[way] = total.get(way, 0) + int(moved[f"{way}_bytes"])
        return total

    def _live_elsewhere(self, engine: Engine) -> int:
        """What the engines of other sets hold, on whatever tier."""
        others = (each.engine for each in self._live.values() if each.engine is not engine)
        return sum(int(each.stats()["live_bytes"]) for each in others)

    # After the run

    def _join_traces(self) -> None:
        recorded = [each.trace for each in self._live.values() if each.trace is not None]
        if recorded:
            rounds = self.options.repeat if len(recorded) == len(self.stages) else 1
            self.trace = joined_trace(self.stages[: len(recorded)], recorded, rounds)

    def _presets(self, rehearsals: Sequence[Rehearsal]) -> list[dict[str, Any]]:
        """Sizes of all sets, and what the first turns took."""
        return [
            {
                "params": stage.params.name,
                "kinds": [task.kind for task in stage.tasks],
                "skipped": stage.skipped,
                "keys": len(each.key_plan),
                "key_bytes": each.key_plan.nbytes(self.options.seeded),
                "footprint_bytes": each.peak_bytes,
                "live_bytes": each.live_bytes,
                "seconds": self._live[stage.params.name].seconds if stage.params.name in self._live else {},
            }
            for stage, each in zip(self.stages, rehearsals, strict=True)
        ]

    def _head(self, footprint: int, budget: MemoryBudget | None) -> dict[str, Any]:
        """What every workload reports, of all engines together."""
        o = self.options
        used = [each.engine.describe()["threads"] for each in self._live.values()]
        memory = memory_report(self.runs)
        memory["bytes_moved"] = self._moved()
        memory["live_peak_bytes"] = max((row["all_live_peak_bytes"] for row in self.rows), default=0)
        memory["peak_bytes"] = memory["live_peak_bytes"] if budget is None else budget.peak
        return {
            "workload": "bm-bootstrap",
            "device": o.device,
            "params": ", ".join(stage.params.name for stage in self.stages),
            "policy": o.policy,
            "async_peak": o.async_peak if o.policy == "profiled" else None,
            "threads": used[0] if used else o.threads,
            "budget_bytes": 0 if budget is None else budget.capacity,
            "footprint_bytes": footprint,
            "seconds": {"total": self._phases.total} | self._phases.seconds,
            **memory,
            "repeat": o.repeat,
            "seeded": o.seeded,
            "bootstrap": {"compact": True} | o.bootstrap,
        }


def run(
    options: BmOptions | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or BmOptions()
    sets = [named_params(each, o.allow_insecure) for each in o.presets]
    return BmBootstrapRun(sets, o, progress).run()
