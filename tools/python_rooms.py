# SPDX-License-Identifier: Apache-2.0
"""The rooms of the Python package and their order; `check_layers.py` checks every import with it.

A file below python/halocline belongs to the room named by its first folder, or by its stem where it lies in
none. It may import its own room, rooms of lower floors, and `_core`. No modules may import each other in a
circle, also within a room. Imports inside functions and those for types only count like all others: what
would name a class of a higher room says what it needs of it in a Protocol (`ckks/host.py`). Names that are
computed are not seen (`import_module` with anything but a literal).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from cpp_scan import source_files

FOLDER = "python/halocline"
PACKAGE = "halocline"

# From the top; rooms of one floor do not know each other.
FLOORS = (
    ("__main__",),
    ("cli",),
    ("papers",),
    ("bench",),
    ("workloads",),
    ("__init__",),
    ("errors",),
    ("choosing",),
    ("arrays", "nn", "sharing", "keynode"),
    ("engine",),
    ("remote",),
    ("circuits", "plots"),
    ("ckks", "pir", "seal"),
    ("tracing",),
    ("memory",),
    ("base",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

Import = tuple[int, str]
"""Line, and the module that it names."""


def module_of(relative: str) -> str:
    """`halocline.nn.model` of nn/model.py."""
    parts = [PACKAGE, *relative.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Room of a module; that of the package itself is `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def absolute(name: str, level: int, package: list[str]) -> str:
    """Full name of a module that is imported from a package; empty beyond the top."""
    if level == 0:
        return name
    base = package[: len(package) - level + 1]
    return ".".join([*base, name] if name else base)


def imports_of(relative: str, text: str, modules: set[str]) -> Iterator[Import]:
    """Modules of the package that a file imports, wherever in it."""
    package = [PACKAGE, *relative.split("/")[:-1]]
    for node in ast.walk(ast.parse(text)):
        found: list[str] = []
        if isinstance(node, ast.ImportFrom):
            base = absolute(node.module or "", node.level, package)
            names = [f"{base}.{alias.name}" for alias in node.names]
            found = [name if name in modules else base for name in names]
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                name = str(first.value)
                bare = name.lstrip(".")
                found = [absolute(bare, len(name) - len(bare), package)]
        for name in dict.fromkeys(found):
            if name.split(".")[0] == PACKAGE:
                yield getattr(node, "lineno", 1), name


def check_import(module: str, target: str) -> str | None:
    """Message for an import against the order, or None."""
    room, other = room_of(module), room_of(target)
    if other not in FLOOR_OF:
        return f"room '{other}' of {target} is not in the table of tools/python_rooms.py"
    if room == other or FLOOR_OF[room] < FLOOR_OF[other]:
        return None
    return f"room '{room}' must not import {target}: room '{other}' does not stand below it"


def circles(graph: dict[str, dict[str, int]]) -> Iterator[list[str]]:
    """A shortest circle through each module that none found before goes through."""
    done: set[str] = set()
    for start in sorted(graph):
        if start in done:
            continue
        before: dict[str, str] = {}
        level = [start]
        while level and start not in before:
            following = []
            for module in level:
                for target in graph.get(module, {}):
                    if target not in before:
                        before[target] = module
                        following.append(target)
            level = following
        if start in before:
            path = [start]
            while len(path) == 1 or path[-1] != start:
                path.append(before[path[-1]])
            done.update(path)
            yield path[::-1]


def check_rooms(root: Path) -> list[str]:
    """`file:line: message` for each violation in a checkout."""
    files = {
        path.relative_to(root / FOLDER).as_posix(): path.read_text()
        for path in source_files(f"{FOLDER}/*.py", root=root)
    }
    places = {module_of(relative): relative for relative in files}
    found: list[str] = []
    graph: dict[str, dict[str, int]] = {}
    for module, relative in places.items():
        room = room_of(module)
        if room not in FLOOR_OF:
            found.append(
                f"{FOLDER}/{relative}:1: room '{room}' is not in the table of tools/python_rooms.py: "
                "move the file into a room, or add one"
            )
            continue
        for line, target in imports_of(relative, files[relative], set(places) | {f"{PACKAGE}._core"}):
            if room_of(target) == "_core":
                continue
            message = check_import(module, target)
            if message:
                found.append(f"{FOLDER}/{relative}:{line}: {message}")
            if target in places and target != module:
                graph.setdefault(module, {}).setdefault(target, line)
    for circle in circles(graph):
        first = circle[0]
        names = " -> ".join(each.removeprefix(f"{PACKAGE}.") for each in circle)
        found.append(f"{FOLDER}/{places[first]}:{graph[first][circle[1]]}: circle of imports: {names}")
    return found
