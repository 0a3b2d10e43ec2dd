# SPDX-License-Identifier: Apache-2.0
"""Requests of a key node: they wait, are computed one after the other, and end by their deadlines."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable
from typing import Any

from ..base.errors import Cancelled, Error, IoError, OutOfMemory

Answer = tuple[dict[str, Any], list[bytes]]


class Job:
    """One request. It gets one answer: result, error or deadline; none where it is dropped."""

    def __init__(
        self,
        work: Callable[[Job], Answer],
        done: Callable[[Answer | Error], None],
        until: float,
        size: int,
    ) -> None:
        self.until = until
        self.size = size
        """Bytes of the request, which wait in memory."""
        self._work, self._done = work, done
        self._lock = threading.Lock()
        self._answered = self._begun = False
        self._engine: Any = None
        self.given_up: Callable[[Job], None] = lambda job: None
        """Called when it is over before it was begun."""

    @property
    def is_over(self) -> bool:
        """Whether it was answered or dropped."""
        return self._answered

    def begin(self, engine: Any) -> None:
        """From now on `engine` computes for it. Raises Cancelled where it is over."""
        with self._lock:
            if self._answered:
                raise Cancelled("key node: the request was given up")
            self._engine = engine

    def end(self) -> None:
        """The engine computes for others from now on."""
        with self._lock:
            self._engine = None

    def run(self) -> None:
        """Computes and answers, unless it is over."""
        with self._lock:
            if self._answered:
                return
            self._begun = True
        try:
            answer: Answer | Error = self._work(self)
        except Error as error:
            answer = error
        except MemoryError as error:
            answer = OutOfMemory(f"key node: the machine has no memory for the request ({error})")
        except Exception as error:  # a fault of ours must not end the thread that serves all users
            answer = Error(f"key node: internal error, {type(error).__name__}: {error}")
        self.answer(answer)

    def answer(self, answer: Answer | Error | None) -> None:
        """The first answer counts; None drops the job without one. What computes it is stopped."""
        with self._lock:
            if self._answered:
                return
            self._answered = True
            if self._engine is not None:
                self._engine.cancel()
        if not self._begun:
            self.given_up(self)
        if answer is not None:
            self._done(answer)


class Jobs:
    """A queue, one thread that computes, and one that watches deadlines.

    limit: requests that may wait or compute at once; bytes_limit: what their messages may take in memory.
    """

    def __init__(self, limit: int, bytes_limit: int) -> None:
        self._limit, self._bytes_limit = limit, bytes_limit
        self._changed = threading.Condition()
        self._waiting: collections.deque[Job] = collections.deque()
        self._open: set[Job] = set()
        self._reserved = 0
        self._closed = False
        self.finished = 0
        self._threads = [
            threading.Thread(target=each, name=f"keynode {name}", daemon=True)
            for name, each in (("work", self._compute), ("deadlines", self._watch))
        ]
        for each in self._threads:
            each.start()

    @property
    def count(self) -> int:
        """Requests that wait or compute."""
        return len(self._open)

    def reserve(self, size: int) -> None:
        """Room for a message that is about to be read. Raises OutOfMemory where there is none."""
        with self._changed:
            if self._reserved + size > self._bytes_limit:
                raise OutOfMemory(
                    f"key node: {self._reserved} bytes of requests wait, and one of {size} does not fit "
                    f"beside them; expected at most {self._bytes_limit} together: ask again later"
                )
            self._reserved += size

    def release(self, size: int) -> None:
        """Gives room back."""
        with self._changed:
            self._reserved -= size

    def submit(self, job: Job) -> None:
        """Takes a job, whose bytes were reserved. Raises OutOfMemory where too many wait."""
        with self._changed:
            if self._closed:
                raise IoError("key node: it ends")
            if len(self._open) >= self._limit:
                raise OutOfMemory(f"key node: {self._limit} requests wait already; ask again later")
            job.given_up = self._forget
            self._open.add(job)
            self._waiting.append(job)
            self._changed.notify_all()

    def close(self) -> None:
        """Drops all jobs and ends the threads."""
        with self._changed:
            self._closed = True
            left = list(self._open)
            self._changed.notify_all()
        for job in left:
            job.answer(None)
        for each in self._threads:
            each.join()

    def _compute(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                job = self._waiting.popleft()
            try:
                job.run()
            finally:
                self._forget(job)

    def _forget(self, job: Job) -> None:
        """Ends a job that was computed or is over already: its place and its bytes are free for others."""
        with self._changed:
            if job not in self._open:
                return
            self._open.remove(job)
            if job in self._waiting:
                self._waiting.remove(job)
            self._reserved -= job.size
            self.finished += 1

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                waiting = [each for each in self._open if not each.is_over]
                now = time.monotonic()
                late = [each for each in waiting if each.until <= now]
                if not late:
                    next_one = min((each.until for each in waiting), default=None)
                    self._changed.wait(None if next_one is None else next_one - now)
                    continue
            for each in late:
                each.answer(IoError("key node: the deadline of the request has passed"))
