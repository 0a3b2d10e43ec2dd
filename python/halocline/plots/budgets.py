# SPDX-License-Identifier: Apache-2.0
"""Pictures of measured workloads by policy and budget: bootstrap-budget, resnet20-budget, bm-operations,
bm-bootstrap.

Nothing else imports this: matplotlib takes its time to load.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from .. import _core
from ..base.files import write_file
from .replays import POLICY_STYLES

Json = dict[str, Any]


def _styled(policy: str) -> dict[str, Any]:
    name, _, variant = policy.partition("@")
    color, marker = POLICY_STYLES[name]
    share = variant.removesuffix("%")
    alpha = float(share) / 100 if variant.endswith("%") else 1.0
    line = "--" if variant == "blocking" else "-"
    return {"color": color, "marker": marker, "label": policy, "alpha": alpha, "linestyle": line}


CURVES = {"bootstrap-budget": "Bootstrapping", "resnet20-budget": "ResNet-20"}
"""What is run within budgets, by suite."""
_MANY_BUDGETS = 16
"""Of more, the first and the last are named."""


def curve_figure(content: Json) -> Figure:
    """Slowdown by budget, a line for each policy and a panel for each batch."""
    batches = [each["batch"] for each in content["batches"]]
    figure = Figure(figsize=(6 * len(batches) + 1.8, 4.2), layout="constrained")
    panels = figure.subplots(1, len(batches), sharey=True, squeeze=False)[0]
    for panel, about in zip(panels, content["batches"], strict=True):
        chosen = [row for row in content["rows"] if row["batch"] == about["batch"] and row["share"]]
        for policy in dict.fromkeys(row["policy"] for row in chosen):
            points = sorted(
                (100 * row["share"], row["slowdown"])
                for row in chosen
                if row["policy"] == policy and row.get("slowdown") is not None
            )
            if points:
                panel.plot(*zip(*points, strict=True), **_styled(policy))
        least = 100 * about["minimum_bytes"] / about["footprint_bytes"]
        panel.axvline(least, color="#6c7a89", linestyle=":", label="least for a plan")
        panel.set_title(f"{about['batch']} at once, touching {_core.format_bytes(about['footprint_bytes'])}")
        panel.set_xlabel("budget, % of what is touched")
        panel.set_xscale("log")
        panel.set_yscale("log")
        _mark(panel, chosen)
        panel.grid(alpha=0.3, which="both")
    panels[0].set_ylabel("time, multiple of resident")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    where = f"simulated {content['device']}" if content["simulated"] else content["device"]
    figure.suptitle(f"{CURVES[content['suite']]} with {content['params']} on {where}")
    return figure


def _mark(panel: Any, rows: list[Json]) -> None:
    """Ticks at round slowdowns and at the budgets; of a run that was stopped there may be none."""
    slow = [row["slowdown"] for row in rows if row.get("slowdown") is not None]
    if slow:
        marks = [each for each in (0.5, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100) if each <= 2 * max(slow)]
        panel.set_yticks(marks, [f"{each:g}" for each in marks])
        panel.set_ylim(0.9 * min(slow), 1.1 * max(slow))
    ticks = sorted({round(100 * row["share"], 3) for row in rows if row["memory"].endswith("%")})
    if len(ticks) > _MANY_BUDGETS:
        ticks = [ticks[0], ticks[-1]]
    if ticks:
        panel.set_xticks(ticks, [f"{each:g}" for each in ticks])
        panel.minorticks_off()


def operations_figure(content: Json) -> Figure:
    """Mean, least and largest milliseconds of each operation: a row of panels for each set and budget."""
    sessions = [each for each in content["sessions"] if "operations" in each]
    groups = list(dict.fromkeys((each["params"], each["memory"]) for each in sessions))
    names = list(sessions[0]["operations"]) if sessions else ["-"]
    shape = (max(1, len(groups)), len(names))
    figure = Figure(figsize=(2.6 * shape[1], 2.8 * shape[0]), layout="constrained")
    panels = figure.subplots(*shape, squeeze=False)
    for line, (params, memory) in zip(panels, groups, strict=False):
        chosen = [each for each in sessions if (each["params"], each["memory"]) == (params, memory)]
        for panel, name in zip(line, names, strict=True):
            for place, each in enumerate(chosen):
                found = each["operations"][name]
                low, mean, high = (1e3 * found[key] for key in ("low", "mean", "high"))
                panel.bar(place, mean, color=POLICY_STYLES[each["policy"]][0])
                panel.vlines(place, low, high, color="#1f2328", linewidth=1)
            panel.set_xticks(range(len(chosen)), [each["policy"] for each in chosen], rotation=60)
            panel.set_title(name)
            panel.grid(alpha=0.3, axis="y")
        line[0].set_ylabel(f"{params}, {memory}\ntime, ms")
    figure.suptitle(
        f"Operations, {content['repeats']} in a row each, on {content['device']}: mean, least, largest"
    )
    return figure


def async_peak_figure(content: Json) -> Figure:
    """Seconds of bm-bootstrap by async peak threshold; the other policies as lines across."""
    budgets = list(dict.fromkeys(row["memory"] for row in content["rows"]))
    figure = Figure(figsize=(6 * len(budgets), 4), layout="constrained")
    panels = figure.subplots(1, len(budgets), sharey=True, squeeze=False)[0]
    for panel, memory in zip(panels, budgets, strict=True):
        rows = [row for row in content["rows"] if row["memory"] == memory and row["seconds"] is not None]
        sweep = [(100 * row["async_peak"], row["seconds"]) for row in rows if row["policy"] == "profiled"]
        if sweep:
            panel.plot(*zip(*sorted(sweep), strict=True), **_styled("profiled"))
        for row in rows:
            if row["policy"] != "profiled":
                style = {key: value for key, value in _styled(row["policy"]).items() if key != "marker"}
                panel.axhline(row["seconds"], **(style | {"linestyle": "--"}))
        panel.set_title(f"budget {memory}")
        panel.set_xlabel("async peak threshold, % of the budget")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("time of all bootstraps, s")
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend()
    figure.suptitle(f"bm-bootstrap on {content['device']}")
    return figure


FIGURES: dict[str, tuple[str, Callable[[Json], Figure]]] = {
    "bootstrap-budget": ("bootstrap_budget.png", curve_figure),
    "resnet20-budget": ("resnet20_budget.png", curve_figure),
    "bm-operations": ("bm_operations.png", operations_figure),
    "bm-bootstrap": ("bm_async_peak.png", async_peak_figure),
}
"""Suite -> name of its picture, and what draws it."""


def save_plots(content: Json, folder: Path) -> list[Path]:
    """Writes the picture of a result; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    name, draw = FIGURES[content["suite"]]
    data = io.BytesIO()
    draw(content).savefig(data, format="png", dpi=110)
    write_file(folder / name, data.getvalue())
    return [folder / name]
