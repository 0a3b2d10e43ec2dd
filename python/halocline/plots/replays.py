# SPDX-License-Identifier: Apache-2.0
"""Pictures of replays: policies, budgets and asynchronous ratios compared on a simulated device.

Figures 10 to 12 of the hybrid unified-memory paper, and residency, bytes moved and slowdown by budget.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from .. import _core
from ..base.errors import OutOfMemory
from ..memory.plan import VERBS, Plan
from ..memory.trace import CLASSES, Trace
from ..tracing.replay import DeviceModel, ReplayReport, replay, resident_seconds
from .traces import ASYNC, CAPACITY, CLASS_COLORS, MANAGED, byte_unit, new_figure, tidy, time_unit

Floats = npt.NDArray[np.float64]

POLICY_STYLES = {
    "resident": ("#1f2328", "o"),
    "async": ("#6c7a89", "s"),
    "cached": ("#9498a0", "D"),
    "managed": ("#d1242f", "v"),
    "static": ("#ef8a17", "^"),
    "profiled": ("#efb118", "<"),
    "dynamic": ("#a463f2", ">"),
    "lru": ("#4269d0", "P"),
    "planned": ("#2a9134", "*"),
}
"""Color and marker of each policy, the same in every picture."""

SHARES = (0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0)
"""Budgets as shares of the most bytes that are live at once, unless told otherwise."""
RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Asynchronous peak ratios: shares of the budget that the pool of `profiled` may take."""
_MOST_OPERATIONS = 8
_WIDE_RANGE = 50
"""Latencies that differ by more than this factor are drawn in log scale."""


@dataclasses.dataclass(frozen=True)
class Setup:
    """A program on a device, for replays that differ in policy and budget."""

    trace: Trace
    name: str
    device: DeviceModel
    kernel_scale: float = 1.0
    recorded_times: bool = False

    def run(self, policy: str, budget: int, async_ratio: float | None = None) -> ReplayReport | None:
        """The report, or None when the policy cannot run within the budget."""
        more = {} if async_ratio is None else {"async_ratio": async_ratio}
        times = {"kernel_scale": self.kernel_scale, "recorded_times": self.recorded_times}
        try:
            return replay(self.trace, self.device, policy, budget, **times, **more)  # type: ignore[arg-type]
        except OutOfMemory:
            return None

    def resident_seconds(self) -> float:
        """What slowdowns are measured against: the time with room for everything."""
        return resident_seconds(
            self.trace, self.device, kernel_scale=self.kernel_scale, recorded_times=self.recorded_times
        )

    def title(self, what: str) -> str:
        """Title of a figure."""
        return f"{self.name} on {self.device.name}: {what}"


