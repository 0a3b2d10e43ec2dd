# SPDX-License-Identifier: Apache-2.0
"""Runs wide-rotations with all memory and within budgets: `halocline bench wide-rotations`.

Each run is a process of its own, so that the operating system's peak of resident memory belongs to it. Runs
of different kinds take turns, so that a slow moment of the machine hits all of them.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import Error

SCHEMA = 1
DEFAULT_REPETITIONS = 3
Kind = tuple[str, str | None]
KINDS: tuple[Kind, ...] = (
    ("resident", None),
    ("planned", "25%"),
    ("lru", "25%"),
    ("planned", "10%"),
    ("lru", "10%"),
)
"""Policy and budget of each kind of run; the first one is what the others are compared with."""

Report = dict[str, Any]


def run_wide_bench(
    threads: int,
    repetitions: int = DEFAULT_REPETITIONS,
    arguments: Sequence[str] = (),
    kinds: Sequence[Kind] = KINDS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Reports of all runs, and a row of medians for each kind.

    kinds: policy and budget; times are compared with those of the first kind.
    arguments: further ones of `halocline run wide-rotations`, such as ("--batches", "1").
    """
    found: list[list[Report]] = [[] for _ in kinds]
    total = repetitions * len(kinds)
    for number in range(total):
        progress(number, total)
        policy, memory = kinds[number % len(kinds)]
        found[number % len(kinds)].append(_run(policy, memory, threads, arguments))
    progress(total, total)
    base = _median(found[0], "program_seconds")
    rows = [_row(reports, memory, base) for (_, memory), reports in zip(kinds, found, strict=True)]
    runs = [report for reports in found for report in reports]
    return {"schema": SCHEMA, "suite": "wide-rotations", "threads": threads, "rows": rows, "runs": runs}


def _run(policy: str, memory: str | None, threads: int, arguments: Sequence[str]) -> Report:
    """The report of one run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-c", "from halocline.cli import main; main()", "run", "wide-rotations"]
        command += ["--policy", policy, "--threads", str(threads), "--json", str(path), *arguments]
        command += [] if memory is None else ["--memory", memory]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Error(f"bench: a run with {policy}, {memory} failed: {done.stderr.strip()[-500:]}")
        report: Report = json.loads(path.read_text())
        return report


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
        "stall_seconds": _median(reports, "stall_seconds"),
        "plan_seconds": _median(reports, "plan_seconds"),
        "loaded_bytes": first["bytes_moved"].get("loaded", 0),
        "precision_bits": min(report["precision_bits"] for report in reports),
    }
