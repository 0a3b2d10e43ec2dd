# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 for small images: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (2015),
table 1.

Four stages of two basic blocks, shortcuts of option B (a convolution with kernel 1). As usual for images of
32 or 64 pixels, the network begins with a convolution of kernel 3 without stride or pooling, not of kernel 7.

Tensors have the names of PyTorch state dictionaries: conv1, bn1, layer{1,2,3,4}.{0,1}.{conv,bn}{1,2},
layer{2,3,4}.0.downsample.{0,1}, fc; "shortcut" instead of downsample and "linear" instead of fc will do too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..base.errors import CorruptData, Error
from ..base.values import integer
from .layers import Add, Array, AvgPool, Conv2d, Flatten, Linear, ReLU, fold_batch_norm
from .model import INPUT, Model, Node
from .tensors import check_names, read_tensors

WIDTHS = (64, 128, 256, 512)
"""Channels of the four stages."""
BLOCKS = 2
"""Residual blocks of a stage."""
SIDE = 64
"""Rows and columns of an image, those of Tiny-ImageNet."""
CLASSES = 200
"""Of Tiny-ImageNet."""

_NORM = ("weight", "bias", "running_mean", "running_var")
_ALIASES = (("module.", ""), (".shortcut.", ".downsample."), ("linear.", "fc."))


def convolutions(channels: int) -> Iterator[tuple[str, str, tuple[int, int, int], int]]:
    """(convolution, batch norm behind it, (outputs, inputs, kernel), stride) in order."""
    yield "conv1", "bn1", (WIDTHS[0], channels, 3), 1
    before = WIDTHS[0]
    for stage, width in enumerate(WIDTHS, 1):
        for block in range(BLOCKS):
            at, stride = f"layer{stage}.{block}", 2 if before != width else 1
            yield f"{at}.conv1", f"{at}.bn1", (width, before, 3), stride
            yield f"{at}.conv2", f"{at}.bn2", (width, width, 3), 1
            if stride > 1:
                yield f"{at}.downsample.0", f"{at}.downsample.1", (width, before, 1), stride
            before = width


def random_weights(seed: int = 0, classes: int = CLASSES, channels: int = 3) -> dict[str, Array]:
    """Tensors of a network that was not trained: normal weights of variance 2 / inputs, with the convolutions
    that end blocks at half of that, which keeps the sums of residual blocks bounded.
    """
    rng = np.random.default_rng(integer(seed, "ResNet-18: seed", 0))
    made: dict[str, Array] = {}
    for conv, norm, (outputs, inputs, kernel), _ in convolutions(channels):
        variance = (1 if conv.endswith("conv2") else 2) / (inputs * kernel**2)
        made[f"{conv}.weight"] = rng.normal(0, np.sqrt(variance), (outputs, inputs, kernel, kernel))
        for name, value in zip(_NORM, (1.0, 0.0, 0.0, 1.0), strict=True):
            made[f"{norm}.{name}"] = np.full(outputs, value)
    made["fc.weight"] = rng.normal(0, np.sqrt(1 / WIDTHS[-1]), (classes, WIDTHS[-1]))
    made["fc.bias"] = np.zeros(classes)
    return made


def _plain(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """By the names above."""
    found = {}
    for name, each in tensors.items():
        for other, ours in _ALIASES:
            name = name.replace(other, ours)  # noqa: PLW2901 (one after the other)
        found[name] = each
    return found


def _checked(tensors: Mapping[str, Any], what: str) -> tuple[dict[str, Any], int]:
    """Tensors by their names, all there and of the right shapes; and the channels of an image."""
    found = _plain(tensors)
    first, last = (np.shape(found.get(name, ())) for name in ("conv1.weight", "fc.weight"))
    channels, classes = first[1] if len(first) == 4 else 3, last[0] if len(last) == 2 else CLASSES
    shapes: dict[str, tuple[int, ...]] = {"fc.weight": (classes, WIDTHS[-1]), "fc.bias": (classes,)}
    optional = []
    for conv, norm, (outputs, inputs, kernel), _ in convolutions(channels):
        shapes[f"{conv}.weight"] = (outputs, inputs, kernel, kernel)
        shapes.update({f"{norm}.{each}": (outputs,) for each in _NORM})
        optional.append(f"{norm}.num_batches_tracked")
    check_names(found, shapes, optional, what)
    for name, shape in shapes.items():
        if np.shape(found[name]) != shape:
            raise CorruptData(
                f"{what}: tensor {name!r} has shape {np.shape(found[name])}, expected {shape} for ResNet-18 "
                "on small images"
            )
    return found, channels


def _blocks(layers: Mapping[str, Conv2d], relu: ReLU) -> Iterator[Node]:
    """The residual blocks."""
    x = "relu"
    for stage in range(1, len(WIDTHS) + 1):
        for block in range(BLOCKS):
            at = f"layer{stage}.{block}"
            yield Node(f"{at}.conv1", layers[f"{at}.conv1"], (x,))
            yield Node(f"{at}.relu1", relu, (f"{at}.conv1",))
            yield Node(f"{at}.conv2", layers[f"{at}.conv2"], (f"{at}.relu1",))
            if (short := f"{at}.downsample.0") in layers:
                yield Node(short, layers[short], (x,))
                x = short
            yield Node(f"{at}.add", Add(), (f"{at}.conv2", x))
            x = f"{at}.relu2"
            yield Node(x, relu, (f"{at}.add",))


def resnet18(
    weights: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    metadata: Mapping[str, str] | None = None,
    *,
    classes: int = CLASSES,
    side: int = SIDE,
    alpha: int = 13,
    seed: int = 0,
) -> Model:
    """The network with these weights: a safetensors file, or arrays by name; None: `random_weights`.

    Batch norms are folded into the convolutions before them. Channels of an image and, where there are
    weights, the number of classes follow from them. metadata: of the model (None: those of the file); see
    `Model`. classes, seed: of random weights. side: rows and columns of images, 8 at least. alpha: of the
    ReLUs.
    """
    side = integer(side, "ResNet-18: side", 8)
    kept, what = metadata or {}, "ResNet-18"
    if weights is None:
        tensors: Mapping[str, Any] = random_weights(seed, integer(classes, "ResNet-18: classes", 1))
    elif isinstance(weights, Mapping):
        tensors = weights
    else:
        tensors, found = read_tensors(weights)
        kept = found if metadata is None else metadata
        what = f"{os.fspath(weights)}: ResNet-18"
    named, channels = _checked(tensors, what)
    return _model(named, channels, side, ReLU(alpha), kept, what)


def _model(
    named: Mapping[str, Any], channels: int, side: int, relu: ReLU, metadata: Mapping[str, str], what: str
) -> Model:
    try:
        layers = {}
        for conv, norm, (_, _, kernel), stride in convolutions(channels):
            values = [named[f"{norm}.{each}"] for each in _NORM]
            folded = fold_batch_norm(named[f"{conv}.weight"], None, *values)
            layers[conv] = Conv2d(*folded, stride, kernel // 2)
        last = f"layer{len(WIDTHS)}.{BLOCKS - 1}.relu2"
        nodes = (
            Node("conv1", layers["conv1"], (INPUT,)),
            Node("relu", relu, ("conv1",)),
            *_blocks(layers, relu),
            Node("pool", AvgPool(), (last,)),
            Node("flatten", Flatten(), ("pool",)),
            Node("fc", Linear(named["fc.weight"], named["fc.bias"]), ("flatten",)),
        )
        return Model((channels, side, side), nodes, "fc", metadata)
    except Error as error:
        raise CorruptData(f"{what}: {error}") from None
