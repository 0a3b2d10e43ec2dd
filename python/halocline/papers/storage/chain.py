# SPDX-License-Identifier: Apache-2.0
"""One accelerator whose keys come over two links: from a network into host memory, from there to the card."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...base.errors import InvalidArgument
from .clock import Clock, Event, Link, Memory, Process
from .loads import KeyLoad, expect_capacity, lru_misses, planned_misses
from .streaming import BUFFER_SHARES, POLICIES

HOST_SHARE = 0.25
"""Of host memory, in which what comes over the network waits for the card; the rest keeps keys."""


@dataclasses.dataclass(frozen=True)
class Chain:
    """Bandwidths in bytes per second, memories for keys in bytes."""

    near: float
    """From host memory to the accelerator."""
    far: float
    """From the network into host memory."""
    key_memory: float
    """Near the arithmetic."""
    host_memory: float
    """Between the links; what has come over the far one stays there as far as it has room."""


@dataclasses.dataclass(frozen=True)
class ChainOutcome:
    """What a simulation found."""

    seconds: float
    near_bytes: float
    far_bytes: float
    compute_seconds: float

    @property
    def slowdown(self) -> float:
        """Over the arithmetic alone."""
        return self.seconds / self.compute_seconds

    def bound(self, chain: Chain) -> float:
        """Slowdown below which no run stays that moves these bytes: the busiest link, or the arithmetic."""
        links = max(self.near_bytes / chain.near, self.far_bytes / chain.far)
        return max(1.0, links / self.compute_seconds)


@dataclasses.dataclass(frozen=True)
class _Moves:
    """Bytes that each use brings over each link; the far ones are a part of the near ones or equal them."""

    near: list[float]
    far: list[float]


def simulate_chain(load: KeyLoad, chain: Chain, policy: str) -> ChainOutcome:
    """A run from a cold start, under a policy of POLICIES.

    `none` and `prefetch` keep nothing on the card, and in host memory what was used last; `lru` keeps in both
    what was used last, `planned` what is needed soonest. `none` and `lru` wait for each transfer, over one
    link after the other; the others have a process for each link and receive in a share of each memory.

    Raises InvalidArgument where a memory cannot hold the largest piece.
    """
    for memory in (chain.key_memory, chain.host_memory):
        expect_capacity(load, memory)
    if policy not in POLICIES:
        raise InvalidArgument(
            f"paper storage: unknown policy '{policy}'; expected one of: {', '.join(POLICIES)}"
        )
    if policy in ("none", "lru"):
        near = load.bytes if policy == "none" else lru_misses(load, chain.key_memory)
        return _waiting(load, chain, _Moves(near, _spread(load, near, chain.host_memory, lru_misses)))
    kept = lru_misses if policy == "prefetch" else planned_misses
    tried = []
    for here in _shares(policy):
        buffers = here * chain.key_memory, HOST_SHARE * chain.host_memory
        if min(buffers) < max(load.bytes):
            continue
        near = load.bytes if here == 1 else planned_misses(load, chain.key_memory - buffers[0])
        far = _spread(load, near, chain.host_memory - buffers[1], kept)
        tried.append(_ahead(load, chain, _Moves(near, far), buffers))
    if not tried:
        raise InvalidArgument(
            f"paper storage: memories of {chain.key_memory:.0f} and {chain.host_memory:.0f} bytes for pieces "
            f"of {max(load.bytes):.0f}; expected at least 4 times as much in each"
        )
    return min(tried, key=lambda each: (each.seconds, each.far_bytes))


def _shares(policy: str) -> tuple[float, ...]:
    return (1.0,) if policy == "prefetch" else (*BUFFER_SHARES, 1.0)


def _spread(load: KeyLoad, near: Sequence[float], capacity: float, misses: object) -> list[float]:
    """What of the near bytes host memory lacks: its misses on the sequence of uses that reach it."""
    asked = [place for place, count in enumerate(near) if count > 0]
    if not asked:
        return [0.0] * len(near)
    reach = KeyLoad([load.piece[i] for i in asked], [load.bytes[i] for i in asked], [0.0] * len(asked), 0.0)
    found = [0.0] * len(near)
    for place, count in zip(asked, misses(reach, capacity), strict=True):  # type: ignore[operator]
        found[place] = min(count, near[place])
    return found


def _waiting(load: KeyLoad, chain: Chain, moves: _Moves) -> ChainOutcome:
    """The arithmetic stops for each transfer."""
    clock = Clock()
    near, far = Link(clock, chain.near), Link(clock, chain.far)

    def device() -> Process:
        yield load.lead
        for here, there, seconds in zip(moves.near, moves.far, load.seconds, strict=True):
            if there > 0:
                yield far.transfer(there)
            if here > 0:
                yield near.transfer(here)
            yield seconds

    clock.start(device())
    return ChainOutcome(clock.run(), near.bytes, far.bytes, load.compute)


def _ahead(load: KeyLoad, chain: Chain, moves: _Moves, buffers: tuple[float, float]) -> ChainOutcome:
    """Each link in the order of the uses, as early as the memory behind it has room."""
    clock = Clock()
    near, far = Link(clock, chain.near), Link(clock, chain.far)
    room, host_room = Memory(buffers[0]), Memory(buffers[1])
    arrived = [Event() if count > 0 else None for count in moves.near]
    in_host = [Event() if count > 0 else None for count in moves.far]

    def from_network() -> Process:
        for event, count in zip(in_host, moves.far, strict=True):
            if event is not None:
                yield host_room.take(count)
                far.transfer(count).when(event.happen)

    def from_host() -> Process:
        for event, source, count, staged in zip(arrived, in_host, moves.near, moves.far, strict=True):
            if event is None:
                continue
            if source is not None:
                yield source
            yield room.take(count)
            copied = near.transfer(count)
            copied.when(event.happen)
            if staged > 0:
                copied.when(lambda staged=staged: host_room.give(staged))  # type: ignore[misc]

    def device() -> Process:
        yield load.lead
        for event, count, seconds in zip(arrived, moves.near, load.seconds, strict=True):
            if event is not None:
                yield event
            yield seconds
            if event is not None:
                room.give(count)

    for process in (from_network, from_host, device):
        clock.start(process())
    return ChainOutcome(clock.run(), near.bytes, far.bytes, load.compute)
