# SPDX-License-Identifier: Apache-2.0
"""The interface of a library in the comparison, and the check of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...base.errors import Error
from . import sets

Values = npt.NDArray[np.float64]

TOLERANCE = 2.0**-14
"""Largest error of a slot that passes for correct. The worst that is usual, that of a rotation, is 2^-17."""


class Side(Protocol):
    """One library with keys and operands of one parameter set.

    The operands are encodings and public-key encryptions of the vectors x and y at the highest level.
    """

    @property
    def label(self) -> str:
        """Name of the library, with its version."""
        ...

    @property
    def log_q(self) -> float:
        """Bits of the ciphertext modulus at the highest level."""
        ...

    @property
    def log_pq(self) -> float:
        """Bits of the modulus of evaluation keys; NaN where the library does not tell."""
        ...

    @property
    def calls(self) -> Mapping[str, Callable[[], Any]]:
        """Operation name -> call that makes a new result; operations that the library lacks are missing."""
        ...

    def reveal(self, result: Any) -> Values:
        """Slots of what one of `calls` returned: decrypted, decoded."""
        ...


def operands(slots: int) -> tuple[Values, Values]:
    """x and y: fixed random values in [-1, 1]."""
    generator = np.random.default_rng(20)
    return generator.uniform(-1, 1, slots), generator.uniform(-1, 1, slots)


def expected_values(x: Values, y: Values) -> dict[str, Values]:
    """What every operation must give."""
    product = x * y
    same = (
        sets.ENCODE,
        sets.ENCRYPT,
        sets.ENCRYPT_SYMMETRIC,
        sets.DECRYPT,
        sets.DECODE,
        sets.DECRYPT_DECODE,
    )
    products = (sets.MULTIPLY_PLAIN, sets.MULTIPLY, sets.RELINEARIZE, sets.RESCALE, sets.MULTIPLY_FULL)
    return (
        dict.fromkeys(same, x)
        | dict.fromkeys(products, product)
        | {sets.ADD: x + y, sets.ROTATE: np.roll(x, -1)}
    )


def verify(side: Side, expected: Mapping[str, Values]) -> float:
    """Runs every operation once and returns the largest error of a slot. Raises Error above `TOLERANCE`."""
    worst = 0.0
    for name, call in side.calls.items():
        error = float(np.max(np.abs(side.reveal(call()) - expected[name])))
        if not error <= TOLERANCE:
            raise Error(
                f"bench peers: {side.label}: '{name}' is wrong by {error:.3g}, expected at most "
                f"{TOLERANCE:.3g}; nothing was timed"
            )
        worst = max(worst, error)
    return worst
