# SPDX-License-Identifier: Apache-2.0
"""`halocline trace`: what a program touches, and when."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ...base.errors import InvalidArgument
from ...base.files import is_standard
from ...memory.trace import COMPRESSED, FORMATS, Trace
from ..common import (
    AllowInsecureOption,
    JsonOption,
    command,
    results_console,
    size,
    write_json,
)
from ..files import ExprOption, FunctionOption, ScriptOption
from ..groups import Group
from ..run.table import WORKLOADS, params_of, workload_named
from . import plot as trace_plot
from . import replay as trace_replay
from .common import TraceArgument, seconds, stats_rows
from .record import ghost_trace

app = typer.Typer(cls=Group, help="Record, summarise, plot, plan and replay traces.", no_args_is_help=True)


@app.command("record")
@command
def record(
    output: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write; .csv.xz: compressed.")],
    workload: Annotated[
        str | None, typer.Argument(help=f"{' or '.join(WORKLOADS)}; or give a program.")
    ] = None,
    params: Annotated[
        str | None,
        typer.Option("--params", help="A preset, or a file; of bm-bootstrap several, with commas between."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="ghost: what would happen; cpu: what does happen (digits only).")
    ] = "ghost",
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Record the trace of a workload or a program.

    Of resnet20 it is one image, of helr one period with its bootstrap, of sorting the last merge.
    `halocline run WORKLOAD --trace FILE` records a whole real run, with its times.
    """
    if workload is not None and (expr is not None or script is not None):
        raise InvalidArgument("trace record: give a workload or a program, not both")
    if workload is not None:
        workload_named(workload, "trace record")
    chosen = params_of(workload or "digits", params, allow_insecure)
    if device == "ghost":
        trace = ghost_trace(chosen, workload, expr, script, function)
    elif workload == "digits":
        from ...workloads.digits.options import DigitsOptions
        from ...workloads.digits.run import DigitsRun

        made = DigitsRun(chosen[0], DigitsOptions(images=1, device=device, record_trace=True))
        made.run()
        assert made.trace is not None
        trace = made.trace
    else:
        raise InvalidArgument(
            f"trace record: only digits is recorded on '{device}' here, programs on the ghost device; "
            "other workloads with `halocline run WORKLOAD --trace FILE`"
        )
    trace.save(output)
    _say(output, f"{len(trace)} events, peak {size(trace.peak_bytes)}")


@app.command("stats")
@command
def stats(path: TraceArgument, json: JsonOption = None) -> None:
    """Summarise a trace: bytes by class, peak, lifetimes."""
    trace = Trace.load(path)
    found = trace.stats()
    header, rows = stats_rows(trace)
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    console = results_console(json)
    console.print(table)
    steps = int(trace.columns["step"].max()) if len(trace) else 0
    console.print(
        f"{len(trace)} events, {steps} steps, {seconds(trace.seconds)}, "
        f"peak of all classes together {size(trace.peak_bytes)}",
        soft_wrap=True,
    )
    write_json(
        json,
        {
            "events": len(trace),
            "steps": steps,
            "seconds": trace.seconds,
            "peak_bytes": trace.peak_bytes,
            "classes": {name: dataclasses.asdict(each) for name, each in found.items()},
        },
    )


@app.command("convert")
@command
def convert(
    path: TraceArgument,
    output: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="NAME.csv, NAME.rmm.csv or NAME.perfetto.json; .xz behind it."),
    ],
) -> None:
    """Write a trace, or a log of RMM, in another format; the endings of the names say which.

    A log of RMM has allocations and frees only: from one, buffers are taken to be written when they are
    allocated and read when they are freed; to one, reads and writes are left out.
    """
    name = "trace.csv" if is_standard(output) else output.name.removesuffix(COMPRESSED)
    if not name.endswith(tuple(FORMATS)):
        raise InvalidArgument(
            f"trace convert: '{output}' ends in none of {', '.join(FORMATS)}, so its format is unknown"
        )
    trace = Trace.load(path)
    trace.save(output)
    kind = next(what for ending, what in FORMATS.items() if name.endswith(ending))
    _say(output, f"{kind}, {len(trace)} events")


def _say(output: Path, text: str) -> None:
    """What was written, where it does not disturb it."""
    results_console(output).print(f"{output}: {text}", markup=False, soft_wrap=True)


app.command("plot")(trace_plot.plot)
app.command("plan")(trace_replay.plan)
app.command("replay")(trace_replay.replay_command)
app.command("decide")(trace_replay.decide_command)
