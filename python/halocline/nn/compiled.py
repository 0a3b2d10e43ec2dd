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
from typing import Any, ClassVar, overload

import numpy as np

from ..base.errors import ActivationRange, InvalidArgument
from ..base.locks import FileLock
from ..base.values import expect, integer
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.keys import KeyPlan
from ..ckks.params import Params, expect_same
from ..engine.engine import Engine, RunReport
from ..tracing.replay import device_model
from .checkpoint import Checkpoint, fingerprint_of
from .client_spec import ClientSpec, client_spec_of
from .forecast import Forecast, forecast
from .layer_table import layer_table
from .layers import Array, real_values
from .model import INPUT, Model
from .network import Phase, Program
from .options import CompileOptions
from .ranges import Ranges
from .ranges import check as check_ranges
from .steps import Refresh as RefreshStep
from .steps import Step, Values, steps_of
from .tensor_layout import TensorLayout

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
        values = {name: list(each) for name, each in values.items()}
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
    engine = next(iter(values.values()))[0].engine
    return engine is not None and engine.is_ghost


class CompiledModel:
    """A network as a program on ciphertexts: `results = engine.run(compiled, inputs)`.

    Made by `compile`. The client prepares and encrypts inputs, an engine with the keys of `key_plan`
    evaluates, the client decrypts. Weights are encoded for an engine at their first use. All inputs go
    through a layer before the next one, so that keys and weights are read once for all of them.
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
        self._forecasts: dict[tuple[int, str], Forecast] = {}
        self._last_runs: list[RunReport] = []
        self._fingerprint: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """What it was compiled from: loading a pickle, or copying, compiles again, to the same program.

        What is encoded for an engine, and reports of runs, stay here.
        """
        return self._compile, (self.model, self.params, self.ranges, self.options)

    # The client

    def prepare(self, image: Any) -> Array:
        """Slot values of one input that fits in a ciphertext: normalised as the model's metadata say, checked
        against the ranges. Where several inputs share a ciphertext, this one is in all of their places.

        Warns (`ActivationRange`) where it drives activations out of their ranges.
        """
        prepared = self._prepared(image)
        if len(prepared) != 1 or self.program.input_layout.parts != 1:
            raise InvalidArgument(
                f"prepare: {len(prepared)} inputs of {self.program.input_layout.parts} ciphertexts, expected "
                "one of one; use encrypt"
            )
        return self.program.input_layout.pack(prepared)[0]

    def _prepared(self, images: Any) -> Array:
        """Inputs (count, *input_shape) of one, or of several, normalised and checked."""
        array = real_values(images, "encrypt")
        batch = array[np.newaxis] if array.shape == self.model.input_shape else array
        prepared = self.model.prepare(batch)
        if not len(prepared):
            raise InvalidArgument("encrypt: no inputs, expected at least one")
        check_ranges(self.model, self.ranges, prepared)
        self._check_output(prepared)
        return prepared

    def _check_output(self, prepared: Array) -> None:
        """Warns of results that would not fit in the modulus, where no range says that they do."""
        limit = self.program.output_limit
        if limit < np.inf and (found := float(np.abs(self.model.forward(prepared)).max())) > limit:
            warnings.warn(
                f"results of up to {found:.3g}, but the encrypted ones hold {limit:.3g} and would be wrong: "
                "scale inputs or the last layer down",
                ActivationRange,
                stacklevel=4,
            )

    def encrypt(self, client: Client, images: Any) -> Any:
        """One input, or any number (count, ...): prepared, and encrypted at the level that the network needs.

        A ciphertext for one input where one holds no more, else a list; where ciphertexts have room for more
        inputs than there are, the last one is repeated.
        """
        client = expect(client, Client, "encrypt: client")
        expect_same(self.params, [("the client", client.params)], "encrypt")
        layout, level = self.program.input_layout, self.program.schedule.fresh_level
        prepared = self._prepared(images)
        made = [client.encrypt(each, level=level, slots=layout.slots) for each in layout.pack(prepared)]
        return made[0] if self.program.is_single and len(prepared) == 1 else made

    def decrypt(
        self, client: Client, results: Ciphertext | Sequence[Ciphertext], count: int | None = None
    ) -> Array:
        """What the network says: of shape `model.output_shape` for one ciphertext, (count, *output_shape) for
        a list.

        count: so many results; as many as the ciphertexts have room for unless given.
        """
        layout, shape = self.program.output_layout, self.model.output_shape
        one = isinstance(results, Ciphertext)
        listed = [results] if isinstance(results, Ciphertext) else list(results)
        slots = [client.decrypt(each, real=True) for each in listed]
        values = layout.unpack(slots, count) * self.program.output_scale
        return values.reshape(shape if one and len(values) == 1 else (len(values), *shape))

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

        name: any label. classes: names of the classes; those of the metadata "classes" (with commas) unless
            given. A name for each value of the result; two for a single value, of which the second one stands
            for values above the threshold (0 unless the metadata say otherwise); for one-versus-one scores
            those of the estimator. input_range: smallest and largest value of a normalised
            input; that of the ranges, so of the samples of `calibrate`, unless given.
        Makes the `report`, for the keys. docs/reference/client_spec_format.md says what a file reveals.
        """
        return client_spec_of(self, self.key_plan, name=name, classes=classes, input_range=input_range)

    # The server

    @overload
    def __call__(
        self, inputs: Ciphertext, phase: Phase = ..., on_bootstrap: OnBootstrap | None = ...
    ) -> Ciphertext: ...
    @overload
    def __call__(
        self, inputs: Sequence[Ciphertext], phase: Phase = ..., on_bootstrap: OnBootstrap | None = ...
    ) -> list[Ciphertext]: ...
    def __call__(
        self,
        inputs: Ciphertext | Sequence[Ciphertext],
        phase: Phase = no_phase,
        on_bootstrap: OnBootstrap | None = None,
    ) -> Ciphertext | list[Ciphertext]:
        """The encrypted results: a program for `Engine.run`. One ciphertext for one, a list for a list."""
        one = isinstance(inputs, Ciphertext)
        values: Values = {INPUT: self._expect_inputs(inputs)}
        del inputs
        for segment in self.segments:
            values = segment(values, phase, on_bootstrap)
        return self._results(values, one)

    def _results(self, values: Values, one: bool) -> Ciphertext | list[Ciphertext]:
        found = values[self.model.output]
        return found[0] if one and len(found) == 1 else found

    def _expect_inputs(self, inputs: Ciphertext | Sequence[Ciphertext]) -> list[Ciphertext]:
        """Ciphertexts with the slots and levels of inputs, as many as complete inputs have."""
        given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        layout, level = self.program.input_layout, self.program.schedule.fresh_level
        cts = [expect(each, Ciphertext, "network: input", "use CompiledModel.encrypt") for each in given]
        expect_same(self.params, [("the input", ct.params) for ct in cts], "network")
        for ct in cts:
            if ct.slots != layout.slots or ct.level < level:
                raise InvalidArgument(
                    f"network: an input of {ct.slots} slots at level {ct.level}, expected {layout.slots} "
                    f"slots at level {level} or above; make it with CompiledModel.encrypt"
                )
        if not cts or len(cts) % layout.parts:
            raise InvalidArgument(
                f"network: {len(cts)} ciphertexts, expected {layout.parts} for each input, or each "
                f"{layout.batch} of them; make them with CompiledModel.encrypt"
            )
        return cts

    def run(
        self,
        engine: Engine,
        inputs: Ciphertext | Sequence[Ciphertext] | None,
        *,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
        phase: Phase = no_phase,
        on_bootstrap: OnBootstrap | None = None,
    ) -> Any:
        """The encrypted result of a ciphertext, or the list of results of a list; `last_run` says what that
        took.

        checkpoint: a file that holds the live ciphertexts after each segment. The segments are then runs of
            the engine, each with a plan of its own. Where there is such a file of this network and input,
            the run goes on from it; it is removed at the end. `inputs` may be None then.
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
                return self._run_segments(watch, inputs, kept, tell)
        if inputs is None:
            raise InvalidArgument("run: no input, and no checkpoint to continue from; pass checkpoint=")
        tell(0, total)
        result, self._last_runs = watch(self, inputs)
        tell(total, total)
        return result

    def _run_segments(
        self,
        watch: Callable[..., Any],
        inputs: Ciphertext | Sequence[Ciphertext] | None,
        kept: Checkpoint,
        tell: Progress,
    ) -> Ciphertext | list[Ciphertext]:
        """One run of the engine after the other, and a checkpoint after each but the last."""
        position, values = self._begin(kept, inputs)
        self._last_runs, total = [], len(self.segments)
        tell(position, total)
        for done in range(position + 1, total + 1):
            values, reports = watch(self.segments[done - 1], values)
            self._last_runs += reports
            if done < total:
                kept.save(done, values)
            tell(done, total)
        kept.remove()
        return self._results(values, kept.is_single)

    def _begin(
        self, kept: Checkpoint, inputs: Ciphertext | Sequence[Ciphertext] | None
    ) -> tuple[int, Values]:
        """Segments done, and the values after them."""
        given = None if inputs is None else self._expect_inputs(inputs)
        if given is not None:
            kept.expect_input(given, isinstance(inputs, Ciphertext))
        if (found := kept.load()) is not None:
            return found
        if given is None:
            raise InvalidArgument(f"run: no input, and no checkpoint to continue from at '{kept.path}'")
        return 0, {INPUT: given}

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

    def layout_of(self, name: str) -> TensorLayout:
        """Where a value that `live_values` names is."""
        if name == INPUT:
            return self.program.input_layout
        return next(each.stage.layout for each in self.program.placed if name in (each.name, each.sum_name))

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
        known = next(iter(self._forecasts.values()), None)
        return (self.report() if known is None else known).key_plan  # the same for any number of inputs

    def report(self, images: int | None = None, device: str = "h200") -> Forecast:
        """Levels, operations, keys, bytes and times of layers: from a ghost run. `print` shows a table.

        images: at once; as many as the network was compiled for (`batch`) unless given. device: the simulated
        device of the times, of `halocline.device_models()` or a file of one. Made at the first call with
        these, which encodes all weights on a ghost engine.
        """
        count = self.options.batch if images is None else integer(images, "report: images", 1)
        which = count, device_model(device).name
        if which not in self._forecasts:
            self._forecasts[which] = forecast(self, count, device)
        return self._forecasts[which]

    def plot(self, path: str | Path, images: int | None = None, device: str = "h200") -> None:
        """Writes a picture of the layers with their levels, bootstraps and forecast times, as PNG.

        Raises MissingExtra without matplotlib.
        """
        self.report(images, device).plot(path)

    def _repr_html_(self) -> str:
        known = next(iter(self._forecasts.values()), None)
        return layer_table(self, {}, repr(self)).to_html() if known is None else known.table().to_html()

    def __program_identity__(self) -> CompiledModel:
        return self

    def __repr__(self) -> str:
        return (
            f"CompiledModel({len(self.model.nodes)} layers on {self.params.name!r}, "
            f"{self.program.schedule.bootstraps} bootstraps, input of {_size(self.program.input_layout)} "
            f"at level {self.program.schedule.fresh_level})"
        )


def _size(layout: TensorLayout) -> str:
    """Slots, and how many inputs share them or ciphertexts they take."""
    several = f" in {layout.parts} ciphertexts" if layout.parts > 1 else ""
    return f"{layout.slots} slots{several}" + (f" for {layout.batch} images" if layout.batch > 1 else "")


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
