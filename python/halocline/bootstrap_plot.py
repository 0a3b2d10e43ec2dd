# SPDX-License-Identifier: Apache-2.0
"""Pictures of bootstraps. Nothing else imports this: matplotlib takes its time to load."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from .trace import write_atomically


def error_figure(errors: Sequence[npt.NDArray[np.float64]]) -> Figure:
    """Bits of each slot after the first call, how often they occur, and mean and worst of all calls."""
    tiny = np.finfo(np.float64).tiny
    bits = -np.log2(np.maximum(errors[0], tiny))
    figure = Figure(figsize=(12, 3.4), layout="constrained")
    slots, histogram, calls = figure.subplots(1, 3)
    slots.plot(bits, ",")
    slots.set_xlabel("slot")
    slots.set_ylabel("precision, bits")
    histogram.hist(bits, bins=60)
    histogram.set_xlabel("precision, bits")
    histogram.set_ylabel("slots")
    numbers = np.arange(1, len(errors) + 1)
    calls.plot(numbers, [-np.log2(max(each.mean(), tiny)) for each in errors], marker=".", label="mean")
    calls.plot(numbers, [-np.log2(max(each.max(), tiny)) for each in errors], marker=".", label="worst slot")
    calls.set_xlabel("bootstraps, one after another")
    calls.set_ylabel("precision, bits")
    calls.legend()
    for panel in (slots, histogram, calls):
        panel.grid(alpha=0.3)
    return figure


def save_errors(errors: Sequence[npt.NDArray[np.float64]], path: str | Path) -> None:
    """Writes the picture as PNG."""
    _save(error_figure(errors), path)


def bm_bootstrap_figure(report: dict[str, Any]) -> Figure:
    """Time, bytes moved and precision of each kind with each parameter set, from a report of bm-bootstrap."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    names = [each["params"] for each in report["presets"]]
    kinds = list(dict.fromkeys(row["kind"] for row in report["rows"]))
    values: dict[str, Callable[[dict[str, Any]], float]] = {
        "seconds": lambda row: row["seconds"],
        "GiB moved": lambda row: sum(row["bytes_moved"].values()) / 2**30,
        "worst slot, bits": lambda row: row["precision_worst_bits"],
    }
    width = 0.8 / max(1, len(kinds))
    for panel, (label, value) in zip(panels, values.items(), strict=True):
        for number, kind in enumerate(kinds):
            rows = [row for row in report["rows"] if row["kind"] == kind]
            places = [names.index(row["params"]) + (number - (len(kinds) - 1) / 2) * width for row in rows]
            panel.plot(places, [value(row) for row in rows], "o", label=kind)
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
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
    write_atomically(Path(path), picture.getvalue())
