# SPDX-License-Identifier: Apache-2.0
"""Images of threes and eights for logistic regression: MNIST from IDX files, or scikit-learn's digits."""

from __future__ import annotations

import dataclasses
import gzip
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ...base import limits
from ...base.errors import CorruptData, InvalidArgument, IoError
from ...base.extras import needs
from ...base.files import open_regular

Array = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

CLASSES = (3, 8)
"""Digits told apart: label -1 and label 1."""
SIDE = 28
"""Rows and columns of an MNIST image."""

_MNIST_NAMES = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_LARGEST_FILE = limits.IDX
"""Bytes of pixels that are accepted: five times all of MNIST."""


@dataclasses.dataclass(frozen=True, eq=False)
class HelrData:
    """Samples with a constant 1 behind their features, so that the last weight is the intercept."""

    name: str
    train: Array
    """(rows, features + 1), features in [0, 1]"""
    train_labels: Array
    """-1 or 1"""
    held_out: Array
    held_out_labels: Array

    @property
    def features(self) -> int:
        """Features of a sample, without the constant."""
        return self.train.shape[1] - 1

    @property
    def signed(self) -> Array:
        """Training samples times their labels, which is all that training sees."""
        return self.train * self.train_labels[:, np.newaxis]


def load_data(folder: str | Path | None, batch: int | None, seed: int) -> HelrData:
    """MNIST from a folder, or scikit-learn's digits.

    batch: samples to train with, chosen by the seed; all others are held out. 1,024 of MNIST unless given and
        256 of the 357 digits.
    """
    if folder is None:
        return _split("digits", *_digits(), 256 if batch is None else batch, seed)
    return _split("MNIST", *_mnist(Path(folder)), 1024 if batch is None else batch, seed)


def _split(name: str, pixels: Array, digits: Bytes, batch: int, seed: int) -> HelrData:
    """Threes and eights, shuffled, the first ones to train with."""
    chosen = np.flatnonzero(np.isin(digits, CLASSES))
    if not 1 <= batch < len(chosen):
        raise InvalidArgument(
            f"helr: {batch} samples to train with, but {name} has {len(chosen)} images of {CLASSES[0]} and "
            f"{CLASSES[1]}, of which some must be held out; expected 1 to {len(chosen) - 1}"
        )
    chosen = np.random.default_rng(seed).permutation(chosen)
    samples = np.hstack([pixels[chosen], np.ones((len(chosen), 1))])
    labels = np.where(digits[chosen] == CLASSES[1], 1.0, -1.0)
    return HelrData(name, samples[:batch], labels[:batch], samples[batch:], labels[batch:])


def _digits() -> tuple[Array, Bytes]:
    with needs("lab", "helr: images"):
        from sklearn.datasets import load_digits  # takes a second to import; only this function needs it

    pixels, labels = load_digits(return_X_y=True)
    return pixels / 16.0, labels.astype(np.uint8)


def _mnist(folder: Path) -> tuple[Array, Bytes]:
    """Images as means of 2 x 2 pixels, in [0, 1], and their labels."""
    images, labels = (_find(folder, name) for name in _MNIST_NAMES)
    pixels, digits = read_idx(images, 3), read_idx(labels, 1)
    if pixels.shape[1:] != (SIDE, SIDE):
        raise CorruptData(
            f"'{images}': images of {pixels.shape[1]} by {pixels.shape[2]} pixels, expected {SIDE} by {SIDE}"
        )
    if len(pixels) != len(digits):
        raise CorruptData(f"'{images}' has {len(pixels)} images, but '{labels}' has {len(digits)} labels")
    if len(digits) and digits.max() > 9:
        raise CorruptData(f"'{labels}': label {digits.max()}, expected 0 to 9")
    half = SIDE // 2
    means: Array = pixels.reshape(-1, half, 2, half, 2).mean(axis=(2, 4)) / 255.0
    return means.reshape(-1, half * half), digits


def _find(folder: Path, name: str) -> Path:
    """The file, compressed or not."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise IoError(f"helr: no '{name}' or '{name}.gz' in '{folder}'; give the folder of the MNIST files")


def read_idx(path: str | Path, dimensions: int) -> Bytes:
    """An array of bytes from an IDX file, gzip or not.

    The format: two zero bytes, 8 for unsigned bytes, the number of dimensions, their lengths as 32-bit
    big-endian numbers, the bytes. Raises IoError when the file cannot be read, and CorruptData for anything
    but an array of that many dimensions and exactly as many bytes.
    """
    try:
        with open_regular(path, "helr") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if not packed:
                return _read_idx(file, path, dimensions)
            with gzip.open(file, "rb") as unpacked:
                return _read_idx(unpacked, path, dimensions)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorruptData(f"'{path}': damaged gzip data ({error})") from None
    except IoError:
        raise
    except OSError as error:
        raise IoError(f"cannot read '{path}': {error.strerror or error}") from None


def _read_idx(file: IO[bytes] | gzip.GzipFile, path: str | Path, dimensions: int) -> Bytes:
    read: Callable[[int], Any] = file.read
    head = read(4)
    wanted = bytes((0, 0, 8, dimensions))
    if head != wanted:
        raise CorruptData(
            f"'{path}': begins with {head.hex() or 'nothing'}, expected {wanted.hex()}: an IDX file of "
            f"unsigned bytes with {dimensions} dimensions"
        )
    lengths = read(4 * dimensions)
    if len(lengths) != 4 * dimensions:
        raise CorruptData(f"'{path}': ends within its header")
    shape = tuple(int(each) for each in np.frombuffer(lengths, ">u4"))
    size = math.prod(shape)
    if size > _LARGEST_FILE:
        raise CorruptData(f"'{path}': says it has {size} bytes, expected at most {_LARGEST_FILE}")
    content = read(size + 1)  # one more, to see whether it ends there
    if len(content) != size:
        found = "more" if len(content) > size else str(len(content))
        raise CorruptData(f"'{path}': has {found} bytes behind its header, which says {size}: {shape}")
    return np.frombuffer(content, np.uint8).reshape(shape)
