# SPDX-License-Identifier: Apache-2.0
"""Calls with several keys on engines with budgets: plans have the steps of the runs that follow them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
import pytest

CACHE = 1 << 30
"""Of a device that large operations are blocked for; engines on the CPU have none of their own."""

STEPS = list(range(1, 81))


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    """A sum of many rotations, after which a few are added one by one."""
    y = x.engine.sum_rotations(x, STEPS)
    for step in (1, 2, 3):
        y = y + x.rotate(step)
    return y


@pytest.fixture(scope="module")
def rig() -> dict[str, Any]:
    params = hc.Params.preset("n13-d3")
    client = hc.Client(params)
    keys = client.evaluation_keys(rotations=STEPS)
    x = client.encrypt(np.linspace(-1, 1, params.slots))
    resident = hc.Engine(params, keys, threads=1)
    expected = client.decrypt(resident.run(program, x))
    footprint = resident.stats()["peak_bytes"]
    return {
        "params": params, "client": client, "keys": keys, "x": x, "expected": expected, "footprint": footprint
    }  # fmt: skip


def engine_of(rig: dict[str, Any], share: float, policy: str = "planned", cache: int = CACHE) -> hc.Engine:
    memory = int(share * rig["footprint"])
    engine = hc.Engine(rig["params"], rig["keys"], memory=memory, policy=policy, threads=1)
    engine._core.cache_bytes = cache
    return engine


def products(engine: hc.Engine, rig: dict[str, Any], **options: Any) -> int:
    """Calls for products with keys in a run, which must give what the resident engine gave."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of plans that a run left
        with engine.record() as trace:
            got = rig["client"].decrypt(engine.run(program, rig["x"], **options))
    np.testing.assert_array_equal(got, rig["expected"])
    report = engine.last_run
    assert report is not None and report.peak_fast_bytes <= engine.budget_bytes
    assert report.followed_plan == (engine.policy == "planned")
    steps, ops = trace.columns["step"], trace.columns["op"]
    return len({s for s, op in zip(steps, ops, strict=True) if op == "key_multiply_accumulate"})


@pytest.mark.parametrize("policy", ["planned", "lru"])
def test_calls_take_several_keys_within_the_budget(rig: dict[str, Any], policy: str) -> None:
    alone = products(engine_of(rig, 0.6, policy, cache=0), rig)
    assert alone == len(STEPS) + 3
    joined = engine_of(rig, 0.6, policy)
    assert products(joined, rig) <= alone // 2
    assert products(joined, rig) <= alone // 2
    assert products(engine_of(rig, 1.5, policy), rig) < products(joined, rig)


@pytest.mark.parametrize("policy", ["planned", "lru", "managed", "resident"])
def test_the_least_budget_stays_enough(rig: dict[str, Any], policy: str) -> None:
    traced = hc.trace_program(rig["params"], program)
    least = traced.minimum_budget.bytes(policy)
    assert least is not None
    keys = rig["client"].evaluation_keys(plan=traced.key_plan)
    engine = hc.Engine(rig["params"], keys, memory=least, policy=policy, threads=1)
    engine._core.cache_bytes = CACHE
    for _ in range(2):
        got = rig["client"].decrypt(engine.run(program, rig["x"]))  # by other keys
        np.testing.assert_allclose(got, rig["expected"], atol=1e-4)


def test_plans_keep_their_calls_under_another_budget(rig: dict[str, Any], tmp_path: Path) -> None:
    engine = engine_of(rig, 0.3)
    calls = products(engine, rig)
    path = tmp_path / "program.plan"
    assert engine.last_plan is not None
    engine.last_plan.save(path)
    roomy = engine_of(rig, 1.5)
    assert products(roomy, rig, plan=path) == calls
    assert products(roomy, rig) < calls
    engine.set_budget(roomy.budget_bytes)
    assert products(engine, rig) < calls
