# SPDX-License-Identifier: Apache-2.0
"""Pictures of bootstraps."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..base.files import write_file

Calls = Sequence[Mapping[str, float]]
"""One call after another: mean_bits, worst_bits, live_bytes, peak_bytes, loaded_bytes, resident_bytes."""

_MANY_SLOTS = 4096
"""More than this many are drawn as single pixels."""


def error_figure(report: dict[str, Any], errors: npt.NDArray[np.float64], calls: Calls) -> Figure:
    """Of a report of `run bootstrap`: bits of each slot and their histogram; precision and memory by call."""
    found = -np.log2(np.maximum(errors, np.finfo(np.float64).tiny))
    figure = Figure(figsize=(12, 6.6), layout="constrained")
    (slots, histogram), (precision, memory) = figure.subplots(2, 2)
    slots.plot(found, "," if len(found) > _MANY_SLOTS else ".")
    slots.set_xlabel("slot, number")
    slots.set_ylabel("precision, bits")
    histogram.hist(found, bins=60)
    histogram.set_xlabel("precision, bits")
    histogram.set_ylabel("slots, count")
    numbers = np.arange(1, len(calls) + 1)
    precision.plot(numbers, [each["mean_bits"] for each in calls], marker=".", label="mean")
    precision.plot(numbers, [each["worst_bits"] for each in calls], marker=".", label="worst slot")
    precision.set_ylabel("precision, bits")
    series = {
        "live": [each["live_bytes"] for each in calls],
        "peak in fast memory": [each["peak_bytes"] for each in calls],
        "loaded": [each["loaded_bytes"] for each in calls],
        "process": [each["resident_bytes"] for each in calls],
    }
    for label, values in series.items():
        memory.plot(numbers, np.array(values) / 2**20, marker=".", label=label)
    memory.set_ylabel("memory, MiB")
    memory.set_ylim(bottom=0)
    for panel in (precision, memory):
        panel.set_xlabel("call, number")
        panel.legend(loc="best")
    for axis in (slots.xaxis, histogram.yaxis, precision.xaxis, memory.xaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    for panel in (slots, histogram, precision, memory):
        panel.grid(alpha=0.3)
    titles = ("Precision, first call", "How often it occurs", "Precision by call", "Memory by call")
    for panel, title in zip((slots, histogram, precision, memory), titles, strict=True):
        panel.set_title(title, fontsize="medium")
    figure.suptitle(_title(report))
    return figure


def _title(report: dict[str, Any]) -> str:
    """What was bootstrapped, where, how often."""
    return (
        f"Bootstraps of {report['bootstrap']['slots']} slots with {report['params']} on {report['device']}, "
        f"policy {report['policy']}: {report['batches']} at once, {report['repeat']} times"
    )


def save_errors(
    report: dict[str, Any], errors: npt.NDArray[np.float64], calls: Calls, path: str | Path
) -> None:
    """Writes the picture as PNG."""
    _save(error_figure(report, errors, calls), path)


def bm_bootstrap_figure(report: dict[str, Any]) -> Figure:
    """Time, bytes moved and precision of each kind with each parameter set, from a report of bm-bootstrap."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    names = [each["params"] for each in report["presets"]]
    kinds = list(dict.fromkeys(row["kind"] for row in report["rows"]))
    values: dict[str, Callable[[dict[str, Any]], float]] = {
        "time, s": lambda row: row["seconds"],
        "moved, GiB": lambda row: sum(row["bytes_moved"].values()) / 2**30,
        "precision of the\nworst slot, bits": lambda row: row["precision_worst_bits"],
    }
    width = 0.8 / max(1, len(kinds))
    for panel, (label, value) in zip(panels, values.items(), strict=True):
        for number, kind in enumerate(kinds):
            rows = [row for row in report["rows"] if row["kind"] == kind]
            places = [names.index(row["params"]) + (number - (len(kinds) - 1) / 2) * width for row in rows]
            panel.plot(places, [value(row) for row in rows], "o", label=kind)
        panel.set_ylabel(label)
        most = max((value(row) for row in report["rows"]), default=0)
        panel.set_ylim(-0.05 * (most or 1), 1.1 * (most or 1))
        panel.grid(alpha=0.3)
    panels[-1].set_xlabel("parameter set")
    panels[-1].set_xticks(range(len(names)), names)
    panels[0].legend(ncols=len(kinds) or 1, fontsize="small")
    figure.suptitle(f"bm-bootstrap on {report['device']}, policy {report['policy']}")
    return figure


def save_bm_bootstrap(report: dict[str, Any], path: str | Path) -> None:
    """Writes the picture of a report of bm-bootstrap as PNG."""
    _save(bm_bootstrap_figure(report), path)


def _save(figure: Figure, path: str | Path) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130)
    write_file(Path(path), picture.getvalue())
