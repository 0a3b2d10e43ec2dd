# SPDX-License-Identifier: Apache-2.0
"""The storage study with two links: a network, host memory, PCIe."""

from __future__ import annotations

import math
import random

import halocline as hc
import pytest
from halocline.papers.storage.chain import HOST_SHARE, Chain, simulate_chain
from halocline.papers.storage.loads import KeyLoad, lru_misses
from halocline.papers.storage.options import StorageOptions
from halocline.papers.storage.streaming import POLICIES, simulate

FAST = 1e15


def random_load(seed: int, uses: int = 60, pieces: int = 8) -> KeyLoad:
    rng = random.Random(seed)
    sizes = [rng.choice((1.0, 2.0, 3.0)) for _ in range(pieces)]
    piece = [rng.randrange(pieces) for _ in range(uses)]
    seconds = [rng.choice((0.0, 0.5, 1.0, 2.0)) for _ in range(uses)]
    return KeyLoad(piece, [sizes[each] for each in piece], seconds, rng.random())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("policy", POLICIES)
def test_a_fast_network_leaves_one_link(seed: int, policy: str) -> None:
    load = random_load(seed)
    one = simulate(load, 2.0, policy, 12.0)
    two = simulate_chain(load, Chain(2.0, FAST, 12.0, 1000.0), policy)
    assert two.seconds == pytest.approx(one.seconds, rel=1e-9)
    assert two.near_bytes == pytest.approx(one.loaded_bytes)
    each_once = sum({p: b for p, b in zip(load.piece, load.bytes, strict=True)}.values())
    assert two.far_bytes == each_once, "host memory keeps everything"


@pytest.mark.parametrize("seed", range(10))
def test_waiting_is_the_sum_of_all_parts(seed: int) -> None:
    load, chain = random_load(seed), Chain(3.0, 0.5, 6.0, 9.0)
    far = sum(lru_misses(load, chain.host_memory))
    found = simulate_chain(load, chain, "none")
    assert (found.near_bytes, found.far_bytes) == (load.total_bytes, far)
    assert found.seconds == pytest.approx(load.compute + load.total_bytes / 3.0 + far / 0.5, rel=1e-12)


def naive_ahead(load: KeyLoad, chain: Chain) -> float:
    """Ends by recurrence, with nothing kept on the card: each link in order, as buffers have room."""
    far = lru_misses(load, (1 - HOST_SHARE) * chain.host_memory)
    staged = HOST_SHARE * chain.host_memory
    in_host, on_card, used, now = [0.0] * len(far), [0.0] * len(far), [], load.lead

    def opens(counts: list[float], place: int, room: float, ends: list[float]) -> float:
        """When the uses before `place` that stand in its way have given their bytes back."""
        first = next(k for k in range(place + 1) if sum(counts[k : place + 1]) <= room)
        return max(ends[:first], default=0.0)

    sent, copied = 0.0, 0.0
    for place, count in enumerate(load.bytes):
        if far[place]:
            sent = max(sent, opens(far, place, staged, on_card)) + far[place] / chain.far
            in_host[place] = sent
        copied = max(copied, in_host[place], opens(load.bytes, place, chain.key_memory, used))
        copied += count / chain.near
        on_card[place] = copied
        now = max(now, copied) + load.seconds[place]
        used.append(now)
    return now


@pytest.mark.parametrize("seed", range(20))
def test_loading_ahead_over_two_links_equals_a_naive_recurrence(seed: int) -> None:
    rng = random.Random(seed)
    chain = Chain(
        rng.choice((1.0, 4.0)), rng.choice((0.5, 2.0)), rng.choice((3.0, 7.0)), rng.choice((16.0, 40.0))
    )
    print("seed", seed, chain)
    load = random_load(seed)
    assert simulate_chain(load, chain, "prefetch").seconds == pytest.approx(
        naive_ahead(load, chain), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(10))
def test_planning_loses_to_no_other_policy_and_keeps_its_bound(seed: int) -> None:
    load, chain = random_load(seed), Chain(2.0, 0.5, 16.0, 40.0)
    runs = {policy: simulate_chain(load, chain, policy) for policy in POLICIES}
    for each in runs.values():
        assert each.slowdown >= each.bound(chain) * (1 - 1e-12)
        assert each.far_bytes <= each.near_bytes + 1e-9
    assert runs["planned"].seconds <= min(runs["prefetch"].seconds, runs["none"].seconds) + 1e-9


def test_what_cannot_be_simulated_is_refused() -> None:
    load = random_load(1)
    with pytest.raises(hc.InvalidArgument, match="at least the largest piece"):
        simulate_chain(load, Chain(1.0, 1.0, 100.0, 2.0), "lru")
    with pytest.raises(hc.InvalidArgument, match="at least 4 times as much"):
        simulate_chain(load, Chain(1.0, 1.0, 100.0, 4.0), "planned")
    with pytest.raises(hc.InvalidArgument, match="unknown policy"):
        simulate_chain(load, Chain(1.0, 1.0, 100.0, 100.0), "magic")
    with pytest.raises(hc.InvalidArgument, match="above 0"):
        simulate_chain(load, Chain(1.0, math.nan, 100.0, 100.0), "lru")
    with pytest.raises(hc.InvalidArgument, match=r"host_memory.*at least 1GB"):
        StorageOptions(host_memory="1MiB")
