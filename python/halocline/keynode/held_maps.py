# SPDX-License-Identifier: Apache-2.0
"""Weights that engines uploaded, named by their digests."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..base.errors import CorruptData, OutOfMemory
from ..remote.maps import Circuit, digest_of, from_bytes


class HeldMaps:
    """Circuits within a limit of bytes, as they came; the least recently used one goes first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Circuit, int]] = OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, name: str, data: bytes) -> None:
        """Keeps a map. Raises CorruptData for another digest, OutOfMemory above the limit."""
        if digest_of(data) != name:
            raise CorruptData("key node: a map whose digest is not its name")
        if len(data) > self._limit:
            raise OutOfMemory(
                f"key node: a map of {len(data)} bytes, expected at most {self._limit}; see --map-memory"
            )
        circuit = from_bytes(data)
        with self._lock:
            self._drop(name)
            while self.nbytes + len(data) > self._limit:
                self._drop(next(iter(self._kept)))
            self._kept[name] = circuit, len(data)
            self.nbytes += len(data)

    def get(self, name: str) -> Circuit | None:
        """The circuit, or None."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                return None
            self._kept.move_to_end(name)
            return found[0]

    def _drop(self, name: str) -> None:
        found = self._kept.pop(name, None)
        if found is not None:
            self.nbytes -= found[1]
