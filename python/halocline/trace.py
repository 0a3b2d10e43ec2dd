# SPDX-License-Identifier: Apache-2.0
"""Traces: what happened, or would happen, to every buffer of a program."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._values import expect, path_text
from .errors import IoError

CLASSES = ("evaluation_key", "plaintext", "ciphertext", "scratch", "table")
"""Object classes in the order of reports."""


@dataclasses.dataclass(frozen=True)
class ClassStats:
    """What a trace says about one object class."""

    objects: int
    """Buffers allocated while it was recorded."""
    allocated_bytes: int
    """Sum of their sizes."""
    read_bytes: int
    """Bytes that steps read."""
    written_bytes: int
    """Bytes that steps wrote."""
    peak_bytes: int
    """Largest sum of live bytes of the class."""
    median_lifetime: float
    """Steps between allocation and free; to the end for what was never freed."""


@dataclasses.dataclass
class _Life:
    """A buffer between two events; it is live in events begin <= e < end."""

    cls: str
    bytes: int
    begin: int
    end: int
    fresh: bool
    """Whether it was allocated while the trace was recorded."""


class Trace:
    """A recorded sequence of events: one row per allocate, free, read and write.

    Buffers that were there before the recording began count as live from the start, once they are touched.
    """

    def __init__(self, core: _core.Trace) -> None:
        self._core = expect(core, _core.Trace, "Trace", "use engine.record() or Trace.load(path)")

    @classmethod
    def empty(cls) -> Trace:
        """A trace without events, which a recording fills."""
        return cls(_core.Trace())

    def _fill(self, core: _core.Trace) -> None:
        self._core = core
        self.__dict__.pop("columns", None)

    def to_csv(self) -> str:
        """step,op,action,object,class,bytes,offset,stream,time_ns,tag: this line, then a row per event."""
        return self._core.to_csv()

    @classmethod
    def from_csv(cls, text: str) -> Trace:
        """A trace from `to_csv`. Raises CorruptData naming the line that is malformed."""
        return cls(_core.Trace.from_csv(expect(text, str, "Trace.from_csv")))

    def save(self, path: str | Path) -> None:
        """Writes CSV to a file: as a whole or not at all."""
        write_atomically(path, self.to_csv().encode())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """A trace from a CSV file."""
        try:
            text = Path(path_text(path, "Trace.load")).read_text(errors="replace")
        except OSError as error:
            raise IoError(f"Trace.load: cannot read '{path}': {error.strerror}") from None
        return cls.from_csv(text)

    @cached_property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The events as arrays; op, tag, action and class are arrays of text."""
        raw = self._core.columns()
        return {
            name: np.array(value[0], dtype=object)[value[1]] if isinstance(value, tuple) else value
            for name, value in raw.items()
        }

    def _lives(self) -> list[_Life]:
        """One life for every buffer that was touched."""
        c = self.columns
        names = ("object", "action", "class", "bytes", "offset")
        lives: dict[int, _Life] = {}
        for event, (buffer, action, cls, size, offset) in enumerate(
            zip(*(c[name].tolist() for name in names), strict=True)
        ):
            if action == "allocate":
                lives[buffer] = _Life(cls, size, event, len(self), True)
                continue
            life = lives.setdefault(buffer, _Life(cls, 0, 0, len(self), False))
            if not life.fresh:
                life.bytes = max(life.bytes, size + offset)
            if action == "free":
                life.end = event + 1
        return list(lives.values())

    def live_bytes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Per object class the live bytes after each event."""
        changes = {name: np.zeros(len(self) + 1, dtype=np.int64) for name in CLASSES}
        for life in self._lives():
            changes[life.cls][life.begin] += life.bytes
            changes[life.cls][life.end] -= life.bytes
        return {name: np.cumsum(change)[:-1] for name, change in changes.items()}

    @property
    def peak_bytes(self) -> int:
        """Largest sum of live bytes."""
        return int(sum(self.live_bytes().values()).max()) if len(self) else 0  # type: ignore[union-attr]

    def stats(self) -> dict[str, ClassStats]:
        """Counts, bytes, peaks and lifetimes per object class."""
        live, lives = self.live_bytes(), self._lives()
        return {name: self._class_stats(name, live[name], lives) for name in CLASSES}

    def _class_stats(self, name: str, live: npt.NDArray[np.int64], lives: list[_Life]) -> ClassStats:
        c = self.columns
        here = c["class"] == name
        fresh = [each for each in lives if each.cls == name and each.fresh]
        steps = c["step"].astype(np.int64)
        spans = [int(steps[min(each.end, len(self) - 1)] - steps[each.begin]) for each in fresh]
        return ClassStats(
            objects=len(fresh),
            allocated_bytes=sum(each.bytes for each in fresh),
            read_bytes=int(c["bytes"][here & (c["action"] == "read")].sum()),
            written_bytes=int(c["bytes"][here & (c["action"] == "write")].sum()),
            peak_bytes=int(live.max()) if len(self) else 0,
            median_lifetime=float(np.median(spans)) if spans else 0.0,
        )

    def __len__(self) -> int:
        return len(self._core)

    def __reduce__(self) -> tuple[Callable[[str], Trace], tuple[str]]:
        return Trace.from_csv, (self.to_csv(),)

    def __repr__(self) -> str:
        return f"Trace({len(self)} events, peak {_core.format_bytes(self.peak_bytes)})"


def write_atomically(path: str | Path, content: bytes, mode: int | None = None) -> None:
    """Writes a file so that its name shows the old content or the whole new content, never a part.

    `mode` sets the permission bits. Raises IoError and keeps the old file when the disk is full.
    """
    target = Path(path_text(path, "write"))
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            if mode is None:
                mask = os.umask(0)
                os.umask(mask)
                mode = 0o666 & ~mask
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise IoError(f"cannot write '{target}': {error.strerror}; an old file was kept") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
