# SPDX-License-Identifier: Apache-2.0
"""Tables of networks, training and sorting, and of ResNet-20 within budgets."""

import json

import application_results
import pytest
import update_results

GIB = 1 << 30
ORIGIN = {
    "folder": "box",
    "commit": "0123456789abcdef",
    "driver": "1.2",
    "policy": "resident",
    "budget_bytes": 0,
}
NETWORK = ORIGIN | {
    "file": "run_resnet20",
    "workload": "resnet20",
    "images": 100,
    "seconds_per_image": 0.4144,
    "agreement": 0.99,
    "logit_error": 2.0**-6,
    "peak_bytes": 10 * GIB,
    "bytes_moved": {},
    "stall_seconds": 0.0,
    "footprint_bytes": 10 * GIB,
    "footprint": {
        "evaluation_key": 6 * GIB,
        "plaintext": 3 * GIB,
        "ciphertext": GIB,
        "scratch": 0,
        "table": 0,
    },
}
WITHIN = NETWORK | {
    "file": "run_resnet20_planned_60",
    "policy": "planned",
    "budget_bytes": 6 * GIB,
    "seconds_per_image": 0.8288,
    "images": 2,
    "bytes_moved": {"loaded": 20 * GIB},
}
TRAINING = ORIGIN | {
    "file": "run_helr",
    "workload": "helr",
    "data": "MNIST",
    "samples": 1024,
    "features": 196,
    "iterations": 32,
    "bootstraps": 7,
    "ms_per_iteration": 5.874,
    "ms_per_iteration_bootstrap": 2.7,
    "ms_per_iteration_rest": 3.1,
    "ms_per_bootstrap": 12.5,
    "accuracy": 0.95625,
    "accuracy_plain": 0.95625,
    "accuracy_exact": 0.9573,
    "precision_bits": 17.9,
    "precision_worst_bits": 16.1,
    "distinct_keys": 54,
    "key_bytes": 4 * GIB,
    "peak_bytes": 5 * GIB,
    "footprint": {"engine keys": 4 * GIB, "engine tables": GIB},
}
SORTING = TRAINING | {
    "file": "run_sorting",
    "workload": "sorting",
    "count": 16384,
    "alpha": 11,
    "stages": 105,
    "bootstraps": 104,
    "sort_seconds": 1.748,
    "bootstrap_seconds": 1.2,
    "ms_per_stage": 15.03,
    "max_error": 2.0**-8,
    "max_error_simulated": 0.004,
    "mean_error": 0.0006,
    "key_switches": 11563,
}
ROW = {"policy": "resident", "memory": "all", "budget_bytes": 0, "share": None, "seconds": 2.0}


def row(policy, seconds, memory="60%"):
    return {"policy": policy, "memory": memory, "budget_bytes": 6 * GIB, "share": 0.6, "seconds": seconds}


BUDGET = {
    "suite": "resnet20-budget",
    "schema": 1,
    "device": "a40",
    "simulated": True,
    "commit": "0123456789abcdef",
    "batches": [{"batch": 1, "footprint_bytes": 10 * GIB, "minimum_bytes": GIB}],
    "rows": [
        ROW,
        row("planned", 2.5),
        row("lru", 5.0),
        row("profiled@65%", 10.0),
        row("static", 7.5),
        {"policy": "managed", "memory": "60%", "budget_bytes": 6 * GIB, "share": 0.6, "out_of_memory": "no"},
    ],
}


def test_networks_by_run():
    text = "\n".join(application_results.network_lines([WITHIN, NETWORK]))
    assert "(box, driver 1.2, commit 0123456789)" in text
    first = "| as it is | `resident` | none | 100 | 0.414 | 1 | 99 % | 0.0156 (2^-6.0) | 10.00 GiB |"
    second = (
        "| planned 60 | `planned` | 6.00 GiB (60%) | 2 | 0.829 | 2 | 99 % | 0.0156 (2^-6.0) | 10.00 GiB |"
    )
    assert text.index(first) < text.index(second)
    assert "| as it is | 6.00 GiB | 3.00 GiB | 1.00 GiB | 0.00 GiB | 0.00 GiB | 10.00 GiB |" in text
    assert text.count("| planned 60 |") == 1  # the footprint is the same


def test_training_and_sorting():
    text = "\n".join(application_results.training_lines(TRAINING))
    assert "| ms an iteration | 5.87 |" in text
    assert "| accuracy on held-out samples | 95.62 % |" in text
    assert "| footprint by class | keys 4.00 GiB, weights 0.00 GiB" in text
    text = "\n".join(application_results.sorting_lines(SORTING))
    assert "| seconds | 1.75 |" in text and "| largest error | 0.00391 (2^-8.0) |" in text
    for lines, data in (("training_lines", SORTING), ("sorting_lines", TRAINING)):
        with pytest.raises(KeyError, match="workload"):
            list(getattr(application_results, lines)(data))


def test_summary_takes_the_run_with_room():
    (text,) = application_results.summary_lines([TRAINING, WITHIN, SORTING, NETWORK])
    assert text.startswith(
        "`halocline run` (box, driver 1.2, commit 0123456789): `resnet20` 0.414 s an image, 99 % of 100"
    )
    assert "; `helr` 5.87 ms an iteration" in text and "; `sorting` 16384 numbers in 1.75 s" in text
    (text,) = application_results.summary_lines([WITHIN])
    assert "policy `planned` within 6.00 GiB, peak" in text


def test_resnet_says_what_was_simulated():
    text = "\n".join(application_results.resnet_lines(BUDGET))
    assert "**simulated**: replayed on a model of the A40" in text and "measured" not in text
    assert "| `planned` | 2.5 (50%) |" in text
    assert "| `lru@blocking` | as `lru` |" in text
    assert "| `managed` | too small |" in text
    assert "`planned` takes 0.5 times as long as `lru`, the best hybrid scheme (`static`) 1.5 times" in text


def test_resnet_measured_with_and_without_blocking_copies():
    measured = BUDGET | {"simulated": False, "device": "cuda:0", "report": None}
    text = "\n".join(application_results.resnet_lines(measured))
    assert "**measured**: cuda:0" in text
    assert "| `lru@blocking` | not measured |" in text
    measured["rows"] = [*BUDGET["rows"], row("lru@blocking", 10.0)]
    text = "\n".join(application_results.resnet_lines(measured))
    assert "| `lru` | 5 (50%) |\n| `lru@blocking` | 10 (100%) |" in text
    assert "`planned` takes 0.25 times as long as `lru@blocking`" in text


def test_blocks_of_one_device(tmp_path):
    folder = tmp_path / "cpp/bench/results/box"
    folder.mkdir(parents=True)
    for data in (NETWORK, WITHIN, {"file": "run_other", "workload": "other"}):
        (folder / f"{data['file']}.json").write_text(json.dumps(data))
    text = update_results.block(tmp_path, update_results.PAGES["docs/guides/networks.md"])
    assert text.count("halocline run resnet20") == 1 and "planned 60" in text
    assert "0.414 s an image" in update_results.block(tmp_path, update_results.PAGES["README.md"])
    (folder / "run_resnet20.json").write_text(json.dumps({"workload": "resnet20"}))
    with pytest.raises(update_results.ResultError, match="resnet20"):
        update_results.block(tmp_path, update_results.PAGES["docs/guides/networks.md"])
