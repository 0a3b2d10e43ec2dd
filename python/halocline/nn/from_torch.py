# SPDX-License-Identifier: Apache-2.0
"""Models from PyTorch modules, by symbolic tracing (torch.fx). PyTorch is imported only when it is needed."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import Error, InvalidArgument, MissingExtra, WrongType
from ..base.extras import install
from ..base.values import expect, integer, kind_of
from ..circuits.polynomial import Polynomial as PolynomialFunction
from .layers import (
    Add,
    AvgPool,
    Conv2d,
    Flatten,
    Layer,
    Linear,
    Polynomial,
    ReLU,
    Shape,
    Shortcut,
    fold_batch_norm,
)
from .model import INPUT, Model, Node, checked_shape

SUPPORTED = (
    "Conv2d, Linear, BatchNorm1d, BatchNorm2d, ReLU, AvgPool2d, AdaptiveAvgPool2d, Flatten, Identity, "
    "Dropout; sums, squares and powers, means over all pixels, flattening by view, and shortcuts of strided "
    "slices padded with zero channels. Other activations: replace them by polynomials with custom={Class: "
    "function}"
)

MakeLayer = Callable[[Any], Layer]


class TorchNotInstalled(MissingExtra):
    """PyTorch is needed for an import and is not installed."""


class _Unsupported(Exception):
    """Why a module or function cannot be imported."""


class _Value:
    """A tensor of the traced network: the layer that makes it."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Batch:
    """The size of the batch, which no layer may depend on."""


