# SPDX-License-Identifier: Apache-2.0
"""Networks made ready for encryption: cheaper activations and pooling, ranges, and what that costs on
data."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, integer, kind_of, positive
from ..circuits.polynomial import Polynomial as PolynomialFunction
from .approximation import approximate
from .composites import ELU, Hardswish, MaxPool, Multiply, PiecewiseLinear
from .decision import NONE, Decision, decision_of
from .fine_tuning import FineTune, fine_tuned, is_module
from .from_torch import from_torch
from .layers import Activation, Array, AvgPool, Layer, Polynomial, real_values
from .linear_maps import Affine, Resample, pooling_matrix
from .model import INPUT, Model, Node
from .ranges import Ranges, calibrate

MAX_DEGREE = 63
_GRID = 257  # points of the range that count beside the values of the data
_OFF_DATA = 0.01  # what they weigh together, relative to the data


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A network that is ready to be compiled, and what it costs to compute it encrypted."""

    model: Model
    """With what was replaced"""
    ranges: Ranges
    """Of its activations, on the data"""
    changes: tuple[str, ...]
    """What was replaced, layer by layer"""
    agreement: float | None
    """Share of the data for which the class is that of the original network; None where results stand for no
    class. The class is the largest result, or what the metadata of a model of `from_sklearn` say; of a single
    result without such metadata the sign"""
    error: float
    """Largest difference of a result from that of the original network, by approximations, without noise"""
    accuracy: tuple[float, float] | None
    """Of the original network and of the encrypted one on the labels; None without labels"""

    def __str__(self) -> str:
        lines = [f"{len(self.model.nodes)} layers, {len(self.ranges)} activations with ranges", *self.changes]
        agree = "" if self.agreement is None else f", classes agree on {self.agreement:.2%} of the data"
        lines.append(f"results differ by up to {self.error:.3g}{agree}")
        if self.accuracy is not None:
            lines.append(f"accuracy {self.accuracy[0]:.2%} before, {self.accuracy[1]:.2%} after")
        return "\n".join(lines)


def prepare(
    network: Any,
    data: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    activations: str = "keep",
    degree: int = 7,
    pooling: str = "keep",
    margin: float = 1.5,
    fine_tune: FineTune | None = None,
) -> Prepared:
    """A network with calibrated activations and pooling, and how accurate it is on data when encrypted.

    network: a `Model`, or a torch.nn.Module.
    data: some hundred inputs (batch, *input_shape), like those to come.
    labels: classes of these inputs: those of the estimator for a model of `from_sklearn`, names among them;
        otherwise 0 and up, or 0 and 1 for a network of one result.
    activations: "keep" takes them as they are; "polynomial" replaces each one, but polynomials, by a
        polynomial of `degree` that is fitted by least squares to the values that the activation gets:
        fewer levels, less accurate.
    pooling: "keep", or "average" for means in place of maxima, scaled and shifted such that they are
        nearest to the maxima on the data.
    margin: of the ranges, as for `calibrate`.
    fine_tune: trains a torch module on with what was replaced, coefficients of polynomials included. The
        module itself stays as it is.

    Products of tensors get the balance that data show.

    @throws InvalidArgument for unknown choices, labels that do not fit, or what `from_torch` refuses
    """
    for value, what, known in (
        (activations, "activations", ("keep", "polynomial")),
        (pooling, "pooling", ("keep", "average")),
    ):
        if value not in known:
            raise InvalidArgument(f"prepare: {what} {value!r}, expected {known[0]!r} or {known[1]!r}")
    integer(degree, "prepare: degree", 2, MAX_DEGREE)
    margin = positive(margin, "prepare: margin")
    if fine_tune is not None:
        expect(fine_tune, FineTune, "prepare: fine_tune", "such as halocline.nn.FineTune(epochs=5)")
    inputs = real_values(data, "prepare: data").astype(np.float64)
    if inputs.ndim not in (2, 4) or len(inputs) == 0:
        raise InvalidArgument(f"prepare: data of shape {inputs.shape}, expected (batch, *input_shape)")
    original = _model_of(network, inputs)
    decided, classes = _decision(original, labels, len(inputs))
    changes: list[str] = []
    tuned = original
    if fine_tune is not None:
        if isinstance(network, Model):
            raise WrongType(
                "prepare: fine_tune of a Model; it needs the torch module that the model came from"
            )
        chosen = degree if activations == "polynomial" else None
        tuned, changes = fine_tuned(network, inputs, classes, chosen, pooling == "average", margin, fine_tune)
    made = _Replacing(tuned, activations == "polynomial", degree, pooling == "average", margin)
    model = made.model(inputs)
    ranges = calibrate(model, inputs, margin)
    return _judged(original, model, ranges, inputs, classes, (*changes, *made.changes), decided)


