# SPDX-License-Identifier: Apache-2.0
"""`halocline run`: whole workloads, from encryption to decryption."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from ..errors import InvalidArgument
from .common import (
    AllowInsecureOption,
    JsonOption,
    ThreadsOption,
    command,
    err,
    load_params,
    origin,
    results_console,
    size,
    write_json,
)

WORKLOADS = ("digits",)


@command
def run(
    workload: Annotated[str, typer.Argument(help=f"One of: {', '.join(WORKLOADS)}.")],
    params: Annotated[str, typer.Option("--params", help="A preset, or a file with parameters.")] = "n14-d7",
    images: Annotated[int | None, typer.Option("--images", help="Number of images; all by default.")] = None,
    device: Annotated[str, typer.Option("--device", help="Where the engine computes.")] = "cpu",
    memory: Annotated[str | None, typer.Option("--memory", help="Budget of the engine, e.g. 256MiB.")] = None,
    policy: Annotated[str, typer.Option("--policy", help="How the engine manages memory.")] = "resident",
    trace: Annotated[Path | None, typer.Option("--trace", help="Write the engine's trace as CSV.")] = None,
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
) -> None:
    """Run a workload: the client encrypts, an engine without secret key evaluates, the client decrypts."""
    from ..workloads.digits_run import DigitsOptions, DigitsRun

    if workload not in WORKLOADS:
        raise InvalidArgument(f"run: unknown workload '{workload}'; expected one of: {', '.join(WORKLOADS)}")
    chosen = load_params(params, allow_insecure)
    options = DigitsOptions(images, device, memory, policy, threads, trace is not None)
    with _Steps() as steps:
        made = DigitsRun(chosen, options, steps.update)
        report = made.run()
    if trace is not None and made.trace is not None:
        made.trace.save(trace)
    _print(results_console(json), report)
    write_json(json, report | origin())


class _Steps:
    """One progress bar for each thing that takes a while, on standard error."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        self._progress = Progress(
            *columns, MofNCompleteColumn(), TimeElapsedColumn(), console=err(), transient=True
        )
        self._tasks: dict[str, Any] = {}

    def update(self, what: str, done: int, total: int) -> None:
        """Shows how much of something is done."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done)

    def __enter__(self) -> _Steps:
        self._progress.start()
        self.update("loading data", 0, 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _print(console: Console, report: dict[str, Any]) -> None:
    """The report for people."""
    r = report
    table = Table(
        show_header=False, title=f"{r['workload']} on {r['device']}, {r['params']}, {r['threads']} threads"
    )
    budget = size(r["budget_bytes"]) if r["budget_bytes"] else "unlimited"
    accuracy = f"{_percent(r['accuracy'])} encrypted, {_percent(r['accuracy_plain'])} plain"
    table.add_row("images, all held out", str(r["images"]))
    table.add_row("accuracy", accuracy)
    table.add_row("agreement", f"{_percent(r['agreement'])} of the images get the same digit")
    table.add_row(
        "precision", f"{r['precision_bits']:.1f} bits (mean), {r['precision_worst_bits']:.1f} (worst)"
    )
    table.add_row("time per image", f"{r['ms_per_image']:.2f} ms on the server")
    phases = ", ".join(f"{name} {value:.2f}" for name, value in r["seconds"].items() if name != "total")
    table.add_row("seconds", f"{r['seconds']['total']:.2f}: {phases}")
    table.add_row("evaluation keys", f"{size(r['key_bytes'])}, {size(r['key_sent_bytes'])} on the way")
    sent = size(r["ciphertext_sent_bytes"])
    table.add_row("ciphertext", f"{size(r['ciphertext_bytes'])}, {sent} on the way")
    table.add_row("engine memory", f"peak {size(r['peak_bytes'])}, budget {budget}, policy {r['policy']}")
    share = r["peak_rss_bytes"] / r["footprint_bytes"]
    calculated = size(r["footprint_bytes"])
    table.add_row(
        "process memory", f"peak {size(r['peak_rss_bytes'])}, {share:.2f} of calculated {calculated}"
    )
    console.print(table)
