# SPDX-License-Identifier: Apache-2.0
"""Functions of numpy on encrypted arrays: `np.sum(x, axis=0)`, `np.multiply(x, y)`.

`implements` puts a function into the table: it is called with the arguments that numpy's function got.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..base.errors import InvalidArgument, WrongType
from .registry import operation

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "out": (None,),
    "where": (None, True),
    "dtype": (None,),
    "initial": (None,),
    "casting": ("same_kind", "unsafe"),
    "order": (None, "C", "K"),
    "subok": (False, True),
}
"""Options of functions of numpy that encrypted arrays do not have, and the values that say nothing."""


def implements(*functions: Any) -> Callable[[FunctionT], FunctionT]:
    """Decorator: what numpy's functions, ufuncs among them, do when an argument is an encrypted array."""

    def register(function: FunctionT) -> FunctionT:
        for each in functions:
            _FUNCTIONS[each] = function
        return function

    return register


def implemented() -> list[str]:
    """Names of the functions of numpy that take encrypted arrays."""
    return sorted({each.__name__ for each in _FUNCTIONS})


def _unsupported(name: str) -> WrongType:
    return WrongType(
        f"np.{name}: not defined on encrypted arrays, because it is no sum of products, or what it "
        "returns is plain and would show what is encrypted. Defined are "
        f"{', '.join(implemented())}; other smooth functions of the elements by "
        "hc.functions.apply(function, x, interval=(low, high))"
    )


@operation("ufunc")
def ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc on encrypted arrays; `np.add.reduce` and `np.add.accumulate` are sums."""
    if method == "__call__":
        return function_of_numpy(function, inputs, options)
    instead: dict[tuple[Any, str], Any] = {
        (np.add, "reduce"): np.sum,
        (np.add, "accumulate"): np.cumsum,
        (np.multiply, "reduce"): np.prod,
    }
    if (function, method) not in instead:
        raise _unsupported(f"{function.__name__}.{method}")
    how = {"axis": 0, **options} if len(inputs) < 2 else options
    return function_of_numpy(instead[function, method], inputs, how)


@operation("function")
def function_of_numpy(function: Any, args: Any, options: dict[str, Any]) -> Any:
    """A function of numpy on arguments of which some are encrypted arrays."""
    name = function.__name__
    ours = _FUNCTIONS.get(function)
    if ours is None:
        raise _unsupported(name)
    takes = inspect.signature(ours).parameters
    kept = {}
    for key, value in options.items():
        if key in takes or key not in _DEFAULTS:
            kept[key] = value
        elif not (value is None or isinstance(value, bool | str)) or value not in _DEFAULTS[key]:
            raise InvalidArgument(f"np.{name}: no option '{key}' on encrypted arrays; leave it out")
    try:
        bound = inspect.signature(ours).bind(*args, **kept)
    except TypeError as error:
        raise InvalidArgument(f"np.{name} on encrypted arrays: {error}") from None
    return ours(*bound.args, **bound.kwargs)
