# SPDX-License-Identifier: Apache-2.0
"""How benchmarks hand over what they have measured, row by row, so that nothing is lost when one stops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Progress = Callable[[str, int, int], None]
"""Called with (what is done now, how much is done, how much there is)."""
Keep = Callable[[Json, int, int], None]
"""Called after each row with (the result so far, rows that are done, rows in all)."""


def no_progress(what: str, done: int, total: int) -> None:
    """Says nothing."""


def forget(content: Json, done: int, total: int) -> None:
    """Keeps nothing: the result comes at the end."""


@dataclasses.dataclass(frozen=True)
class Watcher:
    """Receives the progress of a benchmark, and each row once it is measured."""

    progress: Progress = no_progress
    keep: Keep = forget

    def row(self, what: str, content: Json, done: int, total: int) -> None:
        """Notifies both of a finished row."""
        self.keep(content, done, total)
        self.progress(what, done, total)


SILENT = Watcher()
"""Keeps nothing and says nothing."""
