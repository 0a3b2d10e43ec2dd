# SPDX-License-Identifier: Apache-2.0
"""What makes two calls of a program the same: its code, the values it reaches, its arguments by shape."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument
from ..ckks.ciphertext import Ciphertext
from .captured import Refused, Tokens, Walk
from .code_facts import defines, facts_of, packed

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class ProgramIdentities:
    """Tells the programs of one engine apart.

    Keeps no program and no value that one reaches: digests, and weak references to objects that are known by
    themselves. Used by one run at a time.
    """

    def __init__(self) -> None:
        self._tokens = Tokens()

    def identify(self, program: Callable[..., Any], arguments: Arguments, key: Any = None) -> bytes:
        """The same for calls that take the same course, as far as that is known before they run.

        key: what the caller says the program is, instead of its code and the values that it reaches.
        Raises InvalidArgument for a program that reaches a value which cannot be compared between runs.
        """
        named = key is not None
        head = self._key(key) if named else self._program(program)
        return _digest(head, self._arguments(arguments, named=named))

    def graph_number(self, program: Callable[..., Any], arguments: Arguments, key: Any = None) -> int:
        """Number for graphs of kernels: the same for equal code and arguments of the same shapes.

        Captured values do not count: graphs are compared kernel by kernel, so that programs which share a
        number only cost time. Raises InvalidArgument for a key that cannot be compared between runs.
        """
        head = self._structure(program) if key is None else self._key(key)
        return int.from_bytes(_digest(head, self._arguments(arguments, named=True))[:8], "little")

    def check_key(self, key: Any) -> None:
        """Raises InvalidArgument for a key that cannot be compared between runs."""
        if key is not None:
            self._key(key)

    # Programs

    def _program(self, program: Callable[..., Any]) -> bytes:
        try:
            return Walk(self._tokens).digest(program)
        except Refused as error:
            raise InvalidArgument(
                f"run: what the program does may depend on the {error.place}, of type {error.kind}, whose "
                "value cannot be compared between runs, so that no plan can be kept for it. Pass it to run() "
                "as an argument of the program, or say what the program is by a name of your choice: "
                "run(program, ..., key='name'), another one whenever it does something else"
            ) from error.__cause__
        except RecursionError:
            raise InvalidArgument(
                "run: values that the program reaches are nested too deeply to be compared between runs; say "
                "what the program is by a name of your choice: run(program, ..., key='name')"
            ) from None

    def _key(self, key: Any) -> bytes:
        try:
            return b"key" + Walk(self._tokens, everything=True).digest(key)
        except (Refused, RecursionError):
            number = self._tokens.of(key)
        if number is None:
            raise InvalidArgument(
                f"run: key is a {type(key).__name__}, which cannot be compared between runs; expected text, "
                "a number, or a tuple of these"
            )
        return f"key {number}".encode()

    def _structure(self, program: Any) -> bytes:
        """Of the code alone."""
        if issubclass(type(program), functools.partial):
            return b"partial" + self._structure(program.func)
        if issubclass(type(program), MethodType):
            return b"method" + self._structure(program.__func__) + self._token(program.__self__)
        wrapped = inspect.getattr_static(program, "__wrapped__", program)
        if issubclass(type(wrapped), FunctionType):
            return b"function" + facts_of(wrapped.__code__).digest
        return self._token(program)

    def _token(self, value: Any) -> bytes:
        """An object by itself; by its class where it allows no weak reference."""
        if issubclass(type(value), MethodType):
            return _digest(b"method", value.__name__.encode(), self._token(value.__self__))
        number = self._tokens.of(value)
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return f"object {number} {kind}".encode()

    # Arguments

    def _arguments(self, arguments: Arguments, *, named: bool) -> bytes:
        positional, keywords = arguments
        try:
            return _digest(self._argument(positional, named), self._argument(keywords, named))
        except RecursionError:
            raise InvalidArgument(
                "run: an argument of the program contains itself, or is nested too deeply to be compared "
                "between runs; pass what it holds in lists, tuples and mappings that do not"
            ) from None

    def _argument(self, value: Any, named: bool) -> bytes:
        """What of an argument can change what a program touches.

        named: objects count by their class, because the name of the program stands for them as well.
        """
        kind = type(value)  # isinstance() would ask the object
        if issubclass(kind, Ciphertext):
            return f"ciphertext {value.level} {value.scale!r} {value.slots} {value.is_real}".encode()
        if defines(kind, "_map_ciphertexts"):  # an array of ciphertexts: see `bind_all`
            return _digest(b"ciphertexts", Walk(self._tokens).digest(value))
        if issubclass(kind, np.ndarray):
            return f"array {value.shape} {value.dtype!r}".encode()
        if issubclass(kind, list | tuple):
            if (data := packed(value) if kind in (list, tuple) else None) is not None:
                return _digest(b"packed", kind.__name__.encode(), data)
            return _digest(kind.__name__.encode(), *(self._argument(each, named) for each in value))
        if issubclass(kind, Mapping):
            pairs = list(value.items())
            if (data := packed(pairs)) is not None:
                return _digest(b"packed mapping", data)
            parts = ((self._other(key, named), self._argument(each, named)) for key, each in pairs)
            return _digest(b"mapping", *(part for pair in parts for part in pair))
        return self._other(value, named)

    def _other(self, value: Any, named: bool) -> bytes:
        if named and not issubclass(type(value), _PLAIN):
            return f"object {type(value).__module__}.{type(value).__qualname__}".encode()
        try:
            return Walk(self._tokens, everything=not callable(value)).digest(value)
        except (Refused, RecursionError):
            return self._token(value)


def _digest(*parts: bytes) -> bytes:
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()
