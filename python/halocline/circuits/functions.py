# SPDX-License-Identifier: Apache-2.0
"""Circuits without encoded weights that are done as a whole, here or where the keys are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, get_args

from .. import _core
from .._core import Ciphertext as NativeCiphertext
from ..base.errors import InvalidArgument
from ..base.names import Comparison
from ..base.values import integer, positive
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from .polynomial import Polynomial

COMPARISONS = get_args(Comparison)
_OF_TWO = ("compare", "maximum", "minimum")


class WholeCircuit(ABC):
    """Base of circuits that a key node evaluates as a whole: ciphertexts there, results back.

    Calling one with ciphertexts of one engine gives the list of results, made at a node where the engine has
    one and that is cheaper, and by the engine otherwise: the same integers.
    """

    operation: ClassVar[str]
    """Name in requests, and in messages."""

    @property
    @abstractmethod
    def inputs(self) -> int | None:
        """Number of ciphertexts; None for any."""

    @abstractmethod
    def _compute(self, engine: Host, sources: Sequence[NativeCiphertext]) -> list[NativeCiphertext]:
        """The results, computed by the engine itself."""

    def _apply(self, cts: Sequence[Ciphertext]) -> list[NativeCiphertext]:
        """The results, wherever they are made."""
        engine = cts[0]._on(self.operation)
        sources = [engine._own(each, self.operation) for each in cts]
        elsewhere = engine._elsewhere
        made = None if elsewhere is None else elsewhere.switch(self.operation, cts, circuit=self)
        return self._compute(engine, sources) if made is None else made


class PolynomialCircuit(WholeCircuit):
    """p(x), at a level of choice: `Engine.polynomial`."""

    operation = "polynomial"
    inputs = 1

    def __init__(self, polynomial: Polynomial, level: int | None = None) -> None:
        self.polynomial = polynomial
        self.level = None if level is None else integer(level, "polynomial: level", 0)

    def _compute(self, engine: Host, sources: Sequence[NativeCiphertext]) -> list[NativeCiphertext]:
        p = self.polynomial
        (x,) = sources
        return [engine._core.polynomial(x, p.coefficients, p.basis == "chebyshev", *p.domain, self.level)]


class ComparisonCircuit(WholeCircuit):
    """A sign, or what is made of one: `Engine.sign` and its kin."""

    operation = "comparison"

    def __init__(self, name: str, alpha: int, bound: float) -> None:
        if name not in COMPARISONS:
            raise InvalidArgument(f"comparison: {name!r:.40}, expected one of: {', '.join(COMPARISONS)}")
        known = _core.sign_alphas()
        self.name = name
        self.alpha = integer(alpha, f"{name}: alpha", min(known), max(known))
        self.bound = positive(bound, f"{name}: bound")

    @property
    def inputs(self) -> int:
        """One or two."""
        return 2 if self.name in _OF_TWO else 1

    def _compute(self, engine: Host, sources: Sequence[NativeCiphertext]) -> list[NativeCiphertext]:
        function: Any = getattr(engine._core, self.name)
        return [function(*sources, self.alpha, self.bound)]
