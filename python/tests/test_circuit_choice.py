# SPDX-License-Identifier: Apache-2.0
"""Engines that decide how circuits are organised."""

from __future__ import annotations

import warnings
from typing import Any

import halocline as hc
import numpy as np
import pytest

SMALL = hc.CircuitChoice(mode="small_key", compact=True)


@pytest.fixture(scope="module")
def rig() -> dict[str, Any]:
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params)
    rng = np.random.default_rng(5)
    diagonals = {d: rng.uniform(-1, 1, params.slots) for d in range(16)}
    values = rng.uniform(-1, 1, params.slots)
    expected = sum(each * np.roll(values, -d) for d, each in diagonals.items())
    transform = hc.LinearTransform(diagonals)
    return {
        "params": params, "client": client, "transform": transform, "diagonals": diagonals,
        "x": client.encrypt(values), "expected": expected,
    }  # fmt: skip


def test_an_engine_decides_for_all_linear_maps(rig: dict[str, Any]) -> None:
    params, client, transform, x = (rig[name] for name in ("params", "client", "transform", "x"))
    plan = hc.key_plan(params, transform, x)
    small = hc.key_plan(params, transform, x, circuits=SMALL)
    assert len(small) < len(plan)
    assert len(hc.trace_program(params, transform, x, circuits=SMALL).key_plan) == len(small)
    given = hc.LinearTransform(rig["diagonals"], mode="small_key", compact=True)
    assert hc.key_plan(params, given, x) == small
    keys = client.evaluation_keys(plan=small)
    engine = hc.Engine(params, keys, threads=1, circuits=SMALL)
    result = engine.run(transform, x)
    np.testing.assert_allclose(client.decrypt(result), rig["expected"], atol=2**-12)
    same = hc.Engine(params, keys, threads=1).run(given, x)
    assert result.to_bytes() == same.to_bytes()
    assert transform.rotations(engine, x.level) == small.rotations
    with pytest.raises(hc.MissingKey):
        hc.Engine(params, keys, threads=1).run(transform, x)


def test_planned_runs_and_minima_follow_the_choice(rig: dict[str, Any]) -> None:
    params, client, transform, x = (rig[name] for name in ("params", "client", "transform", "x"))
    traced = hc.trace_program(params, transform, x, circuits=SMALL)
    keys = client.evaluation_keys(plan=traced.key_plan)
    budget = traced.minimum_budget.planned
    engine = hc.Engine(params, keys, memory=budget, policy="planned", threads=1, circuits=SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = engine.run(transform, x)
    np.testing.assert_allclose(client.decrypt(result), rig["expected"], atol=2**-12)
    assert engine.last_run is not None and engine.last_run.followed_plan
    with pytest.raises(hc.OutOfMemory):
        hc.Engine(params, keys, memory=budget - 4096, policy="planned", circuits=SMALL).run(transform, x)


def test_bootstraps_follow_the_choice_and_keep_their_own_elsewhere() -> None:
    params = hc.Params.preset("test-n11-boot", allow_insecure=True)
    made = hc.Bootstrapper(params, slots=8, message_bound=2.0**-2)
    small = hc.CircuitChoice(bootstrap_mode="small_key", bootstrap_baby_count=4, bootstrap_compact=True)
    assert small.bootstrap_settings == {
        "cts_mode": "small_key", "stc_mode": "small_key", "baby_count": 4, "compact": True
    }  # fmt: skip
    own = made.key_plan

    def keys_of(bootstrapper: hc.Bootstrapper, circuits: hc.CircuitChoice | None) -> hc.KeyPlan:
        engine = hc.Engine(params, device="ghost", circuits=circuits)
        bootstrapper(engine.ghost_input(level=made.input_level, slots=8, real=False))
        return engine.key_plan

    same = hc.Bootstrapper(params, slots=8, message_bound=2.0**-2, **small.bootstrap_settings)
    assert keys_of(made, small) == keys_of(same, None) != keys_of(made, None)
    assert made.key_plan == own == keys_of(made, None)


def test_choices_in_words() -> None:
    assert str(hc.CircuitChoice()) == ""
    assert str(SMALL) == "maps small_key, compact"
    chosen = hc.CircuitChoice(baby_count=4, bootstrap_mode="bsgs", bootstrap_compact=False)
    assert str(chosen) == "maps 4 baby steps; bootstraps bsgs, weights encoded"


@pytest.mark.parametrize(
    "wrong", [{"mode": "fast"}, {"bootstrap_mode": "none"}, {"baby_count": -1}, {"bootstrap_baby_count": -1}]
)
def test_bad_choices_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(hc.InvalidArgument, match="CircuitChoice"):
        hc.CircuitChoice(**wrong)


def test_other_objects_are_no_choice(rig: dict[str, Any]) -> None:
    with pytest.raises(hc.WrongType, match="circuits"):
        hc.Engine(rig["params"], circuits={"mode": "small_key"})  # type: ignore[arg-type]
