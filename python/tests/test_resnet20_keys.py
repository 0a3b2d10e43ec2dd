# SPDX-License-Identifier: Apache-2.0
"""The key sequence of ResNet-20 and the counting of key loads, against published counts."""

from collections import Counter

import numpy as np
import pytest
from halocline.papers.hybrid.resnet20_keys import (
    CONJUGATION,
    SLOTS,
    Packing,
    average_pooling,
    bootstrapping,
    classifier,
    resnet20_key_sequence,
    resnet20_phases,
)
from key_loads import belady_loads, fifo_loads, lru_loads

# Key loads of one inference, counted elsewhere by replaying the reference implementation's index arithmetic.
REFERENCE = {
    8: (2766, 2695, 1895),
    16: (2183, 1970, 1569),
    32: (1604, 1568, 1013),
    64: (1168, 1033, 501),
    96: (825, 708, 331),
    128: (352, 310, 284),
}


def test_counts_of_each_phase():
    counts, bootstraps = Counter(), Counter()
    for phase, keys in resnet20_phases():
        counts[phase] += len(keys)
        bootstraps[len(keys)] += phase == "bootstrapping"
    assert counts["convolution"] == 1668
    assert counts["downsampling"] == 42
    assert (counts["pooling"], counts["classifier"]) == (21, 99)
    assert {k: n for k, n in bootstraps.items() if n} == {74 + 2: 6, 67 + 2: 6, 60 + 2: 6}
    assert sum(counts.values()) == len(resnet20_key_sequence()) == 3072


def test_distribution_of_the_keys():
    uses = Counter(resnet20_key_sequence())
    assert len(uses) == pytest.approx(284, rel=0.03)
    assert sum(count == 1 for count in uses.values()) == 101
    assert sum(count <= 2 for count in uses.values()) == 124
    assert {1024, 2048, 4096} <= {step for step, _ in uses.most_common(3)}
    assert uses[CONJUGATION] == 36
    assert all(0 <= step < SLOTS for step in uses)


@pytest.mark.parametrize("capacity", REFERENCE)
def test_loads_are_within_ten_percent(capacity):
    keys = resnet20_key_sequence()
    loads = [count(keys, capacity) for count in (fifo_loads, lru_loads, belady_loads)]
    print(f"{capacity} keys: FIFO, LRU, Belady {loads}, reference {REFERENCE[capacity]}")
    np.testing.assert_allclose(loads, REFERENCE[capacity], rtol=0.1)


def test_small_phases_do_what_they_say():
    pooling = average_pooling(Packing(64, 4, 8))
    assert pooling[:6] == [4, 8, 16, 128, 256, 512]
    steps, held = classifier(), 0
    reached = {0}
    for step in steps:
        held = held + step if held == 33 and step < 29 else step
        reached.add(held)
    assert {k % SLOTS for k in range(-9, 64)} <= reached
    assert [bootstrapping(k).count(CONJUGATION) for k in (12, 13, 14)] == [2, 2, 2]


def brute_force(keys, capacity):
    """Fewest loads over all choices of what to evict."""
    states = {frozenset(): 0}
    for key in keys:
        after: dict[frozenset, int] = {}
        for held, loads in states.items():
            if key in held:
                options = [(held, loads)]
            elif len(held) < capacity:
                options = [(held | {key}, loads + 1)]
            else:
                options = [(held - {gone} | {key}, loads + 1) for gone in held]
            for state, count in options:
                after[state] = min(count, after.get(state, count))
        states = after
    return min(states.values(), default=0)


@pytest.mark.parametrize("seed", range(20))
def test_belady_is_optimal(seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 6, 40).tolist()
    for capacity in range(1, 6):
        best = brute_force(keys, capacity)
        assert belady_loads(keys, capacity) == best
        assert best <= min(lru_loads(keys, capacity), fifo_loads(keys, capacity))


# Belady's anomaly (Belady, Nelson, Shedler 1969): FIFO loads more with four places than with three.
ANOMALY = (1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("count", "three", "four"), [(fifo_loads, 9, 10), (lru_loads, 10, 8), (belady_loads, 7, 6)]
)
def test_anomaly_by_hand(count, three, four):
    assert [count(ANOMALY, capacity) for capacity in (3, 4)] == [three, four]
    assert count(ANOMALY, 100) == 5


def test_cycles_are_the_worst_case_of_lru():
    cycle = [i % 5 for i in range(40)]
    assert lru_loads(cycle, 4) == fifo_loads(cycle, 4) == 40
    # Five loads to begin with; from then on one place changes: a load per four uses.
    assert belady_loads(cycle, 4) == 13
    assert lru_loads(cycle, 5) == 5


def test_look_ahead_reaches_from_lru_to_the_optimum():
    keys = np.random.default_rng(12345).integers(0, 40, 600).tolist()
    least_recent, best = lru_loads(keys, 12), belady_loads(keys, 12)
    assert belady_loads(keys, 12, 0) == least_recent
    assert belady_loads(keys, 12, len(keys)) == best
    assert best < belady_loads(keys, 12, 20) < least_recent
