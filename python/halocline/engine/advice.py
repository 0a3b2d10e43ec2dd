# SPDX-License-Identifier: Apache-2.0
"""Advice: the ways to run a program that read less, compared by bytes, requests and forecast time.

Each variant is executed on a ghost, its trace is planned for the budget, and the plan is simulated on a
device with the link. The search takes one group of alternatives after the other and goes on from the best
variant so far, so that it needs some ten to thirty ghost passes and not the product of all choices.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _core
from ..base.errors import LevelExhausted, OutOfMemory, WrongType
from ..base.names import Device, Mode
from ..base.values import byte_count, expect, integer, kind_of, positive
from ..circuits.bootstrapping import Bootstrapper
from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.keys import KeyPlan
from ..ckks.params import Params
from ..memory.budget import budget_of
from ..memory.trace import Trace
from ..tracing.forecast import Forecast, forecast
from ..tracing.links import Link, link_of
from ..tracing.replay import DeviceModel, device_model
from .engine import Engine
from .minimum import table_minimum
from .plan_choice import COEFFICIENT_BYTES, COMPOSED_USES, Routes, rounded, routes_of
from .planned_run import name_inputs
from .program import shape_call

MODES: tuple[Mode, ...] = ("double_hoisted", "bsgs", "small_key")
"""Of linear maps that are tried; "naive" needs a key for each diagonal."""
BABY_COUNTS = (2, 4, 8, 16)
SEEDS = ("planned", "kept", "loaded")
"""What becomes of the half of each key that a seed stands for. planned: it comes over the link, or its seed
is expanded, as the planner decides, likewise encoded weights; kept: keys stay seeded, and are expanded at
each use; loaded: nothing is expanded or encoded again."""


AS_WRITTEN = CircuitChoice()
_KEPT_BOOTSTRAPS = CircuitChoice(bootstrap_memory=0)
"""Of programs that bootstrap: engines do what was traced, and choose nothing by their budget."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to run a program."""

    circuits: CircuitChoice = AS_WRITTEN
    """How linear maps and bootstraps are organised; None in a field: as the program says."""
    seeds: str = "planned"
    """One of SEEDS."""
    prefixes: bool = True
    """Of keys, load what the level needs; otherwise whole objects."""
    composed: int = 0
    """Rotations that the program uses at most so often are composed of others; 0: none are."""
    dropped_levels: int = 0
    """Levels that inputs have less, and results too: prefixes of keys are shorter."""
    batch: int = 1
    """Inputs in one run, which share what is loaded."""

    @property
    def engine_options(self) -> dict[str, Any]:
        """Keyword arguments of `Engine` for it."""
        made: dict[str, Any] = {"keep_seeds": self.seeds == "kept"}
        if self.composed:
            made["compose_rotations"] = True
        if self.circuits != AS_WRITTEN:
            made["circuits"] = self.circuits
        return made

    @property
    def is_comparison(self) -> bool:
        """Whether it shows what prefixes and regeneration save: an engine makes use of both by itself."""
        return not self.prefixes or self.seeds == "loaded"

    @property
    def changes(self) -> int:
        """How many decisions differ from the program as it is written."""
        said = dataclasses.replace(self.circuits, bootstrap_memory=None)
        circuits = [getattr(said, each.name) for each in dataclasses.fields(CircuitChoice)]
        others = [getattr(self, each.name) != each.default for each in dataclasses.fields(Variant)[1:]]
        return sum(each is not None for each in circuits) + sum(others)

    def __str__(self) -> str:
        parts = [str(self.circuits)] if str(self.circuits) else []
        parts += [f"seeds {self.seeds}"]
        parts += [f"rotations of {self.composed} uses composed"] * bool(self.composed) + ["whole objects"] * (
            not self.prefixes
        )
        parts += [f"inputs {self.dropped_levels} levels lower"] * bool(self.dropped_levels)
        parts += [f"batches of {self.batch}"] * (self.batch > 1)
        return "; ".join(parts)


