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
from ..ckks.host import MOST_RADIX

MOST_STEPS = 4096
"""Rotations of one request."""
MOST_INPUTS = 4096
"""Ciphertexts of one request."""

CIRCUITS = ("map", "polynomial", "comparison", "bootstrap")
"""Operations that come with a circuit."""
_OF_ANY_STEPS = ("rotate_many", "sum_rotations")
_WITHOUT_STEPS = ("conjugate", "relinearize", "product")


@dataclasses.dataclass(frozen=True)
class Switch:
    """One request: an operation on ciphertexts."""

    operation: str
    """rotate, conjugate, relinearize, product, rotate_many, sum_rotations, inner_sum, map, or that of a whole
    circuit."""
    inputs: tuple[Ciphertext, ...]
    steps: tuple[int, ...] = ()
    """Of rotate, rotate_many and sum_rotations: the steps; of inner_sum: stride and count, and a radix
    unless it is 2."""
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


def sums_of(stride: int, count: int, radix: int = 2) -> list[int]:
    """The rotations of `Engine.inner_sum`, in their order, as the evaluator makes them."""
    steps, length, done, rest = [], 1, 0, count
    while radix > 2 and 2 * length <= count:
        taken = min(radix, count // length)
        steps += [stride * length * i for i in range(1, taken)]
        length *= taken
    if radix > 2:
        return steps
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
    if name == "inner_sum" and len(steps) == 3:
        expected[name] = 3
    if name not in _OF_ANY_STEPS and name not in expected:
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
        radix = integer(steps[2], "key node: inner_sum: radix", 2, MOST_RADIX) if len(steps) == 3 else 2
        if radix > 2 and (radix & (radix - 1) or steps[1] & (steps[1] - 1)):
            raise InvalidArgument(
                f"key node: inner_sum of {steps[1]} with radix {radix}; expected powers of two"
            )
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
    if switch.operation == "sum_rotations":
        return [engine.sum_rotations(x, switch.steps)]
    if switch.operation == "inner_sum":
        stride, count, *radix = switch.steps
        return [engine.inner_sum(x, count, stride, *radix)]
    one: dict[str, Callable[[], Ciphertext]] = {
        "rotate": lambda: x.rotate(switch.steps[0]),
        "conjugate": x.conj,
        "relinearize": x.relinearize,
        "product": x._finished,
    }
    return [one[switch.operation]()]
