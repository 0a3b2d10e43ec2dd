# SPDX-License-Identifier: Apache-2.0
"""What all workloads of `halocline run` share: options, stopwatches, reports."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..budget import MemoryOptions
from ..engine import RunReport

Progress = Callable[[str, int, int], None]
"""Called with (what is done now, how much is done, how much there is)."""


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Where and how a workload is run."""

    device: str = "cpu"
    memory: int | str | None = None
    """Budget of the engine: bytes, "256MiB", or "25%" of what the engine touches; None is unlimited."""
    policy: str = "resident"
    threads: int | None = None
    record_trace: bool = False
    """Record what happens to every buffer of the engine while it evaluates."""
    oversubscribe_managed: bool = False
    """Let unified memory exceed what a GPU has, which can hang it."""
    decisions: str | Path | None = None
    """File of policy `profiled`, written by `halocline trace decide`."""

    def memory_options(self) -> MemoryOptions:
        """What the engine is told besides budget and policy."""
        return MemoryOptions(oversubscribe_managed=self.oversubscribe_managed, decisions=self.decisions)


def memory_report(runs: Sequence[RunReport]) -> dict[str, Any]:
    """What runs on one engine say about memory, as `--json` writes it.

    peak_bytes is that of the memory which the budget limits; live_peak_bytes counts all tiers.
    """
    moved: dict[str, int] = {}
    for way, count in (item for each in runs for item in each.bytes_moved.items()):
        moved[way] = moved.get(way, 0) + count
    live = max(each.peak_bytes for each in runs)
    return {
        "peak_bytes": max(each.peak_fast_bytes for each in runs) if moved else live,
        "live_peak_bytes": live,
        "bytes_moved": moved,
        "stall_seconds": sum(each.stall_seconds for each in runs),
        "plan_seconds": sum(each.plan_seconds for each in runs),
        "followed_plan": all(each.followed_plan for each in runs),
    }


class Stopwatch:
    """Seconds by name, in order of first use."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Adds the time spent inside the context to a name."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