def _model_of(network: Any, inputs: Array) -> Model:
    if isinstance(network, Model):
        return network
    if is_module(network):
        return from_torch(network, inputs.shape[1:])
    raise WrongType(f"prepare: got {kind_of(network)}, expected a halocline.nn.Model or a torch.nn.Module")


def _decision(
    model: Model, labels: npt.ArrayLike | None, count: int
) -> tuple[Decision, npt.NDArray[np.int64] | None]:
    """How results become classes, and the classes of the labels. Where nothing says what results stand for, a
    single one has two classes, by its sign.
    """
    is_open = "scores" not in model.metadata
    decided = decision_of(model.metadata, math.prod(model.output_shape), named=is_open)
    if labels is None:
        return decided, None
    if decided.rule == NONE:
        raise InvalidArgument("prepare: labels, but the results of the network stand for no class")
    return decided, _numbers_of(labels, model.metadata, count)


def _numbers_of(labels: npt.ArrayLike, metadata: Mapping[str, str], count: int) -> npt.NDArray[np.int64]:
    """Labels of `count` inputs as numbers of classes: positions among the classes of an estimator, where the
    metadata have them; whole numbers otherwise.
    """
    array = np.asarray(labels)
    if array.shape != (count,):
        raise InvalidArgument(f"prepare: labels of shape {array.shape}, expected ({count},)")
    known: Sequence[Any] = json.loads(metadata["labels"]) if "labels" in metadata else ()
    if not known:
        if array.dtype.kind not in "biu":
            raise InvalidArgument(
                f"prepare: labels of type {array.dtype}, expected {count} whole numbers: the model names no "
                "classes"
            )
        return array.astype(np.int64)
    places = {name: number for number, name in enumerate(known)}
    found = [places.get(each.item() if hasattr(each, "item") else each) for each in array]
    if None in found:
        other = array[found.index(None)]
        raise InvalidArgument(
            f"prepare: label {str(other)[:40]!r} is no class of the model, which has "
            f"{', '.join(str(each) for each in known[:8])}{', ...' if len(known) > 8 else ''}"
        )
    return np.array(found, dtype=np.int64)


def _judged(
    original: Model,
    model: Model,
    ranges: Ranges,
    inputs: Array,
    labels: npt.NDArray[np.int64] | None,
    changes: Sequence[str],
    decided: Decision,
) -> Prepared:
    """Compares the original network with what the encrypted one computes, without noise."""
    expanded = model.expanded
    functions = {
        node.name: approximate(node.layer, ranges[node.name], node.name, ranges.margin).clear
        for node in expanded.activation_nodes
        if isinstance(node.layer, Activation)
    }
    before, after = original.forward(inputs), expanded.forward(inputs, functions)
    accuracy = agreement = None
    if decided.rule != NONE:
        chosen = [decided(each) for each in (before, after)]
        agreement = float(np.mean(chosen[0] == chosen[1]))
        if labels is not None:
            accuracy = float(np.mean(chosen[0] == labels)), float(np.mean(chosen[1] == labels))
    return Prepared(model, ranges, tuple(changes), agreement, float(np.abs(before - after).max()), accuracy)