@dataclasses.dataclass(frozen=True)
class Row:
    """What a variant would take; bytes, requests and seconds are of a run, of `variant.batch` inputs."""

    variant: Variant
    keys: int
    """Distinct evaluation keys."""
    key_bytes: int
    """Of all of them, as the engine keeps them."""
    compositions: int
    """Rotations made of others."""
    minimum_bytes: int
    """Smallest budget in which the run has a plan."""
    forecast: Forecast | None
    """None where it does not fit in the budget."""

    @property
    def seconds_each(self) -> float:
        """Forecast for one input; infinite where it does not fit."""
        return self.forecast.seconds / self.variant.batch if self.forecast else math.inf

    @property
    def moved_each(self) -> float:
        """Bytes over the link for one input; infinite where it does not fit."""
        return self.forecast.moved_bytes / self.variant.batch if self.forecast else math.inf

    def same_as(self, other: Row) -> bool:
        """Whether another variant makes no difference, as that of an option that the program has already."""
        alike = dataclasses.replace(other, variant=self.variant) == self
        return alike and other.variant.batch == self.variant.batch

    def _order(self) -> tuple[float, ...]:
        """The best row first; then those for comparison; then those that do not fit, by what they need.

        Times and bytes that agree in three digits count as equal: then the simpler variant comes first.
        """
        if self.forecast is None:
            return (2, self.minimum_bytes, self.variant.changes)
        seconds, moved = rounded(self.seconds_each), rounded(self.moved_each)
        return (self.variant.is_comparison, seconds, moved, self.variant.changes, self.seconds_each)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the plan."""
        found = self.forecast
        about = {
            "variant": str(self.variant),
            **{field.name: getattr(self.variant, field.name) for field in dataclasses.fields(Variant)},
            "circuits": dataclasses.asdict(self.variant.circuits),
            "keys": self.keys,
            "key_bytes": self.key_bytes,
            "compositions": self.compositions,
            "minimum_bytes": self.minimum_bytes,
            "fits": found is not None,
        }
        if found is None:
            return about
        numbers = {f.name: getattr(found, f.name) for f in dataclasses.fields(Forecast) if f.name != "plan"}
        return about | numbers | {"seconds_each": self.seconds_each, "moved_bytes_each": self.moved_each}


@dataclasses.dataclass(frozen=True)
class Advice:
    """What `advise` found: rows with the best first; see `Variant.is_comparison` for those behind them."""

    rows: tuple[Row, ...]
    budget_bytes: int
    """Of the device's memory, for which all rows are planned."""
    link: Link | None
    """None: that of the device."""
    device: str
    """Name of the simulated device."""

    @property
    def best(self) -> Row:
        """The variant with the shortest forecast. Raises OutOfMemory where none fits in the budget."""
        if self.rows[0].forecast is None:
            size = _core.format_bytes
            raise OutOfMemory(
                f"advise: no variant fits in {size(self.budget_bytes)}; the least that one needs is "
                f"{size(self.rows[0].minimum_bytes)} ({self.rows[0].minimum_bytes} bytes): "
                f"{self.rows[0].variant}"
            )
        return self.rows[0]

    @property
    def written(self) -> Row:
        """The program as it is written."""
        return next(each for each in self.rows if each.variant.changes == 0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "device": self.device,
            "link": None if self.link is None else self.link.to_dict(),
            "budget_bytes": self.budget_bytes,
            "rows": [each.to_dict() for each in self.rows],
        }


@dataclasses.dataclass(frozen=True)
class Subject:
    """A program that advice is wanted for."""

    params: Params
    prepare: Callable[[Engine, Variant], Callable[[], Any]]
    """Makes inputs on a ghost; returns the program as a function without arguments."""
    batches: Sequence[int] = ()
    """Batch sizes to try besides 1."""
    levels: bool = False
    """Whether inputs may come at lower levels."""
    maps: bool = True
    """Whether the organisation of linear maps may change; that of bootstraps may."""


def advise(
    params: Params,
    program: Callable[..., Any],
    *args: Any,
    memory: int | str | None = None,
    link: str | Link | None = None,
    device: str | DeviceModel = "h200",
    batches: Sequence[int] = (),
    keep_levels: bool = False,
    kernel_scale: float = 1.0,
    runs_on: Device = "cpu",
    only_keys_cold: bool = False,
    progress: Callable[[str, int], None] | None = None,
) -> Advice:
    """Compares ways to run `program(*args)` whose keys and weights begin on the far side of a link.

    params, program, args: as for `trace_program`; nothing is computed. memory: budget of the device's
    memory: bytes, "2GiB", "25%" of what is live at once in the program as it is written, or None for all
    that the device leaves. link: a name of LINKS, text such as "12GB/s,latency=50us,requests=8", or a `Link`;
    None is that of the device model. device: whose speed of computing is assumed; `kernel_scale` is a factor
    on the times of its operations. batches: numbers of inputs in one run to try. keep_levels: results must
    have the levels that they have now; otherwise inputs at the lowest possible level are tried too.
    runs_on: device of engines that may follow the plans of rows (`Engine.run(..., plan=row.forecast.plan)`).
    only_keys_cold: weights and tables stay in the device's memory, as far as they have room; keys do not.
    progress: called with what is tried now and how many variants are done.

    Raises OutOfMemory on `.best` only: variants that do not fit are rows with the smallest budget they need.
    """
    if not callable(program):
        raise WrongType(f"advise: got {kind_of(program)}, expected a function of ciphertexts")
    sizes = sorted({integer(each, "advise: batches", 1, 1024) for each in batches} - {1})

    def prepare(engine: Engine, variant: Variant) -> Callable[[], Any]:
        inputs = [
            [_lowered(each, variant.dropped_levels) for each in shape_call(program, args, engine)]
            for _ in range(variant.batch)
        ]
        name_inputs(engine, (tuple(inputs), {}))
        return lambda: [program(*each) for each in inputs]

    subject = Subject(expect(params, Params, "advise"), prepare, sizes, not keep_levels)
    how: dict[str, Any] = {"kernel_scale": kernel_scale, "runs_on": runs_on, "progress": progress}
    return advise_subject(subject, memory, link, device, only_keys_cold=only_keys_cold, **how)


