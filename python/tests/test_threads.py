# SPDX-License-Identifier: Apache-2.0
"""One engine used by several threads: runs take turns, and what one thread asks for stays with it."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import halocline as hc
import numpy as np
import pytest

STEPS = [1, 2, 3, 5]
THREADS = 4
LIMIT = 60.0
"""Seconds after which a thread that has not ended is taken for a deadlock."""


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    y = x
    for step in (1, 2, 3, 5, 1, 5):
        y = y + x.rotate(step)
    return 0.1 * y * x


def another(x: hc.Ciphertext) -> hc.Ciphertext:
    return x.rotate(5) * x.rotate(3) + x.rotate(2)


class Rig:
    def __init__(self) -> None:
        self.params = hc.Params.preset("test-n11-d8", allow_insecure=True)
        self.client = hc.Client(self.params)
        self.keys = self.client.evaluation_keys(rotations=STEPS)
        self.x = self.client.encrypt(np.linspace(-1, 1, self.params.slots))
        resident = hc.Engine(self.params, self.keys, threads=1)
        self.expected = {each: resident.run(each, self.x).to_bytes() for each in (program, another)}
        self.footprint = resident.stats()["peak_bytes"]

    def engine(self, policy: str = "planned", share: float = 0.5, **options: Any) -> hc.Engine:
        memory = None if policy == "resident" else int(share * self.footprint)
        return hc.Engine(
            self.params, self.keys, memory=options.pop("memory", memory), policy=policy, threads=1, **options
        )


@pytest.fixture(scope="module")
def rig() -> Rig:
    return Rig()


@pytest.fixture(autouse=True)
def no_divergence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", hc.PlanDivergence)
        yield


def together(*works: Callable[[], None]) -> None:
    """Runs all functions at once; raises what one of them raised."""
    barrier = threading.Barrier(len(works))
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait(LIMIT)
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LIMIT)
        assert not each.is_alive(), "deadlock"
    if failures:
        raise failures[0]


def repeat(count: int, work: Callable[[], None]) -> Callable[[], None]:
    def works() -> None:
        for _ in range(count):
            work()

    return works


@pytest.mark.parametrize("policy", ["planned", "lru", "resident"])
def test_runs_of_several_threads_take_turns(rig: Rig, policy: str) -> None:
    engine = rig.engine(policy)

    def run(what: Callable[..., Any]) -> Callable[[], None]:
        def once() -> None:
            assert engine.run(what, rig.x).to_bytes() == rig.expected[what]

        return repeat(8, once)

    together(*(run((program, another)[i % 2]) for i in range(THREADS)))
    assert engine.last_run is not None
    assert engine.last_run.followed_plan == (policy == "planned")


def test_single_operations_do_not_disturb_a_plan(rig: Rig) -> None:
    engine = rig.engine()
    x = rig.x.to(engine)
    alone = another(x).to_bytes()
    done = threading.Event()

    def runs() -> None:
        try:
            for _ in range(12):
                assert engine.run(program, rig.x).to_bytes() == rig.expected[program]
                assert engine.last_run is not None
                assert engine.last_run.followed_plan
        finally:
            done.set()

    def operations() -> None:
        while not done.is_set():
            assert another(x).to_bytes() == alone

    together(runs, operations, operations)


def test_manual_is_about_one_thread(rig: Rig) -> None:
    engine = rig.engine("resident")
    x = rig.x.to(engine)
    automatic = (x * x).to_bytes()
    done = threading.Event()

    def by_hand() -> None:
        try:
            for _ in range(60):
                with engine.manual():
                    product = x * x
                    assert product.level == x.level
                assert (x * x).level == x.level - 1
        finally:
            done.set()

    def by_itself() -> None:
        while not done.is_set():
            assert (x * x).to_bytes() == automatic

    together(by_hand, by_itself, by_itself)


def test_manual_runs_and_automatic_runs_under_plans(rig: Rig) -> None:
    engine = rig.engine()

    def square(x: hc.Ciphertext) -> hc.Ciphertext:
        return x * x

    def by_hand() -> None:
        with engine.manual():
            assert engine.run(square, rig.x).level == rig.x.level

    def by_itself() -> None:
        assert engine.run(square, rig.x).level == rig.x.level - 1

    together(repeat(10, by_hand), repeat(10, by_itself), repeat(10, by_itself))


def test_the_budget_changes_during_runs(rig: Rig) -> None:
    engine = rig.engine(share=0.8)
    sizes = [int(share * rig.footprint) for share in (0.8, 0.5, 0.65)]
    done = threading.Event()

    def runs() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hc.PlanDivergence)  # a plan that no longer fits is given up
            for _ in range(15):
                assert engine.run(program, rig.x).to_bytes() == rig.expected[program]

    def both() -> None:
        try:
            runs()
        finally:
            done.set()

    def changes() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            try:
                engine.set_budget(sizes[turn % len(sizes)])
            except hc.OutOfMemory:  # the step at hand needs more: the budget stays
                continue
            assert engine.budget_bytes == sizes[turn % len(sizes)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.PlanDivergence)
        together(both, changes)


def test_a_budget_that_shrinks_while_the_program_is_planned(rig: Rig) -> None:
    engine = rig.engine(share=0.8)
    smaller = int(0.5 * rig.footprint)

    def shrinks(x: hc.Ciphertext) -> hc.Ciphertext:
        if x.engine is not engine:  # on the twin
            engine.set_budget(smaller)
        return program(x)

    assert engine.run(shrinks, rig.x).to_bytes() == rig.expected[program]
    assert engine.last_run is not None
    assert engine.last_run.followed_plan
    assert engine.last_run.peak_fast_bytes <= smaller


def test_watching_does_not_disturb_runs(rig: Rig) -> None:
    engine = rig.engine()
    done = threading.Event()

    def runs() -> None:
        try:
            for _ in range(15):
                assert engine.run(program, rig.x).to_bytes() == rig.expected[program]
        finally:
            done.set()

    def watches() -> None:
        while not done.is_set():
            with engine.record() as trace:
                engine.stats()
                repr(engine)
            assert len(hc.Trace.from_csv(trace.to_csv())) == len(trace)  # whole, wherever it was cut
            with engine.profile():
                engine.reset_peak()
            _ = engine.last_run, engine.last_plan

    together(runs, watches)
    with engine.record(), pytest.raises(hc.InvalidArgument, match="already"), engine.record():
        pass
    with engine.record() as trace:
        engine.run(program, rig.x)
    assert len(trace) > 0


def test_engines_that_share_a_budget_run_at_once(rig: Rig) -> None:
    budget = hc.MemoryBudget(int(1.2 * rig.footprint), wait=LIMIT)
    engines = [rig.engine(policy, memory=budget) for policy in ("planned", "lru")]

    def runs(engine: hc.Engine) -> Callable[[], None]:
        def once() -> None:
            assert engine.run(program, rig.x).to_bytes() == rig.expected[program]
            assert budget.used <= budget.capacity

        return repeat(10, once)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.PlanDivergence)
        together(*(runs(each) for each in engines))


@pytest.mark.parametrize("policy", ["planned", "resident"])
def test_a_run_within_a_run_is_a_part_of_it(rig: Rig, policy: str) -> None:
    engine = rig.engine(policy)
    inner = engine.program(program)

    def outer(x: hc.Ciphertext) -> hc.Ciphertext:
        return inner(x).rotate(1)

    expected = rig.engine("resident").run(lambda x: program(x).rotate(1), rig.x).to_bytes()
    for _ in range(2):
        assert engine.run(outer, rig.x).to_bytes() == expected
        assert engine.last_run is not None
        assert engine.last_run.followed_plan == (policy == "planned")


def test_errors_free_the_turn(rig: Rig) -> None:
    engine = rig.engine()

    def fails(x: hc.Ciphertext) -> hc.Ciphertext:
        y = x.rotate(1)
        if x.engine is engine:
            raise RuntimeError("no")
        return y

    def fail() -> None:
        with pytest.raises(RuntimeError, match="no"):
            engine.run(fails, rig.x)

    def works() -> None:
        assert engine.run(program, rig.x).to_bytes() == rig.expected[program]

    together(repeat(5, fail), repeat(5, works), repeat(5, fail), repeat(5, works))


def test_an_interrupted_run_leaves_no_plan_behind(rig: Rig) -> None:
    engine = rig.engine()

    def interrupted(x: hc.Ciphertext) -> hc.Ciphertext:
        y = x.rotate(1)
        if x.engine is engine:
            raise KeyboardInterrupt
        return y

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            engine.run(interrupted, rig.x)
        assert engine.run(program, rig.x).to_bytes() == rig.expected[program]
    # As if the interruption had come in the middle of the end of a run.
    engine._core.begin_plan(engine._last_plan)
    assert engine.run(program, rig.x).to_bytes() == rig.expected[program]


def test_waiting_for_a_turn_can_be_interrupted(rig: Rig) -> None:
    engine = rig.engine("resident")
    begun, may_end = threading.Event(), threading.Event()

    def slow(x: hc.Ciphertext) -> hc.Ciphertext:
        begun.set()
        may_end.wait(LIMIT)
        return x

    thread = threading.Thread(target=lambda: engine.run(slow, rig.x), daemon=True)
    thread.start()
    assert begun.wait(LIMIT)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.run(program, rig.x)
    finally:
        may_end.set()
        timer.join()
        thread.join(LIMIT)
    assert time.monotonic() - began < LIMIT
    assert engine.run(program, rig.x).to_bytes() == rig.expected[program]
