# SPDX-License-Identifier: Apache-2.0
"""Advice: forecasts against real runs, and what the rows say."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
from typing import Any

import halocline as hc
import numpy as np
import pytest
from halocline.engine.advice import SEEDS, Row, Variant
from halocline.tracing.forecast import forecast
from halocline.workloads.wide_rotations.circuit import WideRotations

MEMORY = "45%"
LINK = "500MB/s,latency=20us,requests=16"
PAGE = 4096
ORDER = [16, 32] * 10 + [48, 64, 5, 6, 7, 9]
"""48 and 64 once each, which 16 and 32 make."""
LATER = [5, 6, 7, 9]
"""On a lower level, which needs less of the keys."""


@pytest.fixture(scope="module")
def rig() -> dict[str, Any]:
    """A program with a linear map and rotations, and what it computes."""
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params)
    rng = np.random.default_rng(1)
    diagonals = {d: rng.uniform(-1, 1, params.slots) for d in range(12)}
    transform = hc.LinearTransform(diagonals)

    def program(x: hc.Ciphertext) -> hc.Ciphertext:
        y = transform(x)
        for step in ORDER:
            y = y + x.rotate(step)
        y = y * 0.02
        for step in LATER:
            y = y + y.rotate(step)
        return y

    values = rng.uniform(-1, 1, params.slots)
    expected = sum(each * np.roll(values, -d) for d, each in diagonals.items())
    expected = 0.02 * (expected + sum(np.roll(values, -step) for step in ORDER))
    for step in LATER:
        expected = expected + np.roll(expected, -step)
    return {
        "params": params, "client": client, "program": program, "x": client.encrypt(values),
        "expected": expected,
    }  # fmt: skip


def test_only_keys_may_be_cold(rig: dict[str, Any]) -> None:
    how: dict[str, Any] = {"memory": "8GiB", "link": LINK}
    program = (rig["params"], rig["program"], rig["x"])
    everything, keys = (hc.advise(*program, **how, only_keys_cold=cold) for cold in (False, True))
    for row in keys.rows:
        if row.forecast is not None and row.variant.seeds == "kept":
            assert row.forecast.loaded_bytes == pytest.approx(row.key_bytes, rel=0.02)
    assert keys.written.forecast is not None and everything.written.forecast is not None
    assert keys.written.forecast.loaded_bytes < everything.written.forecast.loaded_bytes
    assert keys.best.seconds_each < everything.best.seconds_each


def test_transforms_of_bootstraps_may_have_different_modes() -> None:
    params = hc.Params.preset("test-n11-boot", allow_insecure=True)
    boots = hc.Bootstrapper(params)
    ghost = hc.Engine(params, device="ghost")
    x = ghost.ghost_input(level=boots.input_level, slots=boots.slots, real=False)
    found = hc.advise(params, boots, x, link=LINK, memory="8GiB", only_keys_cold=True)
    modes = {
        (row.variant.circuits.bootstrap_mode, row.variant.circuits.bootstrap_stc_mode) for row in found.rows
    }
    assert any(first and second and first != second for first, second in modes), modes
    mixed = hc.CircuitChoice(bootstrap_mode="small_key", bootstrap_stc_mode="double_hoisted")
    settings = mixed.bootstrap_settings
    assert (settings["cts_mode"], settings["stc_mode"]) == ("small_key", "double_hoisted")
    assert "SlotToCoeff double_hoisted" in str(mixed)
    one = hc.key_plan(params, boots, x, circuits=hc.CircuitChoice(bootstrap_mode="small_key"))
    both = hc.key_plan(params, boots, x, circuits=mixed)
    assert len(one) < len(both)


@pytest.fixture(scope="module")
def advice(rig: dict[str, Any]) -> hc.Advice:
    return hc.advise(rig["params"], rig["program"], rig["x"], memory=MEMORY, link=LINK, batches=(2, 4))


@pytest.fixture(scope="module")
def level_advice(rig: dict[str, Any]) -> hc.Advice:
    """For inputs of the level that they have."""
    return hc.advise(rig["params"], rig["program"], rig["x"], memory=MEMORY, link=LINK, keep_levels=True)


def cold_run(rig: dict[str, Any], row: Row, budget: int) -> tuple[int, int, int, int]:
    """Bytes loaded, written and made again, and requests, of a real run that begins with empty memory."""
    assert row.forecast is not None
    variant, program = row.variant, rig["program"]
    plan = hc.key_plan(rig["params"], program, rig["x"], circuits=variant.circuits)
    keys = rig["client"].evaluation_keys(plan=plan)
    options: dict[str, Any] = {"memory": budget, "policy": "planned", "threads": 1}
    engine = hc.Engine(rig["params"], keys, **options, **variant.engine_options)
    x = rig["x"].to(engine)
    engine.run(program, x)  # encodes the weights
    engine.set_budget(PAGE)  # everything goes to the file
    assert engine.stats()["fast_bytes"] <= PAGE
    engine.set_budget(budget)
    before = engine._core.movement()
    result = engine.run(program, x, plan=row.forecast.plan)
    after = engine._core.movement()
    assert engine.last_run is not None and engine.last_run.followed_plan
    np.testing.assert_allclose(rig["client"].decrypt(result), rig["expected"], atol=2**-10)
    moved = {name: after[name] - before[name] for name in after}
    again = moved["expanded_bytes"] + moved["encoded_bytes"]
    return moved["loaded_bytes"], moved["written_bytes"], again, moved["loads"]


def test_forecast_bytes_are_those_of_real_runs(rig: dict[str, Any], level_advice: hc.Advice) -> None:
    """Exactly, but for a page: the budget of one page before the run lets one stay in memory.

    So the order by bytes is that of the runs too.
    """
    rows = [each for each in level_advice.rows if each.forecast]
    assert {each.variant.seeds for each in rows} == set(SEEDS)
    assert {each.variant.circuits.mode for each in rows} == {None, "double_hoisted", "bsgs", "small_key"}
    assert any(each.compositions for each in rows)
    pairs = []
    for row in rows:
        loaded, written, again, requests = cold_run(rig, row, level_advice.budget_bytes)
        found = row.forecast
        assert found is not None
        assert 0 <= found.loaded_bytes - loaded <= PAGE and 0 <= found.requests - requests <= 1, row
        assert (found.written_bytes, found.regenerated_bytes) == (written, again)
        pairs.append((found.loaded_bytes, loaded))
    for one, two in itertools.pairwise(sorted(pairs)):
        assert one[1] <= two[1] + PAGE


def test_rows_are_ordered_and_distinct(advice: hc.Advice) -> None:
    fits = [each for each in advice.rows if each.forecast]
    assert list(advice.rows[: len(fits)]) == fits  # the others are behind
    runs = [each for each in fits if not each.variant.is_comparison]
    assert fits[: len(runs)] == runs and any(each.variant.seeds == "loaded" for each in fits[len(runs) :])
    assert all(a.seconds_each <= 1.01 * b.seconds_each for a, b in itertools.pairwise(runs))
    assert advice.best is advice.rows[0] and advice.best.seconds_each < advice.written.seconds_each
    assert len({each.variant for each in advice.rows}) == len(advice.rows)
    plain = [dataclasses.replace(each, variant=Variant(batch=each.variant.batch)) for each in fits]
    assert len(plain) == len({repr(each) for each in plain})  # no row twice under two names


def test_each_choice_reads_less_where_it_should(advice: hc.Advice) -> None:
    rows = {each.variant: each for each in advice.rows}

    def loaded(variant: Variant) -> float:
        found = rows[variant].forecast
        assert found is not None
        return found.loaded_bytes / variant.batch

    small = hc.CircuitChoice(mode="small_key", compact=False)
    wide = hc.CircuitChoice(mode="bsgs", compact=False)
    for circuits in (small, wide):
        kept, planned = (Variant(circuits, seeds=each) for each in ("kept", "planned"))
        assert rows[kept].key_bytes < 0.6 * rows[planned].key_bytes
        assert loaded(kept) <= loaded(planned)
    assert rows[Variant(small)].keys < rows[Variant(wide)].keys
    lower = [each for each in rows if each.dropped_levels and each.batch == 1]
    lower = [each for each in lower if not (each.composed or each.is_comparison)]
    assert lower
    for variant in lower:
        same = dataclasses.replace(variant, dropped_levels=0)
        assert loaded(variant) < loaded(same) and rows[variant].key_bytes < rows[same].key_bytes
    for variant in (each for each in rows if each.batch > 1):
        assert loaded(variant) < loaded(dataclasses.replace(variant, batch=1))


def test_levels_are_kept_on_request(advice: hc.Advice, level_advice: hc.Advice) -> None:
    assert any(each.variant.dropped_levels for each in advice.rows)
    assert not any(each.variant.dropped_levels for each in level_advice.rows)


def test_prefixes_and_seeds_save_bytes() -> None:
    """Keys that are used at many levels."""
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    network = WideRotations(batches=1, layers=8, rotations_per_layer=24, keys=16, slots=params.slots)
    trace = hc.trace_program(params, network.program, network.inputs()[0]).trace
    device, budget = hc.device_models()["h200"], trace.peak_bytes // 4
    link = hc.Link.of(LINK)
    base = forecast(trace, device, budget, link)
    whole = forecast(trace, device, budget, link, prefixes=False, regenerate=False)
    loaded = forecast(trace, device, budget, link, regenerate=False)
    assert base.moved_bytes < loaded.moved_bytes < whole.moved_bytes
    assert base.seconds < loaded.seconds < whole.seconds
    assert loaded.regenerated_bytes == loaded.encodings == 0


def test_what_does_not_fit_says_what_it_needs(rig: dict[str, Any]) -> None:
    arguments = (rig["params"], rig["program"], rig["x"])
    none = hc.advise(*arguments, memory=PAGE)
    assert all(each.forecast is None for each in none.rows)
    assert [each.minimum_bytes for each in none.rows] == sorted(each.minimum_bytes for each in none.rows)
    with pytest.raises(hc.OutOfMemory, match=str(none.rows[0].minimum_bytes)):
        _ = none.best
    assert not none.to_dict()["rows"][0]["fits"]
    least = none.rows[0].minimum_bytes
    found = hc.advise(*arguments, memory=least)
    assert found.best.variant == none.rows[0].variant and any(each.forecast is None for each in found.rows)
    for row in found.rows:
        assert (row.forecast is None) == (row.minimum_bytes > least)


def test_slower_links_take_longer(rig: dict[str, Any]) -> None:
    traced = hc.trace_program(rig["params"], rig["program"], rig["x"])
    device, budget = hc.device_models()["h200"], traced.budget(MEMORY)
    # Faster ones are hidden behind the launches of such small operations.
    texts = ("4GB/s", "2GB/s", "2GB/s,latency=1ms,requests=8", "2GB/s,latency=1ms", "0.5GB/s,latency=1ms")
    links = [hc.Link.of(each) for each in texts]
    found = [forecast(traced.trace, device, budget, each, regenerate=False) for each in links]
    seconds = [each.seconds for each in found]
    assert seconds == sorted(seconds) and len(set(seconds)) == len(texts)
    for link, each in zip(links, found, strict=True):
        assert each.seconds >= max(each.compute_seconds, each.link_seconds)
        loads = each.plan.directives()["load"]
        busy = each.loaded_bytes / link.bytes_per_second + loads * link.seconds_per_request
        assert each.link_seconds == pytest.approx(busy, rel=0.02)  # beside write-backs it is shared
    own = forecast(traced.trace, device, budget)
    assert own.seconds == hc.replay(traced.trace, device, "planned", budget).total_seconds


def test_links_by_name_and_text() -> None:
    assert hc.Link.of("pcie") is hc.LINKS["pcie"]
    made = hc.Link.of("12GB/s, latency=50us, requests=8")
    assert (made.bytes_per_second, made.requests) == (12e9, 8)
    assert made.latency_seconds == pytest.approx(50e-6)
    assert made.seconds_per_request + made.first_seconds == pytest.approx(50e-6)
    assert hc.Link.of("http,latency=2ms").latency_seconds == pytest.approx(2e-3)
    assert hc.Link.of("http,latency=2ms").bytes_per_second == hc.LINKS["http"].bytes_per_second
    assert hc.Link.of("1GiB/s").bytes_per_second == 2**30
    assert hc.Link.of(made) is made and pickle.loads(pickle.dumps(made)) == made
    model = made.on(hc.device_models()["h200"])
    assert model.constants["load_bytes_per_s"].value == 12e9
    assert "12GB/s" in model.constants["load_bytes_per_s"].source


@pytest.mark.parametrize(
    "text",
    [
        "", "fast", "12GB", "12GB/h", "x/s", "12GB/s,", "12GB/s,latency", "12GB/s,latency=5", "pcie,rate=3",
        "12GB/s,latency=xus", "12GB/s,requests=0", "12GB/s,requests=x", "12GB/s,requests=99999999", "1B/s",
        "12GB/s,latency=-1us", "12GB/s,latency=nans", "12GB/s,latency=2000s", "9999999TB/s",
        "12GB/s,requests=2,requests=3",
    ],
)  # fmt: skip
def test_bad_links_are_refused(text: str) -> None:
    with pytest.raises(hc.InvalidArgument, match="link"):
        hc.Link.of(text)


def test_advice_as_json(advice: hc.Advice) -> None:
    content = json.loads(json.dumps(advice.to_dict(), allow_nan=False))
    assert len(content["rows"]) == len(advice.rows) and content["budget_bytes"] == advice.budget_bytes
    best = content["rows"][0]
    assert best["loaded_bytes"] == advice.best.forecast.loaded_bytes  # type: ignore[union-attr]
    assert "plan" not in best and content["link"]["name"] == LINK


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"memory": "0%"}, hc.InvalidArgument),
        ({"memory": "200GiB"}, hc.InvalidArgument),
        ({"link": 3}, hc.WrongType),
        ({"device": "abacus"}, hc.InvalidArgument),
        ({"batches": (0,)}, hc.InvalidArgument),
        ({"kernel_scale": 0}, hc.InvalidArgument),
    ],
)
def test_bad_arguments_are_refused(
    rig: dict[str, Any], arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        hc.advise(rig["params"], rig["program"], rig["x"], **arguments)
    with pytest.raises(hc.WrongType):
        hc.advise(rig["params"], 3)
