# SPDX-License-Identifier: Apache-2.0
"""Advice for bootstraps with cold keys against what one H200 took (cpp/bench/results/h200/cold_keys.json)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import halocline as hc
import pytest
from halocline.bench.cold.advised import MODEL, Speeds, advised, kernel_scale
from halocline.bench.cold.options import bootstrap_choice
from halocline.engine.advice import Row
from halocline.tracing.forecast import forecast
from halocline.workloads.bootstrap.messages import make_bootstrapper

RESULTS = Path(__file__).parents[2] / "cpp/bench/results/h200/cold_keys.json"
ROOM = "24GiB"
NEAR = 1.03
"""Measured times within this factor count as equal."""


@pytest.fixture(scope="module")
def params() -> hc.Params:
    return hc.Params.preset("n16-boot")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text())["rows"]
    return found


@pytest.fixture(scope="module")
def speeds(rows: list[dict[str, Any]]) -> Speeds:
    warm = next(row["seconds"] for row in rows if row["case"] == "bootstrap warm")
    rate = next(row["link_bytes_per_second"] for row in rows if row["case"] == "bootstrap cold, advised")
    return Speeds(warm, rate, 16)


@pytest.fixture(scope="module")
def measured(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["variant"]: row["seconds"] for row in rows if row["case"] == "bootstrap cold"}


def recorded(params: hc.Params, variant: str) -> hc.Trace:
    """The second call of a bootstrap on a ghost: its keys and weights are there."""
    chosen = bootstrap_choice(variant)
    kept = bool(chosen.pop("keep_seeds", False))
    engine = hc.Engine(params, device="ghost", policy="planned", keep_seeds=kept)
    boots = make_bootstrapper(params, chosen)
    x = engine.ghost_input(level=boots.input_level, slots=boots.slots, real=False)
    boots(x)
    engine._core.prepare_keys(engine.key_plan.requests())
    with engine.record() as trace:
        boots(x)
    return trace


def test_the_scale_is_that_of_runs_whose_weights_are_encoded(params: hc.Params, speeds: Speeds) -> None:
    assert kernel_scale(params, speeds) == pytest.approx(1, rel=0.05)


def test_forecasts_have_the_order_of_the_measurements(
    params: hc.Params, speeds: Speeds, measured: dict[str, float]
) -> None:
    scale = kernel_scale(params, speeds)
    link = hc.Link("pinned", speeds.link_bytes_per_second, 10e-6, speeds.requests)
    model = hc.device_models()[MODEL]
    found: dict[str, float] = {}
    for variant in measured:
        trace = recorded(params, variant)
        ran = forecast(trace, model, 24 << 30, link, kernel_scale=scale, only_keys_cold=True)
        found[variant] = ran.seconds
        assert ran.seconds == pytest.approx(measured[variant], rel=0.08), variant
    best = min(found, key=lambda each: found[each])
    assert measured[best] <= NEAR * min(measured.values())
    for one, other in itertools.permutations(measured, 2):
        if measured[other] > NEAR * measured[one]:
            assert found[other] > found[one], (one, other)


def as_variant(row: Row) -> str:
    """A row of the adviser as the bench names variants."""
    said = row.variant.circuits.bootstrap_settings
    parts = [f"{key}={said[key]}" for key in ("cts_mode", "stc_mode", "baby_count") if key in said]
    return ",".join(parts + ["seeds=kept"] * (row.variant.seeds == "kept"))


@pytest.mark.slow
def test_the_adviser_chooses_what_was_measured_best(
    params: hc.Params, speeds: Speeds, measured: dict[str, float]
) -> None:
    found, _ = advised(params, speeds, ROOM, "cpu")
    assert measured[as_variant(found.best)] <= NEAR * min(measured.values())


def test_steps_with_seeded_keys_have_a_name_of_their_own() -> None:
    params = hc.Params.preset("n13-d3")
    names = []
    for kept in (False, True):
        trace = hc.trace_program(params, lambda x: x.rotate(1), keep_seeds=kept).trace
        names.append({each for each in trace.columns["op"] if each.startswith("key_multiply")})
    assert names == [{"key_multiply_accumulate"}, {"key_multiply_accumulate:seeded"}]
