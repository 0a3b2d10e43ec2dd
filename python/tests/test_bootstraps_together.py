# SPDX-License-Identifier: Apache-2.0
"""Bootstraps whose parts go through EvalMod together: the same results, keys and levels."""

from __future__ import annotations

import pickle

import halocline as hc
import numpy as np
import pytest
from halocline.circuits.bootstrapping import BootstrapCircuit
from halocline.cli.app import app
from halocline.remote.maps import from_bytes, to_bytes
from halocline.workloads.settings import parse_settings
from typer.testing import CliRunner

PRESET = "test-n11-boot"


@pytest.fixture(scope="module")
def params() -> hc.Params:
    return hc.Params.preset(PRESET, allow_insecure=True)


@pytest.fixture(scope="module")
def client(params: hc.Params) -> hc.Client:
    return hc.Client(params, threads=1)


def boots_of(params: hc.Params, together: int, order: str = "cts_first") -> hc.Bootstrapper:
    """With the same matrices within any budget, so that results are the same integers."""
    return hc.Bootstrapper(params, order=order, eval_mod_together=together, memory=0)


def inputs_of(client: hc.Client, boots: hc.Bootstrapper) -> list[hc.Ciphertext]:
    random = np.random.default_rng(5)
    values = random.uniform(-0.7, 0.7, (3, boots.slots)) + 0.5j * random.uniform(-1, 1, (3, boots.slots))
    return [client.encrypt(each, level=boots.input_level) for each in values]


@pytest.mark.parametrize("order", ["cts_first", "stc_first"])
@pytest.mark.parametrize(
    "memory", [{}, {"memory": "48MiB", "policy": "lru"}, {"memory": "48MiB", "policy": "planned"}]
)
def test_results_are_the_same(
    params: hc.Params, client: hc.Client, order: str, memory: dict[str, str]
) -> None:
    single = boots_of(params, 1, order)
    keys = client.evaluation_keys(plan=single.key_plan)
    inputs = inputs_of(client, single)
    wanted = [each.to_bytes() for each in hc.Engine(params, keys, threads=1).run(single, inputs)]
    for together in (2, 4):
        boots = boots_of(params, together, order)
        assert boots.key_plan == single.key_plan
        assert (boots.input_level, boots.output_level) == (single.input_level, single.output_level)
        assert boots.describe()["eval_mod_together"] == together
        engine = hc.Engine(params, keys, threads=1, **memory)
        assert [each.to_bytes() for each in engine.run(boots, inputs)] == wanted
        if memory.get("policy") == "planned":
            assert engine.last_run.followed_plan


def test_engines_and_files_keep_the_option(params: hc.Params) -> None:
    boots = boots_of(params, 2)
    assert "eval_mod_together=2" in repr(boots)
    with hc.allow_insecure_unpickling():
        assert pickle.loads(pickle.dumps(boots)).options.eval_mod_together == 2
    engine = hc.Engine(params, device="ghost")
    x = engine.ghost_input(level=0, slots=params.slots)
    engine.bootstrap(x, eval_mod_together=2)
    engine.bootstrap(x)
    assert len(engine._bootstrappers) == 2
    made = from_bytes(to_bytes(BootstrapCircuit(boots.options)) or b"")
    assert made.options == boots.options


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (-1, hc.InvalidArgument, "bootstrap: eval_mod_together: got -1, expected 0 to 64"),
        (65, hc.InvalidArgument, "bootstrap: eval_mod_together: got 65, expected 0 to 64"),
        ("2", hc.WrongType, "bootstrap: eval_mod_together: got .*, expected an integer"),
    ],
)
def test_bad_values(params: hc.Params, value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hc.Bootstrapper(params, eval_mod_together=value)


def test_command(tmp_path) -> None:
    assert parse_settings(["eval_mod_together=2"]) == {"eval_mod_together": 2}
    command = ["run", "bootstrap", "--params", PRESET, "--allow-insecure", "--threads", "1", "--set"]
    result = CliRunner().invoke(app, [*command, "eval_mod_together=2", "--json", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    assert '"eval_mod_together": 2' in (tmp_path / "r.json").read_text()
    refused = CliRunner().invoke(app, [*command, "eval_mod_together=65"])
    assert refused.exit_code == 2
    assert "eval_mod_together: got 65" in refused.output
