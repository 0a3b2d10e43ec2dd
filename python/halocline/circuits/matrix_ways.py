# SPDX-License-Identifier: Apache-2.0
"""How single matrices of the transforms of a bootstrap are done, as text: "8", "4 compact", "small_key"."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.errors import InvalidArgument
from ..base.values import expect
from .choice import MODES

WayRow = tuple[str, int, bool]
"""(mode, baby steps of each giant step or 0, whether diagonals are coefficients)"""

_COMPACT = "compact"
_DEFAULT_MODE = "double_hoisted"  # of a text that names none


def read_ways(texts: Sequence[str], what: str) -> list[WayRow]:
    """The rows that texts name. Raises InvalidArgument for others, naming `what`."""
    return [_read(expect(each, str, what), what) for each in texts]


def way_text(row: WayRow) -> str:
    """A row as `read_ways` reads it."""
    mode, babies, compact = row
    words = [] if mode == _DEFAULT_MODE and babies else [mode]
    return " ".join(words + [str(babies)] * bool(babies) + [_COMPACT] * compact)


def _read(text: str, what: str) -> WayRow:
    words = text.split()
    compact = words[-1:] == [_COMPACT]
    rest = words[:-1] if compact else list(words)
    mode = rest.pop(0) if rest and rest[0] in MODES else _DEFAULT_MODE
    babies = int(rest.pop(0)) if rest and rest[0].isdecimal() and len(rest[0]) <= 5 else 0
    if rest or not words:
        raise InvalidArgument(
            f'{what}: got {text!r:.60}; expected such as "8", "4 compact", "small_key" or "bsgs 8": a mode '
            f"({', '.join(MODES)}), baby steps and 'compact', each of which may be left out"
        )
    return mode, babies, compact
