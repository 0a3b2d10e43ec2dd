# SPDX-License-Identifier: Apache-2.0
"""The polynomials of encrypted comparisons, in the clear: what they make of values, without noise."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.values import integer, positive

Array = npt.NDArray[np.float64]

_TABLE = Path(__file__).resolve().parents[1] / "data" / "minimax_sign.json"


@functools.cache
def _sets() -> dict[int, dict[str, Any]]:
    """Rows of the table by alpha."""
    return {each["alpha"]: each for each in json.loads(_TABLE.read_text())["sets"]}


def _set(alpha: int) -> dict[str, Any]:
    known = _sets()
    return known[integer(alpha, "minimax: alpha", min(known), max(known))]


@functools.cache
def _chain(alpha: int) -> tuple[Array, ...]:
    """Chebyshev coefficients of each polynomial of the chain, even ones included."""
    chain = []
    for stage in _set(alpha)["stages"]:
        series = np.zeros(2 * len(stage["chebyshev_odd"]))
        series[1::2] = stage["chebyshev_odd"]
        series.setflags(write=False)
        chain.append(series)
    return tuple(chain)


def minimax_sign(x: npt.ArrayLike, alpha: int = 8, bound: float = 1.0) -> Array:
    """What `Engine.sign` computes, for |x| <= bound."""
    value: Array = np.asarray(x, dtype=np.float64) / positive(bound, "minimax_sign: bound")
    for series in _chain(alpha):
        value = np.asarray(np.polynomial.chebyshev.chebval(value, series), dtype=np.float64)
    return value


def minimax_relu(x: npt.ArrayLike, alpha: int = 8, bound: float = 1.0) -> Array:
    """What `Engine.relu` computes, for |x| <= bound: x (sign(x / bound) + 1) / 2."""
    value = np.asarray(x, dtype=np.float64)
    result: Array = value * (0.5 + 0.5 * minimax_sign(value, alpha, bound))
    return result


def relu_error(alpha: int = 8) -> float:
    """Largest distance of `minimax_relu` from max(x, 0) on [-1, 1]."""
    return float(_set(alpha)["relu_error"])
