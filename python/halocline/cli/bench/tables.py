# SPDX-License-Identifier: Apache-2.0
"""Tables of results of `halocline bench`: of whole results, and of those of runs that were stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..common import size

Json = dict[str, Any]


def print_result(console: Console, suite: str, content: Json) -> None:
    """The tables of a suite's result."""
    _PRINTERS[suite](console, content)
    if (partial := content.get("partial")) is not None:
        total = f" of {partial['total']}" if partial["total"] else ""
        stopped = escape(f"{partial['done']}{total} rows; the run was stopped")
        console.print(f"[bold yellow]partial:[/] {stopped}")


def _print_micro(console: Console, content: dict[str, Any]) -> None:
    table = Table("benchmark", "time", "CPU", "iterations")
    for row in content["benchmarks"]:
        unit = row.get("time_unit", "ns")
        times = (f"{row[name]:.1f} {unit}" for name in ("real_time", "cpu_time"))
        table.add_row(row["name"], *times, str(row["iterations"]))
    console.print(table, markup=False)


def _print_ntt(console: Console, content: dict[str, Any]) -> None:
    rows = content["family"]
    batches = sorted({row["batch"] for row in rows})
    shown = [batches[0], batches[len(batches) // 2], batches[-1]]
    names = [f"{name} of {batch}" for batch in shown for name in ("us", "% of butterflies", "% of copies")]
    table = Table("word", "N", "variant", *names, title=escape(f"Transforms on {content['device']}"))
    found = {(row["word_bits"], row["log_n"], row["variant"], row["batch"]): row for row in rows}
    keys = ("microseconds", "percent_of_butterfly_peak", "percent_of_copy_bandwidth")
    for bits, log_n, variant in dict.fromkeys(key[:3] for key in found):
        cells = (_number(found[bits, log_n, variant, batch][key]) for batch in shown for key in keys)
        table.add_row(str(bits), f"2^{log_n}", variant, *cells)
    console.print(table, markup=False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _print_operations(console: Console, content: dict[str, Any]) -> None:
    columns = ("us", "eager", "graph", "turns", "peer", "target", "bytes floor", "arithmetic", "of floor")
    table = Table("set", "limbs", "operation", *columns, title=escape(f"Microseconds on {content['device']}"))
    keys = (
        "us",
        "eager_us",
        "graph_us",
        "eager_turns_us",
        "peer_us",
        "target_us",
        "bytes_floor_us",
        "arithmetic_floor_us",
        "of_floor",
    )
    for row in content["rows"]:
        table.add_row(row["set"], str(row["limbs"]), row["operation"], *(_number(row[key]) for key in keys))
    console.print(table, markup=False)


def _print_ratio(console: Console, content: dict[str, Any]) -> None:
    names = ("allocate", "copy", "addition", "butterfly", "free")
    table = Table("data", "async", *names, title=f"Milliseconds, budget {size(content['budget_bytes'])}")
    for row in content["sweep"]:
        times = (f"{1e3 * row[f'{name}_seconds']:.2f}" for name in names)
        table.add_row(f"{row['oversubscription']:.0%}", f"{row['async_share']:.0%}", *times)
    console.print(table, markup=False)
    table = Table("method", "size", "allocate", "touch", "free", title="Microseconds of an allocation")
    for row in content["allocations"]:
        times = (_number(row.get(f"{name}_us")) for name in ("allocate", "touch", "free"))
        table.add_row(row["method"], size(row["bytes"]), *times)
    console.print(table, markup=False)
    for row in content["multiplication"]:
        said = f"multiplication, policy {row['policy']}: {row['us']:.0f} us ({row['params']})"
        console.print(said, markup=False)


def _print_curve(console: Console, content: Json) -> None:
    from ...plots.budgets import CURVES as titles

    boots = content["suite"] == "bootstrap-budget"
    quality = ("worst bits", "precision_worst_bits") if boots else ("logit error", "logit_error")
    rows = [
        {
            "policy": row["policy"],
            "batch": row["batch"],
            "budget": size(row["budget_bytes"]) if row["budget_bytes"] else "all",
            "share": None if row["share"] is None else f"{row['share']:.1%}",
            "ms": None if "seconds" not in row else 1e3 * row["seconds"],
            "slowdown": row.get("slowdown", "out of memory"),
            "waiting, ms": None if row.get("stall_seconds") is None else 1e3 * row["stall_seconds"],
            "loaded": None if "loaded_bytes" not in row else size(row["loaded_bytes"]),
            quality[0]: row.get(quality[1]),
        }
        for row in content["rows"]
    ]
    where = f"simulated {content['device']}" if content["simulated"] else content["device"]
    print_rows(console, rows, f"{titles[content['suite']]} with {content['params']} on {where}")


def _session(row: Json) -> Json:
    from ...papers.hybrid.traces import OPERATIONS

    found = row.get("operations")
    names = {"params": row["params"], "budget": size(row["budget_bytes"]), "policy": row["policy"]}
    times = {name: 1e3 * found[name]["mean"] if found else "out of memory" for name in OPERATIONS}
    return names | times


def _print_sessions(console: Console, content: Json) -> None:
    print_rows(console, [_session(each) for each in content["sessions"]], "Milliseconds, mean")


def _print_plain(console: Console, content: Json) -> None:
    print_rows(console, content["rows"])


def _print_retrieval(console: Console, content: Json) -> None:
    rows = [
        {name: value for name, value in row.items() if name != "stage_seconds"} for row in content["rows"]
    ]
    shared = ("set", "records", "record_bytes", "storage", "batch")
    print_rows(console, [{name: row[name] for name in (*shared, *_RATES)} for row in rows], "Queries")
    wire = ("query_bytes", "answer_bytes", "server_keys_bytes", "log2_failure")
    print_rows(
        console, [{name: row[name] for name in ("set", "records", *wire)} for row in rows], "On the wire"
    )
    stages = [
        {name: row[name] for name in shared}
        | {f"{name} s": value for name, value in row["stage_seconds"].items()}
        for row in content["rows"]
    ]
    print_rows(console, stages, "Seconds of a batch, stage by stage")


_RATES = ("queries_per_second", "seconds", "database_gb_per_second", "peak_fast_bytes")


def _print_peers(console: Console, content: Json) -> None:
    from ...bench.peers.report import print_report

    print_report(console, _escaped(content))


def _escaped(value: Any) -> Any:
    """With texts that hold no markup of Rich."""
    if isinstance(value, dict):
        return {key: _escaped(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    return escape(value) if isinstance(value, str) else value


def _print_hybrid(console: Console, content: Json) -> None:
    """Seconds by policy of each workload that was replayed."""
    rows = []
    for each in content.get("sessions", []):
        name, found = f"session {each['preset']}", each["operations"]
        seconds = sum(spread["mean"] for spread in found.values()) * content["repeats"]
        rows.append((name, each["device"], each["policy"], seconds))
    for name in ("bm_bootstrap", "resnet"):
        part = content.get(name, {})
        for policy, found in part.get("policies", {}).items():
            rows.append((name.replace("_", "-"), part["device"], policy, found["seconds"]))
    for each in content.get("oversubscribed", []):
        for policy, found in each["policies"].items():
            rows.append((f"bootstrap {each['preset']}, half of it", "a40", policy, found["seconds"]))
    named = [dict(zip(("workload", "device model", "policy", "seconds"), row, strict=True)) for row in rows]
    print_rows(console, named, "Replayed on device models, seconds")


def print_rows(console: Console, rows: list[dict[str, Any]], title: str | None = None) -> None:
    """A table with a column for each field of the first row; fields named "..._bytes" are sizes."""
    if not rows:
        return
    names = (name.removesuffix("_bytes").replace("_", " ") for name in rows[0])
    table = Table(*names, title=escape(title) if title else None)
    for row in rows:
        table.add_row(*(cell(name, row.get(name)) for name in rows[0]))
    console.print(table, markup=False)


def cell(name: str, value: object) -> str:
    """A value of a row as readable text."""
    if name.endswith("_bytes") and isinstance(value, int):
        return size(value)
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_key_nodes(console: Console, content: dict[str, Any]) -> None:
    rate = content["bytes_per_second"]
    title = escape(f"Bytes for one operation with {content['params']}, links of {rate:.4g} bytes a second")
    table = Table("operation", "keys", "fetched", "node, first", "node", "fewer, first", "fewer", title=title)
    for row in content["rows"]:
        moved = [size(row[name]) for name in ("fetched_bytes", "first_bytes", "moved_bytes")]
        fewer = [f"{row[name]:.1f} times" for name in ("fewer_first", "fewer")]
        table.add_row(row["operation"], str(row["keys"]), *moved, *fewer)
    console.print(table, markup=False)


def _print_cold_keys(console: Console, content: dict[str, Any]) -> None:
    title = escape(f"Keys cold: {content['params']} on {content['device']}")
    names = ("case", "keys from", "variant", "ms", "against warm", "at most", "moved", "stalled, ms")
    table = Table(*names, title=title)
    for row in content["rows"]:
        moved = sum(row["link_bytes"].values())
        compared = [f"{row[name]:.3f}" if name in row else "-" for name in ("slowdown", "limit")]
        texts = [str(row.get(name, "-")) for name in ("from", "variant")]
        seconds, stalled = (f"{1e3 * row[name]:.2f}" for name in ("seconds", "stall_seconds"))
        table.add_row(row["case"], *texts, seconds, *compared, size(moved), stalled)
    console.print(table, markup=False)


def _print_seal(console: Console, content: dict[str, Any]) -> None:
    print_rows(console, content["rows"], f"Milliseconds of one thread on {content['processor']}")


_PRINTERS: dict[str, Callable[[Console, Json], None]] = {
    "micro": _print_micro,
    "seal": _print_seal,
    "peers": _print_peers,
    "operations": _print_operations,
    "ratio": _print_ratio,
    "ntt-family": _print_ntt,
    "bootstrap-budget": _print_curve,
    "resnet20-budget": _print_curve,
    "bm-operations": _print_sessions,
    "bm-bootstrap": _print_plain,
    "arrays": _print_plain,
    "wide-rotations": _print_plain,
    "pir": _print_retrieval,
    "key-nodes": _print_key_nodes,
    "cold-keys": _print_cold_keys,
    "hybrid-paper": _print_hybrid,
}
