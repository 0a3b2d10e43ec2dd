# SPDX-License-Identifier: Apache-2.0
"""Runs under a plan: a ghost pass records the accesses of the program, a plan schedules the transfers.

The ghost pass runs the program on the engine's *twin*: a ghost engine with the same keys. Plans are kept per
identity of the program (`program_identity.py`) and shapes of its arguments. The first plan assumes the
objects that are resident when the program begins. Before the second run the program is planned again for
repeated runs, which begin with the objects that they leave resident.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from .. import _core
from ..base import limits
from ..base.errors import CorruptData, Error, InvalidArgument, PlanDivergence
from ..base.files import read_file
from ..ckks.ciphertext import Ciphertext, bind_all
from ..memory.trace import Trace
from .host import PlannedHost
from .plan_choice import COMPOSED_USES, PlanChoice, Routes, best_of, routes_of
from .program_identity import Arguments, ProgramIdentities

PLANS_KEPT = 32
"""Plans that an engine keeps; the least recently used one is dropped first."""

_STALL_WORTH_COMPOSING = 0.02
"""Share of a plan's time that it must lose to stalls before composing rotations is tried."""
_GAIN_WORTH_COMPOSING = 0.99
"""Composed rotations must bring the forecast below this share of what it was."""

_PLAN_ATTEMPTS = 3
"""How often a program is planned anew because the budget changed before its plan began."""


@dataclasses.dataclass
class Prepared:
    """A plan, ready to be followed."""

    plan: _core.Plan
    encoded: list[tuple[weakref.ref[Any], int]] = dataclasses.field(default_factory=list)
    """Circuits, and levels, that the program encodes at first use. A plan keeps no circuit alive."""
    is_final: bool = False
    """Made after a first run: the program begins with what it leaves in memory."""
    is_given: bool = False
    """The caller's; otherwise it may be made anew."""
    choice: PlanChoice | None = None
    """Among which plans it was chosen; None where that was not asked for."""


