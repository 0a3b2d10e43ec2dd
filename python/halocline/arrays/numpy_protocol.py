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
from ..ckks.instead import numpy_name
from .registry import operation

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
SCIPY: dict[str, Callable[..., Any]] = {}
"""The same for ufuncs of scipy.special, by name, as the package does without scipy."""
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


_INSTEAD = {
    "einsum": "transpose, x[..., None], * and sum, or @",
    "tensordot": "transpose, reshape and @",
    "kron": "x[:, None, :, None] * y[None, :, None, :] and reshape",
    "cross": "products of x[..., 0], x[..., 1] and x[..., 2]",
    "norm": "np.sqrt(np.sum(x**2)), with an interval for the root",
    "matrix_power": "x @ x",
    "inv": "Newton's iteration y = y @ (2 * np.eye(n) - x @ y)",
    "convolve": "np.pad, and a sum of np.roll(x, k) * weights[k]",
    "polyval": "x.engine.polynomial, hc.functions.apply, or products",
    "cumprod": "a loop of products",
    "ptp": "np.max(x) - np.min(x)",
    "argsort": "np.sort, or np.argmax",
    "quantile": "np.percentile",
    "any": "np.max, or a sum, of conditions of 1 and 0",
    "all": "np.min, or a product, of conditions of 1 and 0",
    "logical_and": "a * b of conditions of 1 and 0",
    "logical_or": "a + b - a * b of conditions of 1 and 0",
    "logical_not": "1 - a of a condition of 1 and 0",
    "full_like": "np.full(x.shape, value)",
    "heaviside": "hc.functions.greater(x, 0)",
}
"""What computes the same, of functions that programs often call."""


def _unsupported(name: str) -> WrongType:
    instead = _INSTEAD.get(name)
    if instead is None:
        smooth = "function" if "." in name else f"np.{name}"
        instead = f"hc.functions.apply({smooth}, x, interval=(low, high)) for a smooth function of elements"
    return WrongType(
        f"np.{name}: not defined on encrypted arrays, because it is no sum of products, or what it "
        f"returns is plain and would show what is encrypted. Use {instead}. Defined are "
        f"{', '.join(implemented())}"
    )


@operation("no method")
def no_method(name: str) -> str:
    """What to say of a method of numpy's arrays that encrypted ones lack."""
    if name in implemented():
        return f"x.{name}: encrypted arrays have no such method; use np.{name}(x)"
    if name == "astype":
        return "x.astype: encrypted arrays hold real or complex numbers, and no other types; leave it out"
    return str(_unsupported(name)).replace("np.", "x.", 1)


@operation("ufunc")
def ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc on encrypted arrays; `np.add.reduce` and `np.add.accumulate` are sums."""
    if method == "__call__":
        if function.__name__ in SCIPY and not options:
            return SCIPY[function.__name__](*inputs)
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
    name = numpy_name(function).removeprefix("np.")
    ours = _FUNCTIONS.get(function)
    if ours is None:
        raise _unsupported(name)
    takes = inspect.signature(ours).parameters
    kept = {}
    for key, value in options.items():
        if key in takes or key not in _DEFAULTS:
            kept[key] = value
        elif not (value is None or isinstance(value, bool | str)) or value not in _DEFAULTS[key]:
            hint = "; write t = t + x instead of t += x where t is plain" if key == "out" else ""
            raise InvalidArgument(f"np.{name}: no option '{key}' on encrypted arrays; leave it out{hint}")
    try:
        bound = inspect.signature(ours).bind(*args, **kept)
    except TypeError as error:
        raise InvalidArgument(f"np.{name} on encrypted arrays: {error}") from None
    return ours(*bound.args, **bound.kwargs)
