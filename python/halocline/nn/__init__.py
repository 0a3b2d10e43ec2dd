# SPDX-License-Identifier: Apache-2.0
"""Networks: description, import, ranges, and compilation to encrypted programs."""

from .compiled import CompiledModel
from .compiler import compile
from .description import from_description, load, save, to_description
from .forecast import Forecast
from .from_torch import from_torch
from .images import Images, load_images
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
from .layout import Layout
from .model import INPUT, Model, Node
from .options import CompileOptions
from .ranges import Exceeded, Ranges, calibrate, check
from .resnet18 import resnet18
from .resnet20 import CIFAR10_CLASSES, resnet20

__all__ = [
    "CIFAR10_CLASSES",
    "INPUT",
    "Activation",
    "Add",
    "AvgPool",
    "CompileOptions",
    "CompiledModel",
    "Conv2d",
    "Exceeded",
    "Flatten",
    "Forecast",
    "Images",
    "Layer",
    "Layout",
    "Linear",
    "Model",
    "Node",
    "Polynomial",
    "Ranges",
    "ReLU",
    "Shortcut",
    "calibrate",
    "check",
    "compile",
    "fold_batch_norm",
    "from_description",
    "from_torch",
    "load",
    "load_images",
    "resnet18",
    "resnet20",
    "save",
    "to_description",
]
