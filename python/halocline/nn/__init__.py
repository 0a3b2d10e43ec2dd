# SPDX-License-Identifier: Apache-2.0
"""Networks: description, import, ranges, and compilation to encrypted programs."""

from .activations import GELU, Decay, Erf, Mish, Sigmoid, SiLU, Smooth, Softplus, Softsign, Step, Tanh
from .client import Client
from .client_spec import ClientSpec, InputSpec, OutputSpec
from .compiled import CompiledModel
from .compiler import compile
from .composites import ELU, Hardswish, Maximum, MaxPool, Multiply, PiecewiseLinear
from .description import from_description, load, save, to_description
from .fine_tuning import FineTune
from .forecast import Forecast
from .from_onnx import from_onnx
from .from_sklearn import from_sklearn, labels
from .from_torch import from_torch
from .images import Images, load_images
from .layers import (
    Activation,
    Add,
    AvgPool,
    Composite,
    Conv2d,
    Flatten,
    Layer,
    Linear,
    LinearMap,
    Polynomial,
    ReLU,
    Shortcut,
    fold_batch_norm,
)
from .layout import Layout
from .linear_maps import Affine, Expand, Pad, Permute, Resample, Reshape, Slice, Upsample
from .model import INPUT, Model, Node
from .options import CompileOptions
from .places import Places
from .prepare import Prepared, prepare
from .ranges import Exceeded, Ranges, calibrate, check
from .resnet18 import resnet18
from .resnet20 import CIFAR10_CLASSES, resnet20
from .server import Server

__all__ = [
    "CIFAR10_CLASSES",
    "ELU",
    "GELU",
    "INPUT",
    "Activation",
    "Add",
    "Affine",
    "AvgPool",
    "Client",
    "ClientSpec",
    "CompileOptions",
    "CompiledModel",
    "Composite",
    "Conv2d",
    "Decay",
    "Erf",
    "Exceeded",
    "Expand",
    "FineTune",
    "Flatten",
    "Forecast",
    "Hardswish",
    "Images",
    "InputSpec",
    "Layer",
    "Layout",
    "Linear",
    "LinearMap",
    "MaxPool",
    "Maximum",
    "Mish",
    "Model",
    "Multiply",
    "Node",
    "OutputSpec",
    "Pad",
    "Permute",
    "PiecewiseLinear",
    "Places",
    "Polynomial",
    "Prepared",
    "Ranges",
    "ReLU",
    "Resample",
    "Reshape",
    "Server",
    "Shortcut",
    "SiLU",
    "Sigmoid",
    "Slice",
    "Smooth",
    "Softplus",
    "Softsign",
    "Step",
    "Tanh",
    "Upsample",
    "calibrate",
    "check",
    "compile",
    "fold_batch_norm",
    "from_description",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "labels",
    "load",
    "load_images",
    "prepare",
    "resnet18",
    "resnet20",
    "save",
    "to_description",
]
