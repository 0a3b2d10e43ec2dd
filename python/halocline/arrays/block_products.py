# SPDX-License-Identifier: Apache-2.0
"""Products of two encrypted matrices, block by block.

The algorithm is that of Jiang, Kim, Lauter and Song ("Secure outsourced matrix computation and application
to neural networks", CCS 2018, section 3): with sigma(A)[x, y] = A[x, x + y] and tau(B)[x, y] = B[x + y, y],
A B is the sum over k of sigma(A) shifted by k columns times tau(B) shifted by k rows. Here a ciphertext
holds several k: one for each copy of the matrices for which it has slots, and two in the real and the
imaginary part of each slot. All products are summed before one relinearization; shifts share one
decomposition.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..base.errors import LevelExhausted
from ..base.names import Mode
from ..base.values import power_of_two
from ..circuits.transforms import TransformGrid
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .block_shapes import BlockShape, block_sources, choose_blocks, cut
from .levels import at_level, make_ready
from .movement import gather
from .packing import Packing
from .slot_maps import CIRCUITS_KEPT, Addresses, Term, grid_of, is_identity, kept_circuit, widened

Blocks = dict[tuple[int, int], Ciphertext]
"""Ciphertexts by number of the block of rows and of columns."""

_MOST_DISTANCES = 512
"""Diagonals of a linear map that are tolerated: each one is kept encoded, as large as half a ciphertext."""
_TOO_MANY = 1_000_000
_FEW_STEPS = 8


@dataclasses.dataclass(frozen=True)
class Side:
    """One operand of a product: how its blocks are cut and prepared."""

    packing: Packing
    clean: bool
    tile: tuple[int, int]
    """Rows and columns of a block."""
    is_left: bool

    @property
    def counts(self) -> tuple[int, int]:
        """Blocks along rows and columns."""
        return cut(self.packing.shape[0], self.tile[0]), cut(self.packing.shape[1], self.tile[1])

    def numbers(self) -> list[tuple[int, int]]:
        """Blocks, row after row."""
        rows, columns = self.counts
        return [(row, column) for row in range(rows) for column in range(columns)]

    def used(self, number: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of a block whose slots may be used: all of them where the others are 0."""
        if self.clean:
            return self.tile
        pairs = zip(self.packing.shape, number, self.tile, strict=True)
        left = [min(size, length - at * size) for length, at, size in pairs]
        return left[0], left[1]


def sides_of(a: EncryptedArray, b: EncryptedArray, shape: BlockShape) -> tuple[Side, Side]:
    """Both operands; slots between elements hold 0 if the array is clean and has no copies."""
    left = Side(a.packing, a.is_clean and not a.packing.copies, (shape.rows, shape.inner), True)
    return left, Side(b.packing, b.is_clean and not b.packing.copies, (shape.inner, shape.width), False)


def cost_in_levels(side: Side, shape: BlockShape) -> int:
    """Levels of an operand: new places where its packing does not fit, the skew, the shift, the product."""
    return int(not _fits(side, shape)) + 1 + int(shape.steps > 1) + 1


def block_product(a: EncryptedArray, b: EncryptedArray, level: int | None = None) -> EncryptedArray:
    """The product of encrypted matrices (m, k) and (k, n), bound to one engine.

    level: of the result; the operands are brought down to what it takes first. The highest unless given.
    """
    shape = choose_blocks(a.packing, b.packing, a.params.slots, a.is_real and b.is_real)
    left, right = sides_of(a, b, shape)
    costs = cost_in_levels(left, shape), cost_in_levels(right, shape)
    later = int(right.counts[1] > 1)  # the level of `_as_array`
    for array, cost in zip((a, b), costs, strict=True):
        make_ready(array, cost + later + (level or 0))
    reached = min(a.level - costs[0], b.level - costs[1]) - later
    aim = reached if level is None else level
    if aim > reached or aim < 0:
        raise LevelExhausted(
            f"matrix product: arrays of levels {a.level} and {b.level} and shapes {a.shape} and {b.shape}; a "
            f"result of level {max(aim, 0)} takes levels {max(aim, 0) + later + costs[0]} and "
            f"{max(aim, 0) + later + costs[1]}; encrypt with more levels, or bootstrap"
        )
    skewed = [
        _skewed(array, side, shape, aim + later + cost)
        for array, side, cost in zip((a, b), (left, right), costs, strict=True)
    ]
    blocks = dict(_products(skewed[0], skewed[1], (left, right), shape))
    return _as_array(blocks, (a.shape[0], b.shape[1]), (left, right), shape)


