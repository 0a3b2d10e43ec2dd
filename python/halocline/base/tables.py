# SPDX-License-Identifier: Apache-2.0
"""Tables as text and as HTML, for `print` and for notebooks."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence

_STYLE = "text-align:{}; padding:0.1em 0.6em; white-space:nowrap"


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of text below headings. Columns whose name begins with ">" are aligned to the right."""

    title: str
    """Above the table."""
    columns: Sequence[str]
    """Headings, one for each column."""
    rows: Sequence[Sequence[str]]
    """Cells, as many in each row as there are columns."""
    notes: Sequence[str] = ()
    """Lines below the table."""

    def __str__(self) -> str:
        names = [each.removeprefix(">") for each in self.columns]
        lines = [names, *self.rows]
        widths = [max(len(line[number]) for line in lines) for number in range(len(names))]
        made = [self.title, *(self._line(each, widths) for each in lines), *self.notes]
        made.insert(2, "-" * len(self._line(widths_of(widths), widths)))
        return "\n".join(each.rstrip() for each in made)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        aligned = (
            cell.rjust(width) if name.startswith(">") else cell.ljust(width)
            for cell, width, name in zip(cells, widths, self.columns, strict=True)
        )
        return "  ".join(aligned)

    def to_html(self) -> str:
        """A table element; whatever the cells say, it is text and no markup."""
        sides = ["right" if each.startswith(">") else "left" for each in self.columns]

        def row(cells: Sequence[str], tag: str) -> str:
            made = (
                f'<{tag} style="{_STYLE.format(side)}">{html.escape(cell)}</{tag}>'
                for cell, side in zip(cells, sides, strict=True)
            )
            return f"<tr>{''.join(made)}</tr>"

        names = [each.removeprefix(">") for each in self.columns]
        body = "".join(row(each, "td") for each in self.rows)
        notes = "".join(f"<p>{html.escape(each)}</p>" for each in self.notes)
        return (
            f"<div><p><b>{html.escape(self.title)}</b></p>"
            f"<table><thead>{row(names, 'th')}</thead><tbody>{body}</tbody></table>{notes}</div>"
        )


def widths_of(widths: Sequence[int]) -> list[str]:
    """Cells that fill columns of these widths."""
    return ["-" * each for each in widths]


def short_seconds(seconds: float) -> str:
    """A time with three digits: "1.23 s", "45.6 ms", "789 us"."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError("the last unit takes every time")  # pragma: no cover
