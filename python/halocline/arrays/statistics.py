# SPDX-License-Identifier: Apache-2.0
"""Statistics of encrypted samples: averages, covariances, standard scores, correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..base.values import expect, positive
from ..circuits.polynomial import Polynomial, interval
from ..ckks.ciphertext import Ciphertext
from .alignment import onto
from .array import EncryptedArray, Operand
from .calibration import calibrated
from .clear_statistics import clear_corrcoef, clear_standardize
from .elementwise import cleaned, map_parts, multiply, plus_plain, subtract, times_plain
from .inner_products import column_products, row_products, suits_columns, suits_rows
from .numpy_protocol import implements
from .operands import one_axis, plain_array
from .products import matmul
from .reductions import dropped, scaled, sum_
from .registry import perform
from .samples import Samples

DEFAULT_PRECISION = 20.0
"""Bits of 1 / sqrt(variance) unless given."""
DEFAULT_MARGIN = 2.0
"""Factor by which calibrated bounds of variances are wider than those of the samples."""
_MOST_DEGREE = 511


@implements(np.average)
def average(a: Operand, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> EncryptedArray:
    """np.average: the mean, or the sum with plain weights divided by their sum. One level.

    weights: as numpy takes them: of the shape of the array, or a vector along one axis.
    """
    x = expect(a, EncryptedArray, "average", "the array is encrypted, weights are plain")
    if weights is None:
        mean: EncryptedArray = perform("mean", x, axis, keepdims=keepdims)
        return mean
    factors = plain_array(weights, "average: weights")
    if factors.shape != x.shape:
        if factors.ndim != 1 or not isinstance(axis, int | np.integer):
            raise InvalidArgument(
                f"average: weights of shape {factors.shape} for an array of shape {x.shape} and axis {axis}; "
                "expected the same shape, or a vector and one axis"
            )
        at = one_axis(axis, x.ndim, "average")
        if len(factors) != x.shape[at]:
            raise InvalidArgument(
                f"average: {len(factors)} weights for axis {at} of length {x.shape[at]}, expected as many"
            )
        factors = factors.reshape([-1 if each == at else 1 for each in range(x.ndim)])
    whole = np.broadcast_to(factors, x.shape)
    total = whole.sum(axis=axis, keepdims=True)
    if not np.asarray(total).all():
        raise InvalidArgument("average: the weights sum to 0; expected another sum")
    return sum_(times_plain(x, np.ascontiguousarray(whole / total)), axis, keepdims=keepdims)


def _samples(m: Operand, y: Operand, rowvar: bool, what: str) -> EncryptedArray:
    """Variables in rows (axis 0) and samples in columns, as numpy reads its arguments."""
    x = expect(m, EncryptedArray, what, "encrypt the samples with client.encrypt_array")
    if x.ndim > 2:
        raise InvalidArgument(
            f"{what}: an array of {x.ndim} axes, expected samples of variables in one or two"
        )
    made = _rows(x, rowvar)
    if y is not None:
        other = expect(y, EncryptedArray, f"{what}: y", "encrypt it too, or leave it out")
        made = perform("concatenate", [made, _rows(other, rowvar)], 0)
    if made.shape[1] < 2:
        raise InvalidArgument(f"{what}: {made.shape[1]} sample of each variable, expected at least two")
    return made


def _rows(x: EncryptedArray, rowvar: bool) -> EncryptedArray:
    if x.ndim < 2:
        made: EncryptedArray = perform("reshape", x, (1, x.size))
        return made
    return x if rowvar else x.transpose()


def _centred(x: EncryptedArray, axis: int, factor: float, total: EncryptedArray) -> EncryptedArray:
    """factor * (x - mean along an axis), with zeros in all slots without an element. One level.

    total: the sum along the axis, which is kept.
    """
    share = factor / x.shape[axis]
    if total.packing.copies:  # in the slots of all samples: one product scales it and leaves zeros elsewhere
        mean = times_plain(onto(total, x.packing), np.full(x.shape, share))
    else:
        mean = onto(times_plain(total, np.full(total.shape, share)), x.packing)
    return cleaned(subtract(scaled(x, factor), mean))


def _products_of(x: EncryptedArray, factor: float, level: int | None = None) -> EncryptedArray:
    """factor * x @ x^H for variables in rows."""
    samples = x.transpose()
    other = samples if x.is_real else samples.conj()
    if suits_columns(samples, other):
        return column_products(samples, other, factor, level)
    if suits_rows(x, x):
        return row_products(x, x if x.is_real else x.conj(), factor, level)
    return scaled(matmul(x, other, level=None if level is None else level + 1), factor)


def _freedom(count: float, bias: bool, ddof: int | None, what: str) -> float:
    less = (0 if bias else 1) if ddof is None else ddof
    if count - less <= 0:
        raise InvalidArgument(f"{what}: {count:g} samples and ddof {less}; expected more samples")
    return float(count - less)


def _weights(fweights: Any, aweights: Any, count: int) -> npt.NDArray[np.float64] | None:
    """Frequency and reliability weights of samples, multiplied as numpy does."""
    made = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        each = plain_array(given, f"cov: {name}")
        if each.shape != (count,) or each.dtype.kind == "c" or (each < 0).any() or not each.any():
            raise InvalidArgument(
                f"cov: {name} of shape {each.shape}, expected {count} numbers that are not negative"
            )
        made = each if made is None else made * each
    return made


@implements(np.cov)
def cov(
    m: Operand,
    y: Operand = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    level: int | None = None,
) -> Any:
    """np.cov of encrypted samples: the matrix of covariances of all pairs of variables.

    m: (variables, samples), or (samples, variables) with rowvar=False; one axis is one variable. y: more
    variables, encrypted. fweights and aweights are plain. level: of the result, the highest unless given.

    Of plain arrays it is numpy's function. Costs four levels: the mean, and a product of columns (`matmul`);
    one more for weights and for y. Samples along the widest stride are cheapest: (samples, variables) arrays
    as `encrypt_array` packs them, with rowvar=False or as `np.cov(x.T)`.
    """
    if not any(isinstance(each, EncryptedArray | Ciphertext) for each in (m, y)):
        return np.cov(m, y, rowvar, bias, ddof, fweights, aweights)
    x = _samples(m, y, rowvar, "cov")
    count = x.shape[1]
    weights = _weights(fweights, aweights, count)
    if weights is None:
        centred = _centred(x, 1, 1.0, sum_(x, 1, keepdims=True))
        made = _products_of(centred, 1.0 / _freedom(count, bias, ddof, "cov"), level)
    else:
        divisor = _weighted_freedom(weights, fweights, aweights, bias, ddof)
        mean = onto(average(x, 1, weights, keepdims=True), x.packing)
        root = np.broadcast_to(np.sqrt(weights / divisor), x.shape)
        made = _products_of(times_plain(subtract(x, mean), root), 1.0, level)
    return dropped(made, (0, 1)) if made.shape == (1, 1) else made


def _weighted_freedom(
    weights: npt.NDArray[np.float64], fweights: Any, aweights: Any, bias: bool, ddof: int | None
) -> float:
    """What numpy divides weighted sums by."""
    less = (0 if bias else 1) if ddof is None else ddof
    total = float(weights.sum())
    if aweights is None or less == 0:
        return _freedom(total, bias, ddof, "cov")
    own = float((weights * np.asarray(aweights)).sum())
    left = total - less * own / total
    if left <= 0:
        raise InvalidArgument(f"cov: weights leave {left:g} degrees of freedom; expected more samples")
    return left


# Standard scores and correlations: 1 / sqrt(variance) by a polynomial


def variance_range(
    samples: npt.ArrayLike, *, rowvar: bool = True, margin: float = DEFAULT_MARGIN
) -> tuple[float, float]:
    """Bounds of the variances of variables, from samples in the clear, for `corrcoef` and `standardize`.

    samples: as for `corrcoef`. margin: the bounds are the least variance divided by it and the largest times
    it. Raises InvalidArgument for a variable that does not vary.
    """
    array = plain_array(samples, "variance_range")
    array = np.atleast_2d(array) if rowvar or array.ndim < 2 else array.T
    wide = positive(margin, "variance_range: margin")
    found = array.var(axis=1)
    if found.min() <= 0 or wide < 1:
        raise InvalidArgument(
            f"variance_range: least variance {found.min():g}, margin {wide:g}; expected variables that vary, "
            "and a margin of at least 1"
        )
    return float(found.min() / wide), float(found.max() * wide)


def inverse_root(bounds: tuple[float, float], precision: float) -> Polynomial:
    """Of u in (-1, 1): 1 / sqrt(v) for v = (u (high - low) + high + low) / 2, relative to 1 / sqrt(high).

    The Chebyshev interpolation of the least degree 2^k - 1, which takes k levels, whose error is at most
    2^-precision of the smallest value on the interval. The degree grows with the square root of high / low.
    """
    low, high = bounds
    ratio = low / high

    def function(u: float) -> float:
        return 1.0 / math.sqrt((u * (1 - ratio) + 1 + ratio) / 2)

    degree = 3
    while degree <= _MOST_DEGREE:
        made = Polynomial.fit(function, (-1.0, 1.0), degree, tolerance=1.0 / ratio)
        if made.max_error <= 2.0**-precision:
            return made
        degree = 2 * degree + 1
    raise InvalidArgument(
        f"variances: 1 / sqrt on ({low:g}, {high:g}) to {precision:g} bits takes a polynomial of more than "
        f"degree {_MOST_DEGREE}; scale the variables to variances that are closer to each other, or ask for "
        "a lower precision"
    )


def _bounds(variances: Any, what: str) -> tuple[float, float]:
    taken = calibrated(what)
    variances = taken if variances is None else variances
    if variances is None:
        raise InvalidArgument(
            f"{what}: nothing is known of the variances, and 1 / sqrt(variance) is a polynomial on an "
            f"interval; use hc.{what}(x, variances=(low, high)), or variances=hc.variance_range(samples) "
            "from samples in the clear, or hc.calibrate(program, samples)"
        )
    low, high = interval(variances, f"{what}: variances")
    if low <= 0:
        raise InvalidArgument(f"{what}: variances from {low:g} on, expected a positive bound")
    return low, high


def _scores(
    x: EncryptedArray, axis: int, ddof: float, bounds: tuple[float, float], bits: float
) -> EncryptedArray:
    """(x - mean) / standard deviation, with zeros in slots without an element."""
    low, high = bounds
    # Times `share`, squares of differences sum to 2 variance / (high - low): the argument of the polynomial
    # but for a constant.
    share = 2.0 / ((x.shape[axis] - ddof) * (high - low))
    total = sum_(x, axis, keepdims=True)
    # Sums in the slots of all samples take the factor with the differences, so that it costs no level. Others
    # are multiplied by ones and zeros anyway: what else is in slots could leave the interval, and overflow.
    factor = math.sqrt(share) if total.packing.copies else 1.0
    centred = _centred(x, axis, factor, total)
    sums = sum_(multiply(centred, centred), axis, keepdims=True)
    if factor == 1.0:
        sums = onto(times_plain(sums, np.full(sums.shape, share)), x.packing)
    argument = plus_plain(cleaned(sums), np.full(sums.shape, -(high + low) / (high - low)))
    # What is left of the factors: differences times 1 / factor times 1 / sqrt(high).
    scale = 1.0 / (factor * math.sqrt(high))
    polynomial = Polynomial(inverse_root(bounds, bits).coefficients.real * scale, "chebyshev", (-1.0, 1.0))
    inverse = map_parts(argument, lambda ct: ct.engine.polynomial(ct, polynomial), zero_to_zero=False)
    return multiply(centred, onto(inverse, x.packing))


def standardize(
    x: Operand,
    axis: int = 0,
    *,
    variances: Any = None,
    ddof: float = 0,
    precision: float = DEFAULT_PRECISION,
) -> Any:
    """Standard scores: (x - mean) / standard deviation along an axis, the samples.

    x: encrypted, or numbers, of which it gives the exact scores.
    variances: (low, high) with the variances of all variables, as `variance_range` finds, unless a calibrated
        program has them; beyond it results have no meaning.
    precision: bits of 1 / sqrt(variance). ddof: as for np.std.

    Costs three levels and those of the polynomial: 4 for high / low up to 5, 5 up to 20, 6 up to 50 at
    20 bits. One more each for the mean and the deviation where samples are in neighbouring slots.
    """
    what = "standardize"
    if not isinstance(x, EncryptedArray | Ciphertext):
        numbers = x if isinstance(x, Samples) else plain_array(x, what)
        return clear_standardize(numbers, axis, variances=variances, ddof=ddof)
    array = _real(expect(x, EncryptedArray, what, "encrypt the samples with client.encrypt_array"), what)
    bounds = _bounds(variances, what)
    at = one_axis(axis, array.ndim, what)
    if array.shape[at] - ddof <= 0:
        raise InvalidArgument(f"{what}: {array.shape[at]} samples and ddof {ddof:g}; expected more samples")
    return _scores(array, at, float(ddof), bounds, positive(precision, f"{what}: precision"))


def _real(x: EncryptedArray, what: str) -> EncryptedArray:
    if not x.is_real:
        raise InvalidArgument(f"{what}: a complex array, expected real samples; x.real and x.imag are real")
    return x


@implements(np.corrcoef)
def corrcoef(
    x: Operand,
    y: Operand = None,
    rowvar: bool = True,
    *,
    variances: Any = None,
    precision: float = DEFAULT_PRECISION,
    level: int | None = None,
) -> Any:
    """np.corrcoef of encrypted real samples: the matrix of correlations of all pairs of variables.

    x, y, rowvar and level: as for `cov`. variances, precision: as for `standardize`, of variances with
    ddof=0.

    Costs the levels of `standardize` and three: 10 for high / low up to 5. The standard scores are
    multiplied, which needs no covariances and no division; the diagonal is 1 to the precision.
    """
    what = "corrcoef"
    if not any(isinstance(each, EncryptedArray | Ciphertext) for each in (x, y)):
        return clear_corrcoef(x, y, rowvar, variances=variances)
    samples = _real(_samples(x, y, rowvar, what), what)
    bounds = _bounds(variances, what)
    scores = _scores(samples, 1, 0.0, bounds, positive(precision, f"{what}: precision"))
    made = _products_of(scores, 1.0 / samples.shape[1], level)
    return dropped(made, (0, 1)) if made.shape == (1, 1) else made
