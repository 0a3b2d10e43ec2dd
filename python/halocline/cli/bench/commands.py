# SPDX-License-Identifier: Apache-2.0
"""`halocline bench`: micro benchmarks, comparisons with other libraries, replays of a paper, workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ...base.errors import InvalidArgument
from ...bench.micro import MICRO_SUITES, run_micro
from ..common import (
    AllowInsecureOption,
    JsonOption,
    OversubscribeOption,
    command,
    err,
    no_standard_output,
    origin,
    results_console,
    write_json,
)
from ..profile_option import ProfileOption, profiling
from .gpu import SUITES as GPU_SUITES
from .gpu import GpuSuite, print_suite
from .options import BenchOptions
from .workloads import SUITES as WORKLOAD_SUITES
from .workloads import print_workload_suite, run_workload_suite

SUITES = (*MICRO_SUITES, "peers", *WORKLOAD_SUITES, *GPU_SUITES)

_BOOT = "bootstrap-budget, resnet20-budget, bm-operations, bm-bootstrap"

BinaryOption = Annotated[
    Path | None,
    typer.Option("--binary", help="Micro suites, ratio, ntt-family: the program, if not in build/."),
]
SetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help=f"Peers, operations: a parameter set, all by default; {_BOOT}: an option of Bootstrapper. "
        "May be repeated.",
    ),
]
BenchThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads of Halocline; peers, wide-rotations: 1 unless given."),
]
RepetitionsOption = Annotated[
    int | None, typer.Option("--repetitions", min=1, help="Timed calls of each operation, or runs.")
]
BenchDeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="cuda:0 for operations and ratio, cpu for workloads unless given; bootstrap-budget and "
        "resnet20-budget also take a device model (`halocline trace replay --list`) and replay on it.",
    ),
]
LogNOption = Annotated[
    int | None, typer.Option("--log-n", help="Operations: a smaller ring, for a look; not secure.")
]
ParamsOption = Annotated[
    str | None, typer.Option("--params", help="Workloads: parameters, with commas where several are used.")
]
PoliciesOption = Annotated[
    str | None,
    typer.Option(
        "--policies",
        help="Workloads: memory policies, with commas between; *-budget: also profiled@65%, lru@blocking.",
    ),
]
BudgetsOption = Annotated[
    str | None,
    typer.Option("--budgets", help='Workloads: budgets such as 25% or 2GiB; *-budget: "minimum".'),
]
BatchesOption = Annotated[
    str | None, typer.Option("--batches", help="bootstrap-budget: ciphertexts at once, such as 1,8.")
]
KindsOption = Annotated[
    str | None, typer.Option("--kinds", help="bm-bootstrap: kinds of bootstrapping, with commas between.")
]
SeededOption = Annotated[bool, typer.Option("--seeded", help=f"{_BOOT}: expand keys at each use.")]
WeightsOption = Annotated[
    Path | None,
    typer.Option("--weights", help="resnet20-budget: safetensors; the network that is shipped."),
]
ImageOption = Annotated[
    Path | None, typer.Option("--image", help="resnet20-budget: an image; a held-out digit unless given.")
]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", help=f"Ratio, ntt-family, {_BOOT}: folder for pictures.")
]
SourceOption = Annotated[
    Path | None,
    typer.Option("--from", help=f"Ratio, ntt-family, {_BOOT}: show a result that --json wrote."),
]


@command
def bench(
    suite: Annotated[str, typer.Argument(help=f"One of: {', '.join(SUITES)}.")] = "micro",
    quick: Annotated[bool, typer.Option("--quick", help="Micro suites, ntt-family: short.")] = False,
    binary: BinaryOption = None,
    sets: SetsOption = None,
    threads: BenchThreadsOption = None,
    repetitions: RepetitionsOption = None,
    device: BenchDeviceOption = None,
    log_n: LogNOption = None,
    plot: PlotOption = None,
    source: SourceOption = None,
    oversubscribe_managed: OversubscribeOption = False,
    params: ParamsOption = None,
    policies: PoliciesOption = None,
    budgets: BudgetsOption = None,
    batches: BatchesOption = None,
    kinds: KindsOption = None,
    seeded: SeededOption = False,
    allow_insecure: AllowInsecureOption = False,
    weights: WeightsOption = None,
    image: ImageOption = None,
    profile: ProfileOption = None,
    json: JsonOption = None,
) -> None:
    """Run the micro benchmarks (`make bench` builds them), compare with other libraries (peers), or more.

    Workloads within budgets: wide-rotations, bootstrap-budget and resnet20-budget (slowdown by budget),
    bm-operations and bm-bootstrap (by policy); hybrid-paper replays on simulated devices. On GPUs: operations
    times single operations, ratio compares ways to allocate memory, ntt-family compares transforms.
    """
    no_standard_output(profile, "bench: --profile")
    no_standard_output(plot, "bench: --plot")
    where = (quick, binary, sets, threads, repetitions, device, log_n, plot, source, oversubscribe_managed)
    what = (params, policies, budgets, batches, kinds, seeded, allow_insecure, weights, image)
    options = BenchOptions(*where, *what)
    if profile is not None and suite != "operations":
        raise InvalidArgument("bench: --profile is for operations; workloads have `halocline run --profile`")
    with profiling(profile, json):
        write_json(json, _run(suite, options, results_console(json)))


def _run(suite: str, options: BenchOptions, console: Console) -> dict[str, Any]:
    """The result of a suite, which is shown as well; a stored one keeps its own origin."""
    if suite in GPU_SUITES:
        content = origin() | GpuSuite(options).run(suite)
        print_suite(console, content)
    elif suite in WORKLOAD_SUITES:
        content = origin() | run_workload_suite(suite, options)
        print_workload_suite(console, content)
    elif suite == "peers":
        from ...bench.peers.run import DEFAULT_REPETITIONS, run_peers

        count = DEFAULT_REPETITIONS if options.repetitions is None else options.repetitions
        content = run_peers(options.sets, options.threads or 1, count, console=console)
    elif suite in MICRO_SUITES:
        with err().status(f"running the micro benchmarks: {suite}"):
            content = run_micro(suite, options.quick, options.binary) | origin()
        _print(console, content)
    else:
        raise InvalidArgument(f"bench: unknown suite '{suite}'; expected one of: {', '.join(SUITES)}")
    return content


def _print(console: Console, content: dict[str, Any]) -> None:
    table = Table("benchmark", "time", "CPU", "iterations")
    for row in content["benchmarks"]:
        unit = row.get("time_unit", "ns")
        times = (f"{row[name]:.1f} {unit}" for name in ("real_time", "cpu_time"))
        table.add_row(row["name"], *times, str(row["iterations"]))
    console.print(table)
