# SPDX-License-Identifier: Apache-2.0
"""Files of numbers for `halocline encrypt` and of results of `halocline decrypt`: .npy, or text."""

from __future__ import annotations

import cmath
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import limits
from ..base.errors import CorruptData
from ..base.files import OWNER, read_file, write_file
from ..base.npy import read_header

_NPY_MAGIC = b"\x93NUMPY"
_NUMBERS = "biufc"


def read_values(path: Path, *, shaped: bool = False) -> npt.NDArray[Any]:
    """Numbers of a .npy file, or of a text file with numbers separated by commas, spaces or line ends.

    One row of numbers, unless `shaped` asks for the shape of a .npy file. At most
    `limits.VALUE_COUNT`. Raises IoError, CorruptData.
    """
    data = read_file(path, "encrypt", limits.VALUES)
    try:
        values = _from_npy(data) if data.startswith(_NPY_MAGIC) else _from_text(data)
    except ValueError as error:
        raise CorruptData(f"encrypt: '{path}' is no .npy or text file of numbers: {error}") from None
    if values.size > limits.VALUE_COUNT:
        raise CorruptData(f"encrypt: '{path}' holds more than {limits.VALUE_COUNT} numbers")
    return values if shaped else values.ravel()


def _from_text(data: bytes) -> npt.NDArray[Any]:
    """Numbers separated by commas, spaces or line ends; faults are reported with number and line."""
    values: list[complex] = []
    for line, text in enumerate(data.decode().split("\n"), start=1):
        left = limits.VALUE_COUNT + 1 - len(values)
        for word in text.replace(",", " ").split(None, left)[:left]:
            values.append(_number(word, f"number {len(values) + 1}, in line {line}"))
    array = np.array(values)
    return array.real if not array.imag.any() else array


def _number(word: str, where: str) -> complex:
    try:
        value = complex(word if "n" in word.lower() else word.replace("i", "j"))  # inf and nan have an i or n
    except ValueError:
        raise ValueError(f"{where}: {word[:40]!r} is no number") from None
    if not cmath.isfinite(value):
        raise ValueError(f"{where}: {word[:40]!r} is not finite; expected finite numbers")
    return value


def _from_npy(data: bytes) -> npt.NDArray[Any]:
    """The array of a .npy file, whose header must agree with the number of bytes behind it.

    numpy's own reader allocates what the header says before it looks at the bytes.
    """
    file = io.BytesIO(data)
    shape, by_columns, kind = read_header(file)
    if kind.kind not in _NUMBERS:
        raise ValueError(f"values of type {str(kind)[:40]}, expected real or complex numbers")
    left = len(data) - file.tell()
    if math.prod(shape) * kind.itemsize != left:
        raise ValueError(f"shape {str(shape)[:80]} of {kind.itemsize} bytes each, but {left} bytes of values")
    values = np.frombuffer(data, kind, offset=file.tell())
    return values.reshape(shape, order="F" if by_columns else "C")


def write_values(path: Path, values: npt.NDArray[Any]) -> None:
    """Values as .npy, or as text with one number a line; a new file can be read by its owner only."""
    if path.suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        content = buffer.getvalue()
    else:
        content = ("\n".join(repr(each).strip("()") for each in values.tolist()) + "\n").encode()
    write_file(path, content, OWNER)
