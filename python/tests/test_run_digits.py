# SPDX-License-Identifier: Apache-2.0
"""The digits workload, from the command line and in parts."""

import json

import halocline as hc
import numpy as np
import pytest
from digits_packed import PackedDigits
from halocline.cli.app import app
from halocline.workloads.digits.circuit import DEPTH, DigitsCircuit
from halocline.workloads.digits.model import (
    forward_plain,
    held_out_digits,
    pack_images,
    unpack_logits,
)
from halocline.workloads.digits.run import DigitsOptions, DigitsRun
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What `halocline run digits --json` writes for 128 images, with a budget and a trace."""
    folder = tmp_path_factory.mktemp("digits")
    args = ["run", "digits", "--images", "128", "--memory", "512MiB", "--threads", "1"]
    args += ["--json", str(folder / "r.json"), "--trace", str(folder / "t.csv")]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    assert "agreement" in result.stdout
    return json.loads((folder / "r.json").read_text()) | {"trace": hc.Trace.load(folder / "t.csv")}


def test_promised_fields(report):
    promised = {"accuracy", "accuracy_plain", "agreement", "images", "peak_bytes", "budget_bytes", "seconds"}
    general = {
        "workload",
        "device",
        "params",
        "policy",
        "bytes_moved",
        "stall_seconds",
        "plan_seconds",
        "commit",
    }
    memory = {"key_bytes", "ciphertext_bytes", "ms_per_image", "peak_rss_bytes", "baseline_rss_bytes"}
    assert promised | general | memory | {"footprint_bytes", "precision_bits"} <= set(report)
    assert report["workload"] == "digits"
    assert report["images"] == 128
    assert report["budget_bytes"] == 512 << 20
    assert {"total", "keygen", "encrypt", "evaluate", "decrypt"} <= set(report["seconds"])
    assert report["seconds"]["total"] >= report["seconds"]["evaluate"]
    assert (report["plan_seconds"], report["stall_seconds"], report["bytes_moved"]) == (0, 0, {})


def test_quality(report):
    assert report["agreement"] == 1.0
    assert report["accuracy"] == report["accuracy_plain"] >= 0.96
    assert report["precision_worst_bits"] > 15


def test_memory(report):
    assert 0 < report["peak_bytes"] <= report["budget_bytes"]
    assert report["footprint_bytes"] == sum(report["footprint"].values())
    assert report["key_bytes"] == report["footprint"]["engine keys"] > report["key_sent_bytes"]


def test_resident_size_stays_within_the_footprint(tmp_path):
    """In a process of its own, because other tests have raised the peak of this one."""
    import subprocess
    import sys

    command = [
        sys.executable,
        "-m",
        "halocline",
        "run",
        "digits",
        "--threads",
        "1",
        "--json",
        str(tmp_path / "r.json"),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["images"] >= 100
    assert report["peak_rss_bytes"] <= 1.3 * report["footprint_bytes"]
    assert report["footprint_bytes"] <= 1.3 * report["peak_rss_bytes"]  # an upper bound, but not a loose one


def test_trace_has_the_layers(report):
    tags = {tag.split("/")[0] for tag in report["trace"].columns["tag"]}
    assert {"convolution", "square 1", "hidden layer", "square 2", "output layer"} <= tags


def test_both_encrypted_versions_agree_with_the_plain_network():
    params = hc.Params.preset("n14-d7")
    client = hc.Client(params, threads=1)
    images, _ = held_out_digits()
    images = images[:20]
    ct = client.encrypt(pack_images(images, params.slots), level=DEPTH)
    expected = forward_plain(images)
    for program in (DigitsCircuit(slots=params.slots), PackedDigits(slots=params.slots)):
        plan = hc.key_plan(params, program, ct)
        engine = hc.Engine(params, client.evaluation_keys(plan=plan), threads=1)
        values = client.decrypt(engine.run(program, ct))
        assert np.abs(unpack_logits(values, 20) - expected).max() < 2.0**-14
        assert np.abs(values[20 * 64 :]).max() < 40  # logits of empty blocks: biases only
        assert np.abs(values.reshape(-1, 64)[:, 10:]).max() < 2.0**-14


def test_circuit_uses_the_depth_that_it_says():
    params = hc.Params.preset("n14-d7")
    traced = hc.trace_program(params, DigitsCircuit(slots=params.slots))
    assert traced.result.level == 0
    assert max(level for _, level in traced.key_plan.requests()) == DEPTH
    assert len(traced.key_plan) < 20


def test_bad_options():
    params = hc.Params.preset("n14-d7")
    with pytest.raises(hc.InvalidArgument, match="levels"):
        DigitsRun(hc.Params.preset("n13-d3"))
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        DigitsRun(params, DigitsOptions(device="ghost"))
    for count in (0, 100_000):
        with pytest.raises(hc.InvalidArgument, match="images"):
            DigitsRun(params, DigitsOptions(images=count))


def test_budget_that_is_too_small_is_told_the_right_one():
    params = hc.Params.preset("n14-d7")
    with pytest.raises(hc.OutOfMemory, match="evaluation_key") as refused:
        DigitsRun(params, DigitsOptions(images=129, memory="32MiB")).run()
    needed = int(str(refused.value).split()[-2])
    run = DigitsRun(params, DigitsOptions(images=129, memory=needed))
    assert run.run()["agreement"] == 1.0
    assert 0.9 * needed < run.report["peak_bytes"] <= needed
    with pytest.raises(hc.OutOfMemory):
        DigitsRun(params, DigitsOptions(images=129, memory=int(0.9 * needed))).run()


def test_unknown_workload():
    result = CliRunner().invoke(app, ["run", "mnist"])
    assert result.exit_code == 2
    assert "digits" in result.stderr