def from_torch(
    module: Any,
    input_shape: Sequence[int],
    *,
    metadata: Mapping[str, str] | None = None,
    custom: Mapping[type, MakeLayer] | None = None,
    alpha: int = 13,
) -> Model:
    """The model that a torch.nn.Module computes in evaluation mode for inputs (batch, *input_shape).

    Batch norms become part of the convolution or matrix before them, or a 1 x 1 convolution where there is
    none. custom: for classes of modules, functions that make a layer of a module, such as
    {MyActivation: lambda m: nn.Polynomial(hc.Polynomial(m.coefficients))}. alpha: precision of ReLU.
    Modules must not branch on values.
    """
    try:
        import torch.fx
    except ImportError as error:
        raise TorchNotInstalled(
            f"from_torch: PyTorch cannot be imported ({error}); {install('torch')}"
        ) from None
    expect(module, torch.nn.Module, "from_torch")
    shape = checked_shape(input_shape)
    leaves: dict[type, MakeLayer] = dict(custom or {})
    network = copy.deepcopy(module).eval()

    class Tracer(torch.fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            known = isinstance(m, tuple(leaves)) or super().is_leaf_module(m, module_qualified_name)
            return bool(known)

    tracer = Tracer()
    if tracer.is_leaf_module(network, ""):  # a single layer, which tracing would look into
        network = torch.nn.Sequential(network)
    try:
        graph = tracer.trace(network)
    except Exception as error:  # whatever the module's own code raises
        raise InvalidArgument(
            f"from_torch: {kind_of(module)} cannot be traced ({error}); which layers run must not "
            "depend on values"
        ) from None
    return _Import(torch, network, shape, leaves, alpha).model(graph, metadata or {})


def _array(tensor: Any) -> Any:
    return tensor.detach().cpu().double().numpy()


def _one(value: Any, what: str) -> int:
    """A number that may be given for rows and columns."""
    values = set(value) if isinstance(value, tuple | list) else {value}
    if len(values) != 1 or not all(isinstance(each, int) for each in values):
        raise _Unsupported(f"{what} {value!r}; supported is one whole number for rows and columns")
    return int(values.pop())


def _only(condition: bool, what: str) -> None:
    if not condition:
        raise _Unsupported(what)


class _Import:
    """One pass over a traced graph."""

    def __init__(
        self, torch: Any, network: Any, shape: Shape, custom: Mapping[type, MakeLayer], alpha: int
    ) -> None:
        self._modules = dict(network.named_modules())
        self._shape, self._custom, self._alpha = shape, custom, alpha
        self._nodes: dict[str, Node] = {}
        self._shapes: dict[str, Shape] = {INPUT: shape}
        self._values: dict[Any, Any] = {}
        self._made_by: dict[str, Any] = {}  # the graph's node that a layer was made for
        self._now: Any = None
        self._of_module = self._module_table(torch.nn)
        self._of_function = self._function_table(torch)

    def model(self, graph: Any, metadata: Mapping[str, str]) -> Model:
        """The model of the graph."""
        for node in graph.nodes:
            self._now = node
            try:
                self._values[node] = self._step(node)
            except (_Unsupported, Error) as error:
                raise InvalidArgument(
                    f"from_torch: {self._title(node)}: {error}. Supported are {SUPPORTED}"
                ) from None
        output = self._values[next(node for node in graph.nodes if node.op == "output")]
        used, nodes = {output.name}, []
        for made in reversed(self._nodes.values()):
            if made.name in used:  # others compute what the output does not need
                used.update(made.inputs)
                nodes.append(made)
        return Model(self._shape, tuple(reversed(nodes)), output.name, metadata)

    def _title(self, node: Any) -> str:
        if node.op == "call_module":
            return f"module {node.target!r} ({kind_of(self._modules[node.target])})"
        target = (
            node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target)
        )
        return f"{target!s} ({node.name})"

    def _step(self, node: Any) -> Any:
        """What a node of the graph stands for: a tensor, a number, a tuple, the size of the batch."""
        if node.op == "placeholder":
            _only(INPUT not in self._made_by, "a second input; supported is one")
            self._made_by[INPUT] = node
            return _Value(INPUT)
        arguments = self._resolved(node.args)
        options = {key: self._resolved(value) for key, value in node.kwargs.items()}
        if node.op == "output":
            _only(
                isinstance(arguments[0], _Value) and arguments[0].name != INPUT,
                "supported is one tensor, made by a layer",
            )
            return arguments[0]
        if node.op == "call_module":
            module = self._modules[node.target]
            _only(len(arguments) == 1 and not options, "more than one input")
            return self._module(module, arguments[0])
        _only(node.op != "get_attr", "a tensor that is no weight of a layer")
        function = self._of_function.get(node.target)
        _only(function is not None, "not supported")
        try:
            return function(*arguments, **options)  # type: ignore[misc]
        except (TypeError, AttributeError, IndexError) as error:
            raise _Unsupported(f"not supported with these arguments ({error})") from None

    def _resolved(self, value: Any) -> Any:
        """Arguments of a node, with the values of other nodes put in."""
        if isinstance(value, tuple | list):
            return tuple(self._resolved(each) for each in value)
        if isinstance(value, slice):
            return slice(*(self._resolved(each) for each in (value.start, value.stop, value.step)))
        return self._values.get(value, value) if value.__hash__ else value

    def _add(self, layer: Layer, *inputs: Any) -> _Value:
        """A new layer, named after the module, or as the graph names the call of a function."""
        _only(all(isinstance(each, _Value) for each in inputs), "an operand that is no tensor of the network")
        shapes = [self._shapes[each.name] for each in inputs]
        shape = layer.output_shape(shapes)
        wanted = str(self._now.target if self._now.op == "call_module" else self._now.name)
        name, count = wanted, 1
        while name in self._shapes:
            name, count = f"{wanted}.{count}", count + 1
        self._nodes[name] = Node(name, layer, tuple(each.name for each in inputs))
        self._shapes[name], self._made_by[name] = shape, self._now
        return _Value(name)

    def _replace(self, value: _Value, layer: Layer) -> _Value:
        """Another layer in the place of one."""
        node = self._nodes[value.name]
        self._shapes[value.name] = layer.output_shape([self._shapes[each] for each in node.inputs])
        self._nodes[value.name] = Node(node.name, layer, node.inputs)
        return value

    def _is_last_use(self, value: _Value) -> bool:
        """Whether nothing but the current node uses a tensor, also not by another name."""
        node = self._now
        while node is not self._made_by[value.name]:
            if not node.args:
                return False
            node = node.args[0]
            if len(node.users) != 1:
                return False
        return True

    def _in_place(self, old: Any, new: _Value) -> _Value:
        """The result of an operation in place, which later users of the operand see too."""
        for node, value in self._values.items():
            if isinstance(value, _Value) and value.name == old.name:
                self._values[node] = new
        return new

    # modules

    def _module_table(self, nn: Any) -> dict[type, Callable[[Any, _Value], _Value]]:
        def same(module: Any, x: _Value) -> _Value:
            return x

        return {
            nn.Conv2d: self._conv2d,
            nn.Linear: lambda m, x: self._add(Linear(_array(m.weight), self._bias(m)), x),
            nn.BatchNorm1d: self._batch_norm,
            nn.BatchNorm2d: self._batch_norm,
            nn.ReLU: lambda m, x: self._relu(x, m.inplace),
            nn.AvgPool2d: lambda m, x: self._avg_pool(
                x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
            ),
            nn.AdaptiveAvgPool2d: lambda m, x: self._adaptive(x, m.output_size),
            nn.Flatten: lambda m, x: self._flatten(x, m.start_dim, m.end_dim),
            nn.Identity: same,
            nn.Dropout: same,
            nn.Dropout2d: same,
        }

    def _module(self, module: Any, x: Any) -> _Value:
        for kind, make in self._custom.items():
            if isinstance(module, kind):
                layer = make(module)
                if not isinstance(layer, Layer):
                    raise WrongType(f"custom gave {kind_of(layer)}, expected a layer of halocline.nn")
                return self._add(layer, x)
        function = self._of_module.get(type(module))
        if function is None:
            raise _Unsupported("not supported")
        _only(isinstance(x, _Value), "an operand that is no tensor of the network")
        return function(module, x)

    @staticmethod
    def _bias(module: Any) -> Any:
        return None if module.bias is None else _array(module.bias)

    def _conv2d(self, module: Any, x: _Value) -> _Value:
        _only(module.groups == 1, f"groups={module.groups}; supported is 1")
        _only(_one(module.dilation, "dilation") == 1, f"dilation={module.dilation}; supported is 1")
        _only(module.padding_mode == "zeros", f"padding_mode={module.padding_mode!r}; supported is 'zeros'")
        padding = module.padding
        if isinstance(padding, str):
            sizes = tuple((size - 1) // 2 for size in module.kernel_size)
            padding = sizes if padding == "same" else 0
        stride, padding = _one(module.stride, "stride"), _one(padding, "padding")
        return self._add(Conv2d(_array(module.weight), self._bias(module), stride, padding), x)

    def _batch_norm(self, module: Any, x: _Value) -> _Value:
        _only(
            module.running_mean is not None, "no running statistics; supported with track_running_stats=True"
        )
        mean, variance = _array(module.running_mean), _array(module.running_var)
        gamma = np.ones_like(mean) if module.weight is None else _array(module.weight)
        beta = np.zeros_like(mean) if module.bias is None else _array(module.bias)
        norm = (gamma, beta, mean, variance, module.eps)
        before = self._nodes[x.name].layer if x.name in self._nodes else None
        if isinstance(before, Conv2d) and self._is_last_use(x):
            folded = fold_batch_norm(before.weight, before.bias, *norm)
            return self._replace(x, Conv2d(*folded, before.stride, before.padding))
        if isinstance(before, Linear) and self._is_last_use(x):
            return self._replace(x, Linear(*fold_batch_norm(before.weight, before.bias, *norm)))
        eye = np.eye(len(mean))
        if len(self._shapes[x.name]) == 3:
            return self._add(Conv2d(*fold_batch_norm(eye[:, :, np.newaxis, np.newaxis], None, *norm)), x)
        return self._add(Linear(*fold_batch_norm(eye, None, *norm)), x)

    # functions and methods

    def _function_table(self, torch: Any) -> dict[Any, Callable[..., Any]]:
        functional = torch.nn.functional
        table: dict[Any, Callable[..., Any]] = {}
        for function, targets in (
            (self._relu, (functional.relu, torch.relu, "relu")),
            (lambda x: self._relu(x, True), (functional.relu_, torch.relu_, "relu_")),
            (self._sum, (operator.add, torch.add, "add")),
            (self._sum_in_place, (operator.iadd, "add_")),
            (self._product, (operator.mul, torch.mul, "mul")),
            (self._power, (operator.pow, torch.pow, "pow")),
            (lambda x: self._power(x, 2), (torch.square, "square")),
            (self._flatten, (torch.flatten, "flatten")),
            (self._view, ("view", "reshape", torch.reshape)),
            (self._mean, (torch.mean, "mean")),
            (self._avg_pool, (functional.avg_pool2d,)),
            (self._adaptive, (functional.adaptive_avg_pool2d,)),
            (self._pad, (functional.pad,)),
            (self._item, (operator.getitem,)),
            (self._size, ("size",)),
            (self._attribute, (getattr,)),
            (lambda x, *rest, **options: x, ("contiguous", functional.dropout)),
        ):
            table.update({target: function for target in targets})
        return table

    def _relu(self, x: Any, inplace: bool = False) -> _Value:
        made = self._add(ReLU(self._alpha), x)
        return self._in_place(x, made) if inplace else made

    def _sum(self, a: Any, b: Any, alpha: float = 1) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        _only(alpha == 1, f"alpha={alpha}; supported is 1")
        return self._add(Add(), a, b)

    def _sum_in_place(self, a: Any, b: Any, alpha: float = 1) -> Any:
        made = self._sum(a, b, alpha)
        return self._in_place(a, made) if isinstance(made, _Value) else made

    def _product(self, a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        same = isinstance(a, _Value) and isinstance(b, _Value) and a.name == b.name
        _only(same, "a product of two different tensors, or with a number; supported are squares")
        return self._power(a, 2)

    def _power(self, x: Any, exponent: Any) -> _Value:
        degree = integer(exponent, "exponent", 2, 64)
        return self._add(Polynomial(PolynomialFunction([0] * degree + [1])), x)

    def _flatten(self, x: Any, start_dim: int = 0, end_dim: int = -1) -> _Value:
        last = len(self._shapes[x.name])
        _only(start_dim == 1 and end_dim in (-1, last), "supported is everything but the batch: flatten(1)")
        return x if last == 1 else self._add(Flatten(), x)

    def _view(self, x: Any, *sizes: Any, shape: Any = None) -> _Value:
        wanted = shape if shape is not None else sizes
        wanted = wanted[0] if len(wanted) == 1 and isinstance(wanted[0], tuple) else wanted
        features = int(np.prod(self._shapes[x.name]))
        fits = len(wanted) == 2 and isinstance(wanted[0], _Batch) and wanted[1] in (-1, features)
        _only(fits, "supported is flattening: x.view(x.size(0), -1) or x.flatten(1)")
        return self._flatten(x, 1)

    def _mean(self, x: Any, dim: Any = None, keepdim: bool = False) -> _Value:
        dims = sorted(each % 4 for each in dim) if isinstance(dim, tuple) else dim
        _only(dims == [2, 3] and len(self._shapes[x.name]) == 3, f"dim={dim}; supported is (2, 3)")
        pooled = self._add(AvgPool(), x)
        return pooled if keepdim else self._add(Flatten(), pooled)

    def _avg_pool(
        self,
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> _Value:
        plain = _one(padding, "padding") == 0 and not ceil_mode and divisor_override is None
        _only(plain, "padding, ceil_mode or divisor_override; supported is pooling without them")
        kernel = _one(kernel_size, "kernel_size")
        return self._add(AvgPool(kernel, kernel if stride in (None, ()) else _one(stride, "stride")), x)

    def _adaptive(self, x: Any, output_size: Any) -> _Value:
        size, shape = _one(output_size, "output_size"), self._shapes[x.name]
        if size == 1:
            return self._add(AvgPool(), x)
        equal = len(shape) == 3 and shape[1] == shape[2] and size > 1 and shape[1] % size == 0
        _only(
            equal, f"output_size={output_size} of {shape}; supported are sizes that divide rows and columns"
        )
        return self._add(AvgPool(shape[1] // size), x)

    def _item(self, x: Any, index: Any) -> Any:
        if isinstance(x, tuple):
            return x[index]
        everything = slice(None)
        strided = isinstance(index, tuple) and len(index) == 4 and all(isinstance(i, slice) for i in index)
        _only(strided, "supported are every s-th row and column: x[:, :, ::s, ::s]")
        full = (
            all((i.start in (None, 0)) and i.stop is None for i in index) and index[:2] == (everything,) * 2
        )
        stride = _one([each.step or 1 for each in index[2:]], "step")
        _only(full, "supported are every s-th row and column: x[:, :, ::s, ::s]")
        return x if stride == 1 else self._add(Shortcut(stride, self._shapes[x.name][0]), x)

    def _pad(self, x: Any, pad: Any, mode: str = "constant", value: Any = None) -> _Value:
        supported = "supported are channels of zeros, as many before as behind: F.pad(x, (0, 0, 0, 0, n, n))"
        _only(mode == "constant" and value in (None, 0) and len(pad) == 6 and not any(pad[:4]), supported)
        before, behind = (integer(each, "pad", 0) for each in pad[4:])
        _only(before == (before + behind) // 2, supported)
        if behind == 0:
            return x
        channels = self._shapes[x.name][0] + before + behind
        layer = self._nodes[x.name].layer if x.name in self._nodes else None
        if isinstance(layer, Shortcut) and self._is_last_use(x) and layer.channels == self._input_channels(x):
            return self._replace(x, Shortcut(layer.stride, channels))
        return self._add(Shortcut(1, channels), x)

    def _input_channels(self, x: _Value) -> int:
        return self._shapes[self._nodes[x.name].inputs[0]][0]

    def _size(self, x: Any, dim: int | None = None) -> Any:
        sizes = (_Batch(), *self._shapes[x.name])
        return sizes if dim is None else sizes[dim]

    def _attribute(self, x: Any, name: str) -> Any:
        _only(name == "shape", f"attribute {name!r}")
        return self._size(x)
