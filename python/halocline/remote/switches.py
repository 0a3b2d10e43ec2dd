# SPDX-License-Identifier: Apache-2.0
"""The operations that a key node does for an engine, and the keys that each of them needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import CorruptData, InvalidArgument
from ..base.values import integer
from ..circuits.encoded import EncodedCircuit
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from ..ckks.keys import RELINEARIZATION
from ..ckks.params import Params

MOST_STEPS = 4096
"""Rotations of one request."""
MOST_INPUTS = 4096
"""Ciphertexts of one request."""


@dataclasses.dataclass(frozen=True)
class Switch:
    """One request: an operation on ciphertexts."""

    operation: str
    """rotate, conjugate, relinearize, rotate_many, inner_sum or map."""
    inputs: tuple[Ciphertext, ...]
    steps: tuple[int, ...] = ()
    """Of rotate and rotate_many: the steps; of inner_sum: stride and count."""
    circuit: EncodedCircuit | None = None
    """Of map."""

    @property
    def level(self) -> int:
        """At which keys are used."""
        return min(each.level for each in self.inputs)

    @property
    def results(self) -> int:
        """Ciphertexts that come back."""
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


def keys_of(switch: Switch, params: Params, shapes: Host) -> tuple[dict[int, int], int]:
    """({Galois element: level} of the keys that a request needs, key switches).

    shapes: a ghost engine of the same parameters, on which circuits are encoded to know their keys.
    """
    core, level = params._core, switch.level
    if switch.operation == "conjugate":
        return {core.conjugation_element: level}, 1
    if switch.operation == "relinearize":
        return {RELINEARIZATION: level}, 1
    if switch.circuit is not None:
        encoded = switch.circuit._on(shapes, level)
        return dict(encoded.requests), encoded.cost["key_switches"]
    steps = sums_of(*switch.steps) if switch.operation == "inner_sum" else list(switch.steps)
    elements = [core.galois_element(step) for step in steps]
    turning = [each for each in elements if each != 1]
    return dict.fromkeys(turning, level), len(turning)


def check(switch: Switch) -> None:
    """Raises InvalidArgument or CorruptData for what came over a wire and is no request."""
    expected = {"rotate": 1, "inner_sum": 2, "conjugate": 0, "relinearize": 0, "map": 0}
    name, steps = switch.operation, switch.steps
    if name != "rotate_many" and name not in expected:
        raise CorruptData(f"key node: unknown operation {name[:40]!r}")
    if (name == "map") != (switch.circuit is not None):
        raise CorruptData("key node: an operation with a map that takes none, or a map without one")
    if len(steps) != expected.get(name, len(steps)) or len(steps) > MOST_STEPS:
        raise InvalidArgument(
            f"key node: {name} of {len(steps)} steps; at most {MOST_STEPS} are done at once"
        )
    if name == "inner_sum":
        integer(steps[1], "key node: inner_sum: count", 1, switch.inputs[0].slots if switch.inputs else None)
    wanted = 1 if switch.circuit is None else switch.circuit.inputs
    if len(switch.inputs) != wanted:
        raise InvalidArgument(f"key node: {name} of {len(switch.inputs)} ciphertexts, expected {wanted}")


def apply(switch: Switch, engine: Any) -> list[Ciphertext]:
    """The results of a request whose ciphertexts are bound to an engine."""
    x = switch.inputs[0]
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
    }
    return [one[switch.operation]()]


def shapes_of(switch: Switch, shapes: Any) -> list[tuple[int, float, int]]:
    """(level, scale, slots) of each result."""
    if switch.circuit is None:
        x = switch.inputs[0]
        return [(x.level, x.scale, x.slots)] * switch.results
    empty = [shapes.ghost_input(level=x.level, scale=x.scale, slots=x.slots) for x in switch.inputs]
    made: Sequence[Ciphertext] = switch.circuit._apply(empty)
    return [(each.level, each.scale, each.slots) for each in made]
