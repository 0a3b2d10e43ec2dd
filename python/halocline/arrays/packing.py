# SPDX-License-Identifier: Apache-2.0
"""Where the elements of an array are: in which ciphertext and in which slot."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import integer, kind_of, power_of_two, shown

MAX_DIMENSIONS = 16
MAX_ADDRESSES = 1 << 40
"""Slots of all ciphertexts of an array, those that would be empty counted too."""
Addresses = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Packing:
    """Places of the elements of an array in ciphertexts.

    Element (i_0, i_1, ...) has the address i_0 * strides[0] + i_1 * strides[1] + ...; its ciphertext has the
    number address // slots, its slot is address % slots. An axis takes as many bits of the address as its
    length rounded up to a power of two (`padded`) needs, and no two axes share a bit. Only ciphertexts that
    hold an element are there: `numbers` says which.

    shape: lengths of the axes, each at least 1; `()` is a single number.
    strides: slots from an element to its neighbour along each axis: powers of two, 0 for axes of length 1.
    slots: of each ciphertext, a power of two.
    copies: bits of the slot along which all values repeat themselves, as a sum of powers of two. Bits that
        belong neither to an axis nor to the copies are 0 in the address of every element.

    Raises InvalidArgument for addresses that overlap or do not fit, WrongType for anything but integers.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    slots: int
    copies: int = 0

    def __post_init__(self) -> None:
        shape = check_shape(self.shape, "Packing: shape")
        strides = tuple(integer(each, "Packing: stride", 0) for each in self.strides)
        slots = integer(self.slots, "Packing: slots", 1, 1 << 20)
        copies = integer(self.copies, "Packing: copies", 0, slots - 1)
        if len(shape) != len(strides):
            raise InvalidArgument(f"Packing: {len(strides)} strides for the shape {shape}, expected as many")
        if slots & (slots - 1):
            raise InvalidArgument(f"Packing: {slots} slots, expected a power of two")
        strides = tuple(stride if length > 1 else 0 for stride, length in zip(strides, shape, strict=True))
        for name, value in (("shape", shape), ("strides", strides), ("slots", slots), ("copies", copies)):
            object.__setattr__(self, name, value)
        taken = copies
        for axis, (stride, length) in enumerate(zip(strides, self.padded, strict=True)):
            if length > 1 and (stride < 1 or stride & (stride - 1)):
                raise InvalidArgument(
                    f"Packing: stride {shown(stride)} of axis {axis}, expected a power of two"
                )
            bits = stride * (length - 1)
            if bits >= MAX_ADDRESSES:
                raise InvalidArgument(f"Packing: stride {shown(stride)} of axis {axis} reaches too far")
            if taken & bits:
                raise InvalidArgument(
                    f"Packing: axis {axis} of shape {shape} with strides {strides} shares addresses with "
                    "another axis or with copies; an axis of n elements takes n rounded up to a power of "
                    "two times its stride"
                )
            taken |= bits

    @classmethod
    def of(cls, shape: Sequence[int] | int, slots: int, order: Sequence[int] | None = None) -> Packing:
        """The packing without gaps: axes one after the other, the last one in neighbouring slots.

        slots: the most that a ciphertext has (`params.slots`); a small array takes fewer.
        order: the axes from the widest stride to the narrowest; that of the shape unless given.
        """
        shape = check_shape((shape,) if isinstance(shape, int) else shape, "Packing.of: shape")
        order = tuple(range(len(shape))) if order is None else tuple(order)
        if sorted(order) != list(range(len(shape))):
            raise InvalidArgument(f"Packing.of: order {order}, expected the axes 0 to {len(shape) - 1}")
        strides, reach = [0] * len(shape), 1
        for axis in reversed(order):
            if shape[axis] > 1:
                strides[axis] = reach
                reach *= power_of_two(shape[axis])
        return cls(shape, tuple(strides), min(integer(slots, "Packing.of: slots", 1), reach))

    # What follows from it

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """The length of each axis rounded up to a power of two."""
        return tuple(power_of_two(each) for each in self.shape)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the ciphertexts that hold elements, ascending."""
        found = np.zeros(1, np.int64)
        for stride, own in zip(self.strides, self._reached, strict=True):
            steps = np.arange(own, dtype=np.int64) * max(stride // self.slots, 1)
            found = (found[:, None] + steps).ravel()
        return tuple(int(each) for each in np.sort(found))

    @property
    def _reached(self) -> tuple[int, ...]:
        """In how many ciphertexts the elements along each axis are."""
        sizes = zip(self.shape, self.strides, strict=True)
        return tuple(min(length, (length - 1) * stride // self.slots + 1) for length, stride in sizes)

    @property
    def count(self) -> int:
        """Number of ciphertexts; known without a list of them, which descriptions from outside make long."""
        return math.prod(self._reached)

    @cached_property
    def index_of(self) -> dict[int, int]:
        """From the number of a ciphertext to its place among those that are there."""
        return {number: index for index, number in enumerate(self.numbers)}

    @cached_property
    def is_full(self) -> bool:
        """Whether every slot of every ciphertext holds an element or a copy of one."""
        return self.count * self.slots == self.size * self.copy_count

    @cached_property
    def copy_count(self) -> int:
        """How often each value is there."""
        return 1 << self.copies.bit_count()

    @cached_property
    def slot_bits(self) -> int:
        """The bits of the slot that belong to axes."""
        bits = 0
        for length, stride in zip(self.padded, self.strides, strict=True):
            bits |= stride * (length - 1)
        return bits & (self.slots - 1)

    @property
    def addresses(self) -> Addresses:
        """The address of each element: an array of this shape."""
        made = np.zeros(self.shape, np.int64)
        for axis, (length, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            place = [1] * self.ndim
            place[axis] = length
            made += (np.arange(length, dtype=np.int64) * stride).reshape(place)
        return made

    @cached_property
    def copy_offsets(self) -> Addresses:
        """Distances of the copies of an element from it, 0 among them."""
        made: Addresses = np.zeros(1, np.int64)
        for bit in range(self.copies.bit_length()):
            if self.copies >> bit & 1:
                made = np.concatenate([made, made + (1 << bit)])
        return made

    # Values

    def pack(self, values: npt.ArrayLike) -> list[npt.NDArray[Any]]:
        """`count` vectors of `slots` numbers from an array of this shape; slots without an element are 0."""
        array = np.asarray(values)
        if array.shape != self.shape:
            raise InvalidArgument(f"Packing.pack: values of shape {array.shape}, expected {self.shape}")
        made = np.zeros((self.count, self.slots), np.complex128 if array.dtype.kind == "c" else np.float64)
        numbers, slot = np.divmod(self.addresses, self.slots)
        rows = np.searchsorted(np.asarray(self.numbers), numbers)
        for offset in self.copy_offsets:
            made[rows, slot + offset] = array
        return list(made)

    def unpack(self, vectors: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The array of this shape that is in `count` vectors of `slots` numbers."""
        made = np.asarray(vectors)
        if made.shape != (self.count, self.slots):
            raise InvalidArgument(
                f"Packing.unpack: vectors of shape {made.shape}, expected {(self.count, self.slots)}"
            )
        numbers, slot = np.divmod(self.addresses, self.slots)
        return np.asarray(made[np.searchsorted(np.asarray(self.numbers), numbers), slot])

    def __str__(self) -> str:
        where = f"{self.count} x {self.slots} slots, strides {self.strides}"
        return f"shape {self.shape} in {where}" + (f", {self.copy_count} copies" if self.copies else "")


def check_shape(shape: Any, what: str) -> tuple[int, ...]:
    """Lengths of axes, each at least 1."""
    try:
        lengths = tuple(integer(each, what, 0, MAX_ADDRESSES) for each in shape)
    except TypeError:
        raise WrongType(f"{what}: got {kind_of(shape)}, expected lengths of axes, as (3, 4)") from None
    if len(lengths) > MAX_DIMENSIONS:
        raise InvalidArgument(f"{what}: {len(lengths)} axes, expected at most {MAX_DIMENSIONS}")
    if 0 in lengths:
        raise InvalidArgument(f"{what}: {lengths} has no elements; an encrypted array has at least one")
    if math.prod(power_of_two(each) for each in lengths) > MAX_ADDRESSES:
        raise InvalidArgument(f"{what}: {lengths} is too large; expected at most 2^40 elements")
    return lengths