def key_switches(a: EncryptedArray, b: EncryptedArray) -> int:
    """About how many key switches `block_product` takes; very many where weights would take much memory."""
    shape = choose_blocks(a.packing, b.packing, a.params.slots, a.is_real and b.is_real)
    sides = sides_of(a, b, shape)
    total = 0
    for side, rotations in zip(sides, (2, 1 + int(shape.copies > 1)), strict=True):
        count = len(side.numbers())
        distances = 0 if _fits(side, shape) else _distances(side, shape)
        total += count * (int(2 * distances**0.5) + int(3 * shape.inner**0.5) + rotations * shape.steps)
        total += _TOO_MANY if distances > _MOST_DISTANCES else 0
    return total + 4 * len(sides[0].numbers()) * sides[1].counts[1]


@functools.lru_cache(maxsize=CIRCUITS_KEPT)
def _distances(side: Side, shape: BlockShape) -> int:
    """Diagonals of the map that brings the first block to its places."""
    source = block_sources(side.packing, shape, side.tile, (0, 0))
    return len(np.unique((source - np.arange(shape.slots))[source >= 0] % side.packing.slots))


@functools.lru_cache(maxsize=CIRCUITS_KEPT)
def _fits(side: Side, shape: BlockShape) -> bool:
    """Whether the ciphertexts are the blocks as they are."""
    sources = [block_sources(side.packing, shape, side.tile, each) for each in side.numbers()]
    return is_identity(sources, side.packing.count, side.packing.slots, shape.slots)


def _skewed(array: EncryptedArray, side: Side, shape: BlockShape, level: int) -> Blocks:
    """sigma or tau of every block, with the offsets of copies and halves."""
    parts = widened([at_level(each, level) for each in array.parts], shape.slots)
    blocks = (
        dict(zip(side.numbers(), parts, strict=False)) if _fits(side, shape) else _moved(parts, side, shape)
    )
    make = skew_left if side.is_left else skew_right
    return {
        number: kept_circuit(make, shape, side.used(number))([block])[0] for number, block in blocks.items()
    }


def _moved(parts: Sequence[Ciphertext], side: Side, shape: BlockShape) -> Blocks:
    """Every block in a ciphertext of its own, repeated over the grid."""
    made: Blocks = {}
    for number, (needed, alike) in _moves(side, shape).items():
        made[number] = kept_circuit(_mover, side, shape, alike)([parts[each] for each in needed])[0]
    return made


