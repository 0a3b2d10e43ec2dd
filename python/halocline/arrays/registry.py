# SPDX-License-Identifier: Apache-2.0
"""From the name of a method of arrays to the function that does it.

`array.py` names the methods, and the modules of the operations, which need its class, register themselves:
so neither imports the other in a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..base.errors import WrongType

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_OPERATIONS: dict[str, Callable[..., Any]] = {}


def operation(name: str) -> Callable[[FunctionT], FunctionT]:
    """Decorator: the function does what the method or operator of this name says."""

    def register(function: FunctionT) -> FunctionT:
        _OPERATIONS[name] = function
        return function

    return register


def perform(name: str, *args: Any, **options: Any) -> Any:
    """Calls the function of an operation."""
    found = _OPERATIONS.get(name)
    if found is None:
        raise WrongType(f"{name}: not defined on encrypted arrays")
    return found(*args, **options)
