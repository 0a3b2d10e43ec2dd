# SPDX-License-Identifier: Apache-2.0
"""Traces: what happened, or would happen, to every buffer of a program."""

from __future__ import annotations

import dataclasses
import lzma
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base import limits
from ..base.errors import CorruptData, InvalidArgument
from ..base.files import check_utf8, read_file, write_file
from ..base.values import byte_string, expect, path_text, utf8_text

CLASSES = ("evaluation_key", "plaintext", "ciphertext", "scratch", "table")
"""Object classes in the order of reports."""


KEY_PRODUCTS = ("key_multiply_accumulate", "key_dot")
"""Operations that multiply with evaluation keys."""

READ, WRITE = 2, 3
"""Numbers of these actions in `Trace._raw`."""


@dataclasses.dataclass(frozen=True)
class ClassStats:
    """What a trace says about one object class."""

    objects: int
    """Buffers allocated while it was recorded."""
    existing: int
    """Buffers that were there before, of those that the program touches."""
    allocated_bytes: int
    """Sum of the sizes of the allocated ones."""
    read_bytes: int
    """Bytes that steps read."""
    written_bytes: int
    """Bytes that steps wrote."""
    peak_bytes: int
    """Largest sum of live bytes of the class."""
    median_lifetime: float
    """Steps between allocation and free; to the end for what was never freed."""
    median_seconds: float
    """The same in seconds of the trace's clock."""


@dataclasses.dataclass(frozen=True)
class Lifetimes:
    """The buffers of a trace as arrays with one element per buffer, in ascending order of their ids.

    A buffer is live in events first <= e < last. Times are seconds since the recording began.
    """

    object: npt.NDArray[np.uint64]
    """Buffer ids."""
    cls: npt.NDArray[np.uint32]
    """Numbers into CLASSES."""
    bytes: npt.NDArray[np.int64]
    """Sizes. Of buffers that were there before without an `exists` row: up to the last byte touched."""
    fresh: npt.NDArray[np.bool_]
    """Whether it was allocated while the trace was recorded; otherwise its life begins with the trace."""
    freed: npt.NDArray[np.bool_]
    """Whether it was freed; otherwise its life ends with the trace."""
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    begin: npt.NDArray[np.float64]
    """When its life begins, in seconds."""
    end: npt.NDArray[np.float64]
    """When its life ends, in seconds."""
    tag: npt.NDArray[Any]
    """Tag of the allocating operation; without the identity that keys and plaintexts carry in the file."""

    def __len__(self) -> int:
        return len(self.object)

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """How long each one lived."""
        return self.end - self.begin

    def allocations(self) -> Lifetimes:
        """Only the buffers allocated while the trace was recorded, in the order of their allocation."""
        chosen = np.flatnonzero(self.fresh)
        return self._take(chosen[np.argsort(self.first[chosen], kind="stable")])

    def _take(self, index: npt.NDArray[np.int64]) -> Lifetimes:
        fields = dataclasses.fields(self)
        return Lifetimes(**{each.name: getattr(self, each.name)[index] for each in fields})


_ACTIONS = ("allocate", "free", "read", "write", "exists")
_XZ_MAGIC = b"\xfd7zXZ\0"
_PIECE = 1 << 20
_IDENTITY = re.compile("@[0-9a-f]+$")

FORMATS = {".rmm.csv": "a log of RMM", ".perfetto.json": "a timeline for Perfetto", ".csv": "a trace"}
"""What `Trace.save` writes, by the ending of the file's name; with COMPRESSED behind it, as an xz file."""
COMPRESSED = ".xz"


