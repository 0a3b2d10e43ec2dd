# SPDX-License-Identifier: Apache-2.0
"""Layers that descriptions have since version 2: JSON keys by type, and which of them name tensors."""

from __future__ import annotations

import dataclasses
from typing import Any

from .activations import GELU, Decay, Erf, Mish, Sigmoid, SiLU, Softplus, Softsign, Step, Tanh
from .composites import ELU, Hardswish, Maximum, MaxPool, Multiply, PiecewiseLinear
from .layers import Layer
from .linear_maps import Affine, Expand, Pad, Permute, Resample, Reshape, Slice, Upsample

NOTHING = type(None)

TYPES: dict[str, Any] = {
    "affine": Affine,
    "decay": Decay,
    "elu": ELU,
    "erf": Erf,
    "expand": Expand,
    "gelu": GELU,
    "hardswish": Hardswish,
    "max_pool": MaxPool,
    "maximum": Maximum,
    "mish": Mish,
    "multiply": Multiply,
    "pad": Pad,
    "permute": Permute,
    "piecewise_linear": PiecewiseLinear,
    "resample": Resample,
    "reshape": Reshape,
    "sigmoid": Sigmoid,
    "silu": SiLU,
    "slice": Slice,
    "softplus": Softplus,
    "softsign": Softsign,
    "step": Step,
    "tanh": Tanh,
    "upsample": Upsample,
}
NAMES: dict[type[Layer], str] = {layer: name for name, layer in TYPES.items()}

TENSORS = {
    "affine": ("scale", "shift"),
    "piecewise_linear": ("knots", "changes"),
    "resample": ("rows", "columns"),
}
"""Keys that name tensors; the others are numbers, lists of numbers, texts."""

_KINDS: dict[str, tuple[type, ...]] = {
    "kernel": (int, list, NOTHING),
    "stride": (int, list, NOTHING),
    "padding": (int, list),
    "scale": (int, list),
    "alpha": (int,),
    "precision": (int,),
    "mode": (str,),
    "approximate": (str,),
    "align_corners": (bool,),
}
_FLOATS = ("balance", "beta", "height", "rate", "slope", "offset")
_LISTS = ("shape", "axes", "start", "stop", "step", "before", "behind")


def options(kind: str) -> list[tuple[str, tuple[type, ...], Any]]:
    """Keys of a type, with the JSON types that they may have, and defaults (dataclasses.MISSING for none)."""
    made = []
    for field in dataclasses.fields(TYPES[kind]):
        if field.name in TENSORS.get(kind, ()):
            continue
        known: tuple[type, ...] | None
        known = (float,) if field.name in _FLOATS or (kind == "elu" and field.name == "scale") else None
        known = known or ((list,) if field.name in _LISTS else _KINDS[field.name])
        made.append((field.name, known, field.default))
    return made


def described(layer: Layer) -> tuple[dict[str, Any], dict[str, Any]]:
    """Type and options of a layer, and its tensors."""
    kind = NAMES[type(layer)]
    values: dict[str, Any] = {name: getattr(layer, name) for name, _, _ in options(kind)}
    plain = {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}
    return {"type": kind, **plain}, {name: getattr(layer, name) for name in TENSORS.get(kind, ())}
