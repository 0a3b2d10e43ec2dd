# SPDX-License-Identifier: Apache-2.0
"""Products of an encrypted array and a plain matrix: a linear map along one axis.

The diagonals of a plain matrix become those of the linear map, as many slots apart as neighbours on the axis
are (Halevi and Shoup, "Algorithms in HElib", CRYPTO 2014, section 4.3): K + N - 1 of them for a (K, N)
matrix, whatever the other axes are, and key switches in the order of the square root of that.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.values import power_of_two
from ..circuits.transforms import TransformGrid
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .movement import gather
from .packing import Packing
from .slot_maps import Contents, widened

Cells = dict[int, dict[int, dict[int, npt.NDArray[Any]]]]
"""Diagonals by number of the output, number of the input, and distance."""
Map = tuple[int, list[int], TransformGrid]
"""Number of an output, those of its inputs, and the map."""
PRODUCTS_KEPT = 8
"""Matrices whose maps are kept with their encoded weights; those used least recently are made anew."""


def product_along(x: EncryptedArray, matrix: npt.NDArray[Any], axis: int) -> EncryptedArray:
    """result[..., j, ...] = sum_k x[..., k, ...] matrix[k, j] along an axis.

    Costs one level; one more where the axis gets longer than its place among wider axes.
    """
    x = _with_room(x, axis, matrix.shape[1])
    shape = (*x.shape[:axis], matrix.shape[1], *x.shape[axis + 1 :])
    target = _target(x, shape, axis)
    slots = max(target.slots, x.packing.slots)
    parts = widened(x.parts, slots)
    made: dict[int, Ciphertext] = {}
    weights, maps = Contents(matrix), dict[bytes, list[Map]]()
    # Groups of ciphertexts that no others depend on; most of them have elements in the same places.
    span = max(slots, max(x.packing.strides[axis], target.strides[axis], 1) * power_of_two(max(matrix.shape)))
    bases = np.sort(np.take(target.addresses, 0, axis=axis).ravel())
    for group in np.unique(bases // span):
        own = bases[bases // span == group] - group * span
        if own.tobytes() not in maps:
            maps[own.tobytes()] = _maps(x.packing, target, weights, axis, Contents(own))
        to, come = int(group * span) // target.slots, int(group * span) // x.packing.slots
        for number, inputs, grid in maps[own.tobytes()]:
            ct = grid([parts[x.packing.index_of[come + each]] for each in inputs])[0]
            # What a longer ciphertext holds behind the slots of the result is 0.
            made[to + number] = ct if slots == target.slots else _narrowed(ct, target.slots)
    nothing = None
    if len(made) < target.count:
        some = next(iter(made.values()), None)
        some = widened(x.parts[:1], target.slots)[0] if some is None else some
        nothing = some - some
    return EncryptedArray([made.get(number, nothing) for number in target.numbers], target)  # type: ignore[misc]


def _narrowed(ct: Ciphertext, slots: int) -> Ciphertext:
    summed: Ciphertext = ct.engine.inner_sum(ct, ct.slots // slots, slots)
    return summed.with_slots(slots)


def _with_room(x: EncryptedArray, axis: int, length: int) -> EncryptedArray:
    """x packed so that the axis may have `length` elements: wider axes further apart."""
    packing, width = x.packing, power_of_two(length)
    stride = packing.strides[axis] or 1
    others = [each for at, each in enumerate(packing.strides) if at != axis and each]
    if x.shape[axis] == 1:
        stride = max([s * n for s, n in zip(packing.strides, packing.padded, strict=True)], default=1) or 1
    nearest = min((each for each in others if each >= stride), default=None)
    if packing.strides[axis] and (nearest is None or stride * width <= nearest):
        return x
    if not packing.strides[axis]:  # a single element: the axis goes beyond all others
        return x
    more = stride * width // nearest if nearest else 1
    strides = tuple(
        each * more if at != axis and each >= stride else each for at, each in enumerate(packing.strides)
    )
    reach = max(s * n for s, n in zip(strides, packing.padded, strict=True))
    target = Packing(x.shape, strides, min(x.params.slots, max(reach, stride * width)))
    return gather(x, target, packing.addresses)


def _target(x: EncryptedArray, shape: tuple[int, ...], axis: int) -> Packing:
    strides, padded = list(x.packing.strides), x.packing.padded
    if not strides[axis]:
        reaches = [s * n for s, n in zip(strides, padded, strict=True)]
        strides[axis] = max([1, *reaches])
    made = dataclasses.replace(x.packing, shape=shape, strides=tuple(strides), slots=1 << 20, copies=0)
    reach = max([1, *(s * n for s, n in zip(made.strides, made.padded, strict=True))])
    return dataclasses.replace(made, slots=min(x.params.slots, reach))


@functools.lru_cache(maxsize=PRODUCTS_KEPT)
def _maps(packing: Packing, target: Packing, weights: Contents, axis: int, at: Contents) -> list[Map]:
    """The diagonals of the matrix at the places of the elements: rows of the other axes begin at `at`.
    Made once for equal arguments, so that they are encoded once for an engine.
    """
    matrix, bases = weights.values, at.values
    stride, slots = packing.strides[axis], max(packing.slots, target.slots)
    step = max(packing.strides[axis], target.strides[axis])
    (count, columns), cells = matrix.shape, Cells()
    for offset in range(1 - columns, count):
        j = np.arange(max(0, -offset), min(columns, count - offset))
        values = matrix[j + offset, j]
        kept = np.flatnonzero(values)
        if not kept.size:
            continue
        to = (bases[:, None] + j[kept] * step).ravel()
        come = (bases[:, None] + (j[kept] + offset) * stride).ravel()
        _add(cells, to, come, np.tile(values[kept], len(bases)), (target.slots, packing.slots, slots))
    return [
        (number, list(row), TransformGrid([list(row.values())], slots=slots)) for number, row in cells.items()
    ]


def _add(
    cells: Cells,
    to: npt.NDArray[np.int64],
    come: npt.NDArray[np.int64],
    values: npt.NDArray[Any],
    sizes: tuple[int, int, int],
) -> None:
    target_slots, own_slots, slots = sizes
    to_number, to_slot = np.divmod(to, target_slots)
    from_number, from_slot = np.divmod(come, own_slots)
    keys = np.stack([to_number, from_number, (from_slot - to_slot) % slots])
    order = np.lexsort(keys[::-1])
    keys = keys[:, order]
    starts = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
    for begin, end in zip(starts, [*starts[1:], order.size], strict=True):
        o, i, d = (int(each) for each in keys[:, begin])
        cell = cells.setdefault(o, {}).setdefault(i, {})
        if d not in cell:
            cell[d] = np.zeros(slots, values.dtype)
        cell[d][to_slot[order[begin:end]]] += values[order[begin:end]]
