# SPDX-License-Identifier: Apache-2.0
"""Shapes: indices, axes, joining. What numpy does to indices is done to addresses; see movement.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, kind_of
from ..ckks.ciphertext import Ciphertext
from .alignment import onto, spread
from .array import EncryptedArray, Operand
from .elementwise import plain_operand
from .movement import move, view
from .operands import broadcast_shape, one_axis
from .packing import MAX_ADDRESSES, Addresses, Packing, check_shape
from .reductions import sum_
from .registry import operation


def rearranged(
    x: EncryptedArray, what: str, function: Callable[[Addresses], Any], *, keep_packing: bool = False
) -> EncryptedArray:
    """The elements of x in the places to which a function of numpy brings those of an array.

    What the function adds as 0 is 0. keep_packing: the packing of x where rotations are not enough.
    """
    try:
        source = np.asarray(function(x.packing.addresses + 1)) - 1
    except (ValueError, IndexError, TypeError) as error:
        raise InvalidArgument(f"{what}: {error}; the shape is {x.shape}") from None
    check_shape(source.shape, what)
    return view(x, source, x.packing if keep_packing and source.shape == x.shape else None)


@operation("getitem")
def getitem(x: EncryptedArray, index: Any) -> EncryptedArray:
    """x[index] for plain indices, as in numpy."""
    for each in index if isinstance(index, tuple) else (index,):
        if isinstance(each, EncryptedArray | Ciphertext):
            raise WrongType(
                "x[index]: the index is encrypted; multiply by an encrypted array of ones and zeros and sum"
            )
    return rearranged(x, f"x[{index!r:.60}]", lambda at: at[index])


@operation("reshape")
def reshape(x: EncryptedArray, shape: Any) -> EncryptedArray:
    """np.reshape in C order."""
    return rearranged(x, "reshape", lambda at: at.reshape(shape))


@operation("transpose")
def transpose(x: EncryptedArray, axes: Any = None) -> EncryptedArray:
    """np.transpose: free."""
    return rearranged(x, "transpose", lambda at: np.transpose(at, axes))


@operation("swapaxes")
def swapaxes(x: EncryptedArray, first: int, second: int) -> EncryptedArray:
    """np.swapaxes: free."""
    return rearranged(x, "swapaxes", lambda at: np.swapaxes(at, first, second))


@operation("squeeze")
def squeeze(x: EncryptedArray, axis: Any = None) -> EncryptedArray:
    """np.squeeze: free."""
    return rearranged(x, "squeeze", lambda at: np.squeeze(at, axis))


@operation("expand_dims")
def expand_dims(x: EncryptedArray, axis: Any) -> EncryptedArray:
    """np.expand_dims: free."""
    return rearranged(x, "expand_dims", lambda at: np.expand_dims(at, axis))


@operation("roll")
def roll(x: EncryptedArray, shift: Any, axis: Any = None) -> EncryptedArray:
    """np.roll: a rotation where the axis fills the ciphertext, else a level."""
    return rearranged(x, "roll", lambda at: np.roll(at, shift, axis), keep_packing=True)


@operation("flip")
def flip(x: EncryptedArray, axis: Any = None) -> EncryptedArray:
    """np.flip; a level."""
    return rearranged(x, "flip", lambda at: np.flip(at, axis), keep_packing=True)


@operation("diagonal")
def diagonal(x: EncryptedArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> EncryptedArray:
    """np.diagonal; a level."""
    return rearranged(x, "diagonal", lambda at: np.diagonal(at, offset, axis1, axis2))


@operation("trace")
def trace(x: EncryptedArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> EncryptedArray:
    """np.trace; a level."""
    return sum_(diagonal(x, offset, axis1, axis2), -1)


@operation("broadcast_to")
def broadcast_to(x: EncryptedArray, shape: Any) -> EncryptedArray:
    """np.broadcast_to."""
    wanted = check_shape((shape,) if isinstance(shape, int | np.integer) else shape, "broadcast_to: shape")
    if broadcast_shape(x.shape, wanted, "broadcast_to") != wanted:
        raise InvalidArgument(f"broadcast_to: shape {x.shape} cannot become {wanted}")
    return spread(x, wanted)


@operation("repack")
def repack(x: EncryptedArray, packing: Packing | None = None) -> EncryptedArray:
    """The same elements elsewhere."""
    if packing is None:
        packing = Packing.of(x.shape, x.params.slots)
    if expect(packing, Packing, "repack: packing").shape != x.shape or packing.slots > x.params.slots:
        raise InvalidArgument(f"repack: {packing} for an array of shape {x.shape} and {x.params.slots} slots")
    return onto(x, packing)


@operation("concatenate")
def concatenate(arrays: Sequence[Operand], axis: int | None = 0) -> EncryptedArray:
    """np.concatenate, of encrypted and plain arrays; no level where they can be put together by rotations."""
    given = _listed(arrays, "concatenate")
    if axis is None:
        given, axis = [_flat(each) for each in given], 0
    first = next(each for each in given if isinstance(each, EncryptedArray))
    axis = one_axis(axis, first.ndim, "concatenate")
    shape = _joined_shape([each.shape for each in given], axis)
    order = sorted(range(first.ndim), key=lambda one: (-first.packing.strides[one], one))
    target = Packing.of(shape, first.params.slots, order)
    if first.packing.slots > target.slots:
        target = Packing(shape, target.strides, first.packing.slots)
    return _placed(given, axis, target)


def _placed(given: list[Any], axis: int, target: Packing) -> EncryptedArray:
    """Arrays one after the other along an axis."""
    made: dict[int, Ciphertext] = {}
    plain = np.zeros(target.shape)
    at = 0
    for each in given:
        place = (slice(None),) * axis + (slice(at, at + each.shape[axis]),)
        at += each.shape[axis]
        if not isinstance(each, EncryptedArray):
            plain = plain.astype(np.result_type(plain, each))
            plain[place] = each
            continue
        source = np.full(target.shape, -1, np.int64)
        source[place] = each.packing.addresses
        for number, ct in move(each, target, source)[0].items():
            made[number] = made[number] + ct if number in made else ct
    some = next(iter(made.values()))
    parts = [made[number] if number in made else some - some for number in target.numbers]
    joined = EncryptedArray(parts, target)
    made_of_all: EncryptedArray = joined + plain if plain.any() else joined
    return made_of_all


@operation("stack")
def stack(arrays: Sequence[Operand], axis: int = 0) -> EncryptedArray:
    """np.stack."""
    given = _listed(arrays, "stack")
    if len({each.shape for each in given}) > 1:
        raise InvalidArgument(f"stack: shapes {[each.shape for each in given]}, expected equal ones")
    axis = one_axis(axis, given[0].ndim + 1, "stack")
    wide = [
        expand_dims(each, axis) if isinstance(each, EncryptedArray) else np.expand_dims(each, axis)
        for each in given
    ]
    return concatenate(wide, axis)


def _listed(arrays: Any, what: str) -> list[Any]:
    if not isinstance(arrays, Sequence | EncryptedArray | np.ndarray):
        raise WrongType(f"{what}: got {kind_of(arrays)}, expected a list of arrays")
    given = [each if isinstance(each, EncryptedArray) else plain_operand(each, what) for each in arrays]
    if not any(isinstance(each, EncryptedArray) for each in given):
        raise InvalidArgument(f"{what}: no encrypted array among {len(given)}; expected at least one")
    return given


def _flat(array: Any) -> Any:
    return reshape(array, -1) if isinstance(array, EncryptedArray) else array.ravel()


def _joined_shape(shapes: list[tuple[int, ...]], axis: int) -> tuple[int, ...]:
    rest = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rest) > 1 or len({len(shape) for shape in shapes}) > 1:
        raise InvalidArgument(
            f"concatenate: shapes {shapes}, expected equal lengths along all axes but axis {axis}"
        )
    joined = sum(shape[axis] for shape in shapes)
    return (*shapes[0][:axis], min(joined, MAX_ADDRESSES), *shapes[0][axis + 1 :])
