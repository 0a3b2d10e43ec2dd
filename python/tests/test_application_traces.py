# SPDX-License-Identifier: Apache-2.0
"""Traces of the applications: recorded on small parameters; those kept in `data`, planned and replayed."""

import json
from pathlib import Path

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.nn import INPUT, AvgPool, Conv2d, Flatten, Linear, Model, Node, ReLU
from halocline.workloads.ghost_traces import helr_trace, network_trace, resnet20_trace
from typer.testing import CliRunner

DATA = Path(__file__).parent / "data"
NAMES = ("resnet20_image", "helr_period")
DEVICES = ("h200", "a40")
SHARES = ("60%", "25%")


@pytest.fixture(scope="module", params=NAMES)
def trace(request):
    return hc.Trace.load(DATA / f"{request.param}.csv.xz")


def test_the_files_are_small():
    assert sum(each.stat().st_size for each in DATA.glob("*.xz")) < 2 << 20


def test_traces_are_complete(trace):
    """Keys and weights were there before, everything else comes and goes."""
    stats = trace.stats()
    for name in ("evaluation_key", "plaintext", "table"):
        assert stats[name].objects == 0 < stats[name].existing
    for name in ("ciphertext", "scratch"):
        assert stats[name].existing <= 140 < stats[name].objects  # inputs: HELR's data at four levels
        assert stats[name].peak_bytes < 0.2 * trace.peak_bytes
    assert stats["evaluation_key"].peak_bytes > 0.5 * trace.peak_bytes


@pytest.mark.parametrize("device", DEVICES)
def test_plans_fit_and_move_little(trace, device):
    loads = []
    for share in SHARES:
        s = hc.plan_trace(trace, share, device).summary
        assert s.minimum_bytes <= s.peak_bytes <= s.capacity_bytes < trace.peak_bytes
        back = s.loaded_bytes + s.expanded_bytes + s.encoded_bytes
        assert 0 < s.lower_bound_bytes <= back < 1.1 * s.lower_bound_bytes
        # Most of what does not bind is hidden behind what does: the operations or the link.
        assert s.total_seconds < 1.4 * max(s.resident_seconds, s.load_busy_seconds)
        loads.append(back)
    assert loads[0] < loads[1]


def test_the_model_of_the_h200_agrees_with_measured_runs():
    """No application took part in the fit of the model (tools/fit_gpu_model.py)."""
    folder = Path(__file__).parents[2] / "cpp/bench/results/h200"
    image = json.loads((folder / "run_resnet20.json").read_text())["seconds_fastest"]
    periods = json.loads((folder / "run_helr.json").read_text())["period_seconds"]
    measured = {"resnet20_image": image, "helr_measured": min(periods[:-1])}  # the last one has no bootstrap
    for name, seconds in measured.items():
        found = hc.replay(hc.Trace.load(DATA / f"{name}.csv.xz"), "h200", "resident").total_seconds
        assert found == pytest.approx(seconds, rel=0.1)


def test_budgets_below_the_minimum_are_refused(trace):
    least = hc.plan_trace(trace, "60%").summary.minimum_bytes
    assert least < 0.15 * trace.peak_bytes
    assert hc.plan_trace(trace, least).summary.peak_bytes <= least
    with pytest.raises(hc.OutOfMemory):
        hc.plan_trace(trace, least - (1 << 20))


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("device", DEVICES)
def test_looking_ahead_wins(trace, device, share):
    found = {name: hc.replay(trace, device, name, share) for name in ("planned", "lru", "managed")}
    seconds = [each.total_seconds for each in found.values()]
    assert hc.replay(trace, device, "resident").compute_seconds <= seconds[0]
    assert 1.5 * seconds[0] < seconds[1] < seconds[2] / 1.5
    assert found["planned"].loaded_bytes < found["lru"].loaded_bytes
    for each in found.values():
        assert each.peak_resident_bytes <= each.budget_bytes


def test_the_schemes_replay(trace):
    least = hc.replay(trace, "a40", "planned", "60%").total_seconds
    for policy in ("static", "profiled", "dynamic"):
        found = hc.replay(trace, "a40", policy, "60%")
        assert found.total_seconds > least
        assert found.peak_resident_bytes <= found.budget_bytes
    with pytest.raises(hc.OutOfMemory, match="moves nothing"):
        hc.replay(trace, "a40", "cached", "60%")


def like(kept, fresh):
    """Whether a kept trace still stands for the program."""
    for name, each in fresh.stats().items():
        if each.peak_bytes > 0.02 * fresh.peak_bytes:
            assert kept.stats()[name].peak_bytes == pytest.approx(each.peak_bytes, rel=0.4), name
    assert len(kept) == pytest.approx(len(fresh), rel=0.4)


def test_kept_helr_is_like_the_program():
    like(hc.Trace.load(DATA / "helr_period.csv.xz"), helr_trace(hc.Params.preset("n16-boot")))


@pytest.mark.slow
def test_kept_resnet20_is_like_the_program():
    like(hc.Trace.load(DATA / "resnet20_image.csv.xz"), resnet20_trace(hc.Params.preset("n16-boot")))


# Small ones


@pytest.fixture(scope="module")
def boot_params():
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


def test_networks(boot_params):
    rng = np.random.default_rng(3)
    model = Model(
        (1, 8, 8),
        (
            Node("conv", Conv2d(rng.normal(size=(2, 1, 3, 3)) / 3, rng.normal(size=2) / 9), (INPUT,)),
            Node("relu", ReLU(13), ("conv",)),
            Node("pool", AvgPool(), ("relu",)),
            Node("flat", Flatten(), ("pool",)),
            Node("dense", Linear(rng.normal(size=(3, 2))), ("flat",)),
        ),
    )
    compiled = nn.compile(model, boot_params, nn.calibrate(model, rng.uniform(0, 1, (20, 1, 8, 8))))
    found = network_trace(compiled)
    forecast = compiled.report()
    assert found.stats()["evaluation_key"].peak_bytes <= forecast.key_plan.nbytes()
    assert found.stats()["plaintext"].objects == 0  # weights were encoded before
    columns = found.columns
    there = (columns["action"] == "exists") & (columns["class"] == "plaintext")
    named = ["@" in tag for tag in columns["tag"][there]]
    assert named and all(named)  # biases too: plans load ahead of what they find by its name only
    assert int(found.columns["step"].max()) == pytest.approx(forecast.steps, abs=2)
    phases = {each.phase for each in hc.replay(found, "h200", "resident").phases}
    assert phases == {"conv", "relu", "dense"}


@pytest.mark.parametrize("workload", ["helr", "sorting"])
def test_command_line(boot_params, tmp_path, workload):
    path = tmp_path / "t.csv.xz"
    arguments = [
        "trace",
        "record",
        workload,
        "-o",
        str(path),
        "--params",
        "test-n12-boot",
        "--allow-insecure",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = hc.Trace.load(path)
    assert found.stats()["evaluation_key"].objects == 0 < found.stats()["evaluation_key"].existing
    replayed = hc.replay(found, "a40", "planned", "50%")
    names = {"helr": {"forward", "sigmoid", "update", "bootstrap"}, "sorting": {"bootstrap", "stage"}}
    assert names[workload] <= set(replayed.operations())
    if workload == "sorting":
        assert len(replayed.operations()["stage"]) == len(replayed.operations()["bootstrap"]) == 11
