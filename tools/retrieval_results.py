# SPDX-License-Identifier: Apache-2.0
"""Tables of `halocline_retrieval_bench --out FILE`: stages of private retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

STAGES = ("expansion", "completion", "rows", "columns", "answers")


def _remarks(run: dict[str, Any]) -> str:
    """How the database is kept, where that is not the usual way."""
    said = [run["spread"]] if "spread" in run else []
    said += ["raw"] if run.get("storage") == "raw" else []
    said += [f"within {run['memory_gib']:g} GiB"] if run.get("memory_gib") else []
    return "".join(f", {each}" for each in said)


def retrieval_lines(runs: list[dict[str, Any]]) -> Iterator[str]:
    """One row for each result of a device; times are in milliseconds, for the whole batch.

    Stages are those of the fastest run that was timed stage by stage, the whole is the median without waits
    between them.
    """
    first = runs[0]
    yield f"{first['device']}:"
    yield ""
    yield "| set | GiB | rows x columns | batch | " + " | ".join(STAGES) + " | ms | queries/s | GB/s |"
    yield "|---|---|---|---|" + "---|" * len(STAGES) + "---|---|---|"
    for run in sorted(runs, key=lambda each: (each["set"], each["gib"], each["batch"], each["rows"])):
        best = run.get("best_seconds", {})  # several devices overlap their stages
        whole = run["median_seconds"] if "median_seconds" in run else best["total"]
        stages = " | ".join(f"{1e3 * best[stage]:.1f}" if best else "" for stage in STAGES)
        yield (
            f"| `{run['set']}`{_remarks(run)} | {run['gib']:g} | {run['rows']} x {run['columns']} "
            f"| {run['batch']} | {stages} | {1e3 * whole:.1f} | {run['queries_per_second']:.2f} "
            f"| {run['record_bytes_per_second'] / 1e9:.2f} |"
        )
