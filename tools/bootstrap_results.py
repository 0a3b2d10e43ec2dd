# SPDX-License-Identifier: Apache-2.0
"""Tables of bootstrapping: by budget for docs/guides/benchmarks.md, by policy for
docs/papers/hybrid_unified_memory.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_results import device_text, expect_schema

Json = dict[str, Any]
SCHEMA = 1
GIB = 1 << 30


def where_text(data: Json) -> str:
    """What computed, and with which commit."""
    if data.get("report"):
        return device_text(data)
    return f"{data['device']}, commit {data['commit'][:10]}"


def three(value: float | None) -> str:
    """Three significant digits, without exponent; a dash where there is nothing."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def options_text(options: Json, defaults: Json) -> str:
    """The options of bootstrapping that are not what they usually are."""
    changed = [f"{name}={value}" for name, value in options.items() if defaults.get(name, value) != value]
    return f", {', '.join(changed)}" if changed else ""


USUAL = {"slots": None, "order": "cts_first", "real": False, "cts_mode": "double_hoisted", "compact": False}


def curve_lines(data: Json) -> Iterator[str]:
    """Slowdown by budget, a row for each policy and batch."""
    expect_schema(data, "bootstrap-budget", SCHEMA)
    name = f"`halocline bench bootstrap-budget --device {data['device']} --params {data['params']}`"
    commit = f"replayed on a device model, commit {data['commit'][:10]}"
    how = commit if data["simulated"] else where_text(data)
    yield f"{name} ({how}{options_text(data['bootstrap'], USUAL)}),"
    yield "slowdown against `resident`:"
    for about in data["batches"]:
        yield ""
        yield from _curve_table(data, about)


def _curve_table(data: Json, about: Json) -> Iterator[str]:
    rows = [row for row in data["rows"] if row["batch"] == about["batch"]]
    base = next(row for row in rows if row["policy"] == "resident" and row["memory"] == "all")
    budgets = list(dict.fromkeys(row["memory"] for row in rows if row["memory"] != "all"))
    milliseconds = three(1e3 * base["seconds"]) if "seconds" in base else "out of memory"
    needed, least = about["footprint_bytes"], about["minimum_bytes"]
    yield f"{about['batch']} at once: `resident` {milliseconds} ms in {needed / GIB:.2f} GiB; the least for a"
    yield f"plan is {least / GIB:.2f} GiB, {least / needed:.1%}."
    yield ""
    yield f"| policy | {' | '.join(budgets)} |"
    yield f"|---|{'---:|' * len(budgets)}"
    cells = {(row["policy"], row["memory"]): row for row in rows}
    for policy in dict.fromkeys(row["policy"] for row in rows if row["memory"] != "all"):
        shown = (cells.get((policy, memory), {}) for memory in budgets)
        yield f"| `{policy}` | {' | '.join(_slowdown(row) for row in shown)} |"


def _slowdown(row: Json) -> str:
    return "too small" if "out_of_memory" in row else three(row.get("slowdown"))


def operations_lines(data: Json) -> Iterator[str]:
    """Mean and standard deviation of each operation, a row for each set, budget and policy."""
    expect_schema(data, "bm-operations", SCHEMA)
    options = options_text(data["bootstrap"], USUAL | {"compact": True})
    yield f"`halocline bench bm-operations --device {data['device']}` ({where_text(data)}),"
    yield f"milliseconds, mean and standard deviation of {data['repeats']} in a row{options}:"
    yield ""
    sessions = data["sessions"]
    names = next(list(each["operations"]) for each in sessions if "operations" in each)
    yield f"| parameters | budget | policy | {' | '.join(names)} |"
    yield f"|---|---|---|{'---:|' * len(names)}"
    for each in sessions:
        budget = f"{each['budget_bytes'] / GIB:.1f} GiB ({each['memory']})"
        times = (_spread(each["operations"][name]) if "operations" in each else "-" for name in names)
        yield f"| `{each['params']}` | {budget} | `{each['policy']}` | {' | '.join(times)} |"


def _spread(found: Json) -> str:
    return f"{three(1e3 * found['mean'])} +- {three(1e3 * found['deviation'])}"


def bm_lines(data: Json) -> Iterator[str]:
    """Seconds of all bootstraps by policy and async peak threshold."""
    expect_schema(data, "bm-bootstrap", SCHEMA)
    first = data["runs"][0]
    kinds = list(dict.fromkeys(row["kind"] for run in data["runs"] for row in run["rows"]))
    sets = ", ".join(f"`{each['params']}`" for each in first["presets"])
    yield f"`halocline bench bm-bootstrap --device {data['device']}` ({where_text(data)}): {sets}; kinds"
    yield f"{', '.join(kinds)}; {first['footprint_bytes'] / GIB:.1f} GiB if everything stays."
    yield ""
    yield "| policy | async peak | budget | seconds | waiting, s | moved, GiB | worst slot, bits |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in data["rows"]:
        peak = "" if row["async_peak"] is None else f"{row['async_peak']:.0%}"
        seconds = f"out of memory with `{row['failed']}`" if row["failed"] else three(row["seconds"])
        numbers = (row["stall_seconds"], row["moved_bytes"] / GIB, row["worst_bits"])
        budget = f"{row['budget_bytes'] / GIB:.1f} GiB ({row['memory']})"
        cells = (f"`{row['policy']}`", peak, budget, seconds, *map(three, numbers))
        yield f"| {' | '.join(cells)} |"
