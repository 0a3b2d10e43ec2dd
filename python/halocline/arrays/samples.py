# SPDX-License-Identifier: Apache-2.0
"""Samples: arrays of numbers that stand for encrypted ones while a program is calibrated.

Functions of numpy on them become those of this package where encrypted arrays need an interval, and stay
numpy's elsewhere; all compute on the numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import WrongType
from .numpy_protocol import SCIPY

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What functions of numpy are on samples, where not numpy's own; modules that need intervals fill it."""


ON_SAMPLES: dict[Any, Callable[..., Any]] = {}
"""The same for functions that others make for encrypted arrays, of those that need intervals."""


def plain(value: Any) -> npt.NDArray[Any]:
    """The numbers."""
    return np.asarray(value).view(np.ndarray)


def sampled(value: Any) -> Any:
    """`value` with arrays of numbers, also in lists, tuples and dictionaries, as samples."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        numbers = value if value.dtype.kind in "fc" else value.astype(np.float64)
        return numbers.view(Samples)
    if type(value) in (list, tuple):
        return type(value)(sampled(each) for each in value)
    if type(value) is dict:
        return {key: sampled(each) for key, each in value.items()}
    return value


def _bare(value: Any) -> Any:
    """`value` with samples as numbers again."""
    if isinstance(value, Samples):
        return value.view(np.ndarray)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(_bare(each) for each in value)
    return value


def _again(value: Any) -> Any:
    """Results as samples."""
    if isinstance(value, np.ndarray | np.number):
        return sampled(np.asarray(value))
    if type(value) in (list, tuple):
        return type(value)(_again(each) for each in value)
    return value


def _ours(function: Any) -> Callable[..., Any] | None:
    return FUNCTIONS.get(function) or ON_SAMPLES.get(function) or _of_scipy(function)


def _of_scipy(function: Any) -> Callable[..., Any] | None:
    return SCIPY.get(function.__name__) if isinstance(function, np.ufunc) else None


class Samples(np.ndarray[Any, Any]):
    """Numbers in place of an encrypted array."""

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **options: Any) -> Any:
        """Ours where there is one, numpy's otherwise; `x += 1` makes a new array, as of encrypted ones."""
        options.pop("out", None)
        if method == "__call__" and not options and (ours := _ours(ufunc)) is not None:
            return ours(*inputs)
        return _again(getattr(ufunc, method)(*(_bare(each) for each in inputs), **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Ours where there is one, numpy's otherwise."""
        if (ours := _ours(function)) is not None:
            return ours(*args, **kwargs)
        named = {name: _bare(each) for name, each in kwargs.items()}
        return _again(function(*(_bare(each) for each in args), **named))

    def __getitem__(self, index: Any) -> Any:
        """Single elements too are samples, as those of encrypted arrays are encrypted."""
        return _again(super().__getitem__(index))

    def __bool__(self) -> bool:
        """Refused, as of encrypted arrays: what a program does must not depend on values."""
        raise WrongType(
            "a sample has no truth value here, because encrypted it will have none: no `if`, `and`, `max(a, "
            "b)` can depend on it; use np.where, np.maximum, or compute both ways and choose"
        )

    def _as_of_numpy(self, function: Any, *args: Any, **options: Any) -> Any:
        """A method, as the function of numpy of its name."""
        return function(self, *args, **options)


for _name in (
    "max",
    "min",
    "argmax",
    "argmin",
    "clip",
    "mean",
    "var",
    "std",
    "sum",
    "cumsum",
    "prod",
    "dot",
    "trace",
):
    setattr(Samples, _name, functools.partialmethod(Samples._as_of_numpy, getattr(np, _name)))
