# SPDX-License-Identifier: Apache-2.0
"""Our workloads without the bootstraps that they have by hand: as many are placed, or fewer.

On ghosts of n16-boot. The table in docs/concepts/automatic_bootstraps.md has the same numbers.
"""

import dataclasses
from pathlib import Path

import halocline as hc
import pytest
from halocline import nn
from halocline.engine.bootstrap_placement import place
from halocline.engine.placement_problem import Refresh
from halocline.engine.recorded_graph import record_graph
from halocline.workloads.helr.circuit import HelrCircuit, HelrLayout, iterations_per_bootstrap
from halocline.workloads.helr.model import make_constants
from halocline.workloads.helr.options import HelrOptions
from halocline.workloads.helr.run import helr_bootstrapper
from halocline.workloads.resnet20.digits import digits_model
from halocline.workloads.sorting.circuit import SortingCircuit

PAGE = Path(__file__).parents[2] / "docs/concepts/automatic_bootstraps.md"
NUMBERS, SAMPLES, ITERATIONS = 256, 128, 14


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("n16-boot")


@pytest.fixture(scope="module")
def ghost(params):
    return hc.Engine(params, device="ghost", bootstrap="auto")


def documented(workload):
    """Bootstraps by hand, and placed, as the page says."""
    (row,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{workload}`"))
    return tuple(int(cell) for cell in row.split("|")[2:4])


def counts(graph, refresh, runs):
    """Bootstraps that the program had, and those that are placed, with and without costs of operations.

    Levels that the program asks for come from its own placement and say nothing here.
    """
    nodes = tuple(dataclasses.replace(each, most=None) for each in graph.nodes)
    free = dataclasses.replace(graph, nodes=nodes)
    plain = place(free, refresh)
    weighed = place(free, refresh, level_cost=runs.level_cost)
    assert max(plain.count, weighed.count) <= len(graph.by_hand)
    return len(graph.by_hand), weighed.count


def as_by_hand(bootstrapper, runs, *slots):
    """Bootstraps with the levels of the workload's own ones; slots: of ciphertexts, all unless given."""

    def refresh_of(node):
        found = runs.refresh_of(node)
        if slots and node.slots not in slots:
            return found
        return Refresh(bootstrapper.input_level, bootstrapper.output_level, found.cost)

    return refresh_of


def test_sorting(params, ghost):
    circuit = SortingCircuit(params, NUMBERS, 11)
    boots = circuit.bootstrapper
    x = ghost.ghost_input(level=circuit.input_level, slots=NUMBERS)
    graph = record_graph(
        params, circuit, x, bootstrap={"order": "stc_first", "real": True}, leave_out_bootstraps=True
    )
    refresh = as_by_hand(boots, ghost._automatic)
    found = counts(graph, refresh, ghost._automatic)
    assert found == documented("sorting")
    assert found[1] <= found[0] == len(circuit.program) - 1


def test_helr(params, ghost):
    layout, options = HelrLayout.of(params.slots, SAMPLES, 197), HelrOptions()
    boots = helr_bootstrapper(params, layout, options.bootstrap)
    each = iterations_per_bootstrap(boots)
    constants = make_constants(SAMPLES, ITERATIONS, options.rate, options.interval, each)
    circuit = HelrCircuit(params, layout, constants, boots)
    *periods, last = constants.periods()

    def sent(level, slots=layout.slots):
        return ghost.ghost_input(level=level, slots=slots, real=slots == layout.slots)

    def program(state, forward, backward, mean):
        data = circuit.prepare(forward, backward, mean)
        for steps in periods:
            state = circuit.period(state, *data, steps)
        return circuit.last_period(state, *data, last)

    state = sent(boots.output_level, layout.columns)
    forward = [sent(circuit.level) for _ in range(layout.ciphertexts)]
    backward = [sent(circuit.backward_level) for _ in range(layout.ciphertexts)]
    mean = sent(circuit.backward_level, layout.columns)
    graph = record_graph(params, program, state, forward, backward, mean, leave_out_bootstraps=True)
    found = counts(graph, as_by_hand(boots, ghost._automatic, boots.slots), ghost._automatic)
    assert found == documented("helr")
    assert found[1] <= found[0] == len(periods)


@pytest.mark.slow
def test_resnet20(params, ghost):
    model = digits_model()
    compiled = nn.compile(model, params, nn.Ranges.stored_in(model))
    boots = next(iter(compiled.program.bootstrappers.values()))
    chosen = {"order": boots.options.order, "real": True, "stc_levels": boots.options.stc_levels}
    program = compiled.program
    x = ghost.ghost_input(level=program.schedule.fresh_level, slots=program.input_layout.slots)
    graph = record_graph(params, compiled, x, bootstrap=chosen, leave_out_bootstraps=True)
    refresh = as_by_hand(boots, ghost._automatic)
    found = counts(graph, refresh, ghost._automatic)
    assert found == documented("resnet20")
    assert found[1] <= found[0] == program.schedule.bootstraps
