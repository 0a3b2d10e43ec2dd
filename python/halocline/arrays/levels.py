# SPDX-License-Identifier: Apache-2.0
"""Levels of operations that cost several: bootstraps before them, and operands brought down."""

from __future__ import annotations

from typing import Any

from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray


def make_ready(x: EncryptedArray, levels: int) -> None:
    """Lets an engine with automatic bootstraps do them now where an operation needs so many levels."""
    engine: Any = x.engine
    if engine._refreshes is not None:
        engine._refreshes.ready(x.parts, levels)


def at_level(ct: Ciphertext, level: int) -> Ciphertext:
    """The ciphertext brought down to a level."""
    return ct if ct.level == level else ct.drop_level(level)
