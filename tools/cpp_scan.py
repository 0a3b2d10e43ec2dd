# SPDX-License-Identifier: Apache-2.0
"""Finds the declarations of a C++ file without a compiler, for the checks next to this file.

The scanner recognises comments, literals, brackets and the shape of a declaration, but no types. That is
enough for code in the house style; it keeps the checks fast and free of dependencies.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_TOKEN = re.compile(
    r"""(?P<raw>\bR"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b[0-9][0-9a-fA-FxXbB']*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_ASSIGNMENT = re.compile(r"(?<![=!<>+\-*/|&^])=(?!=)")
_CLASS = re.compile(r"^(?:template\b.*>\s*)?(?:class|struct|union)\b", re.DOTALL)
_ACCESS = re.compile(r"^(public|protected|private)\s*$")
_INITIALIZER_LIST = re.compile(r"\)\s*(?:noexcept\s*(?:\([^()]*\))?\s*)?:(?!:)")


@dataclass(frozen=True)
class Declaration:
    """One declaration at namespace or class scope; functions with a body are declarations too."""

    kind: str  # "namespace", "class", "enum", "function" (has a body) or "statement" (ends with a semicolon)
    head: str  # its text up to the body, comments blanked, white space collapsed
    first_line: int
    last_line: int
    scope: tuple[str, ...]  # heads of the enclosing namespaces and classes, outermost first
    public: bool  # neither it nor an enclosing class is private or protected

    @property
    def name(self) -> str:
        """Name for messages: the identifier before the parameter list, or the last one of the head."""
        test = re.match(r"(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)", self.head)
        if test:
            return f"{test[1]}.{test[2]}"
        called = re.search(r"(~?\w+|operator\s*\S+?)\s*\(", _without_template(self.head))
        words = re.findall(r"\w+", self.head.split("=")[0].split(" : ")[0])
        return called[1] if called else (words[-1] if words else self.head)


def source_files(*patterns: str, root: Path = ROOT) -> list[Path]:
    """Files of the working tree that match a git pathspec: tracked ones, and new ones not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout
    return sorted({root / name for name in listed.split("\0") if name and (root / name).is_file()})


def blank(text: str, *, comments: bool = True, strings: bool = True) -> str:
    """Replaces comments and literals by spaces, so that every offset and line number stays valid."""

    def replace(match: re.Match[str]) -> str:
        kind = match.lastgroup if match.lastgroup != "delimiter" else "raw"
        if kind == "number" or not (comments if kind == "comment" else strings):
            return match[0]
        return _spaces(match)

    return _TOKEN.sub(replace, text)


def declarations(text: str) -> Iterator[Declaration]:
    """Every declaration of a C++ file at namespace and class scope, in the order of the file."""
    clean = re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), blank(text), flags=re.M
    )
    yield from _Scanner(clean).scope(())


def _spaces(match: re.Match[str]) -> str:
    """The matched text with everything but line ends replaced by spaces."""
    return re.sub(r"[^\n]", " ", match[0])


def _without_template(head: str) -> str:
    """Head without leading `template <...>` clauses and attributes."""
    head = re.sub(r"\[\[.*?\]\]", "", head).strip()
    while head.startswith("template"):
        end, depth = head.index("<"), 0
        while end < len(head):
            depth += (head[end] == "<") - (head[end] == ">")
            end += 1
            if depth == 0:
                break
        head = head[end:].strip()
    return head


class _Scanner:
    """Walks blanked text; `scope` is called once per namespace or class body."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._position = 0

    def scope(
        self, outer: tuple[str, ...], *, public: bool = True, access: bool = True
    ) -> Iterator[Declaration]:
        """Declarations up to the brace that closes the current scope."""
        start = self._position
        while self._position < len(self._text):
            char = self._text[self._position]
            if char == "}":
                return
            if char in "([":
                self._skip_group()
            elif char == "{":
                yield from self._block(start, outer, public and access)
                start = self._position
                continue
            elif char == ";":
                head = self._head(start)
                if head:
                    yield self._declaration("statement", head, start, outer, public and access)
                start = self._position + 1
            elif char == ":" and (label := _ACCESS.match(self._head(start))):
                access = label[1] == "public"
                start = self._position + 1
            self._position += 1

    def _block(self, start: int, outer: tuple[str, ...], public: bool) -> Iterator[Declaration]:
        """Handles the opening brace at the current position; leaves the position behind the declaration."""
        head = self._head(start)
        core = _without_template(head)
        if core.startswith(("namespace", "inline namespace", "extern")):
            yield from self._nested("namespace", head, start, outer, public, True)
            self._position += 1
        elif core.startswith("enum"):
            self._skip_group()
            self._to_semicolon()
            yield self._declaration("enum", head, start, outer, public)
            self._position += 1
        elif _CLASS.match(core) and "(" not in re.sub(r"alignas\s*\([^)]*\)", "", core):
            yield from self._nested("class", head, start, outer, public, not core.startswith("class"))
            self._to_semicolon()
            self._position += 1
        elif self._is_function(head):
            self._skip_group()
            yield self._declaration("function", head, start, outer, public)
            self._position += 1
        else:  # a variable with a braced initializer, or a member initializer of a constructor
            self._skip_group()
            self._position += 1
            yield from self._rest_of_statement(start, head, outer, public)

    def _rest_of_statement(
        self, start: int, head: str, outer: tuple[str, ...], public: bool
    ) -> Iterator[Declaration]:
        """Continues after a braced initializer, to the semicolon or to the body of the constructor."""
        while self._position < len(self._text) and self._text[self._position] not in ";{}":
            if self._text[self._position] in "([":
                self._skip_group()
            self._position += 1
        if self._position < len(self._text) and self._text[self._position] == "{":
            yield from self._block(start, outer, public)
            return
        yield self._declaration("statement", head, start, outer, public)
        self._position += 1

    def _nested(
        self, kind: str, head: str, start: int, outer: tuple[str, ...], public: bool, access: bool
    ) -> Iterator[Declaration]:
        """The declaration itself, then those inside its braces; leaves the position on the closing brace."""
        yield self._declaration(kind, head, start, outer, public)
        self._position += 1
        yield from self.scope((*outer, head), public=public, access=access)

    def _is_function(self, head: str) -> bool:
        """Whether the brace at the current position opens a function body."""
        core = _without_template(head)
        if "(" not in core or _ASSIGNMENT.search(re.sub(r"\([^()]*\)|operator\s*\S+", "", core)):
            return False
        before = self._text[: self._position].rstrip()[-1:]
        return not _INITIALIZER_LIST.search(head) or before in ")}"

    def _to_semicolon(self) -> None:
        while self._position < len(self._text) and self._text[self._position] != ";":
            self._position += 1

    def _skip_group(self) -> None:
        """Moves from an opening bracket to the one that closes it."""
        depth = 0
        while self._position < len(self._text):
            char = self._text[self._position]
            depth += (char in "([{") - (char in ")]}")
            if depth == 0:
                return
            self._position += 1

    def _head(self, start: int) -> str:
        return " ".join(self._text[start : self._position].split())

    def _declaration(
        self, kind: str, head: str, start: int, outer: tuple[str, ...], public: bool
    ) -> Declaration:
        begin = start + len(self._text[start:]) - len(self._text[start:].lstrip())
        return Declaration(kind, head, self._line(begin), self._line(self._position), outer, public)

    def _line(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset)
