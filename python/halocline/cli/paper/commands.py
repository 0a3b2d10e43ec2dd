# SPDX-License-Identifier: Apache-2.0
"""`halocline paper`: studies of papers, computed and simulated."""

from __future__ import annotations

import datetime
import functools
from pathlib import Path
from typing import Any

import typer

from ...base import limits
from ...base.errors import CorruptData, Error
from ...base.extras import require
from ...base.files import parse_json, read_file
from ...bench.keeping import Json, Watcher
from ..bench.results import WRONG, printable
from ..common import origin, progress_bar, results_console, write_json
from ..generated import given_options, make_command
from ..groups import Listed, table_app
from ..outputs import PaperOutputs
from .csv_files import save_tables
from .table import STUDIES
from .tables import print_study


def _paper(name: str, options: Any, outputs: PaperOutputs, ctx: typer.Context) -> None:
    """One study: computed, or shown from a file."""
    study, console = STUDIES[name], results_console(outputs.json)
    if outputs.plot is not None:  # before the work, not after it
        require("matplotlib", "lab", f"paper {name}: --plot")
    if outputs.source is None:
        with progress_bar(name) as update:
            content = study.run(options, Watcher(lambda what, done, total: update(done, total)))
        date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        content = origin() | {"date": date} | content
        _write(name, console, content, outputs)
        return
    given = given_options(ctx, type(options))
    if given:
        ctx.fail(
            f"--from shows a stored result, which {' and '.join(given)} cannot change; leave out one or the "
            "other"
        )
    content = _stored(outputs.source, name)
    try:
        _write(name, console, content, outputs)
    except (Error, UnicodeEncodeError):
        raise
    except WRONG as error:
        raise CorruptData(
            f"--from: '{outputs.source}' holds no whole result of {name} ({type(error).__name__}); run "
            f"halocline paper {name} --json again"
        ) from None


def _write(name: str, console: Any, content: Json, outputs: PaperOutputs) -> None:
    print_study(console, STUDIES[name].suite, content)
    write_json(outputs.json, content)
    if outputs.csv is not None:
        save_tables(content, outputs.csv)
    if outputs.plot is not None:
        STUDIES[name].draw(content, outputs.plot)


def _stored(path: Path, name: str) -> Json:
    """A result that --json wrote, with texts that can be printed."""
    try:
        content = printable(parse_json(read_file(path, "--from", limits.RESULT), str(path)))
    except RecursionError:
        content = None
    if not isinstance(content, dict) or content.get("suite") != STUDIES[name].suite:
        raise CorruptData(f"--from: '{path}' holds no result of {name}; expected what --json writes")
    return content


def _command(name: str) -> Any:
    """The command of a study, made when it is used."""
    study = STUDIES[name]
    act = functools.partial(_paper, name)
    return make_command(name, study.line, (study.options_class(), PaperOutputs), act)


app = table_app(
    "study",
    {name: Listed(each.line, functools.partial(_command, name)) for name, each in STUDIES.items()},
    help="Reproduce a paper: its figures in closed form and simulated.",
    subcommand_metavar="STUDY [OPTIONS]",
)


@app.callback()
def _group() -> None:
    """Has no options of its own; Typer makes a group of an application that has one."""
