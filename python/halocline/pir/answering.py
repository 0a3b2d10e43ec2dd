# SPDX-License-Identifier: Apache-2.0
"""The working part of a server: answers batches. Does not refer to the `Server`, which may go at any time."""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

from .. import _core
from ..base.errors import MissingKey, OutOfMemory
from ..base.forks import renew_in_children
from .batching import Job
from .budgets import Explain
from .key_cache import Expanded, KeyCache
from .statistics import BatchPlan

Keys = _core.RetrievalServerKeys | _core.RetrievalGroupKeys
Group = list[tuple[Job, Any]]


class Answering:
    """Answers queries on a core server with the keys of a cache. `run` is for one thread at a time.

    last_plan: of the last batch; None where there was none.
    """

    def __init__(
        self,
        core: _core.RetrievalServer | _core.RetrievalGroup,
        host_limit: int,
        device_limit: int,
        expiry: float | None,
        explain: Explain | None = None,
    ) -> None:
        self.core = core
        self._explain: Explain = explain or (lambda error: error)
        self.keys = KeyCache(self._expand, host_limit, device_limit, expiry)
        self._device_limit = device_limit
        self.counts: collections.Counter[str] = collections.Counter()
        self.seconds: collections.defaultdict[str, float] = collections.defaultdict(float)
        self.moved: collections.Counter[str] = collections.Counter(loaded=0, written=0, encoded=0)
        self.last_plan: BatchPlan | None = None
        self._renew_locks()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        self._turn, self._batch = threading.Lock(), threading.Lock()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, no batch is answered: the one under way is waited for, the next one waits."""
        with self._turn, self._batch:
            yield

    def _expand(self, message: bytes) -> Expanded:
        return self.core.load_keys(message)

    def run(self, jobs: list[Job]) -> None:
        """Answers jobs through their futures, in groups whose keys fit into the limit together.

        Groups that do not fit into the memory become smaller. A job that does not fit alone gets the error;
        the others do not.
        """
        waiting = collections.deque(jobs)
        most = len(jobs)
        while waiting:
            group = self._take(waiting, most)
            if group and not self._answered(group):
                self.counts["splits"] += 1
                waiting.extendleft(job for job, _ in reversed(group))
                most = len(group) - len(group) // 2
            del group  # and its keys, before the next ones are made

    def _take(self, waiting: collections.deque[Job], most: int) -> Group:
        """The next group, with keys: as many jobs as have room for them, `most` at most."""
        group: Group = []
        held: dict[bytes, int] = {}
        while waiting and len(group) < most:
            job = waiting[0]
            try:
                keys = self._keys_of(job.client, held)
            except MissingKey as error:
                job.answer.set_exception(_bare(error))
                waiting.popleft()
                continue
            except OutOfMemory as error:
                if group:
                    break  # alone it may have room
                job.answer.set_exception(_bare(self._explain(error)))
                waiting.popleft()
                continue
            if group and job.client not in held and sum(held.values()) + keys.nbytes > self._device_limit:
                break
            held[job.client] = keys.nbytes
            group.append((waiting.popleft(), keys))
        return group

    def _keys_of(self, client: bytes, held: dict[bytes, int]) -> Keys:
        try:
            found = self.keys.get(client)
        except OutOfMemory:
            if not self.keys.drop_expanded(set(held)):
                raise
            found = self.keys.get(client)
        assert isinstance(found, Keys)
        return found

    def _answered(self, group: Group) -> bool:
        """Answers a group; whether it fits into the memory. Keys of other clients are dropped first.

        A job that does not fit alone gets the error, which is an answer too.
        """
        begin = time.perf_counter()
        while True:
            try:
                answers = self._compute(group)
                break
            except OutOfMemory as error:
                if self.keys.drop_expanded({job.client for job, _ in group}):
                    continue
                if len(group) > 1:
                    return False
                group[0][0].answer.set_exception(_bare(self._explain(error)))
                return True
        self.counts["queries"] += len(group)
        self.counts["batches"] += 1
        self.counts["largest"] = max(self.counts["largest"], len(group))
        self.seconds["total"] += time.perf_counter() - begin
        for (job, _), answer in zip(group, answers, strict=True):
            job.answer.set_result(answer)
        return True

    def _compute(self, group: Group) -> list[bytes]:
        with self._turn:  # who waits for the end of a batch gets it before the next one begins
            self._batch.acquire()
        try:
            answers, stages, moved, plan = self.core.answer(
                [keys for _, keys in group], [job.data for job, _ in group]
            )
        finally:
            self._batch.release()
        for stage, seconds in stages.items():
            self.seconds[stage] += seconds
        self.moved.update(moved)
        self.last_plan = None if plan is None else _plan(plan)
        if self.last_plan is not None:
            self.counts["planned" if self.last_plan.followed else "left"] += 1
        return list(answers)


def _bare(error: BaseException) -> BaseException:
    """An error without tracebacks, whose frames would keep keys in memory for as long as it exists."""
    error.__context__ = None
    return error.with_traceback(None)


def _plan(said: object) -> BatchPlan:
    found = cast("dict[str, Any]", said)
    return BatchPlan(**found | {"reason": found["reason"] or None})
