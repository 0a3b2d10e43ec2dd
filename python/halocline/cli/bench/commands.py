# SPDX-License-Identifier: Apache-2.0
"""`halocline bench`: micro benchmarks, comparisons with other libraries, replays of a paper, workloads."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...base.extras import require
from ...base.files import is_standard
from ...base.options import Options
from ...bench.keeping import Json, Watcher
from ...tracing.replay import device_models
from ..common import (
    INTERRUPTED,
    JsonOption,
    check_device,
    command,
    err,
    expect_writable,
    results_console,
    write_json,
)
from ..generated import given_options, make_command
from ..groups import Listed, table_app
from ..outputs import (
    BenchOutputs,
    PictureBenchOutputs,
    ProfileBenchOutputs,
    ResumableBenchOutputs,
    ResumablePictureBenchOutputs,
)
from ..profile_option import profiling
from .results import TERMINATED, ResultFile, Terminated, shown, stored, terminable
from .table import MODELS, SUITES, Suite
from .tables import print_result


def _bench(name: str, options: Any, outputs: BenchOutputs, ctx: typer.Context) -> None:
    """One suite: measured, or shown from a file."""
    plot = outputs.plot if isinstance(outputs, PictureBenchOutputs) else None
    profile = outputs.profile if isinstance(outputs, ProfileBenchOutputs) else None
    resumed = isinstance(outputs, ResumableBenchOutputs | ResumablePictureBenchOutputs) and outputs.resume
    if outputs.source is not None:
        given = given_options(ctx, type(options)) + ["--profile"] * (profile is not None)
        given += ["--resume"] * resumed
        if given:
            flags = " and ".join(given)
            ctx.fail(f"--from shows a stored result, which {flags} cannot change; leave out one or the other")
        _show(outputs.source, name, plot, outputs.json, ctx)
        return
    if plot is not None:  # before the measurement, not after it
        require("matplotlib", "lab", f"bench {name}: --plot")
    _check_device(name, options, ctx)
    if resumed and (outputs.json is None or is_standard(outputs.json)):
        raise outputs.refuse("{resume}: give the file of the interrupted run as {json} FILE")
    with profiling(profile, outputs.json):
        content = _measure(name, options, outputs.json, resumed)
    if plot is not None:
        SUITES[name].draw(content, plot)


def _check_device(name: str, options: Options, ctx: typer.Context) -> None:
    """Looks for the device; device models are for some suites only."""
    device = getattr(options, "device", "cpu")
    if device not in device_models():
        check_device(device)
    elif name not in MODELS:
        ctx.fail(f"--device: '{device}' is a device model; only {' and '.join(MODELS)} simulate")


def _measure(name: str, options: Any, json: Path | None, resume: bool = False) -> Json:
    """Runs a suite. Rows that are there when it stops are shown, and kept in the file."""
    console, result = results_console(json), ResultFile(json, options if SUITES[name].resumable else None)
    earlier = result.earlier(name) if resume else None
    if SUITES[name].resumable and not resume:
        result.spare(name)
    if earlier is not None and json is not None:  # before anything is measured
        with shown(json, name, "--resume"):
            print_result(Console(file=io.StringIO()), _tables(name), earlier)
    try:
        with terminable(), _Bar(name) as bar:
            content = SUITES[name].runner(name)(options, Watcher(bar.update, result.keep, earlier))
    except BaseException as stopped:
        partial = result.stop()
        if partial is not None:
            print_result(console, _tables(name), partial)
            if json is not None and not is_standard(json):
                on = "; the same command with --resume goes on" if SUITES[name].resumable else ""
                err().print(
                    f"'{json}' holds the rows so far, and says that it is partial{on}", soft_wrap=True
                )
        if isinstance(stopped, Terminated):
            err().print("terminated")
            raise typer.Exit(TERMINATED) from None
        if isinstance(stopped, KeyboardInterrupt):
            err().print("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        raise
    whole = result.finish(content, getattr(options, "device", "cpu"))
    print_result(console, _tables(name), whole)
    return whole


def _show(source: Path, suite: str | None, plot: Path | None, json: Path | None, ctx: typer.Context) -> None:
    """A stored result: tables, pictures, and the same again as JSON."""
    name, content = stored(source, suite)
    if plot is not None:
        if not SUITES[name].pictures:
            drawn = ", ".join(each for each, suite in SUITES.items() if suite.pictures)
            ctx.fail(f"--plot: results of {name} have no pictures; those of {drawn} have")
        require("matplotlib", "lab", f"bench {name}: --plot")
    console = results_console(json)
    with shown(source, name):
        print_result(console, _tables(name), content)
        if plot is not None:
            SUITES[name].draw(content, plot)
        write_json(json, content)


def _tables(name: str) -> str:
    return SUITES[name].tables or name


class _Bar:
    """A bar on standard error that is drawn between measurements only: no thread of it runs during one."""

    def __init__(self, name: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = err()
        self._progress = Progress(
            *columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal
        )
        self._task = self._progress.add_task(name, total=None)

    def update(self, what: str, done: int, total: int) -> None:
        """Shows how much is done."""
        self._progress.update(self._task, description=what, completed=done, total=total or None, refresh=True)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _outputs(suite: Suite) -> type[BenchOutputs]:
    if suite.profiled:
        return ProfileBenchOutputs
    if suite.resumable:
        return ResumablePictureBenchOutputs if suite.pictures else ResumableBenchOutputs
    return PictureBenchOutputs if suite.pictures else BenchOutputs


def suite_command(name: str) -> Any:
    """The command of a suite, made when it is used."""
    suite = SUITES[name]
    text = f"{suite.line}\n\nWith --json, each row is in the file as soon as it is measured."
    return make_command(name, text, (suite.options_class(), _outputs(suite)), functools.partial(_bench, name))


app = table_app(
    "suite",
    {name: Listed(each.line, functools.partial(suite_command, name)) for name, each in SUITES.items()},
    subcommand_metavar="SUITE [OPTIONS]",
)


@app.callback(invoke_without_command=True)
@command
def bench(
    ctx: typer.Context,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Show a result of any suite that --json wrote."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="DIR", help="With --from: folder for pictures of it.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Run a suite of benchmarks, or show a stored result with --from."""
    if source is None and (plot is not None or json is not None):
        ctx.fail("--plot and --json stand behind a suite, or with --from FILE")
    if ctx.invoked_subcommand is not None:
        if source is not None:
            ctx.fail(f"--from stands behind the suite: bench {ctx.invoked_subcommand} --from {source}")
        return
    assert source is not None  # without any option the help is shown
    if plot is not None:
        expect_writable(plot, folder=True)
    _show(source, None, plot, json, ctx)
