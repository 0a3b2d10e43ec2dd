# SPDX-License-Identifier: Apache-2.0
"""The digits network written a second time, against ciphertext operators only, to compare the circuit with.

A ciphertext needs `ct + ct`, `ct * ct`, `ct * array`, `ct + array`, `ct + float` and
`ct.rotate(k)` (left for positive k, right for negative k); the engine handles scales, levels and
relinearization. Five levels are used: convolution, square, dense, square, dense.

* Convolution: nine rotations 8 dy + dx of the input, shared by all channels; the weight arrays are
  zero where a neighbour lies outside the image, which also keeps images apart.
* Dense layers: generalized diagonals of a 64x64 matrix acting on each 64-slot block, baby-step
  giant-step (Halevi and Shoup, "Faster homomorphic linear transformations in HElib", CRYPTO 2018).
  Babies are rotations by -1, 0, 1; the sum over channels and babies is taken before the giant step.
  Giant steps walk by 3 (Horner), so that their number does not multiply keys: all of them need
  the keys for 3 and -3 only, at the same number of key switchings.
* The hidden layer has 32 rows and 64 columns per channel: slots 0..31 of a block sum the columns
  0..31 and slots 32..63 the columns 32..63 of the same rows, which needs 63 diagonals instead of 95.
  One rotation by 32 adds the halves. What this leaves in slots 32..63 mixes neighbouring images; the
  last layer multiplies it by zero, so that no image influences another one's result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from halocline.workloads.digits.model import (
    CLASSES,
    PIXELS,
    SIDE,
    DigitsModel,
    default_model,
    images_per_ciphertext,
)

Array = npt.NDArray[Any]

Ciphertext = Any
"""Anything with the operators that the module's documentation lists."""

HALF = PIXELS // 2
_GIANT = 3
OFFSETS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]


