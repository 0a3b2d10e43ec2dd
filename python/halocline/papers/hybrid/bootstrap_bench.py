# SPDX-License-Identifier: Apache-2.0
"""BM-bootstrap under all policies and async peak thresholds: `halocline bench bm-bootstrap`.

Figure 10 of the hybrid unified-memory paper, measured. Each run is a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bench.budgets.processes import Report, run_in_process
from ...bench.keeping import SILENT, Watcher, expect_row
from .options import BM_BUDGETS, POLICIES, RATIOS, BmBenchOptions

SCHEMA = 1
SUITE = "bm-bootstrap"


def run_bm_bench(
    budgets: Sequence[str] = BM_BUDGETS,
    policies: Sequence[str] = POLICIES,
    ratios: Sequence[float] = RATIOS,
    arguments: Sequence[str] = (),
    watcher: Watcher = SILENT,
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
    content: dict[str, Any] = {"schema": SCHEMA, "suite": SUITE, "device": "", "rows": [], "runs": []}
    earlier = list(zip(watcher.rows(), watcher.rows("runs"), strict=True))  # both are as many as are done
    for (memory, policy, ratio), (row, report) in zip(kinds, earlier, strict=False):
        wanted = {"policy": policy, "memory": memory} | ({} if ratio is None else {"async_peak": ratio})
        content["rows"].append(expect_row(row, wanted))
        content["runs"].append(report)
        content["device"] = report.get("device", "")
    watcher.progress(SUITE, len(content["rows"]), len(kinds))
    for done, (memory, policy, ratio) in list(enumerate(kinds))[len(content["rows"]) :]:
        chosen = ["--memory", memory, "--policy", policy]
        chosen += [] if ratio is None else ["--async-peak", str(ratio)]
        report = run_in_process("bm-bootstrap", [*chosen, *arguments], may_fail=True)
        content["runs"].append(report)
        content["rows"].append(_row(memory, report))
        content["device"] = report["device"]
        watcher.row(SUITE, content, done + 1, len(kinds))
    return content


def run(options: BmBenchOptions | None = None, watcher: Watcher = SILENT) -> dict[str, Any]:
    """The suite with its options, as `--json` writes it."""
    o = options or BmBenchOptions()
    arguments = ["--device", o.device, "--presets", ",".join(o.presets), "--kinds", ",".join(o.kinds)]
    arguments += [] if o.threads is None else ["--threads", str(o.threads)]
    switches = {
        "--seeded": o.seeded,
        "--allow-insecure": o.allow_insecure,
        "--oversubscribe-managed": o.oversubscribe_managed,
    }
    arguments += [name for name, given in switches.items() if given]
    for name, value in o.bootstrap.items():
        arguments += ["--set", f"{name}={value}"]
    return run_bm_bench(o.budgets, o.policies, o.async_peaks, arguments, watcher)


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
