# SPDX-License-Identifier: Apache-2.0
"""The table of `halocline plan advise`, and what to type for the best variant."""

from __future__ import annotations

import dataclasses
import shlex

from rich.console import Console
from rich.table import Table

from ...ckks.params import REQUIRED_SECURITY, Params
from ...engine.advice import AS_WRITTEN, Advice, Row, Variant
from ..common import size
from ..trace.common import seconds

HEADER = ("keys", "loaded", "stored", "made again", "requests", "compute", "forecast")
"""Columns behind the variant. All bytes but those of the keys, requests and times are of one input."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """What advice was asked for."""

    program: str | None
    """A workload; None: another program."""
    params: Params
    given: str | None
    """The parameters as they were typed."""


def print_advice(console: Console, advice: Advice, asked: Asked, top: int) -> None:
    """The table, what the best row saves, and how to run it."""
    link = str(advice.link) if advice.link else f"its link to the host, {advice.device}"
    place = f"{asked.params.name} on {advice.device} in {size(advice.budget_bytes)} over {link}"
    table = Table(title=place)
    table.add_column("")
    table.add_column("variant", overflow="fold", min_width=30)
    for name in HEADER:
        table.add_column(name, no_wrap=True)
    shown = list(advice.rows[:top])
    if advice.written not in shown:
        shown.append(advice.written)
    for row in shown:
        table.add_row(str(advice.rows.index(row) + 1), *_cells(row))
    console.print(table)
    if len(shown) < len(advice.rows):
        console.print(
            f"{len(advice.rows) - len(shown)} more variants; --top and --json show them", soft_wrap=True
        )
    best, written = advice.best, advice.written
    console.print(_summary(best, written), soft_wrap=True, markup=False)
    for line in _how(best.variant, advice, asked):
        console.print(line, soft_wrap=True, markup=False)


def _cells(row: Row) -> list[str]:
    name = "as written" if row.variant.changes == 0 else str(row.variant)
    name += " (comparison)" * row.variant.is_comparison
    found, each = row.forecast, row.variant.batch
    keys = size(row.key_bytes)
    if found is None:
        return [f"{name}: needs {size(row.minimum_bytes)}", keys, *(["-"] * (len(HEADER) - 1))]
    bytes_ = (found.loaded_bytes, found.written_bytes, found.regenerated_bytes)
    return [
        name,
        keys,
        *(size(round(count / each)) if count else "-" for count in bytes_),
        f"{found.requests / each:.0f}",
        seconds(found.compute_seconds / each),
        seconds(row.seconds_each),
    ]


def _summary(best: Row, written: Row) -> str:
    """The best row against the program as it is written."""
    moved = size(round(best.moved_each))
    if best is written:
        return f"best: as written, {seconds(best.seconds_each)} and {moved} over the link for each input"
    if written.forecast is None:
        return (
            f"best: {seconds(best.seconds_each)} and {moved} over the link for each input; "
            f"as written it needs {size(written.minimum_bytes)}"
        )
    return (
        f"best: {seconds(best.seconds_each)} instead of {seconds(written.seconds_each)}, {moved} instead of "
        f"{size(round(written.moved_each))} over the link for each input"
    )


def _how(variant: Variant, advice: Advice, asked: Asked) -> list[str]:
    """What to type, and what the variant changes."""
    if asked.program is not None:
        from ...workloads.advice import run_options

        options = run_options(asked.program, variant)
        if options is not None:
            parts = ["halocline run", asked.program]
            parts += [] if asked.given is None else ["--params", shlex.quote(asked.given)]
            parts += ["--allow-insecure"] * (asked.params.security_bits < REQUIRED_SECURITY)
            parts += ["--policy planned --memory", str(advice.budget_bytes), options]
            return [" ".join(parts).rstrip()]
    lines = []
    if variant.dropped_levels:
        level = asked.params.max_level - variant.dropped_levels
        lines.append(
            f"inputs: encrypt at level {level} (--keep-levels leaves this out); results have no levels"
        )
    arguments = {"memory": advice.budget_bytes, "policy": "planned"} | variant.engine_options
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    lines.append(f"halocline.Engine(params, keys, {text})")
    if variant.circuits != AS_WRITTEN:
        lines.append("with the keys of halocline.key_plan(params, program, circuits=...)")
    if variant.batch > 1:
        lines.append(f"and {variant.batch} inputs in each run")
    return lines
