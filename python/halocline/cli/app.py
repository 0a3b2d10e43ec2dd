# SPDX-License-Identifier: Apache-2.0
"""The command tree."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import _core
from . import choose, error_bound, files, info, networks, params
from .bench import commands as bench
from .groups import Group
from .keynode import keynode
from .keys import commands as keys
from .paper import commands as paper
from .pir import commands as pir
from .plan import commands as plan
from .run import commands as run
from .trace import commands as trace

app = typer.Typer(
    name="halocline",
    cls=Group,
    help="Homomorphic encryption whose working set is not limited by the memory it runs on.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"halocline {_core.version} ({_core.commit})")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Homomorphic encryption whose working set is not limited by the memory it runs on."""


app.command("info")(info.info)
app.add_typer(params.app, name="params")
app.command("keygen")(files.keygen)
app.command("encrypt")(files.encrypt)
app.command("eval")(files.evaluate)
app.command("decrypt")(files.decrypt)
app.command("choose")(choose.choose)
app.command("error-bound")(error_bound.error_bound)
app.command("keynode")(keynode)
app.add_typer(keys.app, name="keys")
app.add_typer(run.app, name="run")
app.add_typer(bench.app, name="bench")
app.add_typer(paper.app, name="paper")
app.add_typer(trace.app, name="trace")
app.add_typer(plan.app, name="plan")
app.add_typer(pir.app, name="pir")
app.add_typer(networks.app, name="nn")
