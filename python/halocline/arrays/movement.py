# SPDX-License-Identifier: Apache-2.0
"""Elements moved from one packing to another: by rotations where these are enough, else by a linear map.

Everything is said in addresses (`Packing`). Where each ciphertext of a result takes its elements from one
ciphertext, all at one distance, a rotation does it. Any other movement is a sparse plain linear map whose
diagonals are the distances (Halevi and Shoup, "Algorithms in HElib", CRYPTO 2014, section 4): a level, and
key switches in the order of the square root of the number of distances.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..circuits.transforms import TransformGrid
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .packing import Addresses, Packing
from .slot_maps import CIRCUITS_KEPT, Contents

Cell = dict[int, npt.NDArray[Any]]
"""Diagonals of the map between two ciphertexts by their distances."""
Cells = dict[tuple[int, int], Cell]
"""By the numbers of the ciphertexts: output, input."""


def default_packing(x: EncryptedArray, shape: tuple[int, ...]) -> Packing:
    """The packing without gaps for a result of this shape."""
    return Packing.of(shape, x.params.slots)


def view(x: EncryptedArray, source: Addresses, otherwise: Packing | None = None) -> EncryptedArray:
    """The array whose elements are those of `x` at the addresses `source`; -1 is a zero.

    The packing is one that needs rotations only, if there is any; otherwise the one given.
    """
    target = packing_of_view(x.packing, source)
    return gather(x, target or otherwise or default_packing(x, source.shape), source, zeros=False)


def packing_of_view(packing: Packing, source: Addresses) -> Packing | None:
    """The packing of elements at given addresses after a rotation by the first one; None if there is none.

    In several ciphertexts the rotation may bring elements from one into the next, which costs a level.
    """
    base = int(source.flat[0])
    strides = []
    for axis, length in enumerate(source.shape):
        second = [0] * source.ndim
        second[axis] = min(1, length - 1)
        strides.append(int(source[tuple(second)]) - base)
    if base < 0 or any(stride < 0 or stride & (stride - 1) for stride in strides):
        return None
    if any(stride == 0 and length > 1 for stride, length in zip(strides, source.shape, strict=True)):
        return None
    try:
        target = Packing(source.shape, tuple(strides), packing.slots, packing.copies)
    except InvalidArgument:
        return None
    return target if np.array_equal(target.addresses + base, source) else None


def gather(
    x: EncryptedArray,
    target: Packing,
    source: Addresses,
    weights: npt.NDArray[Any] | float = 1.0,
    *,
    zeros: bool = True,
) -> EncryptedArray:
    """result[i] = sum_k weights[i, k] * (element of x at address source[i, k]), packed as `target`.

    source: shape of the target, or with one more axis, along which is summed; -1 adds nothing.
    weights: broadcast to it.
    zeros: whether slots without an element must be 0; otherwise they may hold anything, which saves a level
        where rotations are enough.
    """
    moved, clean = move(x, target, source, weights, zeros=zeros)
    nothing = None
    if len(moved) < target.count:
        some = next(iter(moved.values()), None)
        some = _fitted(x.parts[0], target) if some is None else some
        nothing = some - some
    parts = [moved.get(number, nothing) for number in target.numbers]
    return x._made(parts, target, clean)  # type: ignore[arg-type]


def move(
    x: EncryptedArray,
    target: Packing,
    source: Addresses,
    weights: npt.NDArray[Any] | float = 1.0,
    *,
    zeros: bool = True,
) -> tuple[dict[int, Ciphertext], bool]:
    """As `gather`: the ciphertexts that hold more than zeros by number, and whether they are clean."""
    source = source if source.ndim > target.ndim else source[..., None]
    slots = max(x.packing.slots, target.slots)
    maps = _maps(x.packing, target, Contents(source), Contents(np.asarray(weights)))
    clean = x.is_clean and maps.takes_all
    if maps.rotations is not None and (clean or not (zeros or (source < 0).any())):
        parts = {o: x.parts[x.packing.index_of[i]].rotate(d) for o, (i, d) in maps.rotations.items()}
        return parts, clean
    made: dict[int, Ciphertext] = {}
    for outputs, inputs, grid in maps.grids:
        wide = [_widened(x.parts[x.packing.index_of[i]], slots) for i in inputs]
        made |= dict(zip(outputs, grid(wide), strict=True))
    return {number: _narrowed(ct, target.slots) for number, ct in made.items()}, True


Grids = list[tuple[list[int], list[int], TransformGrid]]
"""Outputs, inputs, and the map between them, for each part that no others depend on."""


class _Maps:
    """A movement between two packings."""

    def __init__(self, packing: Packing, target: Packing, cells: Cells) -> None:
        self.takes_all = packing.slots == target.slots and _takes_all(packing, target, cells)
        self.rotations = _rotations(cells) if packing.slots == target.slots else None
        self._cells: Cells | None = cells
        self._slots = max(packing.slots, target.slots)
        self._grids: Grids = []

    @property
    def grids(self) -> Grids:
        """The linear maps, made when first asked for; they have copies of the diagonals."""
        cells = self._cells
        if cells is None:
            return self._grids
        made: Grids = []
        for outputs, inputs in _components(cells):
            rows = [[cells.get((o, i), {}) for i in inputs] for o in outputs]
            made.append((outputs, inputs, TransformGrid(rows, slots=self._slots)))
        self._grids, self._cells = made, None  # in this order: other threads may look
        return made


@functools.lru_cache(maxsize=CIRCUITS_KEPT)
def _maps(packing: Packing, target: Packing, source: Contents, weights: Contents) -> _Maps:
    """Made once for equal arguments, so that weights are encoded once for an engine."""
    weight = np.broadcast_to(weights.values, source.values.shape)
    cells = _cells(packing, target, source.values, weight, max(packing.slots, target.slots))
    return _Maps(packing, target, cells)


def _rotations(cells: Cells) -> dict[int, tuple[int, int]] | None:
    """Input and distance of each output that is a rotation of one input; None where that is not what the
    cells say.
    """
    if len({o for o, _ in cells}) < len(cells):
        return None
    if any(len(cell) > 1 or (np.unique(next(iter(cell.values()))) > 1).any() for cell in cells.values()):
        return None
    if any(set(np.unique(v)) - {0, 1} for cell in cells.values() for v in cell.values()):
        return None
    return {o: (i, next(iter(cell))) for (o, i), cell in cells.items()}


def _takes_all(packing: Packing, target: Packing, cells: Cells) -> bool:
    """Whether each output has all elements of its input, and their copies."""
    taken = sum(int(np.count_nonzero(v)) for cell in cells.values() for v in cell.values())
    rows = [i for _, i in cells]
    held = {i: 0 for i in rows}
    for number, count in zip(*np.unique(packing.addresses // packing.slots, return_counts=True), strict=True):
        if int(number) in held:
            held[int(number)] = int(count) * packing.copy_count
    return taken == sum(held[i] for i in rows)


def _fitted(ct: Ciphertext, target: Packing) -> Ciphertext:
    return ct if ct.slots == target.slots else ct.with_slots(target.slots)


def _widened(ct: Ciphertext, slots: int) -> Ciphertext:
    return ct if ct.slots == slots else ct.with_slots(slots)


def _narrowed(ct: Ciphertext, slots: int) -> Ciphertext:
    """A ciphertext whose slots from `slots` on are 0, as one of so many slots."""
    if ct.slots == slots:
        return ct
    summed: Ciphertext = ct.engine.inner_sum(ct, ct.slots // slots, slots)
    return summed.with_slots(slots)


def _cells(
    packing: Packing, target: Packing, source: Addresses, weights: npt.NDArray[Any], slots: int
) -> Cells:
    """The diagonals of the maps between ciphertexts."""
    kept = (source >= 0) & (weights != 0)
    places = np.broadcast_to(target.addresses[..., None], source.shape)[kept]
    offsets = target.copy_offsets
    to = (places[:, None] + offsets).ravel()
    come = (source[kept][:, None] + (offsets & packing.copies)).ravel()
    values = np.repeat(weights[kept], len(offsets))
    to_number, to_slot = np.divmod(to, target.slots)
    from_number, from_slot = np.divmod(come, packing.slots)
    distance = (from_slot - to_slot) % slots
    order = np.lexsort((distance, from_number, to_number))
    keys = np.stack([to_number, from_number, distance])[:, order]
    changes = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    starts = [0, *(np.flatnonzero(changes) + 1)] if order.size else []
    cells: Cells = {}
    for begin, end in zip(starts, [*starts[1:], order.size], strict=True):
        chosen = order[begin:end]
        diagonal = np.zeros(slots, values.dtype)
        np.add.at(diagonal, to_slot[chosen], values[chosen])
        o, i, d = (int(each) for each in keys[:, begin])
        cells.setdefault((o, i), {})[d] = diagonal
    return cells


@dataclasses.dataclass
class _Component:
    outputs: list[int]
    inputs: set[int]


def _components(cells: Cells) -> list[tuple[list[int], list[int]]]:
    """Outputs and inputs that no others depend on, so that few ciphertexts are in memory at once."""
    uses: dict[int, set[int]] = {}
    for o, i in cells:
        uses.setdefault(o, set()).add(i)
    found: list[_Component] = []
    for number, used in uses.items():
        joined, apart = _Component([number], used), []
        for each in found:
            if each.inputs & joined.inputs:
                joined = _Component(each.outputs + joined.outputs, each.inputs | joined.inputs)
            else:
                apart.append(each)
        found = [*apart, joined]
    return [(sorted(each.outputs), sorted(each.inputs)) for each in found]
