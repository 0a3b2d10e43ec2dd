# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline pir`, and the files that its commands read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from ... import _core
from ...base import limits
from ...base.errors import CorruptData, InvalidArgument
from ...base.files import read_file
from ...base.values import utf8_text
from ...pir import Client, DatabaseInfo, Lookup, Query

SECRET_FILE = "pir-secret.hlr"
KEYS_FILE = "pir-keys.hlr"

InfoOption = Annotated[
    Path, typer.Option("--info", metavar="FILE", help="Public description of the database.")
]
SecretOption = Annotated[Path, typer.Option("--secret", "-s", help=f"{SECRET_FILE} of the client.")]
IndexOption = Annotated[
    int | None, typer.Option("--index", min=0, help="Number of the record; the first one is 0.")
]
KeyOption = Annotated[
    str | None, typer.Option("--key", "-k", metavar="TEXT", help="Key to look up, in a keyword database.")
]


def expect_one(command: str, index: int | None, key: str | None) -> None:
    """Raises InvalidArgument unless a command is given one of --index and --key."""
    if (index is None) == (key is None):
        raise InvalidArgument(f"{command}: give either --index or --key")


def fitting(command: str, info: DatabaseInfo, index: int | None, key: str | None) -> None:
    """Raises InvalidArgument where a database has no such record, or is not looked up in that way."""
    expect_one(command, index, key)
    if key is not None:
        utf8_text(key, f"{command}: --key")
        if info.table is None:
            raise InvalidArgument(f"{command}: this database has no keys, only numbers; give --index")
    elif index is not None and index >= info.records:
        raise InvalidArgument(f"{command}: --index is {index}; the database has {info.records} records")


def read_messages(path: Path, option: str, size: int) -> list[bytes]:
    """A file of messages of one size, one after the other."""
    data = read_file(path, option, limits.RETRIEVAL_MESSAGES)
    if not data or len(data) % size:
        raise CorruptData(
            f"{option}: '{path}' has {len(data)} bytes; expected {size} for this database, or a multiple"
        )
    return [data[start : start + size] for start in range(0, len(data), size)]


def message_size(info: DatabaseInfo, name: str) -> int:
    """Bytes of a "query" or "answer"."""
    return _core.retrieval_message_sizes(info._core)[name]


def asked(client: Client, index: int | None, key: str | None) -> Query | Lookup:
    """A fresh query, or a lookup."""
    if key is not None:
        return client.lookup_queries(key)
    assert index is not None
    return client.query(index)


def sent(query: Query | Lookup) -> list[bytes]:
    """Its bytes."""
    return query.to_bytes() if isinstance(query, Lookup) else [query.to_bytes()]


def decoded(client: Client, query: Query | Lookup, answers: list[bytes]) -> bytes | None:
    """The record or value; None for a key that is not there."""
    if isinstance(query, Lookup):
        return client.decode_lookup(query, [_own(each, answers) for each in query.to_bytes()])
    return client.decode(query, _own(query.to_bytes(), answers))


def _own(query: bytes, answers: list[bytes]) -> bytes:
    """The answer that names a query; the first one, which will be refused, where none does."""
    tag = hashlib.blake2b(query, digest_size=16).digest()
    return next((each for each in answers if tag in each[:128]), answers[0])
