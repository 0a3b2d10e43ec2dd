# SPDX-License-Identifier: Apache-2.0
"""Latencies of single operations under each policy: `halocline bench bm-operations`.

Figures 3, 11 and 12 of the hybrid unified-memory paper, measured: add, multiply, rotate, conjugate and
bootstrap, each several times in a row on an engine that has the keys of all of them and a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import OutOfMemory
from ...base.values import byte_count
from ...bench.budgets.rig import PolicyRig, Program, Shape, timed
from ...bench.keeping import SILENT, Watcher, expect_row
from ...circuits.bootstrapping import Bootstrapper
from ...ckks.ciphertext import Ciphertext
from ...ckks.keys import KeyPlan
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine
from ...engine.program import key_plan
from ...memory.budget import budget_of
from ...tracing.replay import decide
from ...workloads.bootstrap.messages import make_bootstrapper, random_message
from ...workloads.options import RunOptions
from ...workloads.running import Progress
from .options import OperationsOptions
from .traces import OPERATIONS

SCHEMA = 1
SUITE = "bm-operations"

Row = dict[str, Any]


def run_bm_operations(
    params: Sequence[Params], options: OperationsOptions | None = None, watcher: Watcher = SILENT
) -> Row:
    """A session for each parameter set, budget and policy, as `--json` writes it."""
    o = options or OperationsOptions()
    content: Row = {
        "schema": SCHEMA,
        "suite": SUITE,
        "device": o.device,
        "repeats": o.repeats,
        "threads": o.threads,
        "seeded": o.seeded,
        "async_peak": o.async_peak,
        "bootstrap": {"compact": True} | dict(o.bootstrap),
        "sessions": [],
    }
    total = len(params) * len(o.budgets) * len(o.policies)
    earlier = watcher.rows("sessions")
    for each in params:
        bench: _Sessions | None = None
        for memory in o.budgets:
            for policy in o.policies:
                done = len(content["sessions"])
                if done < len(earlier):
                    about = {"params": each.name, "policy": policy, "memory": memory}
                    content["sessions"].append(expect_row(earlier[done], about, seconds=None))
                    continue
                bench = bench or _Sessions(each, o, watcher.progress)
                content["sessions"].append(bench.run(policy, memory))
                watcher.row("measuring", content, done + 1, total)
    return content


def run(options: OperationsOptions | None = None, watcher: Watcher = SILENT) -> Row:
    """The suite with its options, as `--json` writes it."""
    o = options or OperationsOptions()
    return run_bm_operations([named_params(each, o.allow_insecure) for each in o.params], o, watcher)


class _Sessions:
    """All sessions with one parameter set."""

    def __init__(self, params: Params, options: OperationsOptions, progress: Progress) -> None:
        self.params, self.options = params, options
        self.bootstrapper = make_bootstrapper(params, {"compact": True} | dict(options.bootstrap))
        self._calls = _programs(self.bootstrapper)
        run = RunOptions(device=options.device, threads=options.threads)
        self._rig = PolicyRig(
            params, self._keys(), self.bootstrapper.encode, run, seeded=options.seeded, progress=progress
        )
        self._peak = self._rig.rehearse(self._shapes(), self._sequence(1), setup=False).peak_bytes

    def run(self, policy: str, memory: str) -> Row:
        """One session: times of each operation, or why it could not be."""
        budget = self._budget(memory)
        about = {"params": self.params.name, "policy": policy, "memory": memory, "budget_bytes": budget}
        about["footprint_bytes"] = self._peak
        try:
            engine = self._rig.engine(policy, budget, self._decisions(policy, budget))
            return about | {"operations": self._times(engine)}
        except OutOfMemory as refused:
            return about | {"out_of_memory": str(refused)}

    def _budget(self, memory: str) -> int:
        return byte_count(budget_of(memory, self._peak), "bm-operations: budget")

    def _keys(self) -> KeyPlan:
        levels = dict(self.bootstrapper.key_plan.requests())
        simple = [program for name, program in self._calls.items() if name != "bootstrap"]
        ones = np.ones(self.params.slots)
        for program in simple:
            for element, level in key_plan(self.params, program, [ones, ones]).requests():
                levels[element] = max(level, levels.get(element, 0))
        return KeyPlan(self.params, levels.items())

    def _shapes(self) -> list[Shape]:
        top = Shape(self.params.max_level, self.params.slots)
        return [top, top, Shape(self.bootstrapper.input_level, self.bootstrapper.slots)]

    def _sequence(self, repeats: int) -> list[tuple[str, Program]]:
        return [
            (f"{name} {number}", self._calls[name]) for name in OPERATIONS for number in range(1, repeats + 1)
        ]

    def _decisions(self, policy: str, budget: int) -> bytes | None:
        if policy != "profiled":
            return None
        trace = self._rig.rehearse(self._shapes(), self._sequence(self.options.repeats), setup=True).trace
        pool = int(self.options.async_peak * budget)
        return bytes(self._rig.tables) + decide(trace, pool_bytes=max(1, pool))

    def _times(self, engine: Engine) -> dict[str, Row]:
        client = self._rig.client
        full = np.exp(2j * np.pi * np.random.default_rng(0).uniform(0, 1, self.params.slots))
        sources = [client.encrypt(full), client.encrypt(full)]
        message = random_message(self.bootstrapper, 1)
        sources.append(client.encrypt(message, level=self.bootstrapper.input_level))
        inputs = [each.to(engine) for each in sources]
        found: dict[str, list[float]] = {}
        moved: dict[str, int] = {}
        for name, program in self._sequence(self.options.repeats):
            operation = name.rpartition(" ")[0]
            ran = timed(engine, program, inputs)[0].report
            found.setdefault(operation, []).append(ran.seconds)
            moved[operation] = moved.get(operation, 0) + sum(ran.bytes_moved.values())
        return {name: _spread(times) | {"bytes_moved": moved[name]} for name, times in found.items()}


def _programs(bootstrapper: Bootstrapper) -> dict[str, Program]:
    """Operations on two fresh ciphertexts of all slots and one that needs bootstrapping."""

    def of_first(apply: Any) -> Program:
        return lambda inputs: apply(inputs[0], inputs[1])

    def bootstrap(inputs: list[Ciphertext]) -> Ciphertext:
        return bootstrapper(inputs[2])

    return {
        "add": of_first(lambda a, b: a + b),
        "mult": of_first(lambda a, b: a * b),
        "rotate": of_first(lambda a, b: a.rotate(1)),
        "conjugate": of_first(lambda a, b: a.conj()),
        "bootstrap": bootstrap,
    }


def _spread(times: Sequence[float]) -> Row:
    values = np.array(times)
    return {
        "mean": float(values.mean()),
        "deviation": float(values.std()),
        "low": float(values.min()),
        "high": float(values.max()),
        "seconds": times,
    }
