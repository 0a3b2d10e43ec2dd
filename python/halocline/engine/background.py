# SPDX-License-Identifier: Apache-2.0
"""Work that threads do beside the one that computes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from ..base.forks import renew_in_children


class BackgroundJobs:
    """Starts a thread for each job, which ends with it. Thread-safe; a forked child begins without jobs."""

    def __init__(self) -> None:
        self._renew_locks()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        self._lock = threading.Lock()
        self._named: dict[str, Future[None]] = {}

    def start(self, name: str | None, work: Callable[[], None]) -> Future[None]:
        """Starts a job, unless one of that name is under way, whose result is then returned."""
        with self._lock:
            under_way = None if name is None else self._named.get(name)
            if under_way is not None:
                return under_way
            job: Future[None] = Future()
            if name is not None:
                self._named[name] = job
        # A daemon: a store that does not answer must not keep the process from its end.
        threading.Thread(target=self._run, args=(name, job, work), daemon=True).start()
        return job

    def _run(self, name: str | None, job: Future[None], work: Callable[[], None]) -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:
            failure = error
        with self._lock:
            if name is not None and self._named.get(name) is job:
                del self._named[name]
        if failure is None:
            job.set_result(None)
        else:
            job.set_exception(failure)
