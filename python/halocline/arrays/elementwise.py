# SPDX-License-Identifier: Apache-2.0
"""Operations on each element: arithmetic, powers, conjugates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import integer, is_scalar
from ..ckks.ciphertext import Ciphertext
from .alignment import aligned, spread
from .array import EncryptedArray, Operand
from .operands import broadcast_shape, plain_array
from .registry import operation, perform

_MOST_FACTORS = 2
"""Products of more factors are formed of elements only: what slots between them hold, such as elements that
were cut off, may be larger than these, and its powers would exceed the modulus and spoil all slots."""


def map_parts(
    x: EncryptedArray, function: Callable[[Ciphertext], Ciphertext], *, zero_to_zero: bool
) -> EncryptedArray:
    """A function of ciphertexts applied to each one of an array.

    zero_to_zero: whether the function of 0 is 0, so that slots without an element stay 0.
    """
    made: dict[int, Ciphertext] = {}
    for each in x.parts:  # a broadcast may have put one ciphertext into several places
        if id(each) not in made:
            made[id(each)] = function(each)
    return x._made([made[id(each)] for each in x.parts], x.packing, x.is_clean and zero_to_zero)


def cleaned(x: EncryptedArray) -> EncryptedArray:
    """The same array with zeros in all slots that hold no element; costs a level if there are others."""
    if x.is_clean:
        return x
    vectors = x.packing.pack(np.ones(x.shape))
    return EncryptedArray([_times(p, v) for p, v in zip(x.parts, vectors, strict=True)], x.packing)


def plain_operand(value: Operand, what: str) -> npt.NDArray[Any]:
    """A plain operand as an array of finite numbers."""
    if isinstance(value, Ciphertext):
        raise WrongType(
            f"{what}: got a Ciphertext beside an EncryptedArray; encrypt it with client.encrypt_array "
            "(arrays=True for hc.choose and hc.simulate), or make it an array with "
            "hc.EncryptedArray([ct], hc.Packing.of(ct.slots, ct.slots))"
        )
    return plain_array(value, what)


def _number(array: npt.NDArray[Any]) -> complex | float:
    """The one number of an array without axes."""
    return complex(array) if array.dtype.kind == "c" else float(array)


@operation("add")
def add(x: Operand, y: Operand) -> EncryptedArray:
    """x + y. Adding encrypted or plain numbers costs no level."""
    if not isinstance(x, EncryptedArray):
        x, y = y, x
    if isinstance(y, EncryptedArray):
        a, b = aligned(x, y, "add")
        parts = [p + q for p, q in zip(a.parts, b.parts, strict=True)]
        return a._made(parts, a.packing, a.is_clean and b.is_clean, b)
    return plus_plain(x, plain_operand(y, "add"))


def plus_plain(x: EncryptedArray, values: npt.NDArray[Any]) -> EncryptedArray:
    """x + values for plain values, broadcast."""
    x = spread(x, broadcast_shape(x.shape, values.shape, "add"))
    if values.ndim == 0 and (x.packing.is_full or not x.is_clean):
        return map_parts(x, lambda ct: ct + _number(values), zero_to_zero=False)
    vectors = x.packing.pack(np.broadcast_to(values, x.shape))
    parts = [_plus(p, v) for p, v in zip(x.parts, vectors, strict=True)]
    return x._made(parts, x.packing, x.is_clean)


def _plus(ct: Ciphertext, values: npt.NDArray[Any]) -> Ciphertext:
    return ct + (values if len(values) > 1 else _number(values[0]))


def _times(ct: Ciphertext, values: npt.NDArray[Any]) -> Ciphertext:
    return ct * (values if len(values) > 1 else _number(values[0]))


@operation("subtract")
def subtract(x: Operand, y: Operand) -> EncryptedArray:
    """x - y."""
    if isinstance(x, EncryptedArray) and isinstance(y, EncryptedArray):
        a, b = aligned(x, y, "subtract")
        parts = [p - q for p, q in zip(a.parts, b.parts, strict=True)]
        return a._made(parts, a.packing, a.is_clean and b.is_clean, b)
    if isinstance(x, EncryptedArray):
        return plus_plain(x, -1.0 * plain_operand(y, "subtract"))
    return plus_plain(negative(y), plain_operand(x, "subtract"))


@operation("multiply")
def multiply(x: Operand, y: Operand) -> EncryptedArray:
    """x * y; costs a level, by an integer that is the same for all elements none."""
    if not isinstance(x, EncryptedArray):
        x, y = y, x
    if isinstance(y, EncryptedArray):
        return product(x, y)
    return times_plain(x, plain_operand(y, "multiply"))


def product(a: EncryptedArray, b: EncryptedArray, *, bounded: bool = False) -> EncryptedArray:
    """The product of two arrays, broadcast.

    bounded: what the slots between elements hold is no larger than products of elements. Otherwise no
    products of more than two such factors are made: these slots are set to 0 first, for a level.
    """
    a, b = aligned(a, b, "multiply")
    degree = a._degree + b._degree
    if degree > _MOST_FACTORS and not bounded:
        a, b = cleaned(a), cleaned(b)  # whatever their levels, so that all runs of a program are alike
        degree = a._degree + b._degree
    made = a._made(
        [p * q for p, q in zip(a.parts, b.parts, strict=True)], a.packing, a.is_clean or b.is_clean
    )
    made._degree = degree
    return made


def times_plain(x: EncryptedArray, values: npt.NDArray[Any]) -> EncryptedArray:
    """x * values for plain values, broadcast. With an array of values it leaves zeros between elements."""
    if values.ndim == 0:
        number = _number(values)
        return map_parts(x, lambda ct: ct * number, zero_to_zero=True)
    x = spread(x, broadcast_shape(x.shape, values.shape, "multiply"))
    vectors = x.packing.pack(np.broadcast_to(values, x.shape))
    return EncryptedArray([_times(p, v) for p, v in zip(x.parts, vectors, strict=True)], x.packing)


@operation("divide")
def divide(x: Operand, y: Operand) -> EncryptedArray:
    """x / y; by an encrypted y with the interval of a calibrated program (`functions.divide`)."""
    if isinstance(y, EncryptedArray):
        return multiply(perform("reciprocal", y), x)
    values = plain_operand(y, "divide")
    if not values.all():
        raise InvalidArgument("divide: the divisor is zero or has a zero; expected other numbers")
    return times_plain(x, 1.0 / values)


def _whole(exponent: Operand) -> int:
    """An exponent as an integer, also 2.0."""
    if isinstance(exponent, float) and exponent.is_integer():
        return int(exponent)
    try:
        return integer(exponent, "power: exponent")
    except WrongType as error:
        raise WrongType(
            f"{error}, 0.5 or -1; for others hc.functions.apply(lambda v: v**p, x, interval=(low, high))"
        ) from None


@operation("power")
def power(x: Operand, exponent: Operand) -> EncryptedArray:
    """x ** exponent for one integer that is not negative; ceil(log2(exponent)) levels.

    1/2 and -1 are the square root and the reciprocal, with the interval of a calibrated program.
    """
    if not isinstance(x, EncryptedArray) or not is_scalar(exponent):
        raise WrongType(
            "power: the exponent must be one plain integer; for others use a polynomial, or exp and log"
        )
    exponent = exponent.item() if isinstance(exponent, np.generic | np.ndarray) else exponent
    if exponent in (0.5, -1):
        return perform("sqrt" if exponent == 0.5 else "reciprocal", x)
    number = _whole(exponent)
    if number < 0:
        raise InvalidArgument(
            f"power: exponent {number}, expected 0 or more; 1 / x is hc.functions.reciprocal(x, "
            "interval=(low, high))"
        )
    if number == 0:
        return plus_plain(subtract(x, x), np.ones(()))
    if number * x._dirt > _MOST_FACTORS:
        x = cleaned(x)
    made = map_parts(x, lambda ct: ct**number, zero_to_zero=True)
    made._degree = number * x._degree
    return made


@operation("negative")
def negative(x: EncryptedArray) -> EncryptedArray:
    """-x."""
    return map_parts(x, lambda ct: -ct, zero_to_zero=True)


@operation("conj")
def conj(x: EncryptedArray) -> EncryptedArray:
    """Complex conjugates."""
    return x if x.is_real else map_parts(x, lambda ct: ct.conj(), zero_to_zero=True)


@operation("real")
def real(x: EncryptedArray) -> EncryptedArray:
    """Real parts."""
    return x if x.is_real else map_parts(x, lambda ct: as_real((ct + ct.conj()) * 0.5), zero_to_zero=True)


@operation("imag")
def imag(x: EncryptedArray) -> EncryptedArray:
    """Imaginary parts; zeros of a real array."""
    if x.is_real:
        return subtract(x, x)
    return map_parts(x, lambda ct: as_real((ct - ct.conj()) * -0.5j), zero_to_zero=True)


def as_real(ct: Ciphertext) -> Ciphertext:
    """The same ciphertext, known to hold real numbers, so that these come out of `decrypt`."""
    return Ciphertext(ct._core, ct.engine, True)
