# SPDX-License-Identifier: Apache-2.0
"""Networks: description, import, ranges, and compilation to encrypted programs."""

from .layers import (
    Activation,
    Add,
    AvgPool,
    Conv2d,
    Flatten,
    Layer,
    Linear,
    Polynomial,
    ReLU,
    Shortcut,
    fold_batch_norm,
)
from .model import INPUT, Model, Node

__all__ = [
    "INPUT",
    "Activation",
    "Add",
    "AvgPool",
    "Conv2d",
    "Flatten",
    "Layer",
    "Linear",
    "Model",
    "Node",
    "Polynomial",
    "ReLU",
    "Shortcut",
    "fold_batch_norm",
]
