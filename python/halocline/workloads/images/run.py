# SPDX-License-Identifier: Apache-2.0
"""Encrypted images through a network, compared with the network in the clear."""

from __future__ import annotations

import abc
import contextlib
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import ActivationRange
from ...ckks.client import Client
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...memory.trace import Trace
from ...nn.compiled import CompiledModel
from ...nn.compiler import compile
from ...nn.forecast import Forecast
from ...nn.images import Images, load_images
from ...nn.model import Model
from ...nn.network import Phase
from ...nn.ranges import Ranges, calibrate, check
from ..resident import peak_resident_bytes, resident_bytes
from ..running import (
    Progress,
    Room,
    Stopwatch,
    engine_report,
    find_room,
    kept_seeds,
    key_bytes,
    make_engine,
    recording,
    seeded_keys,
    send_keys,
)
from .options import ImageOptions
from .run_folder import RunFolder

Array = npt.NDArray[np.float64]

MARGIN = 1.5
"""Bounds of activations are so many times what they are on the images of a calibration."""


def steady_seconds(seconds: Sequence[float]) -> float | None:
    """Median of all batches of images but the first three, during which weights are encoded and plans made;
    of fewer, of all but the first."""
    steady = seconds[3:] or seconds[1:] or seconds
    return statistics.median(steady) if steady else None


