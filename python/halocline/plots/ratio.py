# SPDX-License-Identifier: Apache-2.0
"""Pictures of `halocline bench ratio`. Nothing else imports this: matplotlib takes its time to load."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..base.files import write_file

PHASES = ("allocate", "copy", "addition", "butterfly")


def sweep_figure(content: dict[str, Any]) -> Figure:
    """One panel for each oversubscription: milliseconds of each phase by share of asynchronous memory."""
    rows = content["sweep"]
    sizes = sorted({row["oversubscription"] for row in rows})
    figure = Figure(figsize=(3 * len(sizes), 3.2), layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for panel, each in zip(panels, sizes, strict=True):
        chosen = [row for row in rows if row["oversubscription"] == each]
        for phase in PHASES:
            shares = [100 * row["async_share"] for row in chosen]
            panel.plot(shares, [1e3 * row[f"{phase}_seconds"] for row in chosen], marker="o", label=phase)
        panel.set_title(f"data {100 * each:.0f} % of the budget")
        panel.set_xlabel("asynchronous, % of the budget")
        panel.set_yscale("log")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("time, ms")
    panels[0].legend()
    budget = content["budget_bytes"] >> 20
    figure.suptitle(f"Asynchronous and managed memory on {content['device']}, budget {budget} MiB")
    return figure


def allocation_figure(content: dict[str, Any]) -> Figure:
    """Microseconds of allocation, touch and free together, by size, one line for each method."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    methods: dict[str, list[tuple[int, float]]] = {}
    for row in content["allocations"]:
        if "allocate_us" in row:
            total = row["allocate_us"] + row["touch_us"] + row["free_us"]
            methods.setdefault(row["method"], []).append((row["bytes"], total))
    for name, points in methods.items():
        panel.plot(*zip(*points, strict=True), marker="o", label=name)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xlabel("size of the allocation, bytes")
    panel.set_ylabel("time to allocate, touch and free, us")
    panel.set_title(f"Allocations on {content['device']}")
    panel.grid(alpha=0.3)
    panel.legend()
    return figure


def save_plots(content: dict[str, Any], folder: Path) -> list[Path]:
    """Writes ratio_sweep.png and ratio_allocations.png; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in (
        ("ratio_sweep", sweep_figure(content)),
        ("ratio_allocations", allocation_figure(content)),
    ):
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=110)
        write_file(folder / f"{name}.png", data.getvalue())
        written.append(folder / f"{name}.png")
    return written
