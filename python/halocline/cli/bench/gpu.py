# SPDX-License-Identifier: Apache-2.0
"""`halocline bench operations | ratio | ntt-family`: what the suites for GPUs run and print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ...base.errors import InvalidArgument
from ...base.extras import require
from ..common import check_device, err, progress_bar, size
from .options import BenchOptions, stored

SUITES = ("operations", "ratio", "ntt-family")
_STORED = {"ratio": "ratio", "ntt-family": "ntt"}
"""Suites with pictures, and what their results call them."""


class GpuSuite:
    """Runs suites of single operations and allocations."""

    def __init__(self, options: BenchOptions) -> None:
        self._options = options
        self._device = options.device or "cuda:0"

    def run(self, suite: str) -> dict[str, Any]:
        """The result of a suite: measured, or read from a file (then without a GPU)."""
        o = self._options
        if o.plot is not None:  # before the measurement, not after it
            require("matplotlib", "lab", f"bench {suite}: --plot")
        if o.source is not None:
            content = stored(suite, o.source, _STORED)
        else:
            check_device(self._device)
            content = {"operations": self._operations, "ratio": self._ratio, "ntt-family": self._ntt}[suite]()
        if o.plot is not None:
            self._draw(suite, content, o.plot)
        return content

    @staticmethod
    def _draw(suite: str, content: dict[str, Any], folder: Path) -> None:
        if suite == "ratio":
            from ...plots.ratio import save_plots
        elif suite == "ntt-family":
            from ...plots.roofline import save_plots
        else:
            raise InvalidArgument(f"bench {suite}: --plot is for suites with pictures: {', '.join(_STORED)}")
        save_plots(content, folder)

    def _ntt(self) -> dict[str, Any]:
        from ...bench.ntt_family import run_ntt_family

        with err().status("transforming"):
            return run_ntt_family(self._options.binary, quick=self._options.quick)

    def _operations(self) -> dict[str, Any]:
        from ...bench.operations import DEFAULT_SAMPLES, run_operations

        o = self._options
        samples = DEFAULT_SAMPLES if o.repetitions is None else o.repetitions
        with progress_bar("timing operations") as progress:
            return run_operations(self._device, o.sets, samples, log_n=o.log_n, progress=progress)

    def _ratio(self) -> dict[str, Any]:
        from ...bench.ratio import run_ratio

        o = self._options
        with err().status("allocating side by side"):
            content = run_ratio(
                self._device,
                repetitions=2 if o.repetitions is None else o.repetitions,
                oversubscribe=o.oversubscribe,
                binary=o.binary,
            )
        return content


def print_suite(console: Console, content: dict[str, Any]) -> None:
    """The result for people."""
    if content["suite"] == "operations":
        _print_operations(console, content)
    elif content["suite"] == "ratio":
        _print_ratio(console, content)
    else:
        _print_ntt(console, content)


def _print_ntt(console: Console, content: dict[str, Any]) -> None:
    rows = content["family"]
    batches = sorted({row["batch"] for row in rows})
    shown = [batches[0], batches[len(batches) // 2], batches[-1]]
    names = [f"{name} of {batch}" for batch in shown for name in ("us", "% of butterflies", "% of copies")]
    table = Table("word", "N", "variant", *names, title=f"Transforms on {content['device']}")
    found = {(row["word_bits"], row["log_n"], row["variant"], row["batch"]): row for row in rows}
    keys = ("microseconds", "percent_of_butterfly_peak", "percent_of_copy_bandwidth")
    for bits, log_n, variant in dict.fromkeys(key[:3] for key in found):
        cells = (_number(found[bits, log_n, variant, batch][key]) for batch in shown for key in keys)
        table.add_row(str(bits), f"2^{log_n}", variant, *cells)
    console.print(table)


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
