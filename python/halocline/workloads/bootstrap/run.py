# SPDX-License-Identifier: Apache-2.0
"""`halocline run bootstrap`: bootstraps of random messages, several at once or one after another."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...engine.minimum import MinimumBudget
from ...engine.program import ProgramTrace, trace_program
from ...memory.trace import Trace
from ..resident import peak_resident_bytes, resident_bytes
from ..running import (
    Progress,
    Room,
    Stopwatch,
    engine_report,
    kept_seeds,
    key_bytes,
    make_engine,
    recording,
    seeded_keys,
    send_keys,
)
from .messages import bits, largest_part, make_bootstrapper, random_message
from .options import BootstrapRunOptions


@dataclasses.dataclass(frozen=True)
class CallFacts:
    """One call of a chain: how precise its results are, and what the engine held."""

    mean_bits: float
    worst_bits: float
    seconds: float
    live_bytes: int
    """After the call, on whatever tier."""
    peak_bytes: int
    """Most that was in fast memory during the call."""
    loaded_bytes: int
    resident_bytes: int
    """Of the process, after the call."""


def _settings(options: BootstrapRunOptions) -> dict[str, Any]:
    """Settings of the bootstrapper. Under a plan its keys are those that suit the budget, unless it was said
    which keys stay seeded, or the budget is a share of what is needed, which depends on the keys.
    """
    memory, settings = options.memory, dict(options.bootstrap)
    is_share = isinstance(memory, str) and memory.strip().endswith("%")
    if options.policy == "planned" and not (options.seeded or options.key_memory is not None or is_share):
        settings = {"memory": memory} | settings
    return settings


class BootstrapRun:
    """One run of the workload. `report` is complete after `run`."""

    def __init__(
        self,
        params: Params,
        options: BootstrapRunOptions | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self.options, self._progress = params, options or BootstrapRunOptions(), progress
        self._phases = Stopwatch()
        self.bootstrapper = make_bootstrapper(params, _settings(self.options))
        seeds = range(self.options.seed, self.options.seed + self.options.batches)
        self.messages = [random_message(self.bootstrapper, seed) for seed in seeds]
        self.turn = np.exp(2j * np.pi * np.random.default_rng(1).uniform(0, 1, self.bootstrapper.slots))
        if self.bootstrapper.options.real:
            self.turn = np.sign(self.turn.real).astype(np.complex128)
        self.trace: Trace | None = None
        """What happened in the first call, when that was asked for."""
        self.first_errors: npt.NDArray[np.float64] = np.zeros(0)
        """Of all slots, after the first call."""
        self.calls: list[CallFacts] = []
        self.runs: list[RunReport] = []
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""
        baseline = resident_bytes()
        with self._phases("keygen"):
            client = Client(self.params, threads=self.options.threads)
        with self._phases("encrypt"):
            level = self.bootstrapper.input_level
            cts = [client.encrypt(each, level=level) for each in self.messages]
        with self._phases("ghost"):
            traced = trace_program(self.params, self.program, cts)
        with self._phases("engine"):
            seeds = seeded_keys(
                traced.key_plan, traced.key_uses, self.options.seeded, self.options.key_memory
            )
            room = Room.of(traced, lambda: self._minimum(traced, cts, seeds))
            engine = make_engine(self.params, self.options, traced.peak_bytes, keep_seeds=seeds, room=room)
        with self._phases("keygen"):
            send_keys(client, engine, traced.key_plan, self._progress)
        with self._phases("encode"):
            self.bootstrapper.encode(engine)
        self._evaluate(client, engine, cts)
        self.report = self._head(engine, traced) | self._quality()
        self.report |= {"peak_rss_bytes": peak_resident_bytes(), "baseline_rss_bytes": baseline}
        return self.report

    def program(self, cts: list[Ciphertext]) -> list[Ciphertext]:
        """What the engine runs."""
        return self.bootstrapper(cts)

    def _minimum(
        self, traced: ProgramTrace, cts: list[Ciphertext], seeds: bool | frozenset[int] | None
    ) -> MinimumBudget:
        """What the run needs; with seeded keys that is less than what was traced."""
        if seeds is not None:
            traced = trace_program(self.params, self.program, cts, keep_seeds=seeds)
        return traced.minimum_budget

    def _evaluate(self, client: Client, engine: Engine, cts: list[Ciphertext]) -> None:
        expected = self.messages
        for call in range(self.options.repeat):
            self._progress("bootstrapping", call, self.options.repeat)
            records = self.options.record_trace and call == 0
            with self._phases("evaluate"), recording(engine, records) as trace:
                cts = engine.run(self.program, cts)
            self.trace = trace if records else self.trace
            assert engine.last_run is not None  # it just ran
            self.runs.append(engine.last_run)
            with self._phases("decrypt"):
                found = [client.decrypt(each) - wanted for each, wanted in zip(cts, expected, strict=True)]
            errors = np.concatenate([largest_part(each) for each in found])
            if call == 0:
                self.first_errors = errors
            self.calls.append(self._facts(engine, errors))
            if call + 1 < self.options.repeat:
                expected = [each * self.turn for each in expected]
                cts = [each * self.turn for each in cts]
        self._progress("bootstrapping", self.options.repeat, self.options.repeat)

    def _facts(self, engine: Engine, errors: npt.NDArray[np.float64]) -> CallFacts:
        """What is kept of a call: errors of all slots of a thousand would be a quarter of a gigabyte."""
        ran = self.runs[-1]
        return CallFacts(
            mean_bits=bits(float(errors.mean())),
            worst_bits=bits(float(errors.max())),
            seconds=ran.seconds,
            live_bytes=int(engine.stats()["live_bytes"]),
            peak_bytes=ran.peak_fast_bytes if ran.bytes_moved else ran.peak_bytes,
            loaded_bytes=ran.bytes_moved.get("loaded", 0),
            resident_bytes=resident_bytes(),
        )

    def _head(self, engine: Engine, traced: ProgramTrace) -> dict[str, Any]:
        """What every workload reports, and what is special about this one."""
        fastest = min(each.seconds for each in self.runs)
        facts, seeds = self.bootstrapper.describe(engine), kept_seeds(engine)
        return {
            "workload": "bootstrap",
            **engine_report(engine, self.runs, self._phases),
            "footprint_bytes": traced.peak_bytes,
            "program_seconds": [each.seconds for each in self.runs],
            "ms_per_bootstrap": 1e3 * fastest / self.options.batches,
            "memory_by_call": {
                name: [getattr(each, name) for each in self.calls]
                for name in ("live_bytes", "peak_bytes", "loaded_bytes", "resident_bytes")
            },
            "batches": self.options.batches,
            "repeat": self.options.repeat,
            "seeded": self.options.seeded,
            "bootstrap": dataclasses.asdict(self.bootstrapper.options) | facts,
            "log2_modulus_left": self.params.level(facts["output_level"]).log2_modulus,
            "distinct_keys": len(traced.key_plan),
            "seeded_keys": len(seeds) if isinstance(seeds, frozenset) else len(traced.key_plan) * seeds,
            "key_bytes": key_bytes(self.params, traced.key_plan, seeds),
        }

    def _quality(self) -> dict[str, Any]:
        """Precision in bits after the first call, and how it develops."""
        first = self.calls[0]
        return {
            "precision_bits": first.mean_bits,
            "precision_worst_bits": first.worst_bits,
            "precision_bits_by_call": [each.mean_bits for each in self.calls],
            "precision_worst_bits_by_call": [each.worst_bits for each in self.calls],
        }


def run(
    options: BootstrapRunOptions | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or BootstrapRunOptions()
    return BootstrapRun(named_params(o.params, o.allow_insecure), o, progress).run()
