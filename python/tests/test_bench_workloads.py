# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of bootstrapping within budgets and under policies, with the smallest parameters."""

import json
import math

import halocline as hc
import numpy as np
import pytest
from halocline.bench.budgets.bootstrap import run_bootstrap_budget
from halocline.bench.budgets.curve import Kind
from halocline.bench.budgets.options import POLICIES, CurveOptions
from halocline.bench.budgets.rig import PolicyRig, Shape
from halocline.bench.budgets.wide_rotations import kinds_of, run_wide_bench
from halocline.cli.app import app
from halocline.papers.hybrid.bootstrap_bench import run_bm_bench
from halocline.papers.hybrid.operations import run_bm_operations
from halocline.papers.hybrid.options import OperationsOptions
from halocline.papers.hybrid.traces import OPERATIONS
from halocline.workloads.options import RunOptions
from typer.testing import CliRunner

NAME = "test-n11-boot"
SETTINGS = {"slots": 8}
SMALL = {"bootstrap": SETTINGS, "threads": 1}
INSECURE = ["--params", NAME, "--allow-insecure", "--threads", "1", "--set", "slots=8"]


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset(NAME, allow_insecure=True)


@pytest.fixture(scope="module")
def curve(params):
    budgets = ("100%", "50%", "5%", "minimum")
    options = CurveOptions(budgets=budgets, batches=(1, 2), runs=1, threads=1)
    return run_bootstrap_budget(params, options, SETTINGS)


def test_curve_has_all_policies_down_to_the_minimum(curve):
    rows = {(row["policy"], row["batch"], row["memory"]): row for row in curve["rows"]}
    assert len(rows) == 2 + len(POLICIES) * 2 * 4
    for about in curve["batches"]:
        assert rows["resident", about["batch"], "all"]["slowdown"] == 1
        assert about["minimum_bytes"] < about["footprint_bytes"]
    for (policy, batch, memory), row in rows.items():
        # Policies that decide by what is free may need more than the least budget of those that move bytes.
        if memory == "5%" or (memory == "minimum" and policy in ("profiled", "dynamic")):
            assert "out_of_memory" in row
            continue
        assert row["seconds"] > 0 and row["slowdown"] > 0
        assert row["precision_worst_bits"] > curve["forecast_worst_bits"] - 2
        if memory != "all":
            assert row["peak_bytes"] <= row["budget_bytes"]
            assert row["share"] == pytest.approx(
                row["budget_bytes"] / curve["batches"][batch - 1]["footprint_bytes"]
            )
        assert row["followed_plan"] == (policy == "planned")

    # Whether a plan loads bytes or makes them again depends on the speeds that its engine has measured; how
    # many have to come back does not.
    def brought(policy, memory):
        row = rows[policy, 1, memory]
        return row["loaded_bytes"] + row["regenerated_bytes"]

    planned = [brought("planned", memory) for memory in ("100%", "50%", "minimum")]
    assert planned == sorted(planned)
    assert brought("planned", "50%") < brought("lru", "50%")


def test_curve_on_a_device_model(params):
    policies = ("planned", "lru", "managed", "profiled@40%", "profiled@80%")
    options = CurveOptions("a40", policies, budgets=("50%", "5%"), threads=1)
    found = run_bootstrap_budget(params, options, SETTINGS)
    rows = {(row["policy"], row["memory"]): row for row in found["rows"]}
    assert found["simulated"]
    assert "out_of_memory" in rows["lru", "5%"]
    slowdowns = [rows[policy, "50%"]["slowdown"] for policy in ("planned", "lru", "managed")]
    assert 1 <= slowdowns[0] < slowdowns[1] < slowdowns[2]
    assert {"profiled@40%", "profiled@80%"} < {policy for policy, _ in rows}


def test_shares_of_pools():
    assert Kind("profiled@65%", 1, "all", 0).async_peak == 0.65
    for wrong in ("profiled@x%", "lru@40%", "profiled@140%", "profiled@0%", "profiled@40"):
        with pytest.raises(hc.InvalidArgument, match="profiled@65%"):
            _ = Kind(wrong, 1, "all", 0).async_peak


def test_operations_of_every_policy(params):
    options = OperationsOptions(
        policies=("resident", "managed", "profiled", "planned"), budgets=("60%", "1MiB"), repeats=2, **SMALL
    )
    found = run_bm_operations([params], options)
    assert len(found["sessions"]) == 8
    for session in found["sessions"]:
        if session["policy"] == "resident" or session["memory"] == "1MiB":
            assert "budget" in session["out_of_memory"]
            continue
        assert list(session["operations"]) == list(OPERATIONS)
        for each in session["operations"].values():
            assert 0 < each["low"] <= each["mean"] <= each["high"]
            assert len(each["seconds"]) == 2


