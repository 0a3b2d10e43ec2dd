# SPDX-License-Identifier: Apache-2.0
"""Bounds of what activations get: found on samples, kept with the model, checked for each input.

Encrypted activations are polynomials that hold on an interval. What lies outside gives wrong results without
any sign of it on the server, so the client, who has the input in the clear, checks before it encrypts.
"""

from __future__ import annotations

import dataclasses
import os
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import ActivationRange, CorruptData, Error, InvalidArgument, WrongType
from ..base.files import parse_json
from ..base.values import expect, kind_of, path_text, positive
from .description import read_json, write_json
from .layers import Array, real_array, real_values
from .model import MAX_NODES, Model, Node
from .tensors import names_text

FORMAT = "halocline-ranges"
VERSION = 1

_CHUNK = 32  # samples in memory at a time
# An activation that is nearly always zero would be magnified, and its noise with it: that of the activations
# before it, and that of the input, which layers may scale down. Activations behind it may be far larger.
_SMALLEST = 2.0**-10
_SMALLEST_OF_INPUT = 2.0**-20


@dataclasses.dataclass(frozen=True)
class Ranges(Mapping[str, float]):
    """Bound B of each activation, by the name of its layer: inputs lie in [-B, B].

    margin: by how much the bounds exceed what was found; provenance: text by text, on which samples.
    input_range: smallest and largest value that inputs of the network may have, so widened too; None where
    that is unknown.
    """

    bounds: Mapping[str, float]
    margin: float = 1.0
    provenance: Mapping[str, str] = dataclasses.field(default_factory=dict)
    input_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for what, value in (("bounds", self.bounds), ("provenance", self.provenance)):
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise WrongType(f"ranges: {what} is {kind_of(value)}, expected values by name")
        if len(self.bounds) > MAX_NODES:
            raise InvalidArgument(f"ranges: {len(self.bounds)} bounds, expected at most {MAX_NODES}")
        for key, text in self.provenance.items():
            expect(text, str, f"ranges: provenance {key!r}")
        bounds = {name: positive(each, f"ranges: bound of {name!r}") for name, each in self.bounds.items()}
        object.__setattr__(self, "bounds", types.MappingProxyType(bounds))
        object.__setattr__(self, "margin", positive(self.margin, "ranges: margin"))
        object.__setattr__(self, "provenance", types.MappingProxyType(dict(self.provenance)))
        object.__setattr__(self, "input_range", _interval(self.input_range))

    def __reduce__(self) -> tuple[Any, ...]:
        return Ranges, (dict(self.bounds), self.margin, dict(self.provenance), self.input_range)

    def __getitem__(self, name: str) -> float:
        return self.bounds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)

    def expect_for(self, model: Model) -> Ranges:
        """These ranges, if there is one for every activation of the model and no other."""
        names = {node.name for node in model.expanded.activation_nodes}
        for what, wrong in (
            ("no bound for", names - set(self)),
            ("bounds for no activation", set(self) - names),
        ):
            if wrong:
                raise InvalidArgument(
                    f"ranges: {what} {names_text(wrong)}; "
                    "make them with halocline.nn.calibrate(model, samples)"
                )
        return self

    def to_json(self) -> dict[str, Any]:
        """An object for JSON."""
        fields: dict[str, Any] = {
            "margin": self.margin,
            "provenance": dict(self.provenance),
            "bounds": dict(self.bounds),
        }
        if self.input_range is not None:
            fields["input_range"] = list(self.input_range)
        return {"format": FORMAT, "version": VERSION, **fields}

    @classmethod
    def from_json(cls, data: Any) -> Ranges:
        """Ranges of what `to_json` made, as an object or as text; CorruptData for anything else."""
        data = parse_json(data, "ranges") if isinstance(data, str | bytes) else data
        expected = {"format", "version", "margin", "provenance", "bounds"}
        if not isinstance(data, dict) or set(data) - {"input_range"} != expected:
            raise CorruptData(f"ranges: expected an object with the keys {', '.join(sorted(expected))}")
        if (data["format"], data["version"]) != (FORMAT, VERSION):
            raise CorruptData(
                f"ranges: format {data['format']!r:.60}, expected {FORMAT!r}, version {VERSION}"
            )
        try:
            return cls(data["bounds"], data["margin"], data["provenance"], data.get("input_range"))
        except Error as error:
            raise CorruptData(str(error)) from None

    @classmethod
    def stored_in(cls, model: Model) -> Ranges | None:
        """Those that a model's metadata carry; None where they carry none.

        "ranges" is an object with the bound of each activation, "ranges_margin" the margin in it.
        @throws CorruptData for anything else: metadata come from files of weights
        """
        texts = {name: model.metadata.get(name) for name in ("ranges", "ranges_margin")}
        if texts["ranges"] is None:
            return None
        what = "metadata of the weights: ranges"
        bounds = parse_json(texts["ranges"], what)
        margin = 1.0 if texts["ranges_margin"] is None else parse_json(texts["ranges_margin"], what)
        try:
            return cls(bounds, margin, {"source": "metadata of the weights"}).expect_for(model)
        except Error as error:
            raise CorruptData(f"{what}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file."""
        write_json(self.to_json(), path, "ranges")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ranges:
        """Reads what `save` wrote."""
        try:
            return cls.from_json(read_json(path, "ranges"))
        except CorruptData as error:
            raise CorruptData(f"{path_text(path, 'ranges')}: {error}") from None


def _interval(given: Any) -> tuple[float, float] | None:
    """Two finite numbers in order, or None."""
    if given is None:
        return None
    made = real_array(given, 1, "ranges: input_range")
    if made.shape != (2,) or made[0] > made[1]:
        raise InvalidArgument(
            f"ranges: input_range {given!r:.60}, expected the smallest and the largest value of an input"
        )
    return float(made[0]), float(made[1])


class Exceeded(NamedTuple):
    """An activation that a sample drives out of its range."""

    layer: str
    """Name of the activation."""
    found: float
    """Largest absolute value"""
    bound: float
    """What it was calibrated for."""


def largest_inputs(model: Model, samples: Any) -> dict[str, float]:
    """Largest absolute value that each activation of the network gets for inputs (batch, *input_shape)."""
    model = expect(model, Model, "ranges: model").expanded
    nodes = model.activation_nodes
    samples = real_values(samples, "ranges: samples")
    if samples.ndim == 0 or len(samples) == 0:
        raise InvalidArgument(f"ranges: samples of shape {samples.shape}, expected at least one input")
    found = {node.name: 0.0 for node in nodes}

    def noting(node: Node) -> Callable[[Array], Array]:
        def activation(x: Array) -> Array:
            found[node.name] = max(found[node.name], float(np.abs(x).max()))
            return node.layer.forward(x)

        return activation

    for first in range(0, len(samples), _CHUNK):
        model.forward(samples[first : first + _CHUNK], {node.name: noting(node) for node in nodes})
    return found


def calibrate(
    model: Model, samples: Any, margin: float = 1.5, provenance: Mapping[str, str] | None = None
) -> Ranges:
    """Ranges of `margin` times what the activations get on samples: inputs as `Model.forward` takes them.

    Take some hundred inputs that are like those to come. A larger margin costs precision, a smaller one
    warnings. The range of the inputs is that of the samples, `margin` times as wide.
    """
    margin = positive(margin, "calibrate: margin")
    if margin < 1:
        raise InvalidArgument(f"calibrate: margin {margin}, expected at least 1")
    found = largest_inputs(model, samples)
    values = real_values(samples, "ranges: samples").astype(np.float64)
    low, high = float(values.min()), float(values.max())
    nothing = max(found.values(), default=0.0) * _SMALLEST or 1.0  # where all was 0
    bounds, least = {}, max(-low, high) * _SMALLEST_OF_INPUT
    for name, each in found.items():  # in the order of the network
        least = max(least, each * _SMALLEST)
        bounds[name] = margin * (max(each, least) or nothing)
    slack = (margin - 1) / 2 * (high - low)
    named = {"samples": str(len(samples)), **(provenance or {})}
    return Ranges(bounds, margin, named, (low - slack, high + slack))


def check(model: Model, ranges: Ranges, samples: Any) -> list[Exceeded]:
    """Activations that one input, or a batch of them, drives out of range: the largest excess first.

    Warns of them (`ActivationRange`). For the client: it needs the input in the clear.
    """
    expect(ranges, Ranges, "check: ranges").expect_for(expect(model, Model, "check: model"))
    array = real_values(samples, "check")
    batch = array[np.newaxis] if array.shape == model.input_shape else array
    largest = largest_inputs(model, batch)
    found = [Exceeded(name, each, ranges[name]) for name, each in largest.items() if each > ranges[name]]
    found.sort(key=lambda each: each.bound / each.found)
    if found:
        layers = ", ".join(f"{each.layer} ({each.found:.3g}, bound {each.bound:.3g})" for each in found)
        warnings.warn(
            f"activations outside their calibrated range: {layers}. Encrypted results for this input may be "
            "wrong: calibrate with inputs like this one, or with a larger margin",
            ActivationRange,
            stacklevel=2,
        )
    return found
