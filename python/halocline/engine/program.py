# SPDX-License-Identifier: Apache-2.0
"""Programs known before they run: traces and key plans from a ghost engine.

Encrypted programs are oblivious: what they touch does not depend on the data. Executing one on the ghost
device, which computes nothing, therefore tells exactly what it will need.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import WrongType
from ..base.values import expect, kind_of, power_of_two, vector
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.keys import KeyPlan
from ..ckks.params import Params
from ..memory.trace import Trace
from .engine import Engine


@dataclasses.dataclass(frozen=True)
class ProgramTrace:
    """What a program would do."""

    trace: Trace
    """Every event, with logical time."""
    key_plan: KeyPlan
    """The keys that it needs."""
    stats: dict[str, Any]
    """Counters of the ghost engine's memory runtime after the program: see `Engine.stats`."""
    key_uses: dict[int, int]
    """Galois element -> how often the program uses that key."""
    result: Any
    """What the program returned; its ciphertexts have shapes without contents."""

    @property
    def peak_bytes(self) -> int:
        """Largest sum of live bytes on the engine: tables, keys, ciphertexts, plaintexts, scratch."""
        return int(self.stats["peak_bytes"])


def trace_program(params: Params, program: Callable[..., Any], *args: Any) -> ProgramTrace:
    """Executes `program(*args)` on ghost engines and says what it touches and which keys it needs.

    The program is called twice: first to learn its keys, then with keys of the right size from the start.

    Arguments may be ciphertexts, of which only the shape matters, and arrays of numbers, which stand for what
    `client.encrypt` makes of them; lists, tuples and dictionaries of these; anything else is passed on as it
    is. Without arguments every required positional parameter of the program becomes a fresh ciphertext of all
    slots.
    """
    plan = key_plan(params, program, *args)
    engine = Engine(params, device="ghost")
    engine._core.prepare_keys(plan.requests())
    shapes = _shapes(program, args, engine)
    engine._core.take_key_uses()
    with engine.record() as trace:
        result = program(*shapes)
    uses = {element: switches for element, (switches, _) in engine._core.take_key_uses().items()}
    return ProgramTrace(trace, plan, engine.stats(), uses, result)


def key_plan(params: Params, program: Callable[..., Any], *args: Any) -> KeyPlan:
    """The evaluation keys that `program(*args)` needs; arguments as for `trace_program`.

    `client.evaluation_keys(plan=plan)` generates exactly these.
    """
    expect(params, Params, "key_plan")
    if not callable(program):
        raise WrongType(f"key_plan: got {kind_of(program)}, expected a function of ciphertexts")
    engine = Engine(params, device="ghost")
    program(*_shapes(program, args, engine))
    return engine.key_plan


def _shapes(program: Callable[..., Any], args: tuple[Any, ...], engine: Engine) -> list[Any]:
    return [_shaped(each, engine) for each in args] if args else _fresh(program, engine)


def _fresh(program: Callable[..., Any], engine: Engine) -> list[Ciphertext]:
    """One fresh ciphertext for each parameter that must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(program).parameters.values()
    needed = [each for each in parameters if each.kind in kinds and each.default is each.empty]
    return [engine.ghost_input() for _ in needed]


def _shaped(value: Any, engine: Engine) -> Any:
    """`value` with ciphertexts and arrays replaced by ciphertexts without contents."""

    def bind(ct: Ciphertext) -> Ciphertext:
        return engine.ghost_input(level=ct.level, scale=ct.scale, slots=ct.slots, real=ct.is_real)

    if isinstance(value, np.ndarray):
        array, real = vector(value, "trace_program")
        return engine.ghost_input(slots=power_of_two(len(array)), real=real)
    if isinstance(value, list | tuple):
        return type(value)(_shaped(each, engine) for each in value)
    return bind_all(value, bind)
