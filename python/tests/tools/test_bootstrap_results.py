# SPDX-License-Identifier: Apache-2.0
"""Tables of bootstrapping by budget and by policy."""

import bootstrap_results
import pytest

GIB = 1 << 30
ORIGIN = {
    "schema": 1,
    "commit": "0123456789abcdef",
    "device": "cuda:0",
    "report": {"model": "NVIDIA H200", "driver_version": 13000},
    "clocks": {"after": {"driver_version": "580.1"}},
}
BASE = {"policy": "resident", "batch": 1, "memory": "all", "seconds": 0.0215, "slowdown": 1.0}
CURVE = ORIGIN | {
    "suite": "bootstrap-budget",
    "simulated": False,
    "params": "n16-boot",
    "bootstrap": {"slots": 8, "order": "cts_first", "compact": True},
    "batches": [{"batch": 1, "footprint_bytes": 14 * GIB, "minimum_bytes": GIB}],
    "rows": [
        BASE,
        BASE | {"policy": "planned", "memory": "50%", "slowdown": 1.2345},
        {"policy": "planned", "batch": 1, "memory": "1%", "out_of_memory": "no"},
        BASE | {"policy": "managed", "memory": "50%", "slowdown": 12.0},
    ],
}
TIMES = {"mean": 0.00125, "deviation": 0.0001, "low": 0.001, "high": 0.002}
OPERATIONS = ORIGIN | {
    "suite": "bm-operations",
    "repeats": 10,
    "bootstrap": {"compact": True, "cts_mode": "small_key"},
    "sessions": [
        {"params": "FGa-boot", "policy": "lru", "memory": "6GiB", "budget_bytes": 6 * GIB}
        | {"operations": {"add": TIMES, "bootstrap": TIMES | {"mean": 0.5}}},
        {
            "params": "FGa-boot",
            "policy": "resident",
            "memory": "6GiB",
            "budget_bytes": 6 * GIB,
            "out_of_memory": "",
        },
    ],
}
RUN = {"footprint_bytes": 23 * GIB, "presets": [{"params": "FTa-boot"}], "rows": [{"kind": "small-key"}]}
ROW = {
    "policy": "profiled",
    "async_peak": 0.4,
    "memory": "60%",
    "budget_bytes": 14 * GIB,
    "seconds": 1.5,
    "stall_seconds": 0.5,
    "moved_bytes": GIB,
    "worst_bits": 15.25,
    "failed": None,
}
BM = ORIGIN | {
    "suite": "bm-bootstrap",
    "runs": [RUN],
    "rows": [ROW, ROW | {"policy": "resident", "async_peak": None, "seconds": None, "failed": "FVb-boot"}],
}


def test_curve():
    text = "\n".join(bootstrap_results.curve_lines(CURVE))
    assert "NVIDIA H200, driver 580.1" in text
    assert "slots=8, compact=True" in text
    assert "`resident` 21.5 ms in 14.00 GiB; the least for a\nplan is 1.00 GiB, 7.1%." in text
    assert "| policy | 50% | 1% |" in text
    assert "| `planned` | 1.23 | too small |" in text
    assert "| `managed` | 12 | - |" in text
    simulated = CURVE | {"simulated": True, "report": None, "device": "a40"}
    assert "replayed on a device model" in next(iter(bootstrap_results.curve_lines(simulated)))


def test_operations():
    lines = list(bootstrap_results.operations_lines(OPERATIONS))
    assert "10 in a row, cts_mode=small_key" in lines[1]
    assert lines[-2] == "| `FGa-boot` | 6.0 GiB (6GiB) | `lru` | 1.25 +- 0.1 | 500 +- 0.1 |"
    assert lines[-1] == "| `FGa-boot` | 6.0 GiB (6GiB) | `resident` | - | - |"


def test_bm_bootstrap():
    lines = list(bootstrap_results.bm_lines(BM))
    assert "`FTa-boot`" in lines[0]
    assert lines[-2] == "| `profiled` | 40% | 14.0 GiB (60%) | 1.5 | 0.5 | 1 | 15.2 |"
    assert "out of memory with `FVb-boot`" in lines[-1]


@pytest.mark.parametrize("read", [bootstrap_results.curve_lines, bootstrap_results.operations_lines])
def test_other_results_are_refused(read):
    with pytest.raises(KeyError, match="expected"):
        list(read(BM))
