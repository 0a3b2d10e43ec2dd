# SPDX-License-Identifier: Apache-2.0
"""`halocline run helr`: logistic regression trained on encrypted data, bootstrapped between iterations."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np

from ...base.errors import InvalidArgument
from ...circuits.bootstrapping import Bootstrapper
from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine, RunReport
from ...engine.footprint import client_footprint, engine_footprint
from ...engine.minimum import MinimumBudget
from ...engine.planned_run import shape_arguments
from ...engine.program import ProgramTrace, trace_program
from ...memory.trace import Trace
from ..resident import peak_resident_bytes, resident_bytes
from ..running import (
    Progress,
    Room,
    Stopwatch,
    engine_report,
    find_room,
    make_engine,
    recording,
    send_keys,
)
from .circuit import ITERATION_LEVELS, HelrCircuit, HelrLayout, Levels, iterations_per_bootstrap
from .data import load_data
from .model import SLOT_WEIGHT_SCALE, WEIGHT_SCALE, accuracy, exact_sigmoid, make_constants, rehearse, train
from .options import HelrOptions

_BEYOND_INTERVAL = 1.25
"""How far products may leave the sigmoid's interval before the polynomial means nothing."""


@dataclasses.dataclass(frozen=True)
class _Inputs:
    """What the client sends."""

    state: Ciphertext
    forward: list[Ciphertext]
    backward: list[Ciphertext]
    mean: Ciphertext

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.state, *self.forward, *self.backward, self.mean))


