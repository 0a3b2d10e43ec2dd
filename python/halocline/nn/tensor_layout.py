# SPDX-License-Identifier: Apache-2.0
"""Where the values of many inputs of a layer are, in the slots of as many ciphertexts as they take.

One image may need several ciphertexts, or leave room for further images. Both are a matter of the groups of
channels that share a block of slots (see `Layout`). Groups that do not fit in one ciphertext go on in the
next one. Where several images share a ciphertext, block after block belongs to another image, so that a
linear map of all images has the same diagonals as that of one: the distance between two groups of channels
of an image is a multiple of `batch` blocks, modulo the slots of the ciphertext.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..base.values import integer, power_of_two
from .layers import Array
from .layout import Layout, Slots


@dataclasses.dataclass(frozen=True)
class TensorLayout:
    """Value (c, y, x) of image b is in block number (g mod q) batch + b of a ciphertext.

    Blocks have `image.block` slots. g = c // gap^2 is the group of channels, q = slots // (batch block) the
    groups of an image that a ciphertext holds; the ciphertext is number g // q of those of its images. Within
    the block the value is where `image` says.
    """

    image: Layout
    """Of one image, as if ciphertexts had as many slots as it takes."""
    slots: int = 0
    """Of each ciphertext, a power of two; 0: as many as `batch` images take."""
    batch: int = 1
    """Images in a ciphertext, a power of two."""

    def __post_init__(self) -> None:
        batch = integer(self.batch, "tensor layout: batch", 1)
        slots = self.slots or batch * self.image.slots
        if batch != power_of_two(batch) or slots != power_of_two(slots):
            raise InvalidArgument(
                f"tensor layout: {batch} images in {slots} slots, expected powers of two for both"
            )
        if slots < batch * self.image.block:
            raise InvalidArgument(
                f"tensor layout: {slots} slots, expected at least {batch * self.image.block} for {batch} "
                f"images whose channels take {self.image.block} slots"
            )
        object.__setattr__(self, "slots", slots)

    @classmethod
    def within(cls, image: Layout, slots: int, images: int = 1) -> TensorLayout:
        """For ciphertexts of at most `slots` slots, with as many of that number of images in each as fit.

        @throws InvalidArgument where not even one group of channels fits
        """
        if image.slots > slots:
            return cls(image, slots)
        return cls(image, 0, min(power_of_two(images), slots // image.slots))

    @property
    def parts(self) -> int:
        """Ciphertexts that an image, or all images that share them, are spread over."""
        return -(-self.groups // self.groups_of_part)

    @property
    def groups(self) -> int:
        """Groups of channels of an image, a block each."""
        return -(-self.image.channels // self.image.gap**2)

    @property
    def groups_of_part(self) -> int:
        """Groups of channels of an image that one ciphertext has room for."""
        return self.slots // (self.batch * self.image.block)

    @property
    def size(self) -> int:
        """Number of values of one image."""
        return self.image.size

    @property
    def is_full(self) -> bool:
        """Whether every slot has a value, where all images are there."""
        return self.size * self.batch == self.slots * self.parts

    def ciphertexts(self, count: int) -> int:
        """That so many images take."""
        return -(-count // self.batch) * self.parts

    def index(self) -> tuple[Slots, Slots]:
        """Number of the ciphertext and slot of every value of the first image, in the order of a flattened
        (channels, rows, columns). Image b is b `image.block` slots further.
        """
        group, within = np.divmod(self.image.index(), self.image.block)
        part, group = np.divmod(group, self.groups_of_part)
        return part, group * self.batch * self.image.block + within

    def places(self, images: int) -> Slots:
        """Number of the ciphertext times `slots` plus slot of every value (images, values of one)."""
        part, slot = self.index()
        group, b = np.divmod(np.arange(images)[:, None], self.batch)
        found: Slots = (group * self.parts + part) * self.slots + slot + b * self.image.block
        return found

    def pack(self, images: npt.ArrayLike) -> list[Array]:
        """Slot values of every ciphertext of images (count, channels, rows, columns).

        Those of the first `batch` images come first, in the order of channels. Slots without a value are 0;
        where images are missing, the last one is repeated, because ranges were checked for it.
        """
        array = np.asarray(images, dtype=np.float64)
        if not len(array) or array.size != len(array) * self.size:
            raise InvalidArgument(
                f"pack: values of shape {array.shape}, expected images of {self.image.channels} channels of "
                f"{self.image.rows} x {self.image.columns}"
            )
        number = np.arange(-(-len(array) // self.batch) * self.batch)
        packed = np.zeros(self.ciphertexts(len(number)) * self.slots)
        flat = array.reshape(len(array), self.size)
        packed[self.places(len(number))] = flat[np.minimum(number, len(flat) - 1)]
        return list(packed.reshape(-1, self.slots))

    def unpack(self, slots: Sequence[Any], count: int | None = None) -> Array:
        """The values (count, channels, rows, columns) in the decrypted slots of all ciphertexts.

        count: of images, which may be fewer than there is room for; None: all.
        """
        rows = np.real(np.asarray(slots)).astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.slots or not len(rows) or len(rows) % self.parts:
            raise InvalidArgument(
                f"unpack: values of shape {rows.shape}, expected {self.slots} slots of each ciphertext, and "
                f"a multiple of {self.parts} ciphertexts"
            )
        room = len(rows) // self.parts * self.batch
        count = room if count is None else integer(count, "unpack: count", 1, room)
        found = rows.ravel()[self.places(count)]
        return found.reshape(count, self.image.channels, self.image.rows, self.image.columns)
