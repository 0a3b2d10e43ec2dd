# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing: one call of each contender in turn, so that a slow moment of the machine hits all."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

WARM_UPS = 2
MIN_REPETITIONS = 11


@dataclasses.dataclass(frozen=True)
class Timing:
    """Milliseconds of one call, over all repetitions."""

    median: float
    minimum: float
    maximum: float


def time_interleaved(
    calls: Mapping[str, Callable[[], Any]],
    repetitions: int,
    own_caches: bool = False,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> dict[str, Timing]:
    """Times `repetitions` rounds after two warm-up rounds; results are freed after their time was taken.

    With `own_caches` a contender makes an untimed call before each timed one, so that the caches hold its
    data and not those of the one before.
    """
    samples: dict[str, list[float]] = {name: [] for name in calls}
    with _without_collector():
        for turn in range(WARM_UPS + repetitions):
            for name, call in calls.items():
                if own_caches:
                    call()
                begin = clock()
                result = call()
                nanoseconds = clock() - begin
                del result
                if turn >= WARM_UPS:
                    samples[name].append(nanoseconds / 1e6)
    return {name: Timing(statistics.median(each), min(each), max(each)) for name, each in samples.items()}


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keeps Python's cycle collector out of the measurement."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
