# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline pir`, and the files that its commands read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from ... import _core
from ...base import limits
from ...base.errors import CorruptData
from ...base.files import file_only, read_file
from ...pir import Client, Database, DatabaseInfo, KeywordDatabase, Lookup, Query
from .asked import Asked

SECRET_FILE = "pir-secret.hlr"
KEYS_FILE = "pir-keys.hlr"

InfoOption = Annotated[
    Path, typer.Option("--info", metavar="FILE", help="Public description of the database.")
]
SecretOption = Annotated[Path, typer.Option("--secret", "-s", help=f"{SECRET_FILE} of the client.")]


def open_database(path: Path, allow_insecure: bool) -> Database:
    """A database file of either kind."""
    has_keys = _core.RetrievalRecords.open(file_only(path, "DATABASE"), allow_insecure).note
    kind = KeywordDatabase if has_keys else Database
    return kind.open(path, allow_insecure=allow_insecure)


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


def query_for(client: Client, asked: Asked) -> Query | Lookup:
    """A fresh query, or a lookup."""
    if asked.key is not None:
        return client.lookup_queries(asked.key)
    assert asked.index is not None
    return client.query(asked.index)


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
