# SPDX-License-Identifier: Apache-2.0
"""Engines with uniform operands, and how they are timed."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...bench.uniform_seal import uniform_engine
from ...seal.engine import DeviceCiphertext, Engine
from ...seal.objects import Parameters

Row = dict[str, Any]
Call = Callable[[Engine], Any]
STEPS = (1, 8)
"""Rotations with keys."""
_SAMPLE_SECONDS = 0.004
_MOST_CALLS = 64
_programs = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Step:
    """One of the paper's improvements: how an engine computes."""

    name: str
    scalar: bool = False
    """Plain C++ and radix 2, on CPUs."""
    threads: int = 0
    policy: str = "resident"
    graph: bool = False
    batch: int = 1
    queues: int = 1


def steps_of(device: str, batch: int, queues: int) -> list[Step]:
    """The steps on a device, each with what those before have."""
    if device.startswith("cuda"):
        return [
            Step("no memory cache", policy="async"),
            Step("memory cache", policy="cached"),
            Step("pool"),
            Step("graph", graph=True),
            Step(f"{queues} queues", queues=queues),
            Step(f"batch of {batch}", batch=batch),
        ]
    return [
        Step("naive", scalar=True, threads=1, policy="async"),
        Step("better instructions, radix 16", threads=1, policy="async"),
        Step("memory cache", threads=1, policy="cached"),
        Step("several threads", policy="cached"),
        Step(f"batch of {batch}", policy="cached", batch=batch),
    ]


def make_engine(params: Parameters, device: str, step: Step) -> Engine:
    """An engine of the step, with uniform keys."""
    return uniform_engine(
        params, device, threads=step.threads, scalar=step.scalar, policy=step.policy, steps=STEPS
    )


def timed(engines: Sequence[Engine], call: Callable[[int], Any], samples: int, graph: bool) -> Row:
    """Microseconds of `call(i)` on engine i; with several engines all call at once, each in its thread.

    A sample makes as many calls as take some milliseconds, then waits for the device once.
    """
    for _ in range(3):
        _sample(engines, call, 1, None)
    calls = max(1, min(_MOST_CALLS, int(_SAMPLE_SECONDS / _sample(engines, call, 1, None)) + 1))
    key = next(_programs) if graph else None
    for _ in range(3):  # graphs are made at the second run of a program
        _sample(engines, call, calls, key)
    taken = sorted(1e6 * _sample(engines, call, calls, key) / calls for _ in range(samples))
    return {"us": statistics.median(taken), "min_us": taken[0], "max_us": taken[-1], "calls": calls}


def _sample(engines: Sequence[Engine], call: Callable[[int], Any], calls: int, key: int | None) -> float:
    """Seconds until all engines have done `calls` calls."""
    if len(engines) == 1:
        begin = time.perf_counter()
        _calls(engines[0], call, 0, calls, key)
        return time.perf_counter() - begin
    threads = [
        threading.Thread(target=_calls, args=(engine, call, i, calls, key))
        for i, engine in enumerate(engines)
    ]
    begin = time.perf_counter()
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return time.perf_counter() - begin


def _calls(engine: Engine, call: Callable[[int], Any], number: int, calls: int, key: int | None) -> None:
    if key is not None:
        engine._core.begin_program(key)
    try:
        for _ in range(calls):
            call(number)
    finally:
        if key is not None:
            engine._core.end_program()
    engine.wait()


def equal(ours: DeviceCiphertext, theirs: DeviceCiphertext) -> bool:
    """Whether two ciphertexts have the same residues and scale."""
    a, b = ours.store(), theirs.store()
    return a.scale == b.scale and bool(np.array_equal(a.residues, b.residues))


_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Bases of Miller and Rabin that are enough for 64 bits."""


def is_prime(number: int) -> bool:
    """Whether an odd number above 37 and below 2^64 is prime."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in _BASES:
        x = pow(base, odd, number)
        if x not in (1, number - 1) and not any((x := x * x % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


def chain(n: int, bits: Sequence[int]) -> Parameters:
    """Parameters with primes of these bits, the special one last; the largest ones, as SEAL takes them."""
    found: list[int] = []
    for each in bits:
        candidate = ((1 << each) - 2) // (2 * n) * (2 * n) + 1
        while candidate in found or not is_prime(candidate):
            candidate -= 2 * n
        found.append(candidate)
    return Parameters(n, found)
