# SPDX-License-Identifier: Apache-2.0
"""Picture of the precision of bootstraps. Nothing else imports this: matplotlib takes its time to load."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

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
    picture = io.BytesIO()
    error_figure(errors).savefig(picture, format="png", dpi=130)
    write_atomically(Path(path), picture.getvalue())
