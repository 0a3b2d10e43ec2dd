# SPDX-License-Identifier: Apache-2.0
"""Budgets that engines share: what refusals say, and waiting for others."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import halocline as hc
import numpy as np
import pytest

LIMIT = 60.0


class Rig:
    def __init__(self) -> None:
        self.params = hc.Params.preset("test-n11-d8", allow_insecure=True)
        self.client = hc.Client(self.params)
        self.keys = self.client.evaluation_keys(rotations=[1, 2])
        self.x = self.client.encrypt(np.linspace(-1, 1, self.params.slots))
        resident = hc.Engine(self.params, self.keys, threads=1)
        self.for_one = int(1.9 * resident.stats()["live_bytes"])  # too little for the keys of two
        self.expected = resident.run(program, self.x).to_bytes()
        self.footprint = resident.stats()["peak_bytes"]
        assert self.footprint <= self.for_one

    def engine(self, budget: hc.MemoryBudget, policy: str = "resident", name: str | None = None) -> hc.Engine:
        options = hc.MemoryOptions(name=name)
        return hc.Engine(
            self.params, self.keys, memory=budget, policy=policy, threads=1, memory_options=options
        )


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    return x.rotate(1) * x.rotate(2)


@pytest.fixture(scope="module")
def rig() -> Rig:
    return Rig()


def test_a_refusal_names_the_competition(rig: Rig) -> None:
    budget = hc.MemoryBudget(rig.for_one)
    first = rig.engine(budget, name="the first one")
    with pytest.raises(hc.OutOfMemory) as refused:
        rig.engine(budget, name="the second one")
    text = str(refused.value)
    held = dict(budget.holders())["the first one"]
    assert f"the first one: {hc._core.format_bytes(held)}" in text
    assert "1 other that shares it" in text
    assert "wait=seconds" in text
    needed = re.search(r"\((\d+) bytes\) is needed", text)
    assert needed is not None
    assert int(needed[1]) > budget.capacity
    del first, refused  # the exception keeps the engine that was not finished
    second = rig.engine(budget, name="the second one")
    assert second.run(program, rig.x).to_bytes() == rig.expected
    assert [name for name, _ in budget.holders()] == ["the second one"]


def test_steps_name_the_competition(rig: Rig) -> None:
    budget = hc.MemoryBudget(int(1.1 * rig.footprint))
    first = rig.engine(budget)
    assert first.stats()["live_bytes"] > 0
    with pytest.raises(hc.OutOfMemory, match=r"others? that shares? it holds? .*engine test-n11-d8 on cpu"):
        rig.engine(budget, "lru").run(program, rig.x)


def test_an_allocation_waits_until_others_give_back(rig: Rig) -> None:
    budget = hc.MemoryBudget(rig.for_one, wait=LIMIT)
    held: list[Any] = [rig.engine(budget)]
    timer = threading.Timer(0.3, held.clear)
    timer.start()
    began = time.monotonic()
    second = rig.engine(budget)
    assert not held
    assert time.monotonic() - began < LIMIT
    timer.join()
    assert second.run(program, rig.x).to_bytes() == rig.expected


def test_a_step_waits_until_others_give_back(rig: Rig) -> None:
    budget = hc.MemoryBudget(int(1.05 * rig.footprint), wait=LIMIT)
    engine = rig.engine(budget, "lru")
    result = engine.run(program, rig.x)
    assert result.to_bytes() == rig.expected
    held: list[Any] = [rig.engine(budget)]
    timer = threading.Timer(0.3, held.clear)
    timer.start()
    assert engine.run(program, rig.x).to_bytes() == rig.expected
    timer.join()


@pytest.mark.parametrize("policy", ["resident", "lru"])
def test_waiting_ends_with_a_refusal_that_says_so(rig: Rig, policy: str) -> None:
    budget = hc.MemoryBudget(int(1.1 * rig.footprint), wait=0.3)
    first = rig.engine(budget)
    began = time.monotonic()
    with pytest.raises(hc.OutOfMemory, match=r"waited 0\.\d s for them"):
        rig.engine(budget, policy).run(program, rig.x)
    assert time.monotonic() - began >= 0.3
    assert first.run(program, rig.x).to_bytes() == rig.expected


def test_engines_that_wait_for_each_other_are_refused_in_the_end(rig: Rig) -> None:
    budget = hc.MemoryBudget(int(2.1 * rig.footprint), wait=0.5)
    engines = [rig.engine(budget) for _ in range(2)]
    barrier = threading.Barrier(2)
    texts: list[str] = []

    def grows(engine: hc.Engine) -> None:
        kept = []
        barrier.wait(LIMIT)
        try:
            while True:
                kept.append(rig.x.to(engine).rotate(1))
        except hc.OutOfMemory as error:
            texts.append(str(error))
            barrier.wait(LIMIT)  # what it holds it keeps until the other one was refused too

    threads = [threading.Thread(target=grows, args=(each,), daemon=True) for each in engines]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LIMIT)
        assert not each.is_alive()
    assert len(texts) == 2
    assert all("for them" in each for each in texts)


def test_cancel_ends_the_waiting(rig: Rig) -> None:
    budget = hc.MemoryBudget(int(2.1 * rig.footprint), wait=LIMIT)
    _first, second = (rig.engine(budget) for _ in range(2))
    kept = []
    timer = threading.Timer(0.5, second.cancel)
    timer.start()
    with pytest.raises(hc.Cancelled):
        while True:
            kept.append(rig.x.to(second).rotate(1))
    timer.join()


def test_ctrl_c_ends_the_waiting(rig: Rig) -> None:
    budget = hc.MemoryBudget(rig.for_one, wait=LIMIT)
    first = rig.engine(budget)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        rig.engine(budget)
    timer.join()
    assert first.run(program, rig.x).to_bytes() == rig.expected


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), 1e9])
def test_waits_are_checked(wait: float) -> None:
    with pytest.raises(hc.InvalidArgument, match="wait"):
        hc.MemoryBudget("1GiB", wait=wait)
    with pytest.raises(hc.WrongType, match="wait"):
        hc.MemoryBudget("1GiB", wait="long")  # type: ignore[arg-type]


UNDER_A_LIMIT = """
import resource, sys
import numpy as np
import halocline as hc

params = hc.Params.preset("test-n11-d8", allow_insecure=True)
client = hc.Client(params, threads=1)
keys = client.evaluation_keys(rotations=[1])
x = client.encrypt(np.zeros(params.slots))
engine = hc.Engine(params, keys, threads=1, memory="64GiB", policy=sys.argv[1])
engine.run(lambda x: x.rotate(1) * x, x)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
kept = []
try:
    while True:
        kept.append(engine.run(lambda x: x.rotate(1), x))
except hc.OutOfMemory as error:
    text = str(error)
    kept.clear()
    print(text)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space are Linux's")
@pytest.mark.parametrize("policy", ["resident", "lru"])
def test_the_budget_is_not_blamed_for_what_the_system_refuses(policy: str) -> None:
    assert resource.RLIMIT_AS is not None
    done = subprocess.run(
        [sys.executable, "-c", UNDER_A_LIMIT, policy],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the operating system gives no more memory" in done.stdout
    assert "A budget of at least" not in done.stdout
