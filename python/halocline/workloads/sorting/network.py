# SPDX-License-Identifier: Apache-2.0
"""Bitonic sorting of 2^k numbers by polynomials, in the clear: what the encrypted sort does, stage by stage.

Batcher's bitonic network (1968): phase p = 1 .. k merges sorted runs of 2^(p-1) numbers into runs of 2^p, by
stages that compare numbers at distance 2^(p-1), ..., 2, 1; k (k + 1) / 2 stages in all. Runs whose number has
bit p set go down. Their numbers are kept negated through the phase, so that everything goes up and a stage is

    u = lower - upper,  w = relu(u),  lower -= w,  upper += w

which makes lower the minimum and upper the maximum. Between phases those runs change sign that turn.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import InvalidArgument, WrongType
from ...circuits.minimax import minimax_relu, relu_error

Array = npt.NDArray[np.float64]

MAX_COUNT = 1 << 20
"""Numbers that a network may have."""
NOISE = 2.0**-16
"""Error of a stage beyond that of its polynomial: what bootstrapping leaves, and encryption."""
LEAST_SCALE = 0.5


@dataclasses.dataclass(frozen=True)
class Stage:
    """One step of the network: numbers whose index differs in `bit` only are compared."""

    phase: int
    bit: int

    @property
    def distance(self) -> int:
        """How far apart they are."""
        return 1 << self.bit

    @property
    def turns(self) -> bool:
        """Whether numbers change sign before it: the first stage of all phases but the first one."""
        return self.phase > 1 and self.bit == self.phase - 1


def check_count(count: Any) -> int:
    """How many numbers, if a network can sort so many."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise WrongType(f"sorting: count {count!r}, expected an integer")
    if not 2 <= count <= MAX_COUNT or count & (count - 1):
        raise InvalidArgument(
            f"sorting: {count} numbers; expected a power of two from 2 to {MAX_COUNT} (fill up with ones)"
        )
    return int(count)


def stages(count: int) -> list[Stage]:
    """The stages of the network, in order."""
    phases = check_count(count).bit_length()
    return [Stage(phase, bit) for phase in range(1, phases) for bit in reversed(range(phase))]


def directions(count: int, phase: int) -> Array:
    """1 for numbers of runs that go up in a phase, -1 for those of the others, which are kept negated."""
    return np.where(np.arange(count) >> phase & 1, -1.0, 1.0)


def turns(count: int, phase: int) -> Array:
    """What numbers are multiplied by before the first stage of a phase."""
    return directions(count, phase - 1) * directions(count, phase)


def lowers(count: int, bit: int) -> Array:
    """1 for the lower one of each pair of a stage, 0 for the upper one."""
    return np.where(np.arange(count) >> bit & 1, 0.0, 1.0)


def scale(count: int, alpha: int) -> float:
    """By what numbers in [0, 1] are multiplied, so that no error makes a difference exceed 1.

    Minima and maxima do not magnify errors, so after s stages a number is off by at most s e, with e that of
    one stage; 1 - 2 s e leaves room for two such errors.
    """
    steps = len(stages(count))
    found = 1 - 2 * steps * (relu_error(alpha) + NOISE)
    if found < LEAST_SCALE:
        raise InvalidArgument(
            f"sorting: alpha {alpha} is too coarse for {count} numbers: errors of {steps} stages could add "
            f"up to {steps * relu_error(alpha):.2g}; take a larger alpha"
        )
    return found


def check_numbers(values: Any, count: int) -> Array:
    """`count` finite numbers in [0, 1]."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise WrongType(f"sorting: no array of numbers ({error})") from None
    if array.shape != (count,):
        raise InvalidArgument(f"sorting: numbers of shape {array.shape}, expected ({count},)")
    wrong = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if len(wrong):
        raise InvalidArgument(
            f"sorting: number {wrong[0]} is {array[wrong[0]]}, expected numbers from 0 to 1: "
            "map yours to that interval, and the sorted ones back"
        )
    return array


def prepare(values: Any, count: int, alpha: int) -> Array:
    """What the client encrypts: scaled numbers, with the signs of the first phase."""
    return check_numbers(values, count) * scale(count, alpha) * directions(count, 1)


def restore(slots: npt.ArrayLike, count: int, alpha: int) -> Array:
    """Sorted numbers from what the client decrypts."""
    found: Array = np.real(np.asarray(slots))[:count] / scale(count, alpha)
    return found


def simulate(values: Any, alpha: int) -> Array:
    """What the encrypted sort gives without noise: the same polynomials, in the clear."""
    count = check_count(np.size(values))
    y = prepare(values, count, alpha)
    for stage in stages(count):
        if stage.turns:
            y = y * turns(count, stage.phase)
        pairs = y.reshape(-1, 2, stage.distance)  # lower ones, upper ones
        w = minimax_relu(pairs[:, 0] - pairs[:, 1], alpha)
        y = np.stack((pairs[:, 0] - w, pairs[:, 1] + w), axis=1).reshape(-1)
    return restore(y, count, alpha)


def disorder(found: Array) -> tuple[int, float]:
    """How many neighbours are in the wrong order, and by how much at most."""
    steps = -np.diff(found)
    wrong = steps[steps > 0]
    return len(wrong), float(wrong.max(initial=0.0))
