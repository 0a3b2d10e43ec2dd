# SPDX-License-Identifier: Apache-2.0
"""The functions that encrypted values have: where they are defined, and the cheapest way to evaluate them."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument, WrongType
from ..base.values import kind_of
from ..circuits.polynomial import Interval
from ..circuits.polynomial import interval as checked_interval
from . import approximations
from .approximations import Approximation
from .series import MAX_DEGREE, Array

DEFAULT_PRECISION = 20.0
"""Bits that functions are right to unless another precision is asked for."""
_MOST_PRECISION = 40.0
_MOST_VALUE = 2.0**512
_GRID = 4097
_ROOT_2 = math.sqrt(2.0)

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _reciprocal(x: Array) -> Array:
    return np.asarray(1 / x)


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + _erf(x / _ROOT_2)))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, x))


def _silu(x: Array) -> Array:
    return np.asarray(x * _sigmoid(x))


@dataclasses.dataclass(frozen=True)
class Elementary:
    """One function."""

    name: str
    clear: Callable[[Any], Any]
    """On numbers, exact."""
    formula: str
    example: Interval
    """An interval to show its cost for."""
    least: float = -math.inf
    """It is defined above, and where `closed` says so, at this number."""
    closed: bool = False
    iterations: Callable[[Interval, float], Iterator[Approximation]] | None = None
    """Ways besides one polynomial."""
    last: bool = False
    """Whether these are for intervals where no polynomial will do: they never take fewer levels."""
    mirrored: bool = False
    """Whether it is odd, and there below 0 as well, but not at 0."""
    given: bool = False
    """Whether a program brought it: it is asked for values on the interval only."""


def _roots(interval: Interval, tolerance: float) -> Iterator[Approximation]:
    return approximations.newton(interval, tolerance, root=True) if interval[0] > 0 else iter(())


_ALL = (
    Elementary("exp", np.exp, "e^x", (-1, 1), iterations=approximations.squared),
    Elementary("expm1", np.expm1, "e^x - 1", (-1, 1)),
    Elementary("log", np.log, "natural logarithm", (0.1, 10), 0.0),
    Elementary("log2", np.log2, "logarithm to base 2", (0.1, 10), 0.0),
    Elementary("log1p", np.log1p, "log(1 + x)", (-0.5, 1), -1.0),
    Elementary("sqrt", np.sqrt, "square root", (0.1, 10), 0.0, True, _roots, True),
    Elementary("rsqrt", _rsqrt, "1 / sqrt(x)", (0.1, 10), 0.0, False, approximations.newton, True),
    Elementary(
        "reciprocal", _reciprocal, "1 / x", (0.1, 10), 0.0, False, approximations.goldschmidt, mirrored=True
    ),
    Elementary("tanh", np.tanh, "hyperbolic tangent", (-4, 4)),
    Elementary("sigmoid", _sigmoid, "1 / (1 + e^-x)", (-8, 8)),
    Elementary("erf", _erf, "error function", (-3, 3)),
    Elementary("gelu", _gelu, "x (1 + erf(x / sqrt(2))) / 2", (-4, 4)),
    Elementary("silu", _silu, "x sigmoid(x)", (-8, 8)),
    Elementary("softplus", _softplus, "log(1 + e^x)", (-8, 8)),
    Elementary(
        "sin",
        np.sin,
        "sine, x in radians",
        (-math.pi, math.pi),
        iterations=functools.partial(approximations.doubled, math.pi / 2),
    ),
    Elementary(
        "cos",
        np.cos,
        "cosine, x in radians",
        (-math.pi, math.pi),
        iterations=functools.partial(approximations.doubled, 0.0),
    ),
)
ELEMENTARY: Mapping[str, Elementary] = {each.name: each for each in _ALL}


def check_precision(precision: Any, what: str) -> float:
    """Bits, 1 to 40."""
    if isinstance(precision, bool) or not isinstance(precision, int | float | np.integer | np.floating):
        raise WrongType(f"{what}: precision is {kind_of(precision)}, expected bits as a number")
    if not 1 <= precision <= _MOST_PRECISION:
        raise InvalidArgument(
            f"{what}: precision {precision} bits, expected 1 to {_MOST_PRECISION:g}, as encryption "
            "leaves less than that"
        )
    return float(precision)


def check_interval(function: Elementary, interval: Any) -> Interval:
    """An interval on which a function is defined."""
    name = function.name
    low, high = checked_interval(interval, name)
    if function.mirrored:
        if low <= 0 <= high:
            raise InvalidArgument(
                f"{name}: interval ({low:g}, {high:g}) contains 0; expected one side of it, such as "
                f"({max(abs(low), abs(high)) / 1000:g}, {max(abs(low), abs(high)):g}): add a positive number "
                "to values that may be 0"
            )
    elif not (low > function.least or (function.closed and low == function.least)):
        raise InvalidArgument(
            f"{name}: interval ({low:g}, {high:g}), expected values {'from' if function.closed else 'above'} "
            f"{function.least:g} on"
        )
    return low, high


def known(name: str) -> Elementary:
    """The function of that name."""
    if name not in ELEMENTARY:
        raise InvalidArgument(f"functions: {name!r:.40}, expected one of: {', '.join(ELEMENTARY)}")
    return ELEMENTARY[name]


def approximation(
    function: Elementary | str, interval: Any, precision: Any = DEFAULT_PRECISION
) -> Approximation:
    """The way of fewest levels, then of fewest products, for a precision; a function, or the name of one.

    Raises InvalidArgument where the interval is none of the function's, and where no way is known that
    reaches the precision.
    """
    of = known(function) if isinstance(function, str) else function
    return _found(of, check_interval(of, interval), check_precision(precision, of.name))


@functools.lru_cache(maxsize=1024)
def _found(function: Elementary, interval: Interval, precision: float) -> Approximation:
    if function.mirrored and interval[1] < 0:
        return approximations.negated(_found(function, (-interval[1], -interval[0]), precision))
    where = f"on ({interval[0]:g}, {interval[1]:g})"
    largest = largest_value(function, interval)
    if not largest < _MOST_VALUE:
        raise InvalidArgument(
            f"{function.name}: values up to {largest:.3g} {where}, expected at most {_MOST_VALUE:.3g}: take "
            "an interval where it is finite and smaller"
        )
    tolerance = 2.0**-precision * max(1.0, largest)
    least = math.nan if function.given else function.least
    ways = list(approximations.single(function.clear, interval, tolerance, least))
    if function.iterations is not None and not (ways and function.last):
        ways += function.iterations(interval, tolerance)
    if not ways:
        raise InvalidArgument(
            f"{function.name}: {precision:g} bits {where} take a polynomial of degree above {MAX_DEGREE}; "
            f"expected a narrower interval{_nearer(function, interval)} or less precision"
        )
    return min(ways, key=lambda way: (way.levels, way.products))


def _nearer(function: Elementary, interval: Interval) -> str:
    """What of the interval costs most."""
    if function.least == -math.inf:
        return ""
    return f", one that begins farther from {function.least:g} than {interval[0]:g}"


def largest_value(function: Elementary, interval: Interval) -> float:
    """Largest magnitude on an interval: at its ends, or at a point of a grid."""
    points = np.linspace(*interval, _GRID)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function.clear(points))
    except (TypeError, ValueError) as error:
        raise WrongType(
            f"{function.name}: of an array of {_GRID} numbers it makes {type(error).__name__} ({error}); "
            "expected a function of arrays: np.vectorize(function) makes one of a function of numbers"
        ) from error
    if found.shape != points.shape or found.dtype.kind not in "biuf":
        raise WrongType(
            f"{function.name}: of {_GRID} numbers it makes an array of shape {found.shape} and type "
            f"{found.dtype}; expected a function of arrays that gives a real number for each element"
        )
    return float(np.abs(found).max())
