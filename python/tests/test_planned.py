# SPDX-License-Identifier: Apache-2.0
"""Engines that compute in less memory than their objects need."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
import pytest

STEPS = [1, 2, 3, 5, 7, 11]
ORDER = [1, 2, 3, 5, 7, 11, 1, 5, 2, 11, 1, 3]


def program(x: hc.Ciphertext) -> hc.Ciphertext:
    """Rotations in an irregular order, then a product."""
    y = x
    for step in ORDER:
        y = y + x.rotate(step)
    return 0.1 * y * x


@pytest.fixture(scope="module")
def rig() -> dict[str, Any]:
    params = hc.Params.preset("n13-d3")
    client = hc.Client(params)
    keys = client.evaluation_keys(rotations=STEPS)
    values = np.linspace(-1, 1, params.slots)
    x = client.encrypt(values)
    resident = hc.Engine(params, keys, threads=1)
    expected = client.decrypt(resident.run(program, x))
    footprint = resident.stats()["peak_bytes"]
    return {
        "params": params, "client": client, "keys": keys, "x": x, "expected": expected, "footprint": footprint
    }  # fmt: skip


def engine_of(rig: dict[str, Any], share: float, policy: str = "planned", **options: Any) -> hc.Engine:
    return hc.Engine(
        rig["params"], rig["keys"], memory=int(share * rig["footprint"]), policy=policy, threads=1, **options
    )


@pytest.mark.parametrize("share", [0.35, 0.6, 1.5])
def test_planned_equals_resident_within_the_budget(rig: dict[str, Any], share: float) -> None:
    engine = engine_of(rig, share)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):  # cold, then from what the run before left in memory
            got = rig["client"].decrypt(engine.run(program, rig["x"]))
            np.testing.assert_array_equal(got, rig["expected"])
            report = engine.last_run
            assert report is not None and report.followed_plan
            assert report.peak_fast_bytes <= engine.budget_bytes
    if share < 1:
        assert report.bytes_moved["loaded"] > 0


@pytest.mark.parametrize("policy", ["lru", "managed", "static", "dynamic"])
def test_policies_that_move_bytes_compute_the_same(rig: dict[str, Any], policy: str) -> None:
    engine = engine_of(rig, 0.5, policy)
    got = rig["client"].decrypt(engine.run(program, rig["x"]))
    np.testing.assert_array_equal(got, rig["expected"])
    assert engine.stats()["peak_fast_bytes"] <= engine.budget_bytes


@pytest.mark.parametrize("policy", ["resident", "async", "cached"])
def test_policies_without_a_slow_tier_say_what_they_need(rig: dict[str, Any], policy: str) -> None:
    needs = r"budget of at least|alone need .* under '(resident|async|cached)'"
    with pytest.raises(hc.OutOfMemory, match=needs):
        engine_of(rig, 0.5, policy).run(program, rig["x"])


def test_plans_are_kept_per_program_and_shapes(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.5)
    engine.run(program, rig["x"])
    first = engine._last_plan
    engine.run(program, rig["x"])
    second = engine._last_plan
    assert second is not first  # the first run left other things in memory than it found
    engine.run(program, rig["x"])
    assert engine._last_plan is second
    engine.run(lambda x: x + x.rotate(2), rig["x"])
    assert engine._last_plan is not second


def test_decorated_functions_run_under_plans(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.5)
    decorated = engine.program(program)
    np.testing.assert_array_equal(rig["client"].decrypt(decorated(rig["x"])), rig["expected"])
    assert decorated.__doc__ == program.__doc__
    assert engine.last_run is not None and engine.last_run.followed_plan


def test_transforms_are_encoded_once_and_planned(rig: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    diagonals = {d: rng.uniform(-1, 1, rig["params"].slots) for d in range(4)}
    transform = hc.LinearTransform(diagonals, mode="naive")
    keys = rig["client"].evaluation_keys(rotations=[1, 2, 3])

    def twice(x: hc.Ciphertext) -> hc.Ciphertext:
        return transform(x) + transform(x * 0.5).rotate(1)

    resident = hc.Engine(rig["params"], keys, threads=1)
    expected = rig["client"].decrypt(resident.run(twice, rig["x"]))
    memory = resident.stats()["peak_bytes"] // 2
    engine = hc.Engine(rig["params"], keys, memory=memory, policy="planned", threads=1)
    for _ in range(2):
        got = rig["client"].decrypt(engine.run(twice, rig["x"]))
        np.testing.assert_array_equal(got, expected)
        assert engine.last_run is not None and engine.last_run.followed_plan


def test_the_minimum_is_stated(rig: dict[str, Any]) -> None:
    with pytest.raises(hc.OutOfMemory, match="bytes"):
        engine_of(rig, 0.05).run(program, rig["x"])


def test_plan_files(rig: dict[str, Any], tmp_path: Path) -> None:
    engine = engine_of(rig, 0.5)
    engine.run(program, rig["x"])
    assert engine.last_plan is not None
    path = tmp_path / "program.plan"
    engine.last_plan.save(path)
    data = path.read_bytes()
    assert engine.last_plan.summary.peak_bytes <= engine.budget_bytes
    again = engine_of(rig, 0.5)
    got = rig["client"].decrypt(again.run(program, rig["x"], plan=path))
    np.testing.assert_array_equal(got, rig["expected"])
    assert again.last_run is not None and again.last_run.followed_plan

    path.write_bytes(data[:-3])
    with pytest.raises(hc.CorruptData):
        again.run(program, rig["x"], plan=path)
    path.write_bytes(data)
    with pytest.raises(hc.InvalidArgument, match="other parameters or another way of keeping keys"):
        engine_of(rig, 0.5, keep_seeds=True).run(program, rig["x"], plan=path)
    with pytest.raises(hc.InvalidArgument, match="budget"):
        engine_of(rig, 0.4).run(program, rig["x"], plan=path)
    with pytest.raises(hc.InvalidArgument, match="'planned'"):
        engine_of(rig, 0.5, "lru").run(program, rig["x"], plan=path)
    with pytest.raises(hc.IoError, match="cannot read"):
        again.run(program, rig["x"], plan=tmp_path / "none.plan")


def test_another_program_than_planned_is_right_and_warns(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.5)
    engine.run(lambda x: x.rotate(1) + x.rotate(2), rig["x"])
    with pytest.warns(hc.PlanDivergence, match="lru"):
        got = rig["client"].decrypt(engine.run(program, rig["x"], plan=engine.last_plan))
    np.testing.assert_array_equal(got, rig["expected"])
    assert engine.last_run is not None and not engine.last_run.followed_plan


def test_a_program_that_cannot_be_planned_runs_and_warns(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.5)
    bound = rig["x"].to(engine)
    with pytest.warns(hc.PlanDivergence, match="could not be planned"):
        got = engine.run(lambda x: program(bound), rig["x"])
    np.testing.assert_array_equal(rig["client"].decrypt(got), rig["expected"])


def test_errors_of_programs_pass_through_and_leave_the_engine_usable(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.5)

    def fails(x: hc.Ciphertext) -> hc.Ciphertext:
        y = x.rotate(1)
        if not engine.is_ghost and y.engine is engine:
            raise RuntimeError("no")
        return y

    with pytest.raises(RuntimeError, match="no"):
        engine.run(fails, rig["x"])
    np.testing.assert_array_equal(rig["client"].decrypt(engine.run(program, rig["x"])), rig["expected"])


def test_cancel(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.5)

    rotated = [0]

    def endless(x: hc.Ciphertext) -> hc.Ciphertext:
        while not x.engine.is_ghost or rotated[0] < 10:
            if rotated[0] == 13:
                other = threading.Thread(target=engine.cancel)
                other.start()
                other.join()
            x = x.rotate(1)
            rotated[0] += 1
        return x

    with pytest.raises(hc.Cancelled):
        engine.run(endless, rig["x"])
    assert rotated == [13]  # 10 on the ghost, three on the engine, and not one more
    np.testing.assert_array_equal(rig["client"].decrypt(engine.run(program, rig["x"])), rig["expected"])


def test_engines_share_a_budget(rig: dict[str, Any]) -> None:
    budget = hc.MemoryBudget(int(0.9 * rig["footprint"]))
    engines = [
        hc.Engine(rig["params"], rig["keys"], memory=budget, policy="lru", threads=1) for _ in range(2)
    ]
    for engine in engines * 2:
        np.testing.assert_array_equal(rig["client"].decrypt(engine.run(program, rig["x"])), rig["expected"])
        assert budget.used <= budget.capacity
    assert 0 < budget.peak <= budget.capacity
    del engine
    engines.clear()
    assert budget.used == 0


def test_the_budget_may_change(rig: dict[str, Any]) -> None:
    engine = engine_of(rig, 0.8)
    engine.run(program, rig["x"])
    engine.set_budget(int(0.4 * rig["footprint"]))
    assert engine.stats()["fast_bytes"] <= engine.budget_bytes
    np.testing.assert_array_equal(rig["client"].decrypt(engine.run(program, rig["x"])), rig["expected"])
    assert engine.last_run is not None and engine.last_run.followed_plan


def test_memory_options(rig: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(hc.IoError):
        engine_of(rig, 0.5, memory_options=hc.MemoryOptions(tier_folder=tmp_path / "none"))
    with pytest.raises(hc.IoError, match=r"full|limit|capacity"):
        engine_of(rig, 0.3, memory_options=hc.MemoryOptions(tier_limit=1 << 20))
    with pytest.raises(hc.InvalidArgument):
        engine_of(rig, 0.5, "profiled")
    engine = engine_of(rig, 0.5, memory_options=hc.MemoryOptions(tier_folder=tmp_path))
    engine.run(program, rig["x"])
    assert not list(tmp_path.iterdir())  # the file has no name
    blocking = hc.MemoryOptions(blocking_copies=True)
    with pytest.raises(hc.InvalidArgument, match="only 'lru'"):
        engine_of(rig, 0.5, memory_options=blocking)
    engine = engine_of(rig, 0.5, "lru", memory_options=blocking)
    np.testing.assert_array_equal(rig["client"].decrypt(engine.run(program, rig["x"])), rig["expected"])


def test_rare_rotations_are_composed_when_the_forecast_is_faster(
    rig: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3]  # 3 once: 1 + 2

    def sums(x: hc.Ciphertext) -> hc.Ciphertext:
        y = x
        for step in order:
            y = y + x.rotate(step)
        return y * 0.05

    engine = engine_of(rig, 0.5, compose_rotations=True)
    planner = engine._planner
    assert planner is not None

    # On a link so slow that no plan can do without: every load takes far longer than a key switch.
    class SlowLink:
        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def suggest_routes(self, uses: Any, switch_ns: float, load_ns: float) -> Any:
            return core.suggest_routes(uses, switch_ns, 100 * switch_ns)

    core = engine._core
    monkeypatch.setattr(engine, "_core", SlowLink())
    monkeypatch.setattr("halocline.engine.planned_run._STALL_WORTH_COMPOSING", -1.0)
    monkeypatch.setattr("halocline.engine.planned_run._GAIN_WORTH_COMPOSING", 10.0)
    for _ in range(2):  # programs are planned once more before their second run
        prepared = planner.plan_for(sums, ((rig["x"].to(engine),), {}))
    monkeypatch.undo()
    assert prepared is not None
    element = rig["params"]._core.galois_element(3)
    assert list(prepared.plan.compositions) == [element]

    values = np.linspace(-1, 1, rig["params"].slots)
    expected = 0.05 * (values + sum(np.roll(values, -step) for step in order))
    got = rig["client"].decrypt(engine.run(sums, rig["x"]))
    assert engine.last_run is not None and engine.last_run.followed_plan
    assert engine._last_plan is prepared.plan
    np.testing.assert_allclose(got, expected, atol=2**-18)

    # A plan with compositions gives other integers, so it is followed only where that is allowed.
    data = hc.Plan(prepared.plan).to_bytes()
    with pytest.raises(hc.InvalidArgument, match="compose_rotations=True"):
        engine_of(rig, 0.5).run(sums, rig["x"], plan=hc.Plan.from_bytes(data))
    again = engine_of(rig, 0.5, compose_rotations=True)
    same = rig["client"].decrypt(again.run(sums, rig["x"], plan=hc.Plan.from_bytes(data)))
    np.testing.assert_array_equal(same, got)
