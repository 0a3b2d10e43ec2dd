# SPDX-License-Identifier: Apache-2.0
"""Finds prose in tracked files, for `check_language.py`: comments, docstrings and Markdown, line by line.

Wraps paragraphs of C++ comments again where an automatic line break has left a line of one or two words.
"""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

CXX_WIDTH = 110  # ColumnLimit of .clang-format
_CXX_COMMENT = re.compile(r"^(?P<indent>\s*)(?P<mark>///?)(?: (?P<space> *)(?P<text>\S.*))?$")
_LAID_OUT = re.compile(r"\S {3}")  # columns of a table or a formula
# Lines that begin something of their own: list items, commands of Doxygen, formulas, directives for linters.
_OWN_LINE = re.compile(r"^(?:[-*+] |\d+[.)] |@|\||NOLINT|clang-format |[=~#`-]{3})")


@dataclass(frozen=True)
class Line:
    """One line of prose."""

    number: int
    text: str


def prose(path: str, text: str) -> Iterator[Line]:
    """The comments, docstrings or pages of one file; nothing for kinds of files that hold no prose."""
    if path.endswith((".hpp", ".cpp", ".cu", ".cuh")):
        yield from _cxx(text)
    elif path.endswith((".py", ".pyi")):
        yield from _python(text)
    elif path.endswith(".md"):
        yield from (Line(number, line) for number, line in enumerate(text.split("\n"), 1))
    elif path.endswith((".sh", ".cmake", ".toml", ".yaml", ".txt", "Makefile")):
        for number, line in enumerate(text.split("\n"), 1):
            found = re.search(r"(?:^|\s)#(?!!)(.*)", line)
            if found:
                yield Line(number, found[1])


def _cxx(text: str) -> Iterator[Line]:
    """Comments and the literals of messages."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(r"(?<![:\"])//(.*)", line)
        code = line[: comment.start()] if comment else line
        literals = re.findall(r'"((?:\\.|[^"\\])*)"', code)
        parts = [*(literal for literal in literals if " " in literal), *([comment[1]] if comment else [])]
        if parts:
            yield Line(number, " | ".join(parts))


def _python(text: str) -> Iterator[Line]:
    """Comments and all string literals, docstrings and messages among them."""
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type in strings:
            for offset, line in enumerate(token.string.split("\n")):
                yield Line(token.start[0] + offset, line)


@dataclass(frozen=True)
class Paragraph:
    """Lines [first, last] of a C++ file, counted from 0, that are one paragraph or list item of a comment."""

    first: int
    last: int
    prefix: str  # of its first line
    hanging: str  # indentation of its other lines beyond that
    words: list[list[str]]  # of each line


def paragraphs(lines: list[str]) -> Iterator[Paragraph]:
    """Paragraphs of comments that stand on lines of their own."""
    start: int | None = None
    for number, line in enumerate([*lines, ""]):
        match = _CXX_COMMENT.match(line)
        if start is not None and not _continues(lines[start], lines[number - 1], match):
            yield _paragraph(lines, start, number)
            start = None
        if start is None and match and _begins(match):
            start = number


def _begins(match: re.Match[str]) -> bool:
    """Whether a line of a comment can be the first one of a paragraph."""
    text = match["text"] or ""
    return bool(text) and not (match["space"] or "SPDX" in text or _LAID_OUT.search(text))


def _continues(first: str, before: str, match: re.Match[str] | None) -> bool:
    """Whether a line belongs to the paragraph whose lines so far are `first` to `before`."""
    head = _CXX_COMMENT.match(first)
    if not match or not match["text"] or not head or match["indent"] != head["indent"]:
        return False
    if match["mark"] != head["mark"] or _OWN_LINE.match(match["text"]) or _LAID_OUT.search(match["text"]):
        return False
    item = bool(_OWN_LINE.match(head["text"]))
    if match["space"]:  # in plain text an indented line is a formula
        return item
    return not item or len(before) + 1 + len(match["text"].split()[0]) > CXX_WIDTH


def _paragraph(lines: list[str], first: int, end: int) -> Paragraph:
    """The paragraph of lines [first, end)."""
    matches = [match for line in lines[first:end] if (match := _CXX_COMMENT.match(line))]
    prefix = f"{matches[0]['indent']}{matches[0]['mark']} "
    hanging = max((match["space"] for match in matches[1:]), key=len, default="")
    return Paragraph(first, end - 1, prefix, hanging, [match["text"].split() for match in matches])


def is_orphan(paragraph: Paragraph) -> bool:
    """Whether a line inside breaks far before its end although the sentence goes on."""
    for words, following in zip(paragraph.words, paragraph.words[1:], strict=False):
        used = len(paragraph.prefix) + len(" ".join(words))
        if used + 1 + len(following[0]) <= CXX_WIDTH * 3 // 4 and words[-1][-1] not in ".:;!?":
            return True
    return False


def rewrap(text: str) -> str:
    """The text of a C++ file with the paragraphs that `is_orphan` finds wrapped again."""
    lines = text.split("\n")
    for paragraph in reversed([found for found in paragraphs(lines) if is_orphan(found)]):
        lines[paragraph.first : paragraph.last + 1] = wrapped(paragraph)
    return "\n".join(lines)


def wrapped(paragraph: Paragraph) -> list[str]:
    """The lines of a paragraph, each as long as it may be."""
    return textwrap.wrap(
        " ".join(word for words in paragraph.words for word in words),
        CXX_WIDTH,
        initial_indent=paragraph.prefix,
        subsequent_indent=paragraph.prefix + paragraph.hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
