# SPDX-License-Identifier: Apache-2.0
"""The table of key nodes against fetched keys."""

import key_node_results
import pytest

ROW = {
    "operation": "map of 64",
    "keys": 13,
    "fetched_bytes": 52_000_000,
    "first_bytes": 7_100_000,
    "moved_bytes": 2_910_000,
    "fewer_first": 7.32,
    "fewer": 17.87,
    "fetched_seconds": 0.5,
    "first_seconds": 0.25,
    "moved_seconds": 0.125,
}
CPU = {
    "schema": 1,
    "commit": "0123456789abcdef",
    "device": "cpu",
    "params": "n14-d7",
    "bytes_per_second": 125e6,
    "rows": [ROW],
}
GPU = CPU | {
    "device": "cuda:0",
    "node_device": "cuda:0",
    "report": {"model": "NVIDIA H200"},
    "clocks": {"after": {"driver_version": "580.1"}},
}


def test_a_row_has_bytes_ratios_and_seconds() -> None:
    lines = list(key_node_results.key_node_lines(CPU))
    assert lines[0].startswith("`halocline bench key-nodes` (**measured**, commit 0123456789), `n14-d7`")
    assert lines[-1] == (
        "| map of 64 | 13 | 52.00 MB | 7.10 MB | 2.91 MB | 7.3 times | 17.9 times | 0.500 | 0.250 | 0.125 |"
    )


def test_devices_are_named() -> None:
    first = next(key_node_results.key_node_lines(GPU))
    assert first.startswith(
        "`halocline bench key-nodes --device cuda:0 --node-device cuda:0` (**measured**, NVIDIA H200, driver "
        "580.1, commit 0123456789)"
    )


def test_a_run_that_counted_nothing_is_no_result() -> None:
    wrong = CPU | {"rows": [ROW, ROW | {"operation": "product", "fetched_bytes": 0}]}
    with pytest.raises(ValueError, match="no bytes of keys were counted for product"):
        list(key_node_results.key_node_lines(wrong))
    with pytest.raises(KeyError, match="schema 2"):
        list(key_node_results.key_node_lines(CPU | {"schema": 2}))
