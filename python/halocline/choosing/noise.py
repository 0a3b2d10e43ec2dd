# SPDX-License-Identifier: Apache-2.0
"""The noise that operations add, by the formulas of docs/concepts/error_budget.md, drawn for numbers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.values import ComplexVector
from ..ckks.params import Params

Rows = npt.NDArray[np.complex128]
"""Values of a ciphertext, (rows, slots): row 0 without noise, each further one under another secret key."""

FACTOR_BITS = 36
"""Changes of level multiply by integer factors of at least so many bits."""


class NoiseModel:
    """Variances of error coefficients for one parameter set.

    Symbols as in the error budget: N ring degree, h non-zeros of the secret, sigma deviation of fresh errors,
    D_j product of the primes of digit j at a level, P product of the special primes.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        fields: dict[str, Any] = json.loads(params.to_json(0))
        self.sigma = float(fields["error_stddev"])
        sparse = fields["secret"]["kind"] == "sparse"
        self.weight = float(fields["secret"].get("hamming_weight", 0)) if sparse else 2.0 * params.n / 3.0
        self._special = int(fields["special_primes"])
        self._digit = int(fields["digit_size"])
        self._bits = [math.log2(prime) for prime in params.primes]
        self._terminals = max(row.terminals for row in params.levels)
        self._switches: dict[int, float] = {}

    def fresh(self, public: bool) -> float:
        """Of a fresh encryption, with its encoding."""
        public_part = 2.0 * self.params.n / 3.0 + self.weight if public else 0.0
        return self.sigma**2 * (1.0 + public_part) + 1.0 / 12.0

    def key_switch(self, level: int) -> float:
        """Of the key product of a key switch at a level (S), without the division that follows it (R)."""
        if level not in self._switches:
            row = self.params.levels[level]
            first = self._special + self._terminals - row.terminals
            digits: dict[int, float] = {}
            for index in range(first, first + row.primes):
                digit = (index - self._special) // self._digit
                digits[digit] = digits.get(digit, 0.0) + self._bits[index]
            special = sum(self._bits[: self._special])
            ratio = sum(4.0 ** (bits - special) for bits in digits.values())
            self._switches[level] = self.params.n * self.sigma**2 * ratio / 12.0
        return self._switches[level]

    def rounding(self) -> float:
        """Of a division by primes (R)."""
        return (1.0 + self.weight) / 12.0


class NoiseSource:
    """Draws errors of slots, deterministic by its seed.

    rows: 1 without noise and `rows - 1` with it. The error of a division is r_0 + r_1 s with the secret s,
    whose value in a slot stays the same in all operations, so slots where it is large always have larger
    errors; each row draws such values. Where a ciphertext has fewer slots than the ring, 2 `slots`
    coefficients of the error reach them, and a slot averages over several values of s.
    """

    def __init__(self, model: NoiseModel, rows: int, seed: int) -> None:
        self.model = model
        self.rows = rows
        self._random = np.random.default_rng(seed)
        self._gains: dict[int, npt.NDArray[np.float64]] = {}

    def _normal(self, slots: int) -> Rows:
        """Complex, of mean square 1; row 0 is 0."""
        made = np.zeros((self.rows, slots), dtype=np.complex128)
        parts = self._random.standard_normal((2, self.rows - 1, slots), dtype=np.float32)
        made.real[1:] = parts[0]
        made.imag[1:] = parts[1]
        made *= math.sqrt(0.5)
        return made

    def _gain(self, slots: int) -> npt.NDArray[np.float64]:
        """|s|^2 / h in each slot and row."""
        if slots not in self._gains:
            cosets = self.model.params.slots // slots
            self._gains[slots] = self._random.gamma(cosets, 1.0 / cosets, (self.rows, slots))
        return self._gains[slots]

    def coefficients(self, variance: float, slots: int, scale: float) -> Rows:
        """Independent coefficients of a variance: an encryption, an encoding."""
        return self._normal(slots) * (math.sqrt(2.0 * slots * variance) / scale)

    def division(self, slots: int, scale: float, count: float = 1.0) -> Rows:
        """Of `count` divisions by primes, whose result has this scale."""
        gain = (1.0 + self.model.weight * self._gain(slots)) / 12.0
        return self._normal(slots) * np.sqrt(gain * (2.0 * slots * count)) / scale

    def key_switch(self, level: int, slots: int, scale: float) -> Rows:
        """Of a key switch at a level: key product, then division."""
        cosets = self.model.params.slots // slots
        gain = self._random.gamma(cosets, 1.0 / cosets, (self.rows, slots))
        deviation = np.sqrt(gain * (2.0 * slots * self.model.key_switch(level))) / scale
        return self._normal(slots) * deviation + self.division(slots, scale)

    def shaped(self, variance: npt.NDArray[np.float64]) -> Rows:
        """Independent complex errors with the given mean square in each slot."""
        return self._normal(variance.shape[-1]) * np.sqrt(variance)

    def encoded(self, values: ComplexVector, slots: int, scale: float) -> Rows:
        """Values padded with zeros to all slots, as an encoding at this scale has them."""
        made = np.zeros((self.rows, slots), dtype=np.complex128)
        made[:, : len(values)] = values
        return made + self.coefficients(1.0 / 12.0, slots, scale)

    def factor(self, bits: float) -> npt.NDArray[np.complex128]:
        """1 with the relative error of an integer factor of so many bits, for each row."""
        error = self._random.uniform(-0.5, 0.5, (self.rows, 1)) * 2.0**-bits
        error[0] = 0.0
        return (1.0 + error).astype(np.complex128)
