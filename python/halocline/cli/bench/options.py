# SPDX-License-Identifier: Apache-2.0
"""Options of all suites of `halocline bench`, stored results, and tables of results."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ...base import limits
from ...base.errors import CorruptData, InvalidArgument, IoError
from ...base.files import parse_json, read_file
from ...ckks.params import Params
from ..common import load_params, size


@dataclasses.dataclass(frozen=True)
class BenchOptions:
    """What the command line gave; each suite takes what it has."""

    quick: bool
    binary: Path | None
    sets: list[str] | None
    threads: int | None
    repetitions: int | None
    device: str | None
    log_n: int | None
    plot: Path | None
    source: Path | None
    oversubscribe: bool
    params: str | None
    policies: str | None
    budgets: str | None
    batches: str | None
    kinds: str | None
    seeded: bool
    allow_insecure: bool
    weights: Path | None = None
    image: Path | None = None

    def several(self, default: str) -> list[Params]:
        """The parameter sets that were given, or those of a list of names."""
        return [load_params(each, self.allow_insecure) for each in (self.params or default).split(",")]


def several(text: str | None) -> tuple[str, ...] | None:
    """The parts of "A,B"; None stays None."""
    return None if text is None else tuple(each.strip() for each in text.split(","))


def numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    """The positive numbers of "1,8"."""
    try:
        found = None if text is None else tuple(int(each) for each in text.split(","))
    except ValueError:
        found = (0,)
    if found is not None and min(found) < 1:
        raise InvalidArgument(f"bench: {option} '{text}'; expected positive numbers with commas between them")
    return found


def stored(suite: str, path: Path, known: dict[str, str]) -> dict[str, Any]:
    """A result that --json wrote. known: suites with pictures, and what their results call them."""
    if suite not in known:
        raise InvalidArgument(f"bench {suite}: --from is for suites with pictures: {', '.join(known)}")
    try:
        content: dict[str, Any] = parse_json(read_file(path, f"bench {suite}", limits.RESULT), str(path))
        if content["suite"] == known[suite]:
            return content
        found = f"a result of '{content['suite']}'"
    except IoError:
        raise
    except (ValueError, KeyError, TypeError):
        found = "no result of a suite"
    raise CorruptData(f"bench {suite}: '{path}' holds {found}; expected what --json of {suite} writes")


def print_rows(console: Console, rows: list[dict[str, Any]], title: str | None = None) -> None:
    """A table with a column for each field of the first row; fields named "..._bytes" are sizes."""
    table = Table(*(name.removesuffix("_bytes").replace("_", " ") for name in rows[0]), title=title)
    for row in rows:
        table.add_row(*(cell(name, row.get(name)) for name in rows[0]))
    console.print(table)


def cell(name: str, value: object) -> str:
    """A value of a row for people."""
    if name.endswith("_bytes") and isinstance(value, int):
        return size(value)
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
