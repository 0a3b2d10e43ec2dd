# SPDX-License-Identifier: Apache-2.0
"""Plain maps from slots to slots: which slot of which ciphertext each slot of a result is made of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.names import Mode
from ..circuits.transforms import TransformGrid
from ..ckks.ciphertext import Ciphertext

Addresses = npt.NDArray[np.int64]
Term = tuple[Addresses, Any]
"""For every slot of an output, input * period + slot of the source, or -1 for none; and the weight, a number
or one for each slot."""

CIRCUITS_KEPT = 48
"""Maps that are kept with their encoded weights; those used least recently are made anew."""


class Contents:
    """An array as an argument of functions that keep their results: equal where all its elements are."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self.values = np.array(values)
        self.values.setflags(write=False)
        self._hash = hash((self.values.shape, self.values.dtype.str, self.values.tobytes()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contents) or self.values.dtype != other.values.dtype:
            return False
        same = self.values.shape == other.values.shape
        return same and self.values.tobytes() == other.values.tobytes()


def grid_of(
    outputs: Sequence[Sequence[Term]],
    inputs: int,
    period: int,
    slots: int,
    mode: Mode = "double_hoisted",
) -> TransformGrid:
    """The linear map whose output o is the sum of its terms, for inputs that repeat after `period` slots.

    slots: of the ciphertexts, a multiple of `period`. mode: as for `TransformGrid`. Costs one level.
    """
    own = np.arange(slots, dtype=np.int64)
    cells: list[list[dict[int, Any]]] = [[{} for _ in range(inputs)] for _ in outputs]
    for row, terms in zip(cells, outputs, strict=True):
        for addresses, weight in terms:
            number, slot = np.divmod(addresses, period)
            # The nearest of the repetitions: diagonals stay a band around 0, which needs few giant steps.
            steps = (slot - own + period // 2) % period - period // 2
            weights = np.broadcast_to(np.asarray(weight), slots)
            for index in np.unique(number[addresses >= 0]):
                _add_diagonals(row[index], steps, (number == index) & (addresses >= 0), weights)
    return TransformGrid(cells, slots=slots, mode=mode)


def _add_diagonals(
    cell: dict[int, Any], steps: Addresses, used: npt.NDArray[np.bool_], weights: npt.NDArray[Any]
) -> None:
    places = np.flatnonzero(used)
    places = places[np.argsort(steps[places], kind="stable")]
    found, begins = np.unique(steps[places], return_index=True)
    for step, group in zip(found, np.split(places, begins[1:]), strict=True):
        values = np.zeros(len(steps), weights.dtype if weights.dtype.kind == "c" else np.float64)
        values[group] = weights[group]
        kept = cell.get(int(step))
        cell[int(step)] = values if kept is None else kept + values


def is_identity(outputs: Sequence[Addresses], inputs: int, period: int, slots: int) -> bool:
    """Whether output o is input o, whatever stands in slots without a source."""
    own = np.arange(slots, dtype=np.int64) % period
    return inputs == len(outputs) and all(
        bool(np.all((each < 0) | (each == number * period + own))) for number, each in enumerate(outputs)
    )


@functools.lru_cache(maxsize=CIRCUITS_KEPT)
def kept_circuit(make: Callable[..., TransformGrid], *how: Hashable) -> TransformGrid:
    """`make(*how)`, made once for equal arguments, so that its weights are encoded once for an engine."""
    return make(*how)


def widened(parts: Sequence[Ciphertext], slots: int) -> list[Ciphertext]:
    """The ciphertexts read as ones of `slots` slots, in which their values repeat themselves."""
    return [each if each.slots == slots else each.with_slots(slots) for each in parts]