class Trace:
    """A recorded sequence of events: one row per allocate, free, read and write.

    Buffers that were there before the recording began count as live from the start, once they are touched;
    a row `exists` describes each one before that.
    """

    def __init__(self, core: _core.Trace) -> None:
        self._core = expect(core, _core.Trace, "Trace", "use engine.record() or Trace.load(path)")

    @classmethod
    def empty(cls) -> Trace:
        """A trace without events, which a recording fills."""
        return cls(_core.Trace())

    def _fill(self, core: _core.Trace) -> None:
        self._core = core
        for name in ("_raw", "columns", "lifetimes"):
            self.__dict__.pop(name, None)

    def to_csv(self) -> str:
        """step,op,action,object,class,bytes,offset,stream,time_ns,tag: this line, then a row per event."""
        return self._core.to_csv()

    @classmethod
    def from_csv(cls, text: str | bytes) -> Trace:
        """A trace from `to_csv`. Raises CorruptData naming the line that is malformed.

        A row may end at most 8 TiB into its buffer, and the ends of all rows add up to at most 2^62 bytes.
        """
        return cls(_core.Trace.from_csv(_utf8(text, "Trace.from_csv")))

    @classmethod
    def from_rmm(cls, text: str | bytes, object_class: str = "ciphertext") -> Trace:
        """A trace from a log of RMM, the RAPIDS memory manager, which any CUDA program can write.

        Such a log has neither the contents of buffers nor the times of their use. They all get
        `object_class`; the default is the class of bytes that must be written back. Each is written right
        after its allocation and read right before its free, so that plans and replays are lower bounds.
        """
        if object_class not in CLASSES:
            raise InvalidArgument(
                f"Trace.from_rmm: unknown class {object_class!r}; expected one of: {', '.join(CLASSES)}"
            )
        return cls(_core.Trace.from_rmm(_utf8(text, "Trace.from_rmm"), object_class))

    def to_rmm(self) -> str:
        """The allocations and frees as a log of RMM; reads and writes have no place in it."""
        return self._core.to_rmm()

    def to_perfetto(self) -> str:
        """JSON for https://ui.perfetto.dev: the steps of each stream, and live bytes by class as counters."""
        return self._core.to_perfetto()

    def save(self, path: str | Path) -> None:
        """Writes a file, as a whole or not at all: CSV, or what FORMATS says of the name's ending."""
        full = Path(path_text(path, "Trace.save")).name
        name = full.removesuffix(COMPRESSED)
        if name.endswith(".rmm.csv"):
            text = self.to_rmm()
        elif name.endswith(".perfetto.json"):
            text = self.to_perfetto()
        else:
            text = self.to_csv()
        content = text.encode()
        write_file(path, content if name == full else lzma.compress(content, preset=9))

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """A trace from a CSV file: ours, or a log of RMM (see `from_rmm`); the first line tells.

        Files that xz has compressed are unpacked. `halocline.base.limits` says how large file and text may
        be; memory follows the text: at most 32 times its bytes.
        """
        content = read_file(path, "Trace.load", limits.TRACE)
        if content.startswith(_XZ_MAGIC):
            content = _unpacked(content, path)
        return cls.from_rmm(content) if content.startswith(b"Thread,") else cls.from_csv(content)

    @cached_property
    def _raw(self) -> dict[str, Any]:
        """Number columns as arrays, text columns as (texts, array of numbers into them)."""
        return self._core.columns()

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The events as arrays; op, tag, action and class are arrays of text."""
        return {
            name: np.array(value[0], dtype=object)[value[1]] if isinstance(value, tuple) else value
            for name, value in self._raw.items()
        }

    def key_switches(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Steps that multiply with keys, ascending, and the number of keys of each.

        A step with several keys reads a table of an automorphism for each; one that reads none has one.
        """
        raw = self._raw
        texts, ops = raw["op"]
        named = np.array([each.partition(":")[0] in KEY_PRODUCTS for each in texts], dtype=bool)
        steps = raw["step"].astype(np.int64)
        switching = named[ops] & np.isin(raw["action"][1], (READ, WRITE))
        texts, tags = raw["tag"]
        tables = np.array([each.endswith("ring.permutation") for each in texts], dtype=bool)
        turns = np.stack([steps, raw["object"].astype(np.int64)])[:, switching & tables[tags]]
        found = np.unique(steps[switching])
        several, number = np.unique(np.unique(turns, axis=1)[0], return_counts=True)
        counts = np.ones(len(found), dtype=np.int64)
        counts[np.searchsorted(found, several)] = number
        return found, counts

    @property
    def seconds(self) -> float:
        """Time of the last event since the recording began."""
        return float(self._raw["time_ns"][-1]) / 1e9 if len(self) else 0.0

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """When each buffer that was touched lived, and what it was."""
        raw = self._raw
        action = raw["action"][1]
        ids, index, inverse = np.unique(raw["object"], return_index=True, return_inverse=True)
        sizes = raw["bytes"].astype(np.int64)
        first, last = np.zeros(len(ids), dtype=np.int64), np.full(len(ids), len(self), dtype=np.int64)
        size, described = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.bool_)
        fresh, freed = described.copy(), described.copy()
        for name, what in (("exists", described), ("allocate", fresh), ("free", freed)):
            events = np.flatnonzero(action == _ACTIONS.index(name))
            what[inverse[events]] = True
            if name == "free":
                last[inverse[events]] = events + 1
                continue
            size[inverse[events]] = sizes[events]
            if name == "allocate":
                first[inverse[events]] = events
        unknown = np.flatnonzero(~(described | fresh)[inverse])
        np.maximum.at(size, inverse[unknown], sizes[unknown] + raw["offset"].astype(np.int64)[unknown])
        seconds = raw["time_ns"].astype(np.float64) / 1e9
        begin = np.where(fresh, seconds[first], 0.0) if len(ids) else seconds
        end, tag = seconds[last - 1], self._tags(index)
        return Lifetimes(ids, raw["class"][1][index], size, fresh, freed, first, last, begin, end, tag)

    def _tags(self, events: npt.NDArray[Any]) -> npt.NDArray[Any]:
        texts, numbers = self._raw["tag"]
        return np.array([_IDENTITY.sub("", each) for each in texts], dtype=object)[numbers[events]]

    def live_bytes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Per object class the live bytes at each event."""
        lives = self.lifetimes
        result = {}
        for number, name in enumerate(CLASSES):
            here = lives.cls == number
            change = np.zeros(len(self) + 1, dtype=np.int64)
            np.add.at(change, lives.first[here], lives.bytes[here])
            np.subtract.at(change, lives.last[here], lives.bytes[here])
            result[name] = np.cumsum(change)[:-1]
        return result

    @property
    def peak_bytes(self) -> int:
        """Largest sum of live bytes."""
        # Rows that contradict each other, such as a free before its allocation, can make sums negative.
        return max(0, int(sum(self.live_bytes().values()).max())) if len(self) else 0  # type: ignore[union-attr]

    def stats(self) -> dict[str, ClassStats]:
        """Counts, bytes, peaks and lifetimes per object class."""
        live = self.live_bytes()
        return {name: self._class_stats(number, live[name]) for number, name in enumerate(CLASSES)}

    def _class_stats(self, number: int, live: npt.NDArray[np.int64]) -> ClassStats:
        raw, lives = self._raw, self.lifetimes
        here, action = raw["class"][1] == number, raw["action"][1]
        of_class = lives.cls == number
        fresh = of_class & lives.fresh
        steps = raw["step"].astype(np.int64)
        spans, seconds = steps[lives.last[fresh] - 1] - steps[lives.first[fresh]], lives.seconds[fresh]
        return ClassStats(
            objects=int(fresh.sum()),
            existing=int((of_class & ~lives.fresh).sum()),
            allocated_bytes=int(lives.bytes[fresh].sum()),
            read_bytes=int(raw["bytes"][here & (action == _ACTIONS.index("read"))].sum()),
            written_bytes=int(raw["bytes"][here & (action == _ACTIONS.index("write"))].sum()),
            peak_bytes=int(live.max()) if len(self) else 0,
            median_lifetime=float(np.median(spans)) if len(spans) else 0.0,
            median_seconds=float(np.median(seconds)) if len(seconds) else 0.0,
        )

    def __len__(self) -> int:
        return len(self._core)

    def __program_identity__(self) -> Trace:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Trace], tuple[str]]:
        return Trace.from_csv, (self.to_csv(),)

    def __repr__(self) -> str:
        return f"Trace({len(self)} events, peak {_core.format_bytes(self.peak_bytes)})"


def _utf8(text: str | bytes, what: str) -> bytes:
    """A text as UTF-8 bytes, checked to be that."""
    if isinstance(text, str):
        return utf8_text(text, what).encode()
    data = byte_string(text, what)
    check_utf8(data, f"{what}: the trace")
    return data


def _unpacked(content: bytes, path: str | Path) -> bytes:
    """What an xz file holds. Raises CorruptData where it is damaged, cut off or too large.

    Refused as soon as the text exceeds its limit, which follows the size of the file.
    """
    limit = min(limits.TRACE, limits.TRACE_UNPACKED_BASE + limits.TRACE_UNPACKED_FACTOR * len(content))
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits.XZ_MEMORY)
        made = bytearray(unpacker.decompress(content, max_length=_PIECE))
        while not unpacker.eof and not unpacker.needs_input and len(made) <= limit:
            made += unpacker.decompress(b"", max_length=_PIECE)
    except lzma.LZMAError as error:
        raise CorruptData(f"Trace.load: '{path}' is a damaged xz file: {error}") from None
    if len(made) > limit:
        raise CorruptData(
            f"Trace.load: '{path}' holds more than {_core.format_bytes(limit)}, the most for an xz file of "
            f"{len(content)} bytes; unpack it with xz -d first if you trust it"
        )
    if not unpacker.eof or unpacker.unused_data:
        raise CorruptData(f"Trace.load: '{path}' is cut off, or has bytes after its end")
    return bytes(made)
