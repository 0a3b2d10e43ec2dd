# SPDX-License-Identifier: Apache-2.0
"""How many keys a cache of equal keys has to load for a sequence of key switches."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Hashable, Sequence

from ..errors import InvalidArgument


def fifo_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was loaded first is evicted."""
    return _ordered_loads(keys, capacity, refresh=False)


def lru_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was used least recently is evicted."""
    return _ordered_loads(keys, capacity, refresh=True)


def _ordered_loads(keys: Sequence[Hashable], capacity: int, refresh: bool) -> int:
    _check(capacity)
    held: OrderedDict[Hashable, None] = OrderedDict()
    loads = 0
    for key in keys:
        if key in held:
            if refresh:
                held.move_to_end(key)
            continue
        loads += 1
        if len(held) == capacity:
            held.popitem(last=False)
        held[key] = None
    return loads


def belady_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key with the farthest next use is evicted: the fewest that are possible.

    Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5 (1966).
    """
    _check(capacity)
    next_use = _next_uses(keys)
    held: dict[Hashable, int] = {}
    farthest: list[tuple[int, int]] = []  # (-next use, position of the key); entries may be out of date
    loads = 0
    for position, key in enumerate(keys):
        if key not in held:
            loads += 1
            if len(held) == capacity:
                _evict(held, farthest, keys)
        held[key] = next_use[position]
        heapq.heappush(farthest, (-next_use[position], position))
    return loads


def _next_uses(keys: Sequence[Hashable]) -> list[int]:
    """For each position the next one with the same key; the length when there is none."""
    later: dict[Hashable, int] = {}
    found = [len(keys)] * len(keys)
    for position in range(len(keys) - 1, -1, -1):
        found[position] = later.get(keys[position], len(keys))
        later[keys[position]] = position
    return found


def _evict(held: dict[Hashable, int], farthest: list[tuple[int, int]], keys: Sequence[Hashable]) -> None:
    """Drops the key with the farthest next use."""
    while True:
        negative, position = heapq.heappop(farthest)
        if held.get(keys[position]) == -negative:
            del held[keys[position]]
            return


def _check(capacity: int) -> None:
    if capacity < 1:
        raise InvalidArgument(f"key loads: a cache of {capacity} keys, expected at least 1")
