# SPDX-License-Identifier: Apache-2.0
"""Comparisons of encrypted arrays, element by element, and what is made of them.

All are made of sign polynomials (`Engine.sign`: composite minimax polynomials, Lee, Lee, No and Kim, 2021)
of a difference, which must stay in an interval. They are right to 2^-precision outside of a small
neighbourhood of equality, and between the two values there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import integer
from ..circuits.methods import sign_levels
from ..circuits.minimax import relu_error
from ..circuits.polynomial import Interval
from ..circuits.polynomial import interval as checked_interval
from ..ckks.ciphertext import Ciphertext
from .calibration import interval_of, note
from .elementwise import times_plain
from .evaluation import expect_real, is_encrypted, mapped, numbers
from .registry import operation
from .samples import FUNCTIONS, Samples, plain, sampled

COMPARISON_PRECISION = 8
"""Bits that comparisons are right to unless another precision is asked for."""

_RELUS = {"relu": 1, "maximum": 1, "minimum": 1, "absolute": 2}
"""How many errors of ReLU add up."""


def check_bits(precision: Any, name: str) -> int:
    """A precision of comparisons: one of the alphas of `Engine.sign`."""
    known = _core.sign_alphas()
    return integer(precision, f"{name}: precision", min(known), max(known))


def bound_of(interval: Interval) -> float:
    """The least bound of magnitudes in an interval whose scaling costs no level, if it is at most 1."""
    largest = max(abs(interval[0]), abs(interval[1]))
    return largest if largest > 1 else 1 / math.floor(1 / largest * (1 + 2.0**-40))


class Compared:
    """A difference d of two operands, with what comparisons of it need: bound, alpha, and its interval."""

    def __init__(self, d: Any, interval: Interval, alpha: int) -> None:
        self.d, self.interval, self.alpha = d, interval, alpha
        self.bound = bound_of(interval)

    @classmethod
    def of(cls, name: str, d: Any, interval: Any, precision: Any, values: str = "a - b") -> Compared:
        """With the interval that is given or calibrated."""
        alpha = check_bits(precision, name)
        given = None if interval is None else checked_interval(interval, name)
        expect_real(d, name)
        return cls(d, interval_of(name, given, values), alpha)

    def sign(self) -> Any:
        """About -1, 0, 1."""
        return mapped(
            self.d, lambda ct: ct.engine.sign(ct, alpha=self.alpha, bound=self.bound), lambda u: 0.0
        )

    def step(self) -> Any:
        """About 1, 1/2, 0."""
        return mapped(
            self.d, lambda ct: ct.engine.step(ct, alpha=self.alpha, bound=self.bound), lambda u: 0.5
        )

    def relu(self) -> Any:
        """About max(d, 0)."""
        return mapped(
            self.d, lambda ct: ct.engine.relu(ct, alpha=self.alpha, bound=self.bound), lambda u: 0.0
        )


def _clear(*operands: Any) -> bool:
    return not any(is_encrypted(each) for each in operands)


def _sample(name: str, made: Any, interval: Any, values: str = "a - b") -> Any:
    """Notes what a comparison of samples gets."""
    given = None if interval is None else checked_interval(interval, name)
    note(name, made, given, values=values)
    return plain(made)


def _kept(result: Any, *operands: Any) -> Any:
    """A clear result as samples if one of the operands is."""
    return sampled(np.asarray(result)) if any(isinstance(each, Samples) for each in operands) else result


def _operand(value: Any, name: str) -> Any:
    return value if is_encrypted(value) or isinstance(value, Samples) else numbers(value, name)


def _difference(a: Any, b: Any, name: str) -> tuple[Any, Any, Any]:
    a, b = _operand(a, name), _operand(b, name)
    return a, b, a - b


def sign(x: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """-1, 0 or 1, as np.sign."""
    if _clear(x):
        x = _operand(x, "sign")
        return _kept(np.sign(_sample("sign", x, interval, "x")), x)
    return Compared.of("sign", x, interval, precision, "x").sign()


def relu(x: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """max(x, 0); off by at most the largest magnitude of the interval times 2^-precision."""
    if _clear(x):
        x = _operand(x, "relu")
        return _kept(np.maximum(_sample("relu", x, interval, "x"), 0.0), x)
    return Compared.of("relu", x, interval, precision, "x").relu()


@operation("abs")
def absolute(x: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """|x|, as 2 relu(x) - x; off by at most twice what `relu` is."""
    if _clear(x):
        x = _operand(x, "absolute")
        return _kept(np.abs(_sample("absolute", x, interval, "x")), x)
    return Compared.of("absolute", x, interval, precision, "x").relu() * 2 - x


@operation("greater")
def greater(a: Any, b: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """1 where a > b, 0 where a < b, 1/2 where they are equal; interval: of a - b."""
    a, b, d = _difference(a, b, "greater")
    if _clear(d):
        return _kept(np.heaviside(_sample("greater", d, interval), 0.5), d)
    return Compared.of("greater", d, interval, precision).step()


@operation("less")
def less(a: Any, b: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """1 where a < b, 0 where a > b, 1/2 where they are equal; interval: of a - b."""
    a, b, d = _difference(a, b, "less")
    if _clear(d):
        return _kept(np.heaviside(-_sample("less", d, interval), 0.5), d)
    found = Compared.of("less", d, interval, precision)
    return Compared(-d, found.interval, found.alpha).step()


operation("greater_equal")(greater)
operation("less_equal")(less)


@operation("equal")
def equal(a: Any, b: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """1 where a = b, 0 where they differ by more than `sign_epsilon(precision)` times the largest difference.

    As 1 - sign(a - b)^2: for numbers that are equal or clearly apart, such as labels. interval: of a - b.
    """
    return 1 - not_equal(a, b, interval=interval, precision=precision, name="equal")


@operation("not_equal")
def not_equal(
    a: Any,
    b: Any,
    *,
    interval: Any = None,
    precision: int = COMPARISON_PRECISION,
    name: str = "not_equal",
) -> Any:
    """0 where a = b, 1 where they clearly differ: see `equal`."""
    a, b, d = _difference(a, b, name)
    if _clear(d):
        return _kept(np.sign(_sample(name, d, interval)) ** 2, d)
    sign = Compared.of(name, d, interval, precision).sign()
    return sign * sign


def maximum(a: Any, b: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """The larger one, element by element, as b + relu(a - b); interval: of a - b."""
    a, b, d = _difference(a, b, "maximum")
    if _clear(d):
        _sample("maximum", d, interval)
        return _kept(np.maximum(plain(a), plain(b)), d)
    return Compared.of("maximum", d, interval, precision).relu() + b


def minimum(a: Any, b: Any, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """The smaller one, element by element, as a - relu(a - b); interval: of a - b."""
    a, b, d = _difference(a, b, "minimum")
    if _clear(d):
        _sample("minimum", d, interval)
        return _kept(np.minimum(plain(a), plain(b)), d)
    return -Compared.of("minimum", d, interval, precision).relu() + a


def _limit(value: Any) -> float:
    """A limit of `clip`: one number."""
    made = numbers(value, "clip: limit")
    if made.size != 1:
        raise InvalidArgument(
            f"clip: limit: got an array of shape {made.shape}, expected one number or None; minimum and "
            "maximum take arrays"
        )
    return float(made.item())


@operation("clip")
def clip(
    x: Any,
    low: float | None,
    high: float | None,
    *,
    interval: Any = None,
    precision: int = COMPARISON_PRECISION,
) -> Any:
    """x, but at least `low` and at most `high`: plain numbers, or None for no limit; interval: of x."""
    ends = [None if each is None else _limit(each) for each in (low, high)]
    if ends[0] is None and ends[1] is None:
        raise InvalidArgument("clip: neither a lower nor an upper limit; expected one or both")
    if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]
        raise InvalidArgument(f"clip: limits {ends[0]} and {ends[1]}, expected the lower one first")
    if _clear(x):
        x = _operand(x, "clip")
        return _kept(np.clip(_sample("clip", x, interval, "x"), ends[0], ends[1]), x)
    found = Compared.of("clip", x, interval, precision, "x")
    first, last = found.interval
    result = x
    if ends[0] is not None and first < ends[0]:
        result = result + Compared(ends[0] - x, (ends[0] - last, ends[0] - first), found.alpha).relu()
    if ends[1] is not None and last > ends[1]:
        result = result - Compared(x - ends[1], (first - ends[1], last - ends[1]), found.alpha).relu()
    return result


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition is 1, b where it is 0: an encrypted one, such as a > b, or a plain one.

    Costs a level. With an encrypted condition of about 1/2, as between equals, the result is between a and b.
    """
    if _clear(condition, a, b):
        choice = plain(condition) if isinstance(condition, Samples) else np.asarray(condition)
        if choice.dtype != np.bool_:
            choice = choice > 0.5
        return _kept(np.where(choice, plain(a), plain(b)), condition, a, b)
    a, b = _operand(a, "where"), _operand(b, "where")
    if is_encrypted(condition):
        return condition * (a - b) + b
    chosen = (numbers(condition, "where: condition") != 0).astype(np.float64)
    return _masked(a, chosen) + _masked(b, 1 - chosen)


def _masked(x: Any, mask: Any) -> Any:
    if not is_encrypted(x):
        return x * mask
    if isinstance(x, Ciphertext):
        return x * (mask if mask.ndim else float(mask))
    return times_plain(x, mask)


def error_of(name: str, interval: Interval, precision: int) -> float:
    """Largest distance from the exact value, without noise, for functions that are continuous."""
    return _RELUS.get(name, math.nan) * bound_of(interval) * relu_error(precision)


def levels_of(name: str, interval: Interval, precision: int) -> int:
    """Levels that a comparison costs."""
    return sign_levels(precision, bound_of(interval)) + (name not in ("sign", "greater", "less"))


def _clip_of_numpy(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    """np.clip with numpy's names of its limits."""
    return clip(a, min if a_min is None else a_min, max if a_max is None else a_max, **options)


FUNCTIONS |= {
    np.sign: sign,
    np.absolute: absolute,
    np.greater: greater,
    np.greater_equal: greater,
    np.less: less,
    np.less_equal: less,
    np.equal: equal,
    np.not_equal: not_equal,
    np.maximum: maximum,
    np.minimum: minimum,
    np.clip: _clip_of_numpy,
    np.where: where,
}
