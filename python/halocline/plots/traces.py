# SPDX-License-Identifier: Apache-2.0
"""Pictures of a trace: those of the hybrid unified-memory paper (figures 6 to 8), and live bytes by class.

Each picture has a function that computes what it shows, and one that draws it as a matplotlib figure.
"""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import _core
from ..base.errors import InvalidArgument
from ..memory.trace import CLASSES, Lifetimes, Trace

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CLASS_COLORS = {
    "evaluation_key": "#4269d0",
    "plaintext": "#efb118",
    "ciphertext": "#3ca951",
    "scratch": "#9498a0",
    "table": "#a463f2",
}
ALLOCATE, FREE = "#2a9134", "#d1242f"
ASYNC, MANAGED, CAPACITY = "#4269d0", "#ef8a17", "#d1242f"

_MOST_POINTS = 4000
"""A curve of more points than this is thinned to its highest ones; a screen shows no more."""
_MOST_MARKERS = 100_000
"""Scatter plots of more objects show every k-th."""
_NARROW = 1e-9


def time_unit(seconds: float) -> tuple[float, str]:
    """Factor from seconds and name of the unit in which so long a time reads well."""
    for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return factor, name
    return 1e9, "ns"


def byte_unit(count: float) -> tuple[float, str]:
    """Divisor and name of the unit in which so many bytes read well."""
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 2**power:
            return float(2**power), name
    return 1.0, "B"


def new_figure(title: str, width: float = 10, height: float = 5) -> Figure:
    """An empty figure that needs no display, with a title over all of it."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title, fontsize=12)
    figure.get_layout_engine().set(h_pad=0.08)  # type: ignore[union-attr, call-arg]
    return figure


def render(figure: Figure, kind: str) -> bytes:
    """A figure as the bytes of a PNG, SVG or PDF file."""
    buffer = io.BytesIO()
    metadata: dict[str, None] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}.get(
        kind, {"Date": None}
    )
    figure.savefig(buffer, format=kind, dpi=120, metadata=metadata)
    return buffer.getvalue()


def tidy(axes: Axes, *, grid: str = "both") -> None:
    """The look that all plots share."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis=grid, color="#dddddd", linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def _thinned(height: Floats | Ints) -> Ints:
    """Indices of the highest element of each of at most so many runs of equal length."""
    n = len(height)
    if n <= _MOST_POINTS:
        return np.arange(n)
    edges = np.linspace(0, n, _MOST_POINTS + 1).astype(np.int64)
    return np.array([a + int(np.argmax(height[a:b])) for a, b in zip(edges[:-1], edges[1:], strict=True)])


def draw_live_bytes(trace: Trace, name: str) -> Figure:
    """Live bytes over time, stacked by object class."""
    live = trace.live_bytes()
    total = np.sum([live[each] for each in CLASSES], axis=0)
    chosen = _thinned(total)
    factor, unit = time_unit(trace.seconds)
    divisor, bytes_unit = byte_unit(total.max())
    seconds = trace.columns["time_ns"][chosen].astype(np.float64) / 1e9 * factor
    figure = new_figure(f"{name}: live bytes by object class")
    axes = figure.subplots()
    shown = [each for each in CLASSES if live[each].any()]
    axes.stackplot(
        seconds,
        *(live[each][chosen] / divisor for each in shown),
        labels=[each.replace("_", " ") for each in shown],
        colors=[CLASS_COLORS[each] for each in shown],
        step="post",
    )
    axes.set(xlabel=f"time, {unit}", ylabel=f"live bytes, {bytes_unit}")
    axes.set(xlim=(seconds[0], max(seconds[-1], seconds[0] + _NARROW)), ylim=(0, None))
    tidy(axes)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, reverse=True)
    return figure


@dataclasses.dataclass(frozen=True)
class AllocationPoints:
    """Where the markers of the scatter plot stand; objects are numbered in the order of allocation."""

    allocated: Ints
    allocated_seconds: Floats
    freed: Ints
    freed_seconds: Floats


def allocation_points(lives: Lifetimes, limit: int | None = None) -> AllocationPoints:
    """Allocations and frees of the first `limit` objects (all by default)."""
    made = lives.allocations()
    number = np.arange(len(made))[:limit]
    freed = number[made.freed[:limit]]
    return AllocationPoints(number, made.begin[:limit], freed, made.end[freed])


