# SPDX-License-Identifier: Apache-2.0
"""Parameter sets for a depth, a scale and a ring degree: the smallest ones that are secure."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

from ..base.errors import Error
from ..ckks.params import Params, preset_names

EASY_SCALES = (39.0, 40.0)
"""Bits for which there are enough primes of 32 bits (39: in rings up to 2^14); tried for smaller scales."""
LOG_N = range(12, 18)
"""Base-2 logarithms of ring degrees with published bounds that leave room for a level."""
SPECIAL_BITS = 30.0
"""Of special primes in words of 32 bits."""
WIDE_SPECIAL_BITS = 60.5
"""Of special primes in words of 64 bits."""
MOST_SPECIAL, MOST_DIGIT, MOST_PRIMES = 48, 64, 256
"""Limits of parameter sets."""
MOST_DEPTH = 127
"""Levels that parameter sets may have."""
MOST_TERMINALS = 8
SPLITS = 4
"""Ways to split primes into digits that are tried, as some have no primes of the right sizes."""


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What parameters must have."""

    depth: int
    """Levels of a fresh ciphertext."""
    scale_bits: float
    """At least so many."""
    room_bits: float
    """The modulus of level 0 over the scale, at least 1: values up to 2^(room_bits - 1)."""


@functools.cache
def largest_modulus(log_n: int) -> float:
    """log2 of the largest modulus with 128 bits of security for a ternary secret."""
    fields: dict[str, Any] = {"log_n": log_n, "depth": 0, "word_bits": 64, "scale_bits": 30, "base_bits": 40}
    return Params(**fields, special_bits=41, allow_insecure=True).max_log2_pq


def narrow_primes(scale_bits: float) -> tuple[float, float, float] | None:
    """Scale, main and terminal bits in words of 32 bits: the least scale from the given one on with a form.

    All moduli must be sums of mains of at most 30 bits and a few terminals of at least 19.5 bits.
    """
    forms = (
        (21.0, 30.0, 1.0, None),
        (31.5, 36.0, 2.0 / 3.0, 5.0 / 6.0),
        (39.0, 40.0, 0.75, 0.5),
        (40.0, 45.0, 2.0 / 3.0, 0.5),
        (45.0, 50.0, 0.6, 0.5),
        (50.0, 60.0, 0.5, None),
    )
    for low, high, main, terminal in forms:
        if scale_bits <= high:
            scale = max(scale_bits, low)
            return scale, main * scale, 20.0 if terminal is None else terminal * scale
    return None


