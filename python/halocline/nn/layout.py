# SPDX-License-Identifier: Apache-2.0
"""Where the values of a layer are in the slots of a ciphertext.

Images are packed as in "Low-complexity deep convolutional neural networks on fully homomorphic encryption
using multiplexed parallel convolutions" (Lee et al., ICML 2022, section 4): a stride leaves every `gap`-th
pixel of every `gap`-th row, and as many channels as fit move into the cells between them, so that no slot
is lost and later layers need fewer.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..base.values import integer, power_of_two
from .layers import Array, Shape

Slots = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Value (c, y, x) is in slot (c // gap^2) block + (gap y + (c % gap^2) // gap) pitch + gap x + c % gap.

    Vectors are images of one pixel: feature i is channel i.
    """

    channels: int
    """Of an image, or features of a vector."""
    rows: int
    """Of an image; 1 for vectors."""
    columns: int
    """Of an image; 1 for vectors."""
    gap: int = 1
    """Slots from a pixel to its neighbour; gap^2 channels share a block."""
    pitch: int = 0
    """Slots from one row of slots to the next; 0: those that the columns take."""
    block: int = 0
    """Slots of the channels that share them; 0: those that the rows take."""
    slots: int = 0
    """Of the ciphertext, a power of two from 2; 0: the fewest."""

    def __post_init__(self) -> None:
        for name in ("channels", "rows", "columns", "gap"):
            object.__setattr__(self, name, integer(getattr(self, name), f"layout: {name}", 1))
        pitch = self.pitch or self.gap * self.columns
        block = self.block or self.gap * self.rows * pitch
        if pitch < self.gap * self.columns or block < self.gap * self.rows * pitch:
            raise InvalidArgument(
                f"layout: {self.rows} x {self.columns} pixels with gap {self.gap} in rows of {pitch} and "
                f"blocks of {block} slots; expected rows of at least {self.gap * self.columns} and blocks of "
                f"at least {self.gap * self.rows * pitch}"
            )
        needed = max(2, power_of_two(-(-self.channels // self.gap**2) * block))
        slots = self.slots or needed
        if slots != power_of_two(slots) or slots < needed:
            raise InvalidArgument(
                f"layout: {slots} slots, expected a power of two of at least {needed} for {self.channels} "
                f"channels of {self.rows} x {self.columns}"
            )
        for name, value in (("pitch", pitch), ("block", block), ("slots", slots)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, shape: Shape, multiple: int = 1) -> Layout:
        """For inputs of that shape, with room for strides whose product divides `multiple`."""
        if len(shape) == 1:
            return cls(shape[0], 1, 1)
        channels, rows, columns = shape
        pitch = -(-columns // multiple) * multiple
        return cls(channels, rows, columns, 1, pitch, -(-rows // multiple) * multiple * pitch)

    def strided(self, stride: int, shape: Shape) -> Layout:
        """For results of that shape whose pixels are `stride` pixels of this layout apart.

        A dense layout where they would not fit in the rows of this one.
        """
        channels, rows, columns = shape
        gap = self.gap * stride
        if gap * columns > self.pitch or gap * rows * self.pitch > self.block:
            return Layout.of(shape)
        return Layout(channels, rows, columns, gap, self.pitch, self.block)

    @property
    def size(self) -> int:
        """Number of values."""
        return self.channels * self.rows * self.columns

    @property
    def is_full(self) -> bool:
        """Whether every slot has a value."""
        return self.size == self.slots

    def index(self) -> Slots:
        """The slot of every value, in the order of a flattened (channels, rows, columns)."""
        c, y, x = np.ogrid[: self.channels, : self.rows, : self.columns]
        cell = c % self.gap**2
        row = self.gap * y + cell // self.gap
        found: Slots = (c // self.gap**2) * self.block + row * self.pitch + self.gap * x + cell % self.gap
        return found.astype(np.int64).ravel()

    def pack(self, values: npt.ArrayLike) -> Array:
        """Slot values of one image or vector; slots without a value are 0."""
        array = np.asarray(values, dtype=np.float64)
        if array.size != self.size:
            raise InvalidArgument(
                f"pack: values of shape {array.shape}, expected {self.size} for {self.channels} channels of "
                f"{self.rows} x {self.columns}"
            )
        packed = np.zeros(self.slots)
        packed[self.index()] = array.ravel()
        return packed

    def unpack(self, slots: Any) -> Array:
        """The values (channels, rows, columns) in decrypted slots."""
        array = np.real(np.asarray(slots)).astype(np.float64)
        if array.shape != (self.slots,):
            raise InvalidArgument(f"unpack: values of shape {array.shape}, expected {self.slots} slots")
        return array[self.index()].reshape(self.channels, self.rows, self.columns)
