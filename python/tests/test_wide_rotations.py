# SPDX-License-Identifier: Apache-2.0
"""The workload with many rotation keys: its shape, its arithmetic, its run and its command."""

import json
from collections import Counter

import halocline as hc
import numpy as np
import pytest
from halocline.bench.budgets.wide_rotations import run_wide_bench
from halocline.cli.app import app
from halocline.memory.budget import budget_of
from halocline.workloads.wide_rotations.circuit import WideRotations
from halocline.workloads.wide_rotations.run import WideOptions, WideRun
from key_caches import belady_loads, lru_loads
from typer.testing import CliRunner

SMALL = {"batches": 2, "layers": 4, "rotations_per_layer": 14, "keys": 16}


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("test-n12-d14", allow_insecure=True)


@pytest.fixture(scope="module")
def small_run(params):
    made = WideRun(params, WideOptions(threads=1, record_trace=True, **SMALL))
    made.run()
    return made


def test_is_as_wide_as_it_says():
    network = WideRotations()
    uses = Counter(network.steps())
    assert len(uses) == 64
    assert network.key_switches >= 2000
    assert max(uses.values()) > 5 * min(uses.values())  # hot steps and rare ones
    assert network.depth == 12


def test_order_is_irregular():
    """The same step comes again after very different distances."""
    steps = WideRotations().steps()
    last: dict[int, int] = {}
    distances = []
    for position, step in enumerate(steps):
        if step in last:
            distances.append(position - last[step])
        last[step] = position
    assert len(set(distances)) > 100
    assert max(distances) > 500


def test_knowing_the_future_is_worth_much():
    """With a cache of a third of the keys, least recent use loads several times as many as needed."""
    steps = 2 * WideRotations().steps()
    assert lru_loads(steps, 20) > 2 * belady_loads(steps, 20)


def test_layers_grow_in_width():
    network = WideRotations()
    widths = [len({term.step for term in layer.terms}) for layer in network.layers]
    assert widths == sorted(widths)
    assert (widths[0], widths[-1]) == (12, 45)


def test_is_a_function_of_its_arguments():
    first, again, other = (WideRotations(seed, **SMALL, slots=2048) for seed in (3, 3, 4))
    assert first.steps() == again.steps() != other.steps()
    expected = first.reference(*first.inputs())
    np.testing.assert_array_equal(expected, again.reference(*again.inputs()))


@pytest.mark.parametrize("layers", [2, 3, 7, 12])
def test_values_stay_below_one(layers):
    network = WideRotations(layers, layers=layers, slots=4096)
    for vector in network.inputs():
        channels = [vector, vector]
        for layer in network.layers:
            channels = layer.finish(layer.accumulate(channels))
            assert all(0.01 < np.abs(each).max() < 1 for each in channels)
        assert len(channels) == 1


def test_ghost_run_finds_exactly_the_shape(params):
    network = WideRotations(**SMALL, slots=params.slots)
    traced = hc.trace_program(params, network.program, *network.inputs())
    keys = {k if k <= params.slots // 2 else k - params.slots for k in network.steps()}
    assert set(traced.key_plan.rotations) == keys
    ops = traced.trace.columns
    products = {(s, o) for s, o in zip(ops["step"], ops["op"], strict=True) if "key_multiply" in o}
    assert len(products) == network.key_switches
    assert {tag.split("/")[0] for tag in ops["tag"]} >= {f"layer {k}" for k in range(1, 5)}
    assert [each.level for each in traced.result] == [params.max_level - network.depth] * 2


def test_run_reports_what_it_did(small_run):
    report = small_run.report
    assert report["precision_bits"] > 16
    assert report["precision_worst_bits"] > 12
    assert report["peak_bytes"] == report["footprint_bytes"]
    assert report["key_switches"] == 2 * (4 * 14 + 2)
    assert report["distinct_keys"] == len(set(small_run.network.steps())) > 12
    general = {"workload", "device", "params", "policy", "budget_bytes", "seconds", "bytes_moved"}
    assert general | {"stall_seconds", "plan_seconds", "peak_rss_bytes", "key_bytes"} <= set(report)
    assert {"total", "keygen", "encrypt", "ghost", "evaluate", "decrypt"} <= set(report["seconds"])
    assert len(small_run.trace) > 1000


def test_budget_as_a_share_of_the_footprint(params, small_run):
    footprint = small_run.report["footprint_bytes"]
    again = WideRun(params, WideOptions(threads=1, memory="100%", **SMALL))
    assert again.run()["budget_bytes"] == footprint
    with pytest.raises(hc.OutOfMemory):
        WideRun(params, WideOptions(threads=1, memory="50%", **SMALL)).run()


def test_decisions_of_a_recorded_run(params, small_run, tmp_path):
    path = tmp_path / "decisions"
    path.write_text(hc._core.decisions_to_text(hc.decide(small_run.trace, pool_bytes="4MiB")))
    options = WideOptions(threads=1, memory="100%", policy="profiled", decisions=path, **SMALL)
    report = WideRun(params, options).run()
    assert report["policy"] == "profiled"
    assert report["precision_bits"] > 15  # as with all memory
    arguments = ["run", "wide-rotations", "--policy", "profiled", "--decisions", str(tmp_path / "none")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0


def test_shares():
    assert budget_of("25%", 1001) == 251
    assert budget_of(" 12.5 %", 800) == 100
    assert budget_of("2GiB", 1) == "2GiB"
    assert budget_of(None, 1) is None
    assert budget_of(77, 1) == 77
    for bad in ("%", "-5%", "0%", "nan%", "many%"):
        with pytest.raises(hc.InvalidArgument, match="share"):
            budget_of(bad, 100)


def test_command(tmp_path):
    path = tmp_path / "r.json"
    args = ["run", "wide-rotations", "--params", "test-n12-d14", "--allow-insecure", "--batches", "1"]
    result = CliRunner().invoke(app, [*args, "--memory", "100%", "--threads", "1", "--json", str(path)])
    assert result.exit_code == 0, result.output
    assert "key switches" in result.stdout
    report = json.loads(path.read_text())
    assert report["workload"] == "wide-rotations"
    assert report["key_switches"] == 1060
    assert report["budget_bytes"] == report["footprint_bytes"] == report["peak_bytes"]
    assert report["precision_bits"] > 16


def test_bench_compares_kinds_in_processes_of_their_own():
    kinds = (("resident", None), ("planned", "60%"))
    small = ("--params", "test-n12-d14", "--allow-insecure", "--batches", "1")
    found = run_wide_bench(1, 1, small, kinds)
    resident, planned = found["rows"]
    assert resident["slowdown"] == 1
    assert planned["seconds"] == found["runs"][1]["program_seconds"]
    assert planned["peak_bytes"] <= planned["budget_bytes"] < resident["peak_bytes"]
    assert planned["loaded_bytes"] > 0
    with pytest.raises(hc.Error, match="nonsense"):
        run_wide_bench(1, 1, small, (("nonsense", None),))


def test_bad_options(params):
    with pytest.raises(hc.InvalidArgument, match="layers"):
        WideRun(hc.Params.preset("n13-d3"))
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        WideRun(params, WideOptions(device="ghost"))
    for bad in ({"keys": 1}, {"keys": 5000}, {"rotations_per_layer": 3}, {"layers": 1}, {"batches": 0}):
        with pytest.raises(hc.InvalidArgument, match="expected"):
            WideRotations(**bad, slots=2048)
