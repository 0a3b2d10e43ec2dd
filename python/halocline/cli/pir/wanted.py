# SPDX-License-Identifier: Apache-2.0
"""What a client is to fetch: by --index or --key, or in a file, which lists of processes do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...base.errors import CorruptData, InvalidArgument
from ...base.files import check_utf8, read_file
from ...base.values import utf8_text
from ...pir import DatabaseInfo
from .asked import Asked

IndexOption = Annotated[
    int | None, typer.Option("--index", min=0, help="Number of the record; the first one is 0.")
]
KeyOption = Annotated[
    str | None, typer.Option("--key", "-k", metavar="TEXT", help="Key to look up, in a keyword database.")
]
WantedOption = Annotated[
    Path | None,
    typer.Option(
        "--wanted",
        metavar="FILE",
        help="File with the number or key; - is standard input. Lists of processes show --index and --key.",
    ),
]

_LIMIT = 1 << 18
_MOST_DIGITS = 20


def expect_one(command: str, index: int | None, key: str | None, wanted: Path | None) -> None:
    """Raises InvalidArgument unless a command is given one of --index, --key and --wanted."""
    if sum(each is not None for each in (index, key, wanted)) != 1:
        raise InvalidArgument(f"{command}: give one of --index, --key and --wanted")


def read_wanted(
    command: str, info: DatabaseInfo, index: int | None, key: str | None, wanted: Path | None
) -> Asked:
    """What one of the options says, of a database that has such a record, or is looked up by key.

    Raises InvalidArgument, CorruptData, IoError; messages do not show what is wanted by a file.
    """
    expect_one(command, index, key, wanted)
    if wanted is not None:
        return fitting(command, info, _in_file(command, info, wanted), "--wanted")
    return fitting(command, info, Asked(index, key), "--index" if key is None else "--key")


def _in_file(command: str, info: DatabaseInfo, wanted: Path) -> Asked:
    data = read_file(wanted, f"{command}: --wanted", _LIMIT)
    check_utf8(data, f"{command}: --wanted")
    text = data.decode().removesuffix("\n").removesuffix("\r")
    if info.table is not None:
        return Asked(None, text)
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise CorruptData(
            f"{command}: --wanted: '{wanted}' has no number of a record; expected one line, digits"
        )
    return Asked(int(text), None)


def fitting(command: str, info: DatabaseInfo, asked: Asked, option: str) -> Asked:
    """The same. Raises InvalidArgument where a database has no such record, or is looked up otherwise."""
    if asked.key is not None:
        utf8_text(asked.key, f"{command}: {option}")
        if info.table is None:
            raise InvalidArgument(f"{command}: this database has no keys, only numbers; give --index")
    elif info.table is not None:
        raise InvalidArgument(f"{command}: this database is looked up by key; give --key")
    elif asked.index is not None and asked.index >= info.records:
        raise InvalidArgument(
            f"{command}: {option} is beyond the last record; the database has {info.records} records"
        )
    return asked
