# SPDX-License-Identifier: Apache-2.0
"""Gathers queries of many threads into batches."""

from __future__ import annotations

import atexit
import dataclasses
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from ..base.errors import Cancelled, DeviceError, InvalidArgument
from ..base.forks import renew_in_children


@dataclasses.dataclass(frozen=True)
class Job:
    """A query that waits."""

    client: bytes
    data: bytes
    answer: Future[bytes]


class Gatherer:
    """One thread that runs batches: of `batch` jobs, or of what waits `deadline` seconds after the first.

    run: answers a batch through the futures of its jobs; what it raises goes to those that have no answer.
    The thread is made with the first job, in each process anew, and ends with `close`, or with the program:
    jobs that wait then, and later ones, get `Cancelled`.
    """

    def __init__(self, run: Callable[[list[Job]], None], batch: int, deadline: float) -> None:
        self._run, self._batch, self._deadline = run, batch, deadline
        self._closed = self._ended = False
        self._thread: threading.Thread | None = None
        self._waiting: deque[tuple[float, Job]] = deque()
        self._askers: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._changed = threading.Condition()
        renew_in_children(self)
        _alive.add(self)

    def submit(self, jobs: list[Job]) -> None:
        """Queues jobs. Raises InvalidArgument after `close`, Cancelled at the end of the program."""
        with self._changed:
            if self._ended:
                raise _cancelled()
            if self._closed:
                raise InvalidArgument("pir.Server: it is closed; make another one")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="halocline-pir", daemon=True)
                self._thread.start()
            self._askers.add(threading.current_thread())
            now = time.monotonic()
            self._waiting.extend((now, each) for each in jobs)
            self._changed.notify_all()

    def close(self) -> None:
        """Answers what waits, and ends the thread. May be called again, also from that thread."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def end(self) -> list[threading.Thread]:
        """At the end of the program: finishes the batch under way, cancels what waits; who had asked."""
        with self._changed:
            self._closed = self._ended = True
            waiting = [job for _, job in self._waiting]
            self._waiting.clear()
            thread = self._thread
            self._changed.notify_all()
        for each in waiting:
            each.answer.set_exception(_cancelled())
        if thread is not None:
            thread.join()
        return list(self._askers)

    def _work(self) -> None:
        while jobs := self._next():
            try:
                self._run(jobs)
            except BaseException as error:  # the threads that wait must hear of it
                for each in jobs:
                    if not each.answer.done():
                        each.answer.set_exception(_copy_of(error))
            del jobs

    def _next(self) -> list[Job]:
        """The next batch; empty when the server is closed and nothing waits."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            until = self._waiting[0][0] + self._deadline
            while len(self._waiting) < self._batch and not self._closed:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return [self._waiting.popleft()[1] for _ in range(min(self._batch, len(self._waiting)))]

    def _renew_locks(self) -> None:
        """In a forked child: neither the thread nor those that wait are here."""
        self._changed = threading.Condition()
        self._thread = None
        self._waiting = deque()


_alive: weakref.WeakSet[Gatherer] = weakref.WeakSet()
_FAREWELL = 0.5
"""Seconds for threads whose queries were cancelled to end, or to report it, before the interpreter does."""


@atexit.register
def _end_all() -> None:
    """Only threads of kind daemon still ask now: the interpreter has waited for the others."""
    askers = [thread for each in list(_alive) for thread in each.end()]
    until = time.monotonic() + _FAREWELL
    for each in askers:
        if each is not threading.current_thread():
            each.join(max(0.0, until - time.monotonic()))


def _cancelled() -> Cancelled:
    return Cancelled(
        "pir.Server: the program ends, and the query was not answered; wait for threads that ask, or close "
        "the server, before that"
    )


def _copy_of(error: BaseException) -> BaseException:
    """An exception of its own for each thread: tracebacks grow where one is raised."""
    try:
        return type(error)(*error.args)
    except Exception:
        return DeviceError(f"pir.Server: a batch failed: {error!r}")
