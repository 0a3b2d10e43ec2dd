# SPDX-License-Identifier: Apache-2.0
"""Pictures of `halocline paper xehe`: gains step by step, as the paper's Figures 13 to 20."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..base.files import write_file

Json = dict[str, Any]


def steps_figure(rows: list[Json], name: str, title: str) -> Figure:
    """Bars of the gain over the first step, a group for each `name`, a colour for each step."""
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    groups = list(dict.fromkeys(row[name] for row in rows))
    steps = list(dict.fromkeys(row["step"] for row in rows))
    width = 0.8 / max(1, len(steps))
    for number, step in enumerate(steps):
        chosen = [row for row in rows if row["step"] == step]
        places = [groups.index(row[name]) + (number - (len(steps) - 1) / 2) * width for row in chosen]
        axes.bar(places, [row["speed_up"] for row in chosen], width=width, label=step)
    axes.set_xticks(range(len(groups)), [str(each) for each in groups], fontsize=8)
    axes.set_ylabel("gain over the first step")
    axes.set_title(title)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=7)
    return figure


def save_plots(content: Json, folder: Path) -> list[Path]:
    """Writes xehe_*.png for the tables that have rows; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table, name, title in (
        ("routines", "routine", "Routines"),
        ("matrices", "product", "Matrix products"),
    ):
        if not content[table]:
            continue
        out = io.BytesIO()
        steps_figure(content[table], name, f"{title} on {content['device']}").savefig(out, format="png")
        written.append(folder / f"xehe_{table}.png")
        write_file(written[-1], out.getvalue())
    return written
