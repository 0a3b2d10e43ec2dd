# SPDX-License-Identifier: Apache-2.0
"""`halocline bench resnet20-budget`: a small network on an engine and on device models."""

import json

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.bench.budgets.curve import Kind
from halocline.bench.budgets.options import BLOCKING, PEAKS, CurveOptions
from halocline.bench.budgets.options import RESNET_BUDGETS as BUDGETS
from halocline.bench.budgets.options import RESNET_POLICIES as POLICIES
from halocline.bench.budgets.resnet20 import Network, NetworkCurve, run_resnet20_budget
from halocline.bench.budgets.rig import PolicyRig
from halocline.bench.keeping import SILENT
from halocline.cli.app import app
from halocline.nn import INPUT, AvgPool, Conv2d, Flatten, Linear, Model, Node, ReLU
from typer.testing import CliRunner

SHAPE = (1, 8, 8)


def small_model():
    rng = np.random.default_rng(3)
    return Model(
        SHAPE,
        (
            Node("conv", Conv2d(rng.normal(size=(2, 1, 3, 3)) / 3), (INPUT,)),
            Node("relu", ReLU(13), ("conv",)),
            Node("conv2", Conv2d(rng.normal(size=(2, 2, 3, 3)) / 3), ("relu",)),
            Node("relu2", ReLU(13), ("conv2",)),
            Node("pool", AvgPool(), ("relu2",)),
            Node("flat", Flatten(), ("pool",)),
            Node("dense", Linear(rng.normal(size=(3, 2))), ("flat",)),
        ),
    )


@pytest.fixture(scope="module")
def make_curve():
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    model, images = small_model(), np.random.default_rng(4).uniform(0, 1, (20, *SHAPE))
    ranges = nn.calibrate(model, images)

    def make(**options):
        chosen = CurveOptions(runs=1, threads=1, **options)
        return NetworkCurve(params, chosen, model, ranges, images[0], Network(), SILENT)

    return make


@pytest.fixture(scope="module")
def measured(make_curve):
    policies = ("planned", "lru", BLOCKING, "profiled@65%")
    return make_curve(policies=policies, budgets=("25%", "1MiB")).run()


def test_rows_on_an_engine(measured):
    rows = {(row["policy"], row["memory"]): row for row in measured["rows"]}
    assert len(rows) == 1 + 4 * 2
    for (policy, memory), row in rows.items():
        if memory == "1MiB":
            assert "out_of_memory" in row
            continue
        assert row["seconds"] > 0 and row["slowdown"] > 0
        assert row["same_class"]
        assert row["logit_error"] < 2**-7
        assert row["followed_plan"] == (policy == "planned")
        if memory != "all":
            assert row["peak_bytes"] <= row["budget_bytes"]
    assert rows["planned", "25%"]["loaded_bytes"] < rows["lru", "25%"]["loaded_bytes"]
    assert measured["network_report"]["operations"]["bootstraps"] == 1
    assert measured["suite"] == "resnet20-budget" and not measured["simulated"]
    json.dumps(measured)


def test_rows_on_a_device_model(make_curve):
    policies = ("planned", "lru", "profiled@40%", "profiled@95%", "static", "dynamic", "managed")
    found = make_curve(device="a40", policies=policies, budgets=("60%", "48GB")).run()
    rows = {(row["policy"], row["memory"]): row for row in found["rows"]}
    assert found["simulated"]
    slowdowns = [rows[policy, "60%"]["slowdown"] for policy in ("planned", "lru", "managed")]
    # At N = 2^12 launches take longer than kernels, and resident allocates more often than the others.
    assert 0.9 < slowdowns[0] < slowdowns[1] < slowdowns[2]
    assert rows["planned", "48GB"]["slowdown"] < 1.01  # more than there is
    # Keys are allocated in what the decisions are made from, so the threshold matters.
    assert rows["profiled@40%", "60%"]["seconds"] != rows["profiled@95%", "60%"]["seconds"]


def test_rehearsals_fit_engines(make_curve, monkeypatch):
    """A decision for each allocation of an engine, those of encoded weights in its first call as well."""
    made = []
    engine_of = PolicyRig.engine

    def engine(self, policy, memory, decisions=None, **given):
        made.append((engine_of(self, policy, memory, decisions, **given), decisions))
        return made[-1][0]

    monkeypatch.setattr(PolicyRig, "engine", engine)
    make_curve(policies=("profiled@65%",), budgets=("60%",)).run()
    (_, none), (last, decisions) = made
    assert none is None
    assert len(decisions) == last.stats()["allocations"]


def test_kinds():
    assert Kind(BLOCKING, 1, "all", 0).manner == "lru"
    assert [Kind(each, 1, "all", 0).async_peak for each in ("profiled@95%", BLOCKING)] == [0.95, 0.5]
    assert {f"profiled@{peak}" for peak in PEAKS} < set(POLICIES)
    with pytest.raises(hc.InvalidArgument, match=BLOCKING):
        _ = Kind("planned@blocking", 1, "all", 0).async_peak


def test_one_image_a_call(make_curve):
    with pytest.raises(hc.InvalidArgument, match="one image"):
        make_curve(batches=(1, 8))


def test_command_line(measured, tmp_path):
    def bench(*arguments, status=0):
        result = CliRunner().invoke(app, ["bench", "resnet20-budget", *arguments])
        assert result.exit_code == status, result.output
        return result

    stored = tmp_path / "r.json"
    stored.write_text(json.dumps(measured))
    shown = bench("--from", str(stored), "--plot", str(tmp_path / "plots")).stdout
    assert "ResNet-20 with test-n12-boot on cpu" in shown
    assert (tmp_path / "plots" / "resnet20_budget.png").stat().st_size > 1000
    assert "need images: give --image" in bench("--weights", str(stored), status=2).stderr
    assert "has no option --batches" in bench("--batches", "8", status=2).stderr


@pytest.mark.slow
def test_the_shipped_network_on_a_device_model():
    params = hc.Params.preset("n16-boot")
    options = CurveOptions("h200", ("planned", "lru"), BUDGETS)
    found = run_resnet20_budget(params, options)
    assert found["network"] == "digits"
    rows = {(row["policy"], row["memory"]): row for row in found["rows"]}
    for memory in BUDGETS:
        assert rows["planned", memory]["slowdown"] < rows["lru", memory]["slowdown"] / 1.5
    assert rows["planned", "25%"]["slowdown"] < 2
