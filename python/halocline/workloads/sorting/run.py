# SPDX-License-Identifier: Apache-2.0
"""`halocline run sorting`: the client encrypts numbers, an engine without secret sorts them."""

from __future__ import annotations

import collections
import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...engine.footprint import engine_footprint
from ...engine.planned_run import shape_arguments
from ...engine.program import ProgramTrace, trace_program
from ...memory.trace import Trace
from ..resident import peak_resident_bytes, resident_bytes
from ..running import (
    Progress,
    Room,
    Stopwatch,
    engine_report,
    find_room,
    make_engine,
    recording,
    send_keys,
)
from .circuit import SortingCircuit, SortingStage
from .network import Array, check_count, disorder, prepare, restore, simulate, stages
from .options import SortingOptions

DEFAULT_COUNT = 1 << 14
DEFAULT_ALPHA = 11
"""The least with which 2^14 numbers come out right to 2^-7."""


class SortingRun:
    """One run of the workload. `report` is complete after `run`."""

    def __init__(
        self,
        params: Params,
        options: SortingOptions | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self.options, self._progress = params, options or SortingOptions(), progress
        self._phases = Stopwatch()
        count = check_count(self.options.count)
        self.circuit = SortingCircuit(params, count, self.options.alpha, self.options.bootstrap)
        self.numbers: Array = np.random.default_rng(self.options.seed).uniform(0, 1, count)
        self.sorted: Array = np.zeros(0)
        """What the client decrypts."""
        self.trace: Trace | None = None
        """What happened while sorting, when that was asked for."""
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""
        baseline = resident_bytes()
        count, alpha, circuit = self.circuit.count, self.circuit.alpha, self.circuit
        with self._phases("keygen"):
            client = Client(self.params, threads=self.options.threads)
        with self._phases("encrypt"):
            ct = client.encrypt(prepare(self.numbers, count, alpha), level=circuit.input_level)
        with self._phases("ghost"):
            traced = trace_program(self.params, self.circuit, ct)
            costs, plan = self._costs(traced), traced.key_plan
            room = Room.of(traced, lambda: find_room(self.params, plan, lambda on: self._rehearse(on, ct)))
            del traced  # of a million events
        with self._phases("engine"):
            engine = make_engine(self.params, self.options, costs["footprint_bytes"], room=room)
        with self._phases("keygen"):
            send_keys(client, engine, plan, self._progress)
        with self._phases("encode"):
            circuit.encode(engine)
        with self._phases("evaluate"), recording(engine, self.options.record_trace) as self.trace:
            ct, boots, runs = self._sort(engine, ct)
        with self._phases("decrypt"):
            self.sorted = restore(client.decrypt(ct), count, alpha)
        self.report = self._head(engine, boots, runs) | costs | self._quality()
        self.report |= {"peak_rss_bytes": peak_resident_bytes(), "baseline_rss_bytes": baseline}
        return self.report

    def _sort(self, engine: Engine, ct: Ciphertext) -> tuple[Ciphertext, list[RunReport], list[RunReport]]:
        """Runs of bootstraps, and of stages: of both there are few kinds, whose plans and graphs are kept."""
        boots: list[RunReport] = []
        runs: list[RunReport] = []

        def ran(kept: list[RunReport], program: Callable[[Ciphertext], Ciphertext]) -> Ciphertext:
            result = engine.run(program, ct)
            assert engine.last_run is not None  # it just ran
            kept.append(engine.last_run)
            return result

        total = len(self.circuit.program)
        for done, (stage, step) in enumerate(
            zip(stages(self.circuit.count), self.circuit.program, strict=True)
        ):
            self._progress("sorting", done, total)
            with engine.phase(f"phase {stage.phase}"):
                ct = ran(boots, self.circuit.bootstrapper) if done else ct
                ct = ran(runs, step)
        self._progress("sorting", total, total)
        return ct, boots, runs

    def _head(self, engine: Engine, boots: list[RunReport], runs: list[RunReport]) -> dict[str, Any]:
        """What every workload reports, and times."""
        before = [0.0, *(each.seconds for each in boots)]
        seconds = [boot + each.seconds for boot, each in zip(before, runs, strict=True)]
        return {
            "workload": "sorting",
            **engine_report(engine, [*boots, *runs], self._phases),
            "count": self.circuit.count,
            "seed": self.options.seed,
            "alpha": self.circuit.alpha,
            "stage_seconds": seconds,
            "bootstrap_seconds": sum(before),
            "sort_seconds": sum(seconds),
            "ms_per_stage": 1e3 * statistics.median(seconds),
        }

    def _rehearse(self, ghost: Engine, ct: Ciphertext) -> None:
        """What `run` does on an engine, for what it needs."""
        self.circuit.encode(ghost)
        (ct,), _ = shape_arguments(((ct,), {}), ghost)
        for done, step in enumerate(self.circuit.program):
            ct = self.circuit.bootstrapper(ct) if done else ct
            ct = step(ct)

    def _costs(self, traced: ProgramTrace) -> dict[str, Any]:
        """Levels, operations, keys and footprint, all known before the run."""
        facts = self.circuit.bootstrapper.describe()
        first: SortingStage = self.circuit.program[0]
        return {
            "stages": len(self.circuit.program),
            "bootstraps": len(self.circuit.program) - 1,
            "levels": {
                "bootstrap_from": facts["input_level"],
                "bootstrap_to": facts["output_level"],
                "stage_from": first.start_level,
                "stage_to": first.low_level,
            },
            "bootstrap": dataclasses.asdict(self.circuit.bootstrapper.options) | facts,
            "operations": self.circuit.operations(),
            "key_switches": sum(traced.key_uses.values()),
            "backend_calls": backend_calls(traced.trace),
            "distinct_keys": len(traced.key_plan),
            "key_bytes": traced.key_plan.nbytes(),
            "footprint_bytes": traced.peak_bytes,
            "footprint": engine_footprint(self.params, traced).rows,
        }

    def _quality(self) -> dict[str, Any]:
        """Distance from the sorted numbers, from what the polynomials give without noise, and order."""
        exact, modelled = np.sort(self.numbers), simulate(self.numbers, self.circuit.alpha)
        error, noise = np.abs(self.sorted - exact), np.abs(self.sorted - modelled)
        wrong, worst = disorder(self.sorted)
        return {
            "max_error": float(error.max()),
            "mean_error": float(error.mean()),
            "max_error_simulated": float(np.abs(modelled - exact).max()),
            "mean_error_simulated": float(np.abs(modelled - exact).mean()),
            "max_noise": float(noise.max()),
            "neighbours_out_of_order": wrong,
            "largest_disorder": worst,
        }


def backend_calls(trace: Trace) -> dict[str, int]:
    """How often a program calls each operation of the backend, the most frequent first."""
    columns = trace.columns
    steps, ops = columns["step"], columns["op"]
    first_of_step = np.flatnonzero(ops != "-")
    _, kept = np.unique(steps[first_of_step], return_index=True)
    return dict(collections.Counter(str(each) for each in ops[first_of_step[kept]]).most_common())


def run(
    options: SortingOptions | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or SortingOptions()
    return SortingRun(named_params(o.params, o.allow_insecure), o, progress).run()
