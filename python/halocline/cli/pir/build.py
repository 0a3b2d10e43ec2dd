# SPDX-License-Identifier: Apache-2.0
"""`halocline pir build`: a database from records, or from keys and values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ...base.errors import InvalidArgument
from ...base.option_values import Choice
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
from .describe import print_found
from .outputs import expect_outputs
from .sources import read_pairs, record_source

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


@command
def build(
    source: SourceArgument,
    output: OutOption,
    record_bytes: RecordOption = None,
    keywords: KeywordsOption = False,
    max_value: MaxValueOption = None,
    spare: SpareOption = 0.0,
    params: SetOption = "pir-n4096",
    info: DescriptionOption = None,
    device: PlaceOption = "cpu",
    batch: BatchOption = 1,
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Build a database file. An old one of that name is replaced when the new one is complete."""
    no_standard_output(output, "--out")
    outputs = {"--out": output, "--info": info, "--json": json}
    expect_outputs("pir build", outputs, {"SOURCE": [source]}, replaces_database=True)
    console = results_console(json, info)
    _check(keywords, record_bytes, max_value, spare)
    options: dict[str, Any] = {"path": output, "device": device, "batch": batch}
    kind = {"max_value_bytes": max_value, "spare": spare} if keywords else {"record_bytes": record_bytes}
    chosen = Params(params, allow_insecure=allow_insecure)
    begin = time.perf_counter()
    with progress_bar("building") as progress:
        made = _build(source, keywords, chosen, options | kind | {"progress": progress})
    seconds = time.perf_counter() - begin
    if info is not None:
        made.info.save(info)
    about = {"file": str(output), "kind": "database", "file_bytes": output.stat().st_size}
    about |= made.info.describe()
    print_found(console, about)
    write_json(json, origin() | about | {"seconds": {"total": seconds}})


def _check(keywords: bool, record_bytes: int | None, max_value: int | None, spare: float) -> None:
    if not keywords and (max_value is not None or spare):
        raise InvalidArgument("pir build: --max-value and --spare go with --keywords")
    if keywords and record_bytes is not None:
        raise InvalidArgument("pir build: --record-bytes is of databases without --keywords; say --max-value")


def _build(source: Path, keywords: bool, params: Params, options: dict[str, Any]) -> Database:
    if keywords:
        return KeywordDatabase.build(read_pairs(source), params, **options)
    return Database.build(record_source(source), params, **options)
