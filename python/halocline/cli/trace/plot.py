# SPDX-License-Identifier: Apache-2.0
"""`halocline trace plot`: pictures of a trace and of its replays, as files or as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ... import _core
from ...base.errors import InvalidArgument
from ...base.files import write_file
from ...base.option_values import Choice, Size
from ...base.values import byte_count
from ...memory.budget import budget_of
from ...memory.trace import Trace
from ...tracing.replay import budget_bytes, device_model
from ..common import (
    checked,
    command,
    no_standard_output,
    progress_bar,
    results_console,
    size,
)
from .common import (
    MODEL,
    KernelScaleOption,
    PoliciesOption,
    RecordedTimesOption,
    TraceArgument,
    chosen_policies,
    load,
    seconds,
    stats_rows,
)

if TYPE_CHECKING:
    from .pictures import Pictures

KINDS = ("png", "svg", "pdf")

TRACE_PLOTS = {
    "live": ("Live bytes", "Bytes that are allocated, by object class."),
    "scatter": (
        "Allocations and frees",
        "Objects in the order of their allocation: all of them, and the first thousand.",
    ),
    "lifetimes": ("Lifetimes", "How many objects lived how long."),
    "thresholds": (
        "Asynchronous and managed memory",
        "If objects that live shorter than N are allocated asynchronously, and all others are managed.",
    ),
}
"""Pictures of the trace alone: name -> heading, what it shows."""

REPLAY_PLOTS = {
    "residency": ("Residency", "Bytes on the simulated device under each policy that fits the budget."),
    "plan": ("Plan", "When each object that the plan moves is on the device."),
    "latency": ("Latency by policy and operation", "Operations are the phases of the program."),
    "async-ratio": (
        "Latency by asynchronous peak ratio",
        "Policy profiled, by the share of the budget that its pool may take; other policies as lines.",
    ),
    "bytes": ("Bytes moved by budget", "Over both links."),
    "slowdown": ("Slowdown by budget", "Against resident with room for everything."),
}
"""Pictures of replays on a simulated device."""

PLOTS = TRACE_PLOTS | REPLAY_PLOTS


OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="PNG, SVG or PDF file; of several plots, NAME-PLOT.png.")
]
HtmlOption = Annotated[Path | None, typer.Option("--html", help="One page with plots and tables.")]
PlotsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plot",
        help=f"{', '.join(PLOTS)} or all; may be repeated.",
        callback=checked(Choice((*PLOTS, "all"), "PLOT")),
    ),
]
ThresholdOption = Annotated[
    list[float] | None, typer.Option("--threshold", help="N in seconds; may be repeated.", min=0)
]
SplitOption = Annotated[
    float | None, typer.Option("--split", help="Seconds between the two lifetime histograms.")
]
CapacityOption = Annotated[
    str | None,
    typer.Option(
        "--capacity",
        help="Line of the device's memory: 48GiB, or 25% of the peak.",
        callback=checked(Size()),
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device-model",
        metavar="MODEL|FILE",
        help="For plots of replays; h200 unless given.",
        callback=checked(MODEL),
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option("--memory", help="Budget of replays: 2GiB, or 25% of the peak.", callback=checked(Size())),
]
BudgetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--budget", help="For plots by budget: 2GiB, or 25%; may be repeated.", callback=checked(Size())
    ),
]


@command
def plot(
    path: TraceArgument,
    output: OutOption = None,
    html: HtmlOption = None,
    plots: PlotsOption = None,
    threshold: ThresholdOption = None,
    split: SplitOption = None,
    capacity: CapacityOption = None,
    device: DeviceOption = None,
    memory: MemoryOption = "25%",
    budgets: BudgetsOption = None,
    policies: PoliciesOption = None,
    kernel_scale: KernelScaleOption = 1.0,
    recorded_times: RecordedTimesOption = False,
) -> None:
    """Plot a trace: live bytes by class, or what --plot names.

    The HTML page has all plots by default, those of replays if --device-model is given.
    """
    if output is None and html is None:
        raise InvalidArgument("trace plot: nothing to write; give --out FILE, --html FILE, or both")
    if output is not None:
        no_standard_output(output, "trace plot: --out")  # its name tells the format
        _expect_format(output)
    console = results_console(html)
    from ...plots.replays import SHARES, Setup
    from .pictures import Pictures

    trace = load(path, "trace plot")
    setup = Setup(trace, path.name, device_model(device or "h200"), kernel_scale, recorded_times)
    pictures = Pictures(
        setup,
        threshold or [],
        split,
        capacity_bytes=byte_count(budget_of(capacity, trace.peak_bytes), "--capacity"),
        budget=budget_bytes(trace, memory),
        budgets=[budget_bytes(trace, each) for each in budgets or [f"{100 * share}%" for share in SHARES]],
        policies=chosen_policies(policies),
    )
    if output is not None:
        _write_files(console, pictures, _chosen(plots, ["live"]), output)
    if html is not None:
        _write_page(console, pictures, _chosen(plots, list(PLOTS if device else TRACE_PLOTS)), html)


def _chosen(names: list[str] | None, default: list[str]) -> list[str]:
    """Names of plots without repetition."""
    return list(PLOTS) if names and "all" in names else list(dict.fromkeys(names or default))


def _expect_format(output: Path) -> None:
    """Raises InvalidArgument for a file whose ending names no format, before the trace is read."""
    if output.suffix.removeprefix(".").lower() not in KINDS:
        raise InvalidArgument(
            f"trace plot: '{output}' ends in '{output.suffix}', expected .png, .svg or .pdf"
        )


def _write_files(console: Console, pictures: Pictures, names: list[str], output: Path) -> None:
    from ...plots.traces import render

    kind = output.suffix.removeprefix(".").lower()
    with progress_bar("drawing") as progress:
        for done, name in enumerate(names):
            progress(done, len(names))
            target = output if len(names) == 1 else output.with_name(f"{output.stem}-{name}{output.suffix}")
            write_file(target, render(pictures.draw(name), kind))
            console.print(f"{target}: {PLOTS[name][0].lower()}", markup=False, soft_wrap=True)


def _summary(trace: Trace) -> str:
    peak = size(trace.peak_bytes)
    return f"{len(trace)} events over {seconds(trace.seconds)}; at most {peak} were live at once."


def _write_page(console: Console, pictures: Pictures, names: list[str], html: Path) -> None:
    from ...plots.report import HtmlTable, Section, page

    trace = pictures.setup.trace
    sections = [Section("Summary", _summary(trace), [HtmlTable(*stats_rows(trace))])]
    with progress_bar("drawing") as progress:
        for done, name in enumerate(names):
            progress(done, len(names))
            if name in REPLAY_PLOTS and "Replays" not in [each.title for each in sections]:
                sections.append(pictures.replay_section())
            sections.append(Section(*PLOTS[name], [pictures.draw(name)]))
    footer = f"Written by halocline {_core.version} ({_core.commit})."
    write_file(html, page(f"Trace {pictures.setup.name}", sections, footer).encode())
    console.print(f"{html}: {len(names)} plots", markup=False, soft_wrap=True)
