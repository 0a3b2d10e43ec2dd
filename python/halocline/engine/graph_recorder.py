# SPDX-License-Identifier: Apache-2.0
"""Writes down the operations of a program on a ghost engine as a graph."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine
from ..base.errors import InvalidArgument
from ..ckks.params import Params
from .program_graph import INPUT, Node, ProgramGraph

MOST_NODES = 1 << 20
"""Operations after which a recording is given up: a program that loops until levels run out never ends."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PLAIN_WORK = 0.1
"""What an operation without key switches counts, in key switches."""
_CANONICAL = 1e-6
"""Relative deviation from the scale of a level up to which a ciphertext can be bootstrapped."""


class GraphRecorder:
    """Collects nodes; ciphertexts are kept until it is dropped, so that none is taken for another."""

    def __init__(self, params: Params, native: NativeEngine) -> None:
        self._params, self._native = params, native
        self._nodes: list[Node] = []
        self._number: dict[int, int] = {}
        self._kept: list[NativeCiphertext] = []
        self._by_hand: list[int] = []
        self._native.take_key_uses()

    def input(self, ciphertext: NativeCiphertext, real: bool) -> None:
        """An argument, or another ciphertext that comes from outside of the program."""
        self._add(Node(INPUT, fixed_level=ciphertext.level, **self._facts(ciphertext, real)), ciphertext)

    def same(self, ciphertext: NativeCiphertext, other: NativeCiphertext) -> None:
        """Another ciphertext holds the same value: it was bootstrapped to go on."""
        self._remember(other, self._of(ciphertext))

    def by_hand(self, ciphertext: NativeCiphertext) -> None:
        """The program bootstraps this value itself, which is left out."""
        self._by_hand.append(self._of(ciphertext))

    def operation(
        self,
        name: str,
        arguments: Sequence[Any],
        operands: Sequence[NativeCiphertext],
        results: Sequence[NativeCiphertext],
    ) -> None:
        """An operation that was done, and what it made."""
        if not operands or name == "load":
            for result in results:
                self.input(result, False)
            return
        numbers = tuple(self._of(each) for each in operands)
        work = max(_PLAIN_WORK, float(sum(count for count, _ in self._native.take_key_uses().values())))
        lowest, where = min(each.level for each in operands), _where()
        for which, result in enumerate(results):
            facts: dict[str, Any] = {"levels": _levels_of(name, arguments, lowest - result.level)}
            if name == "bootstrap":
                facts = {"fixed_level": result.level, "needs": _input_level(arguments)}
            elif name in ("drop_level", "adjust") or (name == "polynomial" and arguments[-1] is not None):
                facts["most"] = result.level
            of = (numbers[which],) if name == "bootstrap" else numbers
            self._add(
                Node(name, of, work=work, where=where, **facts, **self._facts(result, False)),
                result,
            )
            work = _PLAIN_WORK

    def real(self, ciphertext: NativeCiphertext) -> None:
        """Only real numbers went into a value."""
        number = self._number.get(id(ciphertext))
        if number is not None and not self._nodes[number].real:
            self._nodes[number] = dataclasses.replace(self._nodes[number], real=True)

    def graph(self, results: Sequence[NativeCiphertext] = ()) -> ProgramGraph:
        """What was recorded so far; results: what the program returned."""
        found = [self._number[id(each)] for each in results if id(each) in self._number]
        return ProgramGraph(tuple(self._nodes), tuple(found), tuple(self._by_hand))

    def _facts(self, ciphertext: NativeCiphertext, real: bool) -> dict[str, Any]:
        scale = self._params.level(ciphertext.level).scale
        canonical = abs(ciphertext.scale / scale - 1) < _CANONICAL
        refreshable = ciphertext.parts == 2 and canonical and not self._native.manual
        return {"slots": ciphertext.slots, "real": real, "refreshable": refreshable}

    def _of(self, ciphertext: NativeCiphertext) -> int:
        if id(ciphertext) not in self._number:
            self.input(ciphertext, False)
        return self._number[id(ciphertext)]

    def _add(self, node: Node, ciphertext: NativeCiphertext) -> None:
        if len(self._nodes) >= MOST_NODES:
            raise InvalidArgument(
                f"bootstraps: the program has more than {MOST_NODES} operations, too many to place "
                "bootstraps. One that goes on until levels run out never ends, because bootstraps give them "
                "back: give it a fixed number of steps"
            )
        self._nodes.append(node)
        self._remember(ciphertext, len(self._nodes) - 1)

    def _remember(self, ciphertext: NativeCiphertext, number: int) -> None:
        self._kept.append(ciphertext)
        self._number[id(ciphertext)] = number


def _levels_of(name: str, arguments: Sequence[Any], difference: int) -> int:
    """Levels that an operation costs; what is asked to end at a level costs no more than it must."""
    if name == "drop_level":
        return 0
    if name == "adjust":
        ciphertext, _, scale = arguments
        return 0 if ciphertext.scale == scale else 1
    if name == "polynomial" and arguments[-1] is not None:
        _, coefficients, chebyshev, low, high, _ = arguments
        return _core.polynomial_levels(coefficients, chebyshev, low, high)
    return max(0, difference)


def _input_level(arguments: Sequence[Any]) -> int:
    return int(arguments[0].describe()["input_level"])


def _where() -> str:
    """File and line of the nearest caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(_PACKAGE):
        return ""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
