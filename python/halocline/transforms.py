# SPDX-License-Identifier: Apache-2.0
"""Plain linear maps on encrypted vectors, described once and usable on any engine."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._values import ComplexVector, expect, integer, kind_of, vector
from .ciphertext import Ciphertext
from .errors import InvalidArgument, WrongType

if TYPE_CHECKING:
    from .engine import Engine

Map = Any
"""A square matrix, or a mapping from diagonal number to vector."""

MODES = ("naive", "bsgs", "double_hoisted", "small_key")
"""How rotations are organised; see `TransformGrid`."""


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
    all_real = True
    for index, values in raw.items():
        array, real = vector(values, f"{what}: diagonal {index}")
        diagonals[integer(index, f"{what}: number of a diagonal")] = array
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


class TransformGrid:
    """A grid of plain linear maps: output o is the sum over inputs i of `cells[o][i]` applied to input i.

    cells: rows of maps; a map is a square matrix, or a mapping {d: vector} of generalized diagonals,
        y[i] = sum_d diagonals[d][i] * x[(i + d) mod n]. An empty mapping is a zero cell.
    slots: n; the length of the maps unless given. Diagonals whose length divides it are repeated.
    mode: "double_hoisted" (fastest), "bsgs" (least memory), "naive" (a key for each diagonal), "small_key"
        (two or three rotation keys for any number of diagonals, more key switches).
    baby_count: baby steps of each giant step; 0 lets a cost model choose.
    compact: keep weights as integer coefficients and expand them at each use.

    Calling it with one ciphertext per input, all of n slots, gives the list of outputs. Costs one level. The
    rotations of an input are shared by all outputs. Weights are encoded at the first use on an engine and
    level, and kept there as long as grid and engine live.
    """

    def __init__(
        self,
        cells: Sequence[Sequence[Map]],
        *,
        slots: int | None = None,
        mode: str = "double_hoisted",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        if mode not in MODES:
            raise InvalidArgument(
                f"linear transform: unknown mode {mode!r}; expected one of: {', '.join(MODES)}"
            )
        slots = None if slots is None else integer(slots, "linear transform: slots", 1)
        rows = [[_as_diagonals(cell, slots) for cell in row] for row in cells]
        if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
            counts = [len(row) for row in rows]
            raise InvalidArgument(f"linear transform: rows of {counts} cells, expected equally many in each")
        lengths = {length for row in rows for _, length, _ in row if length}
        if len(lengths) != 1:
            raise InvalidArgument(
                f"linear transform: maps of {sorted(lengths)} slots, expected one size and a non-zero map"
            )
        self._cells = [[diagonals for diagonals, _, _ in row] for row in rows]
        self._slots = lengths.pop()
        self._real = all(real for row in rows for _, _, real in row)
        self._mode, self._compact = mode, bool(compact)
        self._baby_count = integer(baby_count, "linear transform: baby_count", 0)
        self._encoded: weakref.WeakKeyDictionary[Engine, dict[int, _core.TransformGrid]]
        self._encoded = weakref.WeakKeyDictionary()

    @property
    def slots(self) -> int:
        """Number of slots that inputs must have."""
        return self._slots

    @property
    def inputs(self) -> int:
        """Number of input ciphertexts."""
        return len(self._cells[0])

    @property
    def outputs(self) -> int:
        """Number of output ciphertexts."""
        return len(self._cells)

    @property
    def plain_bytes(self) -> int:
        """Bytes of the weights in the clear, one complex number a slot: needed while they are encoded."""
        count = sum(len(cell) for row in self._cells for cell in row)
        return count * self._slots * np.dtype(np.complex128).itemsize

    def encode(self, engine: Engine, level: int | None = None) -> None:
        """Encodes the weights for an engine and input level now instead of at the first use."""
        self._on(engine, engine.params._level(level))

    def rotations(self, engine: Engine, level: int | None = None) -> list[int]:
        """Rotation steps whose keys an evaluation at this level needs."""
        return self._on(engine, engine.params._level(level)).rotations

    def cost(self, engine: Engine, level: int | None = None) -> dict[str, int]:
        """Key switches, decompositions, divisions, plaintext products and keys of one evaluation."""
        return self._on(engine, engine.params._level(level)).cost

    def forget(self) -> None:
        """Drops the encoded weights of all engines."""
        self._encoded.clear()

    def _on(self, engine: Engine, level: int) -> _core.TransformGrid:
        kept = self._encoded.setdefault(engine, {})
        if level not in kept:
            kept[level] = _core.TransformGrid.make(
                engine._core, self._cells, self._mode, level, self._slots, self._baby_count, self._compact
            )
        return kept[level]

    def __call__(self, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """The outputs, one level below the lowest input."""
        if isinstance(inputs, Ciphertext):
            raise WrongType("linear transform: got one ciphertext, expected a list of inputs")
        cts = [expect(each, Ciphertext, "linear transform") for each in inputs]
        if len(cts) != self.inputs:
            raise InvalidArgument(f"linear transform: {len(cts)} inputs, expected {self.inputs}")
        engine = cts[0]._on("linear transform")
        sources = [engine._own(each, "linear transform") for each in cts]
        for each in cts:
            if each.slots != self._slots:
                raise InvalidArgument(
                    f"linear transform: a ciphertext of {each.slots} slots, the map is for {self._slots}"
                )
        grid = self._on(engine, min(each.level for each in cts))
        real = self._real and all(each.is_real for each in cts)
        return [Ciphertext(each, engine, real) for each in engine._core.apply_grid(grid, sources)]

    def __repr__(self) -> str:
        return f"{kind_of(self)}({self.outputs} x {self.inputs} cells, {self._slots} slots, {self._mode!r})"


class LinearTransform(TransformGrid):
    """One plain linear map: `y = transform(x)`. A grid of one cell; see `TransformGrid` for the arguments."""

    def __init__(
        self,
        linear_map: Map,
        *,
        slots: int | None = None,
        mode: str = "double_hoisted",
        baby_count: int = 0,
        compact: bool = False,
    ) -> None:
        super().__init__([[linear_map]], slots=slots, mode=mode, baby_count=baby_count, compact=compact)

    def __call__(self, x: Ciphertext) -> Ciphertext:  # type: ignore[override]
        """The map applied to one ciphertext."""
        return super().__call__([expect(x, Ciphertext, "linear transform")])[0]
