# SPDX-License-Identifier: Apache-2.0
"""What the code of a function says about its course: its digest, and the names that it reads."""

from __future__ import annotations

import dataclasses
import dis
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Hashable
from pathlib import Path
from types import CodeType, ModuleType

CODES_KEPT = 1024
"""Code objects whose facts are kept; they hold constants of source texts, no captured values."""

_DIGEST_BYTES = 16

_ATTRIBUTE_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})

READS_ANY_NAME = frozenset(
    {
        "getattr", "vars", "dir", "eval", "exec", "__dict__", "__getattribute__", "asdict", "astuple",
        "attrgetter", "methodcaller",
    }
)  # fmt: skip
"""Code that uses one of these may read attributes whose names it does not say."""


@dataclasses.dataclass(frozen=True)
class CodeFacts:
    """Of one code object and those inside it."""

    digest: bytes
    """Of instructions, constants and names; not of its place in a file, nor of its own name."""
    global_names: tuple[str, ...]
    """Names that it looks up in its module and the built-in names, in order of first use."""
    attributes: frozenset[str]
    """Names of attributes that it reads, of whatever object."""


@functools.lru_cache(maxsize=CODES_KEPT)
def facts_of(code: CodeType) -> CodeFacts:
    """Facts of a code object. Equal code objects have equal facts."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    global_names: dict[str, None] = {}
    attributes: set[str] = set()
    for each in _nested(code):
        digest.update(repr(_essence(each)).encode())
        digest.update(each.co_code)
        for instruction in dis.get_instructions(each):
            if instruction.opname in _GLOBAL_READS:
                global_names[str(instruction.argval)] = None
            elif instruction.opname in _ATTRIBUTE_READS:
                attributes.add(str(instruction.argval))
    return CodeFacts(digest.digest(), tuple(global_names), frozenset(attributes))


def _nested(code: CodeType) -> list[CodeType]:
    """A code object and those among its constants, theirs too."""
    found = [code]
    for each in found:
        found.extend(constant for constant in each.co_consts if isinstance(constant, CodeType))
    return found


def _essence(code: CodeType) -> Hashable:
    """What decides the course besides the instructions."""
    return (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        tuple(_constant(each) for each in code.co_consts),
        getattr(code, "co_exceptiontable", b""),
    )


def _constant(value: object) -> object:
    """A constant in a form whose repr tells it from all others."""
    if isinstance(value, CodeType):
        return "code"
    if isinstance(value, tuple):
        return ("tuple", *(_constant(each) for each in value))
    if isinstance(value, frozenset):
        return ("frozenset", *sorted(repr(_constant(each)) for each in value))
    return (type(value).__name__, value)


_PACKAGES = {"site-packages", "dist-packages"}
"""Names of folders of installed packages, wherever they are."""


@functools.cache
def _installed_folders() -> tuple[Path, ...]:
    """Folders of Python's own modules and of this library. Found at first use, which takes a while."""
    found = {Path(path).resolve() for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))}
    return (Path(__file__).resolve().parents[1], *sorted(found))


@functools.lru_cache(maxsize=CODES_KEPT)
def _is_installed_file(path: str) -> bool:
    """Whether code of this file does not change while a process runs."""
    resolved = Path(path).resolve()
    if not _PACKAGES.isdisjoint(resolved.parts):
        return True
    return any(resolved.is_relative_to(folder) for folder in _installed_folders())


def is_installed(name: str | None) -> bool:
    """Whether a module belongs to Python, to an installed package or to this library.

    Their functions and classes are known by name. Modules of the user, scripts and notebooks are not.
    """
    module: ModuleType | None = sys.modules.get(name or "")
    if module is None or name == "__main__":
        return False
    path = getattr(module, "__file__", None)
    if path is None:
        return str(name).partition(".")[0] in sys.stdlib_module_names
    return _is_installed_file(path)
