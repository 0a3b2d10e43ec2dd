# SPDX-License-Identifier: Apache-2.0
"""Sums and means along axes.

An axis is summed by adding ciphertexts and by rotations that double (`Engine.inner_sum`). Where the axis is
on the highest bits of the slot the sums repeat themselves in all its slots, which later broadcasts use;
elsewhere only the first slot of it holds the sum, and the others something else.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument
from ..base.values import positive
from ..ckks.ciphertext import Ciphertext
from .alignment import onto
from .array import Axis, EncryptedArray
from .elementwise import as_real, map_parts, multiply, product, subtract, times_plain
from .movement import gather
from .operands import along, axes_of, one_axis
from .packing import Packing
from .registry import operation, perform

_BRANCHES = 64
"""Terms of a step of cumsum: each step costs a level."""


@operation("sum")
def sum_(x: EncryptedArray, axis: Axis = None, *, keepdims: bool = False) -> EncryptedArray:
    """np.sum; no level, but for an axis in several ciphertexts beside slots that hold anything."""
    axes = axes_of(axis, x.ndim, "sum")
    for each in sorted(axes, key=lambda one: -x.packing.strides[one]):
        x = _summed(x, each)
    return x if keepdims else dropped(x, axes)


def dropped(x: EncryptedArray, axes: tuple[int, ...]) -> EncryptedArray:
    """Without some axes, whose length is 1."""
    left = [each for each in range(x.ndim) if each not in axes]
    packing = dataclasses.replace(
        x.packing,
        shape=tuple(x.shape[each] for each in left),
        strides=tuple(x.packing.strides[each] for each in left),
    )
    return x._made(x.parts, packing, x.is_clean)


def _summed(x: EncryptedArray, axis: int) -> EncryptedArray:
    """Summed along one axis, which is kept with length 1."""
    length, stride, slots = x.shape[axis], x.packing.strides[axis], x.packing.slots
    if length == 1:
        return x
    width = x.packing.padded[axis]
    inside = max(1, min(width, slots // stride))
    outside = stride * (width - 1) // slots
    if length > inside and length % inside and not x.is_clean:
        return _summed_apart(x, axis, inside)
    parts = _summed_over_parts(x, outside)
    bits = stride * (inside - 1)
    whole = x.is_clean or length % inside == 0
    if inside > 1:
        count = inside if whole else length
        parts = {n: ct._on("sum").inner_sum(ct, count, stride) for n, ct in parts.items()}
    above = (slots - 1) & ~(stride * inside - 1) if bits else 0
    repeats = inside > 1 and whole and x.packing.copies & above == above
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    packing = Packing(shape, x.packing.strides, slots, x.packing.copies | (bits if repeats else 0))
    clean = x.is_clean and (repeats or inside == 1)
    return x._made([parts[number] for number in packing.numbers], packing, clean)


def _summed_apart(x: EncryptedArray, axis: int, inside: int) -> EncryptedArray:
    """A sum over several ciphertexts of which the last ones also hold what is no element: by themselves."""
    rest = x.shape[axis] % inside
    first = perform("getitem", x, along(axis, 0, x.shape[axis] - rest))
    last = perform("getitem", x, along(axis, -rest, None))
    return perform("add", _summed(first, axis), _summed(last, axis))  # type: ignore[no-any-return]


def _summed_over_parts(x: EncryptedArray, bits: int) -> dict[int, Ciphertext]:
    """Ciphertexts added whose numbers differ in some bits only."""
    made: dict[int, Ciphertext] = {}
    for number, ct in zip(x.packing.numbers, x.parts, strict=True):
        rest = number & ~bits
        made[rest] = made[rest] + ct if rest in made else ct
    return made


def scaled(x: EncryptedArray, factor: float) -> EncryptedArray:
    """x * factor for one level, with zeros between the elements."""
    return times_plain(x, np.asarray(factor) if x.is_clean else np.full(x.shape, factor))


def _terms(x: EncryptedArray, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[each] for each in axes)


@operation("mean")
def mean(x: EncryptedArray, axis: Axis = None, *, keepdims: bool = False) -> EncryptedArray:
    """np.mean; one level."""
    axes = axes_of(axis, x.ndim, "mean")
    return scaled(sum_(x, axes, keepdims=keepdims), 1.0 / _terms(x, axes))


@operation("var")
def var(x: EncryptedArray, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> EncryptedArray:
    """np.var; two levels: the divisor goes into the differences from the mean before they are squared."""
    axes = axes_of(axis, x.ndim, "var")
    count = _terms(x, axes)
    left = count - (positive(ddof, "var: ddof") if ddof != 0 else 0.0)
    if left <= 0:
        raise InvalidArgument(f"var: ddof {ddof} for {count} values, expected fewer than those")
    factor = 1.0 / math.sqrt(left)
    average = _everywhere(sum_(x, axes, keepdims=True), x.packing, factor / count)
    apart = subtract(scaled(x, factor), average)
    squares = multiply(apart, apart if x.is_real else perform("conj", apart))
    return map_parts(sum_(squares, axes, keepdims=keepdims), as_real, zero_to_zero=True)


def _everywhere(x: EncryptedArray, target: Packing, factor: float) -> EncryptedArray:
    """x * factor broadcast to a packing for one level, with zeros between the elements if that is free."""
    if not x.is_clean:
        return scaled(x, factor)
    return scaled(onto(x, target), factor)


@operation("std")
def std(
    x: EncryptedArray, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False, **options: Any
) -> EncryptedArray:
    """np.std: the square root of `var`."""
    made: EncryptedArray = perform("sqrt", var(x, axis, ddof=ddof, keepdims=keepdims), **options)
    return made


@operation("cumsum")
def cumsum(x: EncryptedArray, axis: int | None = None) -> EncryptedArray:
    """np.cumsum: sums of 64 elements, then of 64 of these sums, and so on; a level each."""
    if axis is None:
        x, axis = perform("reshape", x, -1), 0
    axis = one_axis(axis, x.ndim, "cumsum")
    length, reach = x.shape[axis], 1
    while reach < length:
        terms = min(_BRANCHES, -(-length // reach))
        addresses = np.moveaxis(x.packing.addresses, axis, 0)
        source = np.full((terms, *addresses.shape), -1, np.int64)
        for term in range(terms):
            source[term, term * reach :] = addresses[: length - term * reach]
        x = gather(x, x.packing, np.moveaxis(np.moveaxis(source, 1, axis + 1), 0, -1))
        reach *= terms
    return x


@operation("prod")
def prod(x: EncryptedArray, axis: Axis = None, *, keepdims: bool = False) -> EncryptedArray:
    """np.prod: halves multiplied, ceil(log2(length)) levels for each axis."""
    axes = axes_of(axis, x.ndim, "prod")
    for each in axes:
        odd: EncryptedArray | None = None
        while (length := x.shape[each]) > 1:
            half = length // 2
            if length % 2:
                last = x[along(each, length - 1, length)]
                odd = last if odd is None else product(odd, last, bounded=True)
            x = product(x[along(each, 0, half)], x[along(each, half, 2 * half)], bounded=True)
        x = x if odd is None else product(x, odd, bounded=True)
    return x if keepdims else dropped(x, axes)
