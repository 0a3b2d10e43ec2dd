# SPDX-License-Identifier: Apache-2.0
"""The same calls under several policies and budgets: one client, its keys, and an engine for each policy."""

from __future__ import annotations

import dataclasses
import functools
import os
import resource
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.keys import EvaluationKeys, KeyPlan
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...memory.budget import SMALLEST_CALLS
from ...memory.trace import CLASSES, Trace
from ...workloads.options import RunOptions
from ...workloads.running import Progress, make_engine, probe_device, recording, send_keys

Program = Callable[[list[Ciphertext]], Any]
"""A function of all inputs, of which it uses what it needs."""

_KEPT_SHARE = 8
"""Keys that take less than this part of the machine's memory are generated once for all engines."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """A ciphertext without contents."""

    level: int
    slots: int
    real: bool = False
    """Whether it is known to hold real numbers."""


@dataclasses.dataclass(frozen=True)
class Rehearsal:
    """What calls would do to an engine, as a ghost found it."""

    trace: Trace
    peak_bytes: int


@dataclasses.dataclass(frozen=True)
class Timed:
    """A call: what the engine says about it, and the processor time of this process."""

    report: RunReport
    cpu_seconds: float


class PolicyRig:
    """Makes engines that have the same keys and the same constants.

    prepare: what is encoded on each engine before the calls.
    options: device, threads and the rest; policy and memory are those that `engine` is called with.
    tables: allocations of an engine before its first key, with which decisions of `profiled` begin.
    """

    def __init__(
        self,
        params: Params,
        plan: KeyPlan,
        prepare: Callable[[Engine], None],
        options: RunOptions,
        *,
        seeded: bool = False,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self.plan, self.options, self.seeded = params, plan, options, seeded
        self._prepare, self._progress = prepare, progress
        self._cache_bytes, self.tables = probe_device(options.device)

    @functools.cached_property
    def client(self) -> Client:
        """Owner of the keys."""
        return Client(self.params, threads=self.options.threads)

    @functools.cached_property
    def _keys(self) -> EvaluationKeys | None:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if self.plan.nbytes(seeded=True) >= machine // _KEPT_SHARE:
            return None
        report = functools.partial(self._progress, "generating keys")
        return self.client.evaluation_keys(plan=self.plan, progress=report)

    def engine(
        self, policy: str, memory: int | None, decisions: bytes | None = None, *, blocking: bool = False
    ) -> Engine:
        """An engine with all keys and constants. blocking: see `MemoryOptions.blocking_copies`."""
        chosen = dataclasses.replace(self.options, policy=policy, memory=memory, blocking_copies=blocking)
        made = make_engine(self.params, chosen, 0, keep_seeds=self.seeded, decisions=decisions)
        if self._keys is not None:
            made.add_keys(self._keys)
        else:
            send_keys(self.client, made, self.plan, self._progress)
        self._prepare(made)
        return made

    def rehearse(
        self, shapes: Sequence[Shape], calls: Sequence[tuple[str, Program]], *, setup: bool
    ) -> Rehearsal:
        """The calls on a ghost, each in the phase of its name.

        setup: record keys and constants as well, in the order in which `engine` gets them, as decisions of
            policy `profiled` need it, and that they are freed at the end, since only what is freed has a
            lifetime; otherwise they are there before the recording begins.
        """
        ghost = Engine(self.params, device="ghost", keep_seeds=self.seeded)
        ghost._core.cache_bytes = self._cache_bytes
        ghost._core.joining_budget = SMALLEST_CALLS
        inputs: list[Ciphertext] = []

        def begin() -> None:
            for request in self.plan.requests():
                ghost._core.prepare_keys([request])
            self._prepare(ghost)
            inputs.extend(ghost.ghost_input(level=s.level, slots=s.slots, real=s.real) for s in shapes)

        if not setup:
            begin()
        with recording(ghost) as trace:
            if setup:
                begin()
            ghost.reset_peak()
            for name, program in calls:
                with ghost.phase(name):
                    program(inputs)
        assert trace is not None  # it was wanted
        return Rehearsal(_ended(trace) if setup else trace, int(ghost.stats()["peak_bytes"]))


def _ended(trace: Trace) -> Trace:
    """The trace of a program that exits: with frees of all that is left, in the order of its allocation."""
    lives = trace.lifetimes.allocations()
    left = np.flatnonzero(~lives.freed)
    step, now = (int(trace.columns[name][-1]) for name in ("step", "time_ns"))
    rows = (
        f"{step},-,free,{lives.object[at]},{CLASSES[lives.cls[at]]},{lives.bytes[at]},0,0,{now},{lives.tag[at]}\n"
        for at in left
    )
    return Trace.from_csv(trace.to_csv() + "".join(rows))


def timed(engine: Engine, program: Program, inputs: list[Ciphertext]) -> tuple[Timed, Any]:
    """Runs a program; what it took, and its result."""
    before = _cpu_seconds()
    result = engine.run(program, inputs)
    assert engine.last_run is not None  # it just ran
    return Timed(engine.last_run, _cpu_seconds() - before), result


def _cpu_seconds() -> float:
    """Processor time of this process, in all of its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
