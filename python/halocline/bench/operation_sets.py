# SPDX-License-Identifier: Apache-2.0
"""Parameter sets whose single operations are timed; `operations.py` says where they come from."""

from __future__ import annotations

from typing import Any

DEFAULT_SAMPLES = 21
"""Timed samples of each operation."""

_MAIN_BITS = 29.64

FIELDS: dict[str, dict[str, Any]] = {
    "w32-47": {
        "log_n": 16,
        "word_bits": 32,
        "main_bits": _MAIN_BITS,
        "terminal_bits": _MAIN_BITS * 2 / 3,
        "scale_bits": _MAIN_BITS * 4 / 3,
        "base_bits": _MAIN_BITS * 7 / 3,
        "depth": 33,
        "special_primes": 12,
        "special_bits": 30,
        "digit_size": 12,
    },
    "w64-28": {
        "log_n": 16,
        "word_bits": 64,
        "main_bits": 0,
        "terminal_bits": 0,
        "scale_bits": 49,
        "base_bits": 52,
        "depth": 27,
        "special_primes": 7,
        "special_bits": 50,
        "digit_size": 7,
    },
}
"""Set -> fields of its parameters."""
