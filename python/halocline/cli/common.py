# SPDX-License-Identifier: Apache-2.0
"""What all commands share: consoles, errors, progress, JSON, parameters."""

from __future__ import annotations

import contextlib
import functools
import json
import platform
import sys
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
from ..errors import Error, InvalidArgument
from ..params import Params, preset_names
from ..trace import write_atomically

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


def results_console(json_path: Path | None) -> Console:
    """Where tables go: standard output, unless `--json -` wants it for itself."""
    return err() if json_path is not None and str(json_path) == "-" else out()


def command(function: Callable[ArgumentsT, ResultT]) -> Callable[ArgumentsT, ResultT]:
    """Turns errors of the library into a short message and exit status 1, and Ctrl-C into 130."""

    @functools.wraps(function)
    def guarded(*args: ArgumentsT.args, **kwargs: ArgumentsT.kwargs) -> ResultT:
        try:
            return function(*args, **kwargs)
        except Error as error:
            err().print(f"[bold red]error:[/] {_plain(str(error))}", soft_wrap=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            err().print("interrupted; files that were not finished were not written")
            raise typer.Exit(130) from None

    return guarded


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
OversubscribeOption = Annotated[
    bool,
    typer.Option(
        "--oversubscribe-managed",
        help="Let unified memory exceed what the GPU has. This can hang the GPU, for everybody who uses it, "
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
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        write_atomically(path, text.encode())


def origin() -> dict[str, Any]:
    """Where a result comes from: version, commit and machine."""
    return {
        "version": _core.version,
        "commit": _core.commit,
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def load_params(name: str, allow_insecure: bool = False) -> Params:
    """A preset by name, or the parameters in a file: JSON, or any container."""
    if name in preset_names():
        return Params.preset(name, allow_insecure=allow_insecure)
    path = Path(name)
    if not path.is_file():
        raise InvalidArgument(
            f"parameters '{name}': neither a preset nor a file; presets: {', '.join(preset_names())}"
        )
    if path.read_bytes()[:1] == b"{":
        return Params.from_json(path.read_bytes(), allow_insecure=allow_insecure)
    return Params.load(path, allow_insecure=allow_insecure)


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
    with Progress(*columns, console=err(), transient=True) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def size(count: int) -> str:
    """Bytes for people."""
    return _core.format_bytes(int(count))
