# SPDX-License-Identifier: Apache-2.0
"""Plain operands and axes of operations, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import integer, kind_of
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray


def plain_array(values: Any, what: str) -> npt.NDArray[Any]:
    """Anything numpy makes an array of finite numbers from, as float64 or complex128."""
    if isinstance(values, EncryptedArray | Ciphertext):
        raise WrongType(f"{what}: got {kind_of(values)}, expected plain numbers")
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        raise InvalidArgument(f"{what}: an array with masked elements; give them numbers: x.filled(0)")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{what}: {kind_of(values)} is no array of numbers ({error})") from None
    if array.dtype.kind not in "biufc":
        raise WrongType(f"{what}: values of type {array.dtype}, expected real or complex numbers")
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{what}: NaN or infinity among the values; expected finite numbers")
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def broadcast_shape(first: tuple[int, ...], second: tuple[int, ...], what: str) -> tuple[int, ...]:
    """The shape of the result of an operation on two arrays, as in numpy."""
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        raise InvalidArgument(
            f"{what}: shapes {first} and {second} do not go together; from the last axis on, lengths must be "
            "equal or 1"
        ) from None


def one_axis(axis: Any, ndim: int, what: str) -> int:
    """The number of an axis, counted from the end if negative."""
    number = integer(axis, f"{what}: axis")
    if not -ndim <= number < ndim:
        raise InvalidArgument(f"{what}: axis {number} of an array of {ndim} axes")
    return number % ndim


def axes_of(axis: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Numbers of axes: one, several, or all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(one_axis(each, ndim, what) for each in given)
    if len(set(axes)) < len(axes):
        raise InvalidArgument(f"{what}: axis {axis} names an axis twice")
    return axes


def along(axis: int, start: int | None, stop: int | None) -> tuple[slice, ...]:
    """The index of a stretch of one axis."""
    return (slice(None),) * axis + (slice(start, stop),)
