# SPDX-License-Identifier: Apache-2.0
"""Databases for private retrieval: records of one length, in memory or in a file."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np

from .. import _core
from ..base.errors import CorruptData, Error, InvalidArgument, NotPicklable
from ..base.files import file_only
from ..base.forks import renew_in_children
from ..base.progress import Progress
from ..base.values import byte_string, integer
from .info import DatabaseInfo, KeywordTable, make_info
from .params import Params, params_of
from .sources import PIECE, Octets, Source, source_of

HolderT = TypeVar("HolderT", bound="Holder")


class Holder(Protocol):
    """What has a copy of the records: a server."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Inside, it answers nothing."""

    def refresh(self, record: int) -> None:
        """Reads a record of the store again. After an error it does so before it is used next."""


class Database:
    """Records that a server answers queries about, and their public description.

    `Database.build` makes one from bytes, arrays, files and iterators, in memory or as a file; `open` opens
    such a file, which stays on disk: a block is read, and its checksum compared, when it is used.
    """

    _joining: bool

    def __init__(self, records: _core.RetrievalRecords, info: DatabaseInfo, path: str | None) -> None:
        self._records, self._info, self._path = records, info, path
        self._holders: weakref.WeakSet[Holder] = weakref.WeakSet()
        self._renew_locks()
        renew_in_children(self)

    @classmethod
    def build(
        cls,
        source: Any,
        params: Params | str = "pir-n4096",
        *,
        record_bytes: int | None = None,
        records: int | None = None,
        path: str | Path | None = None,
        device: str = "cpu",
        batch: int = 1,
        rows: int | None = None,
        memory: int | str | None = None,
        progress: Progress | None = None,
        identity: bytes | None = None,
    ) -> Database:
        """A database of the records in `source`.

        source: bytes; a numpy array, whose first axis is the records; the name of a file of records one after
            the other, or of an .npy file with such an array; or an iterable of bytes and arrays: one record
            each, or pieces of any size where `record_bytes` is given.
        records: how many, where an iterable does not tell and its pieces should not be kept before they are
            written.
        path: a file to make, which then is the database; an old one of that name is replaced when the new one
            is complete, and stays when the build fails or is killed. None: host memory.
        device, batch: where servers will answer, and how many queries together: the arrangement of records
            that costs least there is chosen. rows: N0 of that arrangement, where it is to be given. memory:
            the budget that the server will have, of all devices that share the columns together, where the
            transformed database may be larger.
        progress: called with the bytes that are done and those in all.
        identity: 16 bytes that distinguish the database from others of its shape, for builds that are to be
            repeated exactly; fresh random ones unless given. Queries made for another identity are refused.
        """
        chosen, found = params_of(params), source_of(source, record_bytes, records)
        known = contextlib.nullcontext(found) if found.records is not None else _spooled(found, path)
        with known as whole:
            assert whole.records is not None
            info = make_info(
                chosen,
                whole.records,
                whole.record_bytes,
                device=device,
                batch=batch,
                rows=rows,
                memory=memory,
                identity=identity,
            )
            return _store(cls, info, whole.pour, path, progress)

    @classmethod
    def open(cls, path: str | Path, *, allow_insecure: bool = False) -> Database:
        """The database in a file that `build` made. A replacement that was interrupted is completed.

        Raises IoError; CorruptData for what is no complete database; InvalidArgument for one that is looked
        up by key, which `KeywordDatabase.open` opens; InsecureParameters.
        """
        name = file_only(path, "Database.open")
        core = _core.RetrievalRecords.open(name, bool(allow_insecure))
        table = None
        if core.note:
            try:
                table = KeywordTable(_core.KeywordLayout.from_json(core.note))
            except InvalidArgument as error:
                raise CorruptData(f"Database.open: '{name}': the table of keys is refused: {error}") from None
        cls._expect_table(name, table)
        return cls(core, DatabaseInfo(core.geometry, table), name)

    @classmethod
    def _expect_table(cls, name: str, table: KeywordTable | None) -> None:
        """Refuses a file of another kind of database."""
        if table is not None:
            raise InvalidArgument(
                f"Database.open: '{name}' is looked up by key; open it with KeywordDatabase.open"
            )

    @property
    def info(self) -> DatabaseInfo:
        """The public description, which clients need."""
        return self._info

    @property
    def path(self) -> str | None:
        """Its file; None in memory."""
        return self._path

    def __len__(self) -> int:
        return self._info.records

    def record(self, index: int) -> bytes:
        """A record, in the clear."""
        number = integer(index, "Database.record: index", 0, len(self) - 1)
        return self._records.read(number * self._info.record_bytes, self._info.record_bytes)

    def replace(self, index: int, data: bytes) -> None:
        """Replaces a record in the database and in all servers that use it, at once for all of them.

        It waits until no server is being made and none answers a batch: an answer is to the old record or to
        the new one, and no server answers with the old one when another has answered with the new one. A
        file has the new record on disk when this returns; a process that is killed leaves the old one or the
        new one.

        Raises InvalidArgument for a record that there is not and for bytes of another length; IoError and
        CorruptData of a file, for example one that others have open: then nothing has changed. Where a server
        cannot read the new record (OutOfMemory, DeviceError), the message says how many have it; the others
        read it again before they use it, and never answer with the old one.
        """
        number = integer(index, "Database.replace: index", 0, len(self) - 1)
        content = byte_string(data, "Database.replace")
        if len(content) != self._info.record_bytes:
            raise InvalidArgument(
                f"Database.replace: {len(content)} bytes, expected {self._info.record_bytes}: "
                "records have one length; pad the new one"
            )
        with self._lock:
            if self._joining:
                raise InvalidArgument(
                    "Database.replace: called by what watches the progress of a pir.Server that is being "
                    "made; replace the record when the server is there"
                )
            with self._listing:
                holders = list(self._holders)
            with contextlib.ExitStack() as pauses:
                for each in holders:
                    pauses.enter_context(each.paused())
                try:
                    self._records.write(number * self._info.record_bytes, content)
                except BaseException:
                    # Whatever the store has now, all servers have.
                    with contextlib.suppress(Exception):
                        _refresh(holders, number)
                    raise
                _refresh(holders, number)

    def _join(self, make: Callable[[], HolderT]) -> HolderT:
        """Makes what has a copy of the records; from then on it gets new ones. None is replaced meanwhile."""
        with self._lock:
            outer = self._joining
            self._joining = True
            try:
                made = make()
            finally:
                self._joining = outer
            with self._listing:
                self._holders.add(made)
            return made

    def _leave(self, holder: Holder) -> None:
        """What has a copy of the records needs no new ones."""
        with self._listing:  # does not wait for what is being made
            self._holders.discard(holder)

    def verify(self, progress: Progress | None = None) -> None:
        """Reads the whole file and compares all checksums; nothing to do in memory. Raises CorruptData."""
        if self._path is not None:
            self._records.verify(progress)

    def _renew_locks(self) -> None:
        self._lock = threading.RLock()  # its own thread may come again, where a holder is being made
        self._listing = threading.Lock()
        self._joining = False  # while a holder is being made

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a Database cannot be pickled or copied; build it with path= and open it in each process"
        )

    def __repr__(self) -> str:
        place = "in memory" if self._path is None else f"in '{self._path}'"
        return f"pir.{type(self).__name__}({self._info.records} x {self._info.record_bytes} bytes, {place})"


