# SPDX-License-Identifier: Apache-2.0
"""The digits network on circuits.

The convolution hoists its eight rotations for all channels; the dense layers walk with three rotation keys
each (`small_key`), because the keys are most of the bytes that the server holds. Five levels.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np

from ...circuits.layers import BlockMatmul, Convolution2d, ImageLayout
from ...ckks.ciphertext import Ciphertext
from ...engine.engine import Engine
from .model import PIXELS, SIDE, Array, DigitsModel, default_model, images_per_ciphertext

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
        self._images = images_per_ciphertext(slots)
        layout = ImageLayout(SIDE, SIDE, PIXELS)
        kernels = model.conv_weight[:, np.newaxis]
        self._conv = Convolution2d(kernels, layout, slots, bias=model.conv_bias, compact=True)
        channels = np.split(model.hidden_weight, model.channels, axis=1)
        self._hidden = BlockMatmul([channels], PIXELS, slots, mode="small_key", compact=True)
        # Folding leaves values behind the hidden layer's results, which this layer multiplies by zero.
        self._output = BlockMatmul(
            [[model.output_weight]], PIXELS, slots, fold=False, mode="small_key", compact=True
        )
        self._hidden_bias = self._in_every_block(model.hidden_bias)
        self._output_bias = self._in_every_block(model.output_bias)

    def _in_every_block(self, values: Array) -> Array:
        """Values at the start of every block, zeros behind."""
        return np.tile(np.pad(values, (0, PIXELS - len(values))), self._images)

    def __call__(self, images: Ciphertext, phase: Phase = _no_phase) -> Ciphertext:
        """Logits of image b in slots 64 b .. 64 b + 9 (zeros behind them) from packed `images`."""
        images = images.drop_level(min(images.level, DEPTH))  # fewer primes, smaller keys
        with phase("convolution"):
            channels = self._conv([images])
        with phase("square 1"):
            channels = [z * z for z in channels]
        with phase("hidden layer"):
            z = self._hidden(channels)[0] + self._hidden_bias
        with phase("square 2"):
            z = z * z
        with phase("output layer"):
            return self._output([z])[0] + self._output_bias

    def plain_bytes(self, engine: Engine) -> int:
        """Bytes of the largest layer's weights in the clear, which are needed while they are encoded."""
        layers = ((self._conv, DEPTH), (self._hidden, DEPTH - 2), (self._output, DEPTH - 4))
        return max(layer.plain_bytes(engine, level) for layer, level in layers)
