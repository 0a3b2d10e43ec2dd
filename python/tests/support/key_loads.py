# SPDX-License-Identifier: Apache-2.0
"""How many keys a cache of equal keys has to load for a sequence of key switches.

The cache is empty at first; a use of a key that is not there loads it, and no key passes by the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import halocline as hc

_NEVER = 1 << 62


@dataclass
class _Held:
    """A key in the cache: positions in the sequence."""

    loaded: int
    last_use: int
    next_use: int


def fifo_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was loaded first is evicted."""
    return _loads(keys, capacity, lambda held, now: held.loaded)


def lru_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was used least recently is evicted."""
    return _loads(keys, capacity, lambda held, now: held.last_use)


def belady_loads(keys: Sequence[Hashable], capacity: int, look_ahead: int = _NEVER) -> int:
    """Loads when the key with the farthest next use is evicted: the fewest that are possible.

    look_ahead: how many uses after the present one are known. Of the keys without a known use the one
    that was used least recently leaves.

    Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5 (1966).
    """
    return _loads(keys, capacity, partial(_belady_rank, look_ahead))


def _belady_rank(look_ahead: int, held: _Held, now: int) -> tuple[bool, int]:
    known = held.next_use < _NEVER and held.next_use <= now + look_ahead
    return known, -held.next_use if known else held.last_use


def _next_uses(keys: Sequence[Hashable]) -> list[int]:
    result, following = [_NEVER] * len(keys), dict[Hashable, int]()
    for i in reversed(range(len(keys))):
        result[i] = following.get(keys[i], _NEVER)
        following[keys[i]] = i
    return result


def _loads(
    keys: Sequence[Hashable], capacity: int, rank: Callable[[_Held, int], int | tuple[bool, int]]
) -> int:
    """Loads; of a full cache the key of the lowest rank leaves. O(uses * capacity)."""
    if capacity < 1:
        raise hc.InvalidArgument(f"a key cache of {capacity} keys; expected room for at least one key")
    cache: dict[Hashable, _Held] = {}
    loads = 0
    for now, (key, following) in enumerate(zip(keys, _next_uses(keys), strict=True)):
        if key not in cache:
            if len(cache) == capacity:
                del cache[min(cache, key=lambda each: rank(cache[each], now))]
            cache[key] = _Held(now, now, following)
            loads += 1
        cache[key].last_use, cache[key].next_use = now, following
    return loads
