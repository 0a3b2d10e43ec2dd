# SPDX-License-Identifier: Apache-2.0
"""Programs known before they run: traces and key plans from a ghost engine.

Encrypted programs are oblivious: what they touch does not depend on the data. Executing one on the ghost
device, which computes nothing, therefore gives its exact requirements.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, NoReturn

import numpy as np

from ..base.errors import InvalidArgument, MissingKey, NotPicklable, WrongType
from ..base.values import byte_count, expect, expect_call, kind_of, power_of_two, vector
from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.keys import EvaluationKeys, KeyPlan
from ..ckks.params import Params, expect_same
from ..memory.budget import SMALLEST_CALLS, budget_of
from ..memory.trace import Trace
from .code_facts import defines
from .engine import Engine
from .host import PlannedHost
from .minimum import MinimumBudget, find_minimum
from .program_identity import Arguments


@dataclasses.dataclass(frozen=True)
class ProgramTrace:
    """Trace, keys and memory of a program that was executed on a ghost engine."""

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
    _find_minimum: Callable[[], MinimumBudget] = dataclasses.field(repr=False, compare=False)

    @property
    def peak_bytes(self) -> int:
        """Largest sum of live bytes on the engine: tables, keys, ciphertexts, plaintexts, scratch."""
        return int(self.stats["peak_bytes"])

    @functools.cached_property
    def minimum_budget(self) -> MinimumBudget:
        """The smallest budgets in which a whole run fits, under `resident`, `planned` and `lru`.

        `Engine(params, keys, memory=traced.minimum_budget.planned, policy="planned")` runs the program, with
        a page less it does not: on the CPU, where the program is alone on its engine. The program is called
        again, on ghosts, when this is first asked for.
        """
        return self._find_minimum()

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a ProgramTrace holds its program and cannot be pickled or copied; pickle what it says: trace, "
            "key_plan, stats, key_uses, minimum_budget"
        )

    def budget(self, memory: int | str) -> int:
        """Bytes of a budget for this program: a number, "2GiB", or "50%" of `peak_bytes`, rounded up."""
        return byte_count(budget_of(memory, self.peak_bytes), "budget")


def trace_program(
    params: Params,
    program: Callable[..., Any],
    *args: Any,
    keys: EvaluationKeys | None = None,
    keep_seeds: bool | Collection[int] | None = None,
    circuits: CircuitChoice | None = None,
    bootstrap: Any = None,
) -> ProgramTrace:
    """Executes `program(*args)` on ghost engines and says what it touches and which keys it needs.

    The program is called twice: first to find its keys, then with keys of the right size from the start.
    Calls of several keys are as small as under the least budget, so that the trace can be planned for any.

    Arguments may be ciphertexts and encrypted arrays, of which only the shape matters, vectors of numbers,
    which stand for what `client.encrypt` makes of them, and `ArraySpec`s, which stand for what
    `client.encrypt_array` makes; lists, tuples and dictionaries of these; anything else is passed on as it
    is. Without arguments every required positional parameter of the program becomes a fresh ciphertext of all
    slots.

    keys: what the engine will have, when that is not just the keys that the program needs; all of them occupy
        memory. keep_seeds, circuits, bootstrap: as for `Engine`.
    Raises MissingKey when the program needs others than those.
    """
    first = _first_pass(params, program, args, circuits, bootstrap)
    plan = first.key_plan
    requests = _requests(plan, keys)
    if keep_seeds is None and isinstance(first._keep_seeds, frozenset):
        keep_seeds = first._keep_seeds  # as bootstraps choose; the trace would begin with keys of other sizes

    def make_ghost() -> Engine:
        how: Any = {"keep_seeds": keep_seeds, "circuits": circuits, "bootstrap": bootstrap}
        ghost = Engine(params, device="ghost", **how)
        ghost._core.joining_budget = SMALLEST_CALLS
        return ghost

    engine = make_ghost()
    engine._core.prepare_keys(requests)
    shapes = shape_call(program, args, engine)
    engine._core.take_key_uses()
    engine._place(program, (tuple(shapes), {}))
    with engine.record() as trace:
        result = engine._call(program, (tuple(shapes), {}))
    uses = {element: switches for element, (switches, _) in engine._core.take_key_uses().items()}

    def minimum() -> MinimumBudget:
        def shape(ghost: PlannedHost) -> Arguments:
            return tuple(shape_call(program, args, ghost)), {}

        return find_minimum(make_ghost, requests, program, shape)

    return ProgramTrace(trace, plan, engine.stats(), uses, result, minimum)


def _requests(plan: KeyPlan, keys: EvaluationKeys | None) -> list[tuple[int, int]]:
    """The keys of the ghost: those given, which must hold those of the plan."""
    if keys is None:
        return plan.requests()
    expect(keys, EvaluationKeys, "trace_program: keys", "use client.evaluation_keys(plan=...)")
    expect_same(plan.params, [("the key bundle", keys.params)], "trace_program")
    given = dict(keys.requests())
    missing = [each for each in plan.requests() if given.get(each[0], -1) < each[1]]
    if missing:
        raise MissingKey(
            f"trace_program: the keys lack {len(missing)} of the {len(plan)} that the program needs: "
            f"{KeyPlan(plan.params, missing)!r}; make them with client.evaluation_keys(plan=...)"
        )
    return keys.requests()


def key_plan(
    params: Params,
    program: Callable[..., Any],
    *args: Any,
    circuits: CircuitChoice | None = None,
    bootstrap: Any = None,
) -> KeyPlan:
    """The evaluation keys that `program(*args)` needs; arguments as for `trace_program`.

    bootstrap: as for `Engine`: with "auto", or options of bootstraps, those of automatic bootstraps as well.

    `client.evaluation_keys(plan=plan)` generates exactly these.
    """
    expect(params, Params, "key_plan")
    if not callable(program):
        raise WrongType(f"key_plan: got {kind_of(program)}, expected a function of ciphertexts")
    return _first_pass(params, program, args, circuits, bootstrap).key_plan


def _first_pass(
    params: Params,
    program: Callable[..., Any],
    args: tuple[Any, ...],
    circuits: CircuitChoice | None,
    bootstrap: Any,
) -> Engine:
    """A ghost engine on which the program was called."""
    engine = Engine(params, device="ghost", circuits=circuits, bootstrap=bootstrap)
    arguments = tuple(shape_call(program, args, engine)), dict[str, Any]()
    engine._place(program, arguments)
    engine._call(program, arguments)
    return engine


def shape_call(program: Callable[..., Any], args: tuple[Any, ...], engine: PlannedHost) -> list[Any]:
    """Arguments of a call on a ghost engine; a fresh ciphertext for each parameter where there are none."""
    if not args:
        return _fresh(program, engine)
    expect_call(program, args, {}, "arguments")
    return [_shaped(each, engine) for each in args]


def _fresh(program: Callable[..., Any], engine: PlannedHost) -> list[Ciphertext]:
    """One fresh ciphertext for each parameter that must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(program).parameters.values()
    needed = [each for each in parameters if each.kind in kinds and each.default is each.empty]
    return [engine.ghost_input() for _ in needed]


def _shaped(value: Any, engine: PlannedHost) -> Any:
    """`value` with ciphertexts and arrays replaced by ciphertexts without contents.

    An object that stands for ciphertexts says so with a method `_stand_in(engine)`.
    """

    def bind(ct: Ciphertext) -> Ciphertext:
        return engine.ghost_input(level=ct.level, scale=ct.scale, slots=ct.slots, real=ct.is_real)

    if defines(type(value), "_stand_in"):
        return value._stand_in(engine)
    if isinstance(value, np.ndarray) and value.ndim > 1:
        raise InvalidArgument(
            f"trace_program: an array of shape {value.shape}; for what client.encrypt_array makes of it pass "
            "hc.ArraySpec(array.shape), for client.encrypt a vector"
        )
    if isinstance(value, np.ndarray):
        array, real = vector(value, "trace_program")
        return engine.ghost_input(slots=power_of_two(len(array)), real=real)
    if isinstance(value, list | tuple):
        return type(value)(_shaped(each, engine) for each in value)
    if type(value) is dict:
        return {key: _shaped(each, engine) for key, each in value.items()}
    return bind_all(value, bind)
