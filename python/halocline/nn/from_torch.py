# SPDX-License-Identifier: Apache-2.0
"""Models from PyTorch modules, by symbolic tracing (torch.fx). PyTorch is imported only when it is needed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import Error, InvalidArgument, MissingExtra, WrongType
from ..base.extras import install
from ..base.values import expect, integer, kind_of
from .activations import MAX_PRECISION
from .graph_builder import Unsupported, Value, nearest, only
from .layers import Layer, ReLU
from .model import INPUT, Model, checked_shape
from .torch_builder import TorchBuilder, array
from .torch_functions import function_table
from .torch_modules import module_table

SUPPORTED = (
    "Conv2d, Linear, BatchNorm1d, BatchNorm2d; AvgPool2d, MaxPool2d, AdaptiveAvgPool2d, AdaptiveMaxPool2d, "
    "Upsample; ReLU, ReLU6, LeakyReLU, PReLU, Hardtanh, Hardsigmoid, Hardswish, ELU, CELU, SELU, "
    "Sigmoid, Tanh, GELU, "
    "SiLU, Mish, Softplus, Softsign; Flatten, Unflatten, padding, Identity, Dropout; sums and "
    "products of tensors and "
    "constants, powers, maxima, clamp, slices, cat, chunk, view, permute. Other activations: replace them by "
    "polynomials with custom={Class: function}"
)

MakeLayer = Callable[[Any], Layer]


class TorchNotInstalled(MissingExtra):
    """PyTorch is needed for an import and is not installed."""


def from_torch(
    module: Any,
    input_shape: Sequence[int],
    *,
    metadata: Mapping[str, str] | None = None,
    custom: Mapping[type, MakeLayer] | None = None,
    alpha: int = 13,
    precision: int = 12,
) -> Model:
    """The model that a torch.nn.Module computes in evaluation mode for inputs (batch, *input_shape).

    Batch norms become part of the convolution or matrix before them, or scales and shifts where there is
    none. custom: for classes of modules, functions that make a layer of a module, such as {MyActivation:
    lambda m: nn.Polynomial(hc.Polynomial(m.coefficients))}. alpha: precision of ReLU and of all that
    compares, in bits, as in `Engine.relu`. precision: that of smooth functions, in bits of the largest
    value that they take. Modules must not branch on values.

    @throws InvalidArgument that names the module or function that is not supported, and what is nearest to it
    """
    try:
        import torch.fx
    except ImportError as error:
        raise TorchNotInstalled(
            f"from_torch: PyTorch cannot be imported ({error}); {install('torch')}"
        ) from None
    expect(module, torch.nn.Module, "from_torch")
    shape = checked_shape(input_shape)
    alpha, precision = ReLU(alpha).alpha, integer(precision, "from_torch: precision", 1, MAX_PRECISION)
    leaves = _checked_custom(custom)
    network = _copied(module)

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
            "depend on values, and of torch.compile and torch.jit the module before is needed"
        ) from None
    return _Import(torch, network, TorchBuilder(shape, alpha, precision), leaves).model(graph, metadata or {})


def _checked_custom(custom: Mapping[type, MakeLayer] | None) -> dict[type, MakeLayer]:
    if custom is None:
        return {}
    if not isinstance(custom, Mapping) or not all(
        isinstance(kind, type) and callable(make) for kind, make in custom.items()
    ):
        raise WrongType(
            f"from_torch: custom: got {custom!r:.60}, expected classes of modules and functions that make a "
            "layer of one, {Class: function}"
        )
    return dict(custom)


def _copied(module: Any) -> Any:
    """A copy in evaluation mode."""
    try:
        return copy.deepcopy(module).eval()
    except Exception as error:  # whatever the module's own code raises
        raise InvalidArgument(
            f"from_torch: {kind_of(module)} cannot be copied ({error}). Of torch.nn.utils.weight_norm take "
            "remove_weight_norm(module) before"
        ) from None


class _Import:
    """One pass over a traced graph."""

    def __init__(
        self, torch: Any, network: Any, builder: TorchBuilder, custom: Mapping[type, MakeLayer]
    ) -> None:
        self._network, self._modules = network, dict(network.named_modules())
        self._builder, self._custom, self._tensor = builder, custom, torch.Tensor
        self._of_module = module_table(torch.nn)
        self._of_function = function_table(torch, builder)

    def model(self, graph: Any, metadata: Mapping[str, str]) -> Model:
        """The model of the graph."""
        values = self._builder.values
        for node in graph.nodes:
            self._builder.begin(node)
            try:
                values[node] = self._step(node)
            except (Unsupported, Error) as error:
                title, kind = self._title(node)
                known = f". Supported are {SUPPORTED}" if isinstance(error, Unsupported) else ""
                raise InvalidArgument(f"from_torch: {title}: {error}{nearest(kind)}{known}") from None
        output = values[next(node for node in graph.nodes if node.op == "output")]
        return self._builder.model(output.name, metadata)

    def _title(self, node: Any) -> tuple[str, str]:
        """What a node is called in messages, and what kind of operation it is."""
        if node.op == "call_module":
            kind = kind_of(self._modules[node.target])
            return f"module {node.target!r} ({kind})", kind
        target = (
            node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target)
        )
        return f"{target!s} ({node.name})", str(target)

    def _step(self, node: Any) -> Any:
        """What a node of the graph stands for: a tensor, a number, a tuple, the size of the batch."""
        if node.op == "placeholder":
            return self._builder.input()
        arguments = self._resolved(node.args)
        options = {key: self._resolved(value) for key, value in node.kwargs.items()}
        if node.op == "output":
            only(
                isinstance(arguments[0], Value) and arguments[0].name != INPUT,
                "supported is one tensor, made by a layer",
            )
            return arguments[0]
        if node.op == "get_attr":
            return self._constant(node.target)
        if node.op == "call_module":
            only(len(arguments) == 1 and not options, "more than one input")
            return self._module(self._modules[node.target], arguments[0])
        function = self._of_function.get(node.target)
        only(function is not None, "not supported")
        try:
            return function(*arguments, **options)  # type: ignore[misc]
        except (TypeError, AttributeError, IndexError, ValueError) as error:
            raise Unsupported(f"not supported with these arguments ({error})") from None

    def _constant(self, target: str) -> Any:
        """The numbers of a parameter or buffer of the module."""
        found = self._network
        for name in target.split("."):
            found = getattr(found, name)
        only(isinstance(found, self._tensor), "an attribute that is no tensor")
        return array(found)

    def _resolved(self, value: Any) -> Any:
        """Arguments of a node, with the values of other nodes put in."""
        if isinstance(value, tuple | list):
            return tuple(self._resolved(each) for each in value)
        if isinstance(value, slice):
            return slice(*(self._resolved(each) for each in (value.start, value.stop, value.step)))
        return self._builder.values.get(value, value) if value.__hash__ else value

    def _module(self, module: Any, x: Any) -> Value:
        for kind, make in self._custom.items():
            if isinstance(module, kind):
                try:
                    layer = make(module)
                except Error:
                    raise
                except Exception as error:  # whatever the caller's own code raises
                    raise InvalidArgument(f"custom raised {type(error).__name__} ({error})") from error
                if not isinstance(layer, Layer):
                    raise WrongType(f"custom gave {kind_of(layer)}, expected a layer of halocline.nn")
                return self._builder.add(layer, x)
        function = self._of_module.get(type(module))
        if function is None:
            raise Unsupported("not supported")
        only(isinstance(x, Value), "an operand that is no tensor of the network")
        return function(self._builder, module, x)
