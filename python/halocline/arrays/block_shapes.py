# SPDX-License-Identifier: Apache-2.0
"""How matrices are cut into blocks for a product, and which slot of which ciphertext holds what.

A block product multiplies (rows, inner) by (inner, columns). Its ciphertexts are read as a grid: slot
((c * height + x) * width + y) with copies c, rows x and columns y.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base.values import power_of_two
from .packing import Packing
from .slot_maps import Addresses


@dataclasses.dataclass(frozen=True)
class BlockShape:
    """One block product; all numbers are powers of two.

    Row x of the grid is row x mod rows of the result, and the term kappa of its sum over the inner axis is
    (x + y + offset(c, half) + step) mod inner: every kappa once over x / rows, the copies, the halves and the
    steps. Halves are the real and the imaginary part of slots: (a + i a') (b - i b') has the real part
    a b + a' b'.
    """

    rows: int
    inner: int
    columns: int
    height: int
    """Rows of the grid: the larger one of `rows` and `inner`."""
    width: int
    """Columns of the grid: the larger one of `columns` and `inner`."""
    copies: int
    """Grids in a ciphertext, each with its own offset."""
    halves: int
    """2 where real and imaginary parts hold different terms, else 1."""
    steps: int
    """Products of ciphertexts whose sum is a block product."""
    slots: int
    """Of the ciphertexts; more than copies * height * width where inputs have more."""

    def offset(self, copy: Addresses | int, half: int) -> Addresses:
        """What a copy and half adds to the inner index."""
        return np.asarray((np.asarray(copy) * self.halves + half) * self.steps)

    def places(self) -> tuple[Addresses, Addresses, Addresses]:
        """(copy, row, column) of the grid for every slot."""
        own = np.arange(self.slots, dtype=np.int64)
        row, column = np.divmod(own, self.width)
        return row // self.height % self.copies, row % self.height, column


def choose_blocks(a: Packing, b: Packing, slots: int, real: bool) -> BlockShape:
    """Blocks for the product of matrices (m, k) and (k, n) in ciphertexts of at most `slots` slots.

    Few blocks with long inner axes need the fewest key switches: sums over blocks are sums of products before
    the relinearization, while each block of an operand is prepared by itself.
    """
    (m, k), n = a.padded, b.padded[1]
    side = 1 << (slots.bit_length() - 1) // 2
    columns = n if n <= min(4 * side, slots) else side
    width = max(columns, min(k, side))
    tallest = slots // width
    rows, inner = min(m, tallest), min(k, width, tallest)
    height = max(rows, inner)
    terms = min(rows, inner)  # the others are in rows of the grid
    copies = min(slots // (height * width), terms)
    halves = 2 if real and terms // copies > 1 else 1
    return BlockShape(
        rows, inner, columns, height, width, copies, halves, terms // (copies * halves),
        max(copies * height * width, a.slots, b.slots),
    )  # fmt: skip


def cut(length: int, block: int) -> int:
    """Blocks of an axis that hold elements."""
    return -(-length // min(block, power_of_two(length)))


def block_sources(
    packing: Packing, shape: BlockShape, tile: tuple[int, int], number: tuple[int, int]
) -> Addresses:
    """Where the grid of one block of a matrix is taken from: input * packing.slots + slot, -1 for nothing.

    tile: rows and columns of a block, which repeat themselves in the grid; number: of the block.
    """
    _, x, y = shape.places()
    i, j = number[0] * tile[0] + x % tile[0], number[1] * tile[1] + y % tile[1]
    address = i * packing.strides[0] + j * packing.strides[1]
    there, wanted = np.asarray(packing.numbers), address // packing.slots
    found = np.minimum(np.searchsorted(there, wanted), packing.count - 1)  # numbers may be far apart
    inside = (i < packing.padded[0]) & (j < packing.padded[1]) & (there[found] == wanted)
    return np.where(inside, found * packing.slots + address % packing.slots, -1)
