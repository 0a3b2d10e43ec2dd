# SPDX-License-Identifier: Apache-2.0
"""Docstrings as they are written in this project, as reStructuredText.

A docstring is paragraphs with blank lines between them. Within one, a line `name: text`, `@throws X ...`,
`Raises X ...` or `* text` begins an item, which indented lines continue. Text between backticks is code;
all else stands for itself. A paragraph that is code as a whole is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_ITEM = re.compile(r"^(?:(?P<name>[a-z_][\w, *]*): |@throws |[*-] )(?P<text>.*)$")
_RAISES = re.compile(r"^(?P<name>)(?P<text>(?:Raises|Warns) .*)$")  # an item where it follows others
_SPANS = re.compile(r"(``?)(.+?)\1")
_SPECIAL = re.compile(r"([\\*_|`])")
_CODE = re.compile(r"^(?:@\w+[.(]|>>> |import |from \w+ import |with .*:$|(?:async )?def |class |\w+ = )")
_PLAIN_INDENT = 4


def to_rst(lines: Iterable[str]) -> list[str]:
    """The lines of a docstring, without its indentation, as lines of markup."""
    made: list[str] = []
    for paragraph in _paragraphs(lines):
        made += _block(paragraph) if _is_code(paragraph) else list(_text(paragraph))
        made.append("")
    return made


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    found: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            found.append(line.rstrip())
        elif found:
            yield found
            found = []


def _is_code(paragraph: list[str]) -> bool:
    """Whether all of it is code: the first line says so, or everything is indented."""
    if paragraph[0].startswith("@throws"):
        return False
    return bool(_CODE.match(paragraph[0])) or all(line.startswith(" " * _PLAIN_INDENT) for line in paragraph)


def _block(paragraph: list[str]) -> list[str]:
    return ["::", "", *(f"    {line}" for line in paragraph)]


def _text(paragraph: list[str]) -> Iterator[str]:
    """A sentence or several, then a list of the items."""
    sentence: list[str] = []
    items: list[list[str]] = []
    for line in paragraph:
        found = _ITEM.match(line) or (_RAISES.match(line) if items else None)
        if found is not None:
            items.append([_begun(line, found)])
        elif items and (line.startswith(" ") or not sentence):
            items[-1].append(line.strip())
        elif items:  # a sentence behind a list begins a paragraph
            yield from _listed(items)
            sentence, items = [line.strip()], []
        else:
            sentence.append(line.strip())
        if found is not None and sentence:
            yield inline(" ".join(sentence))
            yield ""
            sentence = []
    if sentence:
        yield inline(" ".join(sentence))
    if items:
        yield from _listed(items)


def _begun(line: str, found: re.Match[str]) -> str:
    """The first line of an item, with its name as code."""
    if found["name"]:
        return f"`{found['name']}`: {found['text']}"
    return f"Raises {found['text']}" if line.startswith("@") else str(found["text"])


def _listed(items: list[list[str]]) -> Iterator[str]:
    for item in items:
        yield f"* {inline(' '.join(item))}"
    yield ""


def inline(text: str) -> str:
    """One line with code between backticks, in markup; special characters stand for themselves."""
    made, end = [], 0
    for found in _SPANS.finditer(text):
        made.append(_SPECIAL.sub(r"\\\1", text[end : found.start()]))
        code = found[2].strip()
        # Letters may not touch the marks: an escaped space stands between them and is shown as none.
        made.append(f"\\ ``{code}``\\ " if code else "")
        end = found.end()
    made.append(_SPECIAL.sub(r"\\\1", text[end:]))
    return "".join(made)
