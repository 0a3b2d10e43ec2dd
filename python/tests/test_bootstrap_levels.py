# SPDX-License-Identifier: Apache-2.0
"""Bootstraps that give fewer levels than there are: options, keys, workloads, automatic bootstraps."""

import json

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.workloads.bootstrap.messages import disc
from halocline.workloads.helr.circuit import HelrCircuit, HelrLayout
from halocline.workloads.helr.model import make_constants
from halocline.workloads.sorting.circuit import SortingCircuit, start_level
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


@pytest.fixture(scope="module")
def client(params):
    return hc.Client(params, threads=1)


# Two bits below the forecast, for messages that are not random.
@pytest.mark.parametrize(
    ("level", "options"),
    [(14, {}), (3, {"compact": True}), (12, {"order": "stc_first", "from_sparse": True, "real": True})],
)
def test_results_have_the_level(params, client, level, options):
    boots = hc.Bootstrapper(params, slots=16, output_level=level, **options)
    full = hc.Bootstrapper(params, slots=16, **options)
    assert boots.output_level == level < full.output_level and f"output_level={level}" in repr(boots)
    assert hc.key_plan(params, boots, np.zeros(16)) == boots.key_plan
    assert boots.key_plan.nbytes() < full.key_plan.nbytes()
    assert all(at <= params.top_level for _, at in boots.key_plan.requests())
    x = disc(16, 2).real if options.get("real") else disc(16, 2)
    engine = hc.Engine(params, client.evaluation_keys(plan=boots.key_plan), threads=1)
    y = engine.run(boots, client.encrypt(x, level=boots.input_level))
    assert (y.level, y.scale) == (level, params.level(level).scale)
    assert np.abs(client.decrypt(y) - x).max() < 2.0 ** (2 - boots.describe()["worst_bits"])


def test_the_least_level_that_there_is(params):
    full = hc.Bootstrapper(params, slots=16, order="stc_first")
    assert full.lowered(9).output_level == full.output_level_from(9) == 9
    assert full.lowered(0).output_level == full.input_level + 1
    assert full.lowered(full.output_level) is full
    assert full.lowered(params.max_level + 5) is full
    asked = hc.Bootstrapper(params, slots=16, output_level=10)
    assert asked.lowered(5) is asked
    wide = hc.Bootstrapper(hc.Params.preset("test-n11-boot64", allow_insecure=True), slots=16)
    assert wide.lowered(2) is wide


def test_levels_that_cannot_be(params):
    for level in (18, 17):  # SlotToCoeff takes one
        with pytest.raises(hc.InvalidArgument, match=rf"level {level} requested; expected 1 to 16"):
            hc.Bootstrapper(params, slots=16, output_level=level).describe()
    wide = hc.Params.preset("test-n11-boot64", allow_insecure=True)
    with pytest.raises(hc.InvalidArgument, match="64-bit words"):
        hc.Bootstrapper(wide, slots=16, output_level=2).describe()
    with pytest.raises(hc.InvalidArgument, match="output_level"):
        hc.Bootstrapper(params, output_level=-1)


def test_command(tmp_path):
    result = CliRunner().invoke(
        app,
        ["run", "bootstrap", "--params", "test-n11-boot", "--allow-insecure", "--set", "slots=8", "--set",
         "output_level=3", "--threads", "1", "--json", str(tmp_path / "r.json")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["bootstrap"]["output_level"] == 3
    assert report["precision_worst_bits"] > report["bootstrap"]["worst_bits"] - 3


def test_workloads_raise_no_further_than_they_need(params):
    circuit = SortingCircuit(params, 16, 8)
    needed = start_level(8, circuit.low_level)
    assert circuit.bootstrapper.output_level == needed < params.max_level
    assert SortingCircuit(params, 16, 8, {"output_level": 17}).bootstrapper.output_level == 17
    layout = HelrLayout.of(params.slots, 32, 16)
    boots = hc.Bootstrapper(params, slots=layout.columns, stc_levels=1)
    constants = make_constants(32, 6, 1.0, 16.0, 3)
    helr = HelrCircuit(params, layout, constants, boots)
    assert (boots.output_level, helr.level, helr.bootstrapper.output_level) == (16, 12, 12)


def recurrence(x):
    """18 levels: two bootstraps, between which 9 are enough."""
    for _ in range(9):
        x = 3.2 * (x * (1 - x))
    return x


def test_automatic_bootstraps_give_the_least_levels(params, client):
    x = client.encrypt(np.linspace(0.1, 0.9, 64), level=2)
    options = {"output_level": "least"}
    plan = hc.key_plan(params, recurrence, x, bootstrap=options)
    usual = hc.key_plan(params, recurrence, x, bootstrap="auto")
    assert plan.nbytes() < usual.nbytes()
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), threads=1, bootstrap=options)
    y = engine.run(recurrence, x)
    assert (engine._automatic.last.done, engine._automatic.last.extra) == (2, 0)
    full = hc.Engine(params, device="ghost", bootstrap="auto")
    full.run(recurrence, full.ghost_input(level=2, slots=64, real=True))
    assert full._automatic.last.done == 2
    (level,) = {point.raised for point in engine._automatic.points()}
    assert level < max(point.raised for point in full._automatic.points())
    expected = recurrence(np.linspace(0.1, 0.9, 64))
    assert np.abs(client.decrypt(y) - expected).max() < 2.0**-9  # errors grow 2^1.7 an iteration, from 2^-20
    with pytest.raises(hc.InvalidArgument, match="output_level"):
        hc.Engine(params, bootstrap={"output_level": "most"})
