# SPDX-License-Identifier: Apache-2.0
"""`halocline run`: whole workloads, from encryption to decryption."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ...base.errors import OutOfMemory
from ...base.extras import require
from ..common import check_device, err, origin, results_console, write_json
from ..generated import make_command
from ..groups import Listed, table_app
from ..outputs import PictureOutputs, RunOutputs
from ..profile_option import profiling
from .report import print_report
from .table import WORKLOADS, Workload, WorkloadRun

_HOW = "The client encrypts, an engine without secret key evaluates, the client decrypts."


def _run(workload: Workload, options: Any, outputs: RunOutputs, ctx: typer.Context) -> None:
    """One run: everything is checked, then it is made, then it runs."""
    console = results_console(outputs.json, outputs.trace, _picture(outputs))
    if _picture(outputs) is not None:
        require("matplotlib", "lab", "run: --plot")
    check_device(options.device)
    with profiling(outputs.profile, outputs.json), _Steps() as steps:
        made = workload.make(options, steps.update)
        report = made.run()
    _save_picture(made, report, _picture(outputs))
    if outputs.trace is not None and made.trace is not None:
        made.trace.save(outputs.trace)
    print_report(console, report)
    write_json(outputs.json, report | origin())
    if report.get("failed") is not None:
        raise OutOfMemory("{params}: {message}".format(**report["failed"]))


def _picture(outputs: RunOutputs) -> Path | None:
    return outputs.plot if isinstance(outputs, PictureOutputs) else None


def _save_picture(made: WorkloadRun, report: dict[str, Any], path: Path | None) -> None:
    """The picture of `--plot`, from what a run found."""
    if path is None:
        return
    from ...plots.bootstraps import save_bm_bootstrap, save_errors

    if report["workload"] == "bm-bootstrap":
        save_bm_bootstrap(report, path)
    else:
        run: Any = made
        save_errors(report, run.first_errors, [dataclasses.asdict(each) for each in run.calls], path)


def _command(name: str) -> Any:
    """The command of a workload, made when it is used."""
    workload = WORKLOADS[name]
    outputs = PictureOutputs if workload.pictures else RunOutputs
    act = functools.partial(_run, workload)
    text = f"{workload.line}\n\n{_HOW}"
    return make_command(name, text, (workload.options_class(), outputs), act)


app = table_app(
    "workload",
    {name: Listed(each.line, functools.partial(_command, name)) for name, each in WORKLOADS.items()},
    help=f"Run a workload. {_HOW}",
    subcommand_metavar="WORKLOAD [OPTIONS]",
)


@app.callback()
def _group() -> None:
    """Has no options of its own; Typer makes a group of an application that has one."""


class _Steps:
    """One progress bar for each thing that takes a while, on standard error."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        self._progress = Progress(
            *columns,
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=err(),
            transient=True,
            disable=not err().is_terminal,
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
