# SPDX-License-Identifier: Apache-2.0
"""Where records come from: bytes, arrays, files, iterators. All become pieces of bytes."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..base.errors import CorruptData, InvalidArgument, IoError, WrongType
from ..base.files import is_standard, open_regular
from ..base.npy import read_header
from ..base.values import integer, kind_of

Octets = npt.NDArray[np.uint8]
PIECE = 4 << 20
"""Bytes that are read from a file at once."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Records, one after the other, as pieces of any size. records: None where only the end tells."""

    records: int | None
    record_bytes: int
    pieces: Callable[[], Iterator[Octets]]

    def pour(self, take: Callable[[Octets], None]) -> None:
        """Passes all pieces on."""
        for each in self.pieces():
            take(each)


def source_of(source: Any, record_bytes: int | None, records: int | None) -> Source:
    """Raises WrongType, InvalidArgument, IoError."""
    length = None if record_bytes is None else integer(record_bytes, "Database.build: record_bytes", 1)
    count = None if records is None else integer(records, "Database.build: records", 1)
    if isinstance(source, np.ndarray):
        return _of_array(source, length, count)
    if isinstance(source, bytes | bytearray | memoryview):
        octets = np.frombuffer(source, dtype=np.uint8)
        known = _whole(octets.size, _needed(length, "bytes"), count, "the bytes")
        return Source(known, _needed(length, "bytes"), lambda: iter((octets,)))
    if isinstance(source, str | os.PathLike):
        if os.fspath(source).endswith(".npy"):
            return _of_array(_mapped(source), length, count)
        return _of_file(source, _needed(length, "a file"), count)
    if isinstance(source, Iterable):
        return _of_iterable(source, length, count)
    raise WrongType(
        f"Database.build: got {kind_of(source)}, expected bytes, a numpy array, the name of a file, or an "
        "iterable of bytes"
    )


def _needed(length: int | None, what: str) -> int:
    if length is None:
        raise InvalidArgument(f"Database.build: {what} have no records by themselves; give record_bytes=")
    return length


def _whole(size: int, length: int, count: int | None, what: str) -> int:
    """Number of records in so many bytes."""
    found, rest = divmod(size, length)
    if rest or not found or (count is not None and count != found):
        wanted = f"{count} records of {length} bytes" if count else f"whole records of {length} bytes"
        raise InvalidArgument(f"Database.build: {what} are {size} bytes; expected {wanted}")
    return found


def _of_array(array: npt.NDArray[Any], length: int | None, count: int | None) -> Source:
    if array.dtype.hasobject or array.ndim == 0 or array.size == 0:
        raise InvalidArgument(
            f"Database.build: an array of shape {array.shape} and type {array.dtype}; expected numbers, the "
            "first axis being the records"
        )
    records, per_record = len(array), array.nbytes // len(array)
    if length not in (None, per_record) or count not in (None, records):
        raise InvalidArgument(
            f"Database.build: the array has {records} records of {per_record} bytes; leave record_bytes and "
            "records out, or give these"
        )
    step = max(1, PIECE // per_record)

    def pieces() -> Iterator[Octets]:
        for start in range(0, records, step):
            piece = np.ascontiguousarray(array[start : start + step])
            yield piece.view(np.uint8).reshape(-1)

    return Source(records, per_record, pieces)


def _mapped(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """An array that stays in its .npy file, whose header must agree with its size."""
    name = os.fspath(path)
    with open_regular(path, "Database.build") as file:
        try:
            shape, by_columns, kind = read_header(file)
        except ValueError as error:
            raise CorruptData(f"Database.build: '{name}' is no .npy file of numbers: {error}") from None
        start, size = file.tell(), os.fstat(file.fileno()).st_size
    agrees = min(shape, default=1) > 0 and math.prod(shape) * kind.itemsize == size - start
    if kind.hasobject or not agrees:
        raise CorruptData(
            f"Database.build: '{name}' is no .npy file of numbers: shape {str(shape)[:80]} of type "
            f"{str(kind)[:40]}, and {size - start} bytes of values"
        )
    order: Literal["C", "F"] = "F" if by_columns else "C"
    try:
        return np.memmap(name, kind, "r", start, shape, order)
    except (OSError, ValueError) as error:  # as when it became shorter
        raise IoError(f"Database.build: cannot read '{name}': {error}") from None


def _of_file(path: str | os.PathLike[str], length: int, count: int | None) -> Source:
    if is_standard(path):
        raise InvalidArgument("Database.build: records come from a file, whose size tells how many; name one")
    with open_regular(path, "Database.build") as file:
        size = os.fstat(file.fileno()).st_size
    records = _whole(size, length, count, f"the records in '{os.fspath(path)}'")

    def pieces() -> Iterator[Octets]:
        left = records * length
        with open_regular(path, "Database.build") as file:
            while left:
                data = file.read(min(PIECE, left))
                if not data:
                    raise IoError(f"Database.build: '{os.fspath(path)}' became shorter while it was read")
                left -= len(data)
                yield np.frombuffer(data, dtype=np.uint8)

    return Source(records, length, pieces)


def _of_iterable(source: Iterable[Any], length: int | None, count: int | None) -> Source:
    """Pieces of any size where the length of records is given, else records of one length."""
    found = iter(source)
    if length is None:
        first = next(found, None)
        if first is None:
            raise InvalidArgument("Database.build: there are no records; expected at least one")
        length = _octets(first).size
        if length == 0:
            raise InvalidArgument("Database.build: the first record is empty; expected one byte at least")
        return Source(count, length, lambda: _records(first, found, length))
    return Source(count, length, lambda: (_octets(each) for each in found))


def _records(first: Any, rest: Iterator[Any], length: int) -> Iterator[Octets]:
    yield _octets(first)
    for number, each in enumerate(rest, start=1):
        piece = _octets(each)
        if piece.size != length:
            raise InvalidArgument(
                f"Database.build: record {number} has {piece.size} bytes, the first one {length}; records of "
                "a database have one length: pad them, or use a KeywordDatabase, whose values may differ"
            )
        yield piece


def _octets(piece: Any) -> Octets:
    if isinstance(piece, np.ndarray) and not piece.dtype.hasobject:
        return np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
    if isinstance(piece, bytes | bytearray | memoryview):
        return np.frombuffer(piece, dtype=np.uint8)
    raise WrongType(f"Database.build: got {kind_of(piece)} among the records, expected bytes or an array")
