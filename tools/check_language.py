# SPDX-License-Identifier: Apache-2.0
"""Checks the language of comments, docstrings, messages and pages.

* Words that stand for an unnamed person ("whoever"), that make a person of a thing ("the buffer wants"), or
  that a reader must decode are refused; the message proposes others. ARCHITECTURE.md has the glossary.
* A line of a C++ comment must not end early in the middle of a sentence, as a formatter leaves it.

Prints `file:line: message`; the exit status is 1 if there is a violation. `--fix` wraps such comments again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import comment_text
from cpp_scan import ROOT, source_files

# Pattern of a word or phrase, and what to write in its place.
BANNED = {
    r"(?i:whoever|whomever)": "name the party: the caller, an attacker, the thread that waits",
    r"(?i:nobody|somebody|anybody|everybody)": "name the party: no caller, another process, any user",
    r"(?i:for people|people (?:type|write|read))": "write 'readable' or 'as users write it'",
    r"(?:is|are|be|been|was|were) told": "write 'receives', 'is passed', 'is notified'",
    r"(?:gives?|gave|given) away": "write 'passes on', 'releases', 'reuses'",
    r"(?:gives?|gave) way": "write 'releases memory', 'is evicted'",
    r"wants": "write 'needs', 'requires', 'requests'",
    r"(?i:knows)": "write 'has', 'contains', 'records', 'depends on'",
    r"(?i:remembers?)|remembered": "write 'records', 'keeps'",
    r"(?i:forgets)|forgot|forgotten": "write 'discards', 'drops', 'releases'",
    r"(?i:learns|hears)": "write 'receives', 'is notified'",
    r"(?:let|lets|letting) go": "write 'releases', 'frees'",
    r"minds|cares|hopes|believes|pretends": "say what the code does",
    r"his|hers?|he|she": "write 'its', 'their', or name the party",
    r"(?:'s|s'|own) business": "write 'is the responsibility of', 'is up to'",
    r"said again": "write 'repeated'",
    r"what does not fit goes": "write 'what exceeds the budget is evicted'",
}
PATTERNS = [(re.compile(rf"(?<![\w./-])(?:{banned})(?![\w-])"), better) for banned, better in BANNED.items()]
CXX = (".hpp", ".cpp", ".cu", ".cuh")
KINDS = (*(f"*{end}" for end in CXX), "*.py", "*.md", "*.sh", "*.cmake", "*.toml", "*.txt", "Makefile")
SHORT_LINE = "comment with a short line inside; run tools/check_language.py --fix"
# Their subject is the list above.
EXEMPT = {"tools/check_language.py", "python/tests/tools/test_check_language.py"}


def words(path: str, text: str) -> Iterator[str]:
    """Violations of the list in one file."""
    for line in comment_text.prose(path, text):
        for pattern, better in PATTERNS:
            for found in pattern.finditer(line.text):
                yield f"{path}:{line.number}: '{found[0]}': {better}"


def breaks(path: str, text: str) -> Iterator[str]:
    """Comments of a C++ file that are to be wrapped again."""
    if path.endswith(CXX):
        for paragraph in comment_text.paragraphs(text.split("\n")):
            if comment_text.is_orphan(paragraph):
                yield f"{path}:{paragraph.first + 1}: {SHORT_LINE}"


def check(path: str, text: str) -> list[str]:
    """All violations in one file."""
    return [*words(path, text), *breaks(path, text)] if path not in EXEMPT else []


def fix(file: Path) -> None:
    """Wraps the comments of a C++ file again where a line is too short."""
    text = file.read_text(encoding="utf-8")
    wrapped = comment_text.rewrap(text)
    if wrapped != text:
        file.write_text(wrapped, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Checks, or fixes, every tracked file."""
    found = []
    for file in source_files(*KINDS):
        if "--fix" in arguments and file.suffix in CXX:
            fix(file)
        found += check(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
