# SPDX-License-Identifier: Apache-2.0
"""`halocline pir`: the group, and `info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...base.errors import Error, InvalidArgument
from ...base.progress import Progress
from ..bench.commands import suite_command
from ..common import (
    AllowInsecureOption,
    JsonOption,
    command,
    origin,
    progress_bar,
    results_console,
    write_json,
)
from ..groups import Group, humane
from .answer import answer, lookup
from .build import build
from .client_commands import decode, keygen, query
from .describe import Found, describe, print_found

BENCH = "pir"
"""Suite of `halocline bench` that is `halocline pir bench` too."""


class _PirGroup(Group):
    """The commands, and the suite of benchmarks."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names."""
        return [*super().list_commands(ctx), "bench"]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or None."""
        if cmd_name != "bench":
            return super().get_command(ctx, cmd_name)
        made = suite_command(BENCH)
        made.name = "bench"
        humane(made.get_params(ctx))
        return made


app = typer.Typer(
    cls=_PirGroup,
    no_args_is_help=True,
    help="Fetch records from a server that does not learn which (private information retrieval).",
)


@command
def info(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Any files of `halocline pir`.")],
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the public description of a database.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the files whole, and compare all checksums.")
    ] = False,
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Show what files are: databases, descriptions, keys, queries, answers, secrets."""
    console = results_console(json, output)
    with progress_bar("verifying") as progress:
        found = [_described(path, allow_insecure, progress if verify else None) for path in files]
    for about, _ in found:
        print_found(console, about)
    if output is not None:
        known = [each for _, each in found if each is not None]
        if len(known) != 1:
            raise InvalidArgument(f"pir info: --out needs one database among the files; got {len(known)}")
        known[0].save(output)
    write_json(json, origin() | {"files": [about for about, _ in found]})


def _described(path: Path, allow_insecure: bool, verify: Progress | None) -> Found:
    """What a file is; errors name it."""
    try:
        return describe(path, allow_insecure, verify)
    except Error as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None


app.command("build")(build)
app.command("info")(info)
app.command("keygen")(keygen)
app.command("query")(query)
app.command("answer")(answer)
app.command("decode")(decode)
app.command("lookup")(lookup)
