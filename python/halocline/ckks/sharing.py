# SPDX-License-Identifier: Apache-2.0
"""Decrypted results that leave the client: how much noise hides the error of the computation.

A CKKS result is the message plus an error that depends on the secret key, so published results can reveal the
key (Li and Micciancio, Eurocrypt 2021). Gaussian noise on the coefficients hides the error (Li, Micciancio,
Schultz, Sorrell, Crypto 2022, ePrint 2022/816). The derivation is in docs/concepts/sharing_results.md.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import threading
from typing import Any, Protocol

import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..base.values import expect, integer, positive
from .ciphertext import Ciphertext
from .params import Params, expect_same

STATISTICAL_BITS = 30.0
"""Default statistical security: the least that the literature uses for flooding."""

MAX_STATISTICAL_BITS = 256.0
"""Far beyond what the sampler and the modulus have room for."""

MAX_SLOTS = 1 << 16
"""Slots of the largest ring."""
MAX_QUERIES = 1 << 62
"""Results that one secret key can be asked for."""

TAIL_BITS = 128
"""Error norms are bounded but for a probability of 2^-128."""


@dataclasses.dataclass(frozen=True)
class Flooding:
    """Noise for one result that leaves the client."""

    error_bound: float
    """Bound on the error that it hides: largest magnitude of the complex error of a slot."""
    queries: int
    """Results under one secret key for which the security holds, taken together."""
    statistical_bits: float
    """Statistical security of all of them together, in bits."""
    flooding_bits: float
    """Base-2 logarithm of the standard deviation of the noise of a coefficient, in encoded integers."""
    slot_stddev: float
    """Standard deviation of the noise of the real, and of the imaginary, part of a slot."""

    @property
    def precision_bits(self) -> float:
        """Bits behind the binary point that are left: -log2 of `slot_stddev`."""
        return -math.log2(self.slot_stddev)


@dataclasses.dataclass(frozen=True)
class SharedResult:
    """What `Client.decrypt_for_sharing` returns. Only `values` and `flooding` may be shared."""

    values: npt.NDArray[Any]
    """The slots, with noise."""
    flooding: Flooding
    """How much noise they have, and for which guarantee. Holds no secret."""


def plan_flooding(
    scale: float,
    slots: int,
    error_bound: float,
    *,
    queries: int = 1,
    statistical_bits: float = STATISTICAL_BITS,
) -> Flooding:
    """The noise that a result of this scale and number of slots needs.

    sigma = sqrt(12 queries) 2^(statistical_bits / 2) scale error_bound: the Kullback-Leibler divergence of
    all results together from results without the error is then at most 2^-statistical_bits / 24.

    Raises InvalidArgument for a bound below the rounding of one coefficient vector to integers, which no
    ciphertext of this scale keeps.
    """
    scale = positive(scale, "plan_flooding: scale")
    slots = integer(slots, "plan_flooding: slots", 1, MAX_SLOTS)
    bound = positive(error_bound, "plan_flooding: error_bound")
    count = integer(queries, "plan_flooding: queries", 1, MAX_QUERIES)
    bits = positive(statistical_bits, "plan_flooding: statistical_bits")
    if bits > MAX_STATISTICAL_BITS:
        raise InvalidArgument(
            f"plan_flooding: statistical_bits is {bits:g}, expected at most {MAX_STATISTICAL_BITS:g}"
        )
    if not math.isfinite(scale * bound):
        raise InvalidArgument(
            f"plan_flooding: scale {scale:g} times error_bound {bound:g} is no finite number"
        )
    rounding = math.sqrt(2 * slots / 12) / scale
    if bound < rounding:
        raise InvalidArgument(
            f"error_bound is {bound:.3g}, expected at least {rounding:.3g}: with {slots} slots at scale "
            f"2^{math.log2(scale):.1f} rounding to integers alone errs by that; give the largest magnitude "
            "of the error in units of the message, for instance what halocline.measure_error_bound returns"
        )
    flooding_bits = math.log2(12 * count) / 2 + bits / 2 + math.log2(scale * bound)
    slot_stddev = 2.0**flooding_bits * math.sqrt(slots) / scale
    return Flooding(bound, count, bits, flooding_bits, slot_stddev)


def fresh_error_bound(
    params: Params,
    *,
    slots: int | None = None,
    level: int | None = None,
    scale: float | None = None,
    public: bool = False,
) -> float:
    """Bound on the error of a ciphertext that nothing was computed with, in units of the message.

    It bounds the root mean square over the slots, all that the width of the noise depends on, but for a
    probability of about 2^-128. `slots`, `level` and `scale` are those of `Client.encrypt`; `public`:
    encrypted with the public key.
    """
    expect(params, Params, "fresh_error_bound")
    count = params.slots if slots is None else integer(slots, "fresh_error_bound: slots", 1, params.slots)
    chosen = params._level(level)
    used = params.level(chosen).scale if scale is None else positive(scale, "fresh_error_bound: scale")
    # Norm of a Gaussian vector of n entries: at most sqrt(n) + x but for exp(-x^2 / 2); then the rounding.
    root = math.sqrt(2 * count)
    tail = math.sqrt(2 * math.log(2) * TAIL_BITS)
    variance = float(json.loads(params.to_json())["error_stddev"]) ** 2
    widening = 1.0
    if public:
        # e_0 + u e + e_1 s, both u and s ternary: at most 2 N / 3 expected, N possible. The products are not
        # independent over the coefficients; twice the norm allows for that.
        variance *= 1 + 2 * params.n
        widening = 2.0
    found = (widening * math.sqrt(variance) * (root + tail) + root / 2) / used
    if not math.isfinite(found):
        raise InvalidArgument(f"fresh_error_bound: scale {used:g} is too small for a finite bound")
    return found


class Decrypts(Protocol):
    """The interface of a client for shared results."""

    @property
    def params(self) -> Params:
        """Parameters of what it decrypts."""

    def decrypt(
        self, ciphertext: Ciphertext, *, real: bool | None = None, flooding_bits: float = 0.0
    ) -> npt.NDArray[Any]:
        """See `Client.decrypt`."""


class Ledger:
    """What the shared results of one client have cost so far. Safe for threads; not for forked children."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent = 0.0
        self._limit = math.inf
        self._process = os.getpid()

    def charge(self, flooding: Flooding) -> None:
        """Takes the share of one result; InvalidArgument when that breaks a guarantee.

        Divergences add up: each result costs 2^-statistical_bits / queries (times 1/24). The strictest
        guarantee counts, of this result or of an earlier one: what was promised for that holds for all.
        """
        if os.getpid() != self._process:  # before the lock, which a thread of the parent may hold for good
            raise InvalidArgument(
                "decrypt_for_sharing: this client was made before a fork, and its parent counts what is "
                "shared; share results in the process that made the client"
            )
        cost = 2.0**-flooding.statistical_bits / flooding.queries
        with self._lock:
            after = self._spent + cost
            limit = min(self._limit, 2.0**-flooding.statistical_bits)
            if after > limit * (1 + 1e-9):
                raise InvalidArgument(
                    f"decrypt_for_sharing: with the results that this client has shared already, "
                    f"{-math.log2(limit):g} bits of security cannot be kept by noise of "
                    f"{flooding.statistical_bits:g} bits for {flooding.queries} results in all; give from "
                    "the first call on the number of results that will ever be shared under this secret key "
                    "as queries, and the same statistical_bits, or make a new key"
                )
            self._spent, self._limit = after, limit


