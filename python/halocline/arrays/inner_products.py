# SPDX-License-Identifier: Apache-2.0
"""Inner products of all columns, or of all rows, of two encrypted matrices: for long ones and few of them.

X^T Y: slot (k, y) of one product of ciphertexts holds X[k, y + shift] Y[k, y]; rotations sum it over k, and
masks put the sums of all shifts in the rows that they belong to. The real and the imaginary part of a slot
hold one shift each. X Y^T is the same with rows and columns exchanged. Covariances are of this kind.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..base.errors import LevelExhausted
from ..circuits.transforms import TransformGrid
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .levels import at_level, make_ready
from .packing import Packing
from .slot_maps import Term, grid_of, kept_circuit, widened

LEVELS = 3
"""The shifts, the product, the masks."""


def _level_of_result(x: EncryptedArray, y: EncryptedArray, level: int | None) -> int:
    """The one that is wanted, or the highest that there is."""
    for each in (x, y):
        make_ready(each, LEVELS + (level or 0))
    reached = min(x.level, y.level) - LEVELS
    aim = reached if level is None else level
    if aim < 0 or aim > reached:
        raise LevelExhausted(
            f"inner products: arrays of levels {x.level} and {y.level}; a result of level {max(aim, 0)} "
            f"takes level {max(aim, 0) + LEVELS}; encrypt with more levels, or bootstrap"
        )
    return aim


def _real_part(ct: Ciphertext, halves: int) -> Ciphertext:
    """Twice the real part of what uses both halves; the selection halves it."""
    if halves == 1:
        return ct
    whole = ct + ct.conj()
    return Ciphertext(whole._core, ct.engine, True)


@dataclasses.dataclass(frozen=True)
class ColumnShape:
    """What decides the circuits of X^T Y; `width` slots from a row to the next, `slots` in a ciphertext."""

    columns: int
    """Of X."""
    padded: int
    """Of X, rounded up to a power of two."""
    others: int
    """Columns of Y."""
    width: int
    slots: int
    halves: int
    weight: float
    """Factor of the result."""

    @property
    def steps(self) -> int:
        """Products of ciphertexts."""
        return self.padded // self.halves


def suits_columns(x: EncryptedArray, y: EncryptedArray) -> bool:
    """Whether X^T Y can be made so: rows at the same places in both, columns in neighbouring slots."""
    a, b = x.packing, y.packing
    beside = all(each.strides[1] == 1 or each.shape[1] == 1 for each in (a, b))
    return beside and 0 < a.strides[0] == b.strides[0] < a.slots == b.slots


def column_switches(x: EncryptedArray) -> int:
    """About how many key switches `column_products` takes: a relinearization and a sum for each step."""
    steps = max(1, x.packing.padded[1] // 2)
    return steps * (2 + (x.packing.slots // x.packing.strides[0]).bit_length())


def column_products(
    x: EncryptedArray, y: EncryptedArray, weight: float = 1.0, level: int | None = None
) -> EncryptedArray:
    """weight * x.T @ y for arrays (k, m) and (k, n) that `suits_columns` accepts; three levels."""
    aim = _level_of_result(x, y, level)
    padded, real = x.packing.padded[1], x.is_real and y.is_real
    width, slots = x.packing.strides[0], x.packing.slots
    how = ColumnShape(
        x.shape[1], padded, y.shape[1], width, slots, 2 if real and padded > 1 else 1, float(weight)
    )
    sums = _sums(x, y, how, aim)
    packing = Packing((how.columns, how.others), (width, 1), min(x.params.slots, padded * width))
    wide = max(slots, packing.slots)
    circuit = kept_circuit(_selection, how, packing, wide)
    parts = [_real_part(each, how.halves) for each in circuit(widened(sums, wide))]
    parts = [each if each.slots == packing.slots else each.with_slots(packing.slots) for each in parts]
    return EncryptedArray(parts, packing)


def _sums(x: EncryptedArray, y: EncryptedArray, how: ColumnShape, aim: int) -> list[Ciphertext]:
    """For every step the sums over k, in all rows."""
    engine: Any = x.engine
    rows = how.slots // how.width
    clean = x.is_clean and not x.packing.copies
    left = []
    for number, ct in zip(x.packing.numbers, x.parts, strict=True):
        used = rows if clean else min(rows, x.shape[0] - number * rows)
        left.append(kept_circuit(_shifts, how, used, clean)([at_level(ct, aim + 3)]))
    right = [at_level(each, aim + 2) for each in y.parts]
    totals = [engine.dot([each[step] for each in left], right) for step in range(how.steps)]
    return [engine.inner_sum(total, rows, how.width) for total in totals]


def _shifts(how: ColumnShape, rows: int, clean: bool) -> TransformGrid:
    """For every step X[k, y + step] + i X[k, y + step + steps], of the first `rows` rows."""
    own = np.arange(how.slots, dtype=np.int64)
    row, column = np.divmod(own, how.width)
    outputs = []
    for step in range(how.steps):
        terms: list[Term] = []
        for half in range(how.halves):
            source = (column + step + half * how.steps) % how.padded
            inside = (row < rows) & (clean | (source < how.columns))
            terms.append((np.where(inside, own - column + source, -1), 1j if half else 1.0))
        outputs.append(terms)
    return grid_of(outputs, 1, how.slots, how.slots)


def _selection(how: ColumnShape, packing: Packing, slots: int) -> TransformGrid:
    """Row i, column j from the step that holds X_i Y_j; the real part of the result is wanted."""
    own = np.arange(slots, dtype=np.int64)
    row, column = np.divmod(own, how.width)
    outputs = []
    for number in packing.numbers:
        i = row % (packing.slots // how.width) + number * (packing.slots // how.width)
        inside = (i < how.columns) & (column < how.others)
        shift = (i - column) % how.padded
        terms: list[Term] = []
        for step in range(how.steps):
            half = shift // how.steps
            chosen = inside & (shift % how.steps == step)
            weight = how.weight * (0.5 if how.halves == 2 else 1.0) * np.where(half == 1, -1j, 1.0)
            terms.append(
                (np.where(chosen, step * slots + own, -1), weight if how.halves == 2 else weight.real)
            )
        outputs.append(terms)
    return grid_of(outputs, how.steps, slots, slots)


@dataclasses.dataclass(frozen=True)
class RowShape:
    """What decides the circuits of X Y^T: rows in a ciphertext, and ciphertexts in a row that has many."""

    rows: int
    width: int
    """Slots from a row to the next."""
    slots: int
    halves: int
    weight: float

    @property
    def steps(self) -> int:
        """Products of ciphertexts for each pair of ciphertexts."""
        return self.rows // self.halves


def suits_rows(x: EncryptedArray, y: EncryptedArray) -> bool:
    """Whether X Y^T can be made so: rows in neighbouring slots, equally far apart, longer than many."""
    a, b = x.packing, y.packing
    beside = a.strides[1] == b.strides[1] == 1 and not (a.copies or b.copies)
    widths = [max(each.strides[0], each.padded[1]) for each in (a, b)]
    return beside and widths[0] == widths[1] and max(a.padded[0], b.padded[0]) <= widths[0]


def row_switches(x: EncryptedArray, y: EncryptedArray) -> int:
    """About how many key switches `row_products` takes: for each step a relinearization, a sum and moves."""
    width = max(x.packing.strides[0], x.packing.padded[1])
    rows = max(1, x.packing.slots // width)
    blocks = -(-x.shape[0] // rows) * -(-y.shape[0] // rows)
    return blocks * max(1, rows // 2) * (4 + width.bit_length())


def row_products(
    x: EncryptedArray, y: EncryptedArray, weight: float = 1.0, level: int | None = None
) -> EncryptedArray:
    """weight * x @ y.T for arrays (m, k) and (n, k) that `suits_rows` accepts; three levels."""
    aim = _level_of_result(x, y, level)
    width = max(x.packing.strides[0], x.packing.padded[1])
    slots = max(x.packing.slots, y.packing.slots)
    rows = max(1, slots // width)
    how = RowShape(rows, width, slots, 2 if rows > 1 and x.is_real and y.is_real else 1, float(weight))
    left = _turned(x, how, aim, x.is_clean or y.is_clean)
    right = widened([at_level(ct, aim + 2) for ct in y.parts], slots)
    sums = _row_sums(left, right, how)
    target = Packing((x.shape[0], y.shape[0]), (1, width), min(x.params.slots, y.packing.padded[0] * width))
    blocks = len(x.parts) // _across(how), len(y.parts) // _across(how)
    circuit = kept_circuit(_row_selection, how, blocks, target, max(slots, target.slots))
    made = [_real_part(each, how.halves) for each in circuit(widened(sums, max(slots, target.slots)))]
    return EncryptedArray(
        [each if each.slots == target.slots else each.with_slots(target.slots) for each in made], target
    )


def _across(how: RowShape) -> int:
    """Ciphertexts of a row."""
    return max(1, how.width // how.slots)


def _turned(x: EncryptedArray, how: RowShape, aim: int, clean: bool) -> list[list[Ciphertext]]:
    """For every ciphertext and step X[y + step] + i X[y + step + steps], whole rows."""
    made = []
    for number, ct in zip(x.packing.numbers, x.parts, strict=True):
        span = min(how.width, how.slots)
        used = span if clean else min(span, x.shape[1] - number % _across(how) * how.slots)
        made.append(kept_circuit(_turns, how, used)(widened([at_level(ct, aim + 3)], how.slots)))
    return made


def _turns(how: RowShape, used: int) -> TransformGrid:
    own = np.arange(how.slots, dtype=np.int64)
    inside = own % how.width < used
    outputs = []
    for step in range(how.steps):
        terms: list[Term] = []
        for half in range(how.halves):
            source = (own + (step + half * how.steps) * how.width) % how.slots
            terms.append((np.where(inside, source, -1), 1j if half else 1.0))
        outputs.append(terms)
    return grid_of(outputs, 1, how.slots, how.slots)


def _row_sums(left: list[list[Ciphertext]], right: list[Ciphertext], how: RowShape) -> list[Ciphertext]:
    """For every block of X, block of Y and step the sums over k, in the first slot of each row."""
    across, made = _across(how), []
    engine: Any = right[0].engine
    for first in range(0, len(left), across):
        for second in range(0, len(right), across):
            for step in range(how.steps):
                x = [each[step] for each in left[first : first + across]]
                total = engine.dot(x, right[second : second + across])
                made.append(engine.inner_sum(total, min(how.width, how.slots), 1))
    return made


def _row_selection(how: RowShape, blocks: tuple[int, int], target: Packing, slots: int) -> TransformGrid:
    """Element (i, j) from the blocks and the step that hold X_i Y_j; the real part is wanted."""
    outputs = []
    for number in target.numbers:
        j, i = np.divmod(number * target.slots + np.arange(slots) % target.slots, how.width)
        inside = (i < target.shape[0]) & (j < target.shape[1])
        shift = (i - j) % how.rows
        block = np.minimum(i // how.rows, blocks[0] - 1) * blocks[1] + np.minimum(
            j // how.rows, blocks[1] - 1
        )
        source = (block * how.steps + shift % how.steps) * how.slots + j % how.rows * how.width % how.slots
        weight = np.where(shift >= how.steps, -1j, 1.0) * how.weight * (0.5 if how.halves == 2 else 1.0)
        outputs.append([(np.where(inside, source, -1), weight if how.halves == 2 else weight.real)])
    return grid_of(outputs, blocks[0] * blocks[1] * how.steps, how.slots, slots)
