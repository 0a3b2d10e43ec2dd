# SPDX-License-Identifier: Apache-2.0
"""Layers for the modules of torch.nn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .activations import GELU, Mish, Sigmoid, SiLU, Softplus, Softsign, Tanh
from .composites import Hardswish
from .graph_builder import Value, only
from .layers import Conv2d, Linear, ReLU, fold_batch_norm
from .linear_maps import Affine
from .torch_builder import TorchBuilder, around, array, sizes

Import = Callable[[TorchBuilder, Any, Value], Value]

SELU_HEIGHT, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""Klambauer et al. (2017), section 2."""


def module_table(nn: Any) -> dict[type, Import]:
    """How each class is imported."""
    table: dict[type, Import] = {
        nn.Conv2d: _conv2d,
        nn.Linear: lambda b, m, x: b.matrix(x, array(m.weight), _bias(m)),
        nn.BatchNorm1d: _batch_norm,
        nn.BatchNorm2d: _batch_norm,
        nn.AvgPool2d: _avg_pool,
        nn.MaxPool2d: _max_pool,
        nn.AdaptiveAvgPool2d: lambda b, m, x: b.adaptive(x, output_size(b, x, m.output_size)),
        nn.AdaptiveMaxPool2d: lambda b, m, x: b.adaptive(x, output_size(b, x, m.output_size), True),
        nn.Flatten: lambda b, m, x: flattened(b, x, m.start_dim, m.end_dim),
        nn.Unflatten: _unflatten,
        nn.Upsample: lambda b, m, x: resized(b, x, m.size, m.scale_factor, m.mode, bool(m.align_corners)),
        nn.UpsamplingNearest2d: lambda b, m, x: resized(b, x, m.size, m.scale_factor, "nearest", False),
        nn.UpsamplingBilinear2d: lambda b, m, x: resized(b, x, m.size, m.scale_factor, "bilinear", True),
        nn.ZeroPad2d: lambda b, m, x: padded(b, x, m.padding),
        nn.ReflectionPad2d: lambda b, m, x: padded(b, x, m.padding, "reflect"),
        nn.ReplicationPad2d: lambda b, m, x: padded(b, x, m.padding, "replicate"),
    }
    for kind in (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout):
        table[kind] = lambda b, m, x: x
    return table | _activations(nn)


def _activations(nn: Any) -> dict[type, Import]:
    """Functions of each value; in place where the module says so."""
    table: dict[type, Import] = {
        nn.ReLU: lambda b, m, x: b.add(ReLU(b.alpha), x),
        nn.ReLU6: lambda b, m, x: b.clip(x, 0.0, 6.0),
        nn.LeakyReLU: lambda b, m, x: b.leaky(x, float(m.negative_slope)),
        nn.PReLU: _prelu,
        nn.Hardtanh: lambda b, m, x: b.clip(x, float(m.min_val), float(m.max_val)),
        nn.Hardsigmoid: lambda b, m, x: hardsigmoid(b, x),
        nn.Hardswish: lambda b, m, x: b.add(Hardswish(b.alpha), x),
        nn.ELU: lambda b, m, x: b.elu(x, float(m.alpha)),
        nn.CELU: lambda b, m, x: b.elu(x, float(m.alpha), 1 / float(m.alpha)),
        nn.SELU: lambda b, m, x: b.elu(x, SELU_HEIGHT, 1.0, SELU_SCALE),
        nn.Sigmoid: lambda b, m, x: b.add(Sigmoid(precision=b.precision), x),
        nn.Tanh: lambda b, m, x: b.add(Tanh(precision=b.precision), x),
        nn.GELU: lambda b, m, x: b.add(GELU(m.approximate, precision=b.precision), x),
        nn.SiLU: lambda b, m, x: b.add(SiLU(precision=b.precision), x),
        nn.Mish: lambda b, m, x: b.add(Mish(precision=b.precision), x),
        nn.Softplus: lambda b, m, x: b.add(Softplus(float(m.beta), precision=b.precision), x),
        nn.Softsign: lambda b, m, x: b.add(Softsign(precision=b.precision), x),
    }

    def maybe_in_place(make: Import) -> Import:
        def made(b: TorchBuilder, m: Any, x: Value) -> Value:
            result = make(b, m, x)
            return b.in_place(x, result) if getattr(m, "inplace", False) else result  # type: ignore[no-any-return]

        return made

    return {kind: maybe_in_place(make) for kind, make in table.items()}


def _bias(module: Any) -> Any:
    return None if module.bias is None else array(module.bias)