def _needed(side: Side, shape: BlockShape, number: tuple[int, int]) -> tuple[list[int], Addresses]:
    """The ciphertexts that hold elements of a block, and where among them those are."""
    sources, slots = block_sources(side.packing, shape, side.tile, number), side.packing.slots
    used = sources >= 0
    needed, local = np.unique(sources[used] // slots, return_inverse=True)
    sources[used] = local * slots + sources[used] % slots
    return [int(each) for each in needed], sources


@functools.lru_cache(maxsize=CIRCUITS_KEPT)
def _moves(side: Side, shape: BlockShape) -> dict[tuple[int, int], tuple[list[int], tuple[int, int]]]:
    """For every block the ciphertexts that it needs, and the first block that is taken from them alike."""
    first: dict[bytes, tuple[int, int]] = {}
    made = {}
    for number in side.numbers():
        needed, sources = _needed(side, shape, number)
        made[number] = needed, first.setdefault(hashlib.sha256(sources.tobytes()).digest(), number)
    return made


def _mover(side: Side, shape: BlockShape, number: tuple[int, int]) -> TransformGrid:
    needed, sources = _needed(side, shape, number)
    return grid_of([[(sources, 1.0)]], len(needed), side.packing.slots, shape.slots)


def skew_left(shape: BlockShape, used: tuple[int, int]) -> TransformGrid:
    """From A to A[x, x + y + offset]: a shift within rows. Half of it where conjugates are added later."""
    c, x, y = shape.places()
    own = np.arange(shape.slots, dtype=np.int64)
    terms: list[Term] = []
    for half in range(shape.halves):
        shift = (x + shape.offset(c, half)) % shape.inner
        column = np.where(y + shift < shape.width, y + shift, y + shift - shape.inner)
        inside = (x % shape.rows < used[0]) & (column % shape.inner < used[1])
        weight = (0.5 if shape.halves == 2 else 1.0) * 1j**half
        terms.append((np.where(inside, own - y + column, -1), weight if half else weight.real))
    return grid_of([terms], 1, shape.slots, shape.slots)


def skew_right(shape: BlockShape, used: tuple[int, int]) -> TransformGrid:
    """From B to B[x + y + offset, y]: a shift of rows, which repeat themselves after `inner` rows."""
    c, x, y = shape.places()
    terms: list[Term] = []
    for half in range(shape.halves):
        row = (x + y + shape.offset(c, half)) % shape.inner
        inside = (row < used[0]) & (y < used[1])
        source = np.arange(shape.slots) + (row - x % shape.inner) % shape.inner * shape.width
        terms.append((np.where(inside, source % shape.slots, -1), -1j if half else 1.0))
    return grid_of([terms], 1, shape.slots, shape.slots)


def _shift_mode(shape: BlockShape) -> Mode:
    """All rotations from one decomposition, with a key each, as long as there are few of them."""
    return "naive" if shape.steps <= _FEW_STEPS else "double_hoisted"


def shift_left(shape: BlockShape) -> TransformGrid:
    """From sigma(A) to it shifted by 1, 2, ... columns: an output for every step but 0."""
    _, _, y = shape.places()
    own = np.arange(shape.slots, dtype=np.int64)
    outputs = []
    for step in range(1, shape.steps):
        column = np.where(y + step < shape.width, y + step, y + step - shape.inner)
        outputs.append([(own - y + column, 1.0)])
    return grid_of(outputs, 1, shape.slots, shape.slots, _shift_mode(shape))


def shift_right(shape: BlockShape) -> TransformGrid:
    """From tau(B) to it shifted by 1, 2, ... rows of the same copy."""
    _, x, _ = shape.places()
    own = np.arange(shape.slots, dtype=np.int64)
    outputs: list[list[tuple[Addresses, Any]]] = []
    for step in range(1, shape.steps):
        back = shape.inner if shape.copies > 1 else 0  # a single copy repeats itself after the last row
        row = step - np.where(x + step < shape.height, 0, back)
        outputs.append([((own + row * shape.width) % shape.slots, 1.0)])
    return grid_of(outputs, 1, shape.slots, shape.slots, _shift_mode(shape))


def _steps(blocks: Blocks, shape: BlockShape, is_left: bool) -> dict[tuple[int, int], list[Ciphertext]]:
    """Every block shifted by every step."""
    if shape.steps == 1:
        return {number: [block] for number, block in blocks.items()}
    circuit = kept_circuit(shift_left if is_left else shift_right, shape)
    return {n: [block.drop_level(block.level - 1), *circuit([block])] for n, block in blocks.items()}


def _products(
    a: Blocks, b: Blocks, sides: tuple[Side, Side], shape: BlockShape
) -> Iterator[tuple[tuple[int, int], Ciphertext]]:
    """Blocks of the result with their numbers, row after row, in ciphertexts of rows * width slots."""
    (rows, inner), columns = sides[0].counts, sides[1].counts[1]
    shifted_right = _steps(b, shape, False)
    for row in range(rows):
        # Those of one row at a time: the steps of all blocks together take much memory.
        own = {number: block for number, block in a.items() if number[0] == row}
        shifted_left = _steps(own, shape, True)
        for column in range(columns):
            terms = [(shifted_left[row, u], shifted_right[u, column]) for u in range(inner)]
            lefts, rights = [x for xs, _ in terms for x in xs], [y for _, ys in terms for y in ys]
            yield (row, column), _summed(lefts, rights, shape)


def _summed(x: list[Ciphertext], y: list[Ciphertext], shape: BlockShape) -> Ciphertext:
    engine: Any = x[0].engine
    total = engine.dot(x, y)
    if shape.halves == 2:
        total = total + total.conj()
        total = Ciphertext(total._core, engine, True)
    stride = shape.rows * shape.width
    count = shape.copies * shape.height // shape.rows
    if count > 1:
        total = engine.inner_sum(total, count, stride)
    return total if stride == total.slots else total.with_slots(stride)


def _as_array(
    blocks: Blocks, shape: tuple[int, int], sides: tuple[Side, Side], how: BlockShape
) -> EncryptedArray:
    """The blocks as an array; blocks of columns get places one after the other, which costs a level."""
    rows, columns = sides[0].counts[0], sides[1].counts[1]
    if columns == 1:
        return EncryptedArray([blocks[row, 0] for row in range(rows)], _result_packing(shape, how))
    strides = (how.rows * how.width * power_of_two(rows), how.width, 1)
    cut_up = Packing((columns, rows * how.rows, how.width), strides, how.rows * how.width)
    parts = [blocks[row, column] for column in range(columns) for row in range(rows)]
    i, j = np.indices(shape)
    source = cut_up.addresses[j // how.width, i, j % how.width]
    return gather(EncryptedArray(parts, cut_up), _result_packing(shape, how, parts[0].params.slots), source)


def _result_packing(shape: tuple[int, int], how: BlockShape, slots: int = 0) -> Packing:
    """Blocks below each other as they are; with `slots`, the packing without gaps."""
    return Packing.of(shape, slots) if slots else Packing(shape, (how.width, 1), how.rows * how.width)
