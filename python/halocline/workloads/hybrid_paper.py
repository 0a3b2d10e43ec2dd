# SPDX-License-Identifier: Apache-2.0
"""Traces with the shape of the workloads of "Hybrid CUDA Unified Memory Management in FHE Workloads".

Choi, Jung, Lee, Yeom: HEaaN on GPUs with 2, 6 and 48 GB. Their workloads are not public; these have the same
parameter sizes and operations:

* `operation_trace`: one operation of the benchmark, repeated: add, mult, rotate, conjugate, bootstrap.
* `bm_bootstrap_trace`: bootstrapping of one parameter set after another; all keys stay.
* `resnet_trace`: the key switches of one ResNet-20 inference in their order.

docs/papers/hybrid_unified_memory.md compares replays of them with the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..ciphertext import Ciphertext
from ..engine import Engine
from ..errors import InvalidArgument
from ..params import Params
from ..program import trace_program
from ..trace import Trace
from .bootstrap_shape import BootstrapShape
from .resnet20_keys import CONJUGATION, SLOTS, resnet20_phases

PRESETS = ("FVa", "FVb", "FVc", "FGa", "FGb", "FTa", "FTb")
"""Table I of the paper."""
OPERATIONS = ("add", "mult", "rotate", "conjugate", "bootstrap")
REPEATS = 10
"""Times that the benchmark repeats each operation."""

_SIMPLE: dict[str, Callable[[Ciphertext, Ciphertext], Ciphertext]] = {
    "add": lambda a, b: a + b,
    "mult": lambda a, b: a * b,
    "rotate": lambda a, b: a.rotate(1),
    "conjugate": lambda a, b: a.conj(),
}


def operation_trace(preset: str, operation: str, repeats: int = REPEATS) -> Trace:
    """One operation `repeats` times on the same two fresh ciphertexts; run i is the phase "<operation> i"."""
    if operation not in OPERATIONS:
        raise InvalidArgument(
            f"hybrid paper: unknown operation '{operation}'; expected one of: {', '.join(OPERATIONS)}"
        )
    params = Params.preset(preset)

    def program(a: Ciphertext, b: Ciphertext) -> None:
        engine = _engine_of(a)
        apply = _SIMPLE[operation] if operation in _SIMPLE else _prepared_bootstrap(params, engine)
        for number in range(1, repeats + 1):
            with engine.phase(f"{operation} {number}"):
                apply(a, b)

    return trace_program(params, program).trace


def bm_bootstrap_trace(presets: Sequence[str] = PRESETS, repeats: int = 1) -> Trace:
    """Bootstrapping of one parameter set after another; keys and constants of all of them stay to the end."""
    traces = (operation_trace(preset, "bootstrap", repeats) for preset in presets)
    return concatenate((preset, trace) for preset, trace in zip(presets, traces, strict=True))


def resnet_trace(preset: str = "FGa", level: int | None = None) -> Trace:
    """All rotations and conjugations of one ResNet-20 inference in their order, on one running ciphertext.

    level: at which the key switches happen; the highest one unless given. Plaintext products and polynomials
    are left out: what a cache of keys sees is complete, what lies between two key switches is not.
    """
    params = Params.preset(preset)
    if params.slots != SLOTS:
        raise InvalidArgument(f"resnet trace: '{preset}' has {params.slots} slots, expected {SLOTS}")

    def program(x: Ciphertext) -> Ciphertext:
        engine = _engine_of(x)
        x = x.drop_level(params.max_level if level is None else level)
        for number, (phase, keys) in enumerate(resnet20_phases(), start=1):
            with engine.phase(f"{number} {phase}"):
                for key in keys:
                    x = x + (x.conj() if key == CONJUGATION else x.rotate(key))
        return x

    return trace_program(params, program).trace


def _engine_of(ct: Ciphertext) -> Engine:
    if ct.engine is None:
        raise InvalidArgument("hybrid paper: the program needs ciphertexts of a ghost engine")
    return ct.engine


def _prepared_bootstrap(params: Params, engine: Engine) -> Callable[[Ciphertext, Ciphertext], Ciphertext]:
    """Bootstrapping whose constants are there before it begins."""
    shape = BootstrapShape(params)
    with engine.phase("constants"):
        shape.prepare(engine)
    return lambda a, b: shape(a)


def concatenate(parts: Iterable[tuple[str, Trace]]) -> Trace:
    """Traces one after another as one trace, with the name of each in front of its tags.

    Buffers of different parts are different ones; what a part has not freed stays live to the end.
    """
    lines: list[str] = []
    header, step_offset, object_offset, time_offset = "", 0, 0, 0
    for name, trace in parts:
        header, *rows = trace.to_csv().splitlines()
        last_step, last_object, last_time = -1, -1, 0
        for row in rows:
            step, op, action, buffer, cls, size, offset, stream, time_ns, tag = row.split(",", 9)
            last_step, last_object = max(last_step, int(step)), max(last_object, int(buffer))
            last_time = max(last_time, int(time_ns))
            moved = (int(step) + step_offset, op, action, int(buffer) + object_offset, cls, size, offset)
            lines.append(",".join(map(str, (*moved, stream, int(time_ns) + time_offset, f"{name}/{tag}"))))
        step_offset += last_step + 1
        object_offset += last_object + 1
        time_offset += last_time
    if not header:
        raise InvalidArgument("concatenate: no traces, expected at least one")
    return Trace.from_csv("\n".join([header, *lines]) + "\n")
