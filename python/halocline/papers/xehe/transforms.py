# SPDX-License-Identifier: Apache-2.0
"""Transforms of 4K to 32K points in batches: the paper's Figures 13 to 15 and 18."""

from __future__ import annotations

from ...bench.uniform_seal import uniform_ciphertext
from .rigs import Row, Step, chain, make_engine, timed

LOG_SIZES = (12, 13, 14, 15)
BATCHES = (1, 32, 1024)
"""Limbs, the paper's RNS size times instances."""
PRIME_BITS = 50


def time_transforms(device: str, step: Step, log_n: int, limbs: int, samples: int) -> Row:
    """Microseconds of that many forward transforms of one prime in one batch."""
    engine = make_engine(chain(1 << log_n, [PRIME_BITS, PRIME_BITS]), device, step)
    count = max(1, limbs // 2)
    work = [uniform_ciphertext(engine, 1, i, 1.0)._core for i in range(count)]  # two limbs each
    got = timed([engine], lambda _: engine._core.transform(work, False), samples, False)
    return {"log_n": log_n, "limbs": 2 * count, "step": step.name} | got
