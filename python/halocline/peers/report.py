# SPDX-License-Identifier: Apache-2.0
"""Tables of a comparison, from the dictionary that goes into JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from .reference import MACHINE, MEASURED, REFERENCES

Json = dict[str, Any]

TITLES = {"halocline": "Halocline", "seal": "SEAL", "openfhe": "OpenFHE"}


def milliseconds(value: float | None) -> str:
    """Three significant digits; a dash where there is no figure."""
    if value is None:
        return "-"
    decimals = 0 if value <= 0 else max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{decimals}f}"


def verdict(ratio: float | None, target: float | None) -> str:
    """A ratio, green when it reaches its target and red when it does not."""
    if ratio is None:
        return "-"
    text = f"{ratio:.2f}x"
    if target is None:
        return text
    return f"[green]{text}[/]" if ratio >= target else f"[bold red]{text}[/]"


def _with_minimum(row: Json, key: str) -> str:
    if row[f"{key}_ms"] is None:
        return "-"
    return f"{milliseconds(row[f'{key}_ms'])} ({milliseconds(row[f'{key}_min_ms'])})"


def set_table(content: Json) -> Table:
    """One parameter set: a row for each operation."""
    references = [each for each in REFERENCES if _has(content, f"{each.key}_reference_ms")]
    measured = ["halocline", "seal"] + ["openfhe"] * _has(content, "openfhe_ms")
    log_n = content["n"].bit_length() - 1
    table = Table(
        title=f"{content['name']}: N=2^{log_n}, log Q {content['log_q']:.1f} "
        f"(SEAL {content['seal']['log_q']:.1f}), log PQ {content['log_pq']:.1f} "
        f"(SEAL {content['seal']['log_pq']:.1f})",
        title_justify="left",
    )
    table.add_column("operation")
    for name in measured:
        table.add_column(f"{TITLES[name]}\nms (min)", justify="right")
    table.add_column("SEAL /\nHalocline", justify="right")
    table.add_column("target", justify="right")
    for each in references:
        table.add_column(f"not of this run:\n{each.title}", justify="right", style="dim")
    for row in content["rows"]:
        target = row["target"]
        cells = [_with_minimum(row, name) for name in measured]
        wanted = "" if target is None else f">= {target:g}x"
        beside = [milliseconds(row[f"{each.key}_reference_ms"]) for each in references]
        table.add_row(row["operation"], *cells, verdict(row["ratio"], target), wanted, *beside)
    return table


def _has(content: Json, key: str) -> bool:
    return any(row[key] is not None for row in content["rows"])


def print_report(console: Console, content: Json) -> None:
    """Everything: a table for each set, two threads, where it was measured."""
    for each in content["sets"]:
        console.print(set_table(each))
    two = content["two_threads"]
    if two is not None:
        console.print(
            f"{two['operation']}, {two['set']}: {milliseconds(two['one_thread_ms'])} ms with one thread, "
            f"{milliseconds(two['two_threads_ms'])} ms with two: {verdict(two['scaling'], two['target'])} "
            f"(target >= {two['target']:g}x)"
        )
    machine, peers = content["machine"], content["peers"]
    openfhe = peers["openfhe"]["version"] or f"not in this run: {peers['openfhe']['reason']}"
    console.print(
        f"Medians (minima) of {content['repetitions']} calls in turn after two warm-ups, one thread each. "
        f"{machine['cpu']}, {machine['cores']} cores, SIMD {machine['simd']}, load average "
        f"{machine['load_before']} before and {machine['load_after']} after. Halocline {content['version']} "
        f"({content['commit']}), seal-python {peers['seal']['version']}, OpenFHE: {openfhe}.",
        markup=False,
    )
    console.print(f"Not of this run: builds from source, {MEASURED}, {MACHINE}.", style="dim", markup=False)
