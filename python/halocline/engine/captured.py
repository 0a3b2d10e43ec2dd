# SPDX-License-Identifier: Apache-2.0
"""A digest of everything that decides the course of a program: its code and the values that it reaches.

Reached are closures, defaults, globals that its code names, the object of a bound method, arguments of a
`functools.partial`, and attributes of those objects and of modules whose names its code, or code that it
reaches, says. Values count by content. An object of a class with a method `__program_identity__` counts by
what that returns: plain values, or the object itself where it never changes.

Code and modules of Python, of installed packages and of this library count by name.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import hashlib
import importlib.util
import inspect
import itertools
import logging
import pathlib
import re
import struct
import sys
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..ckks.ciphertext import Ciphertext
from . import code_facts
from .code_facts import CALLED, facts_of, is_installed, packed, solid_base

TOKENS_KEPT = 1024
"""Objects that are identified by themselves and weakly referenced; the least recently used one is dropped."""

_DIGEST_BYTES = 16

_BY_REPR = (
    decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, pathlib.PurePath,
    np.dtype, types.GenericAlias, types.UnionType, TypeVar,
)  # fmt: skip
_BY_REPR_EXACTLY = (range, type(Ellipsis), type(NotImplemented), type(None))
_WITHOUT_VALUE = (type(threading.Lock()), type(threading.RLock()), logging.Logger, object)
"""Of these, nothing but their being there can matter."""
_BY_NAME = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodWrapperType, np.ufunc,
)  # fmt: skip
_WRAPPERS = (staticmethod, classmethod)
_FIELD = type(vars(collections.namedtuple("_FIELD", "first"))["first"])
"""Class of the attributes of classes of named tuples."""
_MAKING = frozenset({"__new__", "__init__", "__post_init__", "__init_subclass__", "__set_name__", "__del__"})
_SHOWN = frozenset({"__repr__", "__str__", "__format__"})
_SHOWING = _SHOWN | {"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"}
_MODULES_THAT_FETCH: dict[types.ModuleType, tuple[str, ...]] = {
    builtins: ("globals", "locals", "eval", "exec", "__import__"),
    sys: ("modules", "_getframe"),
    importlib: ("import_module",),
    inspect: ("currentframe", "stack"),
}
"""Modules of Python and what of them leads code to values whose names it does not say."""
_FETCHES = {
    id(vars(each)[name]): vars(each)[name]
    for each in _MODULES_THAT_FETCH
    for name in _MODULES_THAT_FETCH[each]
}
_NUMBER_OF: dict[type, Callable[[Any], Any]] = {int: int.__int__, float: float.__float__, str: str.__str__}
"""The value of an object whose class may have a conversion of its own."""


class Refused(Exception):
    """A value that cannot be compared between runs."""

    def __init__(self, place: Place, value: object) -> None:
        super().__init__(place, type(value))
        self.place, self.kind = place, f"{type(value).__module__}.{type(value).__qualname__}"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a value was found, for messages."""

    kind: str = ""
    """What the outermost name is: "captured variable"."""
    text: str = ""

    def inside(self, kind: str, name: str) -> Place:
        """The place of a name that a function or an object here reads."""
        return Place(self.kind, f"{self.text}.{name}") if self.text else Place(kind, name)

    def at(self, key: object) -> Place:
        """The place of an item of a container."""
        return Place(self.kind, f"{self.text}[{key!r:.40}]")

    def __str__(self) -> str:
        return f"{self.kind} '{self.text}'" if self.text else "program"