def _refresh(holders: list[Holder], record: int) -> None:
    """All of them, also where one fails. Raises the first error, with how many have the record."""
    failed: list[BaseException] = []
    for each in holders:
        try:
            each.refresh(record)
        except BaseException as error:  # an interrupt, too, must not leave others with the old record
            failed.append(error)
    if not failed:
        return
    for interrupt in failed:
        if not isinstance(interrupt, Exception):
            raise interrupt
    text = (
        f"Database.replace: record {record} is replaced in the database and in "
        f"{len(holders) - len(failed)} of its {len(holders)} servers; the others read it again before they "
        f"use it: {failed[0]}"
    )
    raise (type(failed[0]) if isinstance(failed[0], Error) else Error)(text) from failed[0]


Take = Callable[[Octets], None]
"""Is given bytes of records, one piece after the other."""


def _store(
    kind: type[Database],
    info: DatabaseInfo,
    pour: Callable[[Take], None],
    path: str | Path | None,
    progress: Progress | None,
) -> Database:
    """Records of a known number that `pour` passes on, in memory or in a file."""
    if path is None:
        room = np.empty(info.records * info.record_bytes, dtype=np.uint8)

        def place(at: int, piece: Octets) -> None:
            room[at : at + piece.size] = piece

        _pour(pour, place, info, progress)
        return kind(_core.RetrievalRecords.in_memory(room), info, None)
    name = file_only(path, "Database.build: path")
    note = "" if info.table is None else info.table._core.to_json()
    writer = _core.RetrievalWriter.make(name, info._core, note)
    try:
        _pour(pour, lambda _, piece: writer.append(piece), info, progress)
        writer.finish()
    finally:
        writer.discard()
    return kind.open(name, allow_insecure=True)  # as the parameters that are at hand


def _pour(
    pour: Callable[[Take], None],
    keep: Callable[[int, Octets], None],
    info: DatabaseInfo,
    progress: Progress | None,
) -> None:
    """Keeps all pieces, each with its offset. Raises InvalidArgument for too many bytes or too few."""
    total, done = info.records * info.record_bytes, 0

    def take(piece: Octets) -> None:
        nonlocal done
        if done + piece.size > total:
            raise InvalidArgument(f"Database.build: more than {info.records} records came; give their number")
        keep(done, piece)
        done += piece.size
        if progress is not None:
            progress(done, total)

    pour(take)
    if done != total:
        raise InvalidArgument(
            f"Database.build: {done} bytes came, expected {info.records} records of {info.record_bytes}"
        )


@contextlib.contextmanager
def _spooled(source: Source, path: str | Path | None) -> Iterator[Source]:
    """Inside, an iterable whose number of records is not known is in a file without a name."""
    folder = None if path is None else os.path.dirname(os.path.abspath(file_only(path, "Database.build")))
    with tempfile.TemporaryFile(dir=folder) as file:
        size = 0
        for piece in source.pieces():
            file.write(piece.data)
            size += piece.size
        records, rest = divmod(size, source.record_bytes)
        if rest or not records:
            raise InvalidArgument(
                f"Database.build: the iterable gave {size} bytes; expected whole records of "
                f"{source.record_bytes}"
            )

        def pieces() -> Iterator[Octets]:
            file.seek(0)
            while data := file.read(PIECE):
                yield np.frombuffer(data, dtype=np.uint8)

        yield Source(records, source.record_bytes, pieces)
