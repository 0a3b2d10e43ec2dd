# SPDX-License-Identifier: Apache-2.0
"""How many keys a cache of equal keys has to load for a sequence of key switches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass


@dataclass
class Cached:
    """A key in the cache: positions of its load, its last use and its next one (None: there is none)."""

    loaded: int
    last_use: int
    next_use: int | None


def fifo_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was loaded first is evicted."""
    return _loads(keys, capacity, lambda key, _: (key.loaded,))


def lru_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was used least recently is evicted."""
    return _loads(keys, capacity, lambda key, _: (key.last_use,))


def belady_loads(keys: Sequence[Hashable], capacity: int, look_ahead: int | None = None) -> int:
    """Loads when the key with the farthest next use is evicted: the fewest that are possible.

    `look_ahead`: how many uses after the present one are known (None: all); of the keys without a known use
    the one that was used the longest ago is evicted.
    Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5 (1966).
    """

    def order(key: Cached, now: int) -> tuple[int, int]:
        known = key.next_use is not None and (look_ahead is None or key.next_use <= now + look_ahead)
        return (1, -key.next_use) if known and key.next_use is not None else (0, key.last_use)

    return _loads(keys, capacity, order)


def _next_uses(keys: Sequence[Hashable]) -> list[int | None]:
    result: list[int | None] = [None] * len(keys)
    following: dict[Hashable, int] = {}
    for position in reversed(range(len(keys))):
        result[position] = following.get(keys[position])
        following[keys[position]] = position
    return result


def _loads(keys: Sequence[Hashable], capacity: int, order: Callable[[Cached, int], tuple[int, ...]]) -> int:
    """Loads of a cache that is empty at first; the key that `order` puts first is evicted."""
    if capacity < 1:
        raise ValueError(f"a key cache of {capacity} keys; it needs room for at least one")
    following = _next_uses(keys)
    cache: dict[Hashable, Cached] = {}
    loads = 0
    for now, key in enumerate(keys):
        if key not in cache:
            loads += 1
            if len(cache) == capacity:
                del cache[min(cache, key=lambda each: order(cache[each], now))]
            cache[key] = Cached(now, now, None)
        cache[key].last_use = now
        cache[key].next_use = following[now]
    return loads
