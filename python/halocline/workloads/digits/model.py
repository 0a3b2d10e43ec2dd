# SPDX-License-Identifier: Apache-2.0
"""The digits network in the clear: weights, reference forward pass, packing, held-out images.

Network (trained by tools/train_digits.py): 3x3 convolution with zero padding, 1 -> 4 channels;
square; dense 256 -> 32; square; dense 32 -> 10. The encrypted evaluation of the same network is in
`circuit`; this module neither encrypts nor prints.

Packing: image b occupies slots [64 b, 64 b + 64) of a ciphertext, row-major 8x8, so a ciphertext of
8192 slots (ring degree 2^14) holds 128 images. Logits come back in slots 64 b .. 64 b + 9.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import CorruptData
from ...base.extras import needs
from ...nn.tensors import check_names, read_tensors

Array = npt.NDArray[Any]

SIDE = 8
"""Height and width of an image."""
PIXELS = SIDE * SIDE
"""Slots that one image occupies."""
CLASSES = 10
"""Number of logits."""

SHIPPED_FILE = Path(__file__).resolve().parents[2] / "data" / "digits_cnn.safetensors"
"""Weights that come with the package."""

_FORMAT = "halocline.digits_cnn.v1"


@dataclass(frozen=True, eq=False)
class DigitsModel:
    """Weights of the network as float64 arrays, and the metadata of the file they came from.

    The convolution computes z[c, y, x] = bias[c] + sum_ij weight[c, i, j] image[y + i - 1, x + j - 1]
    with zeros outside the image. Column 64 c + 8 y + x of `hidden_weight` belongs to z[c, y, x]^2.
    """

    conv_weight: Array
    """(channels, 3, 3)"""
    conv_bias: Array
    """(channels,)"""
    hidden_weight: Array
    """(hidden, 64 * channels)"""
    hidden_bias: Array
    """(hidden,)"""
    output_weight: Array
    """(10, hidden)"""
    output_bias: Array
    """(10,)"""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Split, seed, accuracy, ranges and digest written by tools/train_digits.py."""

    def __post_init__(self) -> None:
        channels, hidden = len(self.conv_weight), len(self.hidden_weight)
        shapes = {
            "conv_weight": (channels, 3, 3),
            "conv_bias": (channels,),
            "hidden_weight": (hidden, PIXELS * channels),
            "hidden_bias": (hidden,),
            "output_weight": (CLASSES, hidden),
            "output_bias": (CLASSES,),
        }
        for name, shape in shapes.items():
            got = getattr(self, name).shape
            if got != shape:
                raise ValueError(f"digits model: {name} has shape {got}, expected {shape}")

    @property
    def channels(self) -> int:
        """Number of convolution channels."""
        return len(self.conv_weight)

    @property
    def hidden(self) -> int:
        """Number of hidden units."""
        return len(self.hidden_weight)

    def held_out_indices(self) -> Array:
        """Indices into `sklearn.datasets.load_digits()` of the images never trained on."""
        return np.array(json.loads(self.metadata["held_out_indices"]), dtype=np.int64)


def load_model(path: str | Path | None = None) -> DigitsModel:
    """The model in `path`, or the shipped one; ValueError when the file is not a digits model."""
    path = path or SHIPPED_FILE
    found, metadata = read_tensors(path)
    if metadata.get("format") != _FORMAT:
        raise CorruptData(
            f"{path}: format is {metadata.get('format')!r}, expected {_FORMAT!r}; "
            "write the file with tools/train_digits.py"
        )
    names = [f"{name}.{part}" for name in ("conv", "hidden", "output") for part in ("weight", "bias")]
    check_names(found, names, (), str(path))
    tensors = {name.replace(".", "_"): found[name] for name in names}
    return DigitsModel(metadata=metadata, **tensors)


@functools.cache
def default_model() -> DigitsModel:
    """The shipped model, read once."""
    return load_model()


def as_images(images: Array) -> Array:
    """`images` as finite float64 of shape (n, 8, 8); (n, 64) and a single (8, 8) are accepted."""
    array = np.asarray(images, dtype=np.float64)
    if array.shape == (SIDE, SIDE) or (array.ndim == 2 and array.shape[1] == PIXELS):
        array = array.reshape(-1, SIDE, SIDE)
    if array.ndim != 3 or array.shape[1:] != (SIDE, SIDE):
        raise ValueError(f"images have shape {np.shape(images)}, expected (n, 8, 8) or (n, 64)")
    if not np.isfinite(array).all():
        raise ValueError("images hold NaN or infinite pixels; pixels must be finite, 0 to 1")
    return array


def forward_plain(images: Array, model: DigitsModel | None = None) -> Array:
    """Logits (n, 10) of images (n, 8, 8) with pixels in [0, 1], in float64: the reference."""
    model = model or default_model()
    batch = as_images(images)
    padded = np.pad(batch, ((0, 0), (1, 1), (1, 1)))
    windows: Array = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))  # type: ignore[call-overload]
    z1 = np.einsum("nyxij,cij->ncyx", windows, model.conv_weight)
    z1 = z1 + model.conv_bias[:, None, None]
    a1 = (z1 * z1).reshape(len(batch), -1)
    z2 = a1 @ model.hidden_weight.T + model.hidden_bias
    logits: Array = (z2 * z2) @ model.output_weight.T + model.output_bias
    return logits


def images_per_ciphertext(slots: int) -> int:
    """How many images fit; ValueError unless `slots` is a positive multiple of 64."""
    if slots < PIXELS or slots % PIXELS:
        raise ValueError(f"{slots} slots cannot hold 8x8 images; need a positive multiple of 64")
    return slots // PIXELS


def pack_images(images: Array, slots: int = 8192) -> Array:
    """Vector of `slots` values: image b row-major in [64 b, 64 b + 64), zeros behind the last."""
    batch = as_images(images)
    capacity = images_per_ciphertext(slots)
    if not 1 <= len(batch) <= capacity:
        raise ValueError(
            f"got {len(batch)} images, expected 1 to {capacity} for {slots} slots; "
            "pack further images into another ciphertext"
        )
    packed = np.zeros(slots)
    packed[: batch.size] = batch.ravel()
    return packed


def unpack_logits(values: Array, count: int) -> Array:
    """Logits (count, 10) of the first `count` images from the decrypted slots."""
    slots = np.real(np.asarray(values))
    capacity = images_per_ciphertext(len(slots))
    if not 0 <= count <= capacity:
        raise ValueError(f"{count} images requested, but {len(slots)} slots hold {capacity}")
    logits: Array = slots.reshape(capacity, PIXELS)[:count, :CLASSES].copy()
    return logits


def held_out_digits(model: DigitsModel | None = None) -> tuple[Array, Array]:
    """Held-out images (n, 8, 8) with pixels in [0, 1] and their labels (n,)."""
    with needs("lab", "digits: images"):
        from sklearn.datasets import load_digits  # takes a second to import; only this function needs it

    model = model or default_model()
    pixels, labels = load_digits(return_X_y=True)
    chosen = model.held_out_indices()
    return pixels[chosen].reshape(-1, SIDE, SIDE) / 16.0, labels[chosen]
