# SPDX-License-Identifier: Apache-2.0
"""Functions of one variable on encrypted arrays: what unused slots hold meanwhile, and after."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import kind_of
from ..circuits.polynomial import Interval
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .elementwise import cleaned

EncryptedT = TypeVar("EncryptedT", EncryptedArray, Ciphertext)
Vector = npt.NDArray[np.float64]


def is_encrypted(value: object) -> bool:
    """Whether a value is an encrypted array or a ciphertext."""
    return isinstance(value, EncryptedArray | Ciphertext)


def expect_real(x: Any, name: str) -> None:
    """Refuses complex numbers, on which functions and comparisons of real ones have no meaning.

    And what is bound to no engine.
    """
    if x.engine is None:
        raise InvalidArgument(
            f"{name}: the argument is plain data, not bound to an engine; bind it with x.to(engine), or run "
            "the program with engine.run(program, x)"
        )
    if not x.is_real:
        raise WrongType(
            f"{name}: the argument is complex; expected real numbers: take x.real of an array, or encrypt "
            "real numbers"
        )


def unused(x: EncryptedArray) -> list[Vector]:
    """For each ciphertext 1 in slots that hold no element, 0 in the others."""
    return [1.0 - each for each in x.packing.pack(np.ones(x.shape))]


def plus(ct: Ciphertext, values: Vector) -> Ciphertext:
    """A ciphertext plus a vector of all its slots."""
    if not values.any():
        return ct
    return ct + (values if len(values) > 1 else float(values[0]))


def filled(x: EncryptedArray, number: float) -> EncryptedArray:
    """The array with a number in all slots that hold no element. It must be clean."""
    if x.packing.is_full or number == 0:
        return x
    parts = [plus(ct, number * free) for ct, free in zip(x.parts, unused(x), strict=True)]
    return EncryptedArray(parts, x.packing, clean=False)


def mapped(
    x: EncryptedT,
    function: Callable[[Ciphertext], Ciphertext],
    at: Callable[[float], float],
    interval: Interval | None = None,
) -> EncryptedT:
    """A function of every element; slots that hold none are 0 before and after it.

    at: the same function of a number in the clear. interval: where the function may be evaluated; unused
    slots hold its middle meanwhile if 0 is outside, as a polynomial far outside of its interval would grow
    beyond the modulus and spoil all slots. Costs a level more where the array is not clean.
    """
    if isinstance(x, Ciphertext):
        return function(x)
    if x.packing.is_full:
        return EncryptedArray([function(each) for each in x.parts], x.packing)
    x = cleaned(x)
    low, high = interval or (-math.inf, math.inf)
    number = 0.0 if low <= 0 <= high else (low + high) / 2
    rest = float(at(number))
    parts = []
    for ct, free in zip(x.parts, unused(x), strict=True):
        parts.append(plus(function(plus(ct, number * free)), -rest * free))
    return EncryptedArray(parts, x.packing)


def check_range(x: Any, largest: float, levels: int, name: str) -> None:
    """Refuses results that are too large for the modulus at the level where they come out."""
    level = x.level - levels
    if level < 0 or largest == 0:  # the operation itself says which levels are missing
        return
    row = x.params.levels[level]
    most = row.log2_modulus - math.log2(row.scale) - 1
    if math.log2(largest) >= most:
        raise InvalidArgument(
            f"{name}: values up to {largest:.3g} do not fit the modulus at level {level}, where numbers must "
            f"stay below 2^{most:.1f}; expected a narrower interval, or an argument at a higher level"
        )


def numbers(value: Any, name: str) -> npt.NDArray[Any]:
    """A plain argument as an array of real numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{name}: {kind_of(value)} is no array of numbers ({error})") from None
    if array.dtype.kind not in "biuf":
        raise WrongType(f"{name}: values of type {array.dtype}, expected an encrypted array or real numbers")
    return array if array.dtype.kind == "f" else array.astype(np.float64)
