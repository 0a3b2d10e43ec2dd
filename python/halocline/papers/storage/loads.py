# SPDX-License-Identifier: Apache-2.0
"""Key sequences as loads of an accelerator, and what caches leave of them."""

from __future__ import annotations

import dataclasses
import heapq
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from ...base.errors import InvalidArgument
from .sequence import KeySequence

_NEVER = 1 << 62


@dataclasses.dataclass(frozen=True)
class KeyLoad:
    """Uses of pieces of keys with bytes and seconds of an accelerator."""

    piece: list[int]
    bytes: list[float]
    """That each use needs of its piece, from the beginning of it."""
    seconds: list[float]
    """Of arithmetic from each use to the next."""
    lead: float
    """Seconds before the first use."""

    @property
    def compute(self) -> float:
        """All seconds of arithmetic."""
        return self.lead + sum(self.seconds)

    @property
    def total_bytes(self) -> float:
        """With each use fetched."""
        return sum(self.bytes)

    def users(self, count: int, rounds: int = 1) -> KeyLoad:
        """So many users in turn, each with keys of its own, `rounds` times."""
        width = max(self.piece) + 1
        order = [user for _ in range(rounds) for user in range(count)]
        seconds = list(self.seconds)
        seconds[-1] += self.lead  # before the first use of the next user
        seconds = seconds * len(order)
        seconds[-1] -= self.lead
        pieces = [user * width + each for user in order for each in self.piece]
        return KeyLoad(pieces, list(self.bytes) * len(order), seconds, self.lead)

    def split(self, most: float) -> KeyLoad:
        """The same with pieces of at most so many bytes, so that memories hold several of them."""
        largest = max(self.bytes)
        if largest <= most:
            return self
        parts = int(-(-largest // most))
        piece, counts, seconds = [], [], []
        for number, count, time in zip(self.piece, self.bytes, self.seconds, strict=True):
            begin, part = 0.0, 0
            while begin < count:
                size = min(most, count - begin)
                piece.append(number * parts + part)
                counts.append(size)
                seconds.append(time * size / count)
                begin, part = begin + most, part + 1
        return KeyLoad(piece, counts, seconds, self.lead)


def scaled(sequence: KeySequence, seconds: float, key_bytes: float) -> KeyLoad:
    """A sequence whose arithmetic takes so long and which reads so many bytes, each use fetched."""
    time, size = seconds / sequence.total_work, key_bytes / sequence.read_bytes
    return KeyLoad(
        sequence.piece.tolist(),
        (sequence.sizes * size).tolist(),
        (sequence.work * time).tolist(),
        sequence.lead * time,
    )


def lru_misses(load: KeyLoad, capacity: float) -> list[float]:
    """Bytes that each use fetches where the least recently used piece leaves first."""
    held: OrderedDict[int, float] = OrderedDict()
    used, fetched = 0.0, []
    for piece, count in zip(load.piece, load.bytes, strict=True):
        there = held.pop(piece, 0.0)
        fetched.append(max(0.0, count - there))
        used += fetched[-1]
        held[piece] = max(there, count)
        while used > capacity and len(held) > 1:
            used -= held.popitem(last=False)[1]
    return fetched


def next_uses(pieces: Sequence[int]) -> list[int]:
    """For each use the place of the next one of the same piece; a large number where there is none."""
    following: dict[int, int] = {}
    found = [_NEVER] * len(pieces)
    for place in range(len(pieces) - 1, -1, -1):
        found[place] = following.get(pieces[place], _NEVER)
        following[pieces[place]] = place
    return found


def planned_misses(load: KeyLoad, capacity: float) -> list[float]:
    """Bytes that each use fetches where the piece whose next use is farthest leaves first (Belady, 1966).

    A piece that is needed later than all that is held is not kept. Optimal for pieces of one size; prefixes
    of several lengths make it a heuristic.
    """
    after = next_uses(load.piece)
    held: dict[int, float] = {}
    due: dict[int, int] = {}
    queue: list[tuple[int, int]] = []
    used, fetched = 0.0, []
    for piece, count, following in zip(load.piece, load.bytes, after, strict=True):
        there = held.pop(piece, 0.0)
        used -= there
        fetched.append(max(0.0, count - there))
        if following == _NEVER:
            due.pop(piece, None)
            continue
        held[piece], due[piece] = max(there, count), following
        used += held[piece]
        heapq.heappush(queue, (-following, piece))
        while used > capacity:
            farthest, victim = heapq.heappop(queue)
            if victim in held and due[victim] == -farthest:
                used -= held.pop(victim)
    return fetched


def expect_capacity(load: KeyLoad, capacity: float) -> None:
    """Raises InvalidArgument where not even the largest piece fits."""
    largest = max(load.bytes)
    if not np.isfinite(capacity) or capacity < largest:
        raise InvalidArgument(
            f"paper storage: key memory of {capacity:.0f} bytes; expected at least the largest piece of a "
            f"key, {largest:.0f}"
        )
