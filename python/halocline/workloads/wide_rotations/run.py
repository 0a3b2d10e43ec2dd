# SPDX-License-Identifier: Apache-2.0
"""`halocline run wide-rotations`: many rotation keys in a small memory."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...engine.program import ProgramTrace, trace_program
from ...memory.trace import Trace
from ..resident import peak_resident_bytes, resident_bytes
from ..running import (
    Progress,
    Room,
    Stopwatch,
    engine_report,
    make_engine,
    recording,
    send_keys,
)
from .circuit import Vector, WideRotations
from .options import WideOptions


class WideRun:
    """One run of the workload. `report` is complete after `run`.

    A share as budget, such as "25%", is one of the engine's footprint: everything that the program touches,
    all keys at the levels where they are used, as a ghost run finds it.
    """

    def __init__(
        self,
        params: Params,
        options: WideOptions | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self.options, self._progress = params, options or WideOptions(), progress
        o = self.options
        if params.max_level < o.layers:
            raise o.refuse(
                f"{{layers}}: {o.layers} layers need as many levels, '{params.name}' of {{params}} has "
                f"{params.max_level}"
            )
        self._phases = Stopwatch()
        with self._phases("load"):
            self.network = WideRotations(
                o.seed, o.batches, o.layers, o.rotations_per_layer, o.keys, slots=params.slots
            )
            self.inputs = self.network.inputs()
        self.trace: Trace | None = None
        """What happened in the first evaluation, when that was asked for."""
        self.runs: list[RunReport] = []
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""
        baseline = resident_bytes()
        with self._phases("keygen"):
            client = Client(self.params, threads=self.options.threads)
        with self._phases("encrypt"):
            cts = [client.encrypt(each) for each in self.inputs]
        with self._phases("ghost"):
            traced = trace_program(self.params, self.network.program, *cts)
        with self._phases("engine"):
            engine = make_engine(self.params, self.options, traced.peak_bytes, room=Room.of(traced))
        with self._phases("keygen"):
            send_keys(client, engine, traced.key_plan, self._progress)
        results = self._evaluate(engine, cts)
        with self._phases("decrypt"):
            values = [client.decrypt(each) for each in results]
        self.report = self._head(engine, traced) | self._quality(values)
        self.report |= {
            "ciphertext_bytes": cts[0].nbytes,
            "peak_rss_bytes": peak_resident_bytes(),
            "baseline_rss_bytes": baseline,
        }
        return self.report

    def _evaluate(self, engine: Engine, cts: list[Ciphertext]) -> list[Ciphertext]:
        results: list[Ciphertext] = []
        for done in range(self.options.repeat):
            self._progress("evaluating", done, self.options.repeat)
            records = self.options.record_trace and done == 0
            with self._phases("evaluate"), recording(engine, records) as trace:
                results = engine.run(self.network.program, *cts)
            self.trace = trace if records else self.trace
            assert engine.last_run is not None  # it just ran
            self.runs.append(engine.last_run)
        self._progress("evaluating", self.options.repeat, self.options.repeat)
        return results

    def _head(self, engine: Engine, traced: ProgramTrace) -> dict[str, Any]:
        """What every workload reports, and the size of this one; times without the first of several runs."""
        counted = self.runs[1:] or self.runs
        seconds = statistics.median(each.seconds for each in counted)
        switches, keys = self.network.key_switches, traced.key_plan
        return {
            "workload": "wide-rotations",
            **engine_report(engine, counted[-1:], self._phases),
            "stall_seconds": statistics.median(each.stall_seconds for each in counted),
            "plan_seconds": sum(each.plan_seconds for each in self.runs),
            "footprint_bytes": traced.peak_bytes,
            "program_seconds": seconds,
            "first_run_seconds": self.runs[0].seconds,
            "repeat": self.options.repeat,
            "seed": self.options.seed,
            "batches": self.options.batches,
            "layers": self.options.layers,
            "key_switches": switches,
            "ms_per_key_switch": 1e3 * seconds / switches,
            "distinct_keys": len(keys.rotations),
            "key_bytes": keys.nbytes(),
        }

    def _quality(self, values: list[Vector]) -> dict[str, float]:
        """Precision of the decrypted outputs in bits, against the network in the clear."""
        error = np.abs(np.array(values) - np.array(self.network.reference(*self.inputs)))
        tiny = np.finfo(np.float64).tiny
        return {
            "precision_bits": float(-np.log2(max(error.mean(), tiny))),
            "precision_worst_bits": float(-np.log2(max(error.max(), tiny))),
        }


def run(
    options: WideOptions | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or WideOptions()
    return WideRun(named_params(o.params, o.allow_insecure), o, progress).run()
