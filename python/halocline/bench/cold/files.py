# SPDX-License-Identifier: Apache-2.0
"""How fast the files of a folder can be read, with several requests at once and nothing else to do."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_PART = 8 << 20


def drop_cached(folder: Path) -> None:
    """Asks the system to forget what it has cached of the files."""
    for path in _files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_seconds(folder: Path, requests: int) -> tuple[int, float]:
    """Bytes of the largest file, and the seconds to read it in parts, so many at once."""
    path = max(_files(folder), key=lambda each: each.stat().st_size)
    size = path.stat().st_size
    descriptor = os.open(path, os.O_RDONLY)

    def read(offset: int) -> int:
        return os.preadv(descriptor, [bytearray(min(_PART, size - offset))], offset)

    try:
        with ThreadPoolExecutor(requests) as threads:
            begin = time.perf_counter()
            done = sum(threads.map(read, range(0, size, _PART)))
            return done, time.perf_counter() - begin
    finally:
        os.close(descriptor)


def _files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]
