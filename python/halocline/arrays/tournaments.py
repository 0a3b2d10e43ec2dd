# SPDX-License-Identifier: Apache-2.0
"""Maxima and minima along axes by a tournament: half of the elements meet the other half, and so on.

An axis of n elements takes ceil(log2(n)) rounds. Elements at distance h, a power of two, are neighbours
after one rotation, or in another ciphertext.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from ..base.errors import WrongType
from ..base.values import power_of_two
from ..circuits.minimax import relu_error
from ..circuits.polynomial import Interval
from ..circuits.polynomial import interval as checked_interval
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray
from .calibration import interval_of, note
from .comparisons import COMPARISON_PRECISION, check_bits
from .elementwise import cleaned, times_plain
from .evaluation import Vector, expect_real, filled, is_encrypted, numbers, plus
from .movement import view
from .operands import axes_of, one_axis
from .registry import operation, perform
from .samples import FUNCTIONS, Samples, plain, sampled

NOISE = 2.0**-16
"""Error of a comparison beyond that of its polynomial: what encryption and bootstraps leave."""
_ROUNDED = 1.25
"""By how much a width may grow to become a whole number: a third of a bit of precision."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """How values of an interval are brought to differences of at most 1 and back.

    Above 1, a width is rounded up to a whole number where that loses little precision: whole numbers multiply
    results without a level.
    """

    width: float

    @classmethod
    def of(cls, interval: Interval, rounds: int, alpha: int) -> Scale:
        """For so many comparisons one after the other, whose errors add up."""
        width = (interval[1] - interval[0]) * (1 + 2 * rounds * (relu_error(alpha) + NOISE))
        whole = math.ceil(width)
        return cls(float(whole) if width > 1 and whole <= _ROUNDED * width else width)

    @property
    def factor(self) -> float:
        """What values are multiplied by: 1 where differences are small enough, which costs no level."""
        return 1.0 if self.width <= 1 else 1 / self.width

    def restored(self, value: Any) -> Any:
        """Results of scaled values in their own scale."""
        if self.width <= 1:
            return value
        return value * (int(self.width) if self.width.is_integer() else self.width)

    @property
    def levels(self) -> int:
        """That the factor costs, there and back."""
        return 0 if self.width <= 1 else 1 if self.width.is_integer() else 2

    @property
    def bound(self) -> float:
        """Of differences after the factor."""
        return 1.0 if self.width > 1 else 1 / math.floor(1 / self.width)


def rounds_of(length: int) -> list[int]:
    """Distances of a tournament among so many elements."""
    return [1 << bit for bit in reversed(range(power_of_two(length).bit_length() - 1))]


def _turned(x: Any, axis: Any, name: str) -> tuple[Any, int]:
    """The array and one axis of it: all axes as one for None."""
    if axis is None:
        return (x.reshape(-1) if x.ndim != 1 else x), 0
    if isinstance(axis, tuple | list):
        axes = axes_of(axis, x.ndim, name)
        if len(axes) != 1:
            raise WrongType(f"{name}: axis {axis}, expected one axis or None")
        return x, axes[0]
    return x, one_axis(axis, x.ndim, name)


def partners(x: EncryptedArray, axis: int, distance: int) -> list[Ciphertext | None]:
    """For each ciphertext, one with the elements at `distance`, a power of two, farther along an axis.

    That holds for elements whose index is below the distance; other slots hold something else. None where a
    ciphertext has no such elements, or there is nothing at that distance.
    """
    packing = x.packing
    stride = packing.strides[axis]
    step = stride * distance
    found: list[Ciphertext | None] = []
    for number, ct in zip(packing.numbers, x.parts, strict=True):
        first = number * packing.slots // stride % packing.padded[axis]
        other = packing.index_of.get(number + step // packing.slots)
        if first >= distance or other is None:
            found.append(None)
        else:
            found.append(ct.rotate(step) if step < packing.slots else x.parts[other])
    return found


@dataclasses.dataclass(frozen=True)
class _Field:
    """An array before its first round: scaled, its lower bound in slots without elements, which never win."""

    x: EncryptedArray
    axis: int
    alpha: int
    scale: Scale

    @classmethod
    def of(cls, x: EncryptedArray, axis: int, interval: Interval, alpha: int) -> _Field:
        """With values scaled so that no difference exceeds the bound."""
        low = interval[0]
        scale = Scale.of(interval, len(rounds_of(x.shape[axis])), alpha)
        if scale.factor == 1.0:
            x = cleaned(x)
        else:  # ones and zeros cost no level beside the factor
            x = x * scale.factor if x.is_clean else times_plain(x, np.full(x.shape, scale.factor))
        return cls(filled(x, low * scale.factor), axis, alpha, scale)

    @property
    def how(self) -> dict[str, Any]:
        """Options of comparisons."""
        return {"alpha": self.alpha, "bound": self.scale.bound}

    @property
    def distances(self) -> list[int]:
        """Of the rounds."""
        return rounds_of(self.x.shape[self.axis])

    def others(self, current: list[Ciphertext], distance: int) -> list[Ciphertext | None]:
        """Whom the elements meet."""
        return partners(EncryptedArray(current, self.x.packing, clean=False), self.axis, distance)

    def index(self, chosen: Any) -> list[Vector]:
        """Vectors with 1 for elements whose index on the axis is chosen by a function, 0 elsewhere."""
        place = [1] * self.x.ndim
        place[self.axis] = self.x.shape[self.axis]
        ones = chosen(np.arange(self.x.shape[self.axis])).astype(np.float64).reshape(place)
        return self.x.packing.pack(np.broadcast_to(ones, self.x.shape))


def _first(x: EncryptedArray, axis: int, keepdims: bool) -> EncryptedArray:
    """The elements with index 0 on an axis."""
    source = x.packing.addresses.take([0] if keepdims else 0, axis=axis)
    return view(x, np.asarray(source))


def _largest(field: _Field) -> EncryptedArray:
    """The array with its maxima along an axis at index 0."""
    current = list(field.x.parts)
    for distance in field.distances:
        current = [
            ct if other is None else ct.engine.maximum(ct, other, **field.how)
            for ct, other in zip(current, field.others(current, distance), strict=True)
        ]
    return EncryptedArray([field.scale.restored(ct) for ct in current], field.x.packing, clean=False)


def _winners(field: _Field) -> list[list[Ciphertext | None]]:
    """For each round, 1 where an element beats the one that it meets; None for those that meet none."""
    current = list(field.x.parts)
    rounds = []
    for distance in field.distances:
        others = field.others(current, distance)
        won = [
            None if other is None else ct.engine.compare(ct, other, **field.how)
            for ct, other in zip(current, others, strict=True)
        ]
        rounds.append(won)
        if distance > 1:
            current = [
                ct if w is None else other + (ct - other) * w
                for ct, other, w in zip(current, others, won, strict=True)
            ]
    return rounds


def _one_hot(field: _Field) -> EncryptedArray:
    """1 at the largest element along the axis, 0 at all others, found backwards from the last round.

    A 1 at index 0 is given to the winner of the last round, from there to the winner of the round before,
    and so on: it is multiplied by who won, and what it lost goes to the other one.
    """
    rounds = _winners(field)
    packing, length = field.x.packing, field.x.shape[field.axis]
    first = field.index(lambda i: i == 0)
    hot: list[Any] = [vector if vector.any() else None for vector in first]
    if length < 2 * field.distances[0]:  # elements whose partner would be beyond the end win
        rounds[0] = _certain(field, rounds[0], field.distances[0])
    for distance, won in reversed(list(zip(field.distances, rounds, strict=True))):
        step = packing.strides[field.axis] * distance
        kept = [
            None if h is None else h if w is None else _times(w, h) for h, w in zip(hot, won, strict=True)
        ]
        lost = [
            None if h is None or w is None else _minus(h, k) for h, k, w in zip(hot, kept, won, strict=True)
        ]
        if step < packing.slots:
            hot = [k if c is None else k + c.rotate(-step) for k, c in zip(kept, lost, strict=True)]
        else:
            for number, c in zip(packing.numbers, lost, strict=True):
                if c is not None:
                    kept[packing.index_of[number + step // packing.slots]] = c
            hot = kept
    return EncryptedArray(hot, packing)


def _certain(field: _Field, won: list[Any], distance: int) -> list[Any]:
    """The winners of the first round, with 1 for elements that meet none."""
    length = field.x.shape[field.axis]
    paired = field.index(lambda i: (i < distance) & (i + distance < length))
    alone = field.index(lambda i: (i < distance) & (i + distance >= length))
    return [
        None if w is None else plus(_times(w, mask), ones)
        for w, mask, ones in zip(won, paired, alone, strict=True)
    ]


def _times(ct: Ciphertext, other: Any) -> Ciphertext:
    return ct * (float(other[0]) if isinstance(other, np.ndarray) and len(other) == 1 else other)


def _minus(h: Any, kept: Any) -> Any:
    return plus(-kept, h) if isinstance(h, np.ndarray) else h - kept


def asked(name: str, x: Any, interval: Any, precision: Any) -> tuple[Interval, int]:
    """The interval that is given or calibrated, and alpha, checked before any work."""
    alpha = check_bits(precision, name)
    given = None if interval is None else checked_interval(interval, name)
    expect_real(x, name)
    return interval_of(name, given), alpha


def _field(x: EncryptedArray, axis: int, interval: Interval, alpha: int, *, least: bool) -> _Field:
    """The array, negated where the least is looked for."""
    low, high = interval
    return _Field.of(-x, axis, (-high, -low), alpha) if least else _Field.of(x, axis, interval, alpha)


def _extreme(
    name: str, x: Any, axis: Any, keepdims: bool, interval: Any, precision: Any, *, least: bool
) -> Any:
    if isinstance(x, Ciphertext):
        raise WrongType(f"{name}: got a Ciphertext, expected an array: client.encrypt_array(values)")
    if not is_encrypted(x):
        return _clear(name, np.min if least else np.max, x, interval, axis=axis, keepdims=keepdims)
    dimensions = x.ndim
    taken, alpha = asked(name, x, interval, precision)
    x, along = _turned(x, axis, name)
    field = _field(x, along, taken, alpha, least=least)
    found = _largest(field) if x.shape[along] > 1 else -x if least else x
    found = _first(-found if least else found, along, keepdims)
    return found.reshape((1,) * dimensions) if axis is None and keepdims else found


def _clear(name: str, function: Any, x: Any, interval: Any, **options: Any) -> Any:
    """numpy's result, and a note of the values."""
    x = x if isinstance(x, Samples) else numbers(x, name)
    note(name, x, None if interval is None else checked_interval(interval, name))
    result = function(plain(x), **options)
    return sampled(np.asarray(result)) if isinstance(x, Samples) else result


