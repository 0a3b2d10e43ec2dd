# SPDX-License-Identifier: Apache-2.0
"""One HTML page with figures and tables that needs nothing but itself: no script, no link, no server."""

from __future__ import annotations

import base64
import dataclasses
import html
from collections.abc import Sequence

from matplotlib.figure import Figure

from .traces import render

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328;
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #d0d7de; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .25rem .8rem; text-align: right; }
th { border-bottom: 2px solid #d0d7de; } td { border-bottom: 1px solid #eaeef2; }
th:first-child, td:first-child { text-align: left; } img { max-width: 100%; height: auto; }
footer { margin-top: 3rem; color: #656d76; font-size: .85rem; }
"""


@dataclasses.dataclass(frozen=True)
class HtmlTable:
    """A table of texts; the first column names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_html(self) -> str:
        """The element."""
        head = "".join(f"<th>{html.escape(each)}</th>" for each in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(each)}</td>" for each in row) + "</tr>\n" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading with what stands below it: a text, then figures and tables in their order."""

    title: str
    text: str = ""
    parts: Sequence[Figure | HtmlTable] = ()

    def to_html(self) -> str:
        """The elements, figures as embedded PNG images."""
        text = f"<p>{html.escape(self.text)}</p>\n" if self.text else ""
        parts = "".join(_part(each, self.title) for each in self.parts)
        return f"<section><h2>{html.escape(self.title)}</h2>\n{text}{parts}</section>\n"


def _part(part: Figure | HtmlTable, title: str) -> str:
    if isinstance(part, HtmlTable):
        return part.to_html()
    image = base64.b64encode(render(part, "png")).decode()
    return f'<p><img alt="{html.escape(title)}" src="data:image/png;base64,{image}"></p>\n'


def page(title: str, sections: Sequence[Section], footer: str) -> str:
    """The whole document."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style></head>\n<body><h1>{html.escape(title)}</h1>\n"
        f"{''.join(each.to_html() for each in sections)}"
        f"<footer>{html.escape(footer)}</footer></body></html>\n"
    )
