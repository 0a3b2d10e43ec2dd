# SPDX-License-Identifier: Apache-2.0
"""Sorting along an axis by Batcher's odd-even merge sort (1968; Knuth, volume 3, section 5.2.2, algorithm M).

n numbers take k (k + 1) / 2 stages with k = ceil(log2(n)). All pairs of a stage are at one distance d and all
go up, so a stage is

    u = lower - upper at the lower element of each pair, 0 elsewhere
    w = relu(u)
    x <- x - w, and w moved by d is added: lower - w is the minimum, upper + w the maximum

as in docs/guides/sorting.md, whose bitonic network has as many stages, but turns signs between phases and
needs a power of two of numbers. Here any length will do, and nothing beside the pairs changes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument, WrongType
from ..base.values import power_of_two
from ..circuits.polynomial import Interval
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .comparisons import COMPARISON_PRECISION
from .elementwise import cleaned
from .evaluation import is_encrypted
from .movement import gather
from .packing import Addresses, Packing
from .samples import FUNCTIONS
from .tournaments import Scale, _clear, _turned, asked


@dataclasses.dataclass(frozen=True)
class Stage:
    """Pairs that are compared at once: the lower index of each one, the upper one `distance` above it."""

    distance: int
    lower: tuple[int, ...]


def stages(length: int) -> list[Stage]:
    """The stages of a sort of so many numbers."""
    found = []
    top = power_of_two(length)
    run = 1
    while run < top:
        distance = run
        while distance:
            lower = tuple(
                i
                for i in range(length - distance)
                if i >= distance % run
                and (i - distance % run) % (2 * distance) < distance
                and i // (2 * run) == (i + distance) // (2 * run)
            )
            if lower:
                found.append(Stage(distance, lower))
            distance //= 2
        run *= 2
    return found


def sort(x: Any, axis: Any = -1, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """The elements in ascending order along an axis, as np.sort; None sorts all of them in one row.

    interval: of all elements. Each stage costs the levels of a ReLU and one for its pairs; errors of the
    stages add up. Elements nearer than a comparison can tell come out between each other.
    """
    if isinstance(x, Ciphertext):
        raise WrongType("sort: got a Ciphertext, expected an array: client.encrypt_array(values)")
    if not is_encrypted(x):
        return _clear("sort", np.sort, x, interval, axis=axis)
    taken, alpha = asked("sort", x, interval, precision)
    x, along = _turned(x, axis, "sort")
    return _sorted(x, along, taken, alpha)


def _sorted(x: EncryptedArray, along: int, taken: Interval, alpha: int) -> EncryptedArray:
    """The array sorted along an axis."""
    network = stages(x.shape[along])
    if not network:
        return x
    scale = Scale.of(taken, len(network), alpha)
    x = cleaned(x) if scale.factor == 1.0 else x * scale.factor
    for stage in network:
        x = _staged(x, along, stage, alpha, scale.bound)
    restored: EncryptedArray = scale.restored(x)
    return restored


def _staged(x: EncryptedArray, axis: int, stage: Stage, alpha: int, bound: float) -> EncryptedArray:
    """One stage of the network."""
    packing = x.packing
    place = [1] * x.ndim
    place[axis] = x.shape[axis]
    is_lower = np.zeros(x.shape[axis], bool)
    is_lower[list(stage.lower)] = True
    lower = np.broadcast_to(is_lower.reshape(place), x.shape)
    here = packing.addresses
    step = packing.strides[axis] * stage.distance
    pairs = np.stack([np.where(lower, here, -1), np.where(lower, here + step, -1)], axis=-1)
    u = gather(x, packing, pairs, np.array([1.0, -1.0]))
    whole = step % packing.slots == 0
    apart = not whole and (here % packing.slots + step >= packing.slots)[lower].any()
    used = [apart or bool(each.any()) for each in packing.pack(lower.astype(np.float64))]
    w = [
        ct.engine.relu(ct, alpha=alpha, bound=bound) if uses else None
        for ct, uses in zip(u.parts, used, strict=True)
    ]
    parts = [ct if lost is None else ct - lost for ct, lost in zip(x.parts, w, strict=True)]
    upper = np.broadcast_to(np.roll(is_lower, stage.distance).reshape(place), x.shape)
    gained = _moved(w, packing, np.where(upper, here - step, -1), step, apart=apart)
    parts = [ct if more is None else ct + more for ct, more in zip(parts, gained, strict=True)]
    return EncryptedArray(parts, packing)


def _moved(
    w: list[Any], packing: Packing, source: Addresses, step: int, *, apart: bool
) -> list[Ciphertext | None]:
    """What the lower elements lost, at the upper ones: without a level unless a pair is in two of them."""
    if apart:
        return list(gather(EncryptedArray(w, packing), packing, source).parts)
    if step < packing.slots:
        return [None if each is None else each.rotate(-step) for each in w]
    index = packing.index_of
    sources = (index.get(number - step // packing.slots) for number in packing.numbers)
    return [None if each is None else w[each] for each in sources]


def median(x: Any, axis: Any = None, *, interval: Any = None, precision: int = COMPARISON_PRECISION) -> Any:
    """The median, as np.median: a `sort`, and one level more."""
    return _ranked("median", x, 50.0, axis, interval, precision)


def percentile(
    x: Any, q: float, axis: Any = None, *, interval: Any = None, precision: int = COMPARISON_PRECISION
) -> Any:
    """The q-th percentile by linear interpolation, as np.percentile, for one number q from 0 to 100.

    A `sort`, and one level more.
    """
    try:
        share = float(q)
    except (TypeError, ValueError):
        raise WrongType(f"percentile: q is {q!r:.40}, expected one number from 0 to 100") from None
    if not 0 <= share <= 100:
        raise InvalidArgument(f"percentile: q is {share:g}, expected 0 to 100")
    return _ranked("percentile", x, share, axis, interval, precision)


def _ranked(name: str, x: Any, share: float, axis: Any, interval: Any, precision: Any) -> Any:
    if isinstance(x, Ciphertext):
        raise WrongType(f"{name}: got a Ciphertext, expected an array: client.encrypt_array(values)")
    if not is_encrypted(x):
        return _clear(name, lambda v, axis: np.percentile(v, share, axis=axis), x, interval, axis=axis)
    taken, alpha = asked(name, x, interval, precision)
    x, along = _turned(x, axis, name)
    ordered = _sorted(x, along, taken, alpha)
    length = x.shape[along]
    position = share / 100 * (length - 1)
    first = min(int(position), length - 1)
    weights = np.zeros(length)
    weights[first] += 1 - (position - first)
    if first + 1 < length:
        weights[first + 1] += position - first
    place = [1] * x.ndim
    place[along] = length
    return (ordered * weights.reshape(place)).sum(along)


FUNCTIONS |= {np.sort: sort, np.median: median, np.percentile: percentile}
