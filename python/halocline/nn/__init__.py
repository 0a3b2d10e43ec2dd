# SPDX-License-Identifier: Apache-2.0
"""Networks: description, import, ranges, and compilation to encrypted programs."""

from .client import Client
from .client_spec import ClientSpec, InputSpec, OutputSpec
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
from .places import Places
from .ranges import Exceeded, Ranges, calibrate, check
from .resnet20 import CIFAR10_CLASSES, resnet20
from .server import Server

__all__ = [
    "CIFAR10_CLASSES",
    "INPUT",
    "Activation",
    "Add",
    "AvgPool",
    "Client",
    "ClientSpec",
    "CompileOptions",
    "CompiledModel",
    "Conv2d",
    "Exceeded",
    "Flatten",
    "Forecast",
    "Images",
    "InputSpec",
    "Layer",
    "Layout",
    "Linear",
    "Model",
    "Node",
    "OutputSpec",
    "Places",
    "Polynomial",
    "Ranges",
    "ReLU",
    "Server",
    "Shortcut",
    "calibrate",
    "check",
    "compile",
    "fold_batch_norm",
    "from_description",
    "from_torch",
    "load",
    "load_images",
    "resnet20",
    "save",
    "to_description",
]
