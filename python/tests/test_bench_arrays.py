# SPDX-License-Identifier: Apache-2.0
"""`halocline bench arrays`: rows with right results, levels and keys; what is refused."""

import halocline as hc
import pytest
from halocline.bench.arrays import ArrayOptions, run
from halocline.bench.keeping import Watcher

SMALL = {"allow_insecure": True, "size": 8, "samples": 20, "variables": 3, "repetitions": 1, "threads": 1}


def test_rows_hold_levels_keys_and_errors():
    kept = []
    watcher = Watcher(keep=lambda content, done, total: kept.append((len(content["rows"]), done, total)))
    content = run(ArrayOptions(params="test-n12-d14", **SMALL), watcher)
    assert kept == [(n, n, 4) for n in (1, 2, 3, 4)]
    lowest, highest, plain, correlations = content["rows"]
    assert lowest["level_in"] == 3 and highest["level_in"] == 14
    assert lowest["level_in"] - lowest["level_out"] == highest["level_in"] - highest["level_out"]
    assert plain["level_out"] == correlations["level_out"] == 0
    for row in content["rows"]:
        # 20 bits of 1 / sqrt(variance) are the least precise step of all programs.
        assert row["error"] < 2.0**-15
        assert 0 < row["least_seconds"] <= row["seconds"] and row["key_bytes"] > 0
    assert lowest["key_bytes"] < highest["key_bytes"] / 2


def test_parameters_of_few_levels_have_products_only():
    content = run(ArrayOptions(params="test-n10-d3", **SMALL))
    assert [row["level_in"] for row in content["rows"]] == [3, 1]
    with pytest.raises(hc.InvalidArgument):
        run(ArrayOptions(params="test-n10-d3", **SMALL | {"size": 0}))
