# SPDX-License-Identifier: Apache-2.0
"""Compilation: a model, parameters and ranges become a program on ciphertexts.

Encrypted values are normalised: what an activation gets is divided by its bound, which the linear map before
it does, so that it costs nothing and every ciphertext that is bootstrapped holds numbers in [-1, 1].
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..base.errors import ActivationRange, InvalidArgument
from ..base.locks import FileLock
from ..base.values import expect
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.keys import KeyPlan
from ..ckks.params import Params
from ..engine.engine import Engine, RunReport
from ..tracing.replay import device_model
from .checkpoint import Checkpoint, fingerprint_of
from .client_spec import ClientSpec, client_spec_of
from .forecast import Forecast, forecast
from .layer_table import layer_table
from .layers import Array
from .model import INPUT, Model
from .network import Phase, Program
from .options import CompileOptions
from .ranges import Ranges
from .ranges import check as check_ranges
from .steps import Refresh as RefreshStep
from .steps import Step, Values, steps_of

OnBootstrap = Callable[[str, int, int], None]
"""Called after each bootstrap with the layer's name, how many are done, and how many there are."""
Progress = Callable[[int, int], None]
"""Called with the number of segments done and that of all."""


def no_phase(_: str) -> AbstractContextManager[None]:
    """Layers without names."""
    return contextlib.nullcontext()


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

    def __program_identity__(self) -> Segment:
        return self


def _on_ghost(values: Values) -> bool:
    """Whether this is the pass that a plan is made from."""
    engine = next(iter(values.values())).engine
    return engine is not None and engine.is_ghost


class CompiledModel:
    """A network as a program on ciphertexts: `result = engine.run(compiled, ct)`.

    Made by `compile`. The client prepares and encrypts one input, an engine with the keys of `key_plan`
    evaluates, the client decrypts. Weights are encoded for an engine at their first use.
    """

    _compile: ClassVar[Callable[..., CompiledModel]]
    """Makes one of a model, parameters, ranges and options: `compiler.py`, which builds on this module."""

    def __init__(
        self, model: Model, params: Params, ranges: Ranges, options: CompileOptions, program: Program
    ) -> None:
        self.model, self.params, self.ranges, self.options = model, params, ranges, options
        self.program = program
        self.steps = tuple(steps_of(program.placed, program.bootstrappers, program.first_bootstrappers))
        self.segments = tuple(_segments(self.steps))
        self._forecast: Forecast | None = None
        self._last_runs: list[RunReport] = []
        self._fingerprint: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """What it was compiled from: loading a pickle, or copying, compiles again, to the same program.

        What is encoded for an engine, and reports of runs, stay here.
        """
        return self._compile, (self.model, self.params, self.ranges, self.options)

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

    def client_spec(
        self,
        *,
        name: str = "",
        classes: Sequence[str] | None = None,
        input_range: tuple[float, float] | None = None,
    ) -> ClientSpec:
        """What a client needs of this network, without its weights: for `halocline.nn.Client`.

        name: any label. classes: a name for each value of the result; those of the metadata
            "classes" (with commas) unless given. input_range: smallest and largest value of a normalised
            input; that of the ranges, so of the samples of `calibrate`, unless given.
        Makes the `report`, for the keys. docs/reference/client_spec_format.md says what a file reveals.
        """
        return client_spec_of(self, self.key_plan, name=name, classes=classes, input_range=input_range)

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
        @throws InvalidArgument when the checkpoint is of something else, or in use by another process;
            KeyMismatch when it, or the input, is of another client than the engine's keys; CorruptData,
            IoError
        """
        engine = expect(engine, Engine, "run: engine")
        tell = progress or (lambda done, total: None)
        total = len(self.segments)

        def bootstrapped(name: str, done: int, count: int) -> None:
            if checkpoint is None:
                tell(done, total)
            if on_bootstrap is not None:
                on_bootstrap(name, done, count)

        watch = functools.partial(_watched, engine, phase, bootstrapped)
        if checkpoint is not None:
            kept = Checkpoint(checkpoint, self, engine.key_id)
            with FileLock(f"{kept.path}.lock", f"checkpoint '{kept.path}'"):
                return self._run_segments(watch, ct, kept, tell)
        if ct is None:
            raise InvalidArgument("run: no input, and no checkpoint to continue from; pass checkpoint=")
        tell(0, total)
        result, self._last_runs = watch(self, ct)
        tell(total, total)
        return result

    def _run_segments(
        self, watch: Callable[..., Any], ct: Ciphertext | None, kept: Checkpoint, tell: Progress
    ) -> Ciphertext:
        """One run of the engine after the other, and a checkpoint after each but the last."""
        position, values = self._begin(kept, ct)
        self._last_runs, total = [], len(self.segments)
        tell(position, total)
        for done in range(position + 1, total + 1):
            values, reports = watch(self.segments[done - 1], values)
            self._last_runs += reports
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
            raise InvalidArgument(f"run: no input, and no checkpoint to continue from at '{kept.path}'")
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
        return (self._forecast or self.report()).key_plan

    def report(self, device: str = "h200") -> Forecast:
        """Levels, keys, bytes and times of layers: from a ghost run. `print` and notebooks show a table.

        device: the simulated device of the times, of `halocline.device_models()` or a file of one.
        Made at the first call, and for another device, which encodes all weights on a ghost engine.
        """
        if self._forecast is None or self._forecast.device != device_model(device).name:
            self._forecast = forecast(self, device)
        return self._forecast

    def plot(self, path: str | Path, device: str = "h200") -> None:
        """Writes a picture of the layers with their levels, bootstraps and forecast times, as PNG.

        Raises MissingExtra without matplotlib.
        """
        self.report(device).plot(path)

    def _repr_html_(self) -> str:
        costs = {} if self._forecast is None else self._forecast.costs
        return layer_table(self, costs, repr(self)).to_html()

    def __program_identity__(self) -> CompiledModel:
        return self

    def __repr__(self) -> str:
        return (
            f"CompiledModel({len(self.model.nodes)} layers on {self.params.name!r}, "
            f"{self.program.schedule.bootstraps} bootstraps, input of {self.program.input_layout.slots} "
            f"slots at level {self.program.schedule.fresh_level})"
        )


def _watched(
    engine: Engine, phase: Phase, on_bootstrap: OnBootstrap, program: CompiledModel | Segment, value: Any
) -> tuple[Any, list[RunReport]]:
    """A run of a network or a part of it, and its report. Callbacks are no part of what is planned."""
    result = engine.run(program, value, phase=phase, on_bootstrap=on_bootstrap, key=program)
    return result, [] if engine.last_run is None else [engine.last_run]


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
        divergence=next((each.divergence for each in runs if each.divergence is not None), None),
        ghost_passes=sum(each.ghost_passes for each in runs),
    )


def _segments(steps: Sequence[Step]) -> list[Segment]:
    """Steps from each bootstrap to the next one."""
    parts: list[list[Step]] = [[]]
    for step in steps:
        if isinstance(step, RefreshStep):
            parts.append([])
        parts[-1].append(step)
    return [Segment(part, index, len(parts) - 1) for index, part in enumerate(parts)]
