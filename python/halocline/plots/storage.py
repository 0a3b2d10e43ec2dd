# SPDX-License-Identifier: Apache-2.0
"""Pictures of `halocline paper storage`: figures 4 to 7 of the paper, and what planning changes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..base.files import write_file

Json = dict[str, Any]
TIERS = ("hbm", "ddr", "pcie", "rdma")
POLICIES = ("none", "prefetch", "lru", "planned")


def _cases(rows: Sequence[Json], second: str) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["accelerator"], row[second]) for row in rows))


def _panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    """A row of panels."""
    figure = Figure(figsize=(3.4 * count, 3.6), layout="constrained")
    figure.suptitle(title)
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def policies_figure(content: Json) -> Figure:
    """Figure 4, and the policies beside it: slowdown by tier."""
    rows = content["streaming"]
    cases = _cases(rows, "workload")
    figure, panels = _panels(len(cases), "Slowdown by where keys wait")
    for panel, case in zip(panels, cases, strict=True):
        chosen = [row for row in rows if (row["accelerator"], row["workload"]) == case]
        for number, policy in enumerate(POLICIES):
            places = [TIERS.index(row["tier"]) + (number - 1.5) * 0.2 for row in chosen]
            panel.bar(places, [row[policy] for row in chosen], width=0.2, label=policy)
        panel.set_xticks(range(len(TIERS)), TIERS)
        panel.set_yscale("log")
        panel.set_title(", ".join(case))
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("time, multiple of the accelerator alone")
    panels[0].legend()
    return figure


def hits_figure(content: Json) -> Figure:
    """Figure 5: performance by hit ratio."""
    rows = content["figure_5"]
    cases = _cases(rows, "application")
    figure, panels = _panels(len(cases), "Performance by hit ratio")
    for panel, case in zip(panels, cases, strict=True):
        for row in rows:
            if (row["accelerator"], row["application"]) == case:
                hits = [100 * each for each in row["hit_ratios"]]
                panel.plot(hits, [100 * each for each in row["performance"]], marker=".", label=row["tier"])
        panel.axhline(80, color="#888888", linewidth=1)
        panel.set_title(", ".join(case))
        panel.set_xlabel("hits, %")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("% of the full performance")
    panels[0].legend()
    return figure


def hosts_figure(content: Json) -> Figure:
    """Figure 6: time by hosts, on both networks."""
    rows = content["figure_6"]
    cases = [
        (*each, network) for each in _cases(rows, "application") for network in ("ethernet", "fastfabric")
    ]
    figure, panels = _panels(len(cases), "Time by hosts that share limbs")
    for panel, case in zip(panels, cases, strict=True):
        chosen = [row for row in rows if (row["accelerator"], row["application"], row["network"]) == case]
        for tier in TIERS:
            line = [row for row in chosen if row["tier"] == tier]
            panel.plot([row["hosts"] for row in line], [row["time"] for row in line], marker="o", label=tier)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_title("\n".join((", ".join(case[:2]), case[2])))
        panel.set_xlabel("hosts")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("time, multiple of the accelerator alone")
    panels[0].legend()
    return figure


def shares_figure(content: Json) -> Figure:
    """Figure 7: parts of the time of ResNet-20 with keys behind PCIe and Ethernet between the hosts."""
    rows = [
        row
        for row in content["figure_6"]
        if (row["application"], row["tier"], row["network"]) == ("resnet20", "pcie", "ethernet")
    ]
    accelerators = list(dict.fromkeys(row["accelerator"] for row in rows))
    figure, panels = _panels(len(accelerators), "Parts of the time: ResNet-20, PCIe, Ethernet")
    for panel, accelerator in zip(panels, accelerators, strict=True):
        chosen = [row for row in rows if row["accelerator"] == accelerator]
        below = [0.0] * len(chosen)
        for part in ("compute", "io", "communication"):
            shares = [100 * row[part] / row["time"] for row in chosen]
            panel.bar([str(row["hosts"]) for row in chosen], shares, bottom=below, label=part)
            below = [a + b for a, b in zip(below, shares, strict=True)]
        panel.set_title(accelerator)
        panel.set_xlabel("hosts")
    panels[0].set_ylabel("% of the time")
    panels[0].legend()
    return figure


def routing_figure(content: Json) -> Figure:
    """Requests per second and bytes over the network by route."""
    rows = content["routing"]
    accelerators = list(dict.fromkeys(row["accelerator"] for row in rows))
    figure, panels = _panels(2 * len(accelerators), "Requests of many users on several hosts")
    for number, accelerator in enumerate(accelerators):
        chosen = [row for row in rows if row["accelerator"] == accelerator]
        names = [row["route"] for row in chosen]
        for panel, key, text, unit in (
            (panels[2 * number], "requests_per_second", "requests per second", 1.0),
            (panels[2 * number + 1], "network_bytes_per_request", "GB over the network, a request", 1e9),
        ):
            panel.barh(names, [row[key] / unit for row in chosen])
            panel.set_title(accelerator)
            panel.set_xlabel(text)
            panel.set_xscale("log")
    return figure


def save_plots(content: Json, folder: Path) -> list[Path]:
    """Writes storage_*.png; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in (
        ("policies", policies_figure),
        ("hits", hits_figure),
        ("hosts", hosts_figure),
        ("shares", shares_figure),
        ("routing", routing_figure),
    ):
        data = io.BytesIO()
        draw(content).savefig(data, format="png", dpi=110)
        path = folder / f"storage_{name}.png"
        write_file(path, data.getvalue())
        written.append(path)
    return written
