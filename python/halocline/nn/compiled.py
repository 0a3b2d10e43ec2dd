# SPDX-License-Identifier: Apache-2.0
"""Compilation: a model, parameters and ranges become a program on ciphertexts.

Encrypted values are normalised: what an activation gets is divided by its bound, which the linear map before
it does, so that it costs nothing and every ciphertext that is bootstrapped holds numbers in [-1, 1].
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._values import expect
from ..bootstrapping import Bootstrapper
from ..ciphertext import Ciphertext
from ..client import Client
from ..engine import Engine, RunReport
from ..errors import ActivationRange, InvalidArgument, LevelExhausted
from ..keys import KeyPlan
from ..params import Params
from .approximation import approximate
from .checkpoint import Checkpoint, fingerprint_of
from .forecast import Forecast, forecast
from .layers import Array
from .layout import Layout
from .lowering import EncodedMap, EncodedVector, SlotMap, SparseMatrix
from .model import INPUT, Model
from .observers import Observers, OnBootstrap, Phase, Progress, no_phase
from .options import CompileOptions
from .ranges import Ranges
from .ranges import check as check_ranges
from .schedule import Demand, Refresh, Schedule, make_schedule
from .stages import Expression, Identity, Stage, input_layout, stages_of
from .steps import Placed, Step, Term, Values, steps_of
from .steps import Refresh as RefreshStep

STC_LEVELS = {3: 1.0, 2: 1.1, 1: 2.0}
"""Levels of SlotToCoeff that are tried for bootstraps, and about what one costs: fewer need more keys."""

_ROOM_BITS = 2.0  # of the modulus, beyond what results take
_INPUT_BOUND = 256.0  # where results are sums with inputs, which have no ranges: that of images of 8 bits


class Segment:
    """The part of a network from one bootstrap to the next: an oblivious program, values in, values out."""

    def __init__(self, steps: Sequence[Step], done: int, total: int) -> None:
        self.steps, self._done, self._total = tuple(steps), done, total

    def __call__(
        self, values: Values, phase: Phase = no_phase, on_bootstrap: OnBootstrap | None = None
    ) -> Values:
        """The values that what follows needs."""
        values = dict(values)
        for step in self.steps:
            with phase(step.name):
                step(values)
            if on_bootstrap is not None and isinstance(step, RefreshStep) and not _on_ghost(values):
                on_bootstrap(step.placed.name, self._done, self._total)
        return values


def _on_ghost(values: Values) -> bool:
    """Whether this is the pass that a plan is made from."""
    engine = next(iter(values.values())).engine
    return engine is not None and engine.is_ghost


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """What a model becomes."""

    schedule: Schedule
    placed: Sequence[Placed]
    """Stages in order."""
    bootstrappers: Mapping[int, Bootstrapper]
    """By slots."""
    input_layout: Layout
    output_scale: float
    """Results are this times the encrypted ones."""
    output_limit: float
    """Larger results wrap around; infinite where ranges exclude that."""


class CompiledModel:
    """A network as a program on ciphertexts: `result = engine.run(compiled, ct)`.

    Made by `compile`. The client prepares and encrypts one input, an engine with the keys of `key_plan`
    evaluates, the client decrypts. Weights are encoded for an engine at their first use.
    """

    def __init__(
        self, model: Model, params: Params, ranges: Ranges, options: CompileOptions, program: Program
    ) -> None:
        self.model, self.params, self.ranges, self.options = model, params, ranges, options
        self.program = program
        self.steps = tuple(steps_of(program.placed, program.bootstrappers))
        self.segments = tuple(_segments(self.steps))
        self._forecast: Forecast | None = None
        self._last_runs: list[RunReport] = []
        self._observers = Observers()
        self._fingerprint: str | None = None

    # The client

    def prepare(self, image: Any) -> Array:
        """Slot values of one input: normalised as the model's metadata say, checked against the ranges.

        Warns (`ActivationRange`) where it drives activations out of their ranges.
        """
        array = np.asarray(image)
        batch = array[np.newaxis] if array.shape == self.model.input_shape else array
        prepared = self.model.prepare(batch)
        if len(prepared) != 1:
            raise InvalidArgument(f"prepare: {len(prepared)} inputs, expected one")
        check_ranges(self.model, self.ranges, prepared)
        self._check_output(prepared)
        return self.program.input_layout.pack(prepared[0])

    def _check_output(self, prepared: Array) -> None:
        """Warns of results that would not fit in the modulus, where no range says that they do."""
        limit = self.program.output_limit
        if limit < np.inf and (found := float(np.abs(self.model.forward(prepared)).max())) > limit:
            warnings.warn(
                f"results of up to {found:.3g}, but the encrypted ones hold {limit:.3g} and would be wrong: "
                "scale inputs or the last layer down",
                ActivationRange,
                stacklevel=3,
            )

    def encrypt(self, client: Client, image: Any) -> Ciphertext:
        """One input, prepared and encrypted at the level that the network needs."""
        client = expect(client, Client, "encrypt: client")
        slots = self.program.input_layout.slots
        return client.encrypt(self.prepare(image), level=self.program.schedule.fresh_level, slots=slots)

    def decrypt(self, client: Client, ciphertext: Ciphertext) -> Array:
        """What the network says, of shape `model.output_shape`."""
        layout = self.program.placed[-1].stage.layout
        values = layout.unpack(client.decrypt(ciphertext, real=True)) * self.program.output_scale
        return values.reshape(self.model.output_shape)

    def simulate(self, images: Any) -> Array:
        """Results for a batch of inputs with the polynomials of the encrypted network, without its noise."""
        functions = {
            each.name: each.approximation.clear
            for each in self.program.placed
            if each.approximation is not None
        }
        return self.model.forward(self.model.prepare(images), functions)

    # The server

    def __call__(
        self, ct: Ciphertext, phase: Phase = no_phase, on_bootstrap: OnBootstrap | None = None
    ) -> Ciphertext:
        """The encrypted result: a program for `Engine.run`."""
        values: Values = {INPUT: self._expect_input(ct)}
        del ct
        for segment in self.segments:
            values = segment(values, phase, on_bootstrap)
        return values[self.model.output]

    def _expect_input(self, ct: Ciphertext) -> Ciphertext:
        """A ciphertext with the slots and levels of an input."""
        ct = expect(ct, Ciphertext, "network: input", "use CompiledModel.encrypt")
        slots, level = self.program.input_layout.slots, self.program.schedule.fresh_level
        if ct.slots != slots or ct.level < level:
            raise InvalidArgument(
                f"network: an input of {ct.slots} slots at level {ct.level}, expected {slots} slots at level "
                f"{level} or above; make it with CompiledModel.encrypt"
            )
        return ct

    def run(
        self,
        engine: Engine,
        ct: Ciphertext | None,
        *,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
        phase: Phase = no_phase,
        on_bootstrap: OnBootstrap | None = None,
    ) -> Ciphertext:
        """The encrypted result; `last_run` says what that took.

        checkpoint: a file that holds the live ciphertexts after each segment. The segments are then runs of
            the engine, each with a plan of its own. Where there is such a file of this network and input,
            the run goes on from it; it is removed at the end. `ct` may be None then.
        progress: called at the beginning and after each segment: from one bootstrap to the next.
        @throws InvalidArgument when the checkpoint is of something else; KeyMismatch when it, or the input,
            is of another client than the engine's keys; CorruptData, IoError
        """
        engine = expect(engine, Engine, "run: engine")
        tell = progress or (lambda done, total: None)
        total = len(self.segments)

        def bootstrapped(name: str, done: int, count: int) -> None:
            if checkpoint is None:
                tell(done, total)
            if on_bootstrap is not None:
                on_bootstrap(name, done, count)

        self._observers.name_phase, self._observers.tell = phase, bootstrapped
        if checkpoint is not None:
            return self._run_segments(engine, ct, Checkpoint(checkpoint, self, engine.key_id), tell)
        if ct is None:
            raise InvalidArgument("run: no input, and no checkpoint to go on from; pass checkpoint=")
        tell(0, total)
        result = self._observers.run(engine, self, ct)
        tell(total, total)
        self._last_runs = _reports_of(engine)
        return result

    def _run_segments(
        self, engine: Engine, ct: Ciphertext | None, kept: Checkpoint, tell: Progress
    ) -> Ciphertext:
        """One run of the engine after the other, and a checkpoint after each but the last."""
        position, values = self._begin(kept, ct)
        self._last_runs, total = [], len(self.segments)
        tell(position, total)
        for done in range(position + 1, total + 1):
            values = self._observers.run(engine, self.segments[done - 1], values)
            self._last_runs += _reports_of(engine)
            if done < total:
                kept.save(done, values)
            tell(done, total)
        kept.remove()
        return values[self.model.output]

    def _begin(self, kept: Checkpoint, ct: Ciphertext | None) -> tuple[int, Values]:
        """Segments done, and the values after them."""
        if ct is not None:
            kept.expect_input(self._expect_input(ct))
        if (found := kept.load()) is not None:
            return found
        if ct is None:
            raise InvalidArgument(f"run: no input, and no checkpoint to go on from at '{kept.path}'")
        return 0, {INPUT: ct}

    @property
    def last_run(self) -> RunReport | None:
        """What the last `run` did, all its segments together; None before one."""
        return _sum_of(self._last_runs) if self._last_runs else None

    def live_values(self, position: int) -> set[str]:
        """Names of the values after that many segments."""
        if not 0 < position < len(self.segments):
            return set()
        names = {INPUT}
        for segment in self.segments[:position]:
            for step in segment.steps:
                names = step.live_after(names)
        return names

    @property
    def fingerprint(self) -> str:
        """Names the network, its weights, ranges, parameters and schedule."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint_of(self)
        return self._fingerprint

    # Before anything is allocated

    @property
    def key_plan(self) -> KeyPlan:
        """The evaluation keys that it needs, each with its level."""
        return self.report().key_plan

    def report(self) -> Forecast:
        """Levels, operation counts by kind, keys, footprint by object class: from a ghost run.

        Made at the first call, which encodes all weights on a ghost engine.
        """
        if self._forecast is None:
            self._forecast = forecast(self)
        return self._forecast

    def __repr__(self) -> str:
        return (
            f"CompiledModel({len(self.model.nodes)} layers on {self.params.name!r}, "
            f"{self.program.schedule.bootstraps} bootstraps, input of {self.program.input_layout.slots} "
            f"slots at level {self.program.schedule.fresh_level})"
        )


