# SPDX-License-Identifier: Apache-2.0
"""What the commands on traces share: arguments, and rows of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidArgument
from ..trace import Trace
from .common import size

TraceArgument = Annotated[
    Path, typer.Argument(metavar="TRACE", help="A trace (`trace record`, `run --trace`), or a log of RMM.")
]


def load(path: Path, what: str) -> Trace:
    """A trace that has events."""
    trace = Trace.load(path)
    if not len(trace):
        raise InvalidArgument(f"{what}: '{path}' has no events")
    return trace


def seconds(value: float) -> str:
    """A time for people, with three digits that count."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def stats_rows(trace: Trace) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of a trace's object classes."""
    header = ["class", "allocated", "existing", "bytes allocated", "read", "written", "peak"]
    rows = []
    for name, s in trace.stats().items():
        sizes = (s.allocated_bytes, s.read_bytes, s.written_bytes, s.peak_bytes)
        life = f"{s.median_lifetime:.0f} steps, {seconds(s.median_seconds)}" if s.objects else "-"
        rows.append([name, str(s.objects), str(s.existing), *(size(each) for each in sizes), life])

    return [*header, "median life"], rows
