# SPDX-License-Identifier: Apache-2.0
"""Keys of clients on a server: the bytes that were sent, and the expanded keys of those that ask now."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Protocol

from ..base.errors import InvalidArgument, MissingKey
from ..base.forks import renew_in_children


class Expanded(Protocol):
    """Keys in the memory of a device."""

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""


class KeyCache:
    """Two caches, both of least-recently-used order; thread-safe.

    expand: makes expanded keys of the bytes that were sent.
    host_limit: bytes of all that was sent; the client that asked longest ago is removed for a new one.
    device_limit: bytes of all expanded keys. Those of a batch at work are not counted twice, nor freed.
    expiry: seconds after which a client that asked nothing is removed; None: never.
    """

    def __init__(
        self,
        expand: Callable[[bytes], Expanded],
        host_limit: int,
        device_limit: int,
        expiry: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._expand, self._clock = expand, clock
        self._host_limit, self._device_limit, self._expiry = host_limit, device_limit, expiry
        self._sent: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()
        self._expanded: OrderedDict[bytes, Expanded] = OrderedDict()
        self._sent_bytes = 0
        self.counts: Counter[str] = Counter()
        self._renew_locks()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()

    def add(self, client: bytes, message: bytes, replace: bool = False) -> None:
        """Keeps keys. Raises InvalidArgument where the client has others here, unless these are replaced."""
        with self._lock:
            self._expire()
            if client in self._sent and not replace and self._sent[client][0] != message:
                raise InvalidArgument(
                    f"pir.Server.add_client: other keys of client {client.hex()} are here; identifiers are "
                    "public, so make sure that these come from that client, and say replace=True"
                )
            if len(message) > self._host_limit:
                raise InvalidArgument(
                    f"pir.Server.add_client: keys of {len(message)} bytes; the server keeps at most "
                    f"{self._host_limit} (key_host_memory=)"
                )
            self._forget(client)
            while self._sent_bytes + len(message) > self._host_limit:
                self._forget(next(iter(self._sent)))
                self.counts["removals"] += 1
            self._sent[client] = (message, self._clock())
            self._sent_bytes += len(message)

    def remove(self, client: bytes) -> bool:
        """Removes a client; whether it was there."""
        with self._lock:
            there = self._forget(client)
            self.counts["removals"] += there
            return there

    def expect(self, client: bytes) -> None:
        """Marks a client as used now. Raises MissingKey for one whose keys are not here."""
        with self._lock:
            self._expire()
            self._touch(client)

    def get(self, client: bytes) -> Expanded:
        """Expanded keys of a client. Raises MissingKey."""
        with self._lock:
            message = self._touch(client)
            found = self._expanded.get(client)
            if found is not None:
                self.counts["hits"] += 1
                self._expanded.move_to_end(client)
                return found
            self.counts["misses"] += 1
        made = self._expand(message)  # the lock is free meanwhile: uploads do not wait for the device
        with self._lock:
            if client in self._sent and self._sent[client][0] is message:
                self._expanded[client] = made
                self._shrink(self._device_limit, client)
        return made

    def drop_expanded(self, keep: set[bytes]) -> bool:
        """Frees expanded keys of all clients but some; whether there were any."""
        with self._lock:
            others = [each for each in self._expanded if each not in keep]
            for each in others:
                del self._expanded[each]
            self.counts["evictions"] += len(others)
            return bool(others)

    def clear(self) -> None:
        """Removes everything."""
        with self._lock:
            self._sent.clear()
            self._expanded.clear()
            self._sent_bytes = 0

    def sizes(self) -> dict[str, int]:
        """Clients and bytes now."""
        with self._lock:
            self._expire()
            held = sum(each.nbytes for each in self._expanded.values())
            return {
                "clients": len(self._sent),
                "uploaded_bytes": self._sent_bytes,
                "expanded_clients": len(self._expanded),
                "expanded_bytes": held,
            }

    def _touch(self, client: bytes) -> bytes:
        if client not in self._sent:
            raise MissingKey(
                f"pir.Server: the keys of client {client.hex()} are not here: they were never sent, have not "
                "been used for too long, or made room for others; send client.server_keys() with add_client"
            )
        message = self._sent[client][0]
        self._sent[client] = (message, self._clock())
        self._sent.move_to_end(client)
        return message

    def _forget(self, client: bytes) -> bool:
        self._expanded.pop(client, None)
        found = self._sent.pop(client, None)
        if found is not None:
            self._sent_bytes -= len(found[0])
        return found is not None

    def _expire(self) -> None:
        if self._expiry is None:
            return
        limit = self._clock() - self._expiry
        while self._sent and next(iter(self._sent.values()))[1] < limit:
            self._forget(next(iter(self._sent)))
            self.counts["expiries"] += 1

    def _shrink(self, limit: int, keep: bytes) -> None:
        held = sum(each.nbytes for each in self._expanded.values())
        while held > limit and next(iter(self._expanded)) != keep:
            _, gone = self._expanded.popitem(last=False)
            held -= gone.nbytes
            self.counts["evictions"] += 1
