# SPDX-License-Identifier: Apache-2.0
"""The errors of a bootstrap: what it forecasts, with the part that depends on the message taken from that."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from ..base.values import ComplexVector
from ..circuits.bootstrapping import Bootstrapper

_LARGER_PART = 1.13
"""Mean of the larger of two parts of a Gaussian error, in deviations of one: what forecasts are about."""


@functools.lru_cache(maxsize=8)
def _exponents(slots: int) -> npt.NDArray[np.int64]:
    """5^k modulo 4 slots, for each slot."""
    powers = np.empty(slots, dtype=np.int64)
    power = 1
    for k in range(slots):
        powers[k] = power
        power = power * 5 % (4 * slots)
    return powers


def coefficients_of(values: ComplexVector) -> ComplexVector:
    """w_j + i w_(j+n) of a message with n slots: see `Bootstrapper.largest_coefficient`."""
    slots = len(values)
    at_exponents = np.zeros(4 * slots, dtype=np.complex128)
    at_exponents[_exponents(slots)] = values
    found: ComplexVector = np.fft.fft(at_exponents)[:slots] / slots
    return found


def values_of(coefficients: ComplexVector) -> ComplexVector:
    """Slots of a message with these coefficients."""
    slots = len(coefficients)
    padded = np.zeros(4 * slots, dtype=np.complex128)
    padded[:slots] = coefficients
    found: ComplexVector = np.fft.ifft(padded)[_exponents(slots)] * (4 * slots)
    return found


@dataclasses.dataclass(frozen=True)
class BootstrapNoise:
    """What a bootstrapper adds to a message.

    EvalMod computes a sine instead of the reduction: a coefficient w of the message, which is a fraction f w
    of the modulus, comes out too small by (2 pi f)^2 w^3 / 6. The forecast of the bootstrapper has this for
    random slots in the unit disc (`circuits/bootstrap.cpp`); here it is computed of the message, and the rest
    of the forecast is Gaussian.
    """

    deviation: float
    """Of one part of the Gaussian error of a slot."""
    cubic: float
    """(2 pi f)^2 / 6; 0 where the arcsine corrects it, or iterations do."""
    first: bool
    """Whether coefficients go through EvalMod; with SlotToCoeff first, slots do."""

    @classmethod
    def of(cls, bootstrapper: Bootstrapper) -> BootstrapNoise:
        """Of a bootstrapper."""
        options, slots = bootstrapper.options, bootstrapper.slots
        first = options.order == "cts_first"
        deviation = 2.0 ** -float(bootstrapper.describe()["mean_bits"]) / _LARGER_PART
        if options.arcsine_degree or options.iterations > 1:
            return cls(deviation, 0.0, first)
        fraction = float(bootstrapper.describe()["unit_fraction"])
        cubic = (2.0 * math.pi * fraction) ** 2 / 6.0
        random = math.sqrt(15.0 * slots) * (4.0 * slots) ** -1.5 if first else 0.28
        rest = deviation**2 - (cubic * random) ** 2
        return cls(math.sqrt(max(rest, 0.0)), cubic, first)

    def error_of(self, values: ComplexVector) -> ComplexVector:
        """The error of the sine for a message: the same under every key."""
        inner = coefficients_of(values) if self.first else values
        cubes = inner.real**3 + 1j * inner.imag**3
        error = (-self.cubic * cubes).astype(np.complex128)
        return values_of(error) if self.first else error
