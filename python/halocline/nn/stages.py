# SPDX-License-Identifier: Apache-2.0
"""A model as a list of stages: sums of linear maps, each followed by at most one activation.

Linear layers between two activations become one matrix, whatever their number: a convolution, pooling and a
dense layer in a row cost one level. `Add` adds matrices up. Only where the product of two layers would have
too many entries, the first of them becomes a stage of its own.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np

from ..base.errors import InvalidArgument
from .layers import (
    Activation,
    Add,
    Array,
    AvgPool,
    Conv2d,
    Flatten,
    Layer,
    Linear,
    LinearMap,
    Shape,
    Shortcut,
)
from .layout import Layout
from .lowering import MAX_ENTRIES, SparseMatrix, matrix_of
from .model import INPUT, SUPPORTED, Model, Node
from .tensor_layout import TensorLayout
from .tensor_map import Convolution, Piece


class Expression(ABC):
    """A matrix that is made when it is asked for."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Values that it gives."""

    @property
    @abstractmethod
    def entries(self) -> float:
        """About how many it has."""

    @abstractmethod
    def matrix(self) -> SparseMatrix:
        """The matrix."""

    def pieces(self, factor: float) -> Iterator[Piece]:
        """What adds up to the matrix times a number; convolutions as such, which are smaller."""
        yield self.matrix().scaled(factor)

    def largest(self) -> Array:
        """Bound of each result where all inputs lie in [-1, 1]."""
        matrix = self.matrix()
        sums = np.bincount(matrix.row, weights=np.abs(matrix.value), minlength=matrix.rows)
        return np.asarray(sums, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Identity(Expression):
    """Leaves its input as it is."""

    size: int

    @property
    def rows(self) -> int:
        """As many as it takes."""
        return self.size

    @property
    def entries(self) -> float:
        """One for each value."""
        return self.size

    def matrix(self) -> SparseMatrix:
        """The unit matrix."""
        return SparseMatrix.identity(self.size)


@dataclasses.dataclass(frozen=True, eq=False)
class Leaf(Expression):
    """A layer."""

    layer: Layer
    shape: Shape
    """Of its input."""

    @property
    def rows(self) -> int:
        """Values of its output."""
        return int(np.prod(self.layer.output_shape([self.shape])))

    @property
    def entries(self) -> float:
        """At most."""
        if isinstance(self.layer, Conv2d):
            positions = self.rows // len(self.layer.weight)
            return float(np.count_nonzero(self.layer.weight)) * positions
        if isinstance(self.layer, Linear):
            return float(self.layer.weight.size)
        if isinstance(self.layer, AvgPool):
            height, width, _ = self.layer.window(self.shape)
            return float(self.rows * height * width)
        if isinstance(self.layer, LinearMap):
            return float(len(self.layer.triplets(self.shape)[0]))
        return float(self.rows)

    def matrix(self) -> SparseMatrix:
        """Of the layer without its bias."""
        return matrix_of(self.layer, self.shape)

    def pieces(self, factor: float) -> Iterator[Piece]:
        """One."""
        if isinstance(self.layer, Conv2d):
            yield Convolution(self.layer, self.shape, factor)
        else:
            yield from super().pieces(factor)

    def largest(self) -> Array:
        """Of large convolutions for pixels with all neighbours."""
        if isinstance(self.layer, Conv2d) and self.entries > MAX_ENTRIES:
            sums = np.abs(self.layer.weight).sum(axis=(1, 2, 3))
            return np.repeat(sums, self.rows // len(sums))
        return super().largest()


@dataclasses.dataclass(frozen=True, eq=False)
class Product(Expression):
    """One after the other."""

    after: Expression
    before: Expression

    @property
    def rows(self) -> int:
        """Those of the later one."""
        return self.after.rows

    @property
    def entries(self) -> float:
        """With as many for each row of the earlier one as it has on average."""
        return self.after.entries * self.before.entries / self.before.rows

    def matrix(self) -> SparseMatrix:
        """The product."""
        return self.after.matrix().after(self.before.matrix())


@dataclasses.dataclass(frozen=True, eq=False)
class Sum(Expression):
    """Both added up."""

    first: Expression
    second: Expression

    @property
    def rows(self) -> int:
        """Those of both."""
        return self.first.rows

    @property
    def entries(self) -> float:
        """Of both together."""
        return self.first.entries + self.second.entries

    def matrix(self) -> SparseMatrix:
        """The sum."""
        return self.first.matrix() + self.second.matrix()

    def pieces(self, factor: float) -> Iterator[Piece]:
        """Those of both."""
        yield from self.first.pieces(factor)
        yield from self.second.pieces(factor)

    def largest(self) -> Array:
        """At most, where convolutions are large."""
        if self.entries > MAX_ENTRIES:
            return self.first.largest() + self.second.largest()
        return super().largest()


@dataclasses.dataclass(frozen=True, eq=False)
class Stage:
    """value = activation(sum over sources of matrix @ source + constant)."""

    name: str
    """Of the activation; of the last layer where there is none."""
    linear: str
    """Name of the last linear layer, for phases."""
    activation: Activation | None
    terms: Mapping[str, Expression]
    """By the names of the stages, or `INPUT`, that are taken."""
    constant: Array
    """Flattened: what biases add."""
    layout: TensorLayout


def stages_of(model: Model, slots: int, images: int = 1) -> list[Stage]:
    """The stages of a model for ciphertexts of at most `slots` slots, the last one its output.

    images: that are evaluated at once; as many of them share a ciphertext as fit.

    Layers whose weights are all 0 add nothing to a sum, and what leads only to them is left out.

    @throws InvalidArgument that names the layer that does not fit
    """
    layouts = tensor_layouts(model, slots, images)
    return _Builder(model, layouts).build()


class _Builder:
    """Goes through the layers and records each one as matrices of the values before it."""

    def __init__(self, model: Model, layouts: Mapping[str, TensorLayout]) -> None:
        self._model, self._layouts = model, dict(layouts)
        self._terms: dict[str, dict[str, Expression]] = {}
        self._constants: dict[str, Array] = {}
        self._stages: list[Stage] = []
        self._become_value(INPUT)

    def build(self) -> list[Stage]:
        for node in self._model.nodes:
            if isinstance(node.layer, Activation):
                self._finish(node.name, node.inputs[0], node.layer)
            else:
                self._linear(node)
        output = self._model.output
        if not self._stages or self._stages[-1].name != output:
            self._finish(output, output, None)
        return self._used()

    def _used(self) -> list[Stage]:
        """The stages that lead to the output."""
        used, kept = {self._model.output}, []
        for stage in reversed(self._stages):
            if stage.name in used:
                used.update(stage.terms)
                kept.append(stage)
        return kept[::-1]

    def _linear(self, node: Node) -> None:
        if not isinstance(node.layer, Add):
            self._split_if_large(node)
        arrays = [self._constants[name].reshape(1, *self._model.shapes[name]) for name in node.inputs]
        self._constants[node.name] = node.layer.forward(*arrays)[0].ravel()
        terms: dict[str, Expression] = {}
        for name in () if _is_zero(node.layer, self._model.shapes[node.inputs[0]]) else node.inputs:
            for source, before in self._terms[name].items():
                made = before if isinstance(node.layer, Add) else self._after(node, before)
                terms[source] = Sum(terms[source], made) if source in terms else made
        self._terms[node.name] = terms

    def _after(self, node: Node, before: Expression) -> Expression:
        shape = self._model.shapes[node.inputs[0]]
        if isinstance(node.layer, Flatten):
            return before
        if not isinstance(node.layer, Conv2d | Linear | AvgPool | Shortcut | LinearMap):
            raise InvalidArgument(
                f"layer {node.name!r}: {type(node.layer).__name__}; supported are {SUPPORTED}"
            )
        layer = Leaf(node.layer, shape)
        return layer if isinstance(before, Identity) else Product(layer, before)

    def _split_if_large(self, node: Node) -> None:
        """Makes a stage of the layer before where both together would have too many entries."""
        (name,) = node.inputs
        for before in self._terms[name].values():
            if not isinstance(before, Identity) and self._after(node, before).entries > MAX_ENTRIES:
                self._finish(name, name, None)
                return

    def _finish(self, name: str, linear: str, activation: Activation | None) -> None:
        layout = self._layouts[name]
        if not self._terms[linear]:
            raise InvalidArgument(
                f"layer {linear!r}: does not depend on the input, because weights are 0 or meet nothing but "
                "padding; leave out what has no effect"
            )
        if activation is None:
            # Collecting more images in a ciphertext takes more diagonals and saves no activation.
            batch = max(self._layouts[source].batch for source in self._terms[linear])
            layout = TensorLayout.within(layout.image, layout.slots, min(batch, layout.batch))
            self._layouts[name] = layout
        self._stages.append(
            Stage(name, linear, activation, self._terms[linear], self._constants[linear], layout)
        )
        self._become_value(name)

    def _become_value(self, name: str) -> None:
        size = int(np.prod(self._model.shapes[name]))
        self._terms[name] = {name: Identity(size)}
        self._constants[name] = np.zeros(size)


def _is_zero(layer: Layer, shape: Shape) -> bool:
    """Whether a layer gives its bias, whatever its input of that shape is."""
    if isinstance(layer, Linear):
        return not layer.weight.any()
    if isinstance(layer, LinearMap):
        return not layer.triplets(shape)[2].any()
    if not isinstance(layer, Conv2d):
        return False
    _, down, across = layer.output_shape([shape])
    met = []  # for each row, and each column, of the kernel: whether it is ever on the image
    axes = zip(
        layer.kernel, (down, across), shape[1:], layer.strides, layer.dilations, layer.pads, strict=True
    )
    for kernel, windows, size, stride, dilation, around in axes:
        at = stride * np.arange(windows) + dilation * np.arange(kernel)[:, None] - around[0]
        met.append(((at >= 0) & (at < size)).any(axis=1))
    return not layer.weight[:, :, met[0]][:, :, :, met[1]].any()


def tensor_layouts(model: Model, slots: int, images: int = 1) -> dict[str, TensorLayout]:
    """Where the values of the input and of each layer are, in ciphertexts of at most `slots` slots.

    @throws InvalidArgument that names a layer of which not even the channels that share a block fit in one
    """
    made = {}
    for name, image in _layouts(model, slots).items():
        if image.block > slots:
            raise InvalidArgument(
                f"layer {name!r}: each of {image.channels} channels of {image.rows} x {image.columns} needs "
                f"{image.block} slots, a ciphertext has {slots}; take larger parameters, or fewer pixels"
            )
        made[name] = TensorLayout.within(image, slots, images)
    return made


def _layouts(model: Model, slots: int) -> dict[str, Layout]:
    """Those of single images, as if ciphertexts had any number of slots; strides widen gaps, and channels
    fill them.
    """
    layouts = {INPUT: _input_layout(model, slots)}
    for node in model.nodes:
        shape = model.shapes[node.name]
        before = min((layouts[name] for name in node.inputs), key=lambda each: each.slots)
        stride = _stride(node.layer, model.shapes[node.inputs[0]])
        if isinstance(node.layer, Activation | Add):
            layouts[node.name] = before
        elif len(shape) == 1 or shape[1] * shape[2] == 1:
            layouts[node.name] = Layout.of(shape)
        else:
            layouts[node.name] = before.strided(stride, shape)
    return layouts


def _input_layout(model: Model, slots: int) -> Layout:
    """With room for all strides, unless the input needs several ciphertexts only because of that."""
    roomy, dense = Layout.of(model.input_shape, _largest_gap(model)), Layout.of(model.input_shape)
    return dense if dense.slots <= slots < roomy.slots else roomy


def _stride(layer: Layer, shape: Shape) -> int:
    if isinstance(layer, Conv2d):
        return min(layer.strides)
    if isinstance(layer, LinearMap):
        return min(layer.steps)
    if isinstance(layer, Shortcut):
        return layer.stride
    return layer.window(shape)[2] if isinstance(layer, AvgPool) else 1


def _largest_gap(model: Model) -> int:
    """Product of the strides before the last layer that has more than one pixel."""
    gaps = {INPUT: 1}
    for node in model.nodes:
        shape = model.shapes[node.name]
        pixels = shape[1] * shape[2] if len(shape) == 3 else 1
        stride = _stride(node.layer, model.shapes[node.inputs[0]]) if pixels > 1 else 1
        gaps[node.name] = max(gaps[name] for name in node.inputs) * stride
    return max(gaps.values())
