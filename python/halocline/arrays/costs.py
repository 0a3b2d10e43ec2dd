# SPDX-License-Identifier: Apache-2.0
"""What functions of encrypted arrays cost in levels, and how far from exact they are."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..base.errors import InvalidArgument
from ..base.values import integer
from ..circuits.methods import sign_levels
from ..circuits.minimax import relu_error
from ..circuits.polynomial import Interval
from ..circuits.polynomial import interval as checked_interval
from .comparisons import COMPARISON_PRECISION, check_bits, error_of, levels_of
from .elementary import DEFAULT_PRECISION, ELEMENTARY, approximation, check_interval, check_precision
from .sorting import stages
from .tournaments import Scale, rounds_of

COMPARISONS = ("sign", "greater", "less", "equal", "not_equal", "relu", "absolute", "maximum", "minimum")
"""Functions of `describe` whose precision is that of comparisons."""
ORDER = ("max", "min", "argmax", "argmin", "sort", "median")
"""Functions of `describe` along an axis, which cost more the longer it is."""


@dataclasses.dataclass(frozen=True)
class FunctionCost:
    """What a function costs and how far from exact it is: `describe` makes it, `str()` shows it."""

    name: str
    interval: Interval
    """Of the argument, or of the difference of two arguments."""
    precision: float
    """Bits asked for."""
    method: str
    """How it is evaluated."""
    degree: int
    """Of its polynomial; 0 where polynomials are composed."""
    levels: int
    """That it costs, for clean arrays."""
    error: float
    """Largest error on the interval, without that of encryption; NaN for functions that jump, which are right
    to 2^-precision except nearer to the jump than `sign_epsilon(precision)` times the largest magnitude."""

    def __str__(self) -> str:
        low, high = self.interval
        if math.isnan(self.error):
            error = f"right to {self.precision:g} bits away from equality"
        else:
            error = f"error at most {self.error:.2g} (2^{math.log2(self.error):.1f})"
        degree = f", degree {self.degree}" if self.degree else ""
        return f"{self.name} on ({low:g}, {high:g}): {self.method}{degree}; {self.levels} levels; {error}"


def describe(
    name: str, interval: Any = None, precision: float | None = None, *, length: int = 8
) -> FunctionCost:
    """What a function costs on an interval, as `describe("exp", (-1, 1), 20)`.

    interval: that of the table in docs/guides/arrays.md unless given. precision: 20 bits unless given, 8 for
    comparisons. length: of the axis, for the functions in ORDER.
    """
    if name in COMPARISONS or name in ORDER:
        bits = check_bits(COMPARISON_PRECISION if precision is None else precision, name)
        held = (-1.0, 1.0) if interval is None else checked_interval(interval, name)
        if name in ORDER:
            return _of_order(name, held, bits, integer(length, "describe: length", 1))
        levels, error = levels_of(name, held, bits), error_of(name, held, bits)
        return FunctionCost(name, held, bits, "composed polynomials of a sign", 0, levels, error)
    if name not in ELEMENTARY:
        known = ", ".join([*ELEMENTARY, *COMPARISONS, *ORDER])
        raise InvalidArgument(f"describe: {name!r:.40}, expected one of: {known}")
    held = check_interval(ELEMENTARY[name], ELEMENTARY[name].example if interval is None else interval)
    asked = check_precision(DEFAULT_PRECISION if precision is None else precision, name)
    way = approximation(name, held, asked)
    return FunctionCost(name, held, asked, way.method, way.degree, way.levels, way.error)


def _of_order(name: str, interval: Interval, alpha: int, length: int) -> FunctionCost:
    """Of a function along an axis of so many elements."""
    sorts = name in ("sort", "median")
    count = len(stages(length) if sorts else rounds_of(length))
    if count == 0:
        return FunctionCost(name, interval, alpha, "the element itself", 0, 0, 0.0)
    scale, sign = Scale.of(interval, count, alpha), sign_levels(alpha)
    error = count * relu_error(alpha) * max(scale.width, scale.bound)
    if sorts:
        method, levels = f"{count} stages of a sorting network", scale.levels + count * (sign + 2)
        levels += name == "median"
    elif name in ("max", "min"):
        method, levels = f"{count} rounds of a tournament", scale.levels + count * (sign + 1)
    else:
        method, error = f"{count} rounds of a tournament, and back", math.nan
        levels = (scale.factor != 1) + count * (sign + 1) - 1 + count + 1
    return FunctionCost(name, interval, alpha, method, 0, levels, error)
