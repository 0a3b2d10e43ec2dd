# SPDX-License-Identifier: Apache-2.0
"""Circuits with plain weights as generalized diagonals, and what they make of numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import ComplexVector, kind_of, power_of_two
from ..circuits.encoded import EncodedCircuit
from ..circuits.layers import BlockMatmul, Convolution2d, ImageLayout, MatrixVector
from .linear_steps import baby_switches
from .noise import NoiseSource, Rows

Diagonals = dict[int, ComplexVector]
"""y[i] = sum_d diagonals[d][i] x[(i + d) mod slots]."""


@dataclasses.dataclass(frozen=True)
class LinearMap:
    """A circuit with plain weights: diagonals of each output and input, and what follows them."""

    cells: list[list[Diagonals]]
    bias: Sequence[float] = ()
    fold: tuple[int, int] = (1, 1)
    """Stride and count of the sum of rotations that is taken of each output."""

    def switches(self, native: _core.Circuit, mode: str, params: _core.Params, slots: int) -> dict[int, int]:
        """Key switches before the product with each diagonal, of a circuit that was encoded in a mode."""
        cost, outputs = native.cost, len(self.cells)
        if mode == "double_hoisted":
            giants = cost["divisions"] / outputs - 2.0
        else:
            giants = (cost["decompositions"] - len(self.cells[0])) / outputs
        found = (params.rotation_of(element) for element, _ in native.requests)
        rotations = [step for step in found if step is not None]
        diagonals = {shift for row in self.cells for cell in row for shift in cell}
        return baby_switches(diagonals, slots, mode, rotations, giants)


def linear_map(circuit: EncodedCircuit) -> LinearMap:
    """The diagonals of a circuit, as the C++ library makes them of its weights."""
    slots = circuit.slots
    cells = circuit._diagonals()
    if cells is not None:
        return LinearMap([[_repeated(cell, slots) for cell in row] for row in cells])
    if isinstance(circuit, Convolution2d):
        return _convolution(circuit)
    if isinstance(circuit, MatrixVector):
        return _matrix_vector(circuit)
    if isinstance(circuit, BlockMatmul):
        return _block_product(circuit)
    raise InvalidArgument(
        f"simulate: circuits of the kind {kind_of(circuit)} are not known; expected Convolution2d, "
        "MatrixVector, BlockMatmul, or one that says its diagonals"
    )


def _repeated(cell: Mapping[int, Any], slots: int) -> Diagonals:
    made: Diagonals = {}
    for index, values in cell.items():
        made[index % slots] = made.get(index % slots, 0) + np.tile(values, slots // len(values))
    return made


def _convolution(circuit: Convolution2d) -> LinearMap:
    """For each weight the diagonal of the output pixels whose neighbour is inside."""
    layout, stride, slots = circuit._layout, circuit._stride, circuit.slots
    weights = circuit._weights
    outputs, inputs, kernel, _ = weights.shape
    masks = dict(_kernel_masks(layout, stride, kernel, slots))
    cells: list[list[Diagonals]] = []
    for o in range(outputs):
        cells.append([])
        for i in range(inputs):
            cell: Diagonals = {}
            for (row, column), (shift, mask) in masks.items():
                if weights[o, i, row, column]:
                    cell[shift] = cell.get(shift, 0) + weights[o, i, row, column] * mask
            cells[-1].append(cell)
    return LinearMap(cells, circuit._bias)


def _kernel_masks(
    layout: ImageLayout, stride: int, kernel: int, slots: int
) -> Iterator[tuple[tuple[int, int], tuple[int, ComplexVector]]]:
    """For each position in the kernel: how far it moves slots, and 1 in the slots of results that use it."""
    output, reach = layout.strided(stride), kernel // 2
    for row in range(kernel):
        for column in range(kernel):
            block = np.zeros(layout.block, dtype=np.complex128)
            for y in range(output.rows):
                for x in range(output.columns):
                    inside = 0 <= stride * y + row - reach < layout.rows
                    if inside and 0 <= stride * x + column - reach < layout.columns:
                        block[output.slot(y, x)] = 1.0
            shift = layout.gap * ((row - reach) * (layout.pitch or layout.columns) + column - reach)
            if block.any():
                yield (row, column), (shift % slots, np.tile(block, slots // layout.block))


def _matrix_vector(circuit: MatrixVector) -> LinearMap:
    """diagonal_k[i] = M[i mod R, (i + k) mod C] for k < min(R, C), then the sum of residue classes."""
    columns, rows = circuit.input_period, circuit.output_period
    padded = np.zeros((rows, columns), dtype=np.complex128)
    padded[: circuit._matrix.shape[0], : circuit._matrix.shape[1]] = circuit._matrix
    slots = np.arange(circuit.slots)
    cell = {k: padded[slots % rows, (slots + k) % columns] for k in range(min(rows, columns))}
    fold = (rows, columns // rows) if rows < columns else (1, 1)
    return LinearMap([[{k: values for k, values in cell.items() if values.any()}]], fold=fold)


def _block_product(circuit: BlockMatmul) -> LinearMap:
    """Each matrix within every block; wide ones in groups of columns below each other, added at the end."""
    every = [matrix for row in circuit._matrices for matrix in row]
    height = power_of_two(max(each.shape[0] for each in every))
    width = power_of_two(max(each.shape[1] for each in every))
    groups = width // height if circuit._fold and height < width else 1
    copies = circuit.slots // circuit._block
    cells: list[list[Diagonals]] = []
    for row in circuit._matrices:
        cells.append([])
        for matrix in row:
            cell: Diagonals = {}
            for h, c in zip(*np.nonzero(matrix), strict=True):
                to = h if groups == 1 else h + height * (c // height)
                block = cell.setdefault(int(c - to), np.zeros(circuit._block, dtype=np.complex128))
                block[to] = matrix[h, c]
            cells[-1].append({d % circuit.slots: np.tile(block, copies) for d, block in cell.items()})
    return LinearMap(cells, fold=(height, groups))


def output_of(
    noise: NoiseSource,
    cells: list[Diagonals],
    sources: list[Rows],
    where: tuple[_core.Ciphertext, int],
    switches: dict[int, int],
) -> Rows:
    """One output: products with diagonals, the key switches of rotated inputs, encodings, one division.

    where: what has the shape of the output, and the level of the inputs. switches: before the product with
    each diagonal.
    """
    (ghost, level), model = where, noise.model
    slots = ghost.slots
    total = np.zeros((noise.rows, slots), dtype=np.complex128)
    rotated, encoded = np.zeros(slots), np.zeros(slots)
    for cell, source in zip(cells, sources, strict=True):
        for shift, diagonal in cell.items():
            moved = np.roll(source, -shift, axis=1) if shift else source
            total += diagonal * moved
            encoded += np.abs(moved[0]) ** 2
            if switches[shift]:
                rotated += switches[shift] * np.abs(diagonal) ** 2
    switch = 2.0 * slots * (model.key_switch(level) + model.rounding()) / ghost.scale**2
    encoding = 2.0 * slots / 12.0 / model.params.level(level).scale ** 2
    return total + noise.shaped(rotated * switch + encoded * encoding) + noise.division(slots, ghost.scale)
