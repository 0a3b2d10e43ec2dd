# SPDX-License-Identifier: Apache-2.0
"""Functions of numpy on encrypted arrays: `np.sum(x, axis=0)`, `np.multiply(x, y)`.

`implements` puts a function into the table: numpy calls it with the arguments of its own function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..base.errors import InvalidArgument, WrongType
from . import elementwise, reductions, shapes
from .registry import operation

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_NOT_HERE = frozenset({"out", "where", "dtype", "initial", "casting", "order", "subok"})
"""Options of functions of numpy that only their defaults are taken of."""


def implements(*functions: Any) -> Callable[[FunctionT], FunctionT]:
    """Decorator: what numpy's functions, ufuncs among them, do when an argument is an encrypted array."""

    def register(function: FunctionT) -> FunctionT:
        for each in functions:
            _FUNCTIONS[each] = function
        return function

    return register


def _unsupported(name: str) -> WrongType:
    known = sorted(each.__name__ for each in _FUNCTIONS)
    return WrongType(
        f"np.{name}: not defined on encrypted arrays; defined are {', '.join(known)}. Polynomials and their "
        "approximations of other functions are made by engine.polynomial and engine.chebyshev"
    )


@operation("ufunc")
def ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc on encrypted arrays; `np.add.reduce` is `np.sum`."""
    name = function.__name__
    if method == "reduce" and function is np.add:
        return function_of_numpy(np.sum, inputs, {"axis": 0, **options})
    if method != "__call__":
        raise _unsupported(f"{name}.{method}")
    if function not in _FUNCTIONS:
        raise _unsupported(name)
    return function_of_numpy(function, inputs, options)


@operation("function")
def function_of_numpy(function: Any, args: Any, options: dict[str, Any]) -> Any:
    """A function of numpy on arguments of which some are encrypted arrays."""
    name = function.__name__
    if function not in _FUNCTIONS:
        raise _unsupported(name)
    for each in _NOT_HERE & options.keys():
        if options[each] not in (None, True):
            raise InvalidArgument(f"np.{name}: no option '{each}' on encrypted arrays; leave it out")
    kept = {key: value for key, value in options.items() if key not in _NOT_HERE}
    try:
        return _FUNCTIONS[function](*args, **kept)
    except TypeError as error:
        if isinstance(error, WrongType):
            raise
        raise InvalidArgument(f"np.{name}: {error}") from None


implements(np.add)(elementwise.add)
implements(np.subtract)(elementwise.subtract)
implements(np.multiply)(elementwise.multiply)
implements(np.divide)(elementwise.divide)
implements(np.power)(elementwise.power)
implements(np.negative)(elementwise.negative)
implements(np.conjugate)(elementwise.conj)
implements(np.real)(elementwise.real)
implements(np.imag)(elementwise.imag)
implements(np.sum)(reductions.sum_)
implements(np.mean)(reductions.mean)
implements(np.var)(reductions.var)
implements(np.std)(reductions.std)
implements(np.cumsum)(reductions.cumsum)
implements(np.reshape)(shapes.reshape)
implements(np.transpose)(shapes.transpose)
implements(np.roll)(shapes.roll)
implements(np.flip)(shapes.flip)
implements(np.concatenate)(shapes.concatenate)
implements(np.stack)(shapes.stack)
implements(np.broadcast_to)(shapes.broadcast_to)
