# SPDX-License-Identifier: Apache-2.0
"""Which public name is on which page of the API reference; the text of the pages.

Public names are those in `__all__` of the package and of its rooms. A name of the package is on the page of
the room that defines it, and a room with names of its own has them on its page too.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .docstrings import to_rst
from .options_page import options_page

PACKAGE = "halocline"
TITLES = {
    "ckks": "Parameters, keys, ciphertexts",
    "engine": "Engines and programs",
    "circuits": "Circuits",
    "arrays": "Encrypted arrays",
    "choosing": "Choosing parameters",
    "nn": "Neural networks",
    "memory": "Memory, plans, traces",
    "tracing": "Simulated devices",
    "sharing": "Sharing results",
    "remote": "Key nodes: the engine's side",
    "keynode": "Key nodes: the server's side",
    "pir": "Private retrieval",
    "seal": "Objects of Microsoft SEAL",
    "base": "Errors and names",
}
"""Headings of rooms, in the order of the pages; rooms that are not here come last, under their own names."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A public name."""

    path: str
    """As it is imported: "halocline.Engine", "halocline.nn.Model"."""
    value: Any
    """What it stands for."""
    doc: str
    """Of a constant; "" for classes and functions, which have their own."""

    @property
    def kind(self) -> str:
        """Of the directive of Sphinx."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        if inspect.ismodule(self.value):
            return "module"
        return "function" if inspect.isroutine(self.value) else "data"


def pages() -> dict[str, list[Entry]]:
    """The names of each room, rooms in the order of the pages."""
    found: dict[str, list[Entry]] = {}
    top = importlib.import_module(PACKAGE)
    for name in top.__all__:
        home = _home(top, name)
        found.setdefault(home.__name__.split(".")[1], []).append(_entry(PACKAGE, top, home, name))
    for room in sorted(_rooms_with_names(top)):
        module = importlib.import_module(f"{PACKAGE}.{room}")
        for name in module.__all__:
            if name not in top.__all__ or getattr(top, name) is not getattr(module, name):
                entry = _entry(module.__name__, module, _home(module, name), name)
                found.setdefault(room, []).append(entry)
    order = [*TITLES, *sorted(set(found) - set(TITLES))]
    return {room: found[room] for room in order if room in found}


def _rooms_with_names(top: ModuleType) -> Iterator[str]:
    """Rooms whose `__init__.py` has a list of names."""
    for init in Path(str(top.__file__)).parent.glob("*/__init__.py"):
        if "\n__all__ = [" in init.read_text():
            yield init.parent.name


def _home(module: ModuleType, name: str) -> ModuleType:
    """The module that defines a name: of classes and functions it is known, constants are looked for."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        return value
    known = sys.modules.get(getattr(value, "__module__", None) or "")
    if known is not None and known.__name__.startswith(f"{PACKAGE}.") and hasattr(known, name):
        return known
    for each in _imported(module, name):
        return each
    return module


def _imported(module: ModuleType, name: str) -> Iterator[ModuleType]:
    """The module that another one imports a name from."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            base = module.__name__.split(".")[: len(module.__name__.split(".")) - node.level + 1]
            yield importlib.import_module(".".join([*base, node.module or ""]).rstrip("."))


def _entry(prefix: str, module: ModuleType, home: ModuleType, name: str) -> Entry:
    value = getattr(module, name)
    plain = not inspect.isclass(value) and not inspect.isroutine(value) and not inspect.ismodule(value)
    return Entry(f"{prefix}.{name}", value, _constant_doc(home, name) if plain else "")


def _constant_doc(module: ModuleType, name: str) -> str:
    """The text below a constant in its module."""
    body = ast.parse(inspect.getsource(module)).body
    for node, below in zip(body, body[1:], strict=False):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        if any(isinstance(each, ast.Name) and each.id == name for each in targets):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                return inspect.cleandoc(text.value)
    return ""


def write(folder: Path) -> list[Path]:
    """Writes an index and a page for each room; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    found = pages()
    for room, entries in found.items():
        made.append(folder / f"{room}.rst")
        made[-1].write_text(page(room, entries))
    made.append(folder / "options.rst")
    made[-1].write_text(options_page())
    intro = importlib.import_module(PACKAGE).__doc__ or ""
    contents = "\n".join(f"   {room}" for room in [*found, "options"])
    toctree = f".. toctree::\n   :maxdepth: 2\n\n{contents}\n"
    made.append(folder / "index.rst")
    made[-1].write_text(_heading("Halocline for Python", "#") + _index_text(intro) + "\n" + toctree)
    return made


def _index_text(doc: str) -> str:
    """The sentence of the package, and its example as code."""
    first, _, example = doc.partition("\n\n")
    code = "\n".join(f"    {line}".rstrip() for line in example.strip().splitlines())
    return "\n".join(to_rst([first])) + f"\n.. code-block:: python\n\n{code}\n"


def _heading(text: str, mark: str) -> str:
    return f"{text}\n{mark * len(text)}\n\n"


def page(room: str, entries: list[Entry]) -> str:
    """The text of a page: classes, then functions, then constants, each by name."""
    order = {"class": 0, "function": 1, "module": 2, "data": 3, "exception": 4}
    body = [_heading(TITLES.get(room, room), "=")]
    doc = inspect.getdoc(importlib.import_module(f"{PACKAGE}.{room}"))
    body.append("\n".join(to_rst((doc or "").splitlines()[:1])))
    for entry in sorted(entries, key=lambda each: (order[each.kind], each.path)):
        body.append("\n".join(_directive(entry)))
    return "\n".join(body) + "\n"


def _directive(entry: Entry) -> Iterator[str]:
    if entry.kind == "data":
        yield f".. py:data:: {entry.path}"
        yield ""
        yield from (f"   {line}".rstrip() for line in to_rst(entry.doc.splitlines()))
        return
    yield f".. auto{entry.kind}:: {entry.value.__name__ if entry.kind == 'module' else entry.path}"
    if entry.kind == "module":
        yield "   :members:"
    if entry.kind == "class":
        yield "   :members:"
        yield "   :inherited-members: Mapping, Sequence, tuple, object, ABC, Protocol"
    yield ""
