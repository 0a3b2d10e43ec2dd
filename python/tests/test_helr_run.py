"""The HELR workload: encrypted training equals its twin, under a plan as well; counts at full size."""

import dataclasses
import json
import warnings

import halocline as hc
import numpy as np
import pytest
from halocline.cli.run.report import helr_rows
from halocline.workloads.helr.circuit import (
    HelrCircuit,
    HelrLayout,
    OperationCounts,
    iterations_per_bootstrap,
)
from halocline.workloads.helr.model import make_constants, rehearse
from halocline.workloads.helr.run import HelrOptions, HelrRun

SMALL = {"batch": 32, "iterations": 10, "threads": 1}
"""32 digits of 65 columns: two ciphertexts each way, 4 + 4 + 2 iterations with two bootstraps between."""


@pytest.fixture(scope="module")
def boot_params():
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


@pytest.fixture(scope="module")
def small(boot_params):
    """A run with a trace, and its report."""
    run = HelrRun(boot_params, HelrOptions(**SMALL, record_trace=True))
    return run, run.run()


def test_encrypted_training_equals_its_twin(small):
    _, report = small
    assert report["precision_bits"] > 20
    assert report["precision_worst_bits"] > 18
    assert report["agreement"] == 1.0
    assert report["accuracy"] == report["accuracy_plain"] > 0.85
    assert abs(report["accuracy_exact"] - report["accuracy_plain"]) < 0.02
    assert report["bootstraps"] == 2
    assert report["held_out"] == 357 - 32


def test_report(small):
    run, report = small
    json.dumps(report)
    assert report["workload"] == "helr"
    assert report["levels"] == {
        "period_begins": 16, "iteration": 4, "per_bootstrap": 4, "bootstrap_input": 0, "bootstrap_output": 16,
    }  # fmt: skip
    counts = report["operations_per_iteration"]
    assert counts == dataclasses.asdict(OperationCounts(24, 2, 4, 6, 1, 5))
    switches = counts["rotate"] + counts["hoisted_rotate"] + counts["relinearize"]
    assert report["key_switches_per_iteration"] == switches  # what the ghost saw is what is stated
    assert report["operations"]["rotate"] == 240
    assert report["operations"]["bootstrap"] == 2
    assert report["distinct_keys"] > 10
    assert len(report["period_seconds"]) == 3
    parts = report["ms_per_iteration_bootstrap"] + report["ms_per_iteration_rest"]
    assert parts == pytest.approx(report["ms_per_iteration"])
    assert {"total", "keygen", "encrypt", "ghost", "evaluate", "decrypt"} <= set(report["seconds"])
    assert {"peak_bytes", "bytes_moved", "stall_seconds", "plan_seconds", "peak_rss_bytes"} <= set(report)
    assert sum(report["footprint"].values()) >= report["footprint_bytes"]
    names = [name for name, _ in helr_rows(report)]
    assert {"accuracy", "time per iteration", "evaluation keys", "footprint"} <= set(names)
    assert len(run.trace) > 100


def test_plan_gives_the_same_within_half_of_the_memory(boot_params, small):
    with warnings.catch_warnings():
        warnings.simplefilter("error", hc.PlanDivergence)
        report = HelrRun(boot_params, HelrOptions(**SMALL, policy="planned", memory="50%")).run()
    assert report["followed_plan"]
    assert 0 < report["peak_bytes"] <= report["budget_bytes"] < 0.51 * small[1]["footprint_bytes"]
    assert report["bytes_moved"]["loaded"] > 0
    assert report["precision_worst_bits"] > 18
    assert report["accuracy"] == small[1]["accuracy"]


def test_one_period_needs_no_bootstrap(boot_params):
    report = HelrRun(boot_params, HelrOptions(batch=40, iterations=2, repeat=2, threads=1)).run()
    assert report["bootstraps"] == 0
    assert report["levels"]["per_bootstrap"] == 2
    assert report["ms_per_bootstrap"] == 0
    assert report["distinct_keys"] < 20
    assert report["precision_worst_bits"] > 18


def test_slots_first(boot_params):
    options = HelrOptions(
        batch=40, iterations=4, per_bootstrap=3, bootstrap={"order": "stc_first"}, threads=1
    )
    report = HelrRun(boot_params, options).run()
    assert report["levels"]["bootstrap_input"] == 1
    assert report["levels"]["period_begins"] == 13
    assert report["precision_worst_bits"] > 14


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "ghost"}, "computes nothing"),
        ({"repeat": 0}, "repeat: got 0, expected an integer of at least 1"),
        ({"iterations": 0}, "iterations: got 0, expected"),
        ({"per_bootstrap": 5}, "5 iterations between bootstraps, expected 1 to 4"),
        ({"rate": 10.0}, "smaller rate than 10"),
        ({"bootstrap": {"slots": 8}}, "bootstrap: slots follow from the workload"),
        ({"batch": 400}, "expected 1 to 356"),
    ],
)
def test_bad_options(boot_params, options, message):
    with pytest.raises(hc.InvalidArgument, match=message):
        HelrRun(boot_params, HelrOptions(**(SMALL | options)))


