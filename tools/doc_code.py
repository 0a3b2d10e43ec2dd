# SPDX-License-Identifier: Apache-2.0
"""Python code in Markdown pages: it must parse, import what is there, and use names that the page makes.

Part of `check_docs.py`. Names of the package are looked up in its sources, so that nothing needs to be built.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
PACKAGE = "halocline"


def check_page(root: Path, page: Path) -> Iterator[str]:
    """Messages for the Python blocks of one page, which are read as one program."""
    text = page.read_text()
    where = page.relative_to(root)
    trees = []
    for match in PYTHON.finditer(text):
        line = text.count("\n", 0, match.start(1))
        try:
            tree = ast.parse(match[1])
        except SyntaxError as error:
            yield f"{where}:{line + (error.lineno or 0)}: code does not parse: {error.msg}"
            continue
        ast.increment_lineno(tree, line)
        trees.append(tree)
    nodes = [node for tree in trees for node in ast.walk(tree)]
    yield from (f"{where}:{line}: {what}" for line, what in _faults(root, nodes))


def _faults(root: Path, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    modules: dict[str, str] = {}  # local name -> module of the package
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] == PACKAGE:
                    modules[each.asname or PACKAGE] = each.name if each.asname else PACKAGE
                    if not _exists(root, each.name):
                        yield node.lineno, f"there is no module {each.name}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for each in node.names:
                yield from _missing(root, node.lineno, str(node.module), each.name)
                if _exists(root, f"{node.module}.{each.name}"):
                    modules[each.asname or each.name] = f"{node.module}.{each.name}"
    made = _made(nodes)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in made:
            yield node.lineno, f"'{node.id}' is used, but nothing on the page imports or makes it"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield from _missing(root, node.lineno, modules[node.value.id], node.attr)


def _made(nodes: list[ast.AST]) -> set[str]:
    """Names that the code binds anywhere, and those that Python has."""
    made = set(dir(builtins))
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            made.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return made


def _missing(root: Path, line: int, module: str, name: str) -> Iterator[tuple[int, str]]:
    """A message where a module of the package has no such name."""
    if not _exists(root, module):
        yield line, f"there is no module {module}"
    elif name not in _names(root, module) and not _exists(root, f"{module}.{name}"):
        yield line, f"{module} has no '{name}'"


def _source(root: Path, module: str) -> Path:
    path = root / "python" / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _exists(root: Path, module: str) -> bool:
    return _source(root, module).is_file()


def _names(root: Path, module: str) -> set[str]:
    """Names that a module binds at its top level."""
    body = ast.parse(_source(root, module).read_text()).body
    made = _made([node for each in body if not _is_scope(each) for node in ast.walk(each)])
    return made | {each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)}


def _is_scope(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef)
