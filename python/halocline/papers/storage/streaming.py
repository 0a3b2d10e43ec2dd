# SPDX-License-Identifier: Apache-2.0
"""One accelerator whose keys come over a link: with or without overlap, with or without keeping keys."""

from __future__ import annotations

import dataclasses

from ...base.errors import InvalidArgument
from .clock import Clock, Event, Link, Memory, Process
from .loads import KeyLoad, expect_capacity, lru_misses, planned_misses

POLICIES = ("none", "prefetch", "lru", "planned")
"""`none`: each use fetches its key and the arithmetic waits, as the paper assumes. `prefetch`: each use
fetches its key, ahead of it. `lru`: the least recently used keys leave; misses wait. `planned`: keys needed
farthest ahead leave, misses are fetched ahead."""
BUFFER_SHARES = (0.125, 0.25, 0.5)
"""Shares of the key memory in which `planned` receives what it fetches ahead; it also tries all of it, which
keeps nothing, and takes the fastest."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a simulation found."""

    seconds: float
    loaded_bytes: float
    compute_seconds: float

    @property
    def slowdown(self) -> float:
        """Over the arithmetic alone."""
        return self.seconds / self.compute_seconds


def simulate(load: KeyLoad, bandwidth: float, policy: str, key_memory: float) -> Outcome:
    """A run from a cold start.

    bandwidth: of the link, bytes per second. key_memory: bytes for keys near the arithmetic.
    Raises InvalidArgument where the memory cannot hold the largest piece.
    """
    expect_capacity(load, key_memory)
    if policy == "none":
        return _waiting(load, bandwidth, load.bytes)
    if policy == "lru":
        return _waiting(load, bandwidth, lru_misses(load, key_memory))
    streamed = _ahead(load, bandwidth, load.bytes, key_memory)
    if policy == "prefetch":
        return streamed
    if policy != "planned":
        raise InvalidArgument(
            f"paper storage: unknown policy '{policy}'; expected one of: {', '.join(POLICIES)}"
        )
    tried = [streamed]
    for share in BUFFER_SHARES:
        buffer = share * key_memory
        if buffer >= max(load.bytes):
            misses = planned_misses(load, key_memory - buffer)
            tried.append(_ahead(load, bandwidth, misses, buffer))
    return min(tried, key=lambda each: (each.seconds, each.loaded_bytes))


def _waiting(load: KeyLoad, bandwidth: float, fetched: list[float]) -> Outcome:
    """The arithmetic stops for each transfer."""
    clock = Clock()
    link = Link(clock, bandwidth)

    def device() -> Process:
        yield load.lead
        for count, seconds in zip(fetched, load.seconds, strict=True):
            if count > 0:
                yield link.transfer(count)
            yield seconds

    clock.start(device())
    return Outcome(clock.run(), link.bytes, load.compute)


def _ahead(load: KeyLoad, bandwidth: float, fetched: list[float], buffer: float) -> Outcome:
    """Transfers in the order of the uses, as early as a buffer has room; a use ends with its arithmetic."""
    clock = Clock()
    link, room = Link(clock, bandwidth), Memory(buffer)
    arrived = [Event() if count > 0 else None for count in fetched]

    def loader() -> Process:
        for event, count in zip(arrived, fetched, strict=True):
            if event is not None:
                yield room.take(count)
                link.transfer(count).when(event.happen)

    def device() -> Process:
        yield load.lead
        for event, count, seconds in zip(arrived, fetched, load.seconds, strict=True):
            if event is not None:
                yield event
            yield seconds
            if event is not None:
                room.give(count)

    clock.start(loader())
    clock.start(device())
    return Outcome(clock.run(), link.bytes, load.compute)
