# SPDX-License-Identifier: Apache-2.0
"""Renews locks of objects in forked children."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class _Renewable(Protocol):
    def _renew_locks(self) -> None:
        """Makes the object's locks new: the threads that held them are not in this process."""


_alive: weakref.WeakSet[_Renewable] = weakref.WeakSet()


def renew_in_children(owner: _Renewable) -> None:
    """Calls `owner._renew_locks` in every child that is forked while `owner` lives."""
    _alive.add(owner)


def _renew() -> None:
    for each in list(_alive):
        each._renew_locks()


os.register_at_fork(after_in_child=_renew)
