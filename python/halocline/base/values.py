# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of what callers pass: numbers, vectors, sizes, paths."""

from __future__ import annotations

import cmath
import inspect
import numbers
import operator
import os
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _core
from .errors import InvalidArgument, WrongType

ComplexVector = npt.NDArray[np.complex128]
T = TypeVar("T")
AnyT = TypeVar("AnyT", bound=np.generic)


def kind_of(value: object) -> str:
    """Name of a value's class, for messages."""
    return type(value).__name__


class _Short(reprlib.Repr):
    """Spellings whose length does not depend on the size of a value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = _SHOWN - 2
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 8

    def repr_int(self, x: int, level: int) -> str:
        """Digits of an integer, unless there are many, which also take long to find."""
        return repr(x) if x.bit_length() < _SHOWN * 3 else f"<an integer of {x.bit_length()} bits>"


_SHOWN = 80
_SHORT = _Short()


def shown(value: object) -> str:
    """A value for messages as `repr` spells it, shortened to 80 characters."""
    text = _SHORT.repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def expect(value: object, kind: type[T], what: str, hint: str = "") -> T:
    """`value` if it is a `kind`; WrongType saying what was expected otherwise."""
    if isinstance(value, kind):
        return value
    raise WrongType(f"{what}: got {kind_of(value)}, expected {kind.__name__}" + (f"; {hint}" if hint else ""))


def integer(value: Any, what: str, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int in [low, high]."""
    try:
        number = operator.index(value)
    except TypeError:
        raise WrongType(f"{what}: got {shown(value)} ({kind_of(value)}), expected an integer") from None
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = (
            f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
        )
        raise InvalidArgument(f"{what}: got {shown(number)}, expected {bounds}")
    return number


def positive(value: Any, what: str) -> float:
    """`value` as a positive finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise WrongType(f"{what}: got {shown(value)} ({kind_of(value)}), expected a number") from None
    if not 0 < number < float("inf"):
        raise InvalidArgument(f"{what}: got {number}, expected a positive finite number")
    return number


def is_scalar(value: object) -> bool:
    """Whether a value is one number, also as a numpy scalar or array without dimensions."""
    return isinstance(value, numbers.Number | np.number | np.bool_) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def scalar(value: Any, what: str) -> complex:
    """A finite number as complex."""
    try:
        number = complex(value)
    except (TypeError, ValueError, OverflowError):
        raise WrongType(f"{what}: got {shown(value)} ({kind_of(value)}), expected a number") from None
    if not cmath.isfinite(number):
        raise InvalidArgument(f"{what}: got {number}, expected a finite number")
    return number


def vector(values: Any, what: str) -> tuple[ComplexVector, bool]:
    """Values as a contiguous complex vector, and whether they were real.

    Accepts anything numpy makes a one-dimensional array of numbers from, or a single number.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{what}: {kind_of(values)} is no array of numbers ({error})") from None
    if array.dtype.kind not in "biufc":
        raise WrongType(f"{what}: values of type {array.dtype}, expected real or complex numbers")
    if array.ndim > 1:
        raise InvalidArgument(
            f"{what}: an array of shape {array.shape}, expected one dimension; flatten it with .ravel()"
        )
    array = np.atleast_1d(array)
    if array.size == 0:
        raise InvalidArgument(f"{what}: no values; expected at least one")
    real = array.dtype.kind != "c"
    converted = np.ascontiguousarray(array, dtype=np.complex128)
    finite = np.isfinite(converted)
    if not finite.all():
        slot = int(np.argmin(finite))
        raise InvalidArgument(f"{what}: value {array[slot]} in slot {slot}; expected finite numbers")
    return converted, real


def unshared(array: npt.NDArray[AnyT], source: Any) -> npt.NDArray[AnyT]:
    """`array`, made of `source`, or a copy of it where later changes of `source` would change it."""
    return array.copy() if isinstance(source, np.ndarray) and np.may_share_memory(array, source) else array


def byte_count(value: Any, what: str) -> int:
    """Bytes as a number or as text such as "2GiB"; None is 0, which means unlimited."""
    if value is None:
        return 0
    if isinstance(value, str) and value.rstrip().endswith("%"):
        raise InvalidArgument(
            f"{what}: {shown(value)} is a share of what a program holds, and no program is known here; give "
            f"a size such as '2GiB', or trace_program(params, program).budget({shown(value.strip())})"
        )
    if isinstance(value, str):
        try:
            return int(_core.parse_bytes(value))
        except InvalidArgument as error:
            raise InvalidArgument(f"{what}: {error}") from None
    return integer(value, what, low=1, high=(1 << 63) - 1)


_UNITS = ("KiB", "MiB", "GiB", "TiB")


def size_to_type(count: int) -> str:
    """Bytes as text that one types for a budget, such as "17.3MiB": three digits, rounded up."""
    if count < 1024:
        return str(count)
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    unit = 1 << (10 * power)
    digits = 2 if count < 10 * unit else 1 if count < 100 * unit else 0
    step = 10**digits
    steps = -(-count * step // unit)
    while byte_count(text := f"{steps / step:.{digits}f}{_UNITS[power - 1]}", "size") < count:
        steps += 1  # the text is read as a float, which may be a byte short
    return text.replace(".00", "") if digits == 2 else text.replace(".0", "")


def path_text(path: Any, what: str) -> str:
    """A file name as text."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise WrongType(f"{what}: got {kind_of(path)}, expected a path") from None
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what}: file name {name!r:.200} is not UTF-8; rename the file") from None
    if not name or "\0" in name:
        raise InvalidArgument(f"{what}: {name!r:.200} is no file name; expected one without zero bytes")
    return name


def utf8_text(text: Any, what: str) -> str:
    """A str that has a spelling in UTF-8, which halves of surrogate pairs have not."""
    try:
        expect(text, str, what).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{what}: {error.reason} at character {error.start}; expected text") from None
    return str(text)


def byte_string(data: Any, what: str) -> bytes:
    """Bytes, a bytearray or a memoryview as bytes."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise WrongType(f"{what}: got {kind_of(data)}, expected bytes")


def power_of_two(count: int) -> int:
    """The least power of two that is at least `count`, which is positive."""
    return 1 << (count - 1).bit_length()


def expect_call(
    program: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any], what: str
) -> None:
    """Raises InvalidArgument where a function does not take so many arguments, or none of these names."""
    try:
        signature = inspect.signature(program)
    except (TypeError, ValueError):  # functions of C have none
        return
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        raise InvalidArgument(
            f"{what}: the program takes other inputs than the {len(args) + len(named)} given: {error}"
        ) from None
