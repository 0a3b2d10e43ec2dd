# SPDX-License-Identifier: Apache-2.0
"""Rows of the printed report of `halocline run sorting`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _core


def rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row."""
    r = report
    levels = r["levels"]
    yield "sorted", f"{r['count']} numbers in {r['stages']} stages, seed {r['seed']}, alpha {r['alpha']}"
    yield (
        "levels",
        f"bootstraps {levels['bootstrap_from']} to {levels['bootstrap_to']}, "
        f"stages {levels['stage_from']} to {levels['stage_to']}",
    )
    yield (
        "time",
        f"{r['sort_seconds']:.2f} s, of which bootstraps {r['bootstrap_seconds']:.2f}; "
        f"{r['ms_per_stage']:.1f} ms a stage (median)",
    )
    yield (
        "error",
        f"{r['max_error']:.2g} at most, {r['mean_error']:.2g} on average; without noise "
        f"{r['max_error_simulated']:.2g} and {r['mean_error_simulated']:.2g}",
    )
    yield (
        "order",
        f"{r['neighbours_out_of_order']} neighbours out of order, at most {r['largest_disorder']:.2g} apart",
    )
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in r["operations"].items())
    yield "operations", f"{counts}; {r['key_switches']} key switches"
    yield "evaluation keys", f"{r['distinct_keys']}, {_size(r['key_bytes'])}"
    parts = ", ".join(f"{name} {_size(count)}" for name, count in r["footprint"].items())
    yield "footprint", f"{_size(r['footprint_bytes'])} that the program touches: {parts}"


def _size(count: int) -> str:
    return _core.format_bytes(int(count))
