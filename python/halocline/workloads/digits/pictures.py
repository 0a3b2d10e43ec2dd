# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's digits as pictures for networks made for CIFAR-10: 3 equal channels of 32x32 pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .model import SIDE, as_images

Array = npt.NDArray[Any]

PICTURE_SIDE = 32
"""Height and width of a picture."""


def bilinear_matrix(size: int, wanted: int) -> Array:
    """M (wanted, size): `M @ v` is v interpolated linearly at `wanted` points, centres of equal cells.

    Pixel k is the value at k + 1/2 of `size`; beyond the centres of the first and the last one their values
    continue (what image libraries call bilinear without aligned corners).
    """
    centres = (np.arange(wanted) + 0.5) * size / wanted - 0.5
    centres = np.clip(centres, 0, size - 1)
    low = np.minimum(centres.astype(np.int64), size - 2)
    matrix = np.zeros((wanted, size))
    matrix[np.arange(wanted), low] = 1 - (centres - low)
    matrix[np.arange(wanted), low + 1] = centres - low
    return matrix


def digit_pictures(images: Array) -> Array:
    """Digits (n, 8, 8) with pixels in [0, 1] as pictures (n, 3, 32, 32), not normalised."""
    matrix = bilinear_matrix(SIDE, PICTURE_SIDE)
    grey = matrix @ as_images(images) @ matrix.T
    pictures: Array = np.repeat(grey[:, None], 3, axis=1)
    return pictures
