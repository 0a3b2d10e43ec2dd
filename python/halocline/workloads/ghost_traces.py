# SPDX-License-Identifier: Apache-2.0
"""Traces of the large workloads from a ghost engine: what one image, period or merge would do.

Keys, encoded weights and constants are there before the recording begins, as in the second run of a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import nn
from ..ckks.ciphertext import Ciphertext
from ..ckks.params import Params
from ..engine.engine import Engine
from ..memory.budget import SMALLEST_CALLS
from ..memory.trace import Trace
from .helr.circuit import HelrCircuit, HelrLayout, iterations_per_bootstrap
from .helr.model import make_constants
from .helr.options import HelrOptions
from .helr.run import helr_bootstrapper
from .resnet20.digits import digits_model
from .sorting.circuit import SortingCircuit
from .sorting.network import stages
from .sorting.options import DEFAULT_ALPHA, DEFAULT_COUNT

Prepare = Callable[[Engine], Callable[[], Any]]
"""Makes the inputs of a program on an engine; returns it as a function without arguments."""

HELR_SAMPLES, HELR_FEATURES = 1024, 196
"""What the papers train: MNIST's threes and eights in 14 by 14 pixels."""


def recorded(params: Params, prepare: Prepare) -> Trace:
    """The second call of a program: the first one encodes what it needs and tells its keys.

    Calls of several keys are as small as under the least budget, so that replays fit within any.
    """
    engine = Engine(params, device="ghost")
    engine._core.joining_budget = SMALLEST_CALLS
    program = prepare(engine)
    program()
    engine._core.prepare_keys(engine.key_plan.requests())
    with engine.record() as trace:
        program()
    return trace


def resnet20_program(params: Params) -> Prepare:
    """One image through the ResNet-20 that comes with the package; phases are its layers."""
    model = digits_model()
    ranges = nn.Ranges.stored_in(model)
    assert ranges is not None  # the shipped weights carry theirs
    return network_program(nn.compile(model, params, ranges))


def resnet20_trace(params: Params) -> Trace:
    """See `resnet20_program`."""
    return recorded(params, resnet20_program(params))


def network_trace(compiled: nn.CompiledModel) -> Trace:
    """See `network_program`."""
    return recorded(compiled.params, network_program(compiled))


def network_program(compiled: nn.CompiledModel) -> Prepare:
    """One input through a network; phases are its layers."""

    def prepare(engine: Engine) -> Callable[[], Ciphertext]:
        slots, level = compiled.program.input_layout.slots, compiled.program.schedule.fresh_level
        x = engine.ghost_input(level=level, slots=slots)
        return lambda: compiled(x, phase=engine.phase)

    return prepare


def helr_trace(params: Params, samples: int = HELR_SAMPLES, features: int = HELR_FEATURES) -> Trace:
    """See `helr_program`."""
    return recorded(params, helr_program(params, samples, features))


def helr_program(params: Params, samples: int = HELR_SAMPLES, features: int = HELR_FEATURES) -> Prepare:
    """One period of training: as many iterations as levels allow, and the bootstrap behind them."""
    layout = HelrLayout.of(params.slots, samples, features + 1)
    options = HelrOptions()
    bootstrapper = helr_bootstrapper(params, layout, options.bootstrap)
    each = max(1, iterations_per_bootstrap(bootstrapper))
    constants = make_constants(samples, options.iterations, options.rate, options.interval, each)
    circuit = HelrCircuit(params, layout, constants, bootstrapper)
    steps = next(constants.periods())

    def prepare(engine: Engine) -> Callable[[], Ciphertext]:
        def sent(level: int, slots: int = layout.slots) -> Ciphertext:
            return engine.ghost_input(level=level, slots=slots, real=slots == layout.slots)

        state = sent(circuit.bootstrapper.output_level, layout.columns)
        forward = [sent(circuit.level) for _ in range(layout.ciphertexts)]
        backward = [sent(circuit.backward_level) for _ in range(layout.ciphertexts)]
        mean = sent(circuit.backward_level, layout.columns)
        data = circuit.prepare(forward, backward, mean)
        return lambda: circuit.period(state, *data, steps)

    return prepare


def sorting_trace(params: Params, count: int | None = None) -> Trace:
    """See `sorting_program`."""
    return recorded(params, sorting_program(params, count))


def sorting_program(params: Params, count: int | None = None) -> Prepare:
    """The last phase of the network, which merges two sorted halves; a bootstrap before each stage.

    count: numbers; as many as `halocline run sorting` takes, or fit, unless given.
    """
    circuit = SortingCircuit(params, count or min(DEFAULT_COUNT, params.slots), DEFAULT_ALPHA)
    order = list(stages(circuit.count))
    merge = [
        program
        for stage, program in zip(order, circuit.program, strict=True)
        if stage.phase == order[-1].phase
    ]

    def prepare(engine: Engine) -> Callable[[], Ciphertext]:
        x = engine.ghost_input(level=circuit.bootstrapper.input_level, slots=circuit.count, real=True)

        def run() -> Ciphertext:
            y = x
            for number, stage in enumerate(merge):
                with engine.phase(f"bootstrap {number + 1}"):
                    y = circuit.bootstrapper(y)
                with engine.phase(f"stage {number + 1}"):
                    y = stage(y)
            return y

        return run

    return prepare


TRACES: dict[str, Callable[[Params], Trace]] = {
    "resnet20": resnet20_trace,
    "helr": helr_trace,
    "sorting": sorting_trace,
}
"""By the name of the workload."""

PROGRAMS: dict[str, Callable[[Params], Prepare]] = {
    "resnet20": resnet20_program,
    "helr": helr_program,
    "sorting": sorting_program,
}
"""The same before they are recorded."""
