# SPDX-License-Identifier: Apache-2.0
"""Checks that what a reader needs is written down.

* Every public symbol in cpp/include has a doc comment: `///` or `/** */` above it, or `///<` behind it. One
  comment may serve a group of declarations on consecutive lines. Data members, constructors, and accessors
  that only return a member, may leave it to the comment of their class.
* Every folder below cpp/ and python/, and some others, has a README.md.
* Relative links in Markdown pages lead to files that exist, and docs/README.md leads to every page in docs.
* Python code in Markdown pages parses and imports what is there (`doc_code.py`).
* Fields of public dataclasses are described (`field_docs.py`).

Prints `file:line: message`; the exit status is 1 if there is a violation.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import doc_code
import field_docs
from cpp_scan import ROOT, Declaration, declarations, source_files

# Declarations that need no comment of their own: the language, or another place, says all there is.
SELF_EXPLANATORY = re.compile(
    r"=\s*(?:default|delete)$|^friend\b|^static_assert\b|^using\s+(?:namespace\s+)?[\w:]+$|^using\s+\w+::\w+"
    r"|^template\s*<\s*>|^extern\s+template|\b(?:override|final)\b(?!\s*:)|~\w+\s*\("
    r"|^(?:template\s*<.*>\s*)?(?:class|struct|enum class|enum|union)\s+\w+$|^HALOCLINE_\w+\s*\("
)
ACCESSOR = re.compile(r"\(\) const(?: noexcept)? ?\{ ?return [*&]?\w+_(?:\.get\(\))?; ?\}")
CLASS_HEAD = re.compile(r"\b(?:class|struct|union)\s+(\w+)")
HIDDEN_SCOPE = re.compile(r"\bdetail\b|^namespace$|^template <\s*>")

README_ROOTS = ("cpp", "python", "tools", "examples", "docs")
# Folders of data: their parent's README describes them.
DATA_FOLDER = re.compile(r"(^|/)(corpus|results|data|models|__pycache__|[^/]*\.egg-info)(/|$)")

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def is_left_to_class(found: Declaration) -> bool:
    """Whether a declaration is a data member or a constructor: the class comment may describe it."""
    if not found.scope or not CLASS_HEAD.search(found.scope[-1]):
        return False
    if found.kind == "statement" and not re.search(r"\(|\busing\b", found.head.split("=")[0]):
        return True
    return found.name == CLASS_HEAD.findall(found.scope[-1])[-1]


def needs_comment(found: Declaration) -> bool:
    """Whether a declaration is a public symbol in the sense of this check."""
    hidden = any(HIDDEN_SCOPE.search(head) for head in found.scope)
    if hidden or not found.public or found.kind == "namespace" or is_left_to_class(found):
        return False
    defined_class = found.kind in ("class", "enum") and not found.head.startswith("template <>")
    return defined_class or not SELF_EXPLANATORY.search(found.head)


def documented_lines(text: str) -> tuple[set[int], set[int]]:
    """Lines that a doc comment ends on, alone on the line; and lines with a trailing `///<`."""
    above, behind = set(), set()
    in_block = False
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.strip()
        in_block = in_block or code.startswith("/**")
        if code.startswith("///") or (in_block and code.endswith("*/")):
            above.add(number)
        elif "///<" in code:
            behind.add(number)
        in_block = in_block and not code.endswith("*/")
    return above, behind


def undocumented(text: str) -> Iterator[Declaration]:
    """Public symbols of a header without a doc comment."""
    above, behind = documented_lines(text)
    lines = text.splitlines()
    group_line = -1  # last line of the group that the current comment serves
    for found in declarations(text):
        served = found.first_line - 1 in above or found.first_line - 1 == group_line
        served = served or any(line in behind for line in range(found.first_line, found.last_line + 1))
        if served and found.kind not in ("class", "namespace"):
            group_line = found.last_line
        body = " ".join(" ".join(lines[found.first_line - 1 : found.last_line]).split())
        if not served and needs_comment(found) and not ACCESSOR.search(body):
            yield found


def check_headers(root: Path) -> Iterator[str]:
    """Messages for public headers."""
    for path in source_files("cpp/include/*.hpp", root=root):
        for found in undocumented(path.read_text()):
            yield f"{path.relative_to(root)}:{found.first_line}: '{found.name}' has no doc comment"


def check_readmes(root: Path) -> Iterator[str]:
    """Messages for folders without a README.md."""
    folders = {
        parent
        for path in source_files(*(f"{name}/*" for name in README_ROOTS), root=root)
        for parent in path.relative_to(root).parents
        if parent.parts
    }
    for folder in sorted(folders):
        if not DATA_FOLDER.search(folder.as_posix()) and not (root / folder / "README.md").is_file():
            yield f"{folder}/README.md:1: missing; purpose, entry file, invariants, what does not belong here"


def check_links(root: Path) -> Iterator[str]:
    """Messages for relative links in Markdown pages that lead nowhere."""
    for path in source_files("*.md", root=root):
        text = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), path.read_text())
        for match in LINK.finditer(text):
            target = (match[1] or match[2]).split("#")[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            if not (path.parent / target).exists():
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path.relative_to(root)}:{line}: link to '{target}' leads nowhere"


def check_index(root: Path) -> Iterator[str]:
    """Messages for pages below docs that docs/README.md, and the READMEs that it links, do not link."""
    found, waiting = set(), [(root / "docs" / "README.md").resolve()]
    while waiting:
        page = waiting.pop()
        if page in found or not page.is_file():
            continue
        found.add(page)
        if page.name == "README.md":
            targets = (match[1] for match in LINK.finditer(page.read_text()) if match[1])
            waiting += [(page.parent / each.split("#")[0]).resolve() for each in targets]
    for path in source_files("docs/*.md", root=root):
        if path.name != "README.md" and path.resolve() not in found:
            yield f"{path.relative_to(root)}:1: docs/README.md does not lead to this page; link it there"


def check_code(root: Path) -> Iterator[str]:
    """Messages for Python code in Markdown pages."""
    for path in source_files("*.md", root=root):
        yield from doc_code.check_page(root, path)


def check_tree(root: Path) -> list[str]:
    """`file:line: message` for each violation in a checkout."""
    checks = (check_headers, check_readmes, check_links, check_index, check_code, field_docs.check_fields)
    return [message for check in checks for message in check(root)]


def main() -> int:
    """Checks the checkout that this file lies in."""
    found = check_tree(ROOT)
    print("\n".join(found) if found else "docs: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
