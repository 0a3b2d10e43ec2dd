# SPDX-License-Identifier: Apache-2.0
"""A picture of a compiled network: its graph with levels, and the times of its layers."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..base.files import write_file

Rows = Sequence[Mapping[str, Any]]
"""Stages in order, as `halocline.nn.layer_table.LayerRow.to_dict` makes them."""

_LINEAR, _BOOTSTRAP, _ACTIVATION, _EDGE = "#4477aa", "#ee6677", "#228833", "#999999"
_MOVES = (-0.35, -0.15, 0.0, 0.3)
"""Where linear maps, bootstrap and activation of a stage begin and end, beside its number."""
_MOST_LABELS = 60
"""More stages get a label for some of them only."""


def network_figure(rows: Rows, fresh_level: int, title: str) -> Figure:
    """Levels of values above, with an arrow for each connection; times of the stages below."""
    width = min(40.0, max(7.0, 2.5 + 0.42 * len(rows)))
    figure = Figure(figsize=(width, 7.2), layout="constrained")
    levels, times = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    _draw_levels(levels, rows, fresh_level)
    _draw_times(times, rows)
    step = -(-len(rows) // _MOST_LABELS)
    labelled = range(0, len(rows), step)
    times.set_xticks(
        [0, *(each + 1 for each in labelled)],
        ["input", *(_shortened(str(rows[each]["name"])) for each in labelled)],
        rotation=60,
        ha="right",
        fontsize="small",
    )
    figure.suptitle(title)
    return figure


def _shortened(name: str) -> str:
    """A name that fits below the picture; dollar signs would begin a formula."""
    return (name if len(name) <= 24 else f"{name[:21]}...").replace("$", r"\$")


def _draw_levels(panel: Axes, rows: Rows, fresh_level: int) -> None:
    """A path for each stage: from its level in, by its bootstrap, to its level out."""
    out = {"input": (0.0, fresh_level)}
    for number, row in enumerate(rows, start=1):
        out[str(row["name"])] = (number + _MOVES[-1], int(row["level_out"]))
    for number, row in enumerate(rows, start=1):
        for source in row["sources"]:
            _connect(panel, out[source], (number + _MOVES[0], int(row["level_in"])))
    labels = {_LINEAR: "linear maps", _BOOTSTRAP: "bootstrap", _ACTIVATION: "activation"}
    for number, row in enumerate(rows, start=1):
        for color, begin, end in _moves(row):
            style = {"lw": 1, "ls": ":"} if color == _EDGE else {"lw": 3}
            places = [number + begin[0], number + end[0]]
            panel.plot(places, [begin[1], end[1]], color=color, **style)
    panel.plot(*zip(*out.values(), strict=True), "o", color="black", ms=5)
    for color, label in labels.items():
        panel.plot([], [], color=color, lw=3, label=label)
    panel.plot([], [], "o", color="black", ms=5, label="result")
    panel.set_ylabel("level")
    panel.set_ylim(bottom=-0.5)
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.grid(alpha=0.3)
    panel.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize="small", frameon=False)


Point = tuple[float, int]
"""Place beside the number of the stage, and level."""


def _moves(row: Mapping[str, Any]) -> list[tuple[str, Point, Point]]:
    """What is done to levels: (colour, from, to); without an activation nothing at the end."""
    begin, linear, refreshed, result = _MOVES
    at: Point = (linear, int(row["level_in"]) - 1)
    moves: list[tuple[str, Point, Point]] = [(_LINEAR, (begin, int(row["level_in"])), at)]
    if row["level_bootstrapped"] is not None:
        moves.append((_BOOTSTRAP, at, (refreshed, int(row["level_bootstrapped"]))))
        at = moves[-1][2]
    moves.append((_ACTIVATION if row["kind"] else _EDGE, at, (result, int(row["level_out"]))))
    return moves


def _connect(panel: Axes, begin: tuple[float, int], end: tuple[float, int]) -> None:
    """An arrow from a result to the stage that takes it; those that pass over stages are bent."""
    bend = 0.0 if end[0] - begin[0] <= 1 else 0.25
    arrow = {"arrowstyle": "->", "color": _EDGE, "connectionstyle": f"arc3,rad={bend}", "shrinkB": 3}
    panel.annotate("", end, begin, arrowprops=arrow)


def _draw_times(panel: Axes, rows: Rows) -> None:
    """A bar for each stage, in parts."""
    numbers = range(1, len(rows) + 1)
    longest = max((row["seconds"] for row in rows), default=0.0)
    unit, factor = ("s", 1.0) if longest >= 1 else ("ms", 1e3)
    bottom = [0.0] * len(rows)
    parts = (("linear", _LINEAR), ("bootstrap", _BOOTSTRAP), ("activation", _ACTIVATION))
    for part, color in parts:
        heights = [factor * float(row[f"{part}_seconds"]) for row in rows]
        panel.bar(numbers, heights, bottom=bottom, color=color, width=0.7)
        bottom = [low + high for low, high in zip(bottom, heights, strict=True)]
    panel.set_ylabel(f"forecast time, {unit}")
    panel.grid(alpha=0.3, axis="y")


def save_network(rows: Rows, fresh_level: int, title: str, path: str | Path) -> None:
    """Writes the picture as PNG."""
    image = io.BytesIO()
    network_figure(rows, fresh_level, title).savefig(image, dpi=110, format="png")
    write_file(path, image.getvalue())
