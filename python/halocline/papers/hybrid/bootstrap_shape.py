# SPDX-License-Identifier: Apache-2.0
"""A program with the shape of CKKS bootstrapping: which buffers it touches and when, without its constants.

Bootstrapping (Cheon, Han, Kim, Kim, Song, EUROCRYPT 2018) raises a ciphertext to the highest level, moves its
coefficients into slots, reduces them modulo q by a polynomial, and moves them back. Here the two homomorphic
Fourier transforms have three sparse factors each, evaluated with baby steps and giant steps (Chen,
Chillotti, Song, EUROCRYPT 2019); the reduction is a Chebyshev polynomial followed by double-angle squarings
(Han, Ki, CT-RSA 2020) on the real and on the imaginary half.

Only ghost engines execute it: diagonals and coefficients have the right number and place, and no meaning.
"""

from __future__ import annotations

import numpy as np

from ...base.errors import InvalidArgument
from ...circuits.polynomial import Polynomial
from ...circuits.transforms import LinearTransform
from ...ckks.ciphertext import Ciphertext
from ...ckks.params import Params
from ...engine.engine import Engine

FACTORS = 3
"""Sparse factors, and levels, of each Fourier transform."""
_DIAGONAL = np.array([1.0, 0.5])  # repeated over all slots: on a ghost engine contents do not matter


class BootstrapShape:
    """`refreshed = shape(ct)` on ghost engines of these parameters; `ct` has all slots and any level.

    degree: of the Chebyshev polynomial, 2^k - 1 to use all of its k levels.
    double_angles: squarings after the polynomial.
    compact: keep diagonals as coefficients and expand them at each use, instead of ready for the product.
    The result is `depth` levels below the highest one.
    """

    def __init__(
        self, params: Params, *, degree: int = 63, double_angles: int = 2, compact: bool = True
    ) -> None:
        self._params, self._double_angles = params, double_angles
        self._sine = Polynomial(np.ones(degree + 1), basis="chebyshev")
        if params.max_level < self.depth:
            raise InvalidArgument(
                f"bootstrap shape: needs {self.depth} levels, '{params.name}' has {params.max_level}"
            )
        diagonals = fourier_factors(params.slots.bit_length() - 1)
        transforms = [
            LinearTransform(dict.fromkeys(steps, _DIAGONAL), slots=params.slots, mode="bsgs", compact=compact)
            for steps in diagonals
        ]
        self._to_slots, self._to_coefficients = transforms, transforms[::-1]

    @property
    def depth(self) -> int:
        """Levels that it costs."""
        return 2 * FACTORS + self._sine.levels + self._double_angles

    def prepare(self, engine: Engine) -> None:
        """Encodes all diagonals now instead of at their first use."""
        for transforms, level in (
            (self._to_slots, self._params.max_level),
            (self._to_coefficients, self._params.max_level - self.depth + FACTORS),
        ):
            for number, transform in enumerate(transforms):
                transform.encode(engine, level - number)

    def __call__(self, ct: Ciphertext) -> Ciphertext:
        """The ciphertext that comes out."""
        engine = ct.engine
        if engine is None or not engine.is_ghost:
            raise InvalidArgument(
                "bootstrap shape: it has no meaningful constants; use it on a ghost engine only"
            )
        raised = engine.ghost_input()
        return self._slots_to_coefficients(engine, self._coefficients_to_slots(raised))

    def _coefficients_to_slots(self, ct: Ciphertext) -> tuple[Ciphertext, Ciphertext]:
        """Real and imaginary half."""
        for transform in self._to_slots:
            ct = transform(ct)
        conjugate = ct.conj()
        return ct + conjugate, (conjugate - ct).mul_i()

    def _reduced(self, engine: Engine, ct: Ciphertext) -> Ciphertext:
        ct = engine.polynomial(ct, self._sine)
        for _ in range(self._double_angles):
            square = ct * ct
            ct = square + square - 1.0
        return ct

    def _slots_to_coefficients(self, engine: Engine, halves: tuple[Ciphertext, Ciphertext]) -> Ciphertext:
        real, imaginary = (self._reduced(engine, each) for each in halves)
        ct = real + imaginary.mul_i()
        for transform in self._to_coefficients:
            ct = transform(ct)
        return ct


def fourier_factors(log_slots: int) -> list[list[int]]:
    """Numbers of the non-zero diagonals of each factor, from the largest stride down.

    A factor of radix r and stride s has the diagonals -(r - 1) s, ..., (r - 1) s; those of the largest stride
    wrap around, so that r remain.
    """
    share, rest = divmod(log_slots, FACTORS)
    logs = [share + (number < rest) for number in range(FACTORS)]
    stride = 1 << log_slots
    factors = []
    for number, log_radix in enumerate(logs):
        stride >>= log_radix
        radix = 1 << log_radix
        first = 0 if number == 0 else 1 - radix
        factors.append([stride * j for j in range(first, radix)])
    return factors