def _lowered(value: Any, levels: int) -> Any:
    """Ciphertexts of a value with fewer levels."""

    def lower(ct: Ciphertext) -> Ciphertext:
        ghost: Any = ct.engine
        return ghost.ghost_input(level=max(0, ct.level - levels), slots=ct.slots, real=ct.is_real)

    return bind_all(value, lower) if levels else value


def advise_subject(
    subject: Subject,
    memory: int | str | None = None,
    link: str | Link | None = None,
    device: str | DeviceModel = "h200",
    *,
    kernel_scale: float = 1.0,
    runs_on: Device = "cpu",
    only_keys_cold: bool = False,
    progress: Callable[[str, int], None] | None = None,
) -> Advice:
    """See `advise`."""
    found_link = None if link is None else link_of(link)
    model = device_model(device)
    scale = positive(kernel_scale, "advise: kernel_scale")
    how = _How(model, found_link, scale, runs_on, bool(only_keys_cold))
    return _Search(subject, how, progress).run(memory)


@dataclasses.dataclass
class _Traced:
    """A ghost pass."""

    engine: Engine
    """The ghost, with the keys that the program needs."""
    trace: Trace
    plan: KeyPlan
    uses: dict[int, tuple[int, int]]
    result: Any
    maps: bool
    """Whether the program has linear maps whose organisation may change; likewise bootstraps."""
    bootstraps: bool


@dataclasses.dataclass(frozen=True)
class _How:
    """What variants are simulated on."""

    model: DeviceModel
    link: Link | None
    kernel_scale: float
    runs_on: Device
    only_keys_cold: bool


