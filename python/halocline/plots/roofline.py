# SPDX-License-Identifier: Apache-2.0
"""Pictures of `halocline bench ntt-family`. Nothing else imports this: matplotlib takes its time to load."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..base.files import write_file

WORDS = (32, 64)


def roofline_figure(content: dict[str, Any]) -> Figure:
    """Butterflies per second over butterflies per byte, for the largest batch; one panel for each word size.

    The roof is what the same card did in the same run: copies (left) and butterflies in registers (right).
    """
    figure = Figure(figsize=(12, 5), layout="constrained")
    for panel, bits in zip(figure.subplots(1, 2), WORDS, strict=True):
        _draw_panel(panel, content, bits)
    figure.suptitle(f"{content['device']}: transforms under the roof")
    return figure


def _draw_panel(panel: Axes, content: dict[str, Any], bits: int) -> None:
    rows = [row for row in content["family"] if row["word_bits"] == bits]
    batch = max(row["batch"] for row in rows)
    rows = [row for row in rows if row["batch"] == batch]
    copy = content["ceilings"]["copy_bytes_per_second"]
    peak = content["ceilings"][f"butterflies_per_second_{bits}"]
    intensity = [row["butterflies"] / row["bytes_moved"] for row in rows]
    axis = np.geomspace(min(intensity) / 2, max(*intensity, peak / copy) * 2, 64)
    panel.plot(axis, np.minimum(peak, copy * axis), color="black", label="roof")
    for variant in dict.fromkeys(row["variant"] for row in rows):
        chosen = [row for row in rows if row["variant"] == variant]
        x = [row["butterflies"] / row["bytes_moved"] for row in chosen]
        y = [row["butterflies"] / (1e-6 * row["microseconds"]) for row in chosen]
        panel.plot(x, y, marker="o", linestyle=":", label=variant)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log", base=2)
    panel.set_xlabel("butterflies per byte of device memory")
    panel.set_ylabel("butterflies per second")
    sizes = sorted({row["log_n"] for row in rows})
    panel.set_title(f"{bits}-bit words, batch {batch}, N = 2^{sizes[0]} to 2^{sizes[-1]}")
    panel.grid(alpha=0.3)
    panel.legend()


def save_plots(content: dict[str, Any], folder: Path) -> list[Path]:
    """Writes ntt_roofline.png; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    data = io.BytesIO()
    roofline_figure(content).savefig(data, format="png", dpi=110)
    write_file(folder / "ntt_roofline.png", data.getvalue())
    return [folder / "ntt_roofline.png"]
