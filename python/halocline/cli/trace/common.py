# SPDX-License-Identifier: Apache-2.0
"""What the commands on traces share: arguments, and rows of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...base.errors import InvalidArgument
from ...base.option_values import Checked, Choice, Number
from ...memory.trace import Trace
from ...tracing.replay import POLICIES, ReplayReport, device_model
from ..common import checked, size

TraceArgument = Annotated[
    Path, typer.Argument(metavar="TRACE", help="A trace (`trace record`, `run --trace`), or a log of RMM.")
]

MODEL = Checked("MODEL|FILE", device_model)
"""A device model: its name, or a file with its constants."""

DeviceModelOption = Annotated[
    str,
    typer.Option(
        "--device-model",
        metavar="MODEL|FILE",
        help="gtx1050, gtx1660ti, rtx4090, a40, h200, or a JSON file of a model (`trace replay --list`).",
        callback=checked(MODEL),
    ),
]
PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help=f"{', '.join(POLICIES)} or all; may be repeated.",
        callback=checked(Choice((*POLICIES, "all"), "POLICY")),
    ),
]
KernelScaleOption = Annotated[
    float,
    typer.Option(
        "--kernel-scale", help="Factor on the times of operations.", callback=checked(Number(0, above=True))
    ),
]
RecordedTimesOption = Annotated[
    bool, typer.Option("--recorded-times", help="Operations take as long as in the trace of a real run.")
]
AsyncRatioOption = Annotated[
    float,
    typer.Option(
        "--async-ratio",
        help="profiled: share of the budget that its pool may take.",
        callback=checked(Number(0, 1)),
    ),
]
LifetimeOption = Annotated[
    float | None,
    typer.Option("--lifetime", min=0, help="N: only what lives shorter, in seconds, goes to the pool."),
]


def chosen_policies(names: list[str] | None) -> list[str]:
    """Policies in the order of reports; all of them by default."""
    return [each for each in POLICIES if not names or "all" in names or each in names]


def load(path: Path, what: str) -> Trace:
    """A trace that has events."""
    trace = Trace.load(path)
    if not len(trace):
        raise InvalidArgument(f"{what}: '{path}' has no events")
    return trace


def seconds(value: float) -> str:
    """A time as readable text, with three significant digits."""
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


REPLAY_HEADER = (
    "policy",
    "time",
    "slowdown",
    "faults",
    "copies",
    "host",
    "loaded",
    "stored",
    "links busy",
    "peak",
)
"""Columns of `replay_row`. Faults, copies, host: what the device waits for. Links busy: in / out."""


def replay_row(policy: str, found: ReplayReport | None, base: float) -> list[str]:
    """Cells of one replay; `base` is the time that slowdowns are measured against."""
    if found is None:
        return [policy, "does not fit", *([""] * (len(REPLAY_HEADER) - 2))]
    waits = (found.fault_seconds, found.transfer_wait_seconds, found.host_wait_seconds)
    busy = (found.load_busy_seconds, found.store_busy_seconds)
    return [
        policy,
        seconds(found.total_seconds),
        f"{found.total_seconds / base:.3f}",
        *(seconds(each) if each else "-" for each in waits),
        *(size(each) if each else "-" for each in (found.loaded_bytes, found.stored_bytes)),
        " / ".join(f"{each / found.total_seconds:.0%}" for each in busy),
        size(found.peak_resident_bytes),
    ]
