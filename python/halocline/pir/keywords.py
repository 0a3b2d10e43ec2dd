# SPDX-License-Identifier: Apache-2.0
"""Databases that are looked up by key instead of by number."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import CorruptData, InvalidArgument, WrongType
from ..base.progress import Progress
from ..base.values import byte_count, byte_string, integer, kind_of, utf8_text
from .database import Database, Take, _store
from .info import KeywordTable, make_info
from .params import Params, params_of

Key = bytes | str
Pairs = Mapping[Any, Any] | Iterable[tuple[Any, Any]]


def key_bytes(key: Any, what: str) -> bytes:
    """A key or value as bytes; text is UTF-8."""
    return utf8_text(key, what).encode() if isinstance(key, str) else byte_string(key, what)


class KeywordDatabase(Database):
    """Values under keys. A lookup costs a client one to three queries, for keys that are there and others.

    Values may have different lengths, up to a bound that is public; what the server sees and what an answer
    costs does not depend on them. A key that is not there is answered as absent, but for a probability below
    2^-40. The database itself keeps no keys, only parts of their hashes.
    """

    @classmethod
    def build(  # type: ignore[override]
        cls,
        source: Pairs,
        params: Params | str = "pir-n4096",
        *,
        max_value_bytes: int | None = None,
        spare: float = 0.0,
        movable: bool | None = None,
        path: str | Path | None = None,
        device: str = "cpu",
        batch: int = 1,
        memory: int | str | None = None,
        progress: Progress | None = None,
        identity: bytes | None = None,
    ) -> KeywordDatabase:
        """A database of a mapping, or of pairs of keys and values: bytes, or text, which becomes UTF-8.

        max_value_bytes: bound on the length of values; the longest one unless given.
        spare: room for keys that are added later, as a share of those that are there.
        movable: whether entries may move to make room for keys that are added, which fills more of that room
            and costs a few bytes of each entry; where there is room to spare unless given.
        path, device, batch, identity: as of `Database.build`. memory: too, for rows and columns; buckets and
            hashes do not depend on it.
        progress: called with the keys that have found a place, of how many, from 0 again where not all of
            them do; then with bytes as of `Database.build`.

        Raises InvalidArgument for a key that is there twice and for a value beyond the bound.
        """
        budget = None if memory is None else byte_count(memory, "KeywordDatabase.build: memory")
        pairs = [_pair(each) for each in _items(source)]
        if not pairs:
            raise InvalidArgument("KeywordDatabase.build: there are no keys; expected at least one")
        longest = max(len(value) for _, value in pairs)
        bound = longest if max_value_bytes is None else integer(max_value_bytes, "max_value_bytes", 0)
        chosen, moves = params_of(params), spare > 0 if movable is None else bool(movable)
        shape = (len(pairs), bound, float(spare), moves, device, 1, batch, 0)
        builder = _builder(_core.KeywordLayout.choose(chosen._core, *shape), pairs)
        del pairs
        table = KeywordTable(builder.place(progress))
        about = table.describe()
        info = make_info(
            chosen,
            about["buckets"],
            about["bucket_bytes"],
            device=device,
            batch=batch,
            memory=budget,
            table=table,
            identity=identity,
        )
        found = _store(cls, info, lambda take: _write(builder, take), path, progress)
        assert isinstance(found, KeywordDatabase)
        return found

    @classmethod
    def _expect_table(cls, name: str, table: KeywordTable | None) -> None:
        if table is None:
            raise CorruptData(
                f"KeywordDatabase.open: '{name}' is a database without keys; open it with Database.open"
            )

    @property
    def table(self) -> KeywordTable:
        """How keys and values lie in the records."""
        assert self._info.table is not None
        return self._info.table

    def get(self, key: Key) -> bytes | None:
        """The value of a key, in the clear; None where there is none."""
        name = key_bytes(key, "KeywordDatabase.get")
        with self._updating:
            buckets = [self.record(each) for each in self.table._core.candidates(name)]
        return self.table._core.find(buckets, name)

    def set(self, key: Key, value: Key) -> None:
        """Gives a key a value, whether it was there or not, by writing one record, or a few that make room.

        Servers that use the database have it before their next batch. Threads may share a database: one
        update is done after the other.
        Raises InvalidArgument where the value is too long, or a new key finds no room: build the database
        again, with `spare`.
        """
        name, content = (key_bytes(each, "KeywordDatabase.set") for each in (key, value))
        core = self.table._core
        with self._updating:
            if not _core.keyword_replace(core, self.record, self.replace, name, content):
                _core.keyword_insert(core, self.record, self.replace, name, content)

    def remove(self, key: Key) -> bool:
        """Removes a key; whether it was there."""
        name = key_bytes(key, "KeywordDatabase.remove")
        with self._updating:
            return _core.keyword_erase(self.table._core, self.record, self.replace, name)

    def _renew_locks(self) -> None:
        super()._renew_locks()
        self._updating = threading.Lock()


def _items(source: Pairs) -> Iterable[Any]:
    if isinstance(source, Mapping):
        return source.items()
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return source
    raise WrongType(f"KeywordDatabase.build: got {kind_of(source)}, expected a mapping or pairs")


def _builder(layout: _core.KeywordLayout, pairs: list[tuple[bytes, bytes]]) -> _core.KeywordBuilder:
    builder = _core.KeywordBuilder.make(layout)
    for key, value in pairs:
        builder.add(key, value)
    return builder


def _pair(each: Any) -> tuple[bytes, bytes]:
    if not isinstance(each, tuple | list) or len(each) != 2:
        raise WrongType(f"KeywordDatabase.build: got {kind_of(each)}, expected a pair of key and value")
    return key_bytes(each[0], "KeywordDatabase.build: key"), key_bytes(
        each[1], "KeywordDatabase.build: value"
    )


def _write(builder: _core.KeywordBuilder, take: Take) -> None:
    """Passes the table on, a few MiB at a time."""
    builder.write(lambda buckets: take(np.frombuffer(buckets, dtype=np.uint8)))
