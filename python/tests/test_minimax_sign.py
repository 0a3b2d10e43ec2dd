# SPDX-License-Identifier: Apache-2.0
"""The composite minimax sign tables: errors, stage ranges, noise, agreement of JSON and C++."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = json.loads((ROOT / "python/halocline/data/minimax_sign.json").read_text())
SETS = TABLE["sets"]
each_set = pytest.mark.parametrize("chain", SETS, ids=[f"alpha{s['alpha']}" for s in SETS])


def stage_value(stage: dict, u: np.ndarray) -> np.ndarray:
    series = np.zeros(2 * len(stage["chebyshev_odd"]))
    series[1::2] = stage["chebyshev_odd"]
    return np.polynomial.chebyshev.chebval(u, series)


def chain_value(chain: dict, x: np.ndarray) -> np.ndarray:
    for stage in chain["stages"]:
        x = stage_value(stage, x)
    return x


def test_sets_are_those_documented() -> None:
    assert TABLE["schema"] == "halocline.minimax_sign.v1"
    assert [s["alpha"] for s in SETS] == list(range(6, 14))
    assert SETS[-1]["degrees"] == [15, 15, 27]


@each_set
def test_error_against_sign(chain: dict) -> None:
    x = np.concatenate(
        [np.geomspace(chain["epsilon"], 1.0, 200_001), np.linspace(chain["epsilon"], 1.0, 200_001)]
    )
    worst = np.abs(chain_value(chain, x) - 1.0).max()
    assert worst <= chain["error"] <= 2.0 ** -chain["alpha"]
    # A loose bound would hide a wrong table: minimax errors are reached.
    assert worst >= 0.98 * chain["error"]
    np.testing.assert_allclose(chain_value(chain, -x[::100]), -chain_value(chain, x[::100]), rtol=0, atol=0)


@each_set
def test_error_of_relu_everywhere(chain: dict) -> None:
    x = np.concatenate([-np.geomspace(1e-9, 1.0, 100_001), [0.0], np.geomspace(1e-9, 1.0, 100_001)])
    relu = x * (1.0 + chain_value(chain, x)) / 2.0
    worst = np.abs(relu - np.maximum(x, 0.0)).max()
    assert worst <= chain["relu_error"] <= 1.08 * 2.0 ** -chain["alpha"]
    assert np.abs(chain_value(chain, x)).max() <= 1.0 + chain["error"]


@each_set
def test_stages_keep_their_ranges_and_fit_together(chain: dict) -> None:
    following = chain["stages"][1:]
    for stage, after in zip(chain["stages"], [*following, None], strict=True):
        assert len(stage["chebyshev_odd"]) == (chain["degrees"][chain["stages"].index(stage)] + 1) // 2
        u = np.geomspace(stage["input_low"], stage["input_high"], 100_001)
        values = stage_value(stage, u)
        assert values.min() >= stage["output_low"] - 1e-14
        assert values.max() <= stage["output_high"] + 1e-14
        if after:
            assert after["input_low"] <= stage["output_low"] - chain["margin"] + 1e-14
            assert after["input_high"] >= stage["output_high"] + chain["margin"] - 1e-14
    assert chain["stages"][0]["domain"] == 1.0
    assert chain["stages"][0]["input_low"] <= chain["epsilon"]
    assert chain["levels"] == sum(int(np.ceil(np.log2(d + 1))) for d in chain["degrees"])


@each_set
def test_noise_within_the_margin_is_harmless(chain: dict) -> None:
    seed = 20261120
    rng = np.random.default_rng(seed)
    x = np.geomspace(chain["epsilon"] + chain["margin"], 1.0, 100_001)
    for stage in chain["stages"]:
        x = stage_value(stage, x + chain["margin"] * rng.choice([-1.0, 1.0], size=x.shape))
    assert np.abs(x - 1.0).max() <= chain["error"], f"seed {seed}"


@each_set
def test_cpp_table_has_the_same_numbers(chain: dict) -> None:
    path = ROOT / "cpp/src/circuits/minimax_sign_tables.inc"
    if not path.exists():
        pytest.skip("sources are not part of an installed package")
    text = path.read_text()
    for number, stage in enumerate(chain["stages"], start=1):
        name = f"alpha_{chain['alpha']}_p{number}"
        body = re.search(rf"{name}\[\] = \{{(.*?)\}};", text, re.DOTALL)
        assert [float(word) for word in body[1].split(",")] == stage["chebyshev_odd"]
        interval = re.search(rf"\{{([^{{}}]*?),\s*{name}\}}", text)
        keys = ("domain", "input_low", "input_high", "output_low", "output_high")
        assert [float(word) for word in interval[1].split(",")] == [stage[key] for key in keys]
    head = re.search(rf"\{{([^{{}}]*?),\s*alpha_{chain['alpha']}\}}", text)
    keys = ("alpha", "levels", "epsilon", "error", "relu_error", "margin")
    assert [float(word) for word in head[1].split(",")] == [chain[key] for key in keys]


def test_tool_finds_the_known_minimax_polynomial() -> None:
    """Degree 3 on [a, 1] by solving its three alternation equations directly."""
    pytest.importorskip("mpmath")
    import minimax_sign as tool

    low = 0.25
    polynomial, error = tool.minimax_odd(tool.mp.mpf(low), 3)
    a, b = (float(c) for c in polynomial.coefficients)
    peak = np.sqrt(-a / (3 * b))
    assert low < peak < 1.0
    for x, expected in ((low, 1 - error), (peak, 1 + error), (1.0, 1 - error)):
        assert a * x + b * x**3 == pytest.approx(float(expected), abs=1e-12)
