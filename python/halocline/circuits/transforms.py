# SPDX-License-Identifier: Apache-2.0
"""Plain linear maps on encrypted vectors, described once and usable on any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument
from ..base.names import Mode
from ..base.values import ComplexVector, expect, integer, unshared, vector
from ..ckks.ciphertext import Ciphertext
from .encoded import EncodedCircuit

Map = Any
"""A square matrix, or a mapping from diagonal number to vector."""


def diagonals_of(matrix: npt.ArrayLike) -> dict[int, npt.NDArray[Any]]:
    """Non-zero generalized diagonals of a square matrix: result[d][i] = matrix[i, (i + d) mod n]."""
    array = np.asarray(matrix)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype.kind not in "biufc":
        raise InvalidArgument(
            f"diagonals: shape {array.shape}, type {array.dtype}; expected a square matrix of numbers"
        )
    rows = np.arange(len(array))
    found = {d: array[rows, (rows + d) % len(array)] for d in range(len(array))}
    return {d: values for d, values in found.items() if values.any()}


def _as_diagonals(linear_map: Map, slots: int | None) -> tuple[dict[int, ComplexVector], int, bool]:
    """Diagonals as vectors, the number of slots (0 when nothing tells), and whether all are real."""
    what = "linear transform"
    raw = linear_map if isinstance(linear_map, Mapping) else diagonals_of(linear_map)
    diagonals: dict[int, ComplexVector] = {}
    kept: dict[int, ComplexVector] = {}  # one copy of an array that several diagonals are
    all_real = True
    for index, values in raw.items():
        array, real = vector(values, f"{what}: diagonal {index}")
        if id(values) not in kept:
            kept[id(values)] = unshared(array, values)
        diagonals[integer(index, f"{what}: number of a diagonal")] = kept[id(values)]
        all_real = all_real and real
    if not isinstance(linear_map, Mapping):
        lengths = {len(np.asarray(linear_map))}
        fitting = lengths == {slots or max(lengths)}
    else:
        lengths = {len(each) for each in diagonals.values()}
        fitting = all(slots % each == 0 for each in lengths) if slots else len(lengths) <= 1
    if not fitting:
        expected = f"{slots}, or for diagonals a divisor" if slots else "one length"
        raise InvalidArgument(f"{what}: maps of {sorted(lengths)} slots, expected {expected}")
    return diagonals, slots or max(lengths, default=0), all_real


class TransformGrid(EncodedCircuit):
    """A grid of plain linear maps: output o is the sum over inputs i of `cells[o][i]` applied to input i.

    cells: rows of maps; a map is a square matrix, or a mapping {d: vector} of generalized diagonals,
        y[i] = sum_d diagonals[d][i] * x[(i + d) mod n]. An empty mapping is a zero cell.
    slots: n; the length of the maps unless given. Diagonals whose length divides it are repeated.

    The rotations of an input are shared by all outputs. The other arguments are those of `EncodedCircuit`.
    """

    _what = "linear transform"

    def __init__(
        self,
        cells: Sequence[Sequence[Map]],
        *,
        slots: int | None = None,
        mode: Mode = "double_hoisted",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        slots = None if slots is None else integer(slots, "linear transform: slots", 1)
        rows = [[_as_diagonals(cell, slots) for cell in row] for row in cells]
        counts = [len(row) for row in rows]
        if len(set(counts)) != 1 or not counts[0]:
            raise InvalidArgument(f"linear transform: rows of {counts} cells, expected equally many in each")
        lengths = {length for row in rows for _, length, _ in row if length}
        if len(lengths) != 1:
            raise InvalidArgument(
                f"linear transform: maps of {sorted(lengths)} slots, expected one size and a non-zero map"
            )
        real = all(real for row in rows for _, _, real in row)
        super().__init__(lengths.pop(), counts[0], len(rows), real, mode, baby_count, compact)
        self._cells = [[diagonals for diagonals, _, _ in row] for row in rows]

    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        return _core.Circuit.grid(engine, how, self._cells)

    def _diagonals(self) -> list[list[Mapping[int, Any]]]:
        return [list(row) for row in self._cells]


class LinearTransform(TransformGrid):
    """One plain linear map: `y = transform(x)`. A grid of one cell; see `TransformGrid` for the arguments."""

    def __init__(
        self,
        linear_map: Map,
        *,
        slots: int | None = None,
        mode: Mode = "double_hoisted",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        super().__init__([[linear_map]], slots=slots, mode=mode, baby_count=baby_count, compact=compact)

    def __call__(self, x: Ciphertext) -> Ciphertext:  # type: ignore[override]
        """The map applied to one ciphertext."""
        return self._apply([expect(x, Ciphertext, "linear transform")])[0]
