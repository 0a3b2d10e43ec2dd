# SPDX-License-Identifier: Apache-2.0
"""Fields of public dataclasses and named tuples: each one must be described. Part of `check_docs.py`.

Public are classes that `__all__` of the package, or of one of its rooms, names. A field is described by a
text below it, by its name in the text of its class, or by the help text of an option. Sources are read,
nothing is imported, so that nothing needs to be built.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path("python/halocline")


def check_fields(root: Path) -> Iterator[str]:
    """Messages for fields without a description."""
    for path, name in sorted(public_classes(root / FOLDER)):
        for line, field in undescribed(path.read_text(), name):
            where = path.relative_to(root)
            yield f"{where}:{line}: field '{field}' of {name} is not described; put a text below it"


def public_classes(package: Path) -> set[tuple[Path, str]]:
    """(file, class) of the names in `__all__` of the package and its rooms, where modules have them."""
    found = set()
    for init in [*package.glob("__init__.py"), *package.glob("*/__init__.py")]:
        tree = ast.parse(init.read_text())
        public = set(_all_of(tree))
        for node in tree.body:
            if not isinstance(node, ast.ImportFrom) or not node.level or not node.module:
                continue
            base = init.parents[node.level - 1].joinpath(*node.module.split("."))
            path = base.with_suffix(".py")
            if path.is_file():
                found |= {(path, each.name) for each in node.names if (each.asname or each.name) in public}
    return found


def _all_of(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            assert isinstance(node, ast.Assign)
            yield from ast.literal_eval(node.value)


def undescribed(text: str, name: str) -> Iterator[tuple[int, str]]:
    """(line, field) of each public field of a class that nothing describes; none for other names."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == name and _has_fields(node):
            whole = ast.get_docstring(node) or ""
            for number, each in enumerate(node.body):
                if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
                    continue
                field = each.target.id
                hidden = field.startswith("_") or "ClassVar" in ast.unparse(each.annotation)
                below = node.body[number + 1] if number + 1 < len(node.body) else None
                named = re.search(rf"\b{re.escape(field)}\b", whole)
                if not (hidden or named or _is_text(below) or _has_help(each.value)):
                    yield each.lineno, field


def _has_fields(node: ast.ClassDef) -> bool:
    """Whether a class is a dataclass or a named tuple."""
    marks = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
    return any("dataclass" in each or each == "NamedTuple" for each in marks)


def _is_text(node: ast.stmt | None) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _has_help(value: ast.expr | None) -> bool:
    """Whether the default is made by a function that takes a help text, as those of `base/options.py`."""
    if not isinstance(value, ast.Call):
        return False
    texts = [each for each in value.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return bool(texts) or any(each.arg == "help" for each in value.keywords)
