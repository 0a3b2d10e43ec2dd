# SPDX-License-Identifier: Apache-2.0
"""Runs wide-rotations with all memory and within budgets: `halocline bench wide-rotations`.

Each run is a process of its own, so that the operating system's peak of resident memory belongs to it. Runs
of different kinds take turns, so that a slow moment of the machine hits all of them. On a GPU the first
evaluation on an engine is not typical of the others, so each process evaluates several times.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from ..keeping import SILENT, Watcher, expect_result, expect_row
from .options import WIDE_BUDGETS as BUDGETS
from .options import WIDE_POLICIES as POLICIES
from .options import WideBenchOptions
from .processes import Report, run_in_process

SCHEMA = 1
DEFAULT_REPETITIONS = 3
GPU_EVALUATIONS = 4
Kind = tuple[str, str | None]


def kinds_of(policies: Sequence[str] = POLICIES, budgets: Sequence[str] = BUDGETS) -> list[Kind]:
    """Policy and budget of each kind of run; the first one is what the others are compared with."""
    return [("resident", None), *((policy, budget) for budget in budgets for policy in policies)]


def run_wide_bench(
    threads: int,
    repetitions: int | None = None,
    arguments: Sequence[str] = (),
    kinds: Sequence[Kind] | None = None,
    device: str = "cpu",
    watcher: Watcher = SILENT,
) -> dict[str, Any]:
    """Reports of all runs, and a row of medians for each kind.

    repetitions: runs of each kind; 3, or 1 on a GPU, unless given.
    kinds: policy and budget; times are compared with those of the first kind.
    arguments: further ones of `halocline run wide-rotations`, such as ("--batches", "1").
    """
    kinds = kinds_of() if kinds is None else kinds
    on_cpu = device == "cpu"
    count = (DEFAULT_REPETITIONS if on_cpu else 1) if repetitions is None else repetitions
    common = ["--threads", str(threads), "--device", device, *arguments]
    common += [] if on_cpu else ["--repeat", str(GPU_EVALUATIONS)]
    about = {"schema": SCHEMA, "suite": "wide-rotations", "device": device, "threads": threads}
    found: list[list[Report]] = [[] for _ in kinds]
    total = count * len(kinds)
    done = _divide(watcher.rows("runs")[:total], kinds, found)
    expect_result(lambda: _result(kinds, found) if done else None)
    watcher.progress("wide-rotations", done, total)
    for number in range(done, total):
        policy, memory = kinds[number % len(kinds)]
        chosen = ["--policy", policy, *([] if memory is None else ["--memory", memory])]
        found[number % len(kinds)].append(run_in_process("wide-rotations", [*chosen, *common]))
        watcher.row("wide-rotations", about | _result(kinds, found), number + 1, total)
    return about | _result(kinds, found)


def run(options: WideBenchOptions | None = None, watcher: Watcher = SILENT) -> dict[str, Any]:
    """The suite with its options, as `--json` writes it."""
    o = options or WideBenchOptions()
    switches = {"--allow-insecure": o.allow_insecure, "--oversubscribe-managed": o.oversubscribe_managed}
    arguments = ["--params", o.params, *(name for name, given in switches.items() if given)]
    kinds = kinds_of(o.policies, o.budgets)
    return run_wide_bench(o.threads, o.repetitions, arguments, kinds, o.device, watcher)


def _divide(runs: list[Report], kinds: Sequence[Kind], found: list[list[Report]]) -> int:
    """Hands the runs of an interrupted benchmark, which stand by kind, to their kinds; returns how many."""
    begin = 0
    for number, (policy, _) in enumerate(kinds):
        count = len(range(number, len(runs), len(kinds)))
        wanted = {"policy": policy}
        found[number] += [expect_row(each, wanted, "program_seconds") for each in runs[begin : begin + count]]
        begin += count
    return len(runs)


def _result(kinds: Sequence[Kind], found: list[list[Report]]) -> dict[str, Any]:
    """Rows of the kinds that have run, and all reports."""
    base = _median(found[0], "program_seconds")
    rows = [_row(reports, memory, base) for (_, memory), reports in zip(kinds, found, strict=True) if reports]
    runs = [report for reports in found for report in reports]
    return {"params": runs[0]["params"], "rows": rows, "runs": runs}


def _median(reports: list[Report], key: str) -> float:
    return statistics.median(float(report[key]) for report in reports)


def _row(reports: list[Report], memory: str | None, base: float) -> dict[str, Any]:
    """Medians of the runs of one kind."""
    first = reports[0]
    seconds = _median(reports, "program_seconds")
    return {
        "policy": first["policy"],
        "memory": memory or "all",
        "budget_bytes": first["budget_bytes"],
        "peak_bytes": max(report["peak_bytes"] for report in reports),
        "peak_rss_bytes": max(report["peak_rss_bytes"] for report in reports),
        "seconds": seconds,
        "slowdown": seconds / base,
        "first_seconds": _median(reports, "first_run_seconds"),
        "stall_seconds": _median(reports, "stall_seconds"),
        "plan_seconds": _median(reports, "plan_seconds"),
        "loaded_bytes": first["bytes_moved"].get("loaded", 0),
        "precision_bits": min(report["precision_bits"] for report in reports),
    }