class _Replacing:
    """One pass over a network on data: later layers are fitted to what the replaced ones before them give."""

    def __init__(self, model: Model, polynomials: bool, degree: int, means: bool, margin: float) -> None:
        self._model, self._polynomials, self._degree = model, polynomials, degree
        self._means, self._margin = means, margin
        self.changes: list[str] = []

    def model(self, data: Array) -> Model:
        """The network with what is replaced."""
        nodes: list[Node] = []
        last = {name: index for index, node in enumerate(self._model.nodes) for name in node.inputs}
        values = {INPUT: np.asarray(data, dtype=np.float64)}
        for index, node in enumerate(self._model.nodes):
            inputs = [values[name] for name in node.inputs]
            made = self._replaced(node, inputs)
            nodes += made
            for each in made:
                values[each.name] = each.layer.forward(*(values[name] for name in each.inputs))
            for name in set(node.inputs):
                if last[name] == index:
                    del values[name]
        return Model(self._model.input_shape, tuple(nodes), self._model.output, self._model.metadata)

    def _replaced(self, node: Node, inputs: Sequence[Array]) -> list[Node]:
        layer = node.layer
        if isinstance(layer, MaxPool) and self._means:
            return self._mean(node, layer, inputs[0])
        if isinstance(layer, Multiply) and node.inputs[0] != node.inputs[1]:
            return [Node(node.name, _balanced(inputs), node.inputs)]
        replaceable = isinstance(layer, Activation | PiecewiseLinear | ELU | Hardswish)
        if self._polynomials and replaceable and not isinstance(layer, Polynomial):
            return [self._polynomial(node, inputs[0])]
        return [node]

    def _polynomial(self, node: Node, x: Array) -> Node:
        bound = self._margin * float(np.abs(x).max()) or 1.0
        fitted = fitted_polynomial(node.layer.forward, x, bound, self._degree)
        error = float(np.abs(fitted(x) - node.layer.forward(x)).max())
        self.changes.append(
            f"{node.name}: {kind_of(node.layer)} by a polynomial of degree {self._degree} on [-{bound:.3g}, "
            f"{bound:.3g}], off by up to {error:.3g} on the data"
        )
        return Node(node.name, Polynomial(fitted), node.inputs)

    def _mean(self, node: Node, layer: MaxPool, x: Array) -> list[Node]:
        means, wanted = mean_layer(layer, x.shape[1:]), layer.forward(x)
        found = means.forward(x)
        slope, offset = np.polyfit(found.ravel(), wanted.ravel(), 1) if np.ptp(found) > 0 else (1.0, 0.0)
        error = float(np.abs(slope * found + offset - wanted).max())
        self.changes.append(
            f"{node.name}: maxima by {slope:.3g} means {offset:+.3g}, off by up to {error:.3g} on the data"
        )
        mean = f"{node.name}.mean"
        return [Node(mean, means, node.inputs), Node(node.name, Affine(slope, offset), (mean,))]


def _balanced(inputs: Sequence[Array]) -> Multiply:
    sizes = [float(np.abs(each).max()) for each in inputs]
    return Multiply(sizes[0] / sizes[1] if min(sizes) > 0 else 1.0)


def fitted_polynomial(function: Any, x: Array, bound: float, degree: int) -> PolynomialFunction:
    """The least squares fit on values x, and a little on all of [-bound, bound], as a Chebyshev series."""
    grid = np.linspace(-bound, bound, _GRID)
    values: Array = np.ravel(x)
    values = values[:: max(1, len(values) // 100_000)]
    points = np.concatenate([values, grid])
    weights = np.concatenate([np.full(len(values), 1 / len(values)), np.full(_GRID, _OFF_DATA / _GRID)])
    wanted = np.concatenate([np.ravel(function(values)), np.ravel(function(grid))])
    matrix = np.polynomial.chebyshev.chebvander(points / bound, degree)
    root = np.sqrt(weights)
    series, *_ = np.linalg.lstsq(matrix * root[:, np.newaxis], wanted * root, rcond=None)
    return PolynomialFunction(series, "chebyshev", (-bound, bound))


def mean_layer(layer: MaxPool, shape: Sequence[int]) -> Layer:
    """Means of the windows of a maximum pooling; pixels around the image do not count."""
    if layer.kernel is None:
        return AvgPool()
    kernel, stride = layer.window((shape[0], shape[1], shape[2]))
    axes = zip(shape[1:], kernel, stride, layer.around, strict=True)
    made = [pooling_matrix(size, width, step, pad, False, False) for size, width, step, pad in axes]
    return Resample(made[0], made[1])
