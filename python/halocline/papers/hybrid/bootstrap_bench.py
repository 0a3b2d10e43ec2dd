# SPDX-License-Identifier: Apache-2.0
"""BM-bootstrap under all policies and async peak thresholds: `halocline bench bm-bootstrap`.

Figure 10 of the hybrid unified-memory paper, measured. Each run is a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...bench.budgets.processes import Report, run_in_process
from .replay import POLICIES

SCHEMA = 1
SUITE = "bm-bootstrap"
BUDGET = "60%"
"""The paper's A40 has 48 GB for a workload of some 80."""
RATIOS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95)


def run_bm_bench(
    budgets: Sequence[str] = (BUDGET,),
    policies: Sequence[str] = POLICIES,
    ratios: Sequence[float] = RATIOS,
    arguments: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """A row for each budget, policy and, of `profiled`, async peak threshold; and all reports.

    arguments: further ones of `halocline run bm-bootstrap`, such as ("--kinds", "small-key").
    """
    kinds = [
        (memory, policy, ratio)
        for memory in budgets
        for policy in policies
        for ratio in (ratios if policy == "profiled" else (None,))
    ]
    runs = []
    for done, (memory, policy, ratio) in enumerate(kinds):
        progress(done, len(kinds))
        chosen = ["--memory", memory, "--policy", policy]
        chosen += [] if ratio is None else ["--async-peak", str(ratio)]
        runs.append(run_in_process("bm-bootstrap", [*chosen, *arguments], may_fail=True))
    progress(len(kinds), len(kinds))
    rows = [_row(memory, report) for (memory, _, _), report in zip(kinds, runs, strict=True)]
    return {"schema": SCHEMA, "suite": SUITE, "device": runs[0]["device"], "rows": rows, "runs": runs}


def _row(memory: str, report: Report) -> dict[str, Any]:
    """What one run took, without keys and encoding."""
    rows = report["rows"]
    return {
        "policy": report["policy"],
        "async_peak": report["async_peak"],
        "memory": memory,
        "budget_bytes": report["budget_bytes"],
        "seconds": None if report["failed"] else sum(row["seconds"] for row in rows),
        "stall_seconds": report["stall_seconds"],
        "moved_bytes": sum(report["bytes_moved"].values()),
        "peak_bytes": report["peak_bytes"],
        "worst_bits": min((row["precision_worst_bits"] for row in rows), default=None),
        "failed": report["failed"] and report["failed"]["params"],
    }
