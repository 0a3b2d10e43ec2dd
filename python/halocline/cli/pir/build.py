# SPDX-License-Identifier: Apache-2.0
"""`halocline pir build`: a database from records, or from keys and values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ...base.errors import InvalidArgument
from ...base.option_values import Choice, Size
from ...pir import Database, KeywordDatabase, Params, preset_names
from ..common import (
    AllowInsecureOption,
    JsonOption,
    checked,
    command,
    no_standard_output,
    origin,
    progress_bar,
    results_console,
    write_json,
)
from ..signals import terminable
from .describe import print_found
from .outputs import expect_outputs
from .sources import read_pairs

_SOURCE = "Records one after the other, or .npy; with --keywords .json, or lines of KEY, tab, VALUE."
SourceArgument = Annotated[Path, typer.Argument(help=_SOURCE)]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="Database to write.")]
RecordOption = Annotated[
    int | None, typer.Option("--record-bytes", min=1, metavar="BYTES", help="Length of each record.")
]
KeywordsOption = Annotated[bool, typer.Option("--keywords", help="Values that are looked up by key.")]
MaxValueOption = Annotated[
    int | None, typer.Option("--max-value", min=0, metavar="BYTES", help="Longest value, with --keywords.")
]
SpareOption = Annotated[
    float, typer.Option("--spare", min=0.0, max=16.0, help="Room for further keys, as a share of all.")
]
MovableOption = Annotated[
    bool | None,
    typer.Option(
        "--movable/--fixed",
        help="Whether entries may move to make room for further keys; with --spare they may unless told.",
        show_default=False,
    ),
]
RowsOption = Annotated[
    int | None,
    typer.Option("--rows", min=1, metavar="COUNT", help="Rows of the arrangement; chosen unless given."),
]
SetOption = Annotated[
    str,
    typer.Option(
        "--params", metavar="|".join(preset_names()), callback=checked(Choice(preset_names())), help="Set."
    ),
]
DescriptionOption = Annotated[
    Path | None, typer.Option("--info", metavar="FILE", help="Write the public description for clients.")
]
PlaceOption = Annotated[str, typer.Option("--device", help="Where it will be served: cpu or cuda:0.")]
BatchOption = Annotated[int, typer.Option("--batch", min=1, help="Queries that will be answered together.")]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        callback=checked(Size(share=False)),
        help="Budget that the server will have, where the database may be larger.",
    ),
]


@command
def build(
    source: SourceArgument,
    output: OutOption,
    record_bytes: RecordOption = None,
    keywords: KeywordsOption = False,
    max_value: MaxValueOption = None,
    spare: SpareOption = 0.0,
    movable: MovableOption = None,
    rows: RowsOption = None,
    params: SetOption = "pir-n4096",
    info: DescriptionOption = None,
    device: PlaceOption = "cpu",
    batch: BatchOption = 1,
    memory: BudgetOption = None,
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Build a database file. An old one of that name is replaced when the new one is complete."""
    no_standard_output(output, "--out")
    outputs = {"--out": output, "--info": info, "--json": json}
    expect_outputs("pir build", outputs, {"SOURCE": [source]}, replaces_database=True)
    console = results_console(json, info)
    _check(keywords, {"--max-value": max_value, "--spare": spare or None, "--movable": movable}, True)
    _check(keywords, {"--record-bytes": record_bytes, "--rows": rows}, False)
    options: dict[str, Any] = {"path": output, "device": device, "batch": batch, "memory": memory}
    kind: dict[str, Any] = {"record_bytes": record_bytes, "rows": rows}
    if keywords:
        kind = {"max_value_bytes": max_value, "spare": spare, "movable": movable}
    chosen = Params(params, allow_insecure=allow_insecure)
    begin = time.perf_counter()
    with terminable(), progress_bar("building") as progress:
        made = _build(source, keywords, chosen, options | kind | {"progress": progress})
    seconds = time.perf_counter() - begin
    if info is not None:
        made.info.save(info)
    about = {"file": str(output), "kind": "database", "file_bytes": output.stat().st_size}
    about |= made.info.describe()
    print_found(console, about)
    write_json(json, origin() | about | {"seconds": {"total": seconds}})


def _check(keywords: bool, options: dict[str, Any], wanted: bool) -> None:
    """Raises InvalidArgument for options of databases with --keywords, or of those without, on the others."""
    for name, value in options.items():
        if value is not None and keywords != wanted:
            raise InvalidArgument(f"pir build: {name} goes {'with' if wanted else 'without'} --keywords")


def _build(source: Path, keywords: bool, params: Params, options: dict[str, Any]) -> Database:
    if keywords:
        return KeywordDatabase.build(read_pairs(source), params, **options)
    return Database.build(source, params, **options)
