# SPDX-License-Identifier: Apache-2.0
"""`halocline trace plot`: pictures of a trace, as files or as one HTML page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import _core
from .._values import byte_count
from ..errors import InvalidArgument
from ..trace import Trace, write_atomically
from ..workloads.running import budget_of
from .common import command, out, size
from .trace_common import TraceArgument, load, seconds, stats_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("png", "svg", "pdf")


@dataclasses.dataclass(frozen=True)
class PlotOptions:
    """What the pictures are made from."""

    trace: Trace
    name: str
    thresholds: list[float]
    split: float | None
    capacity_bytes: int


def _live(o: PlotOptions) -> Figure:
    from .. import trace_plots

    return trace_plots.draw_live_bytes(o.trace, o.name)


def _scatter(o: PlotOptions) -> Figure:
    from .. import trace_plots

    return trace_plots.draw_scatter(o.trace, o.name)


def _lifetimes(o: PlotOptions) -> Figure:
    from .. import trace_plots

    return trace_plots.draw_lifetimes(o.trace, o.name, o.split)


def _thresholds(o: PlotOptions) -> Figure:
    from .. import trace_plots

    return trace_plots.draw_thresholds(o.trace, o.name, o.thresholds, o.capacity_bytes)


PLOTS: dict[str, tuple[str, str, Callable[[PlotOptions], Figure]]] = {
    "live": ("Live bytes", "Bytes that are allocated, by object class.", _live),
    "scatter": (
        "Allocations and frees",
        "Objects in the order of their allocation; all, and the first thousand.",
        _scatter,
    ),
    "lifetimes": ("Lifetimes", "How many objects lived how long.", _lifetimes),
    "thresholds": (
        "Asynchronous and managed memory",
        "If objects that live shorter than N are allocated asynchronously, and all others are managed.",
        _thresholds,
    ),
}
"""Name -> heading, what it shows, drawing function."""


@command
def plot(
    path: TraceArgument,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="PNG, SVG or PDF file; of several, NAME-PLOT.png.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="One page with all plots and tables.")] = None,
    plots: Annotated[
        list[str] | None, typer.Option("--plot", help=f"{', '.join(PLOTS)} or all; may be repeated.")
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option("--threshold", help="N in seconds; may be repeated.", min=0)
    ] = None,
    split: Annotated[
        float | None, typer.Option("--split", help="Seconds between the two lifetime histograms.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", help="Line of the device's memory: 48GiB, or 25% of the peak.")
    ] = None,
) -> None:
    """Plot a trace: live bytes by class, or what --plot names. The HTML page has all of them by default."""
    if output is None and html is None:
        raise InvalidArgument("trace plot: nothing to write; give --out FILE, --html FILE, or both")
    trace = load(path, "trace plot")
    line = byte_count(budget_of(capacity, trace.peak_bytes), "--capacity")
    options = PlotOptions(trace, path.name, threshold or [], split, line)
    if output is not None:
        _write_files(options, _chosen(plots, ["live"]), output)
    if html is not None:
        _write_page(options, _chosen(plots, list(PLOTS)), html)


def _chosen(names: list[str] | None, default: list[str]) -> list[str]:
    """Checked names of plots without repetition."""
    chosen = list(PLOTS) if names and "all" in names else list(dict.fromkeys(names or default))
    for each in chosen:
        if each not in PLOTS:
            raise InvalidArgument(f"trace plot: unknown plot '{each}'; expected {', '.join(PLOTS)} or all")
    return chosen


def _write_files(options: PlotOptions, names: list[str], output: Path) -> None:
    from ..trace_plots import render

    kind = output.suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise InvalidArgument(
            f"trace plot: '{output}' ends in '{output.suffix}', expected .png, .svg or .pdf"
        )
    for name in names:
        target = output if len(names) == 1 else output.with_name(f"{output.stem}-{name}{output.suffix}")
        write_atomically(target, render(PLOTS[name][2](options), kind))
        out().print(f"{target}: {len(options.trace)} events", markup=False, soft_wrap=True)


def _write_page(options: PlotOptions, names: list[str], html: Path) -> None:
    from ..trace_report import HtmlTable, Section, page

    trace = options.trace
    summary = (
        f"{len(trace)} events over {seconds(trace.seconds)}; peak of live bytes {size(trace.peak_bytes)}."
    )
    sections = [Section("Summary", summary, [HtmlTable(*stats_rows(trace))])]
    sections += [Section(PLOTS[name][0], PLOTS[name][1], [PLOTS[name][2](options)]) for name in names]
    footer = f"Written by halocline {_core.version} ({_core.commit})."
    write_atomically(html, page(f"Trace {options.name}", sections, footer).encode())
    out().print(f"{html}: {len(names)} plots", markup=False, soft_wrap=True)
