# SPDX-License-Identifier: Apache-2.0
"""One connection of a key node: who speaks, what is asked, and that all of it ends with the connection."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

from ..base.errors import Cancelled, CorruptData, Error, InvalidArgument, IoError, OutOfMemory
from ..base.limits import KEY_NODE_MESSAGE
from ..remote.address import token_is_known
from ..remote.node import UNKNOWN_MAP
from ..remote.wire import Channel, Frame, Head, Kind, pack, unpack
from .held_maps import HeldMaps
from .jobs import Answer, Job, Jobs
from .work import Call, UnknownMap, Worker

HEAD_SECONDS = 10.0
"""For the rest of a frame's head behind its first byte, for TLS and for the first message."""
IDLE_SECONDS = 600.0
"""That a connection may be silent between requests."""
LINGER_SECONDS = 2.0
LINGER_BYTES = 1 << 20
"""That a client may still send after it was refused."""
MOST_WAITING = 16
"""Requests of one connection that wait or compute at once."""
_MOST_MESSAGE = 2000
_REQUESTS = frozenset({Kind.MAP, Kind.CALL, Kind.CANCEL, Kind.STATUS})


@dataclasses.dataclass(frozen=True)
class Shared:
    """What all connections of a node use."""

    worker: Worker
    maps: HeldMaps
    jobs: Jobs
    tokens: Sequence[str]
    deadline: float
    instance: str

    def status(self) -> dict[str, Any]:
        """What the node says of itself."""
        users = self.worker.users
        return {
            "users": len(users),
            "key_bytes": users.key_bytes,
            "maps": len(self.maps),
            "map_bytes": self.maps.nbytes,
            "waiting": self.jobs.count,
            "finished": self.jobs.finished,
            "instance": self.instance,
        }


