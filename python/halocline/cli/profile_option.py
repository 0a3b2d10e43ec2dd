# SPDX-License-Identifier: Apache-2.0
"""`--profile FILE` of commands that run programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..base.errors import InvalidArgument
from .common import err, results_console

SUFFIXES = (".json", ".csv", ".pftrace")

ProfileOption = Annotated[
    Path | None,
    typer.Option(
        "--profile", help="Time kernels; write the table as .json or .csv, or the timeline as .pftrace."
    ),
]


@contextlib.contextmanager
def profiling(path: Path | None, json: Path | None) -> Iterator[None]:
    """Profiles the engines that run inside, writes the profiles and prints where the time went."""
    if path is None:
        yield
        return
    from ..engine.profiling import profile_runs, save_profiles

    if not path.name.endswith(SUFFIXES):
        raise InvalidArgument(
            f"--profile: '{path.name}' has an unknown suffix; expected one of {', '.join(SUFFIXES)}"
        )
    with profile_runs() as profiles:
        yield
    if not profiles:
        raise InvalidArgument(
            "--profile: no engine ran a program in this process, so there is nothing to write; profile a "
            "workload with `halocline run`"
        )
    for saved, each in zip(save_profiles(profiles, path), profiles, strict=True):
        results_console(json).print(each.rich_table(by="operation"))
        err().print(f"profile: {saved}")
