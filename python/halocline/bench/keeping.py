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

        Raises CorruptData where it has no list of rows by that name, or not as many as it says.
        """
        if self.earlier is None:
            return []
        found, partial = self.earlier.get(name), self.earlier.get("partial")
        done = partial.get("done") if isinstance(partial, dict) else None
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise CorruptData(f"resume: the result has no list of '{name}'; measure anew, without resuming")
        if len(found) != done:
            raise CorruptData(
                f"resume: the result has {len(found)} '{name}' and says that {done!r:.60} are done; measure "
                "anew, without resuming"
            )
        return found

    def row(self, what: str, content: Json, done: int, total: int) -> None:
        """Notifies both of a finished row."""
        self.keep(content, done, total)
        self.progress(what, done, total)


LEAST_SECONDS, MOST_SECONDS = 1e-12, 1e12


def expect_row(row: Json, wanted: Json, seconds: str | None = "seconds") -> Json:
    """A row of an interrupted run that is about `wanted`, some of its fields.

    seconds: the field with a time, which is a number, or is missing beside a reason: out_of_memory or failed.
        None: rows have no such field.
    Raises CorruptData where it is about something else, or has no such time.
    """
    for name, value in wanted.items():
        if row.get(name) != value:
            raise CorruptData(
                f"resume: the {name} of a row is {row.get(name)!r:.60}; expected {value!r:.60}, as the "
                "options say; measure anew, without resuming"
            )
    if seconds is None:
        return row
    took = row.get(seconds)
    if took is None and (row.get("out_of_memory") or row.get("failed")):
        return row
    fits = isinstance(took, int | float) and LEAST_SECONDS <= took <= MOST_SECONDS
    if isinstance(took, bool) or not fits:
        raise CorruptData(
            f"resume: the {seconds} of a row are {took!r:.60}; expected a positive number; measure anew, "
            "without resuming"
        )
    return row


def expect_result(make: Callable[[], object]) -> None:
    """Makes what rows of an interrupted run are for; CorruptData where they are not what that takes."""
    try:
        make()
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise CorruptData(
            f"resume: a row lacks a field, or has something else there ({error!r:.60}); measure anew, "
            "without resuming"
        ) from None


SILENT = Watcher()
"""Keeps nothing and says nothing."""
