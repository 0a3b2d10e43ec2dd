# SPDX-License-Identifier: Apache-2.0
"""Image files as inputs of networks.

Files come from users: formats and sizes are limited, and the changes made to fit an image are reported.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base import limits
from ..base.errors import CorruptData, Error, InvalidArgument, IoError
from ..base.extras import needs
from ..base.files import read_file
from ..base.values import path_text
from .layers import Array
from .model import checked_shape

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".webp")
"""Files that are taken from a folder; others are left out with a notice."""
MAX_IMAGES = 20_000
"""Images of one call."""
MAX_PIXELS = limits.IMAGE_PIXELS
"""Pixels of a file before it is resized."""

_FORMATS = ("JPEG", "PNG", "BMP", "PPM", "WEBP")
# Modes of 8 bits for each channel; those of 16 bits and floats have no range that is white for sure.
_MODES = ("RGB", "L", "1", "P", "RGBA", "LA", "PA", "La", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV")
_CHANNELS = {1: "L", 3: "RGB"}


class Images(NamedTuple):
    """Images with what is known of them."""

    images: Array
    """(count, channels, rows, columns), 0 to 1"""
    labels: npt.NDArray[np.int64] | None
    """Index into `classes` of each image, by the name of its folder; None where folders name no classes"""
    names: tuple[str, ...]
    """File of each image, below the folder that was asked for"""
    classes: tuple[str, ...]
    """Names of the classes; empty without labels"""
    notices: tuple[str, ...]
    """What was done to images so that they fit, and what was left out"""


def load_images(
    path: str | os.PathLike[str],
    shape: Sequence[int] = (3, 32, 32),
    classes: Sequence[str] | None = None,
) -> Images:
    """The image in a file, or those in a folder and its direct subfolders, in the order of their names.

    Larger and smaller images are cut to the proportions of `shape` and resized, other modes converted, both
    with a notice. Files that cannot be read as images are refused (CorruptData). classes: names of folders
    that stand for labels; None: the names of the subfolders in the order of the alphabet.
    """
    shape = checked_shape(shape)
    if len(shape) != 3 or shape[0] not in _CHANNELS:
        raise InvalidArgument(f"images: shape {shape}, expected (1 or 3 channels, rows, columns)")
    root = Path(path_text(path, "images"))
    notices: list[str] = []
    files = _files(root, notices)
    base = root if root.is_dir() else root.parent
    names = tuple(file.relative_to(base).as_posix() for file in files)
    images = np.empty((len(files), *shape))
    for image, file, name in zip(images, files, names, strict=True):
        image[:] = _read(file, name, shape, notices)
    labels, found = _labels(files, base, classes, notices)
    return Images(images, labels, names, found, tuple(notices))


def _files(root: Path, notices: list[str]) -> list[Path]:
    """Image files of a folder and its direct subfolders, or the one file."""
    if not root.exists():
        raise IoError(f"{root}: no such file or folder of images")
    if not root.is_dir():
        return [root]
    try:
        files = [file for file in sorted((*root.glob("*"), *root.glob("*/*"))) if file.is_file()]
    except OSError as error:
        raise IoError(f"{root}: cannot list ({error.strerror or error})") from None
    shown = [file for file in files if not any(part.startswith(".") for part in file.relative_to(root).parts)]
    taken = [file for file in shown if file.suffix.lower() in SUFFIXES]
    notices += [f"{file.relative_to(root)}: left out, no image" for file in shown if file not in set(taken)]
    if not 1 <= len(taken) <= MAX_IMAGES:
        raise InvalidArgument(
            f"{root}: {len(taken)} images ({', '.join(SUFFIXES)}) in it and its direct subfolders, "
            f"expected 1 to {MAX_IMAGES}"
        )
    return taken


def _read(file: Path, name: str, shape: Sequence[int], notices: list[str]) -> Array:
    """One image as (channels, rows, columns)."""
    with needs("nn", "images"):
        from PIL import Image

    try:
        with warnings.catch_warnings():
            # Its own limit on pixels is looser than the one below, and a warning would not name the file.
            warnings.simplefilter("ignore")
            content = io.BytesIO(read_file(file, "images", limits.IMAGE))
            with Image.open(content, formats=_FORMATS) as opened:
                _check(opened, file)
                fitted = _fitted(opened, shape, notices, name)
    except Error:
        raise
    except Exception as error:  # decoders raise SyntaxError, struct.error, ... for damaged files
        raise CorruptData(f"{file}: no image that can be read ({error})") from None
    values = np.asarray(fitted, dtype=np.float64).reshape(*shape[1:], shape[0]) / 255
    return values.transpose(2, 0, 1)


def _check(image: Image.Image, file: Path) -> None:
    """CorruptData for images that are too large, or whose values have no known range."""
    if image.width * image.height > MAX_PIXELS:
        raise CorruptData(
            f"{file}: {image.width} x {image.height} pixels, expected at most {MAX_PIXELS} in all"
        )
    if image.mode not in _MODES:
        raise CorruptData(
            f"{file}: an image of mode {image.mode}; supported are images of 8 bits per channel, such as RGB"
        )


def _fitted(image: Image.Image, shape: Sequence[int], notices: list[str], name: str) -> Image.Image:
    """An image in the mode and of the size that is expected."""
    with needs("nn", "images"):
        from PIL import Image, ImageOps

    mode = _CHANNELS[shape[0]]
    done = []
    if getattr(image, "n_frames", 1) > 1:
        done.append("the first of several pictures")
    fitted = ImageOps.exif_transpose(image)
    if fitted.mode != mode:
        done.append(f"converted from mode {image.mode} to {mode}")
        fitted = fitted.convert(mode)
    if fitted.size != (shape[2], shape[1]):
        done.append(f"resized from {fitted.width} x {fitted.height} to {shape[2]} x {shape[1]}")
        fitted = ImageOps.fit(fitted, (shape[2], shape[1]), Image.Resampling.LANCZOS)
    if done:
        notices.append(f"{name}: {', '.join(done)}")
    return fitted


def _labels(
    files: Sequence[Path], base: Path, classes: Sequence[str] | None, notices: list[str]
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...]]:
    """Labels by the names of folders, and the names of the classes."""
    folders = [file.resolve().parent.name for file in files]
    if classes is None:
        if any(file.parent == base for file in files):
            return None, ()
        known = tuple(sorted(set(folders)))
    else:
        known = tuple(classes)
        unknown = sorted(set(folders) - set(known))
        if len(unknown) == len(set(folders)):
            return None, ()
        if unknown:
            notices.append(f"no labels: folders {', '.join(unknown)} name no class")
            return None, ()
    return np.array([known.index(folder) for folder in folders]), known
