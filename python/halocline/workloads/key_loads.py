# SPDX-License-Identifier: Apache-2.0
"""How many keys a cache of equal keys has to load for a sequence of key switches."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .. import _core


def fifo_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was loaded first is evicted."""
    return _loads(keys, capacity, "fifo")


def lru_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key that was used least recently is evicted."""
    return _loads(keys, capacity, "lru")


def belady_loads(keys: Sequence[Hashable], capacity: int) -> int:
    """Loads when the key with the farthest next use is evicted: the fewest that are possible.

    Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5 (1966).
    """
    return _loads(keys, capacity, "min")


def _loads(keys: Sequence[Hashable], capacity: int, rule: str) -> int:
    numbers: dict[Hashable, int] = {}
    numbered = [numbers.setdefault(key, len(numbers)) for key in keys]
    return _core.key_loads(numbered, max(0, capacity), rule)