def test_rehearsals_fit_engines(params):
    """A decision for each allocation of the engine, in its order."""
    boots = hc.Bootstrapper(params, slots=8)
    rig = PolicyRig(params, boots.key_plan, boots.encode, RunOptions(threads=1))
    calls = [("bootstrap 1", boots), ("bootstrap 2", boots)]
    trace = rig.rehearse([Shape(boots.input_level, 8)], calls, setup=True).trace
    engine = rig.engine("resident", None)
    inputs = [rig.client.encrypt(np.ones(8) * 0.5, level=boots.input_level).to(engine)]
    for _, program in calls:
        engine.run(program, inputs)
    assert engine.stats()["allocations"] == rig.tables + int((trace.columns["action"] == "allocate").sum())


def test_bm_bootstrap_by_async_peak():
    arguments = ("--presets", NAME, "--allow-insecure", "--kinds", "sparse", "--threads", "1")
    found = run_bm_bench(("60%",), ("resident", "profiled"), (0.0, 0.5), arguments)
    assert [(row["policy"], row["async_peak"]) for row in found["rows"]] == [
        ("resident", None),
        ("profiled", 0.0),
        ("profiled", 0.5),
    ]
    assert found["rows"][0]["failed"] == NAME
    assert all(row["seconds"] > 0 for row in found["rows"][1:])


def test_wide_rotations_in_several_evaluations(monkeypatch):
    """As on a GPU, where the first evaluation is left out."""
    assert kinds_of()[0] == ("resident", None)
    assert kinds_of(("lru",), ("50%",)) == [("resident", None), ("lru", "50%")]
    small = ("--params", "test-n12-d14", "--allow-insecure", "--batches", "1", "--repeat", "2")
    found = run_wide_bench(1, 1, small, [("resident", None)])
    (report,) = found["runs"]
    assert report["repeat"] == 2
    assert found["rows"][0]["seconds"] == report["program_seconds"]
    assert found["rows"][0]["first_seconds"] == report["first_run_seconds"] > 0


def call(*arguments):
    done = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done


COMMANDS = {
    "bootstrap-budget": ["--budgets", "50%,1MiB", "--batches", "1", "--repetitions", "1"],
    "bm-operations": ["--budgets", "60%", "--repetitions", "1", "--policies", "lru,resident"],
    "bm-bootstrap": ["--kinds", "small-key", "--policies", "lru"],
}
PICTURES = {"bootstrap-budget": "bootstrap_budget", "bm-bootstrap": "bm_async_peak"}


@pytest.mark.parametrize("suite", COMMANDS)
def test_commands(tmp_path, suite):
    path, picture = tmp_path / "r.json", f"{PICTURES.get(suite, 'bm_operations')}.png"
    given = INSECURE if suite != "bm-bootstrap" else INSECURE[:-2]
    done = call(suite, *given, *COMMANDS[suite], "--json", path, "--plot", tmp_path / "a")
    assert "lru" in done.stdout
    assert (tmp_path / "a" / picture).read_bytes()[:4] == b"\x89PNG"
    content = json.loads(path.read_text())
    assert content["suite"] == suite
    assert content["commit"]
    again = call(suite, "--from", path, "--plot", tmp_path / "b")
    assert "lru" in again.stdout
    assert (tmp_path / "b" / picture).exists()
    assert not any(isinstance(each, float) and math.isnan(each) for each in content.values())


def test_commands_refuse_what_they_cannot_do(tmp_path):
    for status, arguments, said in (
        (2, ["wide-rotations", "--device", "h200"], "device model"),
        (2, ["hybrid-paper", "--plot", tmp_path], "has no option --plot"),
        (1, ["hybrid-paper", "--from", tmp_path / "none"], "cannot read"),
        (1, ["bootstrap-budget", "--from", tmp_path / "none"], "cannot read"),
        (2, ["bootstrap-budget", *INSECURE, "--batches", "many"], "'--batches': got 'many'"),
        (2, ["bootstrap-budget", *INSECURE, "--batches", "0"], "'--batches': got 0"),
    ):
        done = CliRunner().invoke(app, ["bench", *map(str, arguments)])
        assert done.exit_code == status, done.output
        assert said in done.output
