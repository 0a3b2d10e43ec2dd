# SPDX-License-Identifier: Apache-2.0
"""What a program gives and takes under one parameter set: precision, time, keys, bytes, memory."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import kind_of
from ..ckks.ciphertext import Ciphertext
from ..ckks.params import Params
from ..engine.engine import Engine
from ..engine.footprint import encoder_bytes
from ..memory.trace import Trace
from ..tracing.replay import DeviceModel, device_model, device_models, resident_seconds
from .native import SimulatedCore
from .programs import Inputs, Simulated, encrypted, outputs_of, rows_of, run_simulated

ROWS = 9
"""One without noise and eight with it, each under a secret key of its own."""
MODEL_MARGIN = 1.25
"""Factor on forecast errors for what the formulas leave out: 0.3 bits (docs/concepts/error_budget.md)."""

DOUBLES = 2.0**-48
"""Relative error of encoding and decoding, which use double precision."""

_DATA = Path(__file__).resolve().parents[1] / "data"


@dataclasses.dataclass(frozen=True)
class OutputForecast:
    """One ciphertext, or one encrypted array, of the result."""

    name: str
    """Where it is in the result, such as "result[1]"."""
    level: int
    """The least of its ciphertexts."""
    size: int
    """Slots of a ciphertext, elements of an array."""
    largest: float
    """Largest magnitude of its values for the inputs given."""
    error: float
    """Bound on the magnitude of the error of each slot, or element."""

    @property
    def precision(self) -> float:
        """-log2 of the error."""
        return -math.log2(self.error) if self.error > 0 else math.inf


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """A program under one parameter set."""

    params: Params
    """The parameters, which are secure."""
    outputs: tuple[OutputForecast, ...]
    """Forecasts of its results, in the order in which it returns them."""
    seconds: float
    """Of one run with everything in the device's memory."""
    bootstraps: int
    """How many ciphertexts are bootstrapped."""
    bootstrap: dict[str, float] | None
    """Options of automatic bootstraps, for `Engine(bootstrap=...)`; None where the engine makes none."""
    largest_message: float
    """The largest coefficient of a message that is bootstrapped: see `BootstrapOptions.message_bound`."""
    log2_failure: float
    """log2 of the probability that one of the bootstraps fails; -inf without any."""
    keys: int
    """Evaluation keys."""
    key_bytes: int
    """Of these in the engine."""
    sent_key_bytes: int
    """Of these on the way there, once: half of each is a seed."""
    sent_bytes: int
    """Encrypted inputs of one run, seeded."""
    received_bytes: int
    """Results of one run."""
    memory_bytes: int
    """The largest sum of all that the engine holds at once."""
    problem: str
    """Why it does not give what was wanted; empty where it does."""

    @property
    def precision(self) -> float:
        """The least of its outputs."""
        return min((each.precision for each in self.outputs), default=math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        made = dataclasses.asdict(self)
        del made["params"], made["outputs"]
        made["log2_failure"] = _finite(self.log2_failure)
        return {
            "params": self.params.name,
            "log_n": self.params.log_n,
            "levels": self.params.max_level,
            "log2_pq": self.params.log2_pq,
            "security_bits": self.params.security_bits,
            "precision": _finite(self.precision),
            "outputs": [
                dataclasses.asdict(each) | {"precision": _finite(each.precision)} for each in self.outputs
            ],
        } | made


def _finite(value: float) -> float | None:
    """None for what JSON cannot say."""
    return value if math.isfinite(value) else None


@dataclasses.dataclass(frozen=True)
class TimeModel:
    """The kernels of a device, for words of 32 and of 64 bits."""

    narrow: DeviceModel
    wide: DeviceModel

    @classmethod
    def of(cls, device: str | DeviceModel) -> TimeModel:
        """Of "cpu" (one core), "cuda:0" (an H200), or of the name or file of a device model, or of one."""
        if isinstance(device, str) and device == "cpu":
            files = (_DATA / f"cpu_device_w{bits}.json" for bits in (32, 64))
            return cls(*(DeviceModel.load(each) for each in files))
        known = isinstance(device, str) and device.startswith("cuda")
        model = device_models()["h200"] if known else device_model(device)
        return cls(model, model)

    @property
    def name(self) -> str:
        """Of the device."""
        return self.narrow.name

    def seconds(self, trace: Trace, params: Params) -> float:
        """Of a trace, with everything in the memory of the device."""
        return resident_seconds(trace, self.narrow if params.word_bits == 32 else self.wide)


def error_bound(rows: npt.NDArray[Any], failure: float) -> float:
    """What no slot's error exceeds but with the given probability, if errors of a slot are Gaussian.

    rows: (rows, slots), row 0 without noise. The deviation of each slot is that of the other rows.
    """
    errors = rows[1:] - rows[0]
    deviation = float(np.sqrt(np.mean(np.abs(errors) ** 2, axis=0).max()))
    tail = math.log(errors.shape[1] / failure)
    real = not np.iscomplexobj(rows)
    noise = MODEL_MARGIN * deviation * math.sqrt(2.0 * (tail + math.log(2.0)) if real else tail)
    return noise + float(np.abs(rows[0]).max()) * DOUBLES


def forecasts(made: Simulated, failure: float) -> tuple[OutputForecast, ...]:
    """Levels, values and errors of what a simulated run returned."""
    found = []
    for name, output in outputs_of(made.result):
        rows = rows_of(made.engine, output)
        rows = rows.reshape(len(rows), -1)
        largest = float(np.abs(rows[0]).max())
        found.append(OutputForecast(name, output.level, rows.shape[1], largest, error_bound(rows, failure)))
    return tuple(found)


def evaluate(
    program: Callable[..., Any],
    inputs: Inputs,
    params: Params,
    model: TimeModel,
    *,
    failure: float,
    seed: int = 0,
    arrays: bool = False,
    bootstrap: dict[str, float] | None = None,
) -> Evaluation:
    """Simulates a program under parameters, and executes it on a ghost for time and memory."""
    how: dict[str, Any] = {"arrays": arrays, "bootstrap": bootstrap}
    made = run_simulated(program, inputs, params, rows=ROWS, seed=seed, **how)
    outputs = forecasts(made, failure)
    engine, core = made.engine, made.engine.simulated
    plan = engine.key_plan
    ghost = Engine(params, device="ghost", bootstrap=bootstrap)
    ghost._core.prepare_keys(plan.requests())
    seconds, memory = _time_and_memory(program, inputs, arrays, ghost, model)
    return Evaluation(
        params=params,
        outputs=outputs,
        seconds=seconds,
        bootstraps=core.bootstraps,
        bootstrap=bootstrap,
        largest_message=core.largest_message,
        log2_failure=_log2(core.failures),
        keys=len(plan),
        key_bytes=plan.nbytes(),
        sent_key_bytes=plan.nbytes(seeded=True),
        sent_bytes=sum(each.nbytes // 2 for each in made.encrypted),
        received_bytes=sum(each.nbytes for _, each in outputs_of(made.result)),
        memory_bytes=memory,
        problem=core.overflow or _failing(core, failure),
    )


def _log2(probability: float) -> float:
    return math.log2(probability) if probability > 0 else -math.inf


def _failing(core: SimulatedCore, failure: float) -> str:
    """What is wrong with the bootstraps of a run; empty where they fail seldom enough."""
    if core.failures <= failure:
        return ""
    return (
        f"{core.bootstraps} bootstraps fail with probability 2^{_log2(core.failures):.1f}, expected at most "
        f"2^{math.log2(failure):.1f}: give them a lower log2_failure"
    )


def _time_and_memory(
    program: Callable[..., Any], inputs: Inputs, arrays: bool, ghost: Engine, model: TimeModel
) -> tuple[float, int]:
    """Seconds on a device with everything resident, and the peak of a ghost engine's memory."""

    def shape(values: npt.NDArray[Any], slots: int) -> Ciphertext:
        return ghost.ghost_input(slots=slots, real=values.dtype.kind != "c")

    positional, keywords = encrypted(inputs, ghost.params.slots, arrays, shape)
    arguments = tuple(positional), keywords
    ghost._place(program, arguments)
    ghost._call(program, arguments)  # encodes weights, which is no part of a run
    with ghost.record() as trace:
        ghost._call(program, arguments)
    memory = int(ghost.stats()["peak_bytes"]) + encoder_bytes(ghost.params)
    return model.seconds(trace, ghost.params), memory


def size(count: int) -> str:
    """Bytes as text."""
    return _core.format_bytes(count)


def least_bits(values: float, what: str) -> float:
    """A number of bits that is wanted, positive."""
    if not (isinstance(values, int | float) and 0 < values < 1024):
        got = repr(values) if isinstance(values, int | float | str | None) else kind_of(values)
        raise InvalidArgument(
            f"{what}: got {got}, expected a number of bits above 0; several inputs of a program are one "
            "list: [x, y]"
        )
    return float(values)
