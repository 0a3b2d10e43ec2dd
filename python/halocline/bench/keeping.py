# SPDX-License-Identifier: Apache-2.0
"""How benchmarks hand over what they measure, row by row, and go on from the rows of one that stopped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..base.errors import CorruptData

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
    earlier: Json | None = None
    """What an interrupted run with the same options has kept; None for one that begins."""

    def rows(self, name: str = "rows") -> list[Json]:
        """Rows of the interrupted run, in the order in which they were measured; none for one that begins.

        Raises CorruptData where it has no list of rows by that name.
        """
        found = [] if self.earlier is None else self.earlier.get(name)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise CorruptData(f"resume: the result has no list of '{name}'; measure anew, without resuming")
        return found

    def row(self, what: str, content: Json, done: int, total: int) -> None:
        """Notifies both of a finished row."""
        self.keep(content, done, total)
        self.progress(what, done, total)


def expect_row(row: Json, wanted: Json) -> Json:
    """A row of an interrupted run that is about `wanted`, some of its fields.

    Raises CorruptData where it is about something else, or its seconds are no number.
    """
    seconds = row.get("seconds")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0
    ):
        raise CorruptData(
            f"resume: the seconds of a row are {seconds!r:.60}; expected a positive number; measure anew, "
            "without resuming"
        )
    for name, value in wanted.items():
        if row.get(name) != value:
            raise CorruptData(
                f"resume: the {name} of a row is {row.get(name)!r:.60}; expected {value!r:.60}, as the "
                "options say; measure anew, without resuming"
            )
    return row


SILENT = Watcher()
"""Keeps nothing and says nothing."""
