# SPDX-License-Identifier: Apache-2.0
"""The functions of numpy that are operations of `elementwise.py`, `reductions.py` and `shapes.py`.

Functions that only move elements (`np.take`, `np.pad`, `np.split`, ...) are numpy's own, applied to the
addresses of the elements.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument
from . import elementwise, reductions, shapes
from .array import EncryptedArray
from .numpy_protocol import implements
from .operands import along, one_axis, plain_array
from .shapes import concatenate, rearranged, reshape

_MOVING = (
    np.take, np.tile, np.repeat, np.rot90, np.moveaxis, np.rollaxis, np.fliplr, np.flipud, np.ravel, np.diag,
    np.tril, np.triu, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.delete, np.resize,
)  # fmt: skip
_SPLITTING = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
_PAD_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _moving(function: Any) -> None:
    @implements(function)
    def moved(x: Any, *args: Any, **options: Any) -> EncryptedArray:
        if not isinstance(x, EncryptedArray) or any(isinstance(each, EncryptedArray) for each in args):
            raise InvalidArgument(f"np.{function.__name__}: one encrypted array first, then plain numbers")
        return rearranged(x, f"np.{function.__name__}", lambda at: function(at, *args, **options))


def _splitting(function: Any) -> None:
    @implements(function)
    def split(x: EncryptedArray, *args: Any, **options: Any) -> list[EncryptedArray]:
        name = f"np.{function.__name__}"
        try:
            count = len(function(np.empty(x.shape), *args, **options))
        except (ValueError, IndexError, TypeError) as error:
            raise InvalidArgument(f"{name}: {error}; the shape is {x.shape}") from None
        return [
            rearranged(x, name, functools.partial(_piece, function, n, args, options)) for n in range(count)
        ]


def _piece(function: Any, number: int, args: Any, options: Any, addresses: Any) -> Any:
    return function(addresses, *args, **options)[number]


def _register() -> None:
    moving: tuple[Any, ...] = _MOVING
    for each in moving:
        _moving(each)
    for other in _SPLITTING:
        _splitting(other)


_register()

implements(np.add)(elementwise.add)
implements(np.subtract)(elementwise.subtract)
implements(np.multiply)(elementwise.multiply)
implements(np.divide)(elementwise.divide)
implements(np.power)(elementwise.power)
implements(np.negative)(elementwise.negative)
implements(np.conjugate)(elementwise.conj)
implements(np.real)(elementwise.real)
implements(np.imag)(elementwise.imag)
implements(np.sum)(reductions.sum_)
implements(np.mean)(reductions.mean)
implements(np.var)(reductions.var)
implements(np.std)(reductions.std)
implements(np.prod)(reductions.prod)
implements(np.cumsum)(reductions.cumsum)
implements(np.reshape)(shapes.reshape)
implements(np.transpose)(shapes.transpose)
implements(np.swapaxes)(shapes.swapaxes)
implements(np.squeeze)(shapes.squeeze)
implements(np.expand_dims)(shapes.expand_dims)
implements(np.diagonal)(shapes.diagonal)
implements(np.trace)(shapes.trace)
implements(np.roll)(shapes.roll)
implements(np.flip)(shapes.flip)
implements(np.concatenate)(shapes.concatenate)
implements(np.stack)(shapes.stack)
implements(np.broadcast_to)(shapes.broadcast_to)


@implements(np.positive, np.copy)
def positive(x: EncryptedArray) -> EncryptedArray:
    """The same array, which never changes."""
    return x


@implements(np.square)
def square(x: EncryptedArray) -> EncryptedArray:
    """x * x."""
    return elementwise.multiply(x, x)


@implements(np.pad)
def pad(
    x: EncryptedArray, pad_width: Any, mode: Any = "constant", constant_values: Any = 0
) -> EncryptedArray:
    """np.pad with zeros, or with elements in the modes that copy them; a level."""
    if mode not in _PAD_MODES or np.any(np.asarray(constant_values) != 0):
        raise InvalidArgument(
            f"np.pad: mode {mode!r}, constant_values {constant_values!r}; expected one of "
            f"{', '.join(_PAD_MODES)}, and zeros; add others afterwards"
        )
    return rearranged(x, "np.pad", lambda at: np.pad(at, pad_width, mode))


@implements(np.diff)
def diff(x: EncryptedArray, n: int = 1, axis: int = -1) -> EncryptedArray:
    """np.diff; no level."""
    axis = one_axis(axis, x.ndim, "np.diff")
    for _ in range(n):
        x = elementwise.subtract(x[along(axis, 1, None)], x[along(axis, None, -1)])
    return x


@implements(np.hstack)
def hstack(tup: Any) -> EncryptedArray:
    """np.hstack."""
    wide = [_at_least(each, 1) for each in tup]
    return concatenate(wide, 0 if wide[0].ndim == 1 else 1)


@implements(np.vstack)
def vstack(tup: Any) -> EncryptedArray:
    """np.vstack."""
    return concatenate([_at_least(each, 2) for each in tup], 0)


@implements(np.column_stack)
def column_stack(tup: Any) -> EncryptedArray:
    """np.column_stack."""
    wide = [_at_least(each, 1) for each in tup]
    return concatenate([reshape_any(each, (-1, 1)) if each.ndim == 1 else each for each in wide], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> EncryptedArray:
    """np.append."""
    return concatenate([arr, values], axis)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> list[Any]:
    """np.broadcast_arrays."""
    try:
        shape = np.broadcast_shapes(*(np.shape(each) for each in args))
    except ValueError as error:
        raise InvalidArgument(f"np.broadcast_arrays: {error}") from None
    return [np.broadcast_to(each, shape) for each in args]


@implements(np.shape)
def shape(a: EncryptedArray) -> tuple[int, ...]:
    """x.shape."""
    return a.shape


@implements(np.ndim)
def ndim(a: EncryptedArray) -> int:
    """x.ndim."""
    return a.ndim


@implements(np.size)
def size(a: EncryptedArray, axis: int | None = None) -> int:
    """x.size, or the length of an axis."""
    return a.size if axis is None else a.shape[one_axis(axis, a.ndim, "np.size")]


@implements(np.zeros_like)
def zeros_like(a: EncryptedArray) -> Any:
    """Plain zeros of this shape."""
    return np.zeros(a.shape)


@implements(np.ones_like)
def ones_like(a: EncryptedArray) -> Any:
    """Plain ones of this shape."""
    return np.ones(a.shape)


@implements(np.iscomplexobj)
def iscomplexobj(x: EncryptedArray) -> bool:
    """Whether other than real numbers went into it."""
    return not x.is_real


def reshape_any(x: Any, wanted: tuple[int, ...]) -> Any:
    """np.reshape of an encrypted or plain array."""
    return reshape(x, wanted) if isinstance(x, EncryptedArray) else np.reshape(x, wanted)


def _at_least(x: Any, axes: int) -> Any:
    """With axes of length 1 in front where it has fewer."""
    x = x if isinstance(x, EncryptedArray) else plain_array(x, "stack")
    return reshape_any(x, (1,) * (axes - x.ndim) + x.shape) if x.ndim < axes else x
