# SPDX-License-Identifier: Apache-2.0
"""Requests that wait at a key node: places and bytes of those that are given up are free at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import halocline as hc
import pytest
from halocline.keynode.jobs import Answer, Job, Jobs

LIMIT, BYTES = 4, 4000


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs(LIMIT, BYTES)
    yield made
    made.close()


class Held:
    """Occupies the thread that computes until it is released."""

    def __init__(self, jobs: Jobs) -> None:
        self._begun, self._free = threading.Event(), threading.Event()
        self.ended = threading.Event()
        jobs.reserve(0)
        jobs.submit(Job(self._work, lambda _: self.ended.set(), time.monotonic() + 600, 0))
        assert self._begun.wait(60)

    def _work(self, job: Job) -> Answer:
        self._begun.set()
        assert self._free.wait(60)
        return {}, []

    def release(self) -> None:
        self._free.set()
        assert self.ended.wait(60)


def test_requests_that_are_given_up_leave_no_trace(jobs: Jobs) -> None:
    held, said = Held(jobs), []
    for _ in range(10 * LIMIT):
        jobs.reserve(BYTES)
        job = Job(lambda _: ({}, []), said.append, time.monotonic() + 600, BYTES)
        jobs.submit(job)
        job.answer(hc.Cancelled("test"))
    assert len(said) == 10 * LIMIT and all(isinstance(each, hc.Cancelled) for each in said)
    assert jobs.count == 1
    jobs.reserve(BYTES)
    jobs.release(BYTES)
    held.release()


def test_what_waits_is_limited_and_computed_in_order(jobs: Jobs) -> None:
    held, order, ended = Held(jobs), [], threading.Semaphore(0)

    def work(number: int) -> Answer:
        order.append(number)
        return {}, []

    for number in range(LIMIT - 1):
        jobs.reserve(1)
        jobs.submit(
            Job(lambda _, n=number: work(n), lambda _: ended.release(), time.monotonic() + 600, 1)  # type: ignore[misc]
        )
    with pytest.raises(hc.OutOfMemory, match="wait already"):
        jobs.submit(Job(lambda _: ({}, []), order.append, time.monotonic() + 600, 1))
    held.release()
    for _ in range(LIMIT - 1):
        assert ended.acquire(timeout=60)
    assert order == list(range(LIMIT - 1))


def test_deadlines_pass_while_another_request_computes(jobs: Jobs) -> None:
    held, late = Held(jobs), threading.Event()
    jobs.reserve(BYTES)
    jobs.submit(Job(lambda _: ({}, []), lambda _: late.set(), time.monotonic() + 0.01, BYTES))
    assert late.wait(60)
    assert jobs.count == 1
    jobs.reserve(BYTES)
    jobs.release(BYTES)
    held.release()
