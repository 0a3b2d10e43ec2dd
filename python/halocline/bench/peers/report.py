# SPDX-License-Identifier: Apache-2.0
"""Tables of a comparison, from the dictionary that goes into JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from .reference import MACHINE, MEASURED, REFERENCES, Reference

Json = dict[str, Any]

MARK = "\N{DAGGER}"
"""Marks figures that are not of this run."""

WIDE = 140
"""Columns that a table with everything needs."""

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


def _cell(row: Json, name: str, minimum: bool) -> str:
    """A median, with the minimum in brackets where there is room."""
    median = row[f"{name}_ms"]
    if median is None or not minimum:
        return milliseconds(median)
    return f"{milliseconds(median)} ({milliseconds(row[f'{name}_min_ms'])})"


def set_table(content: Json, wide: bool) -> Table:
    """One parameter set: a row for each operation; a wide table also has minima and figures of other runs."""
    measured = ["halocline", "seal"] + ["openfhe"] * _has(content, "openfhe_ms")
    table = Table(title=_title(content), title_justify="left")
    table.add_column("operation")
    for name in measured:
        table.add_column(f"{TITLES[name]}\nms{' (min)' if wide else ''}", justify="right", no_wrap=True)
    table.add_column("SEAL /\nHalocline", justify="right", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    beside = _references(content) if wide else []
    _add_reference_columns(table, beside)
    for row in content["rows"]:
        cells = [_cell(row, name, wide) for name in measured]
        target = row["target"]
        cells += [verdict(row["ratio"], target), "" if target is None else f">= {target:g}x"]
        cells += [milliseconds(row[f"{each.key}_reference_ms"]) for each in beside]
        table.add_row(row["operation"], *cells)
    return table


def reference_table(content: Json) -> Table:
    """The figures of other runs alone, for a narrow console."""
    beside = _references(content)
    table = Table(title=f"{content['name']}, not of this run, ms", title_justify="left", style="dim")
    table.add_column("operation")
    _add_reference_columns(table, beside)
    for row in content["rows"]:
        figures = [row[f"{each.key}_reference_ms"] for each in beside]
        if any(figure is not None for figure in figures):
            table.add_row(row["operation"], *map(milliseconds, figures))
    return table


def _add_reference_columns(table: Table, beside: list[Reference]) -> None:
    for each in beside:
        table.add_column(f"{each.title}\n{MARK}", justify="right", style="dim", no_wrap=True)
    if beside:
        table.caption, table.caption_justify = f"{MARK} not of this run", "left"


def _title(content: Json) -> str:
    seal = content["seal"]
    return (
        f"{content['name']}: N=2^{content['n'].bit_length() - 1}, log Q {content['log_q']:.1f} "
        f"(SEAL {seal['log_q']:.1f}), log PQ {content['log_pq']:.1f} (SEAL {seal['log_pq']:.1f})"
    )


def _references(content: Json) -> list[Reference]:
    return [each for each in REFERENCES if _has(content, f"{each.key}_reference_ms")]


def _has(content: Json, key: str) -> bool:
    return any(row[key] is not None for row in content["rows"])


def print_report(console: Console, content: Json) -> None:
    """Everything: a table for each set, two threads, where it was measured."""
    wide = console.width >= WIDE
    for each in content["sets"]:
        console.print(set_table(each, wide))
        if not wide and _references(each):
            console.print(reference_table(each))
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
    console.print(
        f"{MARK} Not of this run: builds from source, {MEASURED}, {MACHINE}.", style="dim", markup=False
    )
