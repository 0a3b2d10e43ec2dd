# SPDX-License-Identifier: Apache-2.0
"""Advice for bootstraps with cold keys against what one H200 took (cpp/bench/results/h200/cold_keys.json)."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import halocline as hc
import pytest
from halocline.bench.cold.advised import MODEL, Speeds, kernel_scale
from halocline.tracing.forecast import forecast

RESULTS = Path(__file__).parents[2] / "cpp/bench/results/h200/cold_keys.json"
DATA = Path(__file__).parent / "data"
NEAR = 1.03
"""Measured times within this factor count as equal."""


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


def kept(variant: str) -> hc.Trace:
    """The second call of a bootstrap as the measured program made it: its keys and weights are there.

    Bootstraps have other steps since (`key_dot`), so that the traces of the measured ones are kept.
    """
    name = re.sub("[a-z]+_mode=", "", variant).replace(",", "_").replace("=", "")
    return hc.Trace.load(DATA / f"cold_{name}.csv.xz")


def scale_of(speeds: Speeds) -> float:
    return speeds.warm_seconds / hc.replay(kept("as-written"), MODEL, "resident").compute_seconds


def test_the_scale_is_that_of_runs_whose_weights_are_encoded(speeds: Speeds) -> None:
    assert scale_of(speeds) == pytest.approx(1, rel=0.05)


def test_the_scale_follows_the_measured_time() -> None:
    params = hc.Params.preset("n16-boot")
    one, two = (kernel_scale(params, Speeds(seconds, 55e9, 16)) for seconds in (0.01, 0.02))
    assert two == pytest.approx(2 * one) and 0.5 < one < 2


def test_forecasts_have_the_order_of_the_measurements(speeds: Speeds, measured: dict[str, float]) -> None:
    scale = scale_of(speeds)
    link = hc.Link("pinned", speeds.link_bytes_per_second, 10e-6, speeds.requests)
    model = hc.device_models()[MODEL]
    found: dict[str, float] = {}
    for variant in measured:
        ran = forecast(kept(variant), model, 24 << 30, link, kernel_scale=scale, only_keys_cold=True)
        found[variant] = ran.seconds
        assert ran.seconds == pytest.approx(measured[variant], rel=0.08), variant
    best = min(found, key=lambda each: found[each])
    assert measured[best] <= NEAR * min(measured.values())
    for one, other in itertools.permutations(measured, 2):
        if measured[other] > NEAR * measured[one]:
            assert found[other] > found[one], (one, other)


def test_steps_with_seeded_keys_have_a_name_of_their_own() -> None:
    params = hc.Params.preset("n13-d3")
    names = []
    for kept in (False, True):
        trace = hc.trace_program(params, lambda x: x.rotate(1), keep_seeds=kept).trace
        names.append({each for each in trace.columns["op"] if each.startswith("key_multiply")})
    assert names == [{"key_multiply_accumulate"}, {"key_multiply_accumulate:seeded"}]
