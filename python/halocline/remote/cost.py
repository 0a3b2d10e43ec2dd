# SPDX-License-Identifier: Apache-2.0
"""Whether a request is cheaper at a key node than with keys that are fetched.

A key that is fetched serves later operations too, and how many there will be is unknown: to rent or to buy.
So a key is fetched when what was spent at the node instead of it would, with the present request, reach what
fetching it costs. For one key that costs at most twice what the best choice in hindsight costs, whatever
comes (the break-even rule of the ski-rental problem; Karlin, Manasse, Rudolph, Sleator, "Competitive snoopy
caching", Algorithmica 3, 1988).
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping

from ..base.values import positive


@dataclasses.dataclass(frozen=True)
class Link:
    """A way on which bytes travel."""

    bytes_per_second: float
    latency: float
    """Seconds that a request and its answer take besides their bytes."""

    def seconds(self, count: int, requests: int = 1) -> float:
        """Of so many bytes in so many requests, one after the other."""
        return count / self.bytes_per_second + requests * self.latency

    @classmethod
    def of(cls, rate: float, latency: float, what: str) -> Link:
        """Checked."""
        return cls(positive(rate, f"{what}: rate"), positive(latency, f"{what}: latency"))


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a request costs on either way."""

    keys: Mapping[int, int]
    """Galois element -> seeded bytes of each key that would have to be fetched."""
    moved_bytes: int
    """Ciphertexts there and back, and a map that the node does not have yet."""
    switches: int
    fetch_seconds: float
    node_seconds: float

    @property
    def key_bytes(self) -> int:
        """All keys that would have to be fetched."""
        return sum(self.keys.values())


def estimate(
    keys: Mapping[int, int],
    moved_bytes: int,
    switches: int,
    store: Link,
    node: Link,
    switch_seconds: float,
) -> Estimate:
    """Both costs: one request a key to the store; one to the node, which computes meanwhile."""
    fetch = store.seconds(sum(keys.values()), len(keys))
    away = node.seconds(moved_bytes) + switches * switch_seconds
    return Estimate(keys, moved_bytes, switches, fetch, away)


class Ledger:
    """Seconds that were spent at nodes in place of each key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: dict[int, float] = {}

    def is_cheaper_away(self, cost: Estimate) -> bool:
        """Whether the request should go to a node; it is not counted yet."""
        with self._lock:
            spent = sum(self._spent.get(each, 0.0) for each in cost.keys)
        return spent + cost.node_seconds < cost.fetch_seconds

    def spend(self, cost: Estimate) -> None:
        """Counts a request that went to a node, shared among its keys by their bytes."""
        with self._lock:
            for each, size in cost.keys.items():
                share = cost.node_seconds * size / cost.key_bytes
                self._spent[each] = self._spent.get(each, 0.0) + share
