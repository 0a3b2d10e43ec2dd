# SPDX-License-Identifier: Apache-2.0
"""Common parts of all commands: consoles, errors, progress, JSON, parameters."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

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

from .. import _core
from ..base.errors import Error, InvalidArgument, IoError
from ..base.files import is_standard, write_file
from ..base.option_values import Value
from ..ckks.named_params import named_params
from .kept_files import expect_no_input, expect_no_secret

ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")

# Consoles look up the present streams at each use, so that tests can replace them.


_PIPE_WIDTH = 120


def out() -> Console:
    """Console for results: standard output. Tables in pipes and files are wider than Rich's 80 columns."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def err() -> Console:
    """Console for progress and messages: standard error."""
    return Console(stderr=True, highlight=False)


def results_console(*outputs: Path | None) -> Console:
    """Where tables go: standard output, unless one of the output files is "-" and takes it.

    Raises InvalidArgument where several do.
    """
    standard = sum(is_standard(each) for each in outputs)
    if standard > 1:
        raise InvalidArgument("'-' is given for several outputs; standard output can take one of them")
    return err() if standard else out()


def no_standard_output(path: Path | None, option: str) -> None:
    """Raises InvalidArgument where "-" is given for an output of several files, or for a folder."""
    if is_standard(path):
        raise InvalidArgument(f"{option}: '-' is standard output, which cannot take this; give a name")


INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells give it."""


def command(function: Callable[ArgumentsT, ResultT]) -> Callable[ArgumentsT, ResultT]:
    """Turns errors of the library into a short message and exit status 1, and Ctrl-C into 130."""

    @functools.wraps(function)
    def guarded(*args: ArgumentsT.args, **kwargs: ArgumentsT.kwargs) -> ResultT:
        try:
            for option in _OUTPUTS:
                path = kwargs.get(option)
                if isinstance(path, Path):
                    expect_writable(path)
                    expect_no_input(path, _paths(kwargs, option))
            return function(*args, **kwargs)
        except Error as error:
            err().print(f"[bold red]error:[/] {_plain(in_options(str(error)))}", soft_wrap=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            err().print("interrupted; files that were not finished were not written")
            raise typer.Exit(INTERRUPTED) from None

    guarded.__doc__ = _joined(function.__doc__ or "")
    return guarded


_OUTPUTS = ("json", "output", "trace", "profile", "html", "perfetto")
"""Arguments of commands that are files to write."""


def _paths(arguments: dict[str, Any], without: str) -> list[Path]:
    """Files that a command was given besides one."""
    given = [value for name, value in arguments.items() if name != without]
    several = [each for value in given if isinstance(value, list | tuple) for each in value]
    return [each for each in (*given, *several) if isinstance(each, Path)]


def expect_writable(path: Path, *, folder: bool = False) -> None:
    """Raises IoError where a file, or with `folder` a folder, cannot be written: before the work.

    Raises InvalidArgument where it is a secret.
    """
    if is_standard(path):
        return
    if folder:
        if path.exists() and not path.is_dir():
            raise IoError(f"cannot write into '{path}': it is no folder")
        parent = next(each for each in (path, *path.absolute().parents) if each.exists())
    else:
        if path.is_dir():
            raise IoError(f"cannot write '{path}': it is a folder; give the name of a file")
        if path.exists() and not path.is_file():
            raise IoError(
                f"cannot write '{path}': it is not a regular file; name another, or - for standard output"
            )
        expect_no_secret(path)
        parent = path.parent
        if not parent.is_dir():
            raise IoError(f"cannot write '{path}': there is no folder '{parent}'; make it first")
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise IoError(f"cannot write '{path}': no permission to make files in '{parent}'")


def checked(value: Value) -> Callable[[Any], Any]:
    """A callback for `typer.Option` that refuses what a kind of values refuses, with the option's name."""

    def check(given: Any) -> Any:
        for each in given if isinstance(given, list) else [given]:
            try:
                problem = None if each is None else value.problem(each)
            except Error as error:  # of a file that cannot be read
                problem = str(error)
            if problem is not None:
                raise typer.BadParameter(problem)
        return given

    return check


_OPTIONS = {
    "allow_insecure=True": "--allow-insecure",
    "error_bound=": "--error-bound",
    "magnitude=": "--magnitude",
    "as queries,": "with --queries,",
    "decrypt_for_sharing:": "decrypt --for-sharing:",
    "Engine: tables": "tables",
    "KeywordDatabase.build: ": "pir build: ",
    "Database.build: ": "pir build: ",
    "KeywordDatabase.open: ": "",
    "Database.open: ": "",
    "give record_bytes=": "give --record-bytes",
    "leave record_bytes and records out": "leave --record-bytes out",
    "(max_value_bytes)": "(--max-value)",
    "(spare)": "(--spare)",
    "pir: rows": "--rows",
    "pir: record_bytes": "--record-bytes",
    "pir: batch": "--batch",
    "send client.server_keys() with add_client": "name their file with --keys",
    "Send server_keys() again, to replace them": "Send pir-keys.hlr again, which has to replace them",
    "trace_program(params, program, keys=keys).minimum_budget says": "with that budget the command says",
    "trace_program(params, program).minimum_budget says": "with that budget the command says",
}


_QUOTED = re.compile(r"\b(memory|policy|storage)='([^']+)'")


def in_options(message: str) -> str:
    """A message of the library, which names arguments of Python, with the options of the command line."""
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    return _QUOTED.sub(r"--\1 \2", message)


def _joined(text: str) -> str:
    """A docstring with one line for each paragraph: Typer keeps the line ends of all but the first."""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _plain(text: str) -> str:
    """Text with square brackets that Rich does not take for markup."""
    return text.replace("[", r"\[")


JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the results as JSON; - is standard output."),
]
AllowInsecureOption = Annotated[
    bool, typer.Option("--allow-insecure", help="Accept parameters below 128 bits of security (tests only).")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="Worker threads; all processors by default.")
]


DeviceOption = Annotated[
    str, typer.Option("--device", help="Where to compute: cpu, cuda:0, ... (`halocline info` lists them).")
]
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        help="How the engine manages memory: resident, planned, lru, ... (`halocline info` lists them).",
    ),
]
OversubscribeOption = Annotated[
    bool,
    typer.Option(
        "--oversubscribe-managed",
        help="Let unified memory exceed what the GPU has. This can hang the GPU for all of its users "
        "until the machine is restarted; without it such allocations are refused.",
    ),
]


def check_device(device: str) -> None:
    """Raises DeviceError at once when a GPU cannot be used, rather than after the keys are there."""
    _core.report_device(device, False)


def write_json(path: Path | None, content: dict[str, Any]) -> None:
    """Writes a result file as a whole or not at all; "-" is standard output, None nowhere."""
    if path is None:
        return
    write_file(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def origin() -> dict[str, Any]:
    """Where a result comes from: version, commit and machine."""
    return {
        "version": _core.version,
        "commit": _core.commit,
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


load_params = named_params
"""A preset by name, or the parameters in a file."""


@contextlib.contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; the value is called with what is done and what there is in all."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = err()
    hidden = not console.is_terminal  # where Rich would leave an empty line
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def size(count: int) -> str:
    """A number of bytes as readable text."""
    return _core.format_bytes(int(count))