def draw_residency(setup: Setup, policies: Sequence[str], budget: int) -> Figure:
    """Bytes on the device over time, one panel per policy, with the budget as a line."""
    reports = [each for each in (setup.run(policy, budget) for policy in policies) if each is not None]
    columns = min(max(len(reports), 1), 3)
    rows = max(math.ceil(len(reports) / columns), 1)
    figure = new_figure(setup.title("residency by policy"), 12, 1.2 + 2.6 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    divisor, unit = byte_unit(budget)
    for axes, report in zip(panels, reports, strict=False):
        _draw_residency(axes, report, divisor, unit)
    for axes in panels[len(reports) :]:
        axes.set_visible(False)
    if reports:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_residency(axes: Axes, report: ReplayReport, divisor: float, unit: str) -> None:
    line = report.timeline
    factor, time_name = time_unit(report.total_seconds)
    seconds, pool = line["seconds"] * factor, line["pool_bytes"] / divisor
    # The pool counts all that lives in it; blocks that it holds back, or frames, are the rest.
    other = np.maximum(line["resident_bytes"] / divisor - pool, 0)
    axes.stackplot(seconds, pool, other, labels=["pool", "managed or paged"], colors=[ASYNC, MANAGED])
    axes.axhline(report.budget_bytes / divisor, color=CAPACITY, linewidth=1.2, label="budget")
    axes.set_title(f"{report.policy}: {report.total_seconds * factor:.3g} {time_name}", fontsize=10)
    axes.set(xlabel=f"time, {time_name}", ylabel=f"on the device, {unit}", ylim=(0, None))
    axes.set_xlim(0, max(seconds[-1], 1e-12) if len(seconds) else 1)
    if not axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        axes.set_ylabel("")
    tidy(axes)


def latencies(reports: Sequence[ReplayReport]) -> dict[str, dict[str, tuple[float, float, int]]]:
    """Operation -> policy -> (mean seconds, standard deviation, repetitions); the longest operations.

    A program that was recorded without phases is one operation, "program".
    """
    found: dict[str, dict[str, tuple[float, float, int]]] = {}
    for report in reports:
        operations = report.operations() or {"program": np.array([report.total_seconds])}
        for name, seconds in operations.items():
            row = (float(seconds.mean()), float(seconds.std()), len(seconds))
            found.setdefault(name, {})[report.policy] = row
    weight = {name: max(mean * n for mean, _, n in row.values()) for name, row in found.items()}
    longest = sorted(weight, key=lambda name: -weight[name])[:_MOST_OPERATIONS]
    return {name: found[name] for name in found if name in longest}


def draw_latency(setup: Setup, policies: Sequence[str], budget: int) -> Figure:
    """Latency of each operation by policy; bars reach one standard deviation (paper, figures 11 and 12)."""
    reports = [each for each in (setup.run(policy, budget) for policy in policies) if each is not None]
    found = latencies(reports)
    figure = new_figure(
        setup.title(f"latency in {_core.format_bytes(budget)}"), max(7.0, 2 + 2.2 * max(len(found), 2)), 5
    )
    axes = figure.subplots()
    longest = max((mean + spread for row in found.values() for mean, spread, _ in row.values()), default=1)
    factor, unit = time_unit(longest)
    width = 0.8 / max(len(reports), 1)
    for k, report in enumerate(reports):
        rows = [row[report.policy] for row in found.values()]
        places = np.arange(len(rows)) + (k - (len(reports) - 1) / 2) * width
        axes.bar(
            places,
            [mean * factor for mean, _, _ in rows],
            width=width,
            yerr=[spread * factor for _, spread, _ in rows],
            capsize=2,
            color=POLICY_STYLES[report.policy][0],
            label=report.policy,
        )
    times = [next(iter(row.values()))[2] for row in found.values()]
    names = [f"{name}\n({n} times)" if n > 1 else name for name, n in zip(found, times, strict=True)]
    axes.set_xticks(np.arange(len(found)), names)
    means = [mean for row in found.values() for mean, _, _ in row.values() if mean > 0]
    if means and max(means) > _WIDE_RANGE * min(means):
        axes.set_yscale("log", nonpositive="clip")
    axes.set_ylabel(f"latency, {unit}; whiskers: standard deviation")
    tidy(axes, grid="y")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def ratio_curve(setup: Setup, budget: int, ratios: Sequence[float] = RATIOS) -> tuple[Floats, Floats]:
    """Ratios that could run, and the seconds of `profiled` at each."""
    reports = [(ratio, setup.run("profiled", budget, ratio)) for ratio in ratios]
    kept = [(ratio, report.total_seconds) for ratio, report in reports if report is not None]
    return np.array([ratio for ratio, _ in kept]), np.array([seconds for _, seconds in kept])


def draw_async_ratio(setup: Setup, policies: Sequence[str], budget: int) -> Figure:
    """Latency of `profiled` by asynchronous peak ratio, with other policies as lines (paper, figure 10)."""
    ratios, seconds = ratio_curve(setup, budget)
    others = {}
    for name in policies:
        if name != "profiled" and (report := setup.run(name, budget)) is not None:
            others[name] = report.total_seconds
    factor, unit = time_unit(max([*seconds.tolist(), *others.values()], default=1.0))
    figure = new_figure(setup.title(f"asynchronous peak ratio, budget {_core.format_bytes(budget)}"), 9, 5)
    axes = figure.subplots()
    color, marker = POLICY_STYLES["profiled"]
    axes.plot(ratios, seconds * factor, color=color, marker=marker, label="profiled", linewidth=2)
    for name, value in others.items():
        axes.axhline(value * factor, color=POLICY_STYLES[name][0], linestyle="--", linewidth=1.2, label=name)
    axes.set(xlabel="share of the budget that the pool may take", ylabel=f"time of the program, {unit}")
    axes.set(xlim=(0, 1), ylim=(0, None))
    tidy(axes)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


@dataclasses.dataclass(frozen=True)
class BudgetCurve:
    """What one policy does at each budget that it can run within."""

    policy: str
    budgets: Floats
    seconds: Floats
    moved_bytes: Floats


def budget_curves(setup: Setup, policies: Sequence[str], budgets: Sequence[int]) -> list[BudgetCurve]:
    """One curve per policy; budgets above what the device has are left out."""
    allowed = sorted({each for each in budgets if 0 < each <= setup.device.usable_bytes})
    curves = []
    for policy in policies:
        reports = [each for each in (setup.run(policy, budget) for budget in allowed) if each is not None]
        columns = (
            np.array([getattr(each, name) for each in reports], dtype=np.float64)
            for name in ("budget_bytes", "total_seconds", "moved_bytes")
        )
        curves.append(BudgetCurve(policy, *columns))
    return curves


def _draw_curves(axes: Axes, curves: Sequence[BudgetCurve], peak: int, rows: Sequence[Floats]) -> None:
    for curve, values in zip(curves, rows, strict=True):
        color, marker = POLICY_STYLES[curve.policy]
        if len(values):
            axes.plot(
                curve.budgets / peak * 100,
                values,
                color=color,
                marker=marker,
                label=curve.policy,
                linewidth=1.5,
            )
    axes.set_xlabel(f"budget, % of the {_core.format_bytes(peak)} that are live at once")
    tidy(axes)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def draw_bytes_by_budget(setup: Setup, curves: Sequence[BudgetCurve]) -> Figure:
    """Bytes over both links by budget, one line per policy."""
    divisor, unit = byte_unit(max((float(each.moved_bytes.max(initial=0)) for each in curves), default=0))
    figure = new_figure(setup.title("bytes moved by budget"), 9, 5)
    axes = figure.subplots()
    _draw_curves(axes, curves, setup.trace.peak_bytes, [each.moved_bytes / divisor for each in curves])
    axes.set(ylabel=f"loaded and stored, {unit}", ylim=(0, None))
    return figure


def draw_slowdown_by_budget(setup: Setup, curves: Sequence[BudgetCurve]) -> Figure:
    """Time over that of `resident` with enough memory, by budget; one line per policy, log scale."""
    base = setup.resident_seconds()
    figure = new_figure(setup.title("slowdown by budget"), 9, 5)
    axes = figure.subplots()
    axes.set_yscale("log")
    _draw_curves(axes, curves, setup.trace.peak_bytes, [each.seconds / base for each in curves])
    ticks = [t for t in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if t <= max(2.0, *(axes.get_ylim()[1:]))]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.set_ylabel("time, multiple of resident with enough memory")
    return figure


def plan_segments(plan: Plan) -> tuple[npt.NDArray[np.int64], Floats]:
    """For each stretch that an object of the plan spends on the device: object, and (first, last) step.

    Only objects that the plan brings in; what steps create is not told by directives until it moves.
    """
    c = plan.columns()
    begun: dict[int, int] = {}
    objects, spans = [], []
    columns = (c[name].tolist() for name in ("before", "target", "action"))
    leaving = {VERBS.index("drop"), VERBS.index("write_back")}
    for before, target, action in zip(*columns, strict=True):
        if action in leaving:
            if target in begun:
                objects.append(target)
                spans.append((begun.pop(target), before))
        elif VERBS[action] != "shrink":
            begun.setdefault(target, before)
    for target, before in begun.items():
        objects.append(target)
        spans.append((before, int(c["object_dead"][target])))
    return np.array(objects, dtype=np.int64), np.array(spans, dtype=np.float64).reshape(-1, 2)


def draw_plan(setup: Setup, plan: Plan) -> Figure:
    """When each object that the plan moves is on the device; one line per object, by first arrival."""
    objects, spans = plan_segments(plan)
    figure = new_figure(
        setup.title(f"objects on the device, planned in {_core.format_bytes(plan.summary.capacity_bytes)}"),
        12,
        6,
    )
    axes = figure.subplots()
    classes = plan.columns()["object_class"]
    arrival: dict[int, int] = {}
    for each in objects[np.argsort(spans[:, 0], kind="stable")].tolist():
        arrival.setdefault(each, len(arrival))
    rows = np.array([arrival[each] for each in objects.tolist()], dtype=np.float64)
    height = max(0.6, min(4.0, 380 / max(len(arrival), 1)))
    for number, name in enumerate(CLASSES):
        here = classes[objects] == number if len(objects) else np.zeros(0, dtype=bool)
        if here.any():
            lines = [((a, y), (b, y)) for (a, b), y in zip(spans[here], rows[here], strict=True)]
            axes.add_collection(
                LineCollection(lines, colors=CLASS_COLORS[name], linewidths=height, capstyle="butt",
                               label=name.replace("_", " "))
            )  # fmt: skip
    axes.set(xlim=(0, max(plan.steps, 1)), ylim=(-1, max(len(arrival), 1)))
    axes.set(xlabel="step", ylabel="object, in order of first arrival")
    tidy(axes)
    if len(objects):
        legend = axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
        for line in legend.get_lines():
            line.set_linewidth(4)
    return figure
