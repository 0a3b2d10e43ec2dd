# SPDX-License-Identifier: Apache-2.0
"""The sorting network in the clear, as a program for ghosts, and encrypted on a small ring."""

from __future__ import annotations

import itertools
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.circuits.minimax import relu_error
from halocline.cli.run.report import sorting_rows
from halocline.workloads.sorting import network
from halocline.workloads.sorting.circuit import SortingCircuit
from halocline.workloads.sorting.run import SortingOptions, SortingRun


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


@pytest.mark.parametrize(("count", "every"), [(2, 1), (4, 1), (8, 1), (16, 97)])
def test_network_sorts_zeros_and_ones(count, every):
    # A network of comparisons that sorts all of these sorts everything (Knuth, 5.3.4, theorem Z).
    phases = count.bit_length() - 1
    assert len(network.stages(count)) == phases * (phases + 1) // 2
    for values in itertools.islice(itertools.product((0.0, 1.0), repeat=count), 0, None, every):
        found = network.simulate(values, 13)
        assert np.abs(found - np.sort(values)).max() < 10 * relu_error(13)


def test_errors_in_the_clear():
    values = np.random.default_rng(5).uniform(0, 1, 1 << 12)
    errors = [np.abs(network.simulate(values, alpha) - np.sort(values)).max() for alpha in (10, 11, 13)]
    assert errors[0] < 2.0**-6
    assert errors[1] < 2.0**-7
    assert errors[2] < 2.0**-9
    assert errors[0] > errors[1] > errors[2]


def test_table_of_the_guide():
    text = (Path(__file__).resolve().parents[2] / "docs/guides/sorting.md").read_text()
    table = {row.split("|")[1].strip(): row.split("|")[2:-1] for row in text.splitlines() if row[:1] == "|"}
    values = np.random.default_rng(0).uniform(0, 1, 1 << 14)
    for column, alpha in enumerate(int(each) for each in table["alpha"]):
        error = np.abs(network.simulate(values, alpha) - np.sort(values)).max()
        assert float(table["largest error, bits"][column]) == pytest.approx(-np.log2(error), abs=0.06)
        assert int(table["levels of a ReLU"][column]) == hc.sign_levels(alpha) + 1


def test_numbers_stay_in_range():
    for count, alpha in ((16, 6), (1 << 14, 9), (1 << 14, 13)):
        scale = network.scale(count, alpha)
        worst = len(network.stages(count)) * relu_error(alpha)
        assert 0.5 <= scale < 1
        assert scale + 2 * worst < 1
    with pytest.raises(hc.InvalidArgument, match=r"alpha 8 is too coarse for 16384 numbers.*larger alpha"):
        network.scale(1 << 14, 8)


def test_encrypted(params):
    options = SortingOptions(count=16, seed=3, alpha=13, threads=1, record_trace=True)
    told = []
    run = SortingRun(params, options, lambda *each: told.append(each))
    report = run.run()
    assert report["max_error"] < 2.0**-10
    assert report["max_noise"] < 2.0**-12
    assert report["max_error_simulated"] < 10 * relu_error(13)
    assert report["neighbours_out_of_order"] == 0
    assert np.array_equal(np.argsort(run.sorted), np.arange(16))
    assert report["stages"] == len(report["stage_seconds"]) == 10
    assert report["operations"]["bootstraps"] == 9
    assert report["operations"]["sign_changes"] == 3
    assert report["levels"] == {"bootstrap_from": 2, "bootstrap_to": 17, "stage_from": 17, "stage_to": 2}
    assert report["footprint"]["engine keys"] == report["key_bytes"]
    assert len(run.trace) > 0
    assert ("sorting", 9, 10) in told
    printed = dict(sorting_rows(report))
    assert "16 numbers in 10 stages" in printed["sorted"]
    assert "9 bootstraps" in printed["operations"]