class ProgramPlanner:
    """Makes, keeps and follows the plans of one engine. Used by one run at a time."""

    def __init__(self, engine: PlannedHost, identities: ProgramIdentities) -> None:
        self._engine, self._identities = engine, identities
        self._twin: PlannedHost | None = None
        self._twin_keys: list[tuple[int, int]] = []
        self._plans: OrderedDict[Hashable, Prepared] = OrderedDict()
        self.ghost_passes = 0
        """How often programs were called on the twin so far."""
        self.divergence: str | None = None
        """Why the last run had no plan, or left it; None where it followed one or needed none."""
        self._failure: str | None = None  # why the run that comes has no plan
        self.shaping: PlannedHost | None = None
        """The twin while a program runs on it."""

    @classmethod
    def of(cls, engine: PlannedHost, identities: ProgramIdentities, policy: str) -> ProgramPlanner | None:
        """The planner of an engine; None where no plan is followed."""
        return cls(engine, identities) if policy == "planned" and engine._core.moves else None

    # Plans

    def plan_for(
        self,
        program: Callable[..., Any],
        arguments: Arguments,
        name: Hashable = None,
        *,
        optimize: bool = False,
    ) -> Prepared | None:
        """The plan of a program for arguments of these shapes; None where it cannot be planned (warns).

        optimize: choose among several plans. name: what stands for the program instead of its code and the
            values that it reaches.
        Raises InvalidArgument where one of these cannot be compared between runs.
        """
        cold = self._engine._begins_cold
        key = (
            self._identities.identify(program, arguments, name),
            tuple(self._engine._plan_keys()),
            self._engine.budget_bytes,
            self._engine._core.manual,
            optimize,
            cold,
            cold and self._engine._core.binds_keys and _are_far(self._engine),
        )
        found = self._plans.get(key)
        first = found is None
        if found is None or (not cold and not found.is_final and found.plan.loaded_bytes > 0):
            found = self._try_to_plan(program, arguments, steady=not first, optimize=optimize)
            if found is None:
                return None
            self._plans[key] = found
        self._plans.move_to_end(key)
        while len(self._plans) > PLANS_KEPT:
            self._plans.popitem(last=False)
        return found

    def forget(self, prepared: Prepared) -> None:
        """Drops a plan that did not fit its program."""
        for key in [key for key, each in self._plans.items() if each is prepared]:
            del self._plans[key]

    def _try_to_plan(
        self, program: Callable[..., Any], arguments: Arguments, *, steady: bool, optimize: bool
    ) -> Prepared | None:
        try:
            return self._make_plan(program, arguments, steady, optimize)
        except Error as error:
            if isinstance(error, MemoryError):
                raise  # the budget is below the minimum: the message states it
            self._failure = f"the program could not be planned: {error}"
            _warn(f"the program could not be planned and runs under 'lru': {error}")
            return None

    def _make_plan(
        self, program: Callable[..., Any], arguments: Arguments, steady: bool, optimize: bool
    ) -> Prepared:
        twin = self._make_twin()
        twin._take_encoded()  # of a pass that failed
        trace = self._ghost_pass(twin, program, arguments)
        encoded = [(weakref.ref(circuit), level) for circuit, level in twin._take_encoded()]
        if encoded:
            # The first pass encoded weights, which the engine will have done before it begins, and bootstraps
            # chose how they are done and which keys stay seeded.
            self._engine._keep_seeds_as(twin)
            trace = self._ghost_pass(twin, program, arguments)
        plan = self._plan(trace, steady)
        if not optimize:
            if self._engine._composes and plan.stall_ns > _STALL_WORTH_COMPOSING * plan.total_ns:
                plan = self._composed(twin, program, arguments, plan, steady)
            return Prepared(plan, encoded, is_final=steady)
        tried = [("as planned by default", plan), *self._narrower(trace, steady)]
        if self._engine._composes:
            tried += self._compositions(twin, program, arguments, steady)
        plan, choice = best_of(tried, self._engine.params.n)
        return Prepared(plan, encoded, is_final=steady, choice=choice)

    def _plan(self, trace: Trace, steady: bool, **limits: bool) -> _core.Plan:
        engine = self._engine
        if engine._begins_cold and engine._core.binds_keys and not steady:
            engine._core.evict_keys(False)  # later runs under this plan find fewer keys there
        context = engine._plan_context()
        return engine._core.make_plan(trace._core, engine.budget_bytes, context, steady, **limits)

    def _narrower(self, trace: Trace, steady: bool) -> list[tuple[str, _core.Plan]]:
        """Plans that may do less than the default one; the planner is a heuristic, so one may be better."""
        made = [("nothing regenerated", self._plan(trace, steady, regenerate=False))]
        with contextlib.suppress(MemoryError):  # whole objects need more room than parts
            made.append(("whole objects", self._plan(trace, steady, prefixes=False)))
        return made

    def _composed(
        self,
        twin: PlannedHost,
        program: Callable[..., Any],
        arguments: Arguments,
        plan: _core.Plan,
        steady: bool,
    ) -> _core.Plan:
        """A plan with rarely used rotations made of others, where that is faster; else the plan given."""
        uses = twin._core.take_key_uses()
        switches = sum(count for count, _ in uses.values())
        keys = max(1, len(uses))
        switch_ns = plan.resident_ns / max(1, switches)
        load_ns = plan.load_busy_ns / max(1.0, plan.loaded_bytes) * plan.footprint_bytes / keys
        routes = self._engine._core.suggest_routes(uses, switch_ns, load_ns)
        if not routes:
            return plan
        other = self._routed(twin, program, arguments, routes, steady)
        return other if other.total_ns < _GAIN_WORTH_COMPOSING * plan.total_ns else plan

    def _routed(
        self,
        twin: PlannedHost,
        program: Callable[..., Any],
        arguments: Arguments,
        routes: Routes,
        steady: bool,
    ) -> _core.Plan:
        """The plan of a program whose rotations follow routes."""
        twin._core.set_routes(routes)
        try:
            made = self._plan(self._ghost_pass(twin, program, arguments), steady)
        finally:
            twin._core.set_routes({})
        made.set_compositions(routes)
        return made

    def _compositions(
        self, twin: PlannedHost, program: Callable[..., Any], arguments: Arguments, steady: bool
    ) -> list[tuple[str, _core.Plan]]:
        """Plans with more and more rotations made of others; the program itself was the last on the twin."""
        uses = twin._core.take_key_uses()
        made: list[tuple[str, _core.Plan]] = []
        before: Routes = {}
        for most in COMPOSED_USES:
            routes = routes_of(self._engine, uses, most)
            if routes == before:
                continue
            before = routes
            plan = self._routed(twin, program, arguments, routes, steady)
            made.append((f"{len(routes)} rotations composed", plan))
        return made

    def _make_twin(self) -> PlannedHost:
        keys = self._engine._plan_keys()
        if self._twin is None or keys != self._twin_keys:
            self._twin = self._engine._ghost_twin(keys)
            self._twin_keys = keys
        return self._twin

    def _ghost_pass(self, twin: PlannedHost, program: Callable[..., Any], arguments: Arguments) -> Trace:
        core = self._engine._core
        twin._core.take_key_uses()
        twin._core.manual = core.manual
        twin._core.joining_budget = self._engine.budget_bytes
        shaped = shape_arguments(arguments, twin)
        name_inputs(twin, shaped)
        core.watch()
        self.ghost_passes += 1
        self.shaping = twin
        try:
            twin._follow(self._engine)
            with twin.record() as trace:
                result = twin._call(program, shaped)
            del result
        finally:
            self.shaping = None
            twin._core.manual = False
            used = core.end_watch()
        if used:
            raise InvalidArgument(
                "it uses ciphertexts of this engine that are not among its arguments; pass them to run()"
            )
        return trace

    # Runs

    def call(self, prepared: Prepared | None, program: Callable[..., Any], arguments: Arguments) -> Any:
        """The program under its plan; warns, and drops the plan, when it does something else."""
        core = self._engine._core
        core.end_plan()  # of a run that was interrupted while it ended
        self.divergence, self._failure = self._failure if prepared is None else None, None
        if prepared is None:
            return self._engine._call(program, arguments)
        self._encode(prepared)
        name_inputs(self._engine, arguments)
        finished = False
        try:
            core.set_routes(prepared.plan.compositions)
            if not self._begin(prepared, program, arguments):
                self.divergence = "the budget changed while the program was planned"
                _warn(f"{self.divergence}; it runs under 'lru'")
            result = self._engine._call(program, arguments)
            finished = True
            return result
        finally:
            _, diverged, reason = core.end_plan()
            core.set_routes({})
            core.joining_budget = None
            if diverged:
                self.divergence = reason
                self.forget(prepared)
                if finished:
                    _warn(f"the program left its plan and went on under 'lru': {reason}")

    def _encode(self, prepared: Prepared) -> None:
        """Encodes what the program would encode at its first use, before the plan begins."""
        for kept, level in prepared.encoded:
            circuit = kept()
            if circuit is not None:
                circuit._on(self._engine, level)

    def _begin(self, prepared: Prepared, program: Callable[..., Any], arguments: Arguments) -> bool:
        """Begins to follow a plan, or one made anew when the budget has become too small for it meanwhile."""
        core = self._engine._core
        for _ in range(_PLAN_ATTEMPTS):
            if core.begin_plan(prepared.plan):
                core.joining_budget = prepared.plan.capacity_bytes  # the steps that were planned
                return True
            if prepared.is_given:
                size = _core.format_bytes
                raise InvalidArgument(
                    f"run: the plan was made for {size(prepared.plan.capacity_bytes)}, the budget is "
                    f"{size(self._engine.budget_bytes)}; plan again for this budget"
                )
            core.set_routes({})
            optimize = prepared.choice is not None
            made = self._try_to_plan(program, arguments, steady=False, optimize=optimize)
            if made is None:
                return False
            prepared.plan, prepared.encoded, prepared.is_final = made.plan, made.encoded, False
            prepared.choice = made.choice
            core.set_routes(prepared.plan.compositions)
        return False


