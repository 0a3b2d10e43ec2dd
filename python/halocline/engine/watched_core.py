# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a native engine that lets an observer see, and change, every operation on ciphertexts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .. import _core
from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine

OPERATIONS = frozenset(
    (
        "add", "sub", "negate", "add_values", "add_constant", "multiply", "unfinished_product",
        "multiply_values", "multiply_constant", "multiply_by_i", "dot", "unfinished_dot", "finish_product",
        "relinearize", "rescale", "drop_level", "adjust", "with_slots", "rotate", "rotate_many", "conjugate",
        "sum_rotations", "inner_sum", "apply_circuit", "polynomial", "sign", "step", "relu", "compare",
        "maximum", "minimum", "bootstrap", "load",
    )
)  # fmt: skip
"""Methods of a native engine that make ciphertexts of ciphertexts; `load` copies one into the engine."""

Operation = Callable[..., Any]


class Observer(Protocol):
    """What sees the operations."""

    def operate(self, name: str, native: Operation, arguments: tuple[Any, ...]) -> Any:
        """The result of one: of `native(*arguments)`, or of what is done instead."""


class WatchedCore:
    """Looks like a native engine; `add_encoded` is the sum with an encoded vector."""

    def __init__(self, native: NativeEngine, observer: Observer) -> None:
        self._native, self._observer = native, observer
        for name in OPERATIONS:
            operate = functools.partial(self._operate, name, getattr(native, name))
            setattr(self, name, operate)

    def _operate(self, name: str, native: Operation, *arguments: Any) -> Any:
        return self._observer.operate(name, native, arguments)

    def add_encoded(self, a: NativeCiphertext, plain: _core.Plaintext) -> NativeCiphertext:
        """The sum of a ciphertext and an encoded vector."""

        def add(ciphertext: NativeCiphertext, encoded: _core.Plaintext) -> NativeCiphertext:
            return _core.add_plain(self._native, ciphertext, encoded)

        made: NativeCiphertext = self._observer.operate("add_encoded", add, (a, plain))
        return made

    @property
    def manual(self) -> bool:
        """Of this thread: whether products are neither relinearized nor rescaled."""
        return self._native.manual

    @manual.setter
    def manual(self, value: bool) -> None:
        self._native.manual = value

    @property
    def cache_bytes(self) -> int:
        """Of the native engine."""
        return self._native.cache_bytes

    @cache_bytes.setter
    def cache_bytes(self, value: int) -> None:
        self._native.cache_bytes = value

    @property
    def joining_budget(self) -> int:
        """Of the native engine."""
        return self._native.joining_budget

    @joining_budget.setter
    def joining_budget(self, value: int | None) -> None:
        self._native.joining_budget = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)


def ciphertexts_in(arguments: Sequence[Any]) -> list[NativeCiphertext]:
    """The ciphertexts among the arguments of an operation, in order."""
    found: list[NativeCiphertext] = []
    for each in arguments:
        if isinstance(each, NativeCiphertext):
            found.append(each)
        elif isinstance(each, list | tuple) and each and isinstance(each[0], NativeCiphertext):
            found.extend(each)
    return found


def replaced(arguments: Sequence[Any], instead: Callable[[NativeCiphertext], NativeCiphertext]) -> list[Any]:
    """Arguments of an operation with other ciphertexts in place of theirs."""
    made: list[Any] = []
    for each in arguments:
        if isinstance(each, NativeCiphertext):
            made.append(instead(each))
        elif isinstance(each, list | tuple) and each and isinstance(each[0], NativeCiphertext):
            made.append([instead(one) for one in each])
        else:
            made.append(each)
    return made


def results_of(result: Any) -> list[NativeCiphertext]:
    """What an operation made, as a list."""
    return [result] if isinstance(result, NativeCiphertext) else list(result)
