# SPDX-License-Identifier: Apache-2.0
"""What code, classes and objects say about the course of a program, found without calling any of it."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import functools
import hashlib
import inspect
import itertools
import struct
import sys
import sysconfig
import types
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

CODES_KEPT = 1024
"""Code objects whose facts are kept; they hold constants of source texts, no captured values."""

_DIGEST_BYTES = 16
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE

_ATTRIBUTE_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})

_READS_ANY_NAME = frozenset(
    {
        "getattr", "vars", "dir", "eval", "exec", "__dict__", "__getattribute__", "asdict", "astuple",
        "attrgetter", "methodcaller",
    }
)  # fmt: skip
"""Code that uses one of these may read attributes whose names it does not say."""

_SHOWS = frozenset({"str", "repr", "ascii", "format", "format_map"})
"""Code that uses one of these, or formatted text, may call what makes text of an object."""


@dataclasses.dataclass(frozen=True)
class CodeFacts:
    """Of one code object and those inside it."""

    digest: bytes
    """Of instructions, constants and names; not of its place in a file, nor of its own name."""
    global_names: tuple[str, ...]
    """Names that it looks up in its module and the built-in names, in order of first use."""
    attributes: frozenset[str]
    """Names of attributes that it reads, of whatever object."""
    imports: tuple[str, ...]
    """Modules that it imports, relative ones with their dots."""
    reads_any_name: bool
    """Whether it may read attributes whose names it does not say."""
    shows: bool
    """Whether it may make text of objects."""


@functools.lru_cache(maxsize=CODES_KEPT)
def facts_of(code: CodeType) -> CodeFacts:
    """Facts of a code object. Equal code objects have equal facts."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    global_names: dict[str, None] = {}
    attributes: set[str] = set()
    imports: dict[str, None] = {}
    matches = formats = False
    for each in _nested(code):
        digest.update(repr(_essence(each)).encode())
        digest.update(each.co_code)
        steps = [step for step in dis.get_instructions(each) if step.opname != "EXTENDED_ARG"]
        for number, step in enumerate(steps):
            if step.opname in _GLOBAL_READS:
                global_names[str(step.argval)] = None
            elif step.opname in _ATTRIBUTE_READS or step.opname == "IMPORT_FROM":
                attributes.add(str(step.argval))
            elif step.opname == "IMPORT_NAME":  # the number of dots is loaded two steps before
                imports["." * int(steps[number - 2].argval) + str(step.argval)] = None
            matches |= step.opname == "MATCH_CLASS"
            formats |= step.opname.startswith("FORMAT_") or _is_percent(each, step)
    names = attributes.union(global_names)
    return CodeFacts(
        digest.digest(),
        tuple(global_names),
        frozenset(attributes),
        tuple(imports),
        reads_any_name=matches or not names.isdisjoint(_READS_ANY_NAME),
        shows=formats or not names.isdisjoint(_SHOWS),
    )


def _is_percent(code: CodeType, step: dis.Instruction) -> bool:
    """Whether this may be `"%s" % value`."""
    if "MODULO" not in step.opname and not (step.opname == "BINARY_OP" and step.argrepr.startswith("%")):
        return False
    return any(isinstance(each, str) and "%" in each for each in code.co_consts)


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


# Objects


def is_public(value: Any) -> bool:
    """Whether a value is what an installed module has under the value's name."""
    if not callable(value) or issubclass(type(value), ModuleType | type):
        return False
    module, name = _static(value, "__module__"), _static(value, "__name__")
    if not isinstance(module, str) or not isinstance(name, str) or not is_installed(module):
        return False
    return getattr(sys.modules.get(module), name, None) is value


def _static(value: Any, name: str) -> Any:
    """An attribute of an object; None where code of its class would have to make it."""
    if type(value) is types.MethodType:
        value = value.__func__
    found = inspect.getattr_static(value, name, None)
    if type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType):
        return found.__get__(value, type(value))
    return found


def defines(cls: type, name: str) -> bool:
    """Whether a class or a base of it has an attribute, which its metaclass is not asked for."""
    return any(name in vars(base) for base in cls.__mro__)


def is_native(cls: type) -> bool:
    """Whether no class statement made this class."""
    return not cls.__flags__ & _HEAP_TYPE


CALLED = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)
"""What a class has that Python, or code that names it, calls."""


def is_native_descriptor(value: Any) -> bool:
    """Whether this attribute of a class is a slot or the like, made by no code of the user."""
    cls = type(value)
    return is_native(cls) and defines(cls, "__get__") and cls not in CALLED


def solid_base(cls: type) -> type:
    """The nearest base that was not made by a class statement: what may hold hidden state.

    `object` where all state lies in attributes. The rule is that of `copyreg`, by which pickle tells.
    """
    for base in cls.__mro__:
        if is_native(base) or isinstance(vars(base).get("__new__"), types.BuiltinFunctionType):
            return base
    return object


def own_attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes that the object itself has, in its dictionary and in slots."""
    with contextlib.suppress(AttributeError):
        yield from list(object.__getattribute__(value, "__dict__").items())
    for cls in type(value).__mro__:
        for name, slot in vars(cls).items() if "__slots__" in vars(cls) else ():
            if type(slot) is types.MemberDescriptorType:
                try:
                    found = slot.__get__(value, cls)
                except AttributeError:
                    continue  # it was never set
                yield name, found


_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_PACKED_TUPLE = 16
_PACKED_DEPTH = 3


def packed(values: Sequence[Any]) -> bytes | None:
    """A list or tuple of plain values, or of short tuples of these, in one piece; None for all others."""
    level: Sequence[Any] = values
    for _ in range(_PACKED_DEPTH):
        kinds = set(map(type, level))
        if kinds == {float} and level is values:
            return struct.pack(f"<{len(values)}d", *values)
        if kinds <= _PLAIN:
            break
        tuples = [each for each in level if type(each) is tuple]
        if not kinds <= _PLAIN | {tuple} or max(map(len, tuples)) > _PACKED_TUPLE:
            return None
        level = list(itertools.chain.from_iterable(tuples))
    else:
        return None
    try:
        return repr(values).encode()
    except ValueError:  # an integer of thousands of digits
        return None
