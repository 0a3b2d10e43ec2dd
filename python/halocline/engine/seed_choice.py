# SPDX-License-Identifier: Apache-2.0
"""Which keys of an engine stay seeded."""

from __future__ import annotations

from collections.abc import Collection

from ..base.errors import WrongType
from ..base.values import integer, kind_of


def seed_choice(keep: bool | Collection[int] | None) -> tuple[bool | frozenset[int], list[int]]:
    """Whether all keys stay seeded, or which, and a list for the core; None: none until some are chosen."""
    if keep is None or isinstance(keep, bool):
        return keep is True, []
    if isinstance(keep, (str, bytes)) or not isinstance(keep, Collection):
        raise WrongType(f"Engine: keep_seeds is {kind_of(keep)}; expected a bool, Galois elements or None")
    elements = sorted({integer(each, "Engine: keep_seeds", 0) for each in keep})
    return frozenset(elements), elements


def kept_seeds_text(keep: bool | frozenset[int]) -> str:
    """What `seed_choice` answered, as plans state it."""
    text = "seeded keys" if keep is True else "expanded keys"
    return text + (f" but {sorted(keep)}" if isinstance(keep, frozenset) else "")
