# SPDX-License-Identifier: Apache-2.0
"""Functions of encrypted arrays, as `halocline.functions`: elementary ones, comparisons, order.

Encrypted, a function is a polynomial that holds on an interval. It is given, as in
`exp(x, interval=(-1, 1))`, or found on samples (`halocline.calibrate`), and the client sees to it that values
stay inside: beyond the interval results have no meaning, and nothing shows it. All functions take encrypted
arrays, ciphertexts (whose slots must all lie in the interval) and numbers in the clear, of which they give
the exact values, so that one program text serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import WrongType
from ..base.values import kind_of
from .calibration import interval_of, note
from .comparisons import (
    absolute,
    clip,
    equal,
    greater,
    less,
    maximum,
    minimum,
    not_equal,
    relu,
    sign,
    where,
)
from .costs import COMPARISONS, ORDER, FunctionCost, describe
from .elementary import (
    DEFAULT_PRECISION,
    Elementary,
    approximation,
    check_interval,
    check_precision,
    known,
    largest_value,
)
from .evaluation import check_range, expect_real, is_encrypted, mapped, numbers
from .numpy_protocol import SCIPY, implements
from .registry import operation
from .samples import FUNCTIONS, ON_SAMPLES, Samples, plain, sampled
from .sorting import median, percentile, sort
from .tournaments import amax as max  # the names of numpy
from .tournaments import amin as min
from .tournaments import argmax, argmin


def _evaluated(function: Elementary | str, x: Any, interval: Any, precision: Any) -> Any:
    function = known(function) if isinstance(function, str) else function
    name = function.name
    given = None if interval is None else check_interval(function, interval)
    bits = check_precision(precision, name)
    if is_encrypted(x):
        expect_real(x, name)
        taken = interval_of(name, given)
        way = approximation(function, taken, bits)
        check_range(x, largest_value(function, taken), way.levels, name)
        return mapped(x, way, lambda u: float(way(np.float64(u))), taken)
    x = x if isinstance(x, Samples) else numbers(x, name)
    note(name, x, given, least=function.least, mirrored=function.mirrored)
    result = np.asarray(function.clear(plain(x)))
    return sampled(result) if isinstance(x, Samples) else result


def apply(
    function: Callable[[Any], Any],
    x: Any,
    *,
    interval: Any = None,
    precision: float = DEFAULT_PRECISION,
    name: str | None = None,
) -> Any:
    """function(x) for any smooth function that takes arrays of numbers element by element, such as np.arctan.

    One Chebyshev series. name: for messages and tables, that of the function unless given. Other arguments
    and errors as for `exp`; WrongType for a function that does not give a real number for each element.
    """
    if not callable(function):
        raise WrongType(f"apply: got {kind_of(function)}, expected a function of arrays of numbers")
    called = str(name or getattr(function, "__name__", kind_of(function)))
    return _evaluated(Elementary(called, function, called, (-1.0, 1.0), given=True), x, interval, precision)


def exp(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """e^x, as np.exp.

    x: an encrypted array, a ciphertext, or numbers. interval: (low, high) with all values of x, unless a
    calibrated program has one for this call. precision: bits; the error of the polynomial is at most
    2^-precision times the larger of 1 and the largest value on the interval. `describe("exp", interval)` says
    what it costs. Raises InvalidArgument without an interval, and where values would not fit the modulus.
    """
    return _evaluated("exp", x, interval, precision)


def expm1(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """e^x - 1, as np.expm1. Arguments and errors as for `exp`."""
    return _evaluated("expm1", x, interval, precision)


def log(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The natural logarithm on an interval above 0. Arguments and errors as for `exp`."""
    return _evaluated("log", x, interval, precision)


def log2(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The logarithm to base 2 on an interval above 0. Arguments and errors as for `exp`."""
    return _evaluated("log2", x, interval, precision)


def log1p(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """log(1 + x) on an interval above -1. Arguments and errors as for `exp`."""
    return _evaluated("log1p", x, interval, precision)


@operation("sqrt")
def sqrt(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The square root on an interval from 0 on; down to 0 itself some 10 bits are possible. See `exp`."""
    return _evaluated("sqrt", x, interval, precision)


def rsqrt(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """1 / sqrt(x) on an interval above 0. Arguments and errors as for `exp`."""
    return _evaluated("rsqrt", x, interval, precision)


@operation("reciprocal")
def reciprocal(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """1 / x on an interval on one side of 0; Goldschmidt's iteration where it is wide. See `exp`."""
    return _evaluated("reciprocal", x, interval, precision)


def divide(a: Any, b: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """a / b, as a times `reciprocal(b)` where b is encrypted; interval: of b. A level more than that."""
    if is_encrypted(b) or isinstance(b, Samples):
        return reciprocal(b, interval=interval, precision=precision) * a
    if is_encrypted(a):
        return a / b
    result = plain(a) / plain(b)  # `a / b` of samples would come back here
    return sampled(result) if isinstance(a, Samples) else result


def tanh(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The hyperbolic tangent. Arguments and errors as for `exp`."""
    return _evaluated("tanh", x, interval, precision)


def sigmoid(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """1 / (1 + e^-x). Arguments and errors as for `exp`."""
    return _evaluated("sigmoid", x, interval, precision)


def erf(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The error function. Arguments and errors as for `exp`."""
    return _evaluated("erf", x, interval, precision)


def gelu(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """x (1 + erf(x / sqrt(2))) / 2. Arguments and errors as for `exp`."""
    return _evaluated("gelu", x, interval, precision)


def silu(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """x sigmoid(x). Arguments and errors as for `exp`."""
    return _evaluated("silu", x, interval, precision)


def softplus(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """log(1 + e^x). Arguments and errors as for `exp`."""
    return _evaluated("softplus", x, interval, precision)


def sin(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The sine of x in radians. Arguments and errors as for `exp`."""
    return _evaluated("sin", x, interval, precision)


def cos(x: Any, *, interval: Any = None, precision: float = DEFAULT_PRECISION) -> Any:
    """The cosine of x in radians. Arguments and errors as for `exp`."""
    return _evaluated("cos", x, interval, precision)


def _std(x: Samples, axis: Any = None, **options: Any) -> Any:
    """np.std of samples, as it is of encrypted arrays: `sqrt` of the variance."""
    how = {name: value for name, value in options.items() if name in ("ddof", "keepdims")}
    rest = {name: value for name, value in options.items() if name in ("interval", "precision")}
    return sqrt(np.var(x, axis=axis, **how), **rest)


ON_SAMPLES[np.std] = _std
FUNCTIONS |= {
    np.exp: exp,
    np.expm1: expm1,
    np.log: log,
    np.log2: log2,
    np.log1p: log1p,
    np.sqrt: sqrt,
    np.reciprocal: reciprocal,
    np.true_divide: divide,
    np.tanh: tanh,
    np.sin: sin,
    np.cos: cos,
}
SCIPY |= {"erf": erf, "expit": sigmoid}
for _known, _ours in FUNCTIONS.items():
    implements(_known)(_ours)

__all__ = [
    "COMPARISONS",
    "ORDER",
    "FunctionCost",
    "absolute",
    "apply",
    "argmax",
    "argmin",
    "clip",
    "cos",
    "describe",
    "divide",
    "equal",
    "erf",
    "exp",
    "expm1",
    "gelu",
    "greater",
    "less",
    "log",
    "log1p",
    "log2",
    "max",
    "maximum",
    "median",
    "min",
    "minimum",
    "not_equal",
    "percentile",
    "reciprocal",
    "relu",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softplus",
    "sort",
    "sqrt",
    "tanh",
    "where",
]
