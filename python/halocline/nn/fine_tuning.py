# SPDX-License-Identifier: Apache-2.0
"""Training of torch modules whose activations became polynomials, and pooling means."""

from __future__ import annotations

import copy
import dataclasses
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.extras import needs
from ..base.values import integer, kind_of, positive
from ..circuits.polynomial import Polynomial as PolynomialFunction
from .from_torch import from_torch
from .layers import Array, Polynomial
from .model import Model


@dataclasses.dataclass(frozen=True)
class FineTune:
    """How a torch module is trained on: with Adam, on the data and labels of `prepare`.

    The loss is the cross entropy with the labels; without labels the squared distance from what the module
    itself gave.
    """

    epochs: int = 5
    """Passes over the data"""
    learning_rate: float = 1e-3
    """Of Adam"""
    batch: int = 32
    """Inputs of a step"""
    seed: int = 0
    """Of the order of the data"""

    def __post_init__(self) -> None:
        integer(self.epochs, "FineTune: epochs", 1)
        integer(self.batch, "FineTune: batch", 1)
        positive(self.learning_rate, "FineTune: learning_rate")


def is_module(network: Any) -> bool:
    """Whether it is a torch module; torch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(network, torch.nn.Module)


def fine_tuned(
    module: Any,
    data: Array,
    labels: npt.NDArray[np.int64] | None,
    degree: int | None,
    means: bool,
    margin: float,
    how: FineTune,
) -> tuple[Model, list[str]]:
    """The model of a copy that was trained, and what was replaced in it. degree: None keeps activations."""
    with needs("torch", "prepare"):
        import torch

    network = copy.deepcopy(module).float()
    inputs = torch.from_numpy(data).float()
    network.eval()
    with torch.no_grad():
        wanted = network(inputs)
    bounds = _bounds(network, inputs, _activations(torch))
    polynomial = _polynomial_class(torch)
    changes = _replace(torch, network, bounds, polynomial, degree, means, margin)
    _train(torch, network, inputs, wanted, labels, how)
    changes.append(f"trained for {how.epochs} epochs on {len(data)} inputs")
    _widen(network, _bounds(network, inputs, (polynomial,)), margin)
    custom = {
        polynomial: lambda m: Polynomial(PolynomialFunction(m.series(), "chebyshev", (-m.bound, m.bound)))
    }
    return from_torch(network, data.shape[1:], custom=custom), changes


def _activations(torch: Any) -> tuple[type, ...]:
    names = (
        "ReLU", "ReLU6", "LeakyReLU", "Hardtanh", "Hardsigmoid", "Hardswish", "ELU", "CELU", "SELU",
        "Sigmoid", "Tanh", "GELU", "SiLU", "Mish", "Softplus", "Softsign",
    )  # fmt: skip
    return tuple(getattr(torch.nn, name) for name in names)


def _bounds(network: Any, inputs: Any, kinds: Any) -> dict[str, float]:
    """Largest input of each module of these classes."""
    found: dict[str, float] = {}

    def noting(name: str) -> Any:
        def hook(_: Any, arguments: Any) -> None:
            found[name] = max(found.get(name, 0.0), float(arguments[0].detach().abs().max()))

        return hook

    hooks = [
        each.register_forward_pre_hook(noting(name))
        for name, each in network.named_modules()
        if isinstance(each, kinds)
    ]
    network(inputs)
    for hook in hooks:
        hook.remove()
    return found


def _polynomial_class(torch: Any) -> Any:
    class ChebyshevActivation(torch.nn.Module):  # type: ignore[misc]
        """A series in Chebyshev polynomials of x / bound, whose coefficients are trained."""

        def __init__(self, series: Array, bound: float) -> None:
            super().__init__()
            self.bound = bound
            self.coefficients = torch.nn.Parameter(torch.from_numpy(series).float())

        def forward(self, x: Any) -> Any:
            u = x / self.bound
            before, now = torch.ones_like(u), u
            total = self.coefficients[0] + self.coefficients[1] * u
            for index in range(2, len(self.coefficients)):
                before, now = now, 2 * u * now - before
                total = total + self.coefficients[index] * now
            return total

        def series(self) -> Array:
            """The coefficients."""
            return np.asarray(self.coefficients.detach().double().numpy())

        def widen(self, bound: float) -> None:
            """The same polynomial on a larger interval, whose series is another one."""
            before, ratio = self.series(), bound / self.bound

            def values(u: Any) -> Any:
                return np.polynomial.chebyshev.chebval(u * ratio, before)

            with torch.no_grad():
                wider = np.polynomial.chebyshev.chebinterpolate(values, len(before) - 1)
                self.coefficients.copy_(torch.from_numpy(wider))
            self.bound = bound

    return ChebyshevActivation


def _replace(
    torch: Any,
    network: Any,
    bounds: dict[str, float],
    polynomial: Any,
    degree: int | None,
    means: bool,
    margin: float,
) -> list[str]:
    """Puts polynomials and means in place of modules; says where."""
    changes = []
    for name, each in list(network.named_modules()):
        made = None
        if degree is not None and name in bounds:
            bound = margin * bounds[name] or 1.0

            def values(u: Any, each: Any = each, bound: float = bound) -> Any:
                with torch.no_grad():
                    return each(torch.from_numpy(np.asarray(bound * u))).numpy()

            made = polynomial(np.polynomial.chebyshev.chebinterpolate(values, degree), bound)
            changes.append(
                f"{name}: {kind_of(each)} by a trained polynomial of degree {degree} on +-{bound:.3g}"
            )
        elif means and isinstance(each, torch.nn.MaxPool2d):
            made = torch.nn.AvgPool2d(
                each.kernel_size, each.stride, each.padding, each.ceil_mode, count_include_pad=False
            )
            changes.append(f"{name}: maxima by means")
        if made is not None:
            parent, _, last = name.rpartition(".")
            setattr(network.get_submodule(parent), last, made)
    return changes


def _widen(network: Any, bounds: dict[str, float], margin: float) -> None:
    """Training changes what polynomials get: those that get more are written on a larger interval."""
    for name, found in bounds.items():
        module = network.get_submodule(name)
        if found * margin > module.bound:
            module.widen(found * margin)


def _train(
    torch: Any, network: Any, inputs: Any, wanted: Any, labels: npt.NDArray[np.int64] | None, how: FineTune
) -> None:
    """Adam; batch norms keep the statistics that they have."""
    functional = torch.nn.functional
    targets = None if labels is None else torch.from_numpy(labels)
    optimizer = torch.optim.Adam(network.parameters(), lr=how.learning_rate)
    order = np.random.default_rng(how.seed)
    network.eval()
    for _ in range(how.epochs):
        shuffled = order.permutation(len(inputs))
        for first in range(0, len(inputs), how.batch):
            chosen = torch.from_numpy(shuffled[first : first + how.batch])
            found = network(inputs[chosen])
            if targets is None:
                loss = functional.mse_loss(found, wanted[chosen])
            elif found.shape[1] == 1:
                loss = functional.binary_cross_entropy_with_logits(found[:, 0], targets[chosen].float())
            else:
                loss = functional.cross_entropy(found, targets[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
