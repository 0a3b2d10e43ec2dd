# SPDX-License-Identifier: Apache-2.0
"""Tables of results of `halocline paper`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from ..bench.tables import print_rows

Json = dict[str, Any]


def print_study(console: Console, suite: str, content: Json) -> None:
    """The tables of a study's result."""
    _PRINTERS[suite](console, content)


def _print_storage(console: Console, content: Json) -> None:
    text = [
        {
            "section": row["where"],
            "number": row["what"],
            "paper": row["paper"],
            "ours": row["ours"],
            "difference": f"{row['difference']:+.1%}",
            "agrees": "yes" if row["holds"] else "no",
        }
        for row in content["text"]
    ]
    print_rows(console, text, "Numbers of the text")
    curves = ("tier", "closed_form", "none", "prefetch", "bound", "lru", "planned", "recovered")
    for name, first, title in (
        ("streaming", ("accelerator", "workload", *curves), "Slowdown by policy"),
        ("key_memory", ("workload", "key_memory_bytes", *curves), "Slowdown of TensorFHE by key memory"),
        ("users", ("workload", "users", *curves), "Slowdown with users in turn on TensorFHE"),
        ("chain", None, "Slowdown over two links, users in turn on TensorFHE"),
        ("cluster", None, "32 hosts that share limbs: time and speedup"),
        ("routing", None, f"Requests of many users, seed {content['options']['seed']}"),
        ("routing_load", None, "Locality against turns, by requests under way for each host"),
        ("key_nodes", None, "Keys fetched, or ciphertexts moved to key nodes"),
        ("simgrid", None, "The same in SimGrid"),
    ):
        rows = content[name]
        chosen = rows if first is None else [{key: row[key] for key in first} for row in rows]
        print_rows(console, [_readable(row) for row in chosen], title)


def _print_xehe(console: Console, content: Json) -> None:
    for name, title in (
        ("routines", "Routines: microseconds for one ciphertext, and gain over the first step"),
        ("matrices", "Matrix products"),
        ("processes", "Whole processes, from encoding to decoding"),
        ("transforms", "Transforms"),
        ("refused", "Rows that could not be measured"),
    ):
        print_rows(console, [_readable(row) for row in content[name]], title)


def _readable(row: Json) -> Json:
    """Bytes as integers, which are printed as sizes."""
    return {
        key: int(value) if key.endswith("_bytes") else f"{value:.1e}" if key == "difference" else value
        for key, value in row.items()
    }


_PRINTERS: dict[str, Callable[[Console, Json], None]] = {
    "storage-paper": _print_storage,
    "xehe-paper": _print_xehe,
}
