# SPDX-License-Identifier: Apache-2.0
"""Checks the size limits that keep the code readable: lines of a file and lines of a function.

Files over a limit need a row in docs/dev/size_exceptions.md with a limit of their own and a reason; a row
that is no longer needed is an error too. Prints `file:line: message`; the exit status is 1 if there is a
violation.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cpp_scan import ROOT, declarations, source_files

EXCEPTIONS_PAGE = "docs/dev/size_exceptions.md"
FUNCTION_LIMIT = 40
TEST_FUNCTION_LIMIT = 60  # a test reads top to bottom: set-up, act, assert

# First pattern that matches a path gives its limit in lines.
FILE_LIMITS = (
    (re.compile(r"^README\.md$"), 80),
    (re.compile(r"(^|/)README\.md$"), 30),
    (re.compile(r"^examples/.*\.(py|cpp)$"), 120),
    (re.compile(r"\.(h|hpp|cuh)$"), 200),
    (re.compile(r"\.(cpp|cu|py|sh)$"), 500),
)
CHECKED = tuple(f"*.{suffix}" for suffix in ("h", "hpp", "cuh", "cpp", "cu", "py", "sh", "md"))
TESTS = re.compile(r"^(cpp/tests|cpp/bench|python/tests)/")
ROW = re.compile(r"^\|\s*`(?P<what>[^`]+)`\s*\|\s*(?P<limit>\d+)\s*\|\s*(?P<reason>[^|]*?)\s*\|\s*$", re.M)


@dataclass(frozen=True)
class Size:
    """Lines of one file or function."""

    what: str  # "path" or "path:function"
    place: str  # "path:line", for messages
    lines: int
    limit: int


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, first line and length of each function, its docstring not counted; nested ones are part of it."""
    nodes: list[ast.AST] = [ast.parse(text)]
    while nodes:
        for node in ast.iter_child_nodes(nodes.pop()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                first = node.body[0]
                if ast.get_docstring(node) is not None:
                    lines -= (first.end_lineno or first.lineno) - first.lineno + 1
                yield node.name, node.lineno, lines
            else:
                nodes.append(node)


def functions(path: str, text: str) -> Iterator[tuple[str, int, int]]:
    """Name, first line and length of each function of a C++ or Python file."""
    if path.endswith(".py"):
        yield from python_functions(text)
    elif path.endswith((".h", ".hpp", ".cpp", ".cuh", ".cu")):
        for found in declarations(text):
            if found.kind == "function":
                yield found.name, found.first_line, found.last_line - found.first_line + 1


def sizes(path: str, text: str) -> Iterator[Size]:
    """Size of a file, then of each of its functions."""
    limit = next((limit for pattern, limit in FILE_LIMITS if pattern.search(path)), None)
    if limit is not None:
        yield Size(path, f"{path}:1", text.count("\n"), limit)
    limit = TEST_FUNCTION_LIMIT if TESTS.match(path) else FUNCTION_LIMIT
    for name, line, lines in functions(path, text):
        yield Size(f"{path}:{name}", f"{path}:{line}", lines, limit)


def read_exceptions(page: str) -> dict[str, tuple[int, str]]:
    """Rows of the table: `path` or `path:function` -> limit and reason."""
    return {row["what"]: (int(row["limit"]), row["reason"]) for row in ROW.finditer(page)}


def check(all_sizes: list[Size], exceptions: dict[str, tuple[int, str]]) -> list[str]:
    """`file:line: message` for each size over its limit and each exception without reason or use."""
    found, used = [], set()
    for size in all_sizes:
        limit = size.limit
        if size.lines > limit and size.what in exceptions:
            used.add(size.what)
            limit = exceptions[size.what][0]
        if size.lines > limit:
            found.append(f"{size.place}: {size.what} has {size.lines} lines, at most {limit}")
    for what, (_, reason) in exceptions.items():
        if not reason:
            found.append(f"{EXCEPTIONS_PAGE}:1: `{what}` needs a reason")
        if what not in used:
            found.append(f"{EXCEPTIONS_PAGE}:1: `{what}` is within its limit or gone; remove the row")
    return found


def check_tree(root: Path) -> list[str]:
    """`file:line: message` for each violation in a checkout."""
    page = root / EXCEPTIONS_PAGE
    exceptions = read_exceptions(page.read_text()) if page.is_file() else {}
    measured = [
        size
        for path in source_files(*CHECKED, root=root)
        for size in sizes(path.relative_to(root).as_posix(), path.read_text())
    ]
    return check(measured, exceptions)


def main() -> int:
    """Checks the checkout that this file lies in."""
    found = check_tree(ROOT)
    print("\n".join(found) if found else "sizes: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