def _are_far(engine: PlannedHost) -> bool:
    """Whether most of what is to be loaded of keys of a store is on no tier between."""
    rows = [row for row in engine._core.key_places() if row["copies"]]
    near = sum(count for row in rows for name, count in row["copies"].items() if name != "remote")
    return 2 * near < sum(row["nbytes"] - row["made_bytes"] for row in rows)


def _warn(message: str) -> None:
    """A warning that names the line which called this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PlanDivergence, stacklevel=level)


def shape_arguments(arguments: Arguments, ghost: PlannedHost) -> Arguments:
    """Arguments with every ciphertext replaced by one without contents, the same for the same."""
    made: dict[int, Ciphertext] = {}

    def bind(ct: Ciphertext) -> Ciphertext:
        if id(ct._core) not in made:
            made[id(ct._core)] = ghost.ghost_input(
                level=ct.level, scale=ct.scale, slots=ct.slots, real=ct.is_real
            )
        return made[id(ct._core)]

    args, kwargs = arguments
    return tuple(bind_all(each, bind) for each in args), {
        k: bind_all(each, bind) for k, each in kwargs.items()
    }


def name_inputs(engine: PlannedHost, arguments: Arguments) -> None:
    """Numbers the ciphertexts among the arguments in their order."""
    seen: dict[int, int] = {}

    def name(ct: Ciphertext) -> Ciphertext:
        if id(ct._core) not in seen:
            seen[id(ct._core)] = len(seen)
            engine._core.name_input(ct._core, seen[id(ct._core)])
        return ct

    args, kwargs = arguments
    for each in (*args, *kwargs.values()):
        bind_all(each, name)


def load_plan(source: Any, context: str, composes: bool) -> _core.Plan:
    """A plan object or file, checked to be made for these parameters and keys.

    composes: whether the plan may compose rotations, which is the only thing that changes integers.
    Raises CorruptData for a damaged file, InvalidArgument for one of other parameters or with compositions.
    """
    if isinstance(source, str | Path):
        plan = _core.Plan.from_bytes(read_file(source, "run: plan", limits.PLAN))
    else:
        plan = getattr(source, "_core", source)
        if not isinstance(plan, _core.Plan):
            raise CorruptData(f"run: expected a plan or the path of one, got {type(source).__name__}")
    if plan.parameters != context:
        raise InvalidArgument(
            "run: the plan was made for other parameters or another way of keeping keys; "
            f"it names {plan.parameters[:200]!r}, this engine is '{context}'. Plan again with this engine"
        )
    if plan.compositions and not composes:
        raise InvalidArgument(
            f"run: the plan composes {len(plan.compositions)} rotations of others, which changes the noise "
            "of results; plan again, or allow it: Engine(..., compose_rotations=True)"
        )
    return plan
