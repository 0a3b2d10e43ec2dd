# SPDX-License-Identifier: Apache-2.0
"""The engine: evaluates ciphertexts on one device, within a memory budget, without any secret."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from . import _core
from ._values import byte_count, expect, integer, kind_of, positive
from .ciphertext import Ciphertext, bind_all
from .circuits import Circuits
from .client import Client, Progress
from .errors import InvalidArgument, NotPicklable, WrongType
from .keys import EvaluationKeys, KeyPlan
from .params import Params, expect_same
from .trace import Trace

ResultT = TypeVar("ResultT")


@dataclasses.dataclass(frozen=True)
class RunReport:
    """What the last `Engine.run` did."""

    seconds: float
    """From the bound arguments to the result."""
    plan_seconds: float
    """Ghost pass and planning; 0 where the policy makes no plan."""
    stall_seconds: float
    """Waiting for bytes; 0 where nothing moves."""
    bytes_moved: dict[str, int]
    """Bytes moved per link during the run; empty where nothing moves."""
    peak_bytes: int
    """Largest sum of live bytes during the run, everything that was there before it included."""
    steps: int
    """Backend operations."""


class Engine(Circuits):
    """Evaluates ciphertexts on one device. It never sees a secret key.

    params: parameters of everything that it computes with.
    keys: what `client.evaluation_keys(...)` returned, or None for programs that need none.
    device: "cpu", or "ghost", which executes shapes, levels, scales and allocations but no arithmetic.
    memory: budget of the device's memory: bytes, or text such as "2GiB". None is unlimited.
    policy: how memory is managed. "resident" keeps everything in the device's memory.
    threads: worker threads; all processors unless given.
    keep_seeds: keep seeded keys seeded, with half the bytes, and expand them at each use.

    Ciphertexts keep the engine alive that they are bound to; objects may be dropped in any order. Calls from
    several threads are safe and take turns.
    """

    def __init__(
        self,
        params: Params,
        keys: EvaluationKeys | None = None,
        device: str = "cpu",
        memory: int | str | None = None,
        policy: str = "resident",
        *,
        threads: int | None = None,
        keep_seeds: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._params = expect(params, Params, "Engine", "use Engine(params, keys)")
        if isinstance(keys, Client):
            raise WrongType(
                "Engine: got a Client, which owns the secret key; an engine must not see it. "
                "Expected EvaluationKeys: client.evaluation_keys(rotations=[...])"
            )
        if keys is not None:
            expect(keys, EvaluationKeys, "Engine: keys", "use client.evaluation_keys(rotations=[...])")
            expect_same(params, [("the key bundle", keys.params)], "Engine")
        self._device = expect(device, str, "Engine: device")
        self._policy = expect(policy, str, "Engine: policy")
        self._budget = byte_count(memory, "Engine: memory")
        workers = 0 if threads is None else integer(threads, "Engine: threads", 1, 1024)
        self._core = _core.Engine.make(params._core, device, self._budget, policy, workers, bool(keep_seeds))
        self._last_run: RunReport | None = None
        if keys is not None:
            self.add_keys(keys, progress)

    def add_keys(self, keys: EvaluationKeys, progress: Progress | None = None) -> None:
        """Adds keys of the same parameters to those that it has; keys that it has already are replaced.

        Many keys need not exist at once: generate, add and drop one bundle after another.
        progress: called after each key with the number of keys done and in all.
        """
        expect(keys, EvaluationKeys, "add_keys", "use client.evaluation_keys(rotations=[...])")
        expect_same(self._params, [("the key bundle", keys.params)], "add_keys")
        requests = keys.requests()
        for done, (element, _) in enumerate(requests, start=1):
            self._core.add_key(keys._core, element)
            if progress is not None:
                progress(done, len(requests))

    @property
    def params(self) -> Params:
        """Parameters of everything that this engine computes with."""
        return self._params

    @property
    def device(self) -> str:
        """Name of the device, as given."""
        return self._device

    @property
    def policy(self) -> str:
        """Name of the memory policy."""
        return self._policy

    @property
    def budget_bytes(self) -> int:
        """Bytes of the device's memory that may be live; 0 is unlimited."""
        return self._budget

    @property
    def is_ghost(self) -> bool:
        """Whether it executes shapes only."""
        return self._core.is_ghost

    def describe(self) -> dict[str, Any]:
        """What it runs on: device (for people), simd, threads, memory_bytes."""
        return self._core.describe()

    def stats(self) -> dict[str, Any]:
        """Counters of its memory runtime: live_bytes, peak_bytes, steps, and per object class."""
        return self._core.statistics()

    def reset_peak(self) -> None:
        """Sets the peak counters back to what is live now."""
        self._core.reset_peak()

    # Programs

    def _bind(self, ciphertext: Ciphertext) -> Ciphertext:
        expect(ciphertext, Ciphertext, "to(engine)")
        if ciphertext._engine is self:
            return ciphertext
        expect_same(self._params, [("the ciphertext", ciphertext.params)], "to(engine)")
        return Ciphertext(self._core.load(ciphertext._core), self, ciphertext.is_real)

    def run(self, program: Callable[..., ResultT], *args: Any, **kwargs: Any) -> ResultT:
        """`program(*args, **kwargs)` with every ciphertext in the arguments bound to this engine.

        Ciphertexts inside lists, tuples and dictionaries are bound too; other arguments are passed on as they
        are. `last_run` says what the run took.
        """
        if not callable(program):
            raise WrongType(f"run: got {kind_of(program)}, expected a function of ciphertexts")
        bound = [bind_all(each, self._bind) for each in args]
        named = {name: bind_all(each, self._bind) for name, each in kwargs.items()}
        self.reset_peak()
        steps_before = self.stats()["steps"]
        begin = time.perf_counter()
        result = program(*bound, **named)
        seconds = time.perf_counter() - begin
        after = self.stats()
        self._last_run = RunReport(seconds, 0.0, 0.0, {}, after["peak_bytes"], after["steps"] - steps_before)
        return result

    @property
    def last_run(self) -> RunReport | None:
        """What the last `run` did."""
        return self._last_run

    @contextlib.contextmanager
    def manual(self) -> Iterator[Engine]:
        """`with engine.manual():` products are neither relinearized nor rescaled, and nothing is aligned.

        Levels of operands must then agree, and scales to 2^-30: InvalidArgument or ScaleMismatch otherwise.
        """
        before = self._core.manual
        self._core.manual = True
        try:
            yield self
        finally:
            self._core.manual = before

    def ghost_input(
        self,
        *,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
        real: bool = True,
    ) -> Ciphertext:
        """On a ghost engine, a ciphertext without contents; fresh and of all slots unless said otherwise."""
        level = self._params._level(level)
        scale = self._params.level(level).scale if scale is None else positive(scale, "ghost_input: scale")
        slots = self._params.slots if slots is None else integer(slots, "ghost_input: slots", 1)
        return Ciphertext(self._core.ghost_input(level, scale, slots), self, real)

    @property
    def key_plan(self) -> KeyPlan:
        """The keys that programs have asked a ghost engine for so far, each with the highest level."""
        return KeyPlan(self._params, self._core.needed_keys())

    @contextlib.contextmanager
    def record(self) -> Iterator[Trace]:
        """`with engine.record() as trace:` fills `trace` with what happens to every buffer until the end."""
        trace = Trace.empty()
        _core.start_trace(self._core)
        try:
            yield trace
        finally:
            trace._fill(_core.stop_trace(self._core))

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """`with engine.phase("conv1"):` marks the events of a trace with the name of a phase."""
        _core.set_phase(self._core, expect(name, str, "phase"))
        try:
            yield
        finally:
            _core.set_phase(self._core, "")

    # What needs several ciphertexts or steps at once

    def _own(self, ciphertext: Ciphertext, operation: str) -> _core.Ciphertext:
        if expect(ciphertext, Ciphertext, operation)._on(operation) is not self:
            raise InvalidArgument(
                f"{operation}: the ciphertext is bound to another engine; use ct.to(engine)"
            )
        return ciphertext._core

    def rotate_many(self, ct: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """`[ct.rotate(k) for k in steps]` with the common part of the work done once (hoisting)."""
        source = self._own(ct, "rotate_many")
        checked = [integer(step, "rotate_many: step") for step in steps]
        return [Ciphertext(each, self, ct.is_real) for each in self._core.rotate_many(source, checked)]

    def dot(self, a: Sequence[Ciphertext], b: Sequence[Ciphertext]) -> Ciphertext:
        """sum_i a[i] * b[i] with one relinearization and one rescale for the whole sum. Costs one level."""
        if len(a) != len(b) or not a:
            raise InvalidArgument(
                f"dot: {len(a)} and {len(b)} ciphertexts, expected equally many, at least one"
            )
        left = [self._own(each, "dot") for each in a]
        right = [self._own(each, "dot") for each in b]
        return Ciphertext(self._core.dot(left, right), self, all(each.is_real for each in (*a, *b)))

    def inner_sum(self, ct: Ciphertext, count: int | None = None, stride: int = 1) -> Ciphertext:
        """sum_{i < count} ct.rotate(i * stride), with about log2(count) rotations; all slots unless given.

        For a power of two `count` it needs the keys of stride, 2 stride, 4 stride, ... below count * stride.
        """
        source = self._own(ct, "inner_sum")
        count = ct.slots if count is None else integer(count, "inner_sum: count", 1, ct.slots)
        stride = integer(stride, "inner_sum: stride")
        return Ciphertext(self._core.inner_sum(source, stride, count), self, ct.is_real)

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "an Engine lives on its device and cannot be pickled; pickle its parameters and keys"
        )

    def __repr__(self) -> str:
        budget = _core.format_bytes(self._budget) if self._budget else "unlimited"
        return f"Engine({self._params.name!r} on {self._device}, memory {budget}, policy {self._policy!r})"
