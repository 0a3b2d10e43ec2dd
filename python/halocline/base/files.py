# SPDX-License-Identifier: Apache-2.0
"""The one writer and the one reader of files: those of the C++ library (`io/atomic_file`, `io/file_map`).

The name "-" is standard output for whatever is written and standard input for whatever is read; "./-" is a
file of that name.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import stat
import sys
from collections.abc import Callable
from typing import IO, Any, TypeVar

from .. import _core
from . import limits
from .errors import CorruptData, InvalidArgument, IoError
from .values import byte_string, path_text

STANDARD = "-"
"""Standard output, or standard input."""

Path = str | os.PathLike[str]
LoadedT = TypeVar("LoadedT")

SHARED = _core.FilePrivacy.SHARED
"""A new file follows the umask."""
OWNER = _core.FilePrivacy.OWNER
"""A new file can be read by its owner only (0600); a file that is replaced keeps its permission bits."""

NO_LIMIT = (1 << 64) - 1
"""For the first bytes of a file of any size."""

_PIECE = 1 << 20


def is_standard(path: Path | None) -> bool:
    """Whether a path stands for standard output or input."""
    return path is not None and os.fspath(path) in (STANDARD, STANDARD.encode())


def write_file(path: Path, content: bytes, privacy: _core.FilePrivacy = SHARED) -> None:
    """Writes a file so that its name shows the old content or the whole new content, never a part.

    A file that is there keeps its permission bits, a new one gets those of `privacy`. Symbolic links are
    followed, dangling ones to the file that they name. The folder must be writable even where the file itself
    is, because the content goes to a new file that takes the name of the old one.

    Raises IoError, and keeps the old file, for anything but regular files (devices, pipes, sockets, folders,
    names of open descriptors such as /dev/stdout), a full disk, a missing folder.
    """
    name = path_text(path, "write")
    if is_standard(name):
        _write_standard(byte_string(content, "write"))
    else:
        _core.write_file(name, byte_string(content, "write"), privacy)


def save_object(path: Path, what: str, save: Callable[[str], None], to_bytes: Callable[[], bytes]) -> None:
    """Writes an object with `save`, which streams it to a file, or its bytes to standard output."""
    name = path_text(path, what)
    if is_standard(name):
        _write_standard(to_bytes())
    else:
        save(name)


def load_object(
    path: Path, what: str, from_file: Callable[[str], LoadedT], from_bytes: Callable[[bytes], LoadedT]
) -> LoadedT:
    """What `from_file` makes of a container file, or `from_bytes` of a container on standard input."""
    name = path_text(path, what)
    if is_standard(name):
        return from_bytes(read_file(name, what, limits.CONTAINER_STREAM))
    return from_file(name)


def file_only(path: Path, what: str) -> str:
    """A path as text; InvalidArgument for standard output, where `what` cannot go."""
    name = path_text(path, what)
    if is_standard(name):
        raise InvalidArgument(f"{what}: '-' is standard output, which cannot take this; name a file")
    return name


def _write_standard(content: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except AttributeError:
        raise IoError("write: standard output takes no bytes here; name a file") from None
    except (OSError, ValueError) as error:
        raise IoError(f"cannot write standard output: {error}") from None


def read_file(path: Path, what: str, limit: int, count: int | None = None) -> bytes:
    """A regular file of at most `limit` bytes, or its first `count` bytes; "-" is standard input.

    Raises IoError for what cannot be read and, at once, for devices, pipes, sockets and folders; CorruptData
    for files that are too large, before anything is allocated.
    """
    name = path_text(path, what)
    if is_standard(name):
        return _read_standard(what, limit)
    try:
        return _core.read_file(name, limit, count)
    except (IoError, CorruptData) as error:
        raise type(error)(f"{what}: {error}") from None


def _read_standard(what: str, limit: int) -> bytes:
    """Standard input, piece by piece, so that memory follows what arrives."""
    made = bytearray()
    try:
        while piece := sys.stdin.buffer.read(min(_PIECE, limit + 1 - len(made))):
            made += piece
    except AttributeError:
        raise IoError(f"{what}: standard input gives no bytes here; name a file") from None
    except (OSError, ValueError) as error:
        raise IoError(f"{what}: cannot read standard input: {error}") from None
    if len(made) > limit:
        raise CorruptData(f"{what}: standard input has more than {limit} bytes, the most for its kind")
    return bytes(made)


def open_regular(path: Path, what: str) -> IO[bytes]:
    """A regular file, opened for readers that take a file; others are refused at once, as by `read_file`."""
    name = path_text(path, what)
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise IoError(f"{what}: cannot read '{name}': it is not a regular file")
    except OSError as error:
        if isinstance(error, IoError):
            raise
        raise IoError(f"{what}: cannot read '{name}': {error.strerror}") from None
    return os.fdopen(handle, "rb")


def read_text(path: Path, what: str, limit: int) -> str:
    """A UTF-8 file as text; see `read_file`. Raises CorruptData for other bytes."""
    data = read_file(path, what, limit)
    check_utf8(data, f"{what}: '{os.fspath(path)}'")
    return data.decode()


def check_utf8(data: bytes, what: str) -> None:
    """CorruptData unless the bytes are UTF-8, without a second copy of them."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _PIECE):
        try:
            decoder.decode(data[start : start + _PIECE], start + _PIECE >= len(data))
        except UnicodeDecodeError as error:
            raise CorruptData(
                f"{what} is no UTF-8 text ({error.reason} near byte {start + error.start})"
            ) from None


def parse_json(text: str | bytes, what: str) -> Any:
    """JSON as Python objects.

    Raises CorruptData for what is none, for names that occur twice, NaN, numbers beyond the range of floats,
    integers of more than 4300 digits and values nested too deeply.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                raise ValueError(f"key {key[:40]!r} occurs twice")
            made[key] = value
        return made

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no finite number")

    def finite(digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            raise ValueError(f"{digits[:40]} is no finite number")
        return number

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise CorruptData(f"{what}: no valid JSON ({str(error)[:200]})") from None
