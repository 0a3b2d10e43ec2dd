# SPDX-License-Identifier: Apache-2.0
"""`halocline trace`: what a program touches, and when."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from ..errors import InvalidArgument
from ..params import Params
from ..program import trace_program
from ..trace import CLASSES, Trace, write_atomically
from .common import (
    AllowInsecureOption,
    JsonOption,
    command,
    load_params,
    out,
    results_console,
    size,
    write_json,
)
from .files import ExprOption, FunctionOption, ScriptOption, program_of

app = typer.Typer(help="Record, summarise and plot traces.", no_args_is_help=True)

TraceArgument = Annotated[
    Path, typer.Argument(metavar="TRACE.csv", help="A trace written by `trace record`.")
]


@app.command("record")
@command
def record(
    output: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write.")],
    workload: Annotated[str | None, typer.Argument(help="digits; or give a program.")] = None,
    params: Annotated[str, typer.Option("--params", help="A preset, or a file with parameters.")] = "n14-d7",
    device: Annotated[
        str, typer.Option("--device", help="ghost: what would happen; cpu: what does happen (digits only).")
    ] = "ghost",
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Record the trace of a workload or a program."""
    chosen = load_params(params, allow_insecure)
    if workload is not None and (expr is not None or script is not None):
        raise InvalidArgument("trace record: give a workload or a program, not both")
    if workload not in (None, "digits"):
        raise InvalidArgument(f"trace record: unknown workload '{workload}'; expected digits")
    if device == "ghost":
        trace = _ghost_trace(chosen, workload, expr, script, function)
    elif workload:
        from ..workloads.digits_run import DigitsOptions, DigitsRun

        made = DigitsRun(chosen, DigitsOptions(images=1, device=device, record_trace=True))
        made.run()
        assert made.trace is not None
        trace = made.trace
    else:
        raise InvalidArgument(f"trace record: programs are recorded on the ghost device, not on '{device}'")
    trace.save(output)
    out().print(f"{output}: {len(trace)} events, peak {size(trace.peak_bytes)}", markup=False, soft_wrap=True)


def _ghost_trace(
    params: Params, workload: str | None, expr: str | None, script: Path | None, function: str
) -> Trace:
    """What a workload or program would do to fresh ciphertexts of all slots."""
    if workload is not None:
        from ..workloads.digits_circuit import DigitsCircuit

        return trace_program(params, DigitsCircuit(slots=params.slots), np.zeros(params.slots)).trace
    program, names = program_of(expr, script, function)
    return trace_program(params, program, *(np.zeros(params.slots) for _ in names)).trace


@app.command("stats")
@command
def stats(path: TraceArgument, json: JsonOption = None) -> None:
    """Summarise a trace: bytes by class, peak, lifetimes."""
    trace = Trace.load(path)
    found = trace.stats()
    table = Table("class", "objects", "allocated", "read", "written", "peak", "median life, steps")
    for name in CLASSES:
        s = found[name]
        sizes = (s.allocated_bytes, s.read_bytes, s.written_bytes, s.peak_bytes)
        table.add_row(name, str(s.objects), *(size(each) for each in sizes), f"{s.median_lifetime:.0f}")
    console = results_console(json)
    console.print(table)
    steps = int(trace.columns["step"].max()) if len(trace) else 0
    console.print(
        f"{len(trace)} events, {steps} steps, peak of all classes together {size(trace.peak_bytes)}"
    )
    classes = {name: dataclasses.asdict(each) for name, each in found.items()}
    write_json(
        json, {"events": len(trace), "steps": steps, "peak_bytes": trace.peak_bytes, "classes": classes}
    )


@app.command("plot")
@command
def plot(
    path: TraceArgument,
    output: Annotated[Path, typer.Option("--out", "-o", help="PNG, SVG or PDF file to write.")],
) -> None:
    """Plot the live bytes over time, by class."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    trace = Trace.load(path)
    if not len(trace):
        raise InvalidArgument(f"trace plot: '{path}' has no events")
    kind = output.suffix.removeprefix(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise InvalidArgument(
            f"trace plot: '{output}' ends in '{output.suffix}', expected .png, .svg or .pdf"
        )
    live = trace.live_bytes()
    figure, axes = pyplot.subplots(figsize=(10, 5), layout="constrained")
    seconds = trace.columns["time_ns"].astype(np.float64) / 1e9
    mebibytes = [live[name] / 2**20 for name in CLASSES]
    axes.stackplot(seconds, *mebibytes, labels=CLASSES, step="post")
    axes.set(xlabel="seconds", ylabel="live MiB", title=path.name, xlim=(seconds[0], max(seconds[-1], 1e-9)))
    axes.legend(loc="upper left")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150)
    pyplot.close(figure)
    write_atomically(output, buffer.getvalue())
    out().print(f"{output}: {len(trace)} events", markup=False, soft_wrap=True)
