# SPDX-License-Identifier: Apache-2.0
"""Traces with the shape of the workloads of "Hybrid CUDA Unified Memory Management in FHE Workloads".

Choi, Jung, Lee, Yeom: HEaaN on GPUs with 2, 6 and 48 GB. Their workloads are not public; these have the same
parameter sizes and operations:

* `operation_trace`: one operation of the benchmark, repeated: add, mult, rotate, conjugate, bootstrap.
* `session_trace`: the benchmark: all of these operations.
* `bm_bootstrap_trace`: bootstrapping of one parameter set after another, in rounds; all keys stay.
* `oversubscribed_trace`: the test program of section III-B.
* `resnet_trace`: the key switches of one ResNet-20 inference in their order.

docs/papers/hybrid_unified_memory.md compares replays of them with the paper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...base.errors import InvalidArgument
from ...ckks.ciphertext import Ciphertext
from ...ckks.params import Params
from ...engine.engine import Engine
from ...engine.program import trace_program
from ...memory.trace import Trace
from .bootstrap_shape import BootstrapShape
from .resnet20_keys import CONJUGATION, SLOTS, resnet20_phases

PRESETS = ("FVa", "FVb", "FVc", "FGa", "FGb", "FTa", "FTb")
"""Table I of the paper."""
OPERATIONS = ("add", "mult", "rotate", "conjugate", "bootstrap")
REPEATS = 10
"""Times that the benchmark repeats each operation."""

_STEP_NS = 1000  # of traces without clocks, as ghosts count
_BLOCK_BYTES = 1 << 21
_HEADER = "step,op,action,object,class,bytes,offset,stream,time_ns,tag"

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


def session_trace(preset: str, repeats: int = REPEATS) -> Trace:
    """All operations, each `repeats` times in a row, on the same ciphertexts of one engine with all keys.

    Run i of an operation is the phase "<operation> i".
    """
    params = Params.preset(preset)

    def program(a: Ciphertext, b: Ciphertext) -> None:
        engine = _engine_of(a)
        apply = _SIMPLE | {"bootstrap": _prepared_bootstrap(params, engine)}
        for operation in OPERATIONS:
            for number in range(1, repeats + 1):
                with engine.phase(f"{operation} {number}"):
                    apply[operation](a, b)

    return trace_program(params, program).trace


def bm_bootstrap_trace(presets: Sequence[str] = PRESETS, rounds: int = 2) -> Trace:
    """Bootstrapping of one parameter set after another, `rounds` times.

    The keys of a set are loaded when its first turn comes, and all of them stay to the end.
    """
    traces = [operation_trace(preset, "bootstrap", rounds) for preset in presets]
    return concatenate(list(zip(presets, traces, strict=True)), rounds)


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


Row = list[str]
"""The fields of a line of CSV."""


@dataclasses.dataclass
class _Joined:
    """Rows of several traces as those of one trace, with numbers of their own."""

    parts: int
    rows: list[str] = dataclasses.field(default_factory=list)
    step: int = 0
    """First step that is free."""
    time_ns: int = 0
    live: dict[int, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """Buffers that are not freed: class and size."""

    def load(self, part: int, name: str, existing: Iterable[Row]) -> None:
        """Allocates buffers that were there before the recording, and fills each of them in a step."""
        for event in existing:
            size, tag = event[5], event[9].partition("@")[0]
            filled = ["0", "upload", "write", event[3], event[4], size, "0", event[7], "0", f"load/{tag}"]
            made = [*filled]
            made[1:3] = event[1], "allocate"
            self.add(part, name, (made, filled))

    def add(self, part: int, name: str, events: Sequence[Row]) -> None:
        """Events of one part, whose steps and times follow those that are there."""
        if not events:
            return
        first_step, first_ns = int(events[0][0]), int(events[0][8])
        for step, op, action, buffer, cls, size, offset, stream, time_ns, tag in events:
            number = int(buffer) * self.parts + part
            if action == "allocate":
                self.live[number] = (cls, size)
            elif action == "free":
                del self.live[number]
            moved = (int(step) - first_step + self.step, op, action, number, cls, size, offset, stream)
            self.rows.append(
                ",".join(map(str, (*moved, int(time_ns) - first_ns + self.time_ns, f"{name}/{tag}")))
            )
        self.step += int(events[-1][0]) - first_step + 1
        self.time_ns += int(events[-1][8]) - first_ns + _STEP_NS

    def free_all(self) -> None:
        """Frees what is still live."""
        for number, (cls, size) in self.live.items():
            self.rows.append(f"{self.step},-,free,{number},{cls},{size},0,0,{self.time_ns},end")
        self.live.clear()


def concatenate(parts: Sequence[tuple[str, Trace]], rounds: int = 1) -> Trace:
    """Traces one after another as one trace, with the name of each in front of its tags.

    rounds: cut each trace where its phases "<operation> 2", "<operation> 3", ... begin, and put the first
        pieces of all traces before the second ones, and so on.

    Buffers of different parts are different ones. Those that were there before a part began are allocated and
    filled at its beginning, in the phase "<name>/load"; what no part frees is freed at the end of all.
    """
    if not parts:
        raise InvalidArgument("concatenate: no traces, expected at least one")
    joined = _Joined(len(parts))
    pieces: list[list[list[Row]]] = []
    for part, (name, trace) in enumerate(parts):
        rows = [line.split(",", 9) for line in trace.to_csv().splitlines()[1:]]
        pieces.append(_cut([row for row in rows if row[2] != "exists"], rounds))
        joined.load(part, name, (row for row in rows if row[2] == "exists"))
        joined.add(part, name, pieces[-1][0])
    for number in range(1, rounds):
        for part, (name, _) in enumerate(parts):
            joined.add(part, name, pieces[part][number])
    joined.free_all()
    return Trace.from_csv("\n".join([_HEADER, *joined.rows]) + "\n")


def _cut(rows: list[Row], rounds: int) -> list[list[Row]]:
    """The rows in as many pieces; piece k begins with the first phase named "<operation> k"."""
    begins = [0]
    for number in range(2, rounds + 1):
        ends = f" {number}"
        begins.append(next(at for at, row in enumerate(rows) if row[9].partition("/")[0].endswith(ends)))
    return [rows[begin:end] for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True)]


def oversubscribed_trace(total_bytes: int, sweeps: int = 3, seed: int = 0) -> Trace:
    """Kernels that touch all of `total_bytes` in random order, `sweeps` times: the paper's test program.

    Buffers of 2 MiB, the unit in which managed memory moves; they are filled in the phase "fill", and each
    sweep is a phase of its own.
    """
    count = max(1, total_bytes // _BLOCK_BYTES)
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = []
    for number in range(count):
        for op, action in (("-", "allocate"), ("upload", "write")):
            rows.append((number, op, action, number, "fill"))
    step = count
    for sweep in range(1, sweeps + 1):
        for number in rng.permutation(count).tolist():
            for action in ("read", "write"):
                rows.append((step, "add", action, number, f"sweep {sweep}"))
            step += 1
    rows += [(step, "-", "free", number, "end") for number in range(count)]
    lines = [
        f"{step},{op},{action},{number},ciphertext,{_BLOCK_BYTES},0,0,{step * _STEP_NS},{phase}/{op}"
        for step, op, action, number, phase in rows
    ]
    return Trace.from_csv("\n".join([_HEADER, *lines]) + "\n")
