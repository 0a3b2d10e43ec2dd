# SPDX-License-Identifier: Apache-2.0
"""What all workloads of `halocline run` share: options, stopwatches, reports."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ..base.names import device_name, policy_name
from ..base.values import byte_count
from ..ckks.client import Client
from ..ckks.keys import KeyPlan
from ..ckks.params import Params
from ..engine.engine import Engine, RunReport
from ..engine.minimum import MinimumBudget, find_minimum
from ..engine.program import ProgramTrace
from ..engine.refusals import refusal
from ..memory.budget import MemoryBudget, budget_of
from ..memory.trace import Trace
from .options import RunOptions

Progress = Callable[[str, int, int], None]
"""Called with (what is done now, how much is done, how much there is)."""


class Stopwatch:
    """Seconds by name, in order of first use."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begin = time.perf_counter()

    @property
    def total(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._begin

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Adds the time spent inside the context to a name."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin


@dataclasses.dataclass(frozen=True)
class Room:
    """What a program needs: bounds that are at hand, and how to find the true numbers with ghosts."""

    resident: int
    """Enough where nothing moves."""
    moving: int
    """Enough where bytes move."""
    find: Callable[[], MinimumBudget]
    """The true numbers."""

    @staticmethod
    def of(traced: ProgramTrace, find: Callable[[], MinimumBudget] | None = None) -> Room:
        """That of a traced program, or of one that needs no more, whose numbers `find` gives."""
        moving = max(traced.trace._core.minimum_budget())
        return Room(traced.peak_bytes, moving, find or (lambda: traced.minimum_budget))

    def expect(self, budget: int, policy: str) -> None:
        """See `expect_room`."""
        if 0 < budget < (self.resident if policy in ("resident", "async", "cached") else self.moving):
            expect_room(self.find(), budget, policy)


def find_room(
    params: Params,
    plan: KeyPlan,
    body: Callable[[Any], Any],
    keep_seeds: bool | Collection[int] | None = None,
    once: bool = False,
) -> MinimumBudget:
    """What a workload needs that calls several programs in turn, as `body` does on an engine, or once."""

    def make_ghost() -> Engine:
        return Engine(params, device="ghost", keep_seeds=keep_seeds)

    return find_minimum(make_ghost, plan.requests(), body, lambda ghost: ((ghost,), {}), once)


def make_engine(
    params: Params,
    options: RunOptions,
    footprint: int,
    *,
    memory: int | str | MemoryBudget | None = None,
    keep_seeds: bool | Collection[int] | None = None,
    managed_cap: int | None = None,
    decisions: bytes | None = None,
    room: Room | None = None,
) -> Engine:
    """An engine without keys, as the options say.

    footprint: what 100% of a budget is.
    room: what the program needs, by which a budget that is too small is refused before keys are generated.
    memory: the budget instead of that of the options.
    managed_cap, decisions: see `MemoryOptions`.
    """
    size = budget_of(options.memory, footprint) if memory is None else memory
    limited = size is not None and not isinstance(size, MemoryBudget)
    if room is not None and limited:
        room.expect(byte_count(size, "memory"), options.policy)
    return Engine(
        params,
        device=device_name(options.device),
        memory=size,
        policy=policy_name(options.policy),
        threads=options.threads,
        keep_seeds=keep_seeds,
        memory_options=options.memory_options(managed_cap, decisions),
        compose_rotations=True,  # where the forecast is faster; results are compared within their precision
    )


def expect_room(found: MinimumBudget, budget: int, policy: str) -> None:
    """Raises OutOfMemory that states what a program needs where a budget is less; 0 is none."""
    needed = found.at_least(policy)
    if budget and needed is not None and needed > budget:
        raise refusal(found, budget, policy)


def probe_device(device: str) -> tuple[int, int]:
    """Cache of a device, on which the order of some steps depends, and how many tables a new engine has.

    Ghosts that stand for the device need the first, lists of decisions begin with the second.
    """
    probe = Engine(Params.preset("test-n10-d3", allow_insecure=True), device=device_name(device))
    return int(probe._core.cache_bytes), int(probe.stats()["allocations"])


def send_keys(client: Client, engine: Engine, plan: KeyPlan, progress: Progress) -> None:
    """Generates one key at a time, so that the client never holds more than one."""
    for done, request in enumerate(plan.requests()):
        progress("generating keys", done, len(plan))
        engine.add_keys(client.evaluation_keys(plan=KeyPlan(engine.params, [request])))
        client._core.trim()  # what the client keeps for re-use would count as this process's memory
    progress("generating keys", len(plan), len(plan))


def seeded_keys(
    plan: KeyPlan, uses: Mapping[int, int], seeded: bool, memory: int | str | None
) -> bool | frozenset[int] | None:
    """Which keys stay seeded, as `Engine` takes it: all, those used least, or None: as bootstraps choose.

    memory: what the keys may take, "2.5GiB" or "80%" of all of them expanded.
    """
    if seeded or memory is None:
        return seeded or None
    limit = byte_count(budget_of(memory, plan.nbytes()), "key memory")
    return plan.seeded_within(limit, uses)


def kept_seeds(engine: Engine) -> bool | frozenset[int]:
    """Whether all keys of an engine are seeded now, or which."""
    return engine._keep_seeds


def key_bytes(params: Params, plan: KeyPlan, seeds: bool | frozenset[int]) -> int:
    """Bytes of an engine's keys, some of them seeded."""
    if isinstance(seeds, bool):
        return plan.nbytes(seeds)
    sizes = ((each, KeyPlan(params, [each])) for each in plan.requests())
    return sum(one.nbytes(each[0] in seeds) for each, one in sizes)


def recording(engine: Engine, wanted: bool = True) -> contextlib.AbstractContextManager[Trace | None]:
    """`with recording(engine, wanted) as trace:` is the engine's trace where it is wanted, else None."""
    return engine.record() if wanted else contextlib.nullcontext()


def engine_report(engine: Engine, runs: Sequence[RunReport], phases: Stopwatch) -> dict[str, Any]:
    """What every workload reports of the engine that ran it."""
    return {
        "device": engine.device,
        "params": engine.params.name,
        "policy": engine.policy,
        "threads": engine.describe()["threads"],
        "budget_bytes": engine.budget_bytes,
        "seconds": {"total": phases.total} | phases.seconds,
        **memory_report(runs),
    }


def memory_report(runs: Sequence[RunReport]) -> dict[str, Any]:
    """What runs on one engine say about memory, as `--json` writes it.

    peak_bytes is that of the memory which the budget limits; live_peak_bytes counts all tiers.
    """
    moved: dict[str, int] = {}
    for way, count in (item for each in runs for item in each.bytes_moved.items()):
        moved[way] = moved.get(way, 0) + count
    live = max((each.peak_bytes for each in runs), default=0)
    return {
        "peak_bytes": max(each.peak_fast_bytes for each in runs) if moved else live,
        "live_peak_bytes": live,
        "bytes_moved": moved,
        "stall_seconds": sum(each.stall_seconds for each in runs),
        "plan_seconds": sum(each.plan_seconds for each in runs),
        "followed_plan": bool(runs) and all(each.followed_plan for each in runs),
    }
