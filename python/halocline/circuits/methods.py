# SPDX-License-Identifier: Apache-2.0
"""The circuits of an engine: programs made of many operations, organised to need few key switches."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine
from ..base.errors import InvalidArgument, LevelExhausted, PrecisionLoss, WrongType
from ..base.names import Basis, Comparison, Mode
from ..base.values import integer, positive
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import MOST_RADIX, Elsewhere, Host
from .bootstrapping import Bootstrapper
from .functions import ComparisonCircuit, PolynomialCircuit
from .layers import Convolution2d, ImageLayout
from .polynomial import Polynomial
from .transforms import LinearTransform, Map


class Circuits(ABC):
    """Part of `Engine`: all methods take ciphertexts bound to it and return new ones."""

    _core: NativeEngine
    _bootstrappers: dict[Any, Bootstrapper]
    _elsewhere: Elsewhere | None

    @abstractmethod
    def _own(self, ciphertext: Ciphertext, operation: str) -> NativeCiphertext:
        """The native ciphertext, checked to belong to this engine."""

    def _result(self, core: NativeCiphertext, real: bool) -> Ciphertext:
        engine: Host = self  # type: ignore[assignment]
        return Ciphertext(core, engine, real)

    # Products

    def dot(self, a: Sequence[Ciphertext], b: Sequence[Ciphertext]) -> Ciphertext:
        """sum_i a[i] * b[i] with one relinearization and one rescale for the whole sum. Costs one level."""
        if len(a) != len(b) or not a:
            raise InvalidArgument(
                f"dot: {len(a)} and {len(b)} ciphertexts, expected equally many, at least one"
            )
        left = [self._own(each, "dot") for each in a]
        right = [self._own(each, "dot") for each in b]
        real = all(each.is_real for each in (*a, *b))
        if self._elsewhere is None or self._core.manual:
            return self._result(self._core.dot(left, right), real)
        return self._result(self._core.unfinished_dot(left, right), real)._finished()

    def combine(
        self, cts: Sequence[Ciphertext], weights: npt.ArrayLike, *, level: int | None = None
    ) -> list[Ciphertext]:
        """Linear combinations with plain numbers: `weights @ cts`, one ciphertext for each row of weights.

        weights: real numbers, of shape (results, len(cts)).
        level: of the results, one below the lowest of the ciphertexts unless given.

        Cheaper and more precise than products that are added: the ciphertexts may have any levels and scales,
        none is lowered where limbs can just be left out, and all results are divided together. What is done
        does not depend on the weights. One so small that it rounds to 0 at the scale of the parameters is 0.
        With automatic bootstraps products are added one by one, and results have the lowest of their levels.
        """
        if not isinstance(cts, Sequence) or not cts:
            raise WrongType("combine: expected a list of ciphertexts")
        sources = [self._own(each, "combine") for each in cts]
        rows = _weights(weights, len(cts))
        engine: Host = self  # type: ignore[assignment]
        if engine._refreshes is not None:  # bootstraps are placed between operations that are recorded
            return _combined(cts, rows, level)
        lowest = min(each.level for each in sources)
        if level is None and lowest == 0:
            raise LevelExhausted("combine: a ciphertext at level 0, expected one level or more")
        wanted = lowest - 1 if level is None else integer(level, "combine: level", 0, max(0, lowest - 1))
        real = all(each.is_real for each in cts)
        made = self._core.combine(sources, rows, wanted)
        return [self._result(each, real) for each in made]

    # Rotations

    def rotate_many(self, ct: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """`[ct.rotate(k) for k in steps]` with the common part of the work done once (hoisting)."""
        source = self._own(ct, "rotate_many")
        checked = [integer(step, "rotate_many: step") for step in steps]
        made = None if self._elsewhere is None else self._elsewhere.switch("rotate_many", [ct], checked)
        made = self._core.rotate_many(source, checked) if made is None else made
        return [self._result(each, ct.is_real) for each in made]

    def sum_rotations(self, ct: Ciphertext, steps: Sequence[int]) -> Ciphertext:
        """The sum of `ct.rotate(k)` for all steps, 0 for ct itself, with one decomposition and one division.

        Faster than the rotations, and with the rounding error of one. Every step is there once.
        """
        source = self._own(ct, "sum_rotations")
        checked = [integer(step, "sum_rotations: step") for step in steps]
        sent = None if self._elsewhere is None else self._elsewhere.switch("sum_rotations", [ct], checked)
        return self._result(sent[0] if sent else self._core.sum_rotations(source, checked), ct.is_real)

    def inner_sum(
        self, ct: Ciphertext, count: int | None = None, stride: int = 1, radix: int = 2
    ) -> Ciphertext:
        """sum_{i < count} ct.rotate(i * stride), with about log2(count) rotations; all slots unless given.

        For a power of two `count` it needs the keys of stride, 2 stride, 4 stride, ... below count * stride.
        radix: 4 or 8 for such a count: so many rotations at a time, by `sum_rotations`. That is faster and
        needs more keys: with 4 those of stride, 2 stride, 3 stride; 4 stride, 8 stride, 12 stride; ...
        """
        source = self._own(ct, "inner_sum")
        count = ct.slots if count is None else integer(count, "inner_sum: count", 1, ct.slots)
        how = [integer(stride, "inner_sum: stride"), count]
        if integer(radix, "inner_sum: radix", 2, MOST_RADIX) != 2:
            how.append(radix)
            _core.sum_stages(*how)  # refuses what is no such sum before anything is sent
        sent = None if self._elsewhere is None else self._elsewhere.switch("inner_sum", [ct], how)
        return self._result(sent[0] if sent else self._core.inner_sum(source, *how), ct.is_real)

    # Linear maps

    def linear_transform(
        self, ct: Ciphertext, linear_map: Map, *, mode: Mode = "double_hoisted"
    ) -> Ciphertext:
        """A plain linear map applied to all slots: a square matrix, or {d: vector} of diagonals.

        y[i] = sum_d diagonals[d][i] * x[(i + d) mod slots]. Costs one level. Each call encodes the
        map anew: make a `LinearTransform` once where it is used often. Needs the keys that
        `LinearTransform.rotations` names.
        """
        self._own(ct, "linear transform")
        return LinearTransform(linear_map, mode=mode)(ct)

    def matvec(self, matrix: npt.ArrayLike, ct: Ciphertext, *, mode: Mode = "double_hoisted") -> Ciphertext:
        """`matrix @ x` for the first `columns` slots; the result is in the first `rows` slots.

        The matrix may have any shape up to slots x slots. Slots beyond the columns do not matter; those
        beyond the rows come out as zero. Costs one level.
        """
        self._own(ct, "matrix product")
        array = np.asarray(matrix)
        if array.ndim != 2 or array.dtype.kind not in "biufc" or array.size == 0:
            raise InvalidArgument(
                f"matrix product: an array of shape {array.shape} and type {array.dtype}, expected a matrix"
            )
        if max(array.shape) > ct.slots:
            raise InvalidArgument(f"matrix product: a matrix {array.shape} and a vector of {ct.slots} slots")
        return LinearTransform(_rectangle(array, ct.slots), mode=mode)(ct)

    def conv2d(
        self,
        cts: Sequence[Ciphertext],
        weights: npt.ArrayLike,
        layout: ImageLayout,
        *,
        bias: npt.ArrayLike | None = None,
        stride: int = 1,
    ) -> list[Ciphertext]:
        """A plain convolution of packed images, one ciphertext per channel; see `Convolution2d`.

        Costs one level. Each call encodes the weights anew: make a `Convolution2d` once where that matters.
        """
        if isinstance(cts, Ciphertext) or not cts:
            raise WrongType("convolution: expected a list of ciphertexts, one for each channel")
        self._own(cts[0], "convolution")
        return Convolution2d(weights, layout, cts[0].slots, bias=bias, stride=stride)(cts)

    # Polynomials

    def polynomial(
        self,
        ct: Ciphertext,
        polynomial: Polynomial | npt.ArrayLike,
        basis: Basis = "monomial",
        domain: Sequence[float] = (-1.0, 1.0),
        *,
        level: int | None = None,
    ) -> Ciphertext:
        """p(x) in every slot, for a `Polynomial` or its coefficients (constant first), basis and domain.

        Costs ceil(log2(degree + 1)) levels, one more when a Chebyshev domain must be scaled. `level` asks for
        a lower result, which is cheaper. Needs the relinearization key.
        """
        self._own(ct, "polynomial")
        p = polynomial if isinstance(polynomial, Polynomial) else Polynomial(polynomial, basis, domain)
        wanted = None if level is None else integer(level, "polynomial: level", 0, ct.level)
        (result,) = PolynomialCircuit(p, wanted)._apply([ct])
        return self._result(result, ct.is_real and p.is_real)

    def chebyshev(
        self,
        ct: Ciphertext,
        function: Callable[[float], float],
        domain: Sequence[float] = (-1.0, 1.0),
        degree: int = 15,
    ) -> Ciphertext:
        """function(x) in every slot, replaced by its Chebyshev interpolation on the domain.

        Values outside the domain give results without meaning. See `Polynomial.fit` for the error.
        """
        self._own(ct, "chebyshev")
        return self.polynomial(ct, Polynomial.fit(function, domain, degree))

    # Bootstrapping

    def bootstrap(self, ct: Ciphertext, **options: Any) -> Ciphertext:
        """The same message with levels again; options are those of `BootstrapOptions`.

        Makes a `Bootstrapper` for the ciphertext's slots at the first call and keeps it. Needs the keys that
        its `key_plan` names; parameters must have levels for bootstrapping.
        """
        self._own(ct, "bootstrap")
        return self._bootstrapper(ct.slots, options)(ct)

    def _bootstrapper(self, slots: int, options: dict[str, Any]) -> Bootstrapper:
        """The one that is kept for these slots and options."""
        engine: Host = self  # type: ignore[assignment]
        kept = self._bootstrappers
        key = (slots, *sorted(options.items()))
        if key not in kept:
            kept[key] = Bootstrapper(engine.params, **{"slots": slots, **options})
        return kept[key]

    # Comparisons

    def _compared(self, name: Comparison, cts: Sequence[Ciphertext], alpha: int, bound: float) -> Ciphertext:
        circuit = ComparisonCircuit(name, alpha, bound)
        for each in cts:
            self._own(each, name)
        (result,) = circuit._apply(cts)
        return self._result(result, all(each.is_real for each in cts))

    def sign(self, ct: Ciphertext, *, alpha: int = 8, bound: float = 1.0) -> Ciphertext:
        """About -1, 0 or 1: the sign of real slots with |x| <= bound.

        Right to 2^-alpha where |x| exceeds `sign_epsilon(alpha) * bound`. alpha: 6 to 13, which costs 5,
        6, 7, 8, 10, 11, 12, 13 levels; a bound that is not 1 / m for an integer m costs one more. Values
        beyond the bound give results without meaning. Needs the relinearization key.
        """
        return self._compared("sign", [ct], alpha, bound)

    def step(self, ct: Ciphertext, *, alpha: int = 8, bound: float = 1.0) -> Ciphertext:
        """About 1 where x > 0, 1/2 where x = 0, 0 where x < 0; arguments and levels as for `sign`."""
        return self._compared("step", [ct], alpha, bound)

    def relu(self, ct: Ciphertext, *, alpha: int = 8, bound: float = 1.0) -> Ciphertext:
        """About max(x, 0), off by at most about bound * 2^-alpha; one level more than `sign`."""
        return self._compared("relu", [ct], alpha, bound)

    def compare(self, a: Ciphertext, b: Ciphertext, *, alpha: int = 8, bound: float = 1.0) -> Ciphertext:
        """About 1 where a > b, 1/2 where a = b, 0 where a < b, for |a - b| <= bound; levels as for `sign`."""
        return self._compared("compare", [a, b], alpha, bound)

    def maximum(self, a: Ciphertext, b: Ciphertext, *, alpha: int = 8, bound: float = 1.0) -> Ciphertext:
        """About the larger of a and b, for |a - b| <= bound; one level more than `sign`."""
        return self._compared("maximum", [a, b], alpha, bound)

    def minimum(self, a: Ciphertext, b: Ciphertext, *, alpha: int = 8, bound: float = 1.0) -> Ciphertext:
        """About the smaller of a and b, for |a - b| <= bound; one level more than `sign`."""
        return self._compared("minimum", [a, b], alpha, bound)


def sign_levels(alpha: int = 8, bound: float = 1.0) -> int:
    """Levels that `Engine.sign` costs."""
    return _core.sign_levels(integer(alpha, "sign_levels: alpha"), positive(bound, "sign_levels: bound"))


def sign_epsilon(alpha: int = 8) -> float:
    """Smallest |x| / bound whose sign `Engine.sign` gets right to 2^-alpha."""
    return _core.sign_epsilon(integer(alpha, "sign_epsilon: alpha"))


def _weights(weights: npt.ArrayLike, count: int) -> list[list[float]]:
    """Rows of finite numbers, one for each of `count` ciphertexts."""
    try:
        rows = np.asarray(weights)
    except ValueError:
        raise InvalidArgument("combine: rows of weights of different lengths") from None
    if rows.dtype.kind not in "biuf" or rows.ndim != 2 or rows.shape[1] != count or not len(rows):
        raise InvalidArgument(
            f"combine: weights of shape {rows.shape} and type {rows.dtype} for {count} ciphertexts, "
            f"expected real numbers of shape (results, {count})"
        )
    if not np.isfinite(rows).all():
        raise InvalidArgument("combine: weights that are not finite")
    made: list[list[float]] = rows.astype(np.float64).tolist()
    return made


def _combined(
    cts: Sequence[Ciphertext], rows: Sequence[Sequence[float]], level: int | None
) -> list[Ciphertext]:
    """Sums of products with the numbers of each row, one after the other."""
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionLoss)
        for row in rows:
            first, *others = (ct * number for ct, number in zip(cts, row, strict=True))
            for each in others:
                first = first + each
            made.append(first)
    wanted = min(each.level for each in made) if level is None else level
    return [each if each.level == wanted else each.drop_level(wanted) for each in made]


def _rectangle(matrix: npt.NDArray[np.generic], slots: int) -> dict[int, npt.NDArray[np.generic]]:
    """Non-zero diagonals of a matrix in the top left corner of a square of zeros."""
    rows, columns = matrix.shape
    diagonals = {}
    for d in range(1 - rows, columns):
        inside = np.arange(max(0, -d), min(rows, columns - d))
        values = np.zeros(slots, dtype=matrix.dtype)
        values[inside] = matrix[inside, inside + d]
        if values.any():
            diagonals[d] = values
    return diagonals
