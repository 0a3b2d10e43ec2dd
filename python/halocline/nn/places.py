# SPDX-License-Identifier: Apache-2.0
"""Where values are in the slots of one or several ciphertexts, as numbers that a file can hold.

A `Layout` is a rule of this package; a client that has no more than a file gets the same places from counts
and strides. Whatever the file says, a place is within the ciphertexts, and no two values share one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import limits
from ..base.errors import InvalidArgument, WrongType
from ..base.values import integer, kind_of
from .layers import Array

Digit = tuple[int, int]
"""How many values a digit of an index has, and how many slots one more of it is."""
Index = npt.NDArray[np.int64]

MAX_DIGITS = 8
"""Digits of one index."""
MAX_AXES = 8
"""Axes of an array, that of the images among them."""


@dataclasses.dataclass(frozen=True)
class Places:
    """The place of every value of an array (images, *shape of one): ciphertext times `slots` plus slot.

    The index along each axis is written with digits, the one that changes fastest first; the place is the
    sum of digit times stride over all digits of all axes.
    """

    shape: tuple[int, ...]
    """Images that lie in the ciphertexts at once, then the shape of one."""
    axes: tuple[tuple[Digit, ...], ...]
    """For each axis its digits, (count, stride); none for an axis of one value."""
    slots: int
    """Of each ciphertext, a power of two from 2."""
    ciphertexts: int = 1
    """That hold all values together."""

    def __post_init__(self) -> None:
        shape = _numbers(self.shape, "places: shape", 1, limits.CLIENT_SPEC_PLACES, MAX_AXES)
        slots = whole(self.slots, "places: slots", 2, 1 << 16)
        count = whole(self.ciphertexts, "places: ciphertexts", 1, limits.CLIENT_SPEC_PLACES // slots)
        if len(shape) < 2 or slots & (slots - 1):
            raise InvalidArgument(
                f"places: shape {shape} in {slots} slots, expected (images, ...) and a power of two"
            )
        if math.prod(shape) > slots * count:
            raise InvalidArgument(
                f"places: {math.prod(shape)} values of shape {shape} in {count} ciphertexts of {slots} slots"
            )
        axes = tuple(_sequence(self.axes, "places: axes", MAX_AXES))
        if len(axes) != len(shape):
            raise InvalidArgument(f"places: digits of {len(axes)} axes, expected {len(shape)}: {shape}")
        made = tuple(_digits(each, size, slots * count) for each, size in zip(axes, shape, strict=True))
        for name, value in (("shape", shape), ("axes", made), ("slots", slots), ("ciphertexts", count)):
            object.__setattr__(self, name, value)
        self._check_index()

    def _check_index(self) -> None:
        """Refuses places beyond the ciphertexts and two values in one place."""
        index = self.index
        if index.max() >= self.slots * self.ciphertexts:
            raise InvalidArgument(
                f"places: a value at place {index.max()}, expected places below "
                f"{self.slots * self.ciphertexts}: {self.ciphertexts} ciphertexts of {self.slots} slots"
            )
        if np.bincount(index).max() > 1:
            raise InvalidArgument("places: two values in one slot; expected a slot for each")

    @classmethod
    def of(cls, index: Index, slots: int, ciphertexts: int = 1) -> Places:
        """Those of an array of places, (images, *shape); the first value is at place 0.

        @throws InvalidArgument where digits and strides cannot say them
        """
        axes = []
        for axis in range(index.ndim):
            along = np.moveaxis(index, axis, 0).reshape(index.shape[axis], -1)[:, 0]
            axes.append(tuple(_factored([int(each) for each in along])))
        made = cls(index.shape, tuple(axes), slots, ciphertexts)
        if not np.array_equal(made.index, index.ravel()):
            raise InvalidArgument("places: no sum of digits times strides; they cannot be written to a file")
        return made

    @property
    def images(self) -> int:
        """How many lie in the ciphertexts at once."""
        return self.shape[0]

    @cached_property
    def index(self) -> Index:
        """The place of every value, in the order of a flattened array."""
        total = np.zeros((1,) * len(self.shape), np.int64)
        for axis, (digits, size) in enumerate(zip(self.axes, self.shape, strict=True)):
            rest, along = np.arange(size), np.zeros(size, np.int64)
            for count, stride in digits:
                along += rest % count * stride
                rest //= count
            total = total + along.reshape([-1 if each == axis else 1 for each in range(len(self.shape))])
        return total.ravel()

    def pack(self, images: Array) -> list[Array]:
        """Slot values of each ciphertext; slots without a value are 0.

        The last of the images is repeated for those that are missing: it has been checked, 0 might leave the
        ranges of activations.
        """
        missing = self.images - len(images)
        whole_group = np.concatenate([images, *[images[-1:]] * missing]) if missing else images
        packed = np.zeros(self.slots * self.ciphertexts)
        packed[self.index] = whole_group.ravel()
        return list(packed.reshape(self.ciphertexts, self.slots))

    def unpack(self, vectors: Sequence[Array]) -> Array:
        """The images, of `shape`, in the slots of each ciphertext."""
        found: Array = np.concatenate(vectors)[self.index].reshape(self.shape)
        return found

    def to_json(self) -> dict[str, Any]:
        """An object for JSON."""
        fields = {"slots": self.slots, "ciphertexts": self.ciphertexts}
        axes = [[list(digit) for digit in axis] for axis in self.axes]
        return {"version": 1, "images": self.images, **fields, "axes": axes}


def _sequence(value: Any, what: str, most: int) -> Sequence[Any]:
    if not isinstance(value, list | tuple) or len(value) > most:
        raise InvalidArgument(f"{what}: {kind_of(value)}, expected a list of at most {most}")
    return value


def _numbers(value: Any, what: str, low: int, high: int, most: int) -> tuple[int, ...]:
    """A list of integers within bounds; True and False are none."""
    return tuple(whole(each, what, low, high) for each in _sequence(value, what, most))


def whole(value: Any, what: str, low: int, high: int) -> int:
    """An integer within bounds, and not True or False, which JSON has too."""
    if isinstance(value, bool):
        raise WrongType(f"{what}: got {value}, expected an integer")
    return integer(value, what, low, high)


def _digits(value: Any, size: int, places: int) -> tuple[Digit, ...]:
    """The digits of an axis: as many as its size needs, none too many."""
    made = []
    for each in _sequence(value, "places: digits of an axis", MAX_DIGITS):
        pair = _numbers(each, "places: digit", 1, places, 2)
        if len(pair) != 2 or pair[0] < 2:
            raise InvalidArgument(f"places: digit {pair}, expected a count from 2 and a stride")
        made.append((pair[0], pair[1]))
    reach = math.prod(count for count, _ in made)
    if reach < size or (made and reach // made[-1][0] * (made[-1][0] - 1) >= size):
        raise InvalidArgument(
            f"places: digits of {[count for count, _ in made]} values for an axis of {size}, expected as "
            "many as it takes"
        )
    return tuple(made)


def _factored(offsets: list[int]) -> list[Digit]:
    """The digits of an axis whose values are at these places; the first is 0."""
    made: list[Digit] = []
    while len(offsets) > 1:
        step = offsets[1]
        steps = enumerate(offsets)
        run = next((number for number, offset in steps if offset != number * step), len(offsets))
        made.append((run, step))
        offsets = offsets[::run]
    return made
