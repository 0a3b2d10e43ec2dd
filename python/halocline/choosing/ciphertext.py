# SPDX-License-Identifier: Apache-2.0
"""Numbers that look like a native ciphertext."""

from __future__ import annotations

from typing import NoReturn

from .. import _core
from ..base.errors import NotPicklable
from .noise import Rows


class SimulatedCiphertext(_core.Ciphertext):
    """Numbers in place of a native ciphertext, with a ghost that has its level, scale and size."""

    __slots__ = ("ghost", "rows")

    ghost: _core.Ciphertext
    rows: Rows

    @staticmethod
    def of(ghost: _core.Ciphertext, rows: Rows) -> SimulatedCiphertext:
        """Rows of values with the shape of a ghost."""
        made = SimulatedCiphertext.__new__(SimulatedCiphertext)
        made.ghost, made.rows = ghost, rows
        return made

    @property
    def params(self) -> _core.Params:
        """Of the ghost."""
        return self.ghost.params

    @property
    def level(self) -> int:
        """Of the ghost."""
        return self.ghost.level

    @property
    def scale(self) -> float:
        """Of the ghost."""
        return self.ghost.scale

    @property
    def slots(self) -> int:
        """Of the ghost."""
        return self.ghost.slots

    @property
    def parts(self) -> int:
        """Components, of the ghost."""
        return self.ghost.parts

    @property
    def seeded(self) -> bool:
        """No."""
        return False

    @property
    def nbytes(self) -> int:
        """Of the ghost."""
        return self.ghost.nbytes

    @property
    def key_id(self) -> str | None:
        """None: there is no key."""
        return None

    def to_bytes(self, real: bool) -> NoReturn:
        """Refused: there is nothing encrypted."""
        raise NotPicklable("a ciphertext of a simulation holds numbers, not a ciphertext; it has no bytes")

    def save(self, path: str, real: bool) -> NoReturn:
        """Refused likewise."""
        self.to_bytes(real)