class _Search:
    """Variants that were tried, and what they take."""

    def __init__(self, subject: Subject, how: _How, progress: Callable[[str, int], None] | None) -> None:
        self._subject, self._how = subject, how
        self._progress = progress or (lambda what, done: None)
        self._rows: dict[Variant, Row] = {}
        self._budget = 0
        self._plain: tuple[Variant, _Traced] | None = None  # the last one that rotations were composed in

    def run(self, memory: int | str | None) -> Advice:
        """All groups of alternatives, each on the best variant before it."""
        base = self._trace(Variant())
        budget = byte_count(budget_of(memory, base.trace.peak_bytes), "advise: memory")
        self._budget = budget or self._how.model.usable_bytes
        base = self._trace(Variant())  # again: how many keys a call takes depends on the budget
        self._weigh(Variant(_KEPT_BOOTSTRAPS if base.bootstraps else AS_WRITTEN), base)
        for group in self._groups(base):
            for variant in group(self._best.variant):
                if variant not in self._rows:
                    self._progress(str(variant), len(self._rows))
                    self._try(variant)
        rows = sorted(self._rows.values(), key=Row._order)
        return Advice(tuple(rows), self._budget, self._how.link, self._how.model.name)

    @property
    def _best(self) -> Row:
        return min(self._rows.values(), key=Row._order)

    def _groups(self, base: _Traced) -> Iterator[Callable[[Variant], Iterator[Variant]]]:
        """Alternatives to a variant: organisation of circuits with seeds, baby steps, and so on."""
        for prefix, there in (("", base.maps), ("bootstrap_", base.bootstraps)):
            if there:
                yield lambda now, prefix=prefix: _organised(now, prefix)  # type: ignore[misc]
                yield lambda now, prefix=prefix: _baby_steps(now, prefix)  # type: ignore[misc]
        if base.bootstraps:
            yield _second_transforms
        yield lambda now: (dataclasses.replace(now, seeds=each) for each in SEEDS)
        spare = _spare_levels(base.result) if self._subject.levels and not base.bootstraps else 0
        if spare:
            yield lambda now: iter([dataclasses.replace(now, dropped_levels=spare)])
        yield lambda now: (dataclasses.replace(now, composed=each) for each in COMPOSED_USES)
        yield lambda now: iter([dataclasses.replace(now, prefixes=False)])
        yield lambda now: (dataclasses.replace(now, batch=each) for each in self._subject.batches)
        yield lambda now: iter([dataclasses.replace(now, composed=0)])  # batches share what is loaded

    def _try(self, variant: Variant) -> None:
        routes: Routes = {}
        if variant.composed:
            routes = self._routes(variant)
            others = (dataclasses.replace(variant, composed=each) for each in (0, *COMPOSED_USES))
            if any(each in self._rows and self._rows[each].compositions == len(routes) for each in others):
                return  # none, or no more than with fewer uses
        try:
            self._weigh(variant, self._trace(variant, routes), routes)
        except LevelExhausted:
            if not variant.dropped_levels:
                raise  # otherwise the program asks for the levels that it leaves

    def _routes(self, variant: Variant) -> Routes:
        """Rotations to make of others, by their uses for one input."""
        plain = dataclasses.replace(variant, composed=0, batch=1)
        if self._plain is None or self._plain[0] != plain:
            self._plain = (plain, self._trace(plain))
        traced = self._plain[1]
        return routes_of(traced.engine, traced.uses, variant.composed)

    def _trace(self, variant: Variant, routes: Routes | None = None) -> _Traced:
        """The second call of the program: its keys and weights are there."""
        kept = variant.seeds == "kept"
        engine = Engine(
            self._subject.params, device="ghost", policy="planned", keep_seeds=kept, circuits=variant.circuits
        )
        engine._core.joining_budget = self._budget  # calls are those of an engine with it
        program = self._subject.prepare(engine, variant)
        engine._encoded_log = []
        program()
        encoded = [circuit for circuit, _ in engine._take_encoded()]
        plan = engine.key_plan
        engine._core.prepare_keys(plan.requests())
        engine._core.take_key_uses()
        engine._core.set_routes(routes or {})
        with engine.record() as trace:
            result = program()
        bootstraps = any(isinstance(each, Bootstrapper) for each in encoded)
        maps = self._subject.maps and any(not isinstance(each, Bootstrapper) for each in encoded)
        uses = engine._core.take_key_uses()
        return _Traced(engine, trace, plan, uses, result, maps, bootstraps)

    def _weigh(self, variant: Variant, traced: _Traced, routes: Routes | None = None) -> None:
        """A row for a variant."""
        kept = variant.seeds == "kept"
        least = max(traced.trace._core.minimum_budget()[1], table_minimum(self._subject.params))
        try:
            found = forecast(
                traced.trace,
                self._how.model,
                self._budget,
                self._how.link,
                regenerate=variant.seeds != "loaded",
                prefixes=variant.prefixes,
                kernel_scale=self._how.kernel_scale,
                coefficient_bytes=COEFFICIENT_BYTES * self._subject.params.n,
                parameters=traced.engine._plan_context(self._how.runs_on),
                only_keys_cold=self._how.only_keys_cold,
            )
        except OutOfMemory:
            found = None
        if found is not None and routes:
            found.plan._core.set_compositions(routes)
        row = Row(variant, len(traced.plan), traced.plan.nbytes(kept), len(routes or {}), least, found)
        if not any(each.same_as(row) for each in self._rows.values()):
            self._rows[variant] = row


def _organised(now: Variant, prefix: str) -> Iterator[Variant]:
    """Modes of linear maps, weights as coefficients or not, seeds kept or not."""
    for mode in MODES:
        for compact in (False, True):
            for seeds in ("planned", "kept"):
                said = {f"{prefix}mode": mode, f"{prefix}compact": compact}
                circuits = dataclasses.replace(now.circuits, **said)  # type: ignore[arg-type]
                yield dataclasses.replace(now, circuits=circuits, seeds=seeds)


def _second_transforms(now: Variant) -> Iterator[Variant]:
    """Modes of SlotToCoeff, whose keys are smaller and needed later than those of CoeffToSlot."""
    for mode in MODES:
        circuits = dataclasses.replace(now.circuits, bootstrap_stc_mode=mode)
        yield dataclasses.replace(now, circuits=circuits)


def _baby_steps(now: Variant, prefix: str) -> Iterator[Variant]:
    """Numbers of baby steps."""
    for count in BABY_COUNTS:
        said: dict[str, Any] = {f"{prefix}baby_count": count}
        yield dataclasses.replace(now, circuits=dataclasses.replace(now.circuits, **said))


def _spare_levels(result: Any) -> int:
    """Levels that all ciphertexts of a result have left."""
    levels: list[int] = []

    def note(ct: Ciphertext) -> Ciphertext:
        levels.append(ct.level)
        return ct

    bind_all(result, note)
    return min(levels, default=0)
