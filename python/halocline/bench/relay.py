# SPDX-License-Identifier: Apache-2.0
"""A link of limited rate on loopback: passes TCP connections on, and counts their bytes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

_PIECE = 1 << 16


class Bucket:
    """A token bucket: so many bytes a second, of which those of `burst` seconds may come at once."""

    def __init__(self, bytes_per_second: float, burst: float) -> None:
        self._rate, self._burst = bytes_per_second, burst
        self._free_at = time.monotonic()
        self._lock = threading.Lock()

    def take(self, count: int) -> None:
        """Returns when so many bytes may pass."""
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now - self._burst) + count / self._rate
            wait = self._free_at - now
        if wait > 0:
            time.sleep(wait)


class Relay:
    """`with Relay(port, rate) as link:` connections to `link.port` go on to `port` of this machine.

    bytes_per_second: in either direction, of all connections together; None is not limited. burst: seconds
        of it that may pass at once after a silence, which also make up for sleeps that last too long.
    """

    def __init__(self, port: int, bytes_per_second: float | None = None, burst: float = 0.05) -> None:
        self._target, rate = port, bytes_per_second
        self._buckets = [None if rate is None else Bucket(rate, burst) for _ in range(2)]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.sent = 0
        """Bytes that passed towards the target."""
        self.received = 0
        """Bytes that passed back."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        # Small buffers: what waits before the link waits in its sender.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PIECE)
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, name="relay", daemon=True)
        self._thread.start()

    @property
    def moved(self) -> int:
        """Bytes in both directions."""
        return self.sent + self.received

    def cut(self) -> None:
        """Ends all connections; new ones are passed on as before."""
        with self._lock:
            ends, self._open = list(self._open), set()
        for each in ends:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def close(self) -> None:
        """Ends the link."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near = self._socket.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 10)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            for each in (near, far):  # no waiting for acknowledgements: the rate alone slows
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {near, far}
            for source, target, direction in ((near, far, 0), (far, near, 1)):
                threading.Thread(target=self._pass, args=(source, target, direction), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, direction: int) -> None:
        bucket = self._buckets[direction]
        with contextlib.suppress(OSError):
            while piece := source.recv(_PIECE):
                if bucket is not None:
                    bucket.take(len(piece))
                with self._lock:  # before they arrive: what was received is counted
                    if direction == 0:
                        self.sent += len(piece)
                    else:
                        self.received += len(piece)
                target.sendall(piece)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