def _spread(pattern: Array, slots: int) -> Array:
    """A 64-slot pattern repeated over all blocks, read-only so that encodings can be cached."""
    array = np.tile(pattern, slots // PIXELS)
    array.flags.writeable = False
    return array


def block_diagonals(matrix: Array) -> dict[int, Array]:
    """Non-zero generalized diagonals of a 64x64 matrix: result[d][i] = matrix[i, i + d].

    d runs from -63 to 63 and entries with i + d outside [0, 64) are zero, so that
    y[64 b + i] = sum_d result[d][i] x[64 b + i + d] never reads another block.
    """
    rows = np.arange(PIXELS)
    diagonals = {}
    for d in range(1 - PIXELS, PIXELS):
        inside = (rows + d >= 0) & (rows + d < PIXELS)
        pattern = np.where(inside, matrix[rows, np.clip(rows + d, 0, PIXELS - 1)], 0.0)
        if pattern.any():
            diagonals[d] = pattern
    return diagonals


class BlockMatrices:
    """y = sum_c M_c x_c on every 64-slot block, for 64x64 matrices M_c given as plain arrays.

    Diagonal d = 3 g + k (k in -1, 0, 1) contributes rot_3g(rot_-3g(diagonal) * rot_k(x)). The sums
    over k and c come first; then the giant steps g > 0 are walked down by rotations by 3 and the
    steps g < 0 up by rotations by -3: two keys for any number of diagonals. Uses one level.
    """

    def __init__(self, matrices: Sequence[Array], slots: int) -> None:
        self._terms: dict[int, list[tuple[int, int, Array]]] = {}
        for channel, matrix in enumerate(matrices):
            for d, pattern in block_diagonals(matrix).items():
                giant = (d + 1) // _GIANT
                moved = np.roll(pattern, giant * _GIANT)
                term = (channel, d - giant * _GIANT, _spread(moved, slots))
                self._terms.setdefault(giant, []).append(term)
        if not self._terms:
            raise ValueError("all matrices are zero; a ciphertext times nothing has no value")

    def __call__(self, inputs: Sequence[Ciphertext]) -> Ciphertext:
        """Apply to one ciphertext per matrix."""
        babies: dict[tuple[int, int], Ciphertext] = {}
        for channel, step, _ in (term for terms in self._terms.values() for term in terms):
            if (channel, step) not in babies:
                x = inputs[channel]
                babies[channel, step] = x.rotate(step) if step else x
        down = self._walk(range(max(self._terms), -1, -1), _GIANT, babies)
        up = self._walk(range(min(self._terms), 0), -_GIANT, babies)
        if up is None:
            return down
        up = up.rotate(-_GIANT)
        return up if down is None else down + up

    def _walk(
        self, giants: range, step: int, babies: Mapping[tuple[int, int], Ciphertext]
    ) -> Ciphertext | None:
        """Horner's scheme in the rotation: ((t_first rotated by step) + t_next) rotated ... ."""
        total = None
        for giant in giants:
            if total is not None:
                total = total.rotate(step)
            for channel, baby, weights in self._terms.get(giant, ()):
                product = babies[channel, baby] * weights
                total = product if total is None else total + product
        return total


class PackedDigits:
    """Encrypted forward pass of `model` for ciphertexts of `slots` slots (a multiple of 64).

    All plaintext operands are made once here; `__call__` is the program for `engine.run`.
    """

    def __init__(self, model: DigitsModel | None = None, slots: int = 8192) -> None:
        model = model or default_model()
        images_per_ciphertext(slots)
        if model.hidden > HALF:
            raise ValueError(f"{model.hidden} hidden units, expected at most {HALF}")
        self.model = model
        self.slots = slots
        self._conv = [[_spread(p, slots) for p in patterns] for patterns in conv_patterns(model)]
        self._conv_bias = [float(bias) for bias in model.conv_bias]
        self._hidden = BlockMatrices(hidden_matrices(model), slots)
        self._hidden_bias = _spread(padded(model.hidden_bias), slots)
        self._output = BlockMatrices([output_matrix(model)], slots)
        self._output_bias = _spread(padded(model.output_bias), slots)

    def __call__(self, images: Ciphertext, progress: Callable[[str], None] | None = None) -> Ciphertext:
        """Logits of image b in slots 64 b .. 64 b + 9 (zeros behind them) from packed `images`.

        `progress`, where given, is called with each layer's name before the layer is evaluated.
        """
        tell = progress or (lambda layer: None)
        tell("convolution")
        channels = self._convolve(images)
        tell("square")
        channels = [z * z for z in channels]
        tell("hidden layer")
        half_sums = self._hidden(channels)
        z = half_sums + half_sums.rotate(HALF) + self._hidden_bias
        tell("square")
        z = z * z
        tell("output layer")
        return self._output([z]) + self._output_bias

    def _convolve(self, images: Ciphertext) -> list[Ciphertext]:
        """One ciphertext of pre-activations per channel."""
        shifted = []
        for dy, dx in OFFSETS:
            step = SIDE * dy + dx
            shifted.append(images.rotate(step) if step else images)
        channels = []
        for weights, bias in zip(self._conv, self._conv_bias, strict=True):
            products = (x * w for x, w in zip(shifted, weights, strict=True))
            channels.append(_sum(products) + bias)
        return channels

    def rotations(self) -> list[int]:
        """The distinct rotation steps used, ascending: the keys that the engine needs."""
        return sorted(self._count().steps)

    def depth(self) -> int:
        """Levels used from input to logits: 5."""
        logits: _Counted = self(_Counted(_Counter()))
        return logits.depth

    def count_operations(self) -> dict[str, int]:
        """Number of ciphertext operations of one forward pass, by kind."""
        counter = self._count()
        return dict(counter.operations) | {"distinct_rotations": len(counter.steps)}

    def _count(self) -> _Counter:
        counter = _Counter()
        self(_Counted(counter))
        return counter


def _sum(terms: Iterator[Ciphertext]) -> Ciphertext:
    """Sum of at least one ciphertext, without starting from a plain zero."""
    total = next(terms)
    for term in terms:
        total = total + term
    return total


def padded(values: Array) -> Array:
    """`values` in the first slots of a block, zeros behind."""
    return np.concatenate([values, np.zeros(PIXELS - len(values))])


def conv_patterns(model: DigitsModel) -> list[list[Array]]:
    """Per channel and offset, the weight where the neighbour lies inside the image, else zero."""
    y, x = np.divmod(np.arange(PIXELS), SIDE)
    patterns: list[list[Array]] = [[] for _ in range(model.channels)]
    for dy, dx in OFFSETS:
        inside = (y + dy >= 0) & (y + dy < SIDE) & (x + dx >= 0) & (x + dx < SIDE)
        for channel, row in enumerate(patterns):
            row.append(np.where(inside, model.conv_weight[channel, dy + 1, dx + 1], 0.0))
    return patterns


def hidden_matrices(model: DigitsModel) -> list[Array]:
    """Per channel a 64x64 matrix: rows h and h + 32 hold the left and right half of weight row h."""
    matrices: list[Array] = []
    for channel in range(model.channels):
        weights = model.hidden_weight[:, channel * PIXELS : (channel + 1) * PIXELS]
        matrix = np.zeros((PIXELS, PIXELS))
        matrix[: model.hidden, :HALF] = weights[:, :HALF]
        matrix[HALF : HALF + model.hidden, HALF:] = weights[:, HALF:]
        matrices.append(matrix)
    return matrices


def output_matrix(model: DigitsModel) -> Array:
    """The last layer in the top left corner of a 64x64 matrix."""
    matrix = np.zeros((PIXELS, PIXELS))
    matrix[:CLASSES, : model.hidden] = model.output_weight
    return matrix


class _Counter:
    """What one forward pass did."""

    def __init__(self) -> None:
        self.steps: set[int] = set()
        self.operations = {
            "rotations": 0,
            "ciphertext_multiplications": 0,
            "plaintext_multiplications": 0,
            "ciphertext_additions": 0,
            "plaintext_additions": 0,
        }


class _Counted:
    """A ciphertext without contents: it counts operations and the levels below the input."""

    def __init__(self, counter: _Counter, depth: int = 0) -> None:
        self.counter = counter
        self.depth = depth

    def _next(self, kind: str, depth: int) -> _Counted:
        self.counter.operations[kind] += 1
        return _Counted(self.counter, depth)

    def __add__(self, other: _Counted | Array | float) -> _Counted:
        if isinstance(other, _Counted):
            return self._next("ciphertext_additions", max(self.depth, other.depth))
        return self._next("plaintext_additions", self.depth)

    def __mul__(self, other: _Counted | Array) -> _Counted:
        if isinstance(other, _Counted):
            return self._next("ciphertext_multiplications", max(self.depth, other.depth) + 1)
        return self._next("plaintext_multiplications", self.depth + 1)

    def rotate(self, step: int) -> _Counted:
        self.counter.steps.add(step)
        return self._next("rotations", self.depth)