def _narrow_base(least: float, main: float, terminal: float, pure: bool) -> float:
    """The least sum of mains and terminals from `least` bits on; pure: of mains only."""
    sums = (
        m * main + t * terminal
        for t in range(1 if pure else MOST_TERMINALS // 2)
        for m in range(1, 6)
        if m * main + t * terminal >= least
    )
    return min(sums)


def _splits(
    log2_q: float, prime: float, excess: float, primes: int, special_bits: float, log_n: int
) -> Iterator[tuple[float, int, int]]:
    """Work of a key switch, special primes and digit size of every split that is secure.

    prime: bits of a prime; excess: that one prime has more. The product of a digit may exceed that of the
    special primes by a bit.
    """
    room = largest_modulus(log_n) - log2_q
    for digit in range(1, min(primes, MOST_DIGIT) + 1):
        special = max(1, math.ceil((digit * prime + excess - 1.0) / special_bits))
        if special > MOST_SPECIAL or special * special_bits > room or special + primes > MOST_PRIMES:
            continue
        yield math.ceil(primes / digit) * (special + primes), special, digit


def literals(log_n: int, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Fields of secure parameter sets of one ring degree, in words of 32 and of 64 bits.

    Those with the least work of key switches come first, of both sizes of words in turn.
    """
    found: list[tuple[int, dict[str, Any]]] = []
    scales = (wanted.scale_bits, *(each for each in EASY_SCALES if each > wanted.scale_bits))
    narrow = [_narrow(dataclasses.replace(wanted, scale_bits=each)) for each in scales]
    for fields, bits, primes in (*narrow, _wide(wanted)):
        if fields is None:
            continue
        prime = fields["main_bits"] or fields["scale_bits"]
        excess = fields["base_bits"] - prime if fields["word_bits"] == 64 else 0.0
        splits = sorted(_splits(bits, prime, excess, primes, fields["special_bits"], log_n))
        for rank, (_, special, digit) in enumerate(splits[:SPLITS]):
            more = {"log_n": log_n, "special_primes": special, "digit_size": digit}
            found.append((rank, fields | more))
    yield from (fields for _, fields in sorted(found, key=lambda each: each[0]))


def _narrow(wanted: Wanted) -> tuple[dict[str, Any] | None, float, int]:
    """Fields in words of 32 bits, log2 of the modulus, number of primes."""
    form = narrow_primes(wanted.scale_bits)
    if form is None:
        return None, 0.0, 0
    scale, main, terminal = form
    pure = scale <= 30.0 or scale > 50.0
    base = _narrow_base(scale + wanted.room_bits, main, terminal, pure)
    bits = base + wanted.depth * scale
    fields = {
        "word_bits": 32, "scale_bits": scale, "base_bits": base, "depth": wanted.depth, "main_bits": main,
        "terminal_bits": terminal, "special_bits": SPECIAL_BITS,
    }  # fmt: skip
    return fields, bits, math.ceil(bits / main)


def _wide(wanted: Wanted) -> tuple[dict[str, Any] | None, float, int]:
    """The same in words of 64 bits."""
    scale = max(math.ceil(wanted.scale_bits), 28)
    base = scale + max(1, math.ceil(wanted.room_bits))
    if scale > 59 or base > 61:
        return None, 0.0, 0
    special = min(61.0, max(WIDE_SPECIAL_BITS, base + 0.0))
    fields = {
        "word_bits": 64, "scale_bits": float(scale), "base_bits": float(base), "depth": wanted.depth,
        "main_bits": 0, "terminal_bits": 0, "special_bits": special,
    }  # fmt: skip
    return fields, base + float(wanted.depth * scale), wanted.depth + 1


def secure_params(log_n: int, wanted: Wanted) -> Iterator[Params]:
    """A checked parameter set for each size of words; none where the depth does not fit the ring."""
    made: set[int] = set()
    for fields in literals(log_n, wanted):
        if fields["word_bits"] in made:
            continue
        try:
            params = Params(**fields, name=name_of(fields))
        except Error:
            continue  # primes of these sizes, or a security a little short: the next split
        yield params
        made.add(params.word_bits)


def name_of(fields: dict[str, Any]) -> str:
    """A label such as n14-d6-s36."""
    wide = "-w64" if fields["word_bits"] == 64 else ""
    return f"n{fields['log_n']}-d{fields['depth']}-s{fields['scale_bits']:g}{wide}"


def probe_params(log_n: int, depth: int) -> Params:
    """Insecure parameters with many levels, for ghosts and numbers only."""
    return Params(
        name=f"probe-n{log_n}-d{depth}", log_n=log_n, word_bits=64, scale_bits=40, base_bits=60, depth=depth,
        main_bits=0, terminal_bits=0, special_primes=1, special_bits=60.5, digit_size=1, allow_insecure=True,
    )  # fmt: skip


@functools.cache
def secure_presets(bootstrapping: bool) -> tuple[Params, ...]:
    """Presets with 128 bits of security, with or without levels for bootstrapping, small ones first."""
    found = []
    for name in preset_names():
        try:
            params = Params.preset(name)
        except Error:
            continue
        if (params.bootstrapping is not None) == bootstrapping:
            found.append(params)
    return tuple(sorted(found, key=lambda each: (each.log_n, each.log2_pq)))
