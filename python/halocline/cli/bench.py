# SPDX-License-Identifier: Apache-2.0
"""`halocline bench`: micro benchmarks, comparisons with other libraries, replays of a paper, workloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..bench import MICRO_SUITES, run_micro
from ..errors import InvalidArgument
from .bench_gpu import SUITES as GPU_SUITES
from .bench_gpu import GpuSuite, print_suite
from .common import (
    DeviceOption,
    JsonOption,
    OversubscribeOption,
    command,
    err,
    origin,
    progress_bar,
    results_console,
    write_json,
)
from .profile_option import ProfileOption, profiling

SUITES = (*MICRO_SUITES, "peers", "hybrid-paper", "wide-rotations", *GPU_SUITES)


BinaryOption = Annotated[
    Path | None,
    typer.Option("--binary", help="Micro suites, ratio, ntt-family: the program, if not in build/."),
]
SetsOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Peers, operations: a parameter set; may be repeated. All by default."),
]
BenchThreadsOption = Annotated[
    int, typer.Option("--threads", min=1, help="Peers, wide-rotations: threads of Halocline.")
]
RepetitionsOption = Annotated[
    int | None, typer.Option("--repetitions", help="Timed calls of each operation, or runs.")
]
LogNOption = Annotated[
    int | None, typer.Option("--log-n", help="Operations: a smaller ring, for a look; not secure.")
]


PlotOption = Annotated[Path | None, typer.Option("--plot", help="Ratio, ntt-family: folder for pictures.")]
SourceOption = Annotated[
    Path | None,
    typer.Option("--from", help="Ratio, ntt-family: show a result that --json wrote; needs no GPU."),
]


@command
def bench(
    suite: Annotated[str, typer.Argument(help=f"One of: {', '.join(SUITES)}.")] = "micro",
    quick: Annotated[bool, typer.Option("--quick", help="Micro suites, ntt-family: short.")] = False,
    binary: BinaryOption = None,
    sets: SetsOption = None,
    threads: BenchThreadsOption = 1,
    repetitions: RepetitionsOption = None,
    device: DeviceOption = "cuda:0",
    log_n: LogNOption = None,
    plot: PlotOption = None,
    source: SourceOption = None,
    oversubscribe_managed: OversubscribeOption = False,
    profile: ProfileOption = None,
    json: JsonOption = None,
) -> None:
    """Run the micro benchmarks (`make bench` builds them), or compare with other libraries (peers).

    hybrid-paper replays a paper's workloads on simulated devices; wide-rotations runs a workload within
    several budgets, each time in a process of its own. operations times single operations on a GPU
    (--device); ratio compares ways to allocate a GPU's memory; ntt-family compares transforms.
    """
    console = results_console(json)
    if profile is not None and suite != "operations":
        raise InvalidArgument("bench: --profile is for operations; workloads have `halocline run --profile`")
    if suite == "peers":
        from ..bench_peers import DEFAULT_REPETITIONS, run_peers

        count = DEFAULT_REPETITIONS if repetitions is None else repetitions
        content = run_peers(sets, threads, count, console=console)
    elif suite in GPU_SUITES:
        with profiling(profile, json):
            options = (device, sets, repetitions, log_n, oversubscribe_managed, binary, plot, quick, source)
            content = GpuSuite(*options).run(suite)
        content = origin() | content  # a stored result keeps its own origin
        print_suite(console, content)
    elif suite in ("hybrid-paper", "wide-rotations"):
        with progress_bar(suite) as progress:
            content = _workloads(suite, threads, repetitions, progress) | origin()
        _print_rows(console, content)
    elif suite in MICRO_SUITES:
        with err().status(f"running the micro benchmarks: {suite}"):
            content = run_micro(suite, quick, binary) | origin()
        _print(console, content)
    else:
        raise InvalidArgument(f"bench: unknown suite '{suite}'; expected one of: {', '.join(SUITES)}")
    write_json(json, content)


def _workloads(
    suite: str, threads: int, repetitions: int | None, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """The result of a suite that is written in Python."""
    if suite == "hybrid-paper":
        from ..workloads.hybrid_paper_run import run_hybrid_paper

        return run_hybrid_paper(progress=lambda _, done, total: progress(done, total))
    from ..workloads.wide_rotations_bench import DEFAULT_REPETITIONS, run_wide_bench

    count = DEFAULT_REPETITIONS if repetitions is None else repetitions
    return run_wide_bench(threads, count, progress=progress)


def _print_rows(console: Console, content: dict[str, Any]) -> None:
    """The table of a suite that has rows; other suites have pages that show them."""
    rows = content.get("rows", [])
    if not rows:
        console.print("done; --json FILE keeps the result, tools/update_results.py makes the tables")
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


def _print(console: Console, content: dict[str, Any]) -> None:
    table = Table("benchmark", "time", "CPU", "iterations")
    for row in content["benchmarks"]:
        unit = row.get("time_unit", "ns")
        times = (f"{row[name]:.1f} {unit}" for name in ("real_time", "cpu_time"))
        table.add_row(row["name"], *times, str(row["iterations"]))
    console.print(table)
