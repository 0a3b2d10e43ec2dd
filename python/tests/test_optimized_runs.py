# SPDX-License-Identifier: Apache-2.0
"""`Engine.run(..., optimize="io")`: the best of several plans, with the same results."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import halocline as hc
import numpy as np
import pytest
from halocline.engine.plan_choice import best_of, candidate

ORDER = [1, 2] * 12 + [3, 5, 6, 7]


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    """1 and 2 often, 3 once: 1 + 2."""
    y = x
    for step in ORDER:
        y = y + x.rotate(step)
    return y * 0.02


@pytest.fixture(scope="module")
def rig() -> dict[str, Any]:
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params)
    values = np.linspace(-1, 1, params.slots)
    x = client.encrypt(values)
    traced = hc.trace_program(params, program, x)
    keys = client.evaluation_keys(plan=traced.key_plan)
    result = hc.Engine(params, keys, threads=1).run(program, x)
    expected = 0.02 * (values + sum(np.roll(values, -step) for step in ORDER))
    return {
        "params": params, "client": client, "x": x, "keys": keys, "budget": traced.budget("45%"),
        "result": result.to_bytes(), "expected": expected,
    }  # fmt: skip


def engine_of(rig: dict[str, Any], **options: Any) -> hc.Engine:
    given = {"memory": rig["budget"], "policy": "planned", "threads": 1} | options
    return hc.Engine(rig["params"], rig["keys"], **given)


def test_the_shortest_forecast_is_taken_and_integers_stay(rig: dict[str, Any]) -> None:
    engine = engine_of(rig)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for turn in range(4):
            result = engine.run(program, rig["x"], optimize="io")
            assert result.to_bytes() == rig["result"]
            report = engine.last_run
            assert report is not None and report.followed_plan and report.choice is not None
            assert report.ghost_passes == (1 if turn < 2 else 0)
    choice = report.choice
    names = [each.name for each in (choice.taken, *choice.others)]
    assert sorted(names) == ["as planned by default", "nothing regenerated", "whole objects"]
    times = [each.forecast_seconds for each in (choice.taken, *choice.others)]
    assert all(each >= 0.99 * times[0] for each in times)
    assert not any(each.compositions for each in (choice.taken, *choice.others))
    assert choice.reason.startswith(f"took {choice.taken.name}: ")
    # What the run before left in memory, inputs and tables among it, is not loaded again.
    assert 0 < report.bytes_moved["loaded"] <= choice.taken.loaded_bytes


def test_other_runs_of_the_program_are_not_changed(rig: dict[str, Any]) -> None:
    engine = engine_of(rig)
    engine.run(program, rig["x"], optimize="io")
    engine.run(program, rig["x"])
    assert engine.last_run is not None and engine.last_run.choice is None
    assert engine.last_run.ghost_passes == 1


def test_compositions_are_tried_where_the_engine_allows_them(
    rig: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(rig, compose_rotations=True)
    engine.run(program, rig["x"], optimize="io")
    assert engine.last_run is not None and engine.last_run.choice is not None
    found = [engine.last_run.choice.taken, *engine.last_run.choice.others]
    composed = [each for each in found if each.compositions]
    assert [each.name for each in composed] == ["1 rotations composed"]

    def last(tried: list[tuple[str, Any]], degree: int) -> tuple[Any, hc.PlanChoice]:
        return tried[-1][1], best_of(tried[-1:], degree)[1]

    monkeypatch.setattr("halocline.engine.planned_run.best_of", last)
    other = engine_of(rig, compose_rotations=True)
    result = other.run(program, rig["x"], optimize="io")
    report = other.last_run
    assert report is not None and report.choice is not None and report.followed_plan
    assert report.choice.taken.compositions == 1 and "nothing else" in report.choice.reason
    assert other.last_plan is not None
    assert list(other.last_plan._core.compositions) == [rig["params"]._core.galois_element(3)]
    np.testing.assert_allclose(rig["client"].decrypt(result), rig["expected"], atol=2**-12)


def test_the_best_of_plans(rig: dict[str, Any]) -> None:
    trace = hc.trace_program(rig["params"], program, rig["x"]).trace
    device = hc.device_models()["h200"]
    plans = [
        (name, hc.plan_trace(trace, "30%", hc.LINKS[name].on(device))._core)
        for name in ("http", "rdma", "pcie")
    ]
    for order in itertools.permutations(plans):
        plan, choice = best_of(order, rig["params"].n)
        assert plan is plans[-1][1] and choice.taken.name == "pcie"
        assert [each.name for each in choice.others] == ["rdma", "http"]
    equal = [("first", plans[0][1]), ("second", plans[0][1])]
    assert best_of(equal, rig["params"].n)[1].taken.name == "first"
    found = candidate("http", plans[0][1], 8 * rig["params"].n)
    counts = hc.Plan(plans[0][1]).directives()
    assert found.requests == counts["load"] + counts["write_back"] + counts["encode"]


def test_wrong_uses_are_refused(rig: dict[str, Any]) -> None:
    engine = engine_of(rig)
    with pytest.raises(hc.InvalidArgument, match="expected None or 'io'"):
        engine.run(program, rig["x"], optimize="speed")  # type: ignore[arg-type]
    engine.run(program, rig["x"])
    with pytest.raises(hc.InvalidArgument, match="give one of them"):
        engine.run(program, rig["x"], plan=engine.last_plan, optimize="io")
    whole = hc.Engine(rig["params"], rig["keys"], threads=1, policy="planned")
    with pytest.raises(hc.InvalidArgument, match="outermost run"):
        whole.run(lambda x: whole.run(program, x, optimize="io"), rig["x"])
    for policy in ("resident", "lru"):
        with pytest.raises(hc.InvalidArgument, match="policy='planned'"):
            engine_of(rig, memory=None, policy=policy).run(program, rig["x"], optimize="io")


def test_without_a_budget_there_is_nothing_to_choose(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, memory=None)
    assert engine.run(program, rig["x"], optimize="io").to_bytes() == rig["result"]
    assert engine.last_run is not None and engine.last_run.choice is None