class Session:
    """Reads requests in the calling thread; answers leave from a thread of their own."""

    def __init__(self, channel: Channel, shared: Shared) -> None:
        self._channel, self._shared = channel, shared
        self._jobs: dict[int, Job] = {}
        self._lock = threading.Lock()
        self._outbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._unsent = 0

    def run(self) -> None:
        """Until the connection ends, or says what no client says; then its requests are given up."""
        writer = threading.Thread(target=self._write, name="keynode answers", daemon=True)
        writer.start()
        refused = False
        try:
            self._channel.handshake(time.monotonic() + HEAD_SECONDS)
            self._greet()
            while True:
                self._serve(self._receive())
        except IoError:
            pass  # the other side ended, or was silent for too long
        except Error as error:
            self._post(_refusal(0, error))
            refused = True
        finally:
            with self._lock:
                left, self._jobs = list(self._jobs.values()), {}
            for job in left:
                job.answer(None)
            self._outbox.put(None)
            writer.join()
            if refused:
                self._channel.linger(LINGER_SECONDS, LINGER_BYTES)
            self._channel.close()

    def _greet(self) -> None:
        """The first message must bring a token, where there are any."""
        frame = self._channel.receive(frozenset({Kind.HELLO}), time.monotonic() + HEAD_SECONDS)
        meta, _ = unpack(frame.payload, "key node: hello")
        if self._shared.tokens and not token_is_known(meta.get("token"), self._shared.tokens):
            raise InvalidArgument(
                "key node: the token is missing or wrong; give token_file=, or set HALOCLINE_KEYNODE_TOKEN"
            )
        self._post(Frame(Kind.WELCOME, frame.request, pack({"instance": self._shared.instance})))

    def _receive(self) -> Frame:
        reserved = [0]

        def admit(head: Head) -> float:
            if head.kind in (Kind.CALL, Kind.MAP):
                self._shared.jobs.reserve(head.length)
                reserved[0] = head.length
            return time.monotonic() + (min(head.seconds, self._shared.deadline) or HEAD_SECONDS)

        try:
            until = time.monotonic() + IDLE_SECONDS
            return self._channel.receive(_REQUESTS, until, head_seconds=HEAD_SECONDS, admit=admit)
        except BaseException:
            self._shared.jobs.release(reserved[0])
            raise

    def _serve(self, frame: Frame) -> None:
        """One request. What is wrong with it is its answer, and the connection stays."""
        if frame.kind is Kind.STATUS:
            self._post(Frame(Kind.WELCOME, frame.request, pack(self._shared.status())))
        elif frame.kind is Kind.CANCEL:
            with self._lock:
                job = self._jobs.get(frame.request)
            if job is not None:
                job.answer(Cancelled("key node: the request was cancelled"))
        elif frame.kind is Kind.MAP:
            try:
                self._keep_map(frame)
            finally:
                self._shared.jobs.release(len(frame.payload))
        else:
            self._submit(frame)

    def _keep_map(self, frame: Frame) -> None:
        try:
            meta, blobs = unpack(frame.payload, "key node: map")
            name = meta.get("digest")
            if not isinstance(name, str) or len(blobs) != 1:
                raise CorruptData("key node: a map without its digest, or of several parts")
            self._shared.maps.add(name, blobs[0])
        except Error as error:
            self._post(_refusal(frame.request, error))
        except MemoryError:
            self._post(_refusal(frame.request, OutOfMemory("key node: no memory for the map")))
        else:
            self._post(Frame(Kind.WELCOME, frame.request, pack({})))

    def _submit(self, frame: Frame) -> None:
        number, size = frame.request, len(frame.payload)
        try:
            call = Call.parse(*unpack(frame.payload, "key node: call"))
            until = time.monotonic() + min(frame.seconds, self._shared.deadline)
            job = Job(
                lambda job: self._shared.worker.compute(call, job),
                lambda answer: self._finish(number, answer),
                until,
                size,
            )
            with self._lock:
                if number in self._jobs or len(self._jobs) >= MOST_WAITING:
                    raise OutOfMemory(
                        f"key node: request {number} is there already, or {MOST_WAITING} wait; ask later"
                    )
                self._jobs[number] = job
            try:
                self._shared.jobs.submit(job)
            except Error:
                with self._lock:
                    self._jobs.pop(number, None)
                raise
        except Error as error:
            self._shared.jobs.release(size)
            self._post(_refusal(number, error))

    def _finish(self, number: int, answer: Answer | Error) -> None:
        with self._lock:
            self._jobs.pop(number, None)
        if isinstance(answer, Error):
            self._post(_refusal(number, answer))
            return
        meta, blobs = answer
        payload = pack(meta, blobs)
        if len(payload) > KEY_NODE_MESSAGE:
            self._post(_refusal(number, InvalidArgument("key node: the results are larger than a message")))
        else:
            self._post(Frame(Kind.RESULT, number, payload))

    # Answers

    def _post(self, frame: Frame) -> None:
        """An answer to be sent; a client that does not read its answers is given up."""
        with self._lock:
            self._unsent += len(frame.payload)
            full = self._unsent > 2 * KEY_NODE_MESSAGE
        if full:
            self._channel.close()
        else:
            self._outbox.put(frame)

    def _write(self) -> None:
        failed = False
        while True:
            frame = self._outbox.get()
            if frame is None:
                return
            if failed:
                continue
            try:
                self._channel.send(frame, time.monotonic() + self._shared.deadline)
            except IoError:
                failed = True
                self._channel.close()  # the reading thread notices
            with self._lock:
                self._unsent -= len(frame.payload)


def _refusal(number: int, error: Error) -> Frame:
    """An error as the client raises it again."""
    name = UNKNOWN_MAP if isinstance(error, UnknownMap) else type(error).__name__
    with contextlib.suppress(Error):
        return Frame(Kind.ERROR, number, pack({"error": name, "message": str(error)[:_MOST_MESSAGE]}))
    return Frame(Kind.ERROR, number, pack({"error": name, "message": "an error without a text"}))
