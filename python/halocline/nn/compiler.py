# SPDX-License-Identifier: Apache-2.0
"""Compilation: a model, parameters and ranges become a program on ciphertexts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import InvalidArgument, LevelExhausted
from ..base.values import expect
from ..circuits.bootstrapping import Bootstrapper
from ..ckks.params import Params
from .approximation import approximate
from .compiled import CompiledModel
from .layers import Array
from .lowering import EncodedVector
from .model import INPUT, Model
from .network import Program
from .options import CompileOptions
from .ranges import Ranges
from .schedule import Demand, Refresh, Schedule, make_schedule
from .stages import Expression, Identity, Stage, stages_of, tensor_layouts
from .steps import Placed, Term
from .tensor_map import EncodedMap, TensorMap

STC_LEVELS = {3: 1.0, 2: 1.1, 1: 2.0}
"""Levels of SlotToCoeff that are tried for bootstraps, and about what one costs: fewer need more keys."""

LARGE_SLOTS = 1 << 12
"""Enough for as many matrices as bootstraps of more slots have; those take long to make."""

_ROOM_BITS = 2.0  # of the modulus, beyond what results take

_INPUT_BOUND = 256.0  # where results are sums with inputs, which have no ranges: that of images of 8 bits


def compile(model: Model, params: Params, ranges: Ranges, **options: Any) -> CompiledModel:
    """A model as a program on ciphertexts of `params`; options are fields of `CompileOptions`, by name.

    ranges: what activations get lies in these; see `calibrate`. Packing, levels and bootstraps are chosen.

    @throws InvalidArgument naming the layer that is not supported or does not fit
    @throws LevelExhausted that says how many levels are missing
    """
    model = expect(model, Model, "compile: model").expanded
    params = expect(params, Params, "compile: params")
    ranges = expect(ranges, Ranges, "compile: ranges", "use halocline.nn.calibrate").expect_for(model)
    if unknown := options.keys() - {field.name for field in dataclasses.fields(CompileOptions)}:
        known = ", ".join(field.name for field in dataclasses.fields(CompileOptions))
        raise InvalidArgument(f"compile: unknown options {', '.join(sorted(unknown))}; expected {known}")
    return _compiled(model, params, ranges, CompileOptions(**options))


def _compiled(model: Model, params: Params, ranges: Ranges, options: CompileOptions) -> CompiledModel:
    """The same of what was checked; pickles of compiled models call it."""
    return CompiledModel(model, params, ranges, options, _Compiler(model, params, ranges, options).program())


CompiledModel._compile = staticmethod(_compiled)


class _Compiler:
    """Makes the program of one model."""

    def __init__(self, model: Model, params: Params, ranges: Ranges, options: CompileOptions) -> None:
        self._model, self._params, self._options = model, params, options
        self._stages = stages_of(model, params.slots, options.batch)
        self._approximations = {
            stage.name: approximate(stage.activation, ranges[stage.name], stage.name, ranges.margin)
            for stage in self._stages
            if stage.activation is not None
        }
        self._layouts = {
            INPUT: tensor_layouts(model, params.slots, options.batch)[INPUT],
            **{each.name: each.layout for each in self._stages},
        }

    def program(self) -> Program:
        """Everything chosen."""
        schedule, bootstrappers, first = self._schedule()
        scale, limit = self._output_scale(schedule)
        last = {source: stage.name for stage in self._stages for source in stage.terms}
        placed = [
            self._placed(stage, schedule, scale, frozenset(s for s in stage.terms if last[s] == stage.name))
            for stage in self._stages
        ]
        return Program(schedule, placed, bootstrappers, self._layouts[INPUT], scale, limit, first)

    # Levels

    def _schedule(self) -> tuple[Schedule, dict[int, Bootstrapper], list[Bootstrapper]]:
        """Without bootstraps where levels suffice, else with the fewest; and the first ones of these."""
        demands = [
            Demand(
                stage.name,
                tuple(stage.terms),
                self._approximations[stage.name].levels if stage.activation is not None else 0,
                stage.activation is not None,
            )
            for stage in self._stages
        ]
        most, wanted = self._params.max_level, self._options.fresh_level
        try:
            return make_schedule(demands, most, None, wanted), {}, []
        except LevelExhausted:
            if self._params.bootstrapping is None:
                raise
        sizes = {stage.layout.slots for stage in self._stages if stage.activation is not None}
        best: tuple[float, Schedule, dict[str, Any], Bootstrapper] | None = None
        failure: LevelExhausted | None = None
        for options in self._bootstrap_options():
            # Levels are the same for all sizes that have as many matrices; small ones are made fastest.
            large = [n for n in sizes if n >> options.get("stc_levels", 0)]
            facts = self._bootstrapper(min(LARGE_SLOTS, *large) if large else max(sizes), options)
            refresh = Refresh(facts.input_level, facts.output_level)
            try:
                made = make_schedule(demands, most, refresh, wanted)
            except LevelExhausted as error:
                failure = failure or error
                continue
            cost = made.bootstraps * STC_LEVELS.get(options.get("stc_levels", 0), 1.0)
            if best is None or cost < best[0]:
                best = cost, made, options, facts
        if best is None:
            assert failure is not None  # there is at least one choice of options
            raise failure
        _, schedule, options, facts = best
        schedule = self._lowest(demands, schedule, facts)
        usual = self._bootstrappers(schedule, options)
        return schedule, usual, self._first_bootstrappers(schedule, options)

    def _lowest(self, demands: Sequence[Demand], schedule: Schedule, facts: Bootstrapper) -> Schedule:
        """The schedule with the lowest level behind bootstraps that are as many, of as few slots."""

        def slots_of(each: Schedule) -> list[int]:
            return sorted(self._layouts[name].slots for name, at in each.steps.items() if at.refreshed)

        for level in range(facts.input_level + 1, facts.output_level):
            given = facts.output_level_from(level)
            if given == facts.output_level:
                break
            with contextlib.suppress(LevelExhausted):
                refresh = Refresh(facts.input_level, given)
                made = make_schedule(demands, self._params.max_level, refresh, self._options.fresh_level)
                if slots_of(made) == slots_of(schedule):
                    return made
        return schedule

    def _bootstrappers(self, schedule: Schedule, options: Mapping[str, Any]) -> dict[int, Bootstrapper]:
        """By slots: each gives the level that the activations behind it need at most."""
        needed: dict[int, int] = {}
        for name, each in schedule.steps.items():
            if each.refreshed:
                slots = self._layouts[name].slots
                needed[slots] = max(each.activation_level, needed.get(slots, 0))
        return {n: self._bootstrapper(n, options).lowered(level) for n, level in sorted(needed.items())}

    def _first_bootstrappers(self, schedule: Schedule, options: Mapping[str, Any]) -> list[Bootstrapper]:
        """Those that are organised in another way, in order."""
        slots = [
            self._layouts[each.name].slots for each in self._stages if schedule.steps[each.name].refreshed
        ]
        first = slots[: self._options.first_bootstraps]
        if not first:
            return []
        made = self._bootstrappers(schedule, dict(options) | dict(self._options.first_bootstrap))
        return [made[n] for n in first]

    def _bootstrapper(self, slots: int, options: Mapping[str, Any]) -> Bootstrapper:
        """For that many slots, which allow at most log2(slots) matrices."""
        # The budget of an engine is for the keys of all layers, not for those of bootstraps alone.
        fitting = {"memory": 0} | dict(options)
        if "stc_levels" in fitting:
            fitting["stc_levels"] = min(fitting["stc_levels"], slots.bit_length() - 1)
        return Bootstrapper(self._params, slots=slots, **fitting)

    def _bootstrap_options(self) -> list[dict[str, Any]]:
        """Choices to try; all of them contain what the caller requested."""
        given = dict(self._options.bootstrap)
        if "slots" in given:
            raise InvalidArgument("compile: bootstrap options with slots; every layer has its own")
        base = {"order": "stc_first", "real": True, "message_bound": 1} | given
        if base["order"] != "stc_first" or "stc_levels" in base:
            return [base]
        return [base | {"stc_levels": levels} for levels in STC_LEVELS]

    # Maps

    def _source_scale(self, name: str) -> float:
        known = self._approximations.get(name)
        return known.scale if known is not None else 1.0

    def _placed(self, stage: Stage, schedule: Schedule, output_scale: float, done: frozenset[str]) -> Placed:
        known = self._approximations.get(stage.name)
        is_output = stage is self._stages[-1]
        half = known.half if known is not None else output_scale if is_output else 1.0
        middle = known.middle if known is not None else 0.0
        terms = tuple(
            self._term(source, expression, stage, self._source_scale(source) / half)
            for source, expression in stage.terms.items()
        )
        biases = self._biases(stage, (stage.constant - middle) / half)
        return Placed(stage, schedule.steps[stage.name], terms, biases, known, done)

    def _biases(self, stage: Stage, constant: Array) -> tuple[EncodedVector | None, ...]:
        """What is added to each ciphertext of an image."""
        layout = stage.layout
        used = set(layout.index()[0][constant != 0].tolist())

        def bias(part: int) -> EncodedVector | None:
            if part not in used:
                return None
            return EncodedVector(
                lambda: layout.pack(constant[None])[part], layout.slots, keep=self._options.keep
            )

        return tuple(bias(part) for part in range(layout.parts))

    def _term(self, source: str, expression: Expression, stage: Stage, factor: float) -> Term:
        layout = self._layouts[source]
        if isinstance(expression, Identity) and layout == stage.layout and layout.is_full:
            return Term(source, None, factor)
        tensor_map = TensorMap(lambda: list(expression.pieces(factor)), layout, stage.layout, stage.linear)
        how = self._options
        encoded = EncodedMap(
            tensor_map, keep=how.keep, mode=how.mode, baby_count=how.baby_count, compact=how.compact
        )
        return Term(source, encoded)

    def _output_scale(self, schedule: Schedule) -> tuple[float, float]:
        """A power of two that brings results within what the modulus holds at their level, 1 if they are; and
        the largest result that it holds, infinite where none can be larger.
        """
        stage = self._stages[-1]
        if stage.activation is not None:
            return self._approximations[stage.name].scale, np.inf
        bound = np.abs(stage.constant)
        for source, expression in stage.terms.items():
            bound = bound + expression.largest() * (
                _INPUT_BOUND if source == INPUT else self._source_scale(source)
            )
        level = self._params.level(schedule.steps[stage.name].output_level)
        room = level.log2_modulus - np.log2(level.scale) - 1
        excess = np.log2(max(bound.max(), 1.0)) + _ROOM_BITS - room
        scale = float(2.0 ** max(0, int(np.ceil(excess))))
        return scale, scale * float(2.0**room) if INPUT in stage.terms else np.inf
