# SPDX-License-Identifier: Apache-2.0
"""What a request needs and gives, found on a ghost: keys, key switches, shapes of results."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..circuits.functions import WholeCircuit
from ..ckks.ciphertext import Ciphertext
from ..ckks.keys import RELINEARIZATION
from ..ckks.params import Params
from .maps import to_bytes
from .switches import Switch, sums_of

Shape = tuple[int, float, int]
"""Level, scale and slots of a ciphertext."""
_MOST_KNOWN = 256


@dataclasses.dataclass(frozen=True)
class Needs:
    """Of one request."""

    keys: dict[int, int]
    """Galois element -> level."""
    switches: int
    """Key switches."""
    weight_bytes: int
    """Of encoded weights that an engine keeps for it."""


class Ghosts:
    """Ghost engines of one parameter set, on which requests are executed without arithmetic.

    make: makes one. Used by one thread at a time.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._one: Any = None
        self._known: OrderedDict[Any, tuple[Needs, list[Shape], int]] = OrderedDict()

    @property
    def one(self) -> Any:
        """The ghost that circuits with weights stay encoded for."""
        if self._one is None:
            self._one = self._make()
        return self._one

    def needs(self, switch: Switch) -> Needs:
        """What the request needs."""
        params: Params = self.one.params
        core, level = params._core, switch.level
        if isinstance(switch.circuit, WholeCircuit):
            return self._executed(switch)[0]
        if switch.circuit is not None:
            encoded = switch.circuit._on(self.one, level)
            return Needs(dict(encoded.requests), encoded.cost["key_switches"], encoded.nbytes)
        if switch.operation == "conjugate":
            return Needs({core.conjugation_element: level}, 1, 0)
        if switch.operation in ("relinearize", "product"):
            return Needs({RELINEARIZATION: level}, 1, 0)
        steps = sums_of(*switch.steps) if switch.operation == "inner_sum" else list(switch.steps)
        elements = [core.galois_element(step) for step in steps]
        turning = [each for each in elements if each != 1]
        return Needs(dict.fromkeys(turning, level), len(turning), 0)

    def results(self, switch: Switch) -> list[Shape]:
        """Of each result."""
        if isinstance(switch.circuit, WholeCircuit):
            return self._executed(switch)[1]
        x = switch.inputs[0]
        if switch.circuit is not None:
            return [_shape(each) for each in switch.circuit._apply(self._empty(self.one, switch))]
        if switch.operation == "product":  # of the operand and one of scale 1
            factors = [self.one.ghost_input(level=x.level, scale=s, slots=x.slots) for s in (x.scale, 1.0)]
            return [_shape(factors[0] * factors[1])]
        return [_shape(x)] * switch.results

    def result_bytes(self, switch: Switch) -> int:
        """Bytes of all results in memory, at most."""
        if isinstance(switch.circuit, WholeCircuit):
            return self._executed(switch)[2]
        x = switch.inputs[0]
        return switch.results * (x.nbytes // x.components) * 2

    def _executed(self, switch: Switch) -> tuple[Needs, list[Shape], int]:
        """What a run of a whole circuit on a ghost of its own asked for and made."""
        circuit = switch.circuit
        assert isinstance(circuit, WholeCircuit)
        name = to_bytes(circuit, self.one._circuits), *(_shape(each) for each in switch.inputs)
        if name not in self._known:
            ghost = self._make()
            inputs = self._empty(ghost, switch)
            with ghost.record() as trace:
                made = [Ciphertext(each, ghost, False) for each in circuit._apply(inputs)]
            switches = int(trace.key_switches()[1].sum())
            weights = int(ghost.stats()["live_by_class"]["plaintext"])
            needs = Needs(dict(ghost._core.needed_keys()), switches, weights)
            self._known[name] = needs, [_shape(each) for each in made], sum(each.nbytes for each in made)
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return self._known[name]

    def _empty(self, ghost: Any, switch: Switch) -> list[Ciphertext]:
        return [ghost.ghost_input(level=x.level, scale=x.scale, slots=x.slots) for x in switch.inputs]


def _shape(x: Ciphertext) -> Shape:
    return x.level, x.scale, x.slots