def test_lower_precision_takes_fewer_levels(params):
    options = SortingOptions(count=4, seed=1, alpha=7, threads=1, bootstrap={"compact": True})
    report = SortingRun(params, options).run()
    assert report["levels"] == {"bootstrap_from": 2, "bootstrap_to": 10, "stage_from": 10, "stage_to": 2}
    assert report["max_error"] < 2.0**-4
    assert report["max_noise"] < 2.0**-12
    assert report["bootstrap"]["compact"]


def test_levels_of_slot_to_coeff(params):
    # ReLU with alpha 13 leaves two of 17 levels, with alpha 11 four, of which three are taken.
    for count, alpha, given, wanted in (
        (16, 13, {}, 2),
        (16, 12, {}, 3),
        (16, 11, {}, 3),
        (16, 11, {"stc_levels": 4}, 4),
        (2, 11, {}, 1),
    ):
        circuit = SortingCircuit(params, count, alpha, given)
        assert circuit.low_level == wanted
        assert circuit.input_level == wanted + 2 + hc.sign_levels(alpha) <= 17
    with pytest.raises(hc.InvalidArgument, match=r"begins at level 18 .*1 more are needed"):
        SortingCircuit(params, 16, 13, {"stc_levels": 3})


def test_runs_under_plans(params):
    options = SortingOptions(count=8, threads=1, memory="60%", policy="planned")
    report = SortingRun(params, options).run()
    assert report["max_error"] < 2.0**-8
    assert report["followed_plan"]
    assert report["budget_bytes"] < report["footprint_bytes"]


def test_operations_of_the_full_size():
    params = hc.Params.preset("n16-boot")
    circuit = SortingCircuit(params, 1 << 14, 11)
    assert (circuit.low_level, circuit.input_level) == (3, 16)
    assert len(circuit.program) == 105
    assert len(list(circuit.distinct)) == 13 + 13
    ghost = hc.Engine(params, device="ghost")
    x = ghost.ghost_input(level=circuit.input_level, slots=1 << 14, real=True)
    ghost._core.take_key_uses()
    for step in circuit.distinct:
        y = step(x)
        assert y.level == circuit.bootstrapper.input_level == 3
        # ReLU, one rotation for the difference and one back.
        assert sum(uses for uses, _ in ghost._core.take_key_uses().values()) == 17 + 2
    bootstrap = circuit.bootstrapper.key_plan
    plan = hc.key_plan(params, circuit, x)
    # 27 rotations by powers of two both ways, most of which bootstraps use as well.
    assert len(bootstrap) < len(plan) <= len(bootstrap) + 14
    assert plan.nbytes() < 1.05 * bootstrap.nbytes()


def test_bad_input(params):
    def made(**options):
        return SortingRun(params, SortingOptions(**options))

    for count in (0, 1, 12, 100, 1 << 21):
        with pytest.raises(hc.InvalidArgument, match="power of two"):
            made(count=count)
    with pytest.raises(hc.InvalidArgument, match="expected a power of two"):
        made(count=16.0)
    with pytest.raises(hc.InvalidArgument, match="has 2048 slots"):
        made(count=4096, alpha=13)
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        made(count=16, device="ghost")
    with pytest.raises(hc.InvalidArgument, match="bootstrap: slots follow from the workload"):
        made(count=16, bootstrap={"slots": 32})
    with pytest.raises(hc.InvalidArgument, match="alpha"):
        made(count=16, alpha=14)
    few = hc.Params.preset("test-n11-boot", allow_insecure=True)
    with pytest.raises(hc.InvalidArgument, match=r"begins at level 17 .*12 more are needed"):
        SortingCircuit(few, 16, 13)
    for values, message in (
        ([0.5, 1.5], "number 1 is 1.5, expected numbers from 0 to 1"),
        ([-0.1, 0.5], "number 0 is -0.1"),
        ([0.5, np.nan], "number 1 is nan"),
        ([0.5, 0.5, 0.5], r"shape \(3,\), expected \(2,\)"),
    ):
        with pytest.raises(hc.InvalidArgument, match=message):
            network.prepare(values, 2, 13)
    with pytest.raises(hc.WrongType, match="no array of numbers"):
        network.prepare(["a", "b"], 2, 13)