def draw_scatter(trace: Trace, name: str, zoom: int = 1000) -> Figure:
    """When each object was allocated and freed: all of them, and the first `zoom` (paper, figure 7)."""
    figure = new_figure(f"{name}: allocations and frees", 12, 5)
    for axes, limit in zip(figure.subplots(1, 2), (None, zoom), strict=True):
        points = allocation_points(trace.lifetimes, limit)
        count = len(points.allocated)
        every = max(math.ceil(count / _MOST_MARKERS), 1)
        _draw_points(axes, points, every, 5.0 if count <= 2 * zoom else 3.0)
        what = f"all {count} objects" if limit is None else f"the first {count} objects"
        axes.set_title(what + (f", one in {every} shown" if every > 1 else ""), fontsize=10)
        tidy(axes)
        axes.legend(loc="upper left", markerscale=2, framealpha=0.9)
    return figure


def _draw_points(axes: Axes, points: AllocationPoints, every: int, size: float) -> None:
    end = float(points.freed_seconds.max(initial=points.allocated_seconds.max(initial=0.0)))
    factor, unit = time_unit(end)
    # Most objects are freed soon: allocations go on top, smaller, so that both can be seen.
    for marker, color, label, objects, seconds, scale in (
        ("^", ALLOCATE, "allocate", points.allocated, points.allocated_seconds, 0.7),
        ("v", FREE, "free", points.freed, points.freed_seconds, 1.0),
    ):
        axes.plot(
            seconds[::every] * factor,
            objects[::every],
            marker=marker,
            color=color,
            label=label,
            markersize=size * scale,
            zorder=3 - scale,
            alpha=0.9,
            linestyle="none",
            markeredgewidth=0,
            rasterized=True,
        )
    axes.set(xlabel=f"time, {unit}", ylabel="object, in order of allocation")


@dataclasses.dataclass(frozen=True)
class LifetimeHistogram:
    """How many objects lived how long, in bins of equal width on each side of `split`."""

    split: float
    """Seconds."""
    below: Ints
    below_edges: Floats
    beyond: Ints
    beyond_edges: Floats
    never_freed: int
    """Allocated objects that outlived the recording; they are in no bin."""

    @property
    def share_below(self) -> float:
        """Share of the freed objects that lived shorter than the split."""
        total = int(self.below.sum() + self.beyond.sum())
        return float(self.below.sum() / total) if total else 0.0