class HelrRun:
    """One run of the workload. `report` is complete after `run`."""

    def __init__(
        self,
        params: Params,
        options: HelrOptions | None = None,
        progress: Progress = lambda what, done, total: None,
    ) -> None:
        self.params, self.options, self._progress = params, options or HelrOptions(), progress
        o = self.options
        self._phases = Stopwatch()
        with self._phases("load"):
            self.data = load_data(o.data, o.batch, o.seed)
        signed = self.data.signed
        self.layout = HelrLayout.of(params.slots, *signed.shape)
        self.bootstrapper = helr_bootstrapper(params, self.layout, o.bootstrap)
        per_period = min(_per_bootstrap(self.bootstrapper, o), o.iterations)
        by_slots = self.bootstrapper.options.order == "stc_first"
        scale = SLOT_WEIGHT_SCALE if by_slots else WEIGHT_SCALE
        self.constants = make_constants(
            len(signed), o.iterations, o.rate, o.interval, max(1, per_period), scale
        )
        self.circuit = HelrCircuit(params, self.layout, self.constants, self.bootstrapper)
        self.bootstrapper = self.circuit.bootstrapper  # to no higher level than periods begin at
        self._rehearse()
        self.trace: Trace | None = None
        """What happened in the first period, bootstrap included, when that was asked for."""
        self.report: dict[str, Any] = {}
        """What `--json` writes."""

    def _rehearse(self) -> None:
        """Trains in the clear. Raises InvalidArgument for what would fail when it is encrypted."""
        o, signed = self.options, self.data.signed
        self.plain = train(signed, o.iterations, o.rate, self.constants.sigmoid)
        self.exact = train(signed, o.iterations, o.rate, exact_sigmoid)
        if not self.plain.largest_product <= _BEYOND_INTERVAL * o.interval:  # NaN as well
            raise InvalidArgument(
                f"helr: a sample times the weights reaches {self.plain.largest_product:.3g}, where the "
                f"sigmoid's polynomial for [-{o.interval:g}, {o.interval:g}] means nothing; expected a "
                f"smaller rate than {o.rate:g}, or a wider interval"
            )
        self.twin = rehearse(signed, self.constants)
        for packed in self.twin.packed[:-1]:
            self.bootstrapper.check_message(packed)

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""
        baseline = resident_bytes()
        with self._phases("keygen"):
            client = Client(self.params, threads=self.options.threads)
        with self._phases("encrypt"):
            inputs = self._encrypt(client)
        with self._phases("ghost"):
            traced = trace_program(self.params, self._everything, *vars(inputs).values())
            single = trace_program(self.params, self._one_iteration, *vars(inputs).values())
        with self._phases("engine"):
            room = Room.of(traced, lambda: self._find_room(traced, inputs))
            engine = make_engine(self.params, self.options, traced.peak_bytes, room=room)
        with self._phases("keygen"):
            send_keys(client, engine, traced.key_plan, self._progress)
        if len(self.twin.packed) > 1:
            with self._phases("encode"):
                self.bootstrapper.encode(engine)
        runs, result = self._train(engine, inputs)
        boot_seconds = self._time_bootstrap(engine, result)
        with self._phases("decrypt"):
            state = client.decrypt(result)[: self.data.features + 1]
        weights = self.constants.weights_of(state.real, state.imag)
        self.report = self._head(engine, runs, boot_seconds) | self._operations(traced, single)
        self.report |= self._quality(weights) | self._sizes(traced, inputs)
        self.report |= {"peak_rss_bytes": peak_resident_bytes(), "baseline_rss_bytes": baseline}
        return self.report

    def _encrypt(self, client: Client) -> _Inputs:
        """Weights that are zero, the data at the levels of the first iteration, and its mean."""
        layout, made, signed = self.layout, self.constants, self.data.signed
        level, low = self.circuit.level, self.circuit.backward_level
        return _Inputs(
            client.encrypt(np.zeros(layout.columns, np.complex128), level=self.bootstrapper.output_level),
            [client.encrypt(made.forward * each, level=level) for each in layout.forward(signed)],
            [client.encrypt(made.backward * each, level=low) for each in layout.backward(signed)],
            client.encrypt(layout.vector(signed.mean(axis=0)), level=low),
        )

    def _everything(
        self, state: Ciphertext, forward: list[Ciphertext], backward: list[Ciphertext], mean: Ciphertext
    ) -> Ciphertext:
        """One call of each kind: what a ghost needs to see."""
        data = self.circuit.prepare(forward, backward, mean)
        program = self.circuit.period if len(self.twin.packed) > 1 else self.circuit.last_period
        return program(state, *data, next(self.constants.periods()))

    def _one_iteration(
        self, state: Ciphertext, forward: list[Ciphertext], backward: list[Ciphertext], mean: Ciphertext
    ) -> Ciphertext:
        """For its counts."""
        return self.circuit.last_period(state, [forward], [backward], [mean], self.constants.steps[:1])

    def _find_room(self, traced: ProgramTrace, inputs: _Inputs) -> MinimumBudget:
        def body(ghost: Engine) -> None:
            self._run_on_ghost(ghost, inputs)

        return find_room(self.params, traced.key_plan, body, once=self.options.repeat == 1)

    def _run_on_ghost(self, ghost: Engine, inputs: _Inputs) -> None:
        """What `run` does on an engine, with one period of each kind, for what it needs."""
        bootstraps = len(self.twin.packed) > 1
        if bootstraps:
            self.bootstrapper.encode(ghost)
        given = (inputs.forward, inputs.backward, inputs.mean)
        data = self.circuit.prepare(*shape_arguments((given, {}), ghost)[0])
        (state,), _ = shape_arguments(((inputs.state,), {}), ghost)
        periods = list(self.constants.periods())
        for steps in periods[:-1][:2]:
            state = self.circuit.period(state, *data, steps)
        state = self.circuit.last_period(state, *data, periods[-1])
        del data
        if bootstraps:
            self.bootstrapper(state)

    # Training

    def _train(self, engine: Engine, inputs: _Inputs) -> tuple[list[RunReport], Ciphertext]:
        """Runs of the last training's periods, and its result."""
        with self._phases("prepare"):
            data = engine.run(self.circuit.prepare, inputs.forward, inputs.backward, inputs.mean)
        for training in range(self.options.repeat):
            runs, result = self._train_once(engine, inputs.state.to(engine), data, training == 0)
        return runs, result

    def _train_once(
        self,
        engine: Engine,
        state: Ciphertext,
        data: tuple[Levels, Levels, list[Ciphertext]],
        first: bool,
    ) -> tuple[list[RunReport], Ciphertext]:
        periods, runs, done = list(self.constants.periods()), [], 0
        for number, steps in enumerate(periods):
            self._progress("training", done, self.options.iterations)
            last = number + 1 == len(periods)
            program = self.circuit.last_period if last else self.circuit.period
            records = self.options.record_trace and first and number == 0
            with self._phases("evaluate"), recording(engine, records) as trace:
                state = engine.run(program, state, *data, steps)
            self.trace = trace if records else self.trace
            assert engine.last_run is not None  # it just ran
            runs.append(engine.last_run)
            done += len(steps)
        self._progress("training", done, self.options.iterations)
        return runs, state

    def _time_bootstrap(self, engine: Engine, packed: Ciphertext) -> float:
        """Seconds of the fastest bootstrap by itself; on a GPU its graph is made first."""
        if len(self.twin.packed) == 1:
            return 0.0
        seconds = []
        with self._phases("bootstrap alone"):
            for _ in range(1 if self.options.device == "cpu" else 4):
                engine.run(self.bootstrapper, packed)
                assert engine.last_run is not None  # it just ran
                seconds.append(engine.last_run.seconds)
        return min(seconds)

    # Reports

    def _head(self, engine: Engine, runs: list[RunReport], boot_seconds: float) -> dict[str, Any]:
        """What every workload reports, and times."""
        o, bootstraps = self.options, len(runs) - 1
        total = 1e3 * sum(each.seconds for each in runs) / o.iterations
        share = 1e3 * boot_seconds * bootstraps / o.iterations
        full = runs[:-1] or runs
        steady = min(each.seconds for each in full) / self.constants.per_period
        return {
            "workload": "helr",
            **engine_report(engine, runs, self._phases),
            "data": self.data.name,
            "samples": len(self.data.train),
            "held_out": len(self.data.held_out),
            "features": self.data.features,
            "iterations": o.iterations,
            "rate": o.rate,
            "interval": o.interval,
            "repeat": o.repeat,
            "bootstraps": bootstraps,
            "period_seconds": [each.seconds for each in runs],
            "ms_per_iteration": total,
            "ms_per_iteration_bootstrap": share,
            "ms_per_iteration_rest": total - share,
            "ms_per_iteration_fastest": 1e3 * steady,
            "ms_per_bootstrap": 1e3 * boot_seconds,
        }

    def _operations(self, traced: ProgramTrace, single: ProgramTrace) -> dict[str, Any]:
        """Levels, operations and keys."""
        counts = dataclasses.asdict(self.circuit.counts())
        iterations, bootstraps = self.options.iterations, len(self.twin.packed) - 1
        totals = {kind: count * iterations for kind, count in counts.items()}
        facts = self.bootstrapper.describe()
        return {
            "layout": dataclasses.asdict(self.layout)
            | {"width": self.layout.width, "ciphertexts": self.layout.ciphertexts},
            "levels": {
                "period_begins": self.circuit.level,
                "iteration": ITERATION_LEVELS,
                "per_bootstrap": self.constants.per_period,
                "bootstrap_input": facts["input_level"],
                "bootstrap_output": facts["output_level"],
            },
            "operations_per_iteration": counts,
            "operations": totals | {"conjugate": bootstraps + 1, "bootstrap": bootstraps},
            # A period begins with a conjugation, which is not part of an iteration.
            "key_switches_per_iteration": sum(single.key_uses.values()) - 1,
            "key_switches_per_period": sum(traced.key_uses.values()),
            "distinct_keys": len(traced.key_plan),
            "key_bytes": traced.key_plan.nbytes(),
            "bootstrap": dataclasses.asdict(self.bootstrapper.options) | facts,
        }

    def _sizes(self, traced: ProgramTrace, inputs: _Inputs) -> dict[str, Any]:
        """Bytes by class of objects."""
        sent = len(inputs.forward) + len(inputs.backward) + 2
        client = client_footprint(self.params, traced, sent)
        return {
            "footprint_bytes": traced.peak_bytes,
            "footprint": engine_footprint(self.params, traced).rows,
            "client_footprint": client.rows,
            "data_bytes": inputs.nbytes,
        }

    def _quality(self, weights: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Accuracies on the held-out samples, and how precise the decrypted weights are."""
        samples, labels = self.data.held_out, self.data.held_out_labels
        same = np.sign(samples @ weights) == np.sign(samples @ self.twin.weights)
        error = np.abs(weights - self.twin.weights)
        packed = [self.bootstrapper.largest_coefficient(each) for each in self.twin.packed[:-1]]
        return {
            "accuracy": accuracy(weights, samples, labels),
            "accuracy_plain": self.plain.accuracy(samples, labels),
            "accuracy_exact": self.exact.accuracy(samples, labels),
            "agreement": float(same.mean()),
            "largest_product": self.plain.largest_product,
            "largest_weight": float(np.abs(self.twin.weights).max()),
            "largest_coefficient": max(packed, default=0.0),
            "precision_bits": _bits(float(error.mean())),
            "precision_worst_bits": _bits(float(error.max())),
        }


def helr_bootstrapper(params: Params, layout: HelrLayout, chosen: dict[str, Any]) -> Bootstrapper:
    """Bootstraps V + i X; one level of SlotToCoeff leaves most levels to the iterations."""
    if fixed := {"slots", "real"} & chosen.keys():
        raise InvalidArgument(
            f"helr: {' and '.join(sorted(fixed))} of the bootstrap follow from the data; leave them out"
        )
    return Bootstrapper(params, **({"slots": layout.columns, "stc_levels": 1} | chosen))


def _per_bootstrap(bootstrapper: Bootstrapper, options: HelrOptions) -> int:
    """Iterations between two bootstraps."""
    most = iterations_per_bootstrap(bootstrapper)
    if most < 1:
        raise InvalidArgument(
            f"helr: bootstraps with '{bootstrapper.params.name}' leave levels {bootstrapper.input_level} to "
            f"{bootstrapper.output_level}, an iteration takes {ITERATION_LEVELS}; expected parameters with "
            "more levels, such as n16-boot"
        )
    wanted = options.per_bootstrap
    if wanted is not None and wanted > most:
        raise options.refuse(
            f"{{per_bootstrap}}: {wanted} iterations between bootstraps, expected 1 to {most}"
        )
    return wanted or most


def _bits(error: float) -> float:
    return float(-np.log2(max(error, sys.float_info.min)))


def run(
    options: HelrOptions | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or HelrOptions()
    return HelrRun(named_params(o.params, o.allow_insecure), o, progress).run()
