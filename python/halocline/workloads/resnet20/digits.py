# SPDX-License-Identifier: Apache-2.0
"""The ResNet-20 that comes with the package, and pictures of digits that it was not trained on."""

from __future__ import annotations

import importlib.resources
import json

import numpy as np

from ...base.extras import needs
from ...nn.images import Images
from ...nn.model import Model
from ...nn.resnet20 import resnet20
from ..digits.pictures import digit_pictures

DIGITS = tuple(str(each) for each in range(10))
"""Names of the classes, in the order of the logits."""


def digits_model(alpha: int = 13) -> Model:
    """The network with the shipped weights (`tools/train_resnet20.py` made them); alpha: see `nn.ReLU`."""
    with importlib.resources.as_file(
        importlib.resources.files("halocline") / "data/resnet20_digits.safetensors"
    ) as path:
        return resnet20(path, alpha=alpha)


def held_out_pictures(model: Model) -> Images:
    """All digits of scikit-learn's set that training left out."""
    with needs("lab", "resnet20: images"):
        from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    chosen = json.loads(model.metadata["held_out_indices"])
    pictures = digit_pictures(pixels[chosen].reshape(-1, 8, 8) / 16.0)
    names = tuple(f"digit {index}" for index in chosen)
    return Images(pictures, labels[chosen].astype(np.int64), names, DIGITS, ())
