# SPDX-License-Identifier: Apache-2.0
"""The digits network on circuits: the same network and packing as `digits_packed`, with fewer operations.

The convolution is one grid of linear maps (1 input, 4 channels) whose nine rotations are hoisted; each dense
layer is one grid whose weights keep two or three rotation keys (`small_key`): the keys are most of the bytes
that the server holds. Five levels, as many as the operator version.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from ..ciphertext import Ciphertext
from ..transforms import LinearTransform, TransformGrid
from .digits_model import SIDE, DigitsModel, default_model, images_per_ciphertext
from .digits_packed import (
    HALF,
    OFFSETS,
    block_diagonals,
    conv_patterns,
    hidden_matrices,
    output_matrix,
    padded,
)

DEPTH = 5
"""Levels from input to logits."""

Phase = Callable[[str], AbstractContextManager[None]]
"""Called with a layer's name; the layer is evaluated inside the context."""


def _no_phase(_: str) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


class DigitsCircuit:
    """Encrypted forward pass of `model` for ciphertexts of `slots` slots (a multiple of 64)."""

    def __init__(self, model: DigitsModel | None = None, slots: int = 8192) -> None:
        model = model or default_model()
        self.model, self.slots = model, slots
        repeat = images_per_ciphertext(slots)
        patterns = conv_patterns(model)
        channels = [[{SIDE * dy + dx: row[k] for k, (dy, dx) in enumerate(OFFSETS)}] for row in patterns]
        self._conv = TransformGrid(channels, slots=slots, mode="naive", compact=True)
        self._conv_bias = [float(bias) for bias in model.conv_bias]
        hidden = [block_diagonals(matrix) for matrix in hidden_matrices(model)]
        self._hidden = TransformGrid([hidden], slots=slots, mode="small_key", compact=True)
        self._hidden_bias = np.tile(padded(model.hidden_bias), repeat)
        output = block_diagonals(output_matrix(model))
        self._output = LinearTransform(output, slots=slots, mode="small_key", compact=True)
        self._output_bias = np.tile(padded(model.output_bias), repeat)

    @property
    def plain_bytes(self) -> int:
        """Bytes of the largest layer's weights in the clear, needed while they are encoded."""
        return max(each.plain_bytes for each in (self._conv, self._hidden, self._output))

    def __call__(self, images: Ciphertext, phase: Phase = _no_phase) -> Ciphertext:
        """Logits of image b in slots 64 b .. 64 b + 9 (zeros behind them) from packed `images`."""
        images = images.drop_level(min(images.level, DEPTH))  # fewer primes, smaller keys
        with phase("convolution"):
            outputs = self._conv([images])
            channels = [z + bias for z, bias in zip(outputs, self._conv_bias, strict=True)]
        with phase("square 1"):
            channels = [z * z for z in channels]
        with phase("hidden layer"):
            (half_sums,) = self._hidden(channels)
            z = half_sums + half_sums.rotate(HALF) + self._hidden_bias
        with phase("square 2"):
            z = z * z
        with phase("output layer"):
            return self._output(z) + self._output_bias
