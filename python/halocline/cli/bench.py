# SPDX-License-Identifier: Apache-2.0
"""`halocline bench`: micro benchmarks, and the comparison with other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..bench import MICRO_SUITES, run_micro
from ..errors import InvalidArgument
from .common import JsonOption, command, err, origin, results_console, write_json

SUITES = (*MICRO_SUITES, "peers")


@command
def bench(
    suite: Annotated[str, typer.Argument(help=f"One of: {', '.join(SUITES)}.")] = "micro",
    quick: Annotated[bool, typer.Option("--quick", help="Micro suites: short, for a look only.")] = False,
    binary: Annotated[
        Path | None, typer.Option("--binary", help="Micro suites: the program, where it is not in build/cpu.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", help="Peers: a parameter set; may be repeated. All by default."),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Peers: threads of Halocline.")] = 1,
    repetitions: Annotated[
        int | None, typer.Option("--repetitions", help="Peers: timed calls of each operation.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Run the micro benchmarks (`make bench` builds them), or compare with other libraries (peers)."""
    console = results_console(json)
    if suite == "peers":
        from ..bench_peers import DEFAULT_REPETITIONS, run_peers

        count = DEFAULT_REPETITIONS if repetitions is None else repetitions
        write_json(json, run_peers(sets, threads, count, console=console))
        return
    if suite not in MICRO_SUITES:
        raise InvalidArgument(f"bench: unknown suite '{suite}'; expected one of: {', '.join(SUITES)}")
    with err().status(f"running the micro benchmarks: {suite}"):
        content = run_micro(suite, quick, binary)
    _print(console, content)
    write_json(json, content | origin())


def _print(console: Console, content: dict[str, Any]) -> None:
    table = Table("benchmark", "time", "CPU", "iterations")
    for row in content["benchmarks"]:
        unit = row.get("time_unit", "ns")
        times = (f"{row[name]:.1f} {unit}" for name in ("real_time", "cpu_time"))
        table.add_row(row["name"], *times, str(row["iterations"]))
    console.print(table)
