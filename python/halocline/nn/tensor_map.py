# SPDX-License-Identifier: Apache-2.0
"""Plain linear maps between tensors as generalized diagonals of ciphertexts.

Two layouts make maps of slots of a matrix: entry (o, i) multiplies slot `in(i)` of one ciphertext and adds to
slot `out(o)` of another, so it belongs to the cell of both, and there to generalized diagonal in(i) - out(o).
With m the smaller of both numbers of slots only the distance modulo m matters, because

* an input of fewer slots repeats itself, and
* an output of fewer slots is the sum of all slots that are congruent: each entry may add to any of them, and
  log2 of the ratio rotations add them up (`TensorMap.folds`).

This makes a dense layer of 10 outputs after pooling 16 diagonals and as many rotations as the repeated
halving of 4096 slots to 16 takes.

All images go through the same map. Where source and target hold different numbers of images in a ciphertext,
the ciphertexts of the larger number are a unit: channels that are halved by a stride, for example, are
collected from two ciphertexts of two images each in one of four.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument
from ..base.names import Mode
from ..base.values import expect
from ..circuits.encoded import EncodedCircuit
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from .layers import Array, Conv2d, Shape
from .layout import Slots
from .lowering import SparseMatrix, matrix_of, steps_of, taps_of
from .tensor_layout import TensorLayout

Diagonals = dict[int, npt.NDArray[np.complex128]]
"""y[i] = sum_d diagonals[d][i] x[(i + d) mod slots]"""

CHUNK = 1 << 21
"""Values of a convolution that are written at once."""


@dataclasses.dataclass(frozen=True, eq=False)
class Convolution:
    """A convolution times a number. Where strides of pixels agree, its diagonals need no list of its entries,
    which are as many as weights times pixels.
    """

    layer: Conv2d
    shape: Shape
    """Of its input."""
    factor: float = 1.0

    def fits(self, source: TensorLayout, target: TensorLayout) -> bool:
        """Whether all pixels of a channel are equally far from those that they are made of."""
        down, across = steps_of(self.layer)
        before, after = source.image, target.image
        return (down * before.gap * before.pitch, across * before.gap) == (after.gap * after.pitch, after.gap)

    def matrix(self) -> SparseMatrix:
        """All of its entries."""
        return matrix_of(self.layer, self.shape).scaled(self.factor)


Piece = SparseMatrix | Convolution
"""A summand of a map."""


@dataclasses.dataclass(frozen=True)
class _Entries:
    """Products of slots `source` of ciphertexts `from_part`, for slots `to` of ciphertexts `to_part`."""

    to_part: Slots
    to: Slots
    from_part: Slots
    source: Slots
    value: Array
    pixels: Slots
    """Each entry is there at all these distances from its slots."""


@dataclasses.dataclass(frozen=True, eq=False)
class TensorMap:
    """A sum of matrices between two layouts as diagonals of `slots` slots, made when they are asked for."""

    pieces: Callable[[], Sequence[Piece]]
    """Between the flattened arrays."""
    source: TensorLayout
    target: TensorLayout
    name: str = "map"
    """Of the layer, for errors."""

    @property
    def slots(self) -> int:
        """Slots in which it is computed: those of the layout with more."""
        return max(self.source.slots, self.target.slots)

    @property
    def folds(self) -> int:
        """Congruent slots of a product that add up to a slot of the result, a power of two."""
        return self.slots // self.target.slots

    @property
    def images(self) -> int:
        """Of a unit."""
        return max(self.source.batch, self.target.batch)

    @property
    def inputs(self) -> int:
        """Ciphertexts that a unit takes."""
        return self.source.ciphertexts(self.images)

    @property
    def outputs(self) -> int:
        """Ciphertexts that a unit gives."""
        return self.target.ciphertexts(self.images)

    def cells(self) -> list[list[Diagonals]]:
        """cells[output][input]: the map between these ciphertexts of a unit.

        @throws InvalidArgument where all of them are 0
        """
        pieces = [self._prepared(each) for each in self.pieces()]
        period = min(self.source.slots, self.target.slots)
        found = [self._keys(each, period) for piece in pieces for each in self._entries(piece)]
        keys = np.unique(np.concatenate([np.unique(each) for each in found]))
        del found
        table = np.zeros((len(keys), self.slots), dtype=np.complex128)
        real = table.view(np.float64).reshape(-1)[::2]
        for piece in pieces:
            for each in self._entries(piece):
                self._add(real, keys, each, period)
        made: list[list[Diagonals]] = [[{} for _ in range(self.inputs)] for _ in range(self.outputs)]
        for key, row in zip(keys.tolist(), table, strict=True):
            cell, distance = divmod(key, period)
            if row.real.any():
                made[cell // self.inputs][cell % self.inputs][distance - period // 2] = row
        if not any(cell for each in made for cell in each):
            raise InvalidArgument(
                f"layer {self.name!r}: has no effect: together with the layers before it, it is 0"
            )
        return made

    def _prepared(self, piece: Piece) -> Piece:
        if isinstance(piece, Convolution) and not piece.fits(self.source, self.target):
            return piece.matrix()
        return piece

    def _entries(self, piece: Piece) -> Iterator[_Entries]:
        """For every image of a unit."""
        for image in range(self.images):
            group, first = divmod(image, self.source.batch)
            to_group, to_first = divmod(image, self.target.batch)
            found = self._of_taps(piece) if isinstance(piece, Convolution) else self._of_matrix(piece)
            for each in found:
                yield dataclasses.replace(
                    each,
                    to_part=each.to_part + to_group * self.target.parts,
                    to=each.to + to_first * self.target.image.block,
                    from_part=each.from_part + group * self.source.parts,
                    source=each.source + first * self.source.image.block,
                )

    def _of_matrix(self, matrix: SparseMatrix) -> Iterator[_Entries]:
        to_part, to = (each[matrix.row] for each in self.target.index())
        from_part, source = (each[matrix.column] for each in self.source.index())
        yield _Entries(to_part, to, from_part, source, matrix.value, np.zeros(1, dtype=np.int64))

    def _of_taps(self, piece: Convolution) -> Iterator[_Entries]:
        _, rows, columns = piece.shape
        _, down, across = piece.layer.output_shape([piece.shape])
        by_row, by_column = steps_of(piece.layer)
        before, after = self.source.image, self.target.image
        for tap in taps_of(piece.layer):
            y, x = (
                np.flatnonzero((at >= 0) & (at < size))
                for at, size in (
                    (by_row * np.arange(down) + tap.row, rows),
                    (by_column * np.arange(across) + tap.column, columns),
                )
            )
            if not len(tap.value) or not len(y) or not len(x):
                continue
            to_part, to = _first_pixels(self.target, tap.output)
            from_part, source = _first_pixels(self.source, tap.input)
            source = source + before.gap * (tap.row * before.pitch + tap.column)
            pixels = (after.gap * (y[:, None] * after.pitch + x)).ravel()
            yield _Entries(to_part, to, from_part, source, tap.value * piece.factor, pixels)

    def _keys(self, entries: _Entries, period: int) -> Slots:
        """Cell and diagonal of entries as one number each.

        The same distance for all congruent slots, near 0 on either side, where babies and giants are few.
        """
        distance = (entries.source - entries.to + period // 2) % period
        keys: Slots = (entries.to_part * self.inputs + entries.from_part) * period + distance
        return keys

    def _add(self, table: Array, keys: Slots, entries: _Entries, period: int) -> None:
        """Adds entries to the flattened table of diagonals."""
        found = self._keys(entries, period)
        at = entries.to
        if self.folds > 1:
            distance = found % period - period // 2
            at = (entries.source - distance - entries.to) % self.slots + entries.to
        places = np.searchsorted(keys, found) * self.slots + at
        if len(entries.pixels) == 1:  # the same place may be there several times
            np.add.at(table, places + entries.pixels, entries.value)
            return
        step = max(1, CHUNK // len(entries.pixels))
        for first in range(0, len(places), step):
            chosen = slice(first, first + step)
            table[places[chosen, None] + entries.pixels] += entries.value[chosen, None]

    def apply(self, values: Sequence[npt.ArrayLike]) -> list[Array]:
        """What the encrypted map computes of a unit, in the clear: slots of ciphertexts to such."""
        given = [np.resize(np.asarray(each, dtype=np.float64), self.slots) for each in values]
        made = []
        for row in self.cells():
            y = np.zeros(self.slots)
            for cell, x in zip(row, given, strict=True):
                for d, diagonal in cell.items():
                    y += diagonal.real * np.roll(x, -d)
            made.append(y.reshape(self.folds, -1).sum(axis=0))
        return made


def _first_pixels(layout: TensorLayout, channels: Slots) -> tuple[Slots, Slots]:
    """Number of the ciphertext and slot of pixel (0, 0) of channels of the first image."""
    image = layout.image
    group, cell = np.divmod(channels, image.gap**2)
    part, group = np.divmod(group, layout.groups_of_part)
    slot = group * layout.batch * image.block + cell // image.gap * image.pitch + cell % image.gap
    return part, slot


class EncodedMap(EncodedCircuit):
    """A map of tensors on encrypted vectors: `y = encoded(x)`, one level lower.

    keep: keep the encoded diagonals of every engine and level; otherwise they are encoded at each use and
    dropped. The other arguments are those of `EncodedCircuit`. Diagonals in the clear exist only while they
    are encoded.
    """

    _what = "linear layer"

    def __init__(
        self,
        tensor_map: TensorMap,
        *,
        keep: bool = True,
        mode: Mode = "double_hoisted",
        baby_count: int = 0,
        compact: bool = True,
    ) -> None:
        super().__init__(
            tensor_map.slots, tensor_map.inputs, tensor_map.outputs, True, mode, baby_count, compact
        )
        self.tensor_map, self._keep = tensor_map, keep
        self._products: int | None = None
        self._used: list[int] = []

    @property
    def products(self) -> int:
        """Diagonals that it multiplies the ciphertexts of a unit with."""
        if self._products is None:  # encoding it counts them
            self._count(self.tensor_map.cells())
        assert self._products is not None
        return self._products

    def _count(self, cells: list[list[Diagonals]]) -> None:
        """Products, and the outputs that are not 0."""
        self._products = sum(len(cell) for row in cells for cell in row)
        self._used = [number for number, row in enumerate(cells) if any(row)]

    def _diagonals(self) -> list[list[Mapping[int, Any]]]:
        """Those of the outputs that are not 0."""
        cells = self.tensor_map.cells()
        self._count(cells)
        return [list(cells[number]) for number in self._used]

    def _make(self, engine: _core.Engine, how: _core.Encoding) -> _core.Circuit:
        return _core.Circuit.grid(engine, how, self._diagonals())

    def _on(self, engine: Host, level: int) -> _core.Circuit:
        if self._keep:
            return super()._on(engine, level)
        return self._make(engine._native, self._how(engine, level))

    def __call__(self, inputs: Sequence[Ciphertext]) -> list[Ciphertext | None]:  # type: ignore[override]
        """The map applied to ciphertexts in the source layout: those of any number of images.

        Gives ciphertexts in the target layout; None stands for one to which nothing is added. Where the last
        unit is not complete, its last images are repeated, so that no others are made up.
        """
        made = self.tensor_map
        parts = made.source.parts
        given = [expect(each, Ciphertext, self._what) for each in inputs]
        if not given or len(given) % parts:
            raise InvalidArgument(f"{self._what}: {len(given)} inputs, expected a multiple of {parts}")
        needed = made.target.ciphertexts(len(given) // parts * made.source.batch)
        while len(given) % self._inputs:
            given += given[-parts:]
        units = [self._unit(given[at : at + self._inputs]) for at in range(0, len(given), self._inputs)]
        return [each for unit in units for each in unit][:needed]

    def _unit(self, inputs: Sequence[Ciphertext]) -> list[Ciphertext | None]:
        wide = [x if x.slots == self._slots else x.with_slots(self._slots) for x in inputs]
        folds, slots = self.tensor_map.folds, self.tensor_map.target.slots
        outputs: list[Ciphertext | None] = [None] * self._outputs
        results = self._apply(wide)  # which outputs are used is known when it is encoded
        for number, y in zip(self._used, results, strict=True):
            folded = y if folds == 1 else y._on(self._what).inner_sum(y, folds, slots).with_slots(slots)
            outputs[number] = folded
        return outputs
