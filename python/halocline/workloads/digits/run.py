# SPDX-License-Identifier: Apache-2.0
"""`halocline run digits`: the client encrypts, an engine without secret evaluates, the client decrypts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import InvalidArgument, OutOfMemory
from ...base.values import byte_count
from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...engine.footprint import Footprint, client_footprint, engine_footprint
from ...engine.minimum import MinimumBudget
from ...engine.program import ProgramTrace, trace_program
from ...memory.budget import budget_of
from ...memory.trace import Trace
from ..resident import peak_resident_bytes, resident_bytes
from ..running import Progress, Room, Stopwatch, engine_report, expect_room, make_engine, recording
from .circuit import DEPTH, DigitsCircuit
from .model import (
    default_model,
    forward_plain,
    held_out_digits,
    images_per_ciphertext,
    pack_images,
    unpack_logits,
)
from .options import DigitsOptions


class DigitsRun:
    """One run of the workload. `report` is complete after `run`."""

    def __init__(
        self,
        params: Params,
        options: DigitsOptions | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self.options, self._progress = params, options or DigitsOptions(), progress
        if params.max_level < DEPTH:
            raise InvalidArgument(
                f"digits: the network needs {DEPTH} levels, '{params.name}' has {params.max_level}"
            )
        self._phases, self._layers = Stopwatch(), Stopwatch()
        with self._phases("load"):
            self.model = default_model()
            pictures, labels = held_out_digits(self.model)
        wanted = self.options.images
        if wanted is not None and not 1 <= wanted <= len(pictures):
            raise self.options.refuse(
                f"{{images}}: got {wanted}, expected 1 to {len(pictures)} (the held-out ones)"
            )
        self.images, self.labels = pictures[:wanted], labels[:wanted]
        self.trace: Trace | None = None
        """What happened while evaluating, when that was asked for."""
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""
        baseline = resident_bytes()
        with self._phases("keygen"):
            client = Client(self.params, threads=self.options.threads)
        cts = self._encrypt(client)
        with self._phases("plan"):
            circuit = DigitsCircuit(self.model, self.params.slots)
            # Two batches, because in the second one all weights are there from the start.
            traced = trace_program(self.params, lambda *xs: [circuit(x) for x in xs], *cts[:2])
        waiting = len(cts) - len(traced.result)  # results of further batches, which stay until decrypted
        needed = traced.peak_bytes + waiting * self.params.ciphertext_bytes(traced.result[0].level)
        room = self._room(traced, needed)
        try:
            engine, sent = self._server(client, traced, needed, room)
            results, reports = self._evaluate(engine, circuit, cts)
        except OutOfMemory as refused:
            expect_room(room.find(), self._budget(needed), self.options.policy)
            raise OutOfMemory(f"digits: {refused}") from None
        logits = self._decrypt(client, results)
        footprint = Footprint({"interpreter and libraries (measured)": baseline})
        for part in (
            engine_footprint(self.params, traced),
            client_footprint(self.params, traced, 2 * len(cts)),
        ):
            footprint.rows |= part.rows
        footprint.add("weights while they are encoded", circuit.plain_bytes(engine))
        self.report = self._head(engine, reports) | self._quality(logits)
        self.report |= {
            "key_bytes": footprint.rows["engine keys"],
            "key_sent_bytes": sent,
            "ciphertext_bytes": cts[0].nbytes,
            "ciphertext_sent_bytes": len(cts[0].to_bytes()),
            "rotations": traced.key_plan.rotations,
            "peak_rss_bytes": peak_resident_bytes(),
            "baseline_rss_bytes": baseline,
            "footprint_bytes": footprint.total,
            "footprint": footprint.rows,
        }
        return self.report

    def _room(self, traced: ProgramTrace, needed: int) -> Room:
        """Bounds of what a budget must hold, and the true numbers."""
        moving = max(traced.trace._core.minimum_budget())
        return Room(max(needed, traced.peak_bytes), moving, lambda: self._minimum(traced, needed))

    def _encrypt(self, client: Client) -> list[Ciphertext]:
        """One ciphertext for each batch of images, at the level that the network needs."""
        size = images_per_ciphertext(self.params.slots)
        starts = range(0, len(self.images), size)
        with self._phases("encrypt"):
            packed = [pack_images(self.images[k : k + size], self.params.slots) for k in starts]
            return [client.encrypt(each, level=DEPTH) for each in packed]

    @staticmethod
    def _minimum(traced: ProgramTrace, needed: int) -> MinimumBudget:
        """What all batches need, of which `needed` under `resident`."""
        found = traced.minimum_budget
        return dataclasses.replace(found, resident=max(needed, found.resident))

    def _budget(self, needed: int) -> int:
        return byte_count(budget_of(self.options.memory, needed), "memory")

    def _server(self, client: Client, traced: ProgramTrace, needed: int, room: Room) -> tuple[Engine, int]:
        """The engine with exactly the keys of the plan, and the bytes of the keys on their way to it."""
        room.expect(self._budget(needed), self.options.policy)
        with self._phases("keygen"):
            keys = client.evaluation_keys(plan=traced.key_plan, progress=self._tell("generating keys"))
        with self._phases("engine"):
            engine = make_engine(self.params, self.options, needed)
            engine.add_keys(keys)
        return engine, keys.nbytes

    def _tell(self, what: str) -> Callable[[int, int], None]:
        return lambda done, total: self._progress(what, done, total)

    def _evaluate(
        self, engine: Engine, circuit: DigitsCircuit, cts: list[Ciphertext]
    ) -> tuple[list[Ciphertext], list[RunReport]]:
        """Encrypted logits of each batch."""

        @contextlib.contextmanager
        def layer(name: str) -> Iterator[None]:
            with engine.phase(name), self._layers(name):
                yield

        results, reports = [], []
        with self._phases("evaluate"), recording(engine, self.options.record_trace) as self.trace:
            for done, ct in enumerate(cts):
                self._progress("evaluating", done, len(cts))
                results.append(engine.run(circuit, ct, phase=layer, key=circuit))
                assert engine.last_run is not None
                reports.append(engine.last_run)
        self._progress("evaluating", len(cts), len(cts))
        return results, reports

    def _decrypt(self, client: Client, results: list[Ciphertext]) -> npt.NDArray[np.float64]:
        size = images_per_ciphertext(self.params.slots)
        with self._phases("decrypt"):
            rest = len(self.images)
            parts = []
            for result in results:
                parts.append(unpack_logits(client.decrypt(result), min(size, rest)))
                rest -= size
        return np.vstack(parts)

    def _head(self, engine: Engine, reports: list[RunReport]) -> dict[str, Any]:
        """What every workload reports."""
        return {
            "workload": "digits",
            **engine_report(engine, reports, self._phases),
            "layer_seconds": self._layers.seconds,
            "images": len(self.images),
            "ms_per_image": 1e3 * self._phases.seconds["evaluate"] / len(self.images),
        }

    def _quality(self, logits: npt.NDArray[np.float64]) -> dict[str, Any]:
        """Accuracy of both networks, their agreement, and the precision of the encrypted logits in bits."""
        plain = forward_plain(self.images, self.model)
        error = np.abs(logits - plain)
        tiny = np.finfo(np.float64).tiny
        return {
            "accuracy": float((logits.argmax(axis=1) == self.labels).mean()),
            "accuracy_plain": float((plain.argmax(axis=1) == self.labels).mean()),
            "agreement": float((logits.argmax(axis=1) == plain.argmax(axis=1)).mean()),
            "precision_bits": float(-np.log2(max(error.mean(), tiny))),
            "precision_worst_bits": float(-np.log2(max(error.max(), tiny))),
        }


def run(
    options: DigitsOptions | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or DigitsOptions()
    return DigitsRun(named_params(o.params, o.allow_insecure), o, progress).run()