def rounded(value: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above `value`."""
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= value * (1 + 1e-12))


def lifetime_histogram(trace: Trace, split: float | None = None, bins: int = 50) -> LifetimeHistogram:
    """Counts of lifetimes below and beyond `split` seconds: 1 s as in the paper, less for short lives.

    Where no object lives for 10 s, the split is at about a tenth of the longest life.
    """
    made = trace.lifetimes.allocations()
    seconds = made.seconds[made.freed]
    longest = float(seconds.max(initial=0.0)) or _NARROW
    if split is None:
        split = 1.0 if longest >= 10 else rounded(longest / 10)
    if not split > 0:
        raise InvalidArgument(f"lifetimes: got a split at {split} s, expected more than 0")
    below, below_edges = np.histogram(seconds[seconds < split], bins=bins, range=(0, split))
    top = longest if longest > split else 2 * split
    beyond, beyond_edges = np.histogram(seconds[seconds >= split], bins=bins, range=(split, top))
    return LifetimeHistogram(split, below, below_edges, beyond, beyond_edges, int((~made.freed).sum()))


def draw_lifetimes(trace: Trace, name: str, split: float | None = None) -> Figure:
    """Lifetimes of all objects, counts in log scale: below a split and beyond it (paper, figure 6)."""
    h = lifetime_histogram(trace, split)
    figure = new_figure(f"{name}: lifetimes of objects ({h.never_freed} never freed, not shown)", 12, 4.5)
    factor, unit = time_unit(h.split)
    split_text = f"{h.split * factor:g} {unit}"
    left, right = figure.subplots(1, 2)
    for axes, counts, edges, what in (
        (left, h.below, h.below_edges, f"below {split_text}: {h.share_below:.1%} of the freed objects"),
        (right, h.beyond, h.beyond_edges, f"{split_text} and longer: {1 - h.share_below:.1%}"),
    ):
        factor, unit = time_unit(float(edges[-1]))
        axes.stairs(counts, edges * factor, fill=True, color=ASYNC)
        if counts.any():
            axes.set_yscale("log")
        else:
            axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center")
        axes.set_ylim(0.5, 2 * max(int(counts.max()), 1))
        axes.set_title(what, fontsize=10)
        axes.set(xlabel=f"lifetime, {unit}", ylabel="objects, log scale")
        tidy(axes)
    return figure


@dataclasses.dataclass(frozen=True)
class SplitMemory:
    """Live bytes of asynchronous and managed objects over time."""

    seconds: Floats
    pool_bytes: Ints
    managed_bytes: Ints


def memory_by_threshold(trace: Trace, threshold: float) -> SplitMemory:
    """Memory over time if objects that live shorter than `threshold` seconds are allocated asynchronously.

    All others are managed: longer ones, those never freed, and those that were there before the recording.
    """
    lives = trace.lifetimes
    quick = lives.fresh & lives.freed & (lives.seconds < threshold)
    time = np.concatenate([lives.begin, lives.end])
    change = np.concatenate([lives.bytes, np.where(lives.freed, -lives.bytes, 0)])
    # Events decide the order of changes at one time; what was there before comes first, as one change.
    order = np.lexsort((np.concatenate([np.where(lives.fresh, lives.first, -1), lives.last]), time))
    quick_change = np.concatenate([quick, quick])[order] * change[order]
    pool = np.cumsum(quick_change)
    seen = slice(max(int((~lives.fresh).sum()) - 1, 0), None)
    return SplitMemory(time[order][seen], pool[seen], (np.cumsum(change[order]) - pool)[seen])


def default_thresholds(trace: Trace) -> list[float]:
    """Four lifetime thresholds N: 1, 64, 256 and 512 s as in the paper, or fractions of a shorter trace."""
    if trace.seconds >= 512:
        return [1.0, 64.0, 256.0, 512.0]
    return [rounded(trace.seconds * share) for share in (0.001, 0.01, 0.1, 0.5)]


def draw_thresholds(
    trace: Trace, name: str, thresholds: Sequence[float] | None = None, capacity_bytes: int = 0
) -> Figure:
    """Memory of asynchronous and managed objects for each threshold N (paper, figure 8).

    capacity_bytes: of the device, drawn as a line; 0 for none.
    """
    chosen = list(thresholds) if thresholds else default_thresholds(trace)
    if any(not math.isfinite(each) or each < 0 for each in chosen):
        raise InvalidArgument(f"thresholds: got {chosen}, expected seconds, none negative")
    columns = min(len(chosen), 2)
    rows = math.ceil(len(chosen) / columns)
    figure = new_figure(f"{name}: memory by lifetime threshold N", 12, 1 + 3.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    divisor, unit = byte_unit(max(trace.peak_bytes, capacity_bytes))
    factor, time_name = time_unit(trace.seconds)
    for axes, threshold in zip(panels, chosen, strict=False):
        memory = memory_by_threshold(trace, threshold)
        for color, label, values in (
            (ASYNC, "asynchronous", memory.pool_bytes),
            (MANAGED, "managed", memory.managed_bytes),
        ):
            shown = _thinned(values)
            axes.step(memory.seconds[shown] * factor, values[shown] / divisor, where="post", color=color,
                      label=label, linewidth=1.2)  # fmt: skip
        if capacity_bytes:
            axes.axhline(capacity_bytes / divisor, color=CAPACITY, label="capacity", linewidth=1.2)
        n_factor, n_unit = time_unit(threshold)
        peak = _core.format_bytes(int(memory.pool_bytes.max(initial=0)))
        axes.set_title(f"N = {threshold * n_factor:g} {n_unit}, asynchronous peak {peak}", fontsize=10)
        axes.set(xlabel=f"time, {time_name}", ylabel=f"memory, {unit}")
        axes.label_outer()
        tidy(axes)
    for axes in panels[len(chosen) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
