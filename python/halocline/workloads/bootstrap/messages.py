# SPDX-License-Identifier: Apache-2.0
"""Random messages for bootstraps, bootstrappers for them, and how precise results are."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...circuits.bootstrapping import Bootstrapper
from ...ckks.params import Params

Vector = npt.NDArray[np.complex128]


def disc(count: int, seed: int) -> Vector:
    """Uniform random points of the unit disc."""
    random = np.random.default_rng(seed)
    radius = np.sqrt(random.uniform(0, 1, count))
    points: Vector = radius * np.exp(2j * np.pi * random.uniform(0, 1, count))
    return points


def random_bound(slots: int) -> float:
    """A bound for the coefficients of these messages: a power of two, 45 standard deviations or 1.

    Random messages in the unit disc have coefficients of 1 / (2 sqrt(slots)).
    """
    return float(2.0 ** min(0, math.ceil(math.log2(22.5 / math.sqrt(slots)))))


def make_bootstrapper(params: Params, chosen: Mapping[str, Any]) -> Bootstrapper:
    """A bootstrapper for random messages in the unit disc, whose bound is chosen unless it is given.

    chosen: fields of `BootstrapOptions`. With SlotToCoeff first the slots themselves are reduced, which may
    be as large as 1.
    """
    slots_first = chosen.get("order") == "stc_first"
    bound = 1.0 if slots_first else random_bound(chosen.get("slots") or params.slots)
    return Bootstrapper(params, **({"message_bound": bound} | dict(chosen)))


def random_message(bootstrapper: Bootstrapper, seed: int) -> Vector:
    """A message for it: random points of the unit disc, on the real line where only that is kept."""
    made = disc(bootstrapper.slots, seed)
    return made.real.astype(np.complex128) if bootstrapper.options.real else made


def bits(error: float) -> float:
    """-log2 of an error."""
    return -math.log2(max(error, sys.float_info.min))


def largest_part(error: Vector) -> npt.NDArray[np.float64]:
    """The larger error of both parts of each slot."""
    larger: npt.NDArray[np.float64] = np.maximum(np.abs(error.real), np.abs(error.imag))
    return larger
