# SPDX-License-Identifier: Apache-2.0
"""Products of arrays of which one or both are encrypted: matmul, dot, vdot, inner, outer."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument, LevelExhausted, WrongType
from ..base.values import integer, kind_of
from ..ckks.ciphertext import Ciphertext
from .array import EncryptedArray, Operand
from .block_products import block_product, key_switches
from .elementwise import multiply
from .inner_products import (
    column_products,
    column_switches,
    row_products,
    row_switches,
    suits_columns,
    suits_rows,
)
from .numpy_protocol import implements
from .operands import plain_array
from .plain_products import product_along
from .reductions import dropped, sum_
from .registry import operation, perform


def _operand(value: Operand, what: str) -> Any:
    """An encrypted array as it is, anything else as a plain one."""
    if isinstance(value, EncryptedArray):
        return value
    if isinstance(value, Ciphertext):
        raise WrongType(f"{what}: got {kind_of(value)} beside an EncryptedArray; make it one, or decrypt it")
    return plain_array(value, what)


def _pair(a: Operand, b: Operand, what: str) -> tuple[Any, Any]:
    x, y = _operand(a, what), _operand(b, what)
    both = isinstance(x, EncryptedArray) and isinstance(y, EncryptedArray)
    if both and x.engine is not y.engine:
        raise InvalidArgument(
            f"{what}: the arrays are bound to two engines, or one to none; bind both with array.to(engine), "
            "or run the program with engine.run(fn, a, b)"
        )
    for each in (x, y):
        if isinstance(each, EncryptedArray) and each.engine is None:
            raise InvalidArgument(
                f"{what}: this array is plain data, not bound to an engine; bind it with array.to(engine), "
                "or run the program with engine.run(fn, array)"
            )
    return x, y


def _check_inner(x: Any, y: Any, axes: tuple[int, int], what: str) -> None:
    if x.shape[axes[0]] != y.shape[axes[1]]:
        raise InvalidArgument(
            f"{what}: shapes {x.shape} and {y.shape}; axis {axes[0]} of the first has {x.shape[axes[0]]} "
            f"elements and axis {axes[1]} of the second {y.shape[axes[1]]}, expected equally many"
        )


def matmul(a: Operand, b: Operand, *, level: int | None = None) -> Any:
    """a @ b as np.matmul, for arrays of which at least one is encrypted; also `a @ b`, `np.matmul(a, b)`.

    level: of the result. Operands are brought down to what it takes before anything is computed, which is
        several times faster than at high levels; by default the result keeps all levels that it can.

    Of two plain arrays it is numpy's product, so that a program can run in the clear, too.

    Plain operands cost one level (two where an axis gets longer than its place), encrypted matrices three,
    or four where a packing does not fit; docs/guides/arrays.md has the counts of key switches.

    Raises InvalidArgument for shapes that do not fit, LevelExhausted.
    """
    x, y = _pair(a, b, "matmul")
    if x.ndim == 0 or y.ndim == 0:
        raise InvalidArgument(
            f"matmul: shapes {x.shape} and {y.shape}; expected at least one axis each; multiply by a number "
            "with *"
        )
    _check_inner(x, y, (-1, -2 if y.ndim > 1 else -1), "matmul")
    wanted = None if level is None else integer(level, "matmul: level", 0)
    if not isinstance(x, EncryptedArray) and not isinstance(y, EncryptedArray):
        return np.matmul(x, y)  # type: ignore[no-any-return]
    if isinstance(x, EncryptedArray) and isinstance(y, EncryptedArray):
        return _encrypted_product(x, y, wanted)
    return _at_level(_plain_product(x, y), wanted)


def _at_level(x: EncryptedArray, level: int | None) -> EncryptedArray:
    if level is None or x.level == level:
        return x
    if level > x.level:
        raise LevelExhausted(
            f"matmul: the result has level {x.level}, but level {level} is wanted; encrypt with more levels"
        )
    return x._map_ciphertexts(lambda ct: ct.drop_level(level))


def _plain_product(x: Any, y: Any) -> EncryptedArray:
    """One of both is plain."""
    if isinstance(x, EncryptedArray):
        if y.ndim == 1:
            return sum_(multiply(x, y), -1)
        return product_along(x, y, x.ndim - 1) if y.ndim == 2 else _by_broadcast(x, y)
    if x.ndim == 1:
        return sum_(multiply(y, x[:, None] if y.ndim > 1 else x), max(0, y.ndim - 2))
    if x.ndim == 2:
        return product_along(y, x.T, max(0, y.ndim - 2))
    return _by_broadcast(x, y)


def _encrypted_product(x: EncryptedArray, y: EncryptedArray, level: int | None) -> EncryptedArray:
    if x.ndim == 1 and y.ndim == 1:
        return _at_level(sum_(multiply(x, y), 0), level)
    if y.ndim == 1:
        return _at_level(sum_(multiply(x, y), -1), level)
    if x.ndim == 1 and y.ndim == 2:
        return dropped(_matrix_product(_reshaped(x, (1, *x.shape)), y, level), (0,))
    if x.ndim == 2 and y.ndim == 2:
        return _matrix_product(x, y, level)
    return _at_level(_by_broadcast(x, y), level)


def _matrix_product(x: EncryptedArray, y: EncryptedArray, level: int | None) -> EncryptedArray:
    """The way that needs the fewest key switches for the packings of both matrices."""
    columns, rows = _swapped(x), _swapped(y)
    by_blocks = key_switches(x, y)
    if suits_columns(columns, y) and column_switches(columns) < by_blocks:
        return column_products(columns, y, level=level)
    if suits_rows(x, rows) and row_switches(x, rows) < by_blocks:
        return row_products(x, rows, level=level)
    return block_product(x, y, level)


def _swapped(x: EncryptedArray) -> EncryptedArray:
    """The transpose, as another reading of the packing."""
    packing = dataclasses.replace(x.packing, shape=x.shape[::-1], strides=x.packing.strides[::-1])
    return EncryptedArray(x.parts, packing, x.is_clean)


def _reshaped(x: EncryptedArray, shape: tuple[int, ...]) -> EncryptedArray:
    made: EncryptedArray = perform("reshape", x, shape)
    return made


def _lifted(x: Any, shape: tuple[int, ...]) -> Any:
    return _reshaped(x, shape) if isinstance(x, EncryptedArray) else x.reshape(shape)


def _by_broadcast(x: Any, y: Any) -> EncryptedArray:
    """Batches of matrices: all products of elements, summed along the inner axis."""
    if y.ndim == 1:
        return sum_(multiply(x, y), -1)
    if x.ndim == 1:
        return sum_(multiply(_lifted(x, (*x.shape, 1)), y), -2)
    left = _lifted(x, (*x.shape, 1))
    right = _lifted(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    return sum_(multiply(left, right), -2)


@operation("matmul")
@implements(np.matmul)
def _matmul(a: Operand, b: Operand) -> EncryptedArray:
    return matmul(a, b)


@operation("dot")
@implements(np.dot)
def dot(a: Operand, b: Operand) -> EncryptedArray:
    """np.dot: products with numbers, inner products of vectors, products of matrices.

    For arrays of more axes: sums over the last axis of the first and the last but one of the second.
    """
    x, y = _pair(a, b, "dot")
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    if (x.ndim <= 2 and y.ndim <= 2) or y.ndim == 1:
        return matmul(x, y)
    _check_inner(x, y, (-1, -2), "dot")
    if not isinstance(y, EncryptedArray) and y.ndim == 2:
        return product_along(x, y, x.ndim - 1)
    left = _lifted(x, (*x.shape[:-1], *(1,) * (y.ndim - 2), x.shape[-1], 1))
    return sum_(multiply(left, y), -2)


@implements(np.vdot)
def vdot(a: Operand, b: Operand) -> EncryptedArray:
    """np.vdot: the sum of conj(a) * b over all elements."""
    x, y = _pair(a, b, "vdot")
    sizes = [int(np.prod(each.shape)) for each in (x, y)]
    if sizes[0] != sizes[1]:
        raise InvalidArgument(f"vdot: {sizes[0]} and {sizes[1]} elements, expected equally many")
    if x.shape != y.shape:
        x, y = _lifted(x, (sizes[0],)), _lifted(y, (sizes[0],))
    return sum_(multiply(x.conj(), y))


@implements(np.inner)
def inner(a: Operand, b: Operand) -> EncryptedArray:
    """np.inner: sums over the last axes of both."""
    x, y = _pair(a, b, "inner")
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    _check_inner(x, y, (-1, -1), "inner")
    return dot(x, y if y.ndim == 1 else y.swapaxes(-1, -2))


@implements(np.outer)
def outer(a: Operand, b: Operand) -> EncryptedArray:
    """np.outer: the products of all pairs of elements."""
    x, y = _pair(a, b, "outer")
    sizes = [int(np.prod(each.shape)) for each in (x, y)]
    return multiply(_lifted(x, (sizes[0], 1)), _lifted(y, (1, sizes[1])))