def _reports_of(engine: Engine) -> list[RunReport]:
    return [] if engine.last_run is None else [engine.last_run]


def _sum_of(runs: Sequence[RunReport]) -> RunReport:
    """Times, bytes and steps added up, peaks the largest."""
    moved: dict[str, int] = {}
    for way, count in (item for each in runs for item in each.bytes_moved.items()):
        moved[way] = moved.get(way, 0) + count
    return RunReport(
        seconds=sum(each.seconds for each in runs),
        plan_seconds=sum(each.plan_seconds for each in runs),
        stall_seconds=sum(each.stall_seconds for each in runs),
        bytes_moved=moved,
        peak_bytes=max(each.peak_bytes for each in runs),
        steps=sum(each.steps for each in runs),
        peak_fast_bytes=max(each.peak_fast_bytes for each in runs),
        followed_plan=all(each.followed_plan for each in runs),
    )


def _segments(steps: Sequence[Step]) -> list[Segment]:
    """Steps from each bootstrap to the next one."""
    parts: list[list[Step]] = [[]]
    for step in steps:
        if isinstance(step, RefreshStep):
            parts.append([])
        parts[-1].append(step)
    return [Segment(part, index, len(parts) - 1) for index, part in enumerate(parts)]


def compile(model: Model, params: Params, ranges: Ranges, **options: Any) -> CompiledModel:
    """A model as a program on ciphertexts of `params`; options are fields of `CompileOptions`, by name.

    ranges: what activations get lies in these; see `calibrate`. Packing, levels and bootstraps are chosen.

    @throws InvalidArgument naming the layer that is not supported or does not fit
    @throws LevelExhausted that says how many levels are missing
    """
    model = expect(model, Model, "compile: model")
    params = expect(params, Params, "compile: params")
    ranges = expect(ranges, Ranges, "compile: ranges", "use halocline.nn.calibrate").expect_for(model)
    if unknown := options.keys() - {field.name for field in dataclasses.fields(CompileOptions)}:
        known = ", ".join(field.name for field in dataclasses.fields(CompileOptions))
        raise InvalidArgument(f"compile: unknown options {', '.join(sorted(unknown))}; expected {known}")
    chosen = CompileOptions(**options)
    return CompiledModel(model, params, ranges, chosen, _Compiler(model, params, ranges, chosen).program())


