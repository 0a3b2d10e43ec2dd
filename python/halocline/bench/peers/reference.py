# SPDX-License-Identifier: Apache-2.0
"""Figures of peers built from source, measured once on another machine: printed beside, never compared.

The wheels of a run are portable builds. SEAL with Intel HEXL and OpenFHE built with -march=native are faster
and not to be had as wheels, so these figures say what a careful build on similar hardware reaches.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import sets


@dataclasses.dataclass(frozen=True)
class Reference:
    """Medians in milliseconds of one build on one thread, by set and operation."""

    key: str
    """Name in JSON, to which `_reference_ms` is added."""
    title: str
    build: str
    runs: dict[str, int]
    milliseconds: dict[str, dict[str, float]]

    def lookup(self, peer_set: str, operation: str) -> float | None:
        """The figure, or None where there is none."""
        return self.milliseconds.get(peer_set, {}).get(operation)


MEASURED = "2026-11-20"
MACHINE = (
    "2-core Sapphire Rapids class Xeon VM, 2.7 GHz nominal, AVX-512 with IFMA, 2 MiB L2 per core, 24 GiB; "
    "Debian 12, GCC 12.2, glibc 2.36"
)

_ORDER_SEAL = (
    sets.ENCODE,
    sets.DECODE,
    sets.ENCRYPT,
    sets.DECRYPT,
    sets.ADD,
    sets.MULTIPLY_PLAIN,
    sets.MULTIPLY,
    sets.RELINEARIZE,
    sets.RESCALE,
    sets.MULTIPLY_FULL,
    sets.ROTATE,
)


def _seal(n14: tuple[float, ...], n15: tuple[float, ...]) -> dict[str, dict[str, float]]:
    return {
        "n14-d6": dict(zip(_ORDER_SEAL, n14, strict=True)),
        "n15-d16": dict(zip(_ORDER_SEAL, n15, strict=True)),
    }


_SEAL_RUNS = {"n14-d6": 41, "n15-d16": 21}
_SEAL_SETS = "primes {60, 40x6, 60} and {60, 40x16, 60}, scale 2^40, add into a third ciphertext"

REFERENCES = (
    Reference(
        "seal_default",
        "SEAL, -O3",
        f"Microsoft SEAL 4.4.3, Release, no HEXL; {_SEAL_SETS}",
        _SEAL_RUNS,
        _seal(
            (1.82, 4.85, 9.77, 0.377, 0.277, 0.598, 1.17, 12.9, 2.41, 16.7, 13.2),
            (9.24, 46.2, 50.4, 2.08, 1.51, 3.38, 5.87, 156, 13.2, 173, 152),
        ),
    ),
    Reference(
        "seal_hexl",
        "SEAL, HEXL",
        "Microsoft SEAL 4.4.3, Release, -march=native, Intel HEXL 1.2.6 with AVX512DQ, IFMA and VBMI2; "
        + _SEAL_SETS,
        _SEAL_RUNS,
        _seal(
            (0.73, 4.12, 4.08, 0.194, 0.242, 0.253, 0.410, 6.42, 1.06, 8.05, 6.73),
            (3.59, 41.8, 19.6, 1.03, 1.22, 1.40, 1.96, 74.0, 5.55, 81.1, 74.4),
        ),
    ),
    Reference(
        "openfhe",
        "OpenFHE, dnum 6",
        "OpenFHE 1.5.1, Release, -O3 -march=native, no HEXL; N=2^15, depth 16, scale 2^40, first modulus "
        "60 bits, dnum 6, log PQ 880, FIXEDMANUAL, uniform ternary secret, add into a new ciphertext, "
        "rescale in place",
        {"n15-d16": 11},
        {
            "n15-d16": {
                sets.ENCODE: 10.1,
                sets.ENCRYPT: 44.5,
                sets.DECRYPT_DECODE: 62.4,
                sets.ADD: 4.53,
                sets.MULTIPLY_PLAIN: 6.04,
                sets.MULTIPLY: 8.33,
                sets.RESCALE: 17.8,
                sets.MULTIPLY_FULL: 162,
                sets.ROTATE: 137,
            }
        },
    ),
)


def provenance() -> dict[str, Any]:
    """Where the figures come from, for JSON."""
    return {
        "of_this_run": False,
        "measured": MEASURED,
        "machine": MACHINE,
        "threads": 1,
        "builds": {each.key: {"build": each.build, "runs": each.runs} for each in REFERENCES},
    }