def decrypt_for_sharing(
    client: Decrypts,
    ledger: Ledger,
    ciphertext: Ciphertext,
    *,
    error_bound: float | None,
    queries: int,
    statistical_bits: float,
    magnitude: float,
    real: bool | None,
) -> SharedResult:
    """See `Client.decrypt_for_sharing`."""
    ct = expect(
        ciphertext, Ciphertext, "decrypt_for_sharing", "of an encrypted array pass each of array.parts"
    )
    expect_same(client.params, [("the ciphertext", ct.params)], "decrypt_for_sharing")
    bound = _fresh_bound(ct) if error_bound is None else error_bound
    chosen = plan_flooding(ct.scale, ct.slots, bound, queries=queries, statistical_bits=statistical_bits)
    largest = positive(magnitude, "decrypt_for_sharing: magnitude")
    if chosen.slot_stddev > largest / 2:
        raise InvalidArgument(
            f"decrypt_for_sharing: noise of standard deviation {chosen.slot_stddev:.3g} in every slot would "
            f"leave nothing of values up to {largest:g}; expected at most half of that. Use parameters with "
            "a larger scale, fewer slots or queries, a program with a smaller error, or say magnitude= if "
            "values are larger"
        )
    _expect_room(ct, chosen)
    ledger.charge(chosen)
    values = client.decrypt(ct, real=real, flooding_bits=chosen.flooding_bits)
    return SharedResult(values, chosen)


def _fresh_bound(ct: Ciphertext) -> float:
    if not ct._core.seeded:
        raise InvalidArgument(
            "decrypt_for_sharing: the error of a computed ciphertext is not known; give error_bound=, the "
            "largest magnitude of the error of a slot: halocline.measure_error_bound(params, program, "
            "inputs) measures one, docs/concepts/error_budget.md computes one"
        )
    return fresh_error_bound(ct.params, slots=ct.slots, level=ct.level, scale=ct.scale)


def _expect_room(ct: Ciphertext, chosen: Flooding) -> None:
    """Noise must fit the modulus with the message, and the sampler."""
    most = min(50.0, ct.params.level(ct.level).log2_modulus - 6)
    if not 0 < chosen.flooding_bits <= most:
        raise InvalidArgument(
            f"decrypt_for_sharing: the noise needs a standard deviation of 2^{chosen.flooding_bits:.1f} in "
            f"the coefficients; expected at most 2^{most:.1f} at level {ct.level}; use fewer queries or "
            "statistical bits, or a result with a smaller error"
        )
