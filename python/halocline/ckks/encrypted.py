# SPDX-License-Identifier: Apache-2.0
"""Refuses what only looks like a ciphertext."""

from __future__ import annotations

from typing import Any

from .._core import Ciphertext as NativeCiphertext
from ..base.errors import InvalidArgument


def expect_encrypted(ciphertext: Any, what: str) -> None:
    """InvalidArgument for a ciphertext that a program kept of its run on numbers (`simulate`, `choose`)."""
    if type(ciphertext._native) is not NativeCiphertext:
        raise InvalidArgument(
            f"{what}: the ciphertext belongs to a simulation and holds numbers; expected one of "
            "client.encrypt(values), or a result of it"
        )
