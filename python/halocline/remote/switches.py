# SPDX-License-Identifier: Apache-2.0
"""The operations that a key node does for an engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..base.errors import CorruptData, InvalidArgument
from ..base.values import integer
from ..circuits.encoded import EncodedCircuit
from ..circuits.functions import WholeCircuit
from ..ckks.ciphertext import Ciphertext

MOST_STEPS = 4096
"""Rotations of one request."""
MOST_INPUTS = 4096
"""Ciphertexts of one request."""

CIRCUITS = ("map", "polynomial", "comparison", "bootstrap")
"""Operations that come with a circuit."""
_WITHOUT_STEPS = ("conjugate", "relinearize", "product")


@dataclasses.dataclass(frozen=True)
class Switch:
    """One request: an operation on ciphertexts."""

    operation: str
    """rotate, conjugate, relinearize, product, rotate_many, inner_sum, map, or that of a whole circuit."""
    inputs: tuple[Ciphertext, ...]
    steps: tuple[int, ...] = ()
    """Of rotate and rotate_many: the steps; of inner_sum: stride and count."""
    circuit: EncodedCircuit | WholeCircuit | None = None
    """Of map, and the whole circuit."""

    @property
    def level(self) -> int:
        """At which keys are used."""
        return min(each.level for each in self.inputs)

    @property
    def results(self) -> int:
        """Ciphertexts that come back."""
        if isinstance(self.circuit, WholeCircuit):
            return len(self.inputs) if self.circuit.inputs is None else 1
        if self.circuit is not None:
            return self.circuit.outputs
        return len(self.steps) if self.operation == "rotate_many" else 1


def sums_of(stride: int, count: int) -> list[int]:
    """The rotations of `Engine.inner_sum`, in their order, as the evaluator makes them."""
    steps, length, done, rest = [], 1, 0, count
    while rest:
        if rest & 1:
            if done:
                steps.append(done * stride)
            done += length
        if rest > 1:
            steps.append(length * stride)
            length *= 2
        rest >>= 1
    return steps


def check(switch: Switch) -> None:
    """Raises InvalidArgument or CorruptData for what came over a wire and is no request."""
    expected = {"rotate": 1, "inner_sum": 2} | dict.fromkeys((*_WITHOUT_STEPS, *CIRCUITS), 0)
    name, steps, circuit = switch.operation, switch.steps, switch.circuit
    if name != "rotate_many" and name not in expected:
        raise CorruptData(f"key node: unknown operation {name[:40]!r}")
    given = circuit.operation if isinstance(circuit, WholeCircuit) else "map" if circuit is not None else None
    if (name if name in CIRCUITS else None) != given:
        raise CorruptData("key node: an operation with a map that takes none, or a map without one")
    if len(steps) != expected.get(name, len(steps)) or len(steps) > MOST_STEPS:
        raise InvalidArgument(
            f"key node: {name} of {len(steps)} steps; at most {MOST_STEPS} are done at once"
        )
    if name == "inner_sum":
        integer(steps[1], "key node: inner_sum: count", 1, switch.inputs[0].slots if switch.inputs else None)
    wanted = 1 if circuit is None else circuit.inputs
    if wanted is not None and len(switch.inputs) != wanted:
        raise InvalidArgument(f"key node: {name} of {len(switch.inputs)} ciphertexts, expected {wanted}")


def apply(switch: Switch, engine: Any) -> list[Ciphertext]:
    """The results of a request whose ciphertexts are bound to an engine."""
    x = switch.inputs[0]
    if isinstance(switch.circuit, WholeCircuit):
        return [Ciphertext(each, engine, False) for each in switch.circuit._apply(switch.inputs)]
    if switch.circuit is not None:
        made: Any = switch.circuit._apply(switch.inputs)
        return list(made)
    if switch.operation == "rotate_many":
        return list(engine.rotate_many(x, switch.steps))
    if switch.operation == "inner_sum":
        stride, count = switch.steps
        return [engine.inner_sum(x, count, stride)]
    one: dict[str, Callable[[], Ciphertext]] = {
        "rotate": lambda: x.rotate(switch.steps[0]),
        "conjugate": x.conj,
        "relinearize": x.relinearize,
        "product": x._finished,
    }
    return [one[switch.operation]()]