def _conv2d(b: TorchBuilder, module: Any, x: Value) -> Value:
    weight, bias = array(module.weight), _bias(module)
    stride, dilation = sizes(module.stride, "stride"), sizes(module.dilation, "dilation")
    if isinstance(module.padding, str):
        total = [d * (size - 1) for d, size in zip(dilation, module.kernel_size, strict=True)]
        total = total if module.padding == "same" else [0, 0]
        padding = tuple(part for each in total for part in (each // 2, each - each // 2))
    else:
        rows, columns = sizes(module.padding, "padding", 0)
        padding = (rows, rows, columns, columns)
    if module.padding_mode != "zeros" and any(padding):
        left_first = (padding[2], padding[3], padding[0], padding[1])
        x, padding = padded(b, x, left_first, module.padding_mode), (0, 0, 0, 0)
    return b.convolution(x, weight, bias, stride, padding, dilation, module.groups)


def padded(b: TorchBuilder, x: Value, pad: Any, mode: str = "constant", value: Any = None) -> Value:
    """As torch.nn.functional.pad: pairs of numbers, the last axis first."""
    only(value in (None, 0), f"padding with {value}; supported are zeros")
    modes = {"constant": "constant", "zeros": "constant", "replicate": "edge", "reflect": "reflect"}
    only(mode in modes, f"padding_mode={mode!r}; supported are 'zeros', 'replicate' and 'reflect'")
    count = len(b.shape_of(x))
    numbers = [pad] * 4 if isinstance(pad, int) else list(pad)
    only(
        len(numbers) % 2 == 0 and len(numbers) <= 2 * count,
        f"padding {pad} of values of shape {b.shape_of(x)}",
    )
    numbers += [0] * (2 * count - len(numbers))
    return b.pad(x, numbers[-2::-2], numbers[-1::-2], modes[mode])


def _batch_norm(b: TorchBuilder, module: Any, x: Value) -> Value:
    only(module.running_mean is not None, "no running statistics; supported with track_running_stats=True")
    mean, variance = array(module.running_mean), array(module.running_var)
    gamma = np.ones_like(mean) if module.weight is None else array(module.weight)
    beta = np.zeros_like(mean) if module.bias is None else array(module.bias)
    norm = (gamma, beta, mean, variance, module.eps)
    before = b.layer_of(x)
    if isinstance(before, Conv2d) and b.is_last_use(x):
        folded = fold_batch_norm(before.weight, before.bias, *norm)
        return b.replace(x, Conv2d(*folded, before.stride, before.padding, before.dilation, before.groups))
    if isinstance(before, Linear) and b.is_last_use(x):
        return b.replace(x, Linear(*fold_batch_norm(before.weight, before.bias, *norm)))
    scale, shift = fold_batch_norm(np.ones(len(mean)), None, *norm)
    ones = (1,) * (len(b.shape_of(x)) - 1)
    return b.add(Affine(scale.reshape(-1, *ones), shift.reshape(-1, *ones)), x)


def _avg_pool(b: TorchBuilder, m: Any, x: Value) -> Value:
    return averaged(
        b, x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
    )


def averaged(
    b: TorchBuilder,
    x: Value,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Value:
    """As torch.nn.functional.avg_pool2d."""
    only(divisor_override is None, "divisor_override; supported is pooling without it")
    kernel = sizes(kernel_size, "kernel_size")
    step = kernel if stride in (None, ()) else sizes(stride, "stride")
    return b.average(x, kernel, step, around(padding, "padding"), ceil_mode, count_include_pad)


def _max_pool(b: TorchBuilder, m: Any, x: Value) -> Value:
    return maxima(b, x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices)


def maxima(
    b: TorchBuilder,
    x: Value,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Value:
    """As torch.nn.functional.max_pool2d."""
    only(sizes(dilation, "dilation") == (1, 1), f"dilation={dilation}; supported is 1")
    only(not return_indices, "return_indices; supported are the maxima alone")
    kernel = sizes(kernel_size, "kernel_size")
    step = kernel if stride in (None, ()) else sizes(stride, "stride")
    return b.largest(x, kernel, step, around(padding, "padding"), ceil_mode)


def output_size(b: TorchBuilder, x: Value, wanted: Any) -> tuple[int, int]:
    """Rows and columns; None for those that there are."""
    numbers = wanted if isinstance(wanted, tuple | list) else (wanted, wanted)
    return sizes(
        tuple(n if w is None else w for w, n in zip(numbers, b.image(x)[1:], strict=True)), "output_size"
    )


def flattened(b: TorchBuilder, x: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """Everything but the batch."""
    last = len(b.shape_of(x))
    only(start_dim == 1 and end_dim in (-1, last), "supported is everything but the batch: flatten(1)")
    return b.flatten(x)


def _unflatten(b: TorchBuilder, m: Any, x: Value) -> Value:
    only(m.dim in (1, -1) and len(b.shape_of(x)) == 1, f"dim={m.dim}; supported is the axis of features")
    return b.reshape(x, m.unflattened_size)


def resized(
    b: TorchBuilder, x: Value, size: Any, scale: Any, mode: str, align_corners: bool = False
) -> Value:
    """As torch.nn.functional.interpolate."""
    shape = b.image(x)
    if size is None:
        scales = scale if isinstance(scale, tuple | list) else (scale, scale)
        wanted = [n * float(each) for n, each in zip(shape[1:], scales, strict=True)]
        only(all(each == int(each) for each in wanted), f"scale_factor {scale}; supported are whole pixels")
        size = tuple(int(each) for each in wanted)
    return b.resize(x, sizes(size, "size"), mode, align_corners)


def _prelu(b: TorchBuilder, m: Any, x: Value) -> Value:
    slopes = array(m.weight)
    only(len(slopes) == 1, f"{len(slopes)} slopes; supported is one: PReLU()")
    return b.leaky(x, float(slopes[0]))


def hardsigmoid(b: TorchBuilder, x: Value) -> Value:
    """min(max(x + 3, 0), 6) / 6"""
    return b.corners(x, [-3.0, 3.0], [1 / 6, -1 / 6])
