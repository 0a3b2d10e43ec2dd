# SPDX-License-Identifier: Apache-2.0
"""Every recipe of the cookbook runs by itself, prints what the page says, and is short."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "cookbook.md"
RECIPE = re.compile(r"^## (\d+)\. (.*?)\n.*?^```python\n(.*?)^```", re.M | re.S)
RECIPES = {int(number): code for number, _, code in RECIPE.findall(PAGE.read_text())}
MOST_LINES = 15


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text)]


def below(*bounds: float) -> Callable[[str], bool]:
    """Whether the numbers that are printed, distances from numpy's results, are below these bounds."""
    return lambda text: [f < b for f, b in zip(numbers(text), bounds, strict=True)] == [True] * len(bounds)


def near(*wanted: float, within: float) -> Callable[[str], bool]:
    return lambda text: np.allclose(numbers(text), wanted, rtol=0, atol=within)


def moments(text: str) -> bool:
    table = np.random.default_rng(0).normal(5, 2, size=(100, 4))
    return np.allclose(numbers(text), [*table.mean(axis=0), *table.std(axis=0)], rtol=0, atol=1e-6)


def nearest(text: str) -> bool:
    apart = np.sum((np.random.default_rng(0).random((16, 2)) - [0.4, 0.6]) ** 2, axis=1)
    return numbers(text) == [np.argmin(apart), *np.flatnonzero(apart < 0.1)]


# Scales are 2^39 or more, so arithmetic on numbers near 1 is better than 2^-20; functions have polynomials of
# 20 bits, comparisons of 9 or 10.
CHECKS: dict[int, Callable[[str], bool]] = {
    1: near(33.0, within=1e-6),
    2: moments,
    3: below(2.0**-20),
    4: below(2.0**-20),
    5: below(2.0**-18),
    6: below(2.0**-15),
    7: below(2.0**-15),
    8: near(1.0, within=0.0),
    9: near(5, within=0),
    10: below(2.0**-8),
    11: below(2.0**-20),
    12: near(*np.mean((np.arange(12.0).reshape(4, 3) / 12) ** 2, axis=0), within=1e-6),
    13: lambda text: text == "True (64, 64)\n",
    14: nearest,
    15: below(2.0**-24),
    16: lambda text: text == "b'record 42       '\n",
    17: lambda text: text == "bob b'555 0199'\ndave None\n",
    18: lambda text: numbers(text)[-1] > 20,  # what was asked for
    19: below(2.0**-20, 1e-12),
    20: below(2.0**-14),  # forty steps and their bootstraps, of some 20 bits each
    21: lambda text: text == "['setosa']\n",
}


@pytest.mark.parametrize("number", sorted(RECIPES))
def test_recipe(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(RECIPES[number], f"recipe {number}", "exec"), {"__name__": "__main__"})
    text = capsys.readouterr().out
    assert CHECKS[number](text), text


def test_recipes_are_short_and_complete() -> None:
    assert sorted(RECIPES) == list(range(1, len(RECIPES) + 1))
    assert len(RECIPES) >= 20
    for number, code in RECIPES.items():
        lines = [each for each in code.splitlines() if each.strip()]
        assert len(lines) <= MOST_LINES, number
        assert not re.search(r"rotate|level|packing", code), number