@operation("max")
def amax(
    x: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    interval: Any = None,
    precision: int = COMPARISON_PRECISION,
) -> Any:
    """The largest element, or those along an axis, as np.max; interval: of all elements.

    ceil(log2(n)) rounds among n elements, each of them a `maximum` with a width rounded up to a whole number;
    their errors add up.
    """
    return _extreme("max", x, axis, keepdims, interval, precision, least=False)


@operation("min")
def amin(
    x: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    interval: Any = None,
    precision: int = COMPARISON_PRECISION,
) -> Any:
    """The smallest element, or those along an axis, as np.min; see `max`."""
    return _extreme("min", x, axis, keepdims, interval, precision, least=True)


def _place(name: str, x: Any, axis: Any, one_hot: bool, interval: Any, precision: Any, *, least: bool) -> Any:
    if isinstance(x, Ciphertext):
        raise WrongType(f"{name}: got a Ciphertext, expected an array: client.encrypt_array(values)")
    if not is_encrypted(x):
        return _clear(
            name, functools.partial(_clear_place, least=least, one_hot=one_hot), x, interval, axis=axis
        )
    shape = x.shape
    taken, alpha = asked(name, x, interval, precision)
    x, along = _turned(x, axis, name)
    field = _field(x, along, taken, alpha, least=least)
    hot = _one_hot(field) if x.shape[along] > 1 else perform("subtract", x, x) + 1.0
    if one_hot:
        return hot.reshape(shape) if hot.shape != shape else hot
    place = [1] * hot.ndim
    place[along] = hot.shape[along]
    return (hot * np.arange(hot.shape[along], dtype=np.float64).reshape(place)).sum(along)