class ImageRun(abc.ABC):
    """One run of a workload: encrypted images through its network. `report` is complete after `run`."""

    workload: str
    """Its name in reports."""

    def __init__(
        self,
        params: Params,
        options: ImageOptions,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self._progress = params, progress
        self.options = options
        self._phases, self._layers = Stopwatch(), Stopwatch()
        with self._phases("load"):
            self.model = self._load_model()
            self.images = self._load_images()
            self.inputs = self.model.prepare(self.images.images)
            self.ranges = self._ranges()
        self.trace: Trace | None = None
        """What happened with the first image, when that was asked for."""
        self.runs: list[RunReport] = []
        self._image_seconds: list[float] = []  # of each batch, divided by its images
        self.forecast: Forecast | None = None
        """Of one batch of images, once it is compiled."""
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    @abc.abstractmethod
    def _load_model(self) -> Model:
        """The network that the options name."""

    @abc.abstractmethod
    def _pictures(self) -> tuple[Images, int]:
        """All images that there are, and how many are run unless options say so."""

    @abc.abstractmethod
    def _class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the logits."""

    def _load_images(self) -> Images:
        options = self.options
        found, default = self._pictures()
        wanted = default if options.images is None else options.images
        if not 1 <= wanted <= len(found.names):
            raise options.refuse(f"{{images}}: got {wanted}, expected 1 to {len(found.names)}")
        labels = None if found.labels is None else found.labels[:wanted]
        return found._replace(images=found.images[:wanted], names=found.names[:wanted], labels=labels)

    def _ranges(self) -> Ranges:
        """Bounds of the activations: from `calibration`, a JSON file or images; else those that the weights
        carry; else from the images themselves, which only their owner can do.
        """
        options, given = self.options, self.options.calibration
        known: Ranges | None = None
        if given is not None and Path(given).suffix == ".json":
            known = Ranges.load(given).expect_for(self.model)
        elif given is None:
            known = Ranges.stored_in(self.model)
        if known is not None:
            if options.margin is not None:
                source = known.provenance.get("source", str(given))
                raise options.refuse(
                    f"{{margin}} {options.margin:g}, but ranges come from {source} and have theirs; leave it "
                    "out, or give images for {calibration}"
                )
            return known
        images = self.images.images if given is None else load_images(given, self.model.input_shape).images
        source = "the images to classify" if given is None else str(given)
        margin = MARGIN if options.margin is None else options.margin
        return calibrate(self.model, self.model.prepare(images), margin, {"source": source})

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report.

        @throws InvalidArgument where the folder of checkpoints is one of another network or of other images,
            or in use by another process
        """
        with contextlib.ExitStack() as held:
            return self._run(held)

    def _run(self, held: contextlib.ExitStack) -> dict[str, Any]:
        """The same. held: what is given back when the run is over, however it ends."""
        baseline = resident_bytes()
        with self._phases("plain"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ActivationRange)
            check(self.model, self.ranges, self.inputs)
            exact = self.model.forward(self.inputs)
        with self._phases("compile"):
            chosen = {name: getattr(self.options, name) for name in ("bootstrap", "encode", "batch")}
            compiled = compile(self.model, self.params, self.ranges, **chosen)
            forecast = self.forecast = compiled.report()
            kept = self._folder(compiled)
            if kept is not None:
                held.enter_context(kept)
        with self._phases("keygen"):
            client = self._client(kept)
        with self._phases("engine"):
            keep = seeded_keys(
                forecast.key_plan, forecast.key_uses, self.options.seeded, self.options.key_memory
            )
            engine = self._make_engine(forecast, keep)
        with self._phases("keygen"):
            send_keys(client, engine, forecast.key_plan, self._progress)
        logits = self._evaluate(client, engine, compiled, kept)
        self.report = {
            "workload": self.workload,
            **forecast.to_dict(),
            **engine_report(engine, self.runs, self._phases),
            **self._quality(logits, exact, compiled),
            "footprint_bytes": forecast.peak_bytes,
            "key_bytes": key_bytes(self.params, forecast.key_plan, kept_seeds(engine)),
            "program_seconds": [each.seconds for each in self.runs],
            "layer_seconds": self._layers.seconds,
            "notices": [*self.images.notices, *(str(each.message) for each in caught)],
            "ranges": {"bounds": dict(self.ranges), **dict(self.ranges.provenance)},
            "peak_rss_bytes": peak_resident_bytes(),
            "baseline_rss_bytes": baseline,
        }
        if kept is not None:
            kept.finish()
        return self.report

    def _folder(self, compiled: CompiledModel) -> RunFolder | None:
        """Where the state of the run is kept."""
        if self.options.checkpoint is None:
            return None
        return RunFolder(self.options.checkpoint, compiled.fingerprint, self.images.images)

    def _client(self, kept: RunFolder | None) -> Client:
        """A new client, or that of the run that goes on."""
        if kept is not None:
            return kept.client(self.params, self.options.threads)
        return Client(self.params, threads=self.options.threads)

    def _evaluate(
        self, client: Client, engine: Engine, compiled: CompiledModel, kept: RunFolder | None
    ) -> Array:
        """Decrypted logits of all images, `batch` of them after the other."""
        logits = []
        for index in range(0, len(self.images.images), self.options.batch):
            result = None if kept is None else kept.result(index, self.params)
            if result is None:
                result = self._result(index, client, engine, compiled, kept)
            with self._phases("decrypt"):
                found = compiled.decrypt(client, result, len(self._batch(index)))
                logits.append(found.reshape(-1, *self.model.output_shape))
        return np.concatenate(logits)

    def _batch(self, index: int) -> Array:
        """The images that are evaluated together, from one on."""
        return self.images.images[index : index + self.options.batch]

    def _result(
        self, index: int, client: Client, engine: Engine, compiled: CompiledModel, kept: RunFolder | None
    ) -> Any:
        """The encrypted result of one image, which may have been begun before an interruption, or the results
        of a batch.
        """
        path = None if kept is None else kept.checkpoint(index)
        goes_on = path is not None and path.exists()
        ct = None if goes_on else self._encrypt(index, client, compiled)
        recorded = recording(engine, self.options.record_trace and index == 0)
        with self._phases("evaluate"), recorded as trace:
            result = compiled.run(
                engine, ct, checkpoint=path, progress=self._tell(index), phase=self._layer(engine)
            )
        self.trace = trace if index == 0 else self.trace
        assert compiled.last_run is not None  # it just ran
        self.runs.append(compiled.last_run)
        if not goes_on:
            self._image_seconds.append(compiled.last_run.seconds / len(self._batch(index)))
        if kept is not None:
            kept.keep_result(index, result)
        return result

    def _encrypt(self, index: int, client: Client, compiled: CompiledModel) -> Any:
        with self._phases("encrypt"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ActivationRange)  # all images were checked before
            return compiled.encrypt(client, self._batch(index))

    def _make_engine(self, forecast: Forecast, seeds: bool | frozenset[int] | None) -> Engine:
        def once(ghost: Engine) -> None:
            layout, level = network.program.input_layout, network.program.schedule.fresh_level
            count = layout.ciphertexts(self.options.batch)
            network([ghost.ghost_input(level=level, slots=layout.slots) for _ in range(count)])

        network = forecast.compiled
        footprint = forecast.peak_bytes
        room = Room(
            footprint,
            forecast.step_bytes,
            lambda: find_room(self.params, forecast.key_plan, once, seeds),
        )
        return make_engine(self.params, self.options, footprint, keep_seeds=seeds, room=room)

    def _layer(self, engine: Engine) -> Phase:
        """Names the layers in the trace; times them on the CPU, where operations end before they return."""

        @contextlib.contextmanager
        def layer(name: str) -> Iterator[None]:
            timed = self._layers(name) if engine.device == "cpu" else contextlib.nullcontext()
            with engine.phase(name), timed:
                yield

        return layer

    def _tell(self, index: int) -> Callable[[int, int], None]:
        count = len(self.images.names)
        batch = self.options.batch
        runs = -(-count // batch)
        return lambda done, total: self._progress("evaluating", index // batch * total + done, runs * total)

    def _quality(self, logits: Array, exact: Array, compiled: CompiledModel) -> dict[str, Any]:
        """Encrypted results beside those of the network in the clear, with its exact ReLU and without."""
        error = np.abs(logits - exact)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # far outside of its range a polynomial is infinite
            simulated = float(np.abs(compiled.simulate(self.images.images) - exact).max())
        found, plain = logits.argmax(axis=1), exact.argmax(axis=1)
        labels = self.images.labels
        return {
            "images": len(logits),
            "agreement": float((found == plain).mean()),
            "accuracy": None if labels is None else float((found == labels).mean()),
            "accuracy_plain": None if labels is None else float((plain == labels).mean()),
            "logit_error": float(error.max()),
            "logit_error_mean": float(error.mean()),
            "logit_error_simulated": simulated if np.isfinite(simulated) else None,
            "seconds_per_image": steady_seconds(self._image_seconds),
            "seconds_fastest": min(self._image_seconds, default=None),
            "batch": self.options.batch,
            "resumed_images": -(-len(logits) // self.options.batch) - len(self._image_seconds),
            "predictions": [
                {
                    "image": name,
                    "class": self._class_names()[number],
                    "plain": self._class_names()[wanted],
                    "logits": [float(value) for value in row],
                }
                for name, number, wanted, row in zip(self.images.names, found, plain, logits, strict=True)
            ],
        }
