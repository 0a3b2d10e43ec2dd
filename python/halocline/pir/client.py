# SPDX-License-Identifier: Apache-2.0
"""The client of private retrieval: has a secret, asks for records, decodes answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from .. import _core
from ..base.errors import InvalidArgument, NotPicklable
from ..base.files import file_only
from ..base.values import byte_string, expect, integer
from .info import DatabaseInfo, KeywordTable
from .keywords import Key, key_bytes


class Query:
    """A query, and the record that it asks for, which only the client may know.

    `to_bytes` is what the server gets; it says nothing about the record. Made by `Client.query`; one whose
    bytes were stored is `Query(record, data)`.
    """

    def __init__(self, record: int, data: bytes) -> None:
        self._record = integer(record, "pir.Query: record", 0)
        self._data = byte_string(data, "pir.Query: data")

    @property
    def record(self) -> int:
        """Number of the record. Keep it from the server."""
        return self._record

    def to_bytes(self) -> bytes:
        """What is sent."""
        return self._data

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a Query holds the number that is to stay private; send query.to_bytes()")

    def __repr__(self) -> str:
        return f"pir.Query({len(self._data)} bytes)"


class Lookup:
    """The queries that look up one key, which only the client may know. Made by `Client.lookup_queries`."""

    def __init__(self, key: bytes, queries: Sequence[Query]) -> None:
        self._key, self._queries = key, tuple(queries)

    @property
    def key(self) -> bytes:
        """The key. Keep it from the server."""
        return self._key

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries; the server must answer all of them, in this order."""
        return self._queries

    def to_bytes(self) -> list[bytes]:
        """What is sent, query by query: for `Server.answer_many`."""
        return [each.to_bytes() for each in self._queries]

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a Lookup holds the key that is to stay private; send lookup.to_bytes()")

    def __repr__(self) -> str:
        return f"pir.Lookup({len(self)} queries)"


class Client:
    """The party that fetches records. Needs the public description of a database, and no accelerator.

    A secret is drawn from the operating system's randomness. A server needs `server_keys()` once, and then
    answers any number of queries. Threads may share a client; it works for one at a time.

    A client cannot be pickled: `save` and `load` are the only way in which the secret leaves the process.
    """

    def __init__(self, info: DatabaseInfo, *, threads: int | None = 1) -> None:
        self._info = expect(info, DatabaseInfo, "pir.Client", "use database.info or DatabaseInfo.load(path)")
        self._core = _core.RetrievalClient.make(info._core, _workers(threads))

    @classmethod
    def load(cls, path: str | Path, info: DatabaseInfo, *, threads: int | None = 1) -> Client:
        """The client whose secret `save` wrote, for any database of the same parameters."""
        made = cls.__new__(cls)
        made._info = expect(info, DatabaseInfo, "pir.Client.load")
        name = file_only(path, "pir.Client.load")
        made._core = _core.RetrievalClient.load(info._core, name, _workers(threads))
        return made

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the secret to a file that only its owner may read. The file is not encrypted.

        Raises InvalidArgument where there is such a file, unless `overwrite`.
        """
        name = file_only(path, "pir.Client.save")
        if not overwrite and os.path.lexists(name):
            raise InvalidArgument(
                f"pir.Client.save: '{name}' exists; name another file, or say overwrite=True if no answer is "
                "awaited for that secret"
            )
        self._core.save(name)

    @property
    def info(self) -> DatabaseInfo:
        """The database that it asks."""
        return self._info

    @property
    def id(self) -> str:
        """Public name of the secret: random, and part of its keys and queries. A server can link queries of
        one client by it."""
        return self._core.id

    def server_keys(self) -> bytes:
        """Keys that a server needs to answer this client. They hold no secret.

        Each call makes new ones: keep them to send them again, or ask the server to replace those it has. All
        carry a seal by which this client, and others of its secret, recognise in an answer that it was
        computed with keys of theirs.
        """
        return self._core.server_keys()

    def query(self, index: int) -> Query:
        """A fresh query for a record. Two queries for one record look as random as others.

        Raises InvalidArgument for a record that there is not, and for a database that is looked up by key.
        """
        if self._info.table is not None:
            raise InvalidArgument(
                "pir.Client.query: this database is looked up by key; use lookup_queries(key)"
            )
        return self._ask(integer(index, "pir.Client.query: index", 0, self._info.records - 1))

    def _ask(self, record: int) -> Query:
        return Query(record, self._core.query(record))

    def decode(self, query: Query, answer: bytes) -> bytes:
        """The record, from the answer to a query of this client.

        Raises CorruptData for damaged bytes; KeyMismatch for the answer to another query, and for one that
        was computed with keys which another party sent under this client's identifier. What a server that
        does not follow the protocol makes up is decoded to wrong bytes: check them where that matters.
        """
        asked = expect(query, Query, "pir.Client.decode: query", "as query() returned it")
        got = byte_string(answer, "pir.Client.decode: answer")
        return self._core.decode(asked.record, asked.to_bytes(), got)

    def lookup_queries(self, key: Key) -> Lookup:
        """Queries for a key of a keyword database: the same number for every key."""
        name = key_bytes(key, "pir.Client.lookup_queries")
        records = self._table("lookup_queries")._core.candidates(name)
        return Lookup(name, [self._ask(each) for each in records])

    def decode_lookup(self, lookup: Lookup, answers: Sequence[bytes]) -> bytes | None:
        """The value of a key, or None where the database has no such key."""
        asked = expect(lookup, Lookup, "pir.Client.decode_lookup", "as lookup_queries() returned it")
        if len(answers) != len(asked):
            raise InvalidArgument(
                f"pir.Client.decode_lookup: {len(answers)} answers; expected {len(asked)}, one for each query"
            )
        buckets = [self.decode(query, each) for query, each in zip(asked, answers, strict=True)]
        return self._table("decode_lookup")._core.find(buckets, asked.key)

    def _table(self, method: str) -> KeywordTable:
        if self._info.table is None:
            raise InvalidArgument(
                f"pir.Client.{method}: this database has no keys, only numbers; use query(index)"
            )
        return self._info.table

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a pir.Client holds a secret and cannot be pickled or copied; use save and load")

    def __repr__(self) -> str:
        return f"pir.Client({self.id[:8]}, {self._info!r})"


def _workers(threads: int | None) -> int:
    return 0 if threads is None else integer(threads, "pir.Client: threads", 1, 1024)