def _clear_place(x: Any, axis: Any, *, least: bool, one_hot: bool) -> Any:
    """np.argmax or np.argmin, also as ones and zeros."""
    index = np.argmin(x, axis=axis) if least else np.argmax(x, axis=axis)
    if not one_hot:
        return np.asarray(index, dtype=np.float64)
    made = np.zeros(x.shape)
    if axis is None:
        made.flat[index] = 1.0
    else:
        np.put_along_axis(made, np.expand_dims(index, axis), 1.0, axis)
    return made


@operation("argmax")
def argmax(
    x: Any,
    axis: Any = None,
    *,
    one_hot: bool = False,
    interval: Any = None,
    precision: int = COMPARISON_PRECISION,
) -> Any:
    """Where the largest element is, as np.argmax: an encrypted index; with `one_hot` 1 there, 0 elsewhere.

    interval: of all elements. A tournament as for `max`, then a level for each round backwards; one more for
    the index. Elements nearer than a comparison can tell share the 1, and the index is between theirs.
    """
    return _place("argmax", x, axis, one_hot, interval, precision, least=False)


@operation("argmin")
def argmin(
    x: Any,
    axis: Any = None,
    *,
    one_hot: bool = False,
    interval: Any = None,
    precision: int = COMPARISON_PRECISION,
) -> Any:
    """Where the smallest element is, as np.argmin; see `argmax`."""
    return _place("argmin", x, axis, one_hot, interval, precision, least=True)


_NAMED: dict[Any, Any] = {np.max: amax, np.min: amin, np.argmax: argmax, np.argmin: argmin}
FUNCTIONS |= _NAMED | {np.amax: amax, np.amin: amin}
