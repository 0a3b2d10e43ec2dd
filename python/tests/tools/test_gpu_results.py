# SPDX-License-Identifier: Apache-2.0
"""Tables of GPU results."""

import gpu_results
import pytest

ORIGIN = {
    "schema": 1,
    "commit": "0123456789abcdef",
    "device": "cuda:0",
    "report": {"model": "NVIDIA H200", "driver_version": 13000},
    "clocks": {"before": {}, "after": {"driver_version": "580.1"}},
}
ROW = {
    "set": "w32-47",
    "limbs": 47,
    "operation": "add",
    "us": 14.25,
    "eager_us": 16.5,
    "graph_us": 14.25,
    "eager_turns_us": 18.75,
    "peer_us": 18.8,
    "target_us": 15,
    "bytes_floor_us": 18.57,
    "arithmetic_floor_us": 0.0,
    "of_floor": 0.767,
}
OPERATIONS = ORIGIN | {
    "suite": "operations",
    "samples": 21,
    "operand_sets": 4,
    "sets": {"w32-47": {"n": 65536, "word_bits": 32, "log_pq": 1731.6, "security_bits": 129.0}},
    "rows": [ROW, ROW | {"operation": "ntt_batch", "us": 130.4, "graph_us": None, "peer_us": None}],
}
RATIO = ORIGIN | {
    "suite": "ratio",
    "budget_bytes": 256 << 20,
    "sweep": [
        {"oversubscription": o, "async_share": s}
        | {f"{name}_seconds": o * 0.01 for name in ("allocate", "copy", "addition", "butterfly", "free")}
        for o in (1.0, 2.0)
        for s in (0.0, 0.95)
    ],
    "allocations": [
        {"method": "cudaMalloc", "bytes": 4096, "allocate_us": 1.5, "touch_us": 2.5, "free_us": 4.0},
        {"method": "managed pool", "bytes": 1 << 30},
    ],
    "multiplication": [{"policy": "async", "params": "w64-28", "us": 812.0}],
}


def test_operations_table():
    lines = list(gpu_results.operations_lines(OPERATIONS))
    assert "(NVIDIA H200, driver 580.1, commit 0123456789)" in lines[1]
    assert "N 2^16, 32-bit words, log PQ 1732, 129 bits of security" in lines[3]
    assert lines[5].count("|") == lines[6].count("|") == lines[7].count("|")
    assert lines[7] == "| add | **14.2** | 18.8 | 15.0 yes | 16.5 | 14.2 | 18.8 | 18.6 | 0.0 | 0.77 |"
    assert "**130** | - | 15.0 no" in lines[8]


def test_kernels_table():
    row = {
        "variant": "table",
        "median_us": 14.9,
        "byte_floor_us": 17.5,
        "mad_floor_us": 0,
        "over_floor": 0.85,
    }
    lost = {**row, "op": "add", "limbs": 47, "variant": "first, first, last", "median_us": 16.9}
    data = {
        "suite": "kernels",
        "schema": 1,
        "device": "NVIDIA H200",
        "driver": "580",
        "commit": "0123456789ab",
    }
    data |= {"log_n": 16, "bandwidth_bytes_per_s": 4.23e12, "mads_per_s": 4.61e12}
    data["rows"] = [lost] + [{**row, "op": "add", "limbs": limbs} for limbs in (47, 23)]
    text = "\n".join(gpu_results.kernels_lines(data))
    assert "NVIDIA H200, driver 580, commit 0123456789" in text
    assert "| `add` | **14.9** | 17.5 | 0.0 | 0.85 | **14.9** | 17.5 | 0.0 | 0.85 |" in text
    assert "16.9" not in text


def test_ratio_tables():
    lines = list(gpu_results.ratio_lines(RATIO))
    assert "budget 256 MiB" in lines[0]
    assert lines[2] == "| data, of the budget | phase | 0 % async | 95 % async |"
    assert "| 200 % | butterfly | 20.0 | 20.0 |" in lines
    assert "| cudaMalloc | 8.0 | - |" in lines
    assert lines[-1].endswith("`async` 812.")


@pytest.mark.parametrize("change", [{"schema": 2}, {"suite": "digits"}])
@pytest.mark.parametrize("read", [gpu_results.operations_lines, gpu_results.ratio_lines])
def test_other_files_are_refused(read, change):
    data = (OPERATIONS if read is gpu_results.operations_lines else RATIO) | change
    with pytest.raises(KeyError, match="expected"):
        list(read(data))
