# SPDX-License-Identifier: Apache-2.0
"""`halocline bench operations | ratio`: what the suites for GPUs run and print."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .common import check_device, err, progress_bar, size

SUITES = ("operations", "ratio")


@dataclasses.dataclass(frozen=True)
class GpuSuite:
    """Options of both suites; each takes those that it has."""

    device: str
    sets: list[str] | None
    repetitions: int | None
    log_n: int | None
    oversubscribe: bool
    binary: Path | None
    plot: Path | None

    def run(self, suite: str) -> dict[str, Any]:
        """The result of a suite."""
        check_device(self.device)
        return self._operations() if suite == "operations" else self._ratio()

    def _operations(self) -> dict[str, Any]:
        from ..bench_operations import DEFAULT_SAMPLES, run_operations

        samples = DEFAULT_SAMPLES if self.repetitions is None else self.repetitions
        with progress_bar("timing operations") as progress:
            return run_operations(self.device, self.sets, samples, log_n=self.log_n, progress=progress)

    def _ratio(self) -> dict[str, Any]:
        from ..bench_ratio import run_ratio

        with err().status("allocating side by side"):
            content = run_ratio(
                self.device,
                repetitions=2 if self.repetitions is None else self.repetitions,
                oversubscribe=self.oversubscribe,
                binary=self.binary,
            )
        if self.plot is not None:
            from ..ratio_plots import save_plots

            save_plots(content, self.plot)
        return content


def print_suite(console: Console, content: dict[str, Any]) -> None:
    """The result for people."""
    if content["suite"] == "operations":
        _print_operations(console, content)
    else:
        _print_ratio(console, content)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _print_operations(console: Console, content: dict[str, Any]) -> None:
    columns = ("us", "eager", "graph", "turns", "peer", "target", "bytes floor", "arithmetic", "of floor")
    table = Table("set", "limbs", "operation", *columns, title=f"Microseconds on {content['device']}")
    keys = (
        "us",
        "eager_us",
        "graph_us",
        "eager_turns_us",
        "peer_us",
        "target_us",
        "bytes_floor_us",
        "arithmetic_floor_us",
        "of_floor",
    )
    for row in content["rows"]:
        table.add_row(row["set"], str(row["limbs"]), row["operation"], *(_number(row[key]) for key in keys))
    console.print(table)


def _print_ratio(console: Console, content: dict[str, Any]) -> None:
    names = ("allocate", "copy", "addition", "butterfly", "free")
    table = Table("data", "async", *names, title=f"Milliseconds, budget {size(content['budget_bytes'])}")
    for row in content["sweep"]:
        times = (f"{1e3 * row[f'{name}_seconds']:.2f}" for name in names)
        table.add_row(f"{row['oversubscription']:.0%}", f"{row['async_share']:.0%}", *times)
    console.print(table)
    table = Table("method", "size", "allocate", "touch", "free", title="Microseconds of an allocation")
    for row in content["allocations"]:
        times = (_number(row.get(f"{name}_us")) for name in ("allocate", "touch", "free"))
        table.add_row(row["method"], size(row["bytes"]), *times)
    console.print(table)
    for row in content["multiplication"]:
        console.print(f"multiplication, policy {row['policy']}: {row['us']:.0f} us ({row['params']})")
