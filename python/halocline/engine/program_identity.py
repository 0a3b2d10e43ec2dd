# SPDX-License-Identifier: Apache-2.0
"""What makes two calls of a program the same: its arguments by shape."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..ckks.ciphertext import Ciphertext

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _shape_of(value: Any) -> Hashable:
    """What of an argument can change what a program touches."""
    if isinstance(value, Ciphertext):
        return ("ciphertext", value.level, value.scale, value.slots, value.is_real)
    if isinstance(value, list | tuple):
        return (type(value).__name__, *(_shape_of(each) for each in value))
    if isinstance(value, dict):
        return ("dict", *((key, _shape_of(each)) for key, each in value.items()))
    if isinstance(value, np.ndarray):
        return ("array", value.shape, str(value.dtype))
    if isinstance(value, int | float | complex | str | bytes | bool | None):
        return value
    return (type(value).__name__, id(value))