class Tokens:
    """Numbers for objects that are known by themselves; never the same number for two of them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[weakref.ref[Any], int]] = OrderedDict()
        self._last = 0

    def of(self, value: object) -> int | None:
        """The number of an object; None where it allows no weak reference."""
        found = self._kept.get(id(value))
        if found is None or found[0]() is not value:
            try:
                found = weakref.ref(value), self._last + 1
            except TypeError:
                return None
            self._last += 1
            self._kept[id(value)] = found
        self._kept.move_to_end(id(value))
        while len(self._kept) > TOKENS_KEPT:
            self._kept.popitem(last=False)
        return found[1]

    def __len__(self) -> int:
        return len(self._kept)


@dataclasses.dataclass
class _Opened:
    """An object, class or module, whose attributes count as soon as code reads one of their names."""

    place: Place
    values: Mapping[str, Any]
    always: frozenset[str] = frozenset()
    """Names that count in any case: what Python calls without saying so."""
    is_of_class: bool = False
    functions_only: bool = False
    is_module: bool = False
    done: set[str] = dataclasses.field(default_factory=set)


class Walk:
    """Feeds one program, or one value, to a digest. Used once.

    everything: count all attributes of objects, whether code reads them or not.
    """

    def __init__(self, tokens: Tokens, *, everything: bool = False) -> None:
        self._tokens, self._everything = tokens, everything
        self._hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self._seen: dict[Any, int] = {}
        self._held: list[Any] = []  # so that no address is used twice meanwhile
        self._read: set[str] = set()
        self._shows = False
        self._opened: list[_Opened] = []

    def digest(self, value: Any) -> bytes:
        """The digest of a value. Raises Refused."""
        self._walk(Place(), value)
        self._close()
        return self._hash.digest()

    # Output

    def _put(self, *parts: str | bytes | int) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
            self._hash.update(struct.pack("<Q", len(data)))
            self._hash.update(data)

    def _is_known(self, key: Any, value: Any) -> bool:
        """Whether this object was met before, which is then said instead of its contents."""
        if key in self._seen:
            self._put("again", self._seen[key])
            return True
        self._seen[key] = len(self._seen)
        self._held.append(value)
        return False

    # Values

    def _walk(self, place: Place, value: Any) -> None:
        kind = type(value)
        if kind is int:
            self._put("int", f"{value:x}")  # of any length
        elif kind in (bool, str, bytes, complex):
            self._put(kind.__name__, value if kind is bytes else repr(value))
        elif kind is float:
            self._put("float", struct.pack("<d", value))
        elif not self._is_known(id(value), value):
            try:
                self._by_kind(place, value, kind)
            except (Refused, RecursionError, MemoryError):
                raise
            except Exception as error:  # in code of the user: a property, a metaclass, __program_identity__
                raise Refused(place, value) from error

    def _by_kind(self, place: Place, value: Any, kind: type) -> None:
        """By the class that the object has: asked by isinstance(), it could call itself another one."""
        if id(value) in _FETCHES:
            raise Refused(place, value)
        if kind in _BY_REPR_EXACTLY:
            self._put(kind.__name__, repr(value))
        elif kind is slice:
            self._put("slice")
            self._walk(place, (value.start, value.stop, value.step))
        elif issubclass(kind, Ciphertext):
            self._put("ciphertext", repr((value.level, value.scale, value.slots, value.is_real)))
        elif code_facts.defines(kind, "__program_identity__"):
            self._hooked(place, value)
        elif not (self._code(place, value) or self._data(place, value)):
            self._object(place, value)

    def _hooked(self, place: Place, value: Any) -> None:
        found = value.__program_identity__()
        self._put("identity", type(value).__module__, type(value).__qualname__)
        if found is not value:
            self._walk(place, found)
        elif (number := self._tokens.of(value)) is not None:
            self._put("token", number)
        else:
            raise Refused(place, value)

    def _code(self, place: Place, value: Any) -> bool:
        """Functions and what stands for them; whether it was one."""
        kind = type(value)
        if code_facts.is_public(value):
            self._put("public", value.__module__, value.__name__)
        elif issubclass(kind, types.FunctionType):
            self._function(place, value)
        elif issubclass(kind, types.MethodType):
            self._put("method")
            self._walk(place, value.__func__)
            self._walk(place.inside("object of the method", "self"), value.__self__)
        elif issubclass(kind, functools.partial):
            self._put("partial")
            self._walk(place, value.func)
            for number, each in enumerate(value.args):
                self._walk(place.inside("argument of the partial", f"args[{number}]"), each)
            self._items(place, value.keywords, lambda key: place.inside("argument of the partial", key))
        elif issubclass(kind, _WRAPPERS) or type(value) is functools._lru_cache_wrapper:
            self._put("wrapper", type(value).__name__)
            self._walk(place, value.__wrapped__)
        elif kind is _FIELD:
            self._put("field", repr(value.__reduce__()))
        elif issubclass(kind, property):
            self._put("property")
            self._walk(place, value.fget)
        elif issubclass(kind, functools.cached_property):
            self._put("property")
            self._walk(place, value.func)
        elif issubclass(kind, type):
            self._class(place, value, is_called=True)
        elif issubclass(kind, types.ModuleType):
            self._module(place, value)
        elif issubclass(kind, _BY_NAME):
            self._named(place, value)
        else:
            return False
        return True

    def _named(self, place: Place, value: Any) -> None:
        self._put(
            "name", str(getattr(value, "__module__", "")), getattr(value, "__qualname__", value.__name__)
        )
        if isinstance(value, np.ufunc) and value.__name__.endswith("(vectorized)"):
            raise Refused(place, value)  # of np.frompyfunc, which hides its function
        bound = getattr(value, "__self__", None)
        if bound is not None and not isinstance(bound, types.ModuleType):
            self._walk(place, bound)

    def _data(self, place: Place, value: Any) -> bool:
        """Arrays, containers and immutable values; whether it was one."""
        kind = type(value)
        if issubclass(kind, np.ndarray):
            self._array(place, value)
        elif issubclass(kind, np.generic):
            self._put("number", value.dtype.str, value.tobytes())
        elif issubclass(kind, enum.Enum):
            name = object.__getattribute__(value, "_name_")
            self._put("enum", kind.__module__, kind.__qualname__, str(name))
            self._walk(place, object.__getattribute__(value, "_value_"))
            self._instance(place, value)
        elif issubclass(kind, _BY_REPR):
            self._put("repr", type(value).__qualname__, repr(value))
        elif issubclass(kind, re.Pattern):
            self._put("pattern", value.flags)
            self._walk(place, value.pattern)
        elif type(value) in _WITHOUT_VALUE or issubclass(kind, logging.Logger):
            self._put("object", type(value).__qualname__)
        else:
            return self._container(place, value)
        return True

    def _array(self, place: Place, value: Any) -> None:
        self._put("array", value.dtype.str, repr(value.dtype), repr(value.shape))
        if value.dtype.hasobject:
            self._walk(place, value.tolist())
        elif value.nbytes:
            self._hash.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        if type(value) is not np.ndarray:
            self._instance(place, value)

    def _container(self, place: Place, value: Any) -> bool:
        """Containers of Python and classes made of them."""
        kind = solid_base(type(value))
        if kind in (list, tuple, collections.deque):
            self._sequence(place, kind, list(kind.__iter__(value)))
        elif kind in (dict, OrderedDict, collections.defaultdict, types.MappingProxyType):
            self._items(place, value, place.at, kind)
            self._walk(place, value.default_factory if kind is collections.defaultdict else None)
        elif kind is types.SimpleNamespace:
            self._items(place, vars(value), lambda key: place.inside("", key))
        elif kind in (set, frozenset):
            self._set(place, value)
        elif kind is memoryview:
            self._put("memoryview", value.format, repr(value.shape), value.tobytes())
        elif kind in (bool, int, float, complex, str, bytes, bytearray):
            plain = bytes if kind is bytearray else _NUMBER_OF.get(kind, kind)
            self._walk(place, plain(value))
        else:
            return False
        if type(value) is not kind:
            self._instance(place, value)
        return True

    def _sequence(self, place: Place, kind: type, values: list[Any]) -> None:
        self._put(kind.__name__, len(values))
        if (data := packed(values)) is not None:
            self._put("packed", data)
            return
        for number, each in enumerate(values):
            self._walk(place.at(number), each)

    def _items(
        self, place: Place, value: Mapping[Any, Any], at: Callable[[Any], Place], kind: Any = dict
    ) -> None:
        pairs = list(kind.items(value))
        self._put("dict", len(pairs))
        if (data := packed(pairs)) is not None:
            self._put("packed", data)
            return
        for key, each in pairs:
            self._walk(place, key)
            self._walk(at(key), each)

    def _set(self, place: Place, value: Any) -> None:
        """Elements in an order that does not depend on their addresses."""
        self._put("set", len(value))
        for each in sorted(self._apart(place, each) for each in value):
            self._put(each)

    def _apart(self, place: Place, value: Any) -> bytes:
        """The digest of a value by itself, of which all counts: the code that reads it is not known here."""
        other = Walk(self._tokens, everything=True)
        other._walk(place, value)
        other._close()
        return other._hash.digest()

    # Functions, classes, modules

    def _function(self, place: Place, value: types.FunctionType) -> None:
        facts = facts_of(value.__code__)
        self._put("function", facts.digest)
        installed = is_installed(value.__globals__.get("__name__"))
        if not installed or "." in value.__qualname__:  # a method, of an object that was met
            self._read |= facts.attributes
        self._defaults(place, value)
        if installed and hasattr(value, "registry"):  # functools.singledispatch
            self._walk(place, dict(value.registry))
            return
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                each = cell.cell_contents
            except ValueError:
                self._put("empty")
                continue
            self._walk(place.inside("captured variable", name), each)
        self._items(place, value.__dict__, lambda key: place.inside("attribute of the function", key))
        if installed:
            self._put("installed", value.__module__ or "", value.__qualname__)
            return
        self._everything |= facts.reads_any_name
        self._shows |= facts.shows
        for name in facts.global_names:
            if name in value.__globals__:
                self._walk(place.inside("global variable", name), value.__globals__[name])
            elif name in _MODULES_THAT_FETCH[builtins]:
                raise Refused(place.inside("built-in function", name), vars(builtins)[name])
            else:
                self._put("built-in", name)
        for name in facts.imports:
            self._imported(place, name, value.__globals__.get("__package__") or "")

    def _imported(self, place: Place, name: str, package: str) -> None:
        """A module that code imports when it runs, and those that hold it."""
        if not name.startswith(".") or package:
            name = importlib.util.resolve_name(name, package)
        for full in itertools.accumulate(name.split("."), "{}.{}".format):
            self._walk(place.inside("imported module", full), sys.modules.get(full))

    def _defaults(self, place: Place, value: types.FunctionType) -> None:
        given = value.__defaults__ or ()
        names = value.__code__.co_varnames[: value.__code__.co_argcount]
        for name, each in zip(names[len(names) - len(given) :], given, strict=True):
            self._walk(place.inside("default of the parameter", name), each)
        self._items(
            place, value.__kwdefaults__ or {}, lambda key: place.inside("default of the parameter", key)
        )

    def _class(self, place: Place, cls: type, *, is_called: bool) -> None:
        """The class of an object, or one that code may call. Functions count that code may reach."""
        self._put("class", cls.__module__, cls.__qualname__)
        if is_called and is_installed(cls.__module__):
            return
        if not is_installed(type(cls).__module__):
            self._class(place, type(cls), is_called=False)
        for each in cls.__mro__:
            if code_facts.is_native(each) or self._is_known((id(each), is_called), each):
                continue
            self._put(each.__module__, each.__qualname__)
            left_out = _SHOWING if is_called else _SHOWING | _MAKING
            always = frozenset(
                name
                for name, value in vars(each).items()
                if name.startswith("__") and name not in left_out and issubclass(type(value), CALLED)
            )
            self._opened.append(
                _Opened(place, vars(each), always, True, functions_only=is_installed(each.__module__))
            )

    def _module(self, place: Place, value: types.ModuleType) -> None:
        self._put("module", value.__name__)
        if not is_installed(value.__name__):
            self._opened.append(_Opened(place, vars(value), is_module=True))
        elif value in _MODULES_THAT_FETCH:
            found = {name: vars(value)[name] for name in _MODULES_THAT_FETCH[value]}
            self._opened.append(_Opened(place, found, is_module=True))

    # Objects

    def _object(self, place: Place, value: Any) -> None:
        if solid_base(type(value)) is object:
            self._instance(place, value)
        elif code_facts.defines(type(value), "__array__"):
            self._put("converted", type(value).__module__, type(value).__qualname__)
            self._array(place, self._converted(place, value))
        else:
            raise Refused(place, value)

    def _converted(self, place: Place, value: Any) -> Any:
        try:
            return np.asarray(value)
        except Exception:
            raise Refused(place, value) from None

    def _instance(self, place: Place, value: Any) -> None:
        self._put("instance")
        self._class(place, type(value), is_called=False)
        self._opened.append(_Opened(place, dict(code_facts.own_attributes(value))))

    def _close(self) -> None:
        """Walks what code reads of the objects that were met, and what that leads to, to the end."""
        found = True
        while found:
            found = False
            for number, opened in enumerate(self._opened):  # grows meanwhile
                for name in sorted(self._wanted(opened)):
                    found = True
                    opened.done.add(name)
                    self._put("attribute", number, name)
                    self._attribute(opened, name)

    def _wanted(self, opened: _Opened) -> set[str]:
        names = opened.values.keys()
        everything = self._everything and not opened.is_module and not opened.functions_only
        wanted = set(names) - _MAKING - _SHOWING if everything else self._read & names
        if self._shows and opened.is_of_class:
            wanted |= _SHOWN & names
        return (wanted | opened.always) - opened.done

    def _attribute(self, opened: _Opened, name: str) -> None:
        value = opened.values[name]
        is_called = issubclass(type(value), CALLED)
        if opened.is_of_class and name.startswith("__") and not (is_called or name == "__match_args__"):
            return
        if opened.functions_only and not is_called:
            return
        if opened.is_of_class and (code_facts.is_native_descriptor(value) or name == "_abc_impl"):
            return  # a slot, whose value is among the object's; a cache of `abc`
        self._walk(opened.place.inside("attribute", name), value)