def test_parameters_without_levels_are_refused():
    params = hc.Params.preset("test-n11-boot", allow_insecure=True)
    with pytest.raises(hc.InvalidArgument, match="leave levels 2 to 5, an iteration takes 4"):
        HelrRun(params, HelrOptions(batch=40, bootstrap={"order": "stc_first", "stc_levels": 2}))


@pytest.fixture(scope="module")
def full_size():
    """1024 samples of 197 columns on n16-boot, on a ghost: one iteration, and a period with its bootstrap."""
    params = hc.Params.preset("n16-boot")
    layout = HelrLayout.of(params.slots, 1024, 197)
    boot = hc.Bootstrapper(params, slots=layout.columns, stc_levels=1)
    constants = make_constants(1024, 32, 1.0, 16.0, iterations_per_bootstrap(boot))
    circuit = HelrCircuit(params, layout, constants, boot)
    ghost = hc.Engine(params, device="ghost")
    level, low = circuit.level, circuit.backward_level
    forward = [ghost.ghost_input(level=level) for _ in range(layout.ciphertexts)]
    backward = [ghost.ghost_input(level=low) for _ in range(layout.ciphertexts)]
    small = {"slots": layout.columns, "real": False}
    state, mean = ghost.ghost_input(level=level, **small), ghost.ghost_input(level=low, **small)

    def iteration(state, forward, backward, mean):
        return circuit.last_period(state, [forward], [backward], [mean], constants.steps[:1])

    def period(state, forward, backward, mean):
        return circuit.period(state, *circuit.prepare(forward, backward, mean), constants.steps[:4])

    inputs = (state, forward, backward, mean)
    traced = [hc.trace_program(params, each, *inputs) for each in (iteration, period)]
    return circuit, *traced


def test_counts_at_full_size(full_size):
    """The figures of docs/guides/training.md."""
    circuit, iteration, period = full_size
    assert (circuit.layout.width, circuit.layout.ciphertexts) == (32, 8)
    assert (circuit.level, circuit.per_period) == (16, 4)
    assert circuit.counts() == OperationCounts(
        rotate=24, hoisted_rotate=14, relinearize=4, multiply=18, plain_multiply=1, constant_multiply=5
    )
    assert sum(iteration.key_uses.values()) == 24 + 14 + 4 + 1  # and a conjugation
    assert len(iteration.key_plan) == 26
    assert iteration.key_uses[1] == 4
    assert iteration.result.level == 12
    assert len(period.key_plan) == 56
    assert period.key_plan.nbytes() / 2**30 == pytest.approx(4.96, abs=0.01)
    assert sum(period.key_uses.values()) == 4 * 42 + 1 + 87
    assert (period.result.level, period.result.slots) == (16, 256)
    assert period.peak_bytes / 2**30 == pytest.approx(5.8, abs=0.1)


def test_program_does_not_depend_on_constants(boot_params):
    """One plan serves all periods: their traces are the same, with integers among the constants too."""
    layout = HelrLayout.of(boot_params.slots, 64, 32)
    boot = hc.Bootstrapper(boot_params, slots=32, stc_levels=1)
    constants = make_constants(64, 8, 1.0, 16.0, 4)
    circuit = HelrCircuit(boot_params, layout, constants, boot)
    ghost = hc.Engine(boot_params, device="ghost")
    data = [ghost.ghost_input(level=16)], [ghost.ghost_input(level=13)]
    inputs = (ghost.ghost_input(level=16, slots=32), *data, ghost.ghost_input(level=13, slots=32))
    events = []
    for steps in constants.periods():

        def program(state, forward, backward, mean, steps=steps):
            return circuit.last_period(state, *circuit.prepare(forward, backward, mean), steps)

        events.append(hc.trace_program(boot_params, program, *inputs).trace.columns)
    for name in ("op", "tag", "action", "class", "bytes"):
        assert (events[0][name] == events[1][name]).all()


def test_too_many_iterations_between_bootstraps(boot_params):
    layout = HelrLayout.of(boot_params.slots, 64, 32)
    boot = hc.Bootstrapper(boot_params, slots=32, stc_levels=1)
    constants = make_constants(64, 8, 1.0, 16.0, 5)
    with pytest.raises(hc.InvalidArgument, match="expected at most 4"):
        HelrCircuit(boot_params, layout, constants, boot)
    assert len(rehearse(np.ones((4, 2)), constants).packed) == 2
