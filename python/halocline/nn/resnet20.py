# SPDX-License-Identifier: Apache-2.0
"""ResNet-20 for images of 32 x 32 pixels: He, Zhang, Ren, Sun, "Deep residual learning for image recognition"
(2015), section 4.2, with shortcuts of option A.

Tensors have the names of PyTorch state dictionaries of the usual implementation: conv1, bn1,
layer{1,2,3}.{0,1,2}.{conv,bn}{1,2}, linear.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..base.errors import CorruptData, Error
from .layers import Add, AvgPool, Conv2d, Flatten, Linear, ReLU, Shortcut, fold_batch_norm
from .model import INPUT, Model, Node
from .tensors import check_names, read_tensors

CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
"""Names of the classes of CIFAR-10, in the order of the logits."""

WIDTHS = (16, 32, 64)
"""Channels of the three stages."""
BLOCKS = 3
"""Residual blocks of a stage."""
SIDE = 32
"""Rows and columns of an image."""

_NORM = ("weight", "bias", "running_mean", "running_var")
_PARALLEL = "module."  # what DataParallel puts before every name


def convolutions() -> Iterator[tuple[str, str, int, int, int]]:
    """(convolution, batch norm behind it, inputs, outputs, stride) in order; 0 inputs: of the image."""
    yield "conv1", "bn1", 0, WIDTHS[0], 1
    before = WIDTHS[0]
    for stage, width in enumerate(WIDTHS, 1):
        for block in range(BLOCKS):
            at = f"layer{stage}.{block}"
            yield f"{at}.conv1", f"{at}.bn1", before, width, 2 if before != width else 1
            yield f"{at}.conv2", f"{at}.bn2", width, width, 1
            before = width


def _shapes(channels: int, classes: int) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor."""
    shapes: dict[str, tuple[int, ...]] = {
        "linear.weight": (classes, WIDTHS[-1]),
        "linear.bias": (classes,),
    }
    for conv, norm, inputs, outputs, _ in convolutions():
        shapes[f"{conv}.weight"] = (outputs, inputs or channels, 3, 3)
        shapes.update({f"{norm}.{each}": (outputs,) for each in _NORM})
    return shapes


def _checked(tensors: Mapping[str, Any], what: str) -> tuple[dict[str, Any], int]:
    """Tensors by their plain names, all there and of the right shapes; and the channels of an image."""
    plain = tensors and all(name.startswith(_PARALLEL) for name in tensors)
    found = {name.removeprefix(_PARALLEL) if plain else name: each for name, each in tensors.items()}
    first, last = (np.shape(found.get(name, ())) for name in ("conv1.weight", "linear.weight"))
    channels, classes = first[1] if len(first) == 4 else 3, last[0] if len(last) == 2 else 10
    shapes = _shapes(channels, classes)
    optional = [f"{norm}.num_batches_tracked" for _, norm, *_ in convolutions()]
    check_names(found, shapes, optional, what)
    for name, shape in shapes.items():
        if np.shape(found[name]) != shape:
            raise CorruptData(
                f"{what}: tensor {name!r} has shape {np.shape(found[name])}, expected {shape} for ResNet-20"
            )
    return found, channels


def _blocks(layers: dict[str, Conv2d], relu: ReLU) -> Iterator[Node]:
    """The residual blocks."""
    x = "relu"
    for stage, width in enumerate(WIDTHS, 1):
        for block in range(BLOCKS):
            at = f"layer{stage}.{block}"
            first, second = layers[f"{at}.conv1"], layers[f"{at}.conv2"]
            yield Node(f"{at}.conv1", first, (x,))
            yield Node(f"{at}.relu1", relu, (f"{at}.conv1",))
            yield Node(f"{at}.conv2", second, (f"{at}.relu1",))
            if first.strides[0] > 1:
                yield Node(f"{at}.shortcut", Shortcut(first.strides[0], width), (x,))
                x = f"{at}.shortcut"
            yield Node(f"{at}.add", Add(), (f"{at}.conv2", x))
            x = f"{at}.relu2"
            yield Node(x, relu, (f"{at}.add",))


def resnet20(
    weights: str | os.PathLike[str] | Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
    *,
    alpha: int = 13,
) -> Model:
    """The network with these weights: a safetensors file, or arrays by name.

    Batch norms are folded into the convolutions before them. Channels of an image and number of classes
    follow from the weights. metadata: of the model (None: those of the file); see `Model`. The normalisation
    of images stays with `Model.prepare`: with zero padding it is not part of the first convolution.
    """
    relu = ReLU(alpha)
    if isinstance(weights, Mapping):
        tensors, what = weights, "ResNet-20"
        kept = metadata or {}
    else:
        tensors, found = read_tensors(weights)
        kept = found if metadata is None else metadata
        what = f"{os.fspath(weights)}: ResNet-20"
    named, channels = _checked(tensors, what)
    try:
        layers = {}
        for conv, norm, _, _, stride in convolutions():
            values = [named[f"{norm}.{each}"] for each in _NORM]
            layers[conv] = Conv2d(*fold_batch_norm(named[f"{conv}.weight"], None, *values), stride=stride)
        head = [
            Node("pool", AvgPool(), (f"layer{len(WIDTHS)}.{BLOCKS - 1}.relu2",)),
            Node("flatten", Flatten(), ("pool",)),
            Node("linear", Linear(named["linear.weight"], named["linear.bias"]), ("flatten",)),
        ]
        stem = [Node("conv1", layers["conv1"], (INPUT,)), Node("relu", relu, ("conv1",))]
        return Model((channels, SIDE, SIDE), (*stem, *_blocks(layers, relu), *head), "linear", kept)
    except Error as error:
        raise CorruptData(f"{what}: {error}") from None
