# SPDX-License-Identifier: Apache-2.0
"""Replays of the hybrid unified-memory paper, with the smallest parameters."""

import numpy as np
import pytest
from halocline.papers.hybrid.replay import (
    POLICIES,
    RATIOS,
    bm_bootstrap,
    multiplication,
    oversubscribed,
    sessions,
)
from halocline.papers.hybrid.traces import OPERATIONS


def test_managed_multiplication_is_several_times_slower():
    found = multiplication()
    assert found["managed"]["warm"] > 3 * found["async"]["warm"]
    assert found["managed"]["mean"] > found["managed"]["warm"]  # the first one faults its keys in


def test_sessions_have_all_operations_of_all_policies():
    rows = sessions(("FTb",), repeats=2)
    assert len(rows) == 2 * len(POLICIES)
    for row in rows:
        assert list(row["operations"]) == list(OPERATIONS)
        for each in row["operations"].values():
            assert 0 < each["low"] <= each["mean"] <= each["high"]
    means = {(row["device"], row["policy"]): row["operations"]["bootstrap"]["mean"] for row in rows}
    assert means["gtx1050", "static"] < means["gtx1050", "managed"]
    assert means["gtx1050", "planned"] == min(m for (device, _), m in means.items() if device == "gtx1050")


def test_bm_bootstrap_reports_lifetimes_and_thresholds():
    found = bm_bootstrap(("FTb",))
    assert [row["ratio"] for row in found["profiled"]] == list(RATIOS)
    peaks = [row["bytes"] for row in found["pool_peaks"]]
    assert peaks == sorted(peaks)
    assert peaks[-1] == found["peak_bytes"]
    assert 0 < found["share_below_1_percent"] <= found["share_below_1s"] <= 1
    seconds = np.array([row["seconds"] for row in found["profiled"]])
    assert seconds.max() <= found["policies"]["managed"]["seconds"] * (1 + 1e-9)


def test_half_the_memory():
    (row,) = oversubscribed(("FTb",))
    times = {name: each["seconds"] for name, each in row["policies"].items()}
    best = min(times[name] for name in ("managed", "static", "profiled", "dynamic"))
    assert times["planned"] < times["lru"] < best
    assert times["planned"] * 2 <= best
    assert row["budget_bytes"] == pytest.approx(2e9, rel=0.5)
