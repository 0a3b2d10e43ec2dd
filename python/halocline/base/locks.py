# SPDX-License-Identifier: Apache-2.0
"""Locks between processes, which the operating system releases when their holder ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from pathlib import Path
from types import TracebackType

from .errors import InvalidArgument, IoError
from .forks import renew_in_children

_MOST_DIGITS = 20
_CONTENT = re.compile(rb"([0-9]{1,%d}\n)?" % _MOST_DIGITS)
_ATTEMPTS = 100
"""A holder may remove the file between opening and locking it; more than so often is no coincidence."""


class FileLock:
    """Holds a lock while it is open: `with FileLock(path, "checkpoint 'kept'"):`.

    path: a file that is made for the lock, holds the process identifier of its holder, and is removed when
        the lock is given back. One that a killed process left locks nothing.
    what: what is locked, for messages.

    Raises InvalidArgument that names the holder where another process, or another object of this one, has the
    lock; IoError where the file cannot be made, or where there is another file of its name. A forked child
    does not hold the lock of its parent. File systems without locks lock nothing.
    """

    def __init__(self, path: str | Path, what: str) -> None:
        self._path, self._what = os.fspath(path), what
        self._handle: int | None = None
        try:
            taken = any(self._take() for _ in range(_ATTEMPTS))
        except OSError as error:
            if isinstance(error, IoError):
                raise
            raise IoError(f"{what}: cannot write '{self._path}', its lock: {error.strerror}") from None
        if not taken:
            raise IoError(
                f"{what}: cannot lock '{self._path}': the file changes all the time; name a place on another "
                "file system"
            )
        renew_in_children(self)

    def _take(self) -> bool:
        """Whether the lock is held; False where its holder removed the file meanwhile."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(self._path, flags, 0o600)
        try:
            taken = self._lock(handle)
        except BaseException:
            os.close(handle)
            raise
        if taken:
            self._handle = handle
        else:
            os.close(handle)
        return taken

    def _lock(self, handle: int) -> bool:
        """Locks an open file and writes the holder into it; whether it still has its name."""
        self._expect_lock_file(handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, _MOST_DIGITS, 0).decode(errors="replace").strip()
            raise InvalidArgument(
                f"{self._what}: in use by {_named(holder)}; wait for it to end, or name another place"
            ) from None
        except OSError:
            return True  # a file system without locks
        if not _is_same(handle, self._path):
            return False
        self._expect_lock_file(handle)
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            raise
        return True

    def _expect_lock_file(self, handle: int) -> None:
        """Raises IoError for a file of others: a lock is overwritten and removed."""
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        if not regular or _CONTENT.fullmatch(os.pread(handle, _MOST_DIGITS + 2, 0)) is None:
            raise IoError(
                f"{self._what}: cannot write '{self._path}', its lock: there is something else of that name; "
                "move it away, or name another place"
            )

    def close(self) -> None:
        """Gives the lock back and removes its file. May be called again."""
        if self._handle is None:
            return
        with contextlib.suppress(OSError):
            if _is_same(self._handle, self._path):
                os.unlink(self._path)  # while it is locked: a process that waits opens a new one
        os.close(self._handle)
        self._handle = None

    def _renew_locks(self) -> None:
        """In a forked child: the lock is the parent's, and ends with it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


def _named(holder: str) -> str:
    if holder == str(os.getpid()):
        return f"another run in this process ({holder})"
    return f"process {holder}" if holder.isdigit() else "another process"


def _is_same(handle: int, path: str) -> bool:
    """Whether an open file is the one that a path names now."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino)
