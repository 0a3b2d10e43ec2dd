# SPDX-License-Identifier: Apache-2.0
"""Loads of caches of equal keys, by hand and between the rules."""

import random

import halocline as hc
import pytest
from key_loads import belady_loads, fifo_loads, lru_loads

# Belady's anomaly (Belady, Nelson, Shedler 1969): FIFO loads more with four places than with three.
ANOMALY = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]


def test_counts_by_hand():
    counts = [[rule(ANOMALY, places) for places in (3, 4)] for rule in (fifo_loads, lru_loads, belady_loads)]
    assert counts == [[9, 10], [10, 8], [7, 6]]


def test_small_sequences_by_hand():
    keys = list("abcab")
    assert [fifo_loads(keys, c) for c in (1, 2, 3)] == [5, 5, 3]
    assert lru_loads(list("abacab"), 2) == 4
    assert fifo_loads(list("abacab"), 2) == 5


def test_cycles_are_the_worst_case_of_lru():
    cycle = [i % 5 for i in range(40)]
    assert lru_loads(cycle, 4) == 40
    assert fifo_loads(cycle, 4) == 40
    # Five loads to begin with; from then on one place changes: a load per four uses.
    assert belady_loads(cycle, 4) == 13
    assert lru_loads(cycle, 5) == 5


def test_look_ahead_reaches_from_lru_to_the_optimum():
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    keys = random.Random(seed).choices(range(40), k=600)
    lru, best = lru_loads(keys, 12), belady_loads(keys, 12)
    assert belady_loads(keys, 12, look_ahead=0) == lru
    assert belady_loads(keys, 12, look_ahead=len(keys)) == best
    assert best < belady_loads(keys, 12, look_ahead=20) < lru


@pytest.mark.parametrize("rule", [fifo_loads, lru_loads, belady_loads])
def test_limits(rule):
    assert rule([], 3) == 0
    assert rule(ANOMALY, 1) == len(ANOMALY)
    assert rule(ANOMALY, 100) == 5
    assert rule("aaaa", 1) == rule("aaaa", 4) == 1
    with pytest.raises(hc.InvalidArgument, match="at least one"):
        rule(ANOMALY, 0)