def _nonzero(expression: Expression, name: str) -> SparseMatrix:
    """The matrix of an expression; InvalidArgument where nothing is left of it."""
    made = expression.matrix()
    if not made.value.any():
        raise InvalidArgument(f"layer {name!r}: has no effect: together with the layers before it, it is 0")
    return made


class _Compiler:
    """Makes the program of one model."""

    def __init__(self, model: Model, params: Params, ranges: Ranges, options: CompileOptions) -> None:
        self._model, self._params, self._options = model, params, options
        self._stages = stages_of(model, params.slots)
        self._approximations = {
            stage.name: approximate(stage.activation, ranges[stage.name], stage.name, ranges.margin)
            for stage in self._stages
            if stage.activation is not None
        }
        self._layouts = {INPUT: input_layout(model, params.slots)} | {
            each.name: each.layout for each in self._stages
        }

    def program(self) -> Program:
        """Everything chosen."""
        schedule, bootstrappers = self._schedule()
        scale, limit = self._output_scale(schedule)
        last = {source: stage.name for stage in self._stages for source in stage.terms}
        placed = [
            self._placed(stage, schedule, scale, frozenset(s for s in stage.terms if last[s] == stage.name))
            for stage in self._stages
        ]
        return Program(schedule, placed, bootstrappers, self._layouts[INPUT], scale, limit)

    # Levels

    def _schedule(self) -> tuple[Schedule, dict[int, Bootstrapper]]:
        """Without bootstraps where levels suffice, else with the fewest."""
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
            return make_schedule(demands, most, None, wanted), {}
        except LevelExhausted:
            if self._params.bootstrapping is None:
                raise
        sizes = {stage.layout.slots for stage in self._stages if stage.activation is not None}
        best: tuple[float, Schedule, dict[str, Any]] | None = None
        failure: LevelExhausted | None = None
        for options in self._bootstrap_options():
            # Levels are the same for all sizes that have as many matrices; small ones are made fastest.
            large = [n for n in sizes if n >> options.get("stc_levels", 0)]
            facts = self._bootstrapper(min(large, default=max(sizes)), options)
            refresh = Refresh(facts.input_level, facts.output_level)
            try:
                made = make_schedule(demands, most, refresh, wanted)
            except LevelExhausted as error:
                failure = failure or error
                continue
            cost = made.bootstraps * STC_LEVELS.get(options.get("stc_levels", 0), 1.0)
            if best is None or cost < best[0]:
                best = cost, made, options
        if best is None:
            assert failure is not None  # there is at least one choice of options
            raise failure
        _, schedule, options = best
        used = {self._layouts[name].slots for name, each in schedule.steps.items() if each.refreshed}
        return schedule, {n: self._bootstrapper(n, options) for n in sorted(used)}

    def _bootstrapper(self, slots: int, options: Mapping[str, Any]) -> Bootstrapper:
        """For that many slots, which allow at most log2(slots) matrices."""
        fitting = dict(options)
        if "stc_levels" in fitting:
            fitting["stc_levels"] = min(fitting["stc_levels"], slots.bit_length() - 1)
        return Bootstrapper(self._params, slots=slots, **fitting)

    def _bootstrap_options(self) -> list[dict[str, Any]]:
        """Choices to try; what the caller wants is in all of them."""
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
        constant = (stage.constant - middle) / half
        keep = self._options.keep
        bias = None
        if constant.any():
            bias = EncodedVector(lambda: stage.layout.pack(constant), stage.layout.slots, keep=keep)
        return Placed(stage, schedule.steps[stage.name], terms, bias, known, done)

    def _term(self, source: str, expression: Expression, stage: Stage, factor: float) -> Term:
        layout = self._layouts[source]
        if isinstance(expression, Identity) and layout == stage.layout and layout.is_full:
            return Term(source, None, factor)
        slot_map = SlotMap(lambda: _nonzero(expression, stage.linear).scaled(factor), layout, stage.layout)
        how = self._options
        encoded = EncodedMap(
            slot_map, keep=how.keep, mode=how.mode, baby_count=how.baby_count, compact=how.compact
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
            matrix = expression.matrix()
            weights = np.bincount(matrix.row, weights=np.abs(matrix.value), minlength=matrix.rows)
            bound = bound + weights * (_INPUT_BOUND if source == INPUT else self._source_scale(source))
        level = self._params.level(schedule.steps[stage.name].output_level)
        room = level.log2_modulus - np.log2(level.scale) - 1
        excess = np.log2(max(bound.max(), 1.0)) + _ROOM_BITS - room
        scale = float(2.0 ** max(0, int(np.ceil(excess))))
        return scale, scale * float(2.0**room) if INPUT in stage.terms else np.inf
