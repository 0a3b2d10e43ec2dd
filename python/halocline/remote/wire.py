# SPDX-License-Identifier: Apache-2.0
"""Frames between engines and key nodes, and the channel that carries them.

docs/concepts/key_nodes.md has the format. A frame is a head of 64 bytes and a payload; every length is
checked before memory is taken, and memory grows with the bytes that arrive, not with those announced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import hashlib
import json
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..base import limits
from ..base.errors import CorruptData, IoError
from ..base.files import parse_json

MAGIC = b"HLKN"
VERSION = 2
_HEAD = struct.Struct("<4sHHQIIQ")  # magic, version, kind, request, deadline, reserved, length
_DIGEST = 32
HEAD_BYTES = _HEAD.size + _DIGEST
_META = struct.Struct("<I")
MOST_BLOBS = 1 << 16
MOST_DEADLINE = 3600.0
"""Seconds; a longer deadline is refused."""
_PIECE = 1 << 18
"""Bytes that are read or written at once."""
_LINGER = 1 << 12
_TICK = 0.05
"""Seconds after which a waiting side looks whether to give up."""

assert HEAD_BYTES == 64


class Kind(enum.IntEnum):
    """What a frame says: below 64 from the engine, from 64 on from the node."""

    HELLO = 1
    MAP = 2
    CALL = 3
    CANCEL = 4
    STATUS = 5
    WELCOME = 65
    RESULT = 66
    ERROR = 67


MOST_BYTES = {
    Kind.HELLO: limits.KEY_NODE_HELLO,
    Kind.MAP: limits.KEY_NODE_MESSAGE,
    Kind.CALL: limits.KEY_NODE_MESSAGE,
    Kind.CANCEL: 0,
    Kind.STATUS: 0,
    Kind.WELCOME: limits.KEY_NODE_META,
    Kind.RESULT: limits.KEY_NODE_MESSAGE,
    Kind.ERROR: limits.KEY_NODE_META,
}
"""Largest payload of each kind."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """One message."""

    kind: Kind
    request: int
    """Chosen by the engine; answers repeat it."""
    payload: bytes = b""
    seconds: float = 0.0
    """Until the sender gives up, from when it sent the frame; 0 in answers."""

    def head(self) -> bytes:
        """The 64 bytes before the payload."""
        deadline = min(0xFFFFFFFF, max(0, round(self.seconds * 1000)))
        start = _HEAD.pack(MAGIC, VERSION, self.kind, self.request, deadline, 0, len(self.payload))
        return start + _digest(start, self.payload)

    def to_bytes(self) -> bytes:
        """Head and payload."""
        return self.head() + self.payload


@dataclasses.dataclass(frozen=True)
class Head:
    """The first 64 bytes of a frame, checked."""

    kind: Kind
    request: int
    seconds: float
    length: int
    start: bytes
    digest: bytes

    def frame(self, payload: bytes) -> Frame:
        """The frame with its payload. Raises CorruptData where the digest does not fit."""
        if _digest(self.start, payload) != self.digest:
            raise CorruptData(f"key node: a {self.kind.name} frame whose digest does not match its contents")
        return Frame(self.kind, self.request, payload, self.seconds)


def _digest(start: bytes, payload: bytes) -> bytes:
    state = hashlib.blake2b(start, digest_size=_DIGEST, person=b"halocline frame")
    state.update(payload)
    return state.digest()


def parse_head(data: bytes, expected: frozenset[Kind]) -> Head:
    """The head of a frame of one of these kinds.

    Raises CorruptData for other bytes, kinds, versions, deadlines above `MOST_DEADLINE` and lengths above
    `MOST_BYTES`.
    """
    if len(data) != HEAD_BYTES:
        raise CorruptData(f"key node: {len(data)} bytes of a frame's head, expected {HEAD_BYTES}")
    magic, version, number, request, deadline, reserved, length = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise CorruptData("key node: no frame of a key node; is the address that of another service?")
    if version != VERSION:
        raise CorruptData(f"key node: a frame of version {version}, expected {VERSION}; use equal releases")
    known = {int(each) for each in expected}
    if number not in known:
        names = ", ".join(sorted(each.name for each in expected))
        raise CorruptData(f"key node: a frame of kind {number}, expected one of: {names}")
    kind = Kind(number)
    if reserved != 0 or deadline > MOST_DEADLINE * 1000:
        raise CorruptData(
            f"key node: a {kind.name} frame with a deadline of {deadline} ms and {reserved} in its reserved "
            f"field; expected at most {MOST_DEADLINE:.0f} s, and 0"
        )
    if length > MOST_BYTES[kind]:
        raise CorruptData(
            f"key node: a {kind.name} frame of {length} bytes, expected at most {MOST_BYTES[kind]}"
        )
    return Head(kind, request, deadline / 1000, length, data[: _HEAD.size], data[_HEAD.size :])


def pack(meta: dict[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """A payload: a JSON object, and byte strings behind it."""
    text = json.dumps(meta | {"blobs": [len(each) for each in blobs]}, allow_nan=False).encode()
    if len(text) > limits.KEY_NODE_META:
        raise IoError(
            f"key node: {len(text)} bytes describe a request, expected at most {limits.KEY_NODE_META}"
        )
    return b"".join([_META.pack(len(text)), text, *blobs])


def unpack(payload: bytes, what: str) -> tuple[dict[str, Any], list[bytes]]:
    """The parts of a payload. Raises CorruptData unless all lengths fit exactly."""
    if len(payload) < _META.size:
        raise CorruptData(f"{what}: {len(payload)} bytes, expected a description")
    (length,) = _META.unpack_from(payload)
    end = _META.size + length
    if length > limits.KEY_NODE_META or end > len(payload):
        raise CorruptData(f"{what}: a description of {length} bytes in a payload of {len(payload)}")
    meta = parse_json(payload[_META.size : end], what)
    sizes = meta.get("blobs") if isinstance(meta, dict) else None
    if not isinstance(sizes, list) or len(sizes) > MOST_BLOBS:
        raise CorruptData(f"{what}: no list of at most {MOST_BLOBS} sizes")
    if any(type(each) is not int or each < 0 for each in sizes) or end + sum(sizes) != len(payload):
        raise CorruptData(f"{what}: the sizes of its parts do not add up to its length")
    blobs = []
    for size in sizes:
        blobs.append(payload[end : end + size])
        end += size
    return meta, blobs


def remaining(until: float) -> float:
    """Seconds until a time of `time.monotonic`. Raises IoError when it is over."""
    left = until - time.monotonic()
    if left <= 0:
        raise IoError("key node: the deadline has passed")
    return left


class Channel:
    """A connected socket, plain or TLS, that carries frames. One thread reads; any number may write.

    The socket does not block, and one lock is held for each call of it: TLS objects are not safe to be read
    and written at once.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._sock = sock
        self._calls, self._frames = threading.Lock(), threading.Lock()
        self.sent = 0
        """Bytes of frames sent so far."""
        self.received = 0
        """Bytes of frames received so far."""

    def close(self) -> None:
        """Closes it; what waits in it raises IoError. May be called again."""
        with self._calls:
            self._sock.close()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._sock.fileno() < 0

    def handshake(self, until: float) -> None:
        """Of TLS, on a socket that was wrapped without one."""
        if isinstance(self._sock, ssl.SSLSocket):
            self._try(self._sock.do_handshake, select.POLLIN, until, None)

    def linger(self, seconds: float, most_bytes: int) -> None:
        """Says that nothing more comes, and drops what the other side still sends, up to a limit.

        Closing at once, with bytes unread, would make the other side's system drop the last answer.
        """
        if isinstance(self._sock, ssl.SSLSocket):
            return  # has no end of its own for one direction; what was sent is read by then, or lost
        until = time.monotonic() + seconds
        with contextlib.suppress(IoError, OSError, ValueError):
            self._sock.shutdown(socket.SHUT_WR)
            for _ in range(most_bytes // _LINGER):
                self._read(_LINGER, until, None)

    def send(self, frame: Frame, until: float, give_up: Callable[[], None] | None = None) -> None:
        """Sends a frame as a whole. Raises IoError when the connection ends, or the time is over.

        Behind an error, the other side may have a part of the frame: close the channel.
        """
        if not self._frames.acquire(timeout=max(0.0, remaining(until))):
            raise IoError("key node: the deadline has passed")
        try:
            for part in (frame.head(), frame.payload):
                view = memoryview(part)
                while view:
                    piece = view[:_PIECE]
                    count = self._try(
                        functools.partial(self._sock.send, piece), select.POLLOUT, until, give_up
                    )
                    self.sent += count
                    view = view[count:]
        finally:
            self._frames.release()

    def receive(
        self,
        expected: frozenset[Kind],
        idle_until: float,
        *,
        head_seconds: float | None = None,
        admit: Callable[[Head], float] | None = None,
        give_up: Callable[[], None] | None = None,
    ) -> Frame:
        """The next frame.

        idle_until: when to stop waiting for its first byte, and for the rest unless the others say when.
        head_seconds: for the rest of its head. admit: called with the head; refuses the payload by raising,
        and returns until when it must be there. give_up: called while waiting; raises to end it.

        Raises IoError when the connection ends or the time is over, CorruptData for anything but a frame of
        the expected kinds.
        """
        first = self._read(1, idle_until, give_up)
        until = idle_until if head_seconds is None else time.monotonic() + head_seconds
        head = parse_head(first + self._read(HEAD_BYTES - 1, until, give_up), expected)
        until = until if admit is None else admit(head)
        return head.frame(self._read(head.length, until, give_up))

    def _read(self, count: int, until: float, give_up: Callable[[], None] | None) -> bytes:
        """Exactly so many bytes."""
        buffer = bytearray()
        while len(buffer) < count:
            size = min(_PIECE, count - len(buffer))
            piece = self._try(functools.partial(self._sock.recv, size), select.POLLIN, until, give_up)
            if not piece:
                raise IoError("key node: the connection was closed by the other side")
            self.received += len(piece)
            buffer += piece
        return bytes(buffer)

    def _try(
        self, call: Callable[[], Any], events: int, until: float, give_up: Callable[[], None] | None
    ) -> Any:
        """The result of a call of the socket, as soon as it has one; `events` are what it waits for."""
        while True:
            waits = events
            try:
                with self._calls:
                    return call()
            except ssl.SSLWantReadError:
                waits = select.POLLIN
            except ssl.SSLWantWriteError:
                waits = select.POLLOUT
            except BlockingIOError:
                pass
            except (OSError, ValueError) as error:
                raise IoError(f"key node: the connection failed: {error}") from None
            self._wait(waits, until, give_up)

    def _wait(self, events: int, until: float, give_up: Callable[[], None] | None) -> None:
        if give_up is not None:
            give_up()
        left = remaining(until)
        poll = select.poll()
        try:
            poll.register(self._sock, events)
        except (OSError, ValueError):
            raise IoError("key node: the connection was closed") from None
        poll.poll(1000 * min(left, _TICK if give_up is not None else 1.0))
