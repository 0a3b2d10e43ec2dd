# SPDX-License-Identifier: Apache-2.0
"""The engine: evaluates ciphertexts on one device, within a memory budget, without any secret."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, NoReturn, TypeVar, overload

from .. import _core
from ..base.devices import prepare_device
from ..base.errors import InvalidArgument, NotPicklable, WrongType
from ..base.forks import renew_in_children
from ..base.names import Device, Policy
from ..base.progress import Progress
from ..base.values import byte_count, expect, integer, kind_of, positive
from ..circuits.bootstrapping import Bootstrapper
from ..circuits.choice import CircuitChoice
from ..circuits.methods import Circuits
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.encrypted import expect_encrypted
from ..ckks.host import Elsewhere, Refreshes
from ..ckks.keys import KeyPlan
from ..ckks.params import Params, expect_same
from ..memory.budget import MemoryBudget, MemoryOptions, engine_budget
from ..memory.plan import Plan
from ..memory.trace import Trace
from ..remote.offload import KeyNodes, offload_of
from .automatic_runs import AutomaticRuns, Bootstrap, advising_bootstraps
from .bootstrap_room import BootstrapRoom, room_of
from .explanation import Explanation, explain
from .host import PlannedHost
from .key_loading import Keys, check_keys, loader_of
from .plan_choice import Optimize, check_optimize
from .planned_run import Prepared, ProgramPlanner, load_plan
from .profiling import Profile, profiled
from .program_identity import Arguments, ProgramIdentities
from .refusals import stating_engine_minimum, stating_run_minimum
from .run_report import RunMeter
from .run_report import RunReport as RunReport
from .run_scope import run_scope
from .seed_choice import kept_seeds_text, seed_choice

ResultT = TypeVar("ResultT")


PlanLike = Any
"""A plan that `plan_trace` made or `last_plan` gave, or the path of a file with one."""


class Engine(Circuits):
    """Evaluates ciphertexts on one device. It never sees a secret key.

    params: parameters of everything that it computes with.
    keys: what `client.evaluation_keys(...)` returned, or `store.user(...)`, or None where none is needed.
        Of a store, keys are loaded when operations need them, or plans ahead of that: under policies "lru"
        and "planned", and under "resident" on the CPU or with key nodes; otherwise all of them now.
    device: "cpu", or "ghost", which executes shapes, levels, scales and allocations but no arithmetic.
    memory: budget of the device's memory: bytes, or text such as "2GiB", or a `MemoryBudget` that several
        engines share. None is unlimited.
    policy: how memory is managed. "resident" keeps everything in the device's memory; "planned" evicts keys,
        plaintexts and ciphertexts to a file and prefetches them by a plan from a ghost pass of each program;
        "lru" loads them on demand and evicts the least recently used. docs/concepts/policies.md has all of
        them.
    threads: worker threads; all processors unless given.
    keep_seeds: keep seeded keys seeded, with half the bytes, and expand them at each use: all of them, none,
        or those of the given Galois elements, such as `key_plan.seeded_within(...)` names. None: those that
        bootstraps choose, within the budget or their option `memory`; of other programs none.
    memory_options: the slow tier and constants of policies.
    graphs: on a GPU where nothing moves, let `run` launch programs as graphs: all, none, or (None) those for
        which the GPU waits for the host. HALOCLINE_GRAPHS in the environment, 1 or 0, decides instead then.
    compose_rotations: let plans make rarely used rotations of others (5 of 4 and 1) where that is forecast to
        be faster than loading their keys. It adds the noise of a key switch, so results are other integers
        than under other policies; without it they are the same under every policy and plan.
    key_nodes: `KeyNode`s that do key switches where fetching keys costs more; under policy "resident", with
        keys of a store, which a GPU then loads at first use too, and without graphs. Results are the same
        integers; `stats` says what was sent.
    circuits: how it organises linear maps and bootstraps, in place of the options of each (`CircuitChoice`);
        `halocline.advise` finds what reads least.
    bootstrap: "auto", or fields of `BootstrapOptions` in a mapping: ciphertexts are bootstrapped where levels
        would be missing. `run` records a program on a ghost and places bootstraps by dynamic programming;
        operations outside of runs bootstrap what they lack. Values that are bootstrapped must keep to
        `message_bound`. docs/concepts/automatic_bootstraps.md.

    Ciphertexts keep the engine alive that they are bound to; objects may be dropped in any order.

    Calls from several threads are safe and take turns: runs as a whole, all other operations one by one, also
    between the operations of a run in another thread. They do not disturb its plan. What `manual` sets and
    what a plan says is about the operations of its own thread only. A program must not wait for another
    thread that calls `run` of the same engine.
    """

    _begins_cold = False  # the next run begins with keys that no run left in memory
    _explaining: PlannedHost | None = None  # a ghost, on which a refused program runs to say what it needs
    _automatic: AutomaticRuns | None = None  # what is refused before that is made asks for it
    _bootstrap_room: BootstrapRoom | None = None  # likewise

    def __init__(
        self,
        params: Params,
        keys: Keys | None = None,
        device: Device = "cpu",
        memory: int | str | MemoryBudget | None = None,
        policy: Policy = "resident",
        *,
        threads: int | None = None,
        keep_seeds: bool | Collection[int] | None = None,
        memory_options: MemoryOptions | None = None,
        graphs: bool | None = None,
        compose_rotations: bool = False,
        key_nodes: KeyNodes | None = None,
        circuits: CircuitChoice | None = None,
        bootstrap: Bootstrap | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._params = expect(params, Params, "Engine", "use Engine(params, keys)")
        check_keys(keys, params, "Engine: keys", optional=True)
        self._device = prepare_device(expect(device, str, "Engine: device"))
        self._policy = expect(policy, str, "Engine: policy")
        budget, self._shared = engine_budget(memory, "Engine: memory")
        self._composes = bool(compose_rotations)
        self._circuits = expect(circuits or CircuitChoice(), CircuitChoice, "Engine: circuits")
        self._turns, self._depth, self._recording = threading.RLock(), 0, threading.Lock()  # of runs
        renew_in_children(self)
        self._keep_seeds, seeded = seed_choice(keep_seeds)
        self._chooses_seeds = keep_seeds is None and key_nodes is None
        options = expect(memory_options or MemoryOptions(), MemoryOptions, "Engine: memory_options")
        workers = 0 if threads is None else integer(threads, "Engine: threads", 1, 1024)
        moving = options._bind(policy == "planned", self._shared, f"engine {params.name} on {device}")
        options.expect_decisions(self._policy)
        how = (device, budget, policy, workers, self._keep_seeds is True, moving)
        with stating_engine_minimum(self, budget, [], keys):
            self._core = _core.Engine.make(params._core, *how)
        self._core.keep_seeds_of(seeded)
        self._bootstrap_room = room_of(self, None if self._chooses_seeds else self._keep_seeds)
        self._native = self._core
        if key_nodes is not None or graphs is not None:  # no graph holds a request to another process
            _core.use_graphs(self._core, graphs is True and key_nodes is None)
        self._last_run: RunReport | None = None
        self._last_plan: _core.Plan | None = None
        self._encoded_log: list[tuple[Any, int]] | None = None  # only twins of other engines keep one
        self._bootstrappers: dict[Any, Bootstrapper] = {}
        self._identities = ProgramIdentities()
        self._planner = ProgramPlanner.of(self, self._identities, policy)
        self._automatic = AutomaticRuns.of(self, bootstrap, key_nodes is not None)
        self._refreshes: Refreshes | None = None if self._automatic is None else self._automatic.refresher
        ghost = functools.partial(Engine, params, device="ghost", circuits=self._circuits)
        self._elsewhere: Elsewhere | None = offload_of(key_nodes, self._native, keys, device, policy, ghost)
        if keys is not None:
            self.add_keys(keys, progress)

    def _renew_locks(self) -> None:
        """In a forked child: a run of another thread does not go on here, one of this thread does."""
        if not self._turns._is_owned():  # type: ignore[attr-defined]
            self._turns, self._depth = threading.RLock(), 0
        self._recording = threading.Lock()

    def _bare_ghost(self) -> Engine:
        """A ghost engine without keys that keeps keys, and organises circuits, as this one does."""
        return self._make_ghost("resident")

    def _make_ghost(self, policy: Policy) -> Engine:
        bootstrap = None if self._automatic is None else self._automatic.options
        alike: dict[str, Any] = {"circuits": self._circuits, "bootstrap": bootstrap}
        made = Engine(self._params, device="ghost", policy=policy, keep_seeds=self._keep_seeds, **alike)
        made._chooses_seeds, made._bootstrap_room = self._chooses_seeds, self._bootstrap_room
        return made

    def _keep_more_seeds(self, elements: Collection[int]) -> None:
        """Keeps keys seeded besides, by Galois element, unless it was said which are."""
        if self._chooses_seeds and elements:
            before = self._keep_seeds if isinstance(self._keep_seeds, frozenset) else frozenset[int]()
            self._keep_seeds = before | frozenset(elements)
            self._native.keep_more_seeds(sorted(elements))

    def _keep_seeds_as(self, other: PlannedHost) -> None:
        """Keeps those keys seeded that its twin has chosen."""
        if isinstance(other._keep_seeds, frozenset):
            self._keep_more_seeds(other._keep_seeds)

    def add_keys(self, keys: Keys, progress: Progress | None = None) -> None:
        """Adds keys of the same parameters to those that it has; keys that it has already are replaced.

        All must be of one client: raises KeyMismatch, and adds nothing, when the engine has keys of another.

        Many keys need not exist at once: generate, add and drop one bundle after another. Raises OutOfMemory
        that states what tables, the keys that it has and all of these need, when the budget is too small.
        progress: called after each key with the number of keys done and in all.
        """
        check_keys(keys, self._params, "add_keys")
        requests = keys.requests()
        # Where neither buffers nor keys can be loaded later, graphs want the keys of a store now.
        at_first_use = self._device == "cpu" or self._elsewhere is not None
        add = loader_of(self._core, keys, lazily=at_first_use and self._policy == "resident")
        if add is None:
            return
        with stating_engine_minimum(self, self.budget_bytes, self._core.list_keys(), keys):
            for done, (element, _) in enumerate(requests, start=1):
                add(element)
                if progress is not None:
                    progress(done, len(requests))
        if self._planner is not None and self.budget_bytes != 0:  # without a budget no plan will be made
            self._core.calibrate()

    @property
    def params(self) -> Params:
        """Parameters of everything that this engine computes with."""
        return self._params

    @property
    def key_id(self) -> str | None:
        """The secret key that its keys are for, as `Client.key_id`; None where that is unknown.

        Ciphertexts of other clients are refused (KeyMismatch).
        """
        return self._core.key_id

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
        """Bytes of the device's memory that may be used; 0 is unlimited."""
        return int(self._core.budget_bytes)

    def set_budget(self, memory: int | str) -> None:
        """Changes the budget now; frames that no step needs are evicted until it is met.

        May be called during a run, also from another thread: it applies between two steps. A plan that is
        being followed and needs more is abandoned: the program continues under `lru`. Raises OutOfMemory, and
        keeps the old budget, when what is in use does not fit.
        """
        self._core.set_budget(byte_count(memory, "set_budget"))

    def evict_keys(self, *, copies: bool = False) -> None:
        """Takes all keys out of the memory that kernels use; the next run begins without them.

        Keys that are nowhere else are written to the tier behind it first. copies: those of keys of a store
        leave the tiers between too, so that they are read from the store again. The next `run` is planned for
        that: keys are loaded while it computes, in the order of their use. Where everything stays, as under
        policy "resident", it raises InvalidArgument.
        """
        if not self._core.moves:
            raise InvalidArgument(
                f"evict_keys: the policy is '{self._policy}' on {self._device}, where keys stay; expected "
                "policy 'planned' or 'lru'"
            )
        self._core.evict_keys(bool(copies))
        self._begins_cold = True

    def synchronize(self) -> None:
        """Waits until a GPU has finished all submitted work; no effect on other devices."""
        _core.wait(self._native)

    def cancel(self) -> None:
        """Makes the engine's next step, or what waits for a key node, raise Cancelled. Objects stay valid."""
        if self._elsewhere is None or not self._elsewhere.cancel():
            self._core.cancel()

    @property
    def is_ghost(self) -> bool:
        """Whether it executes shapes only."""
        return self._core.is_ghost

    def describe(self) -> dict[str, Any]:
        """What it runs on: device (readable), simd, threads, memory_bytes."""
        return self._core.describe()

    def stats(self) -> dict[str, Any]:
        """Counters of its memory runtime: live_bytes, peak_bytes, steps, and per object class.

        repairs and repaired_bytes: buffers whose copies in the file of the slow tier were corrupted and that
        were regenerated from their sources; losses and lost_bytes: buffers that could not be; every use of
        them raises CorruptData. links: of each tier behind the fast one. key_nodes: what they did (docs).
        """
        nodes = {} if self._elsewhere is None else {"key_nodes": self._elsewhere.counts()}
        return self._core.statistics() | {"links": self._core.link_statistics()} | nodes

    def explain(self) -> Explanation:
        """Where each key waits now, bound, forecast and measurement of the last run, and where and why it
        bootstrapped by itself; `str()` shows it."""
        bootstraps = () if self._automatic is None else self._automatic.points()
        return explain(self, self._params, self._last_plan, self._last_run, bootstraps)

    def reset_peak(self) -> None:
        """Sets the peak counters back to what is live now."""
        self._core.reset_peak()

    # Programs

    def _bind(self, ciphertext: Ciphertext) -> Ciphertext:
        expect(ciphertext, Ciphertext, "to(engine)")
        if ciphertext._engine is self:
            return ciphertext
        expect_encrypted(ciphertext, "to(engine)")
        expect_same(self._params, [("the ciphertext", ciphertext.params)], "to(engine)")
        return Ciphertext(self._core.load(ciphertext._core), self, ciphertext.is_real)

    def run(
        self,
        program: Callable[..., ResultT],
        *args: Any,
        plan: PlanLike | None = None,
        key: Any = None,
        optimize: Optimize | None = None,
        **kwargs: Any,
    ) -> ResultT:
        """`program(*args, **kwargs)` with every ciphertext in the arguments bound to this engine.

        Ciphertexts inside lists, tuples and dictionaries are bound too; other arguments are passed on as they
        are. Returns when the device has finished; `last_run` describes the run.

        Under policy "planned" with a budget, the program is first called with ciphertexts without contents on
        a ghost of this engine, a plan is made from what it touches, and the run follows it. Plans are kept
        per program and shapes of the arguments; one is made anew before the second run. Ciphertexts must be
        arguments: a program that uses others, bound to this engine, cannot be planned. What cannot be
        planned, or does something else than its plan, runs under "lru" and warns (PlanDivergence); its
        results are right, and `last_run.divergence` says why. `plan`: a plan or the path of one, instead.

        Two programs are the same if their code is, and the values that it reaches: closures, defaults,
        globals, the object of a method, the attributes that it reads of them. So a lambda that is made anew
        is planned once, and one with another captured number or array once more. A captured value that
        cannot be compared (an iterator, a file, a random generator) is refused. `key`: what says which
        program this is, instead of its code and these values: text, numbers, tuples of them, or an object
        that never changes. Runs with equal keys and arguments of equal shapes share plans and graphs. To pass
        `plan`, `key` or `optimize` to the program itself, bind them with functools.partial.

        optimize="io": makes several plans and follows the one with the shortest forecast: with and without
        regeneration of seeds and weights, with prefixes of keys and with whole objects, and, where the engine
        may, with rotations composed of others. `last_run.choice` says which, and what else there was.

        Raises OutOfMemory that states what the whole run needs, under this policy and `planned`, when the
        budget is too small (to say that, the program is called once more, on ghosts); InvalidArgument for a
        captured value or key that cannot be compared.

        Runs of several threads take turns. A run inside a run of the same engine and thread is a part of it:
        it has no plan and no report of its own.
        """
        if not callable(program):
            raise WrongType(f"run: got {kind_of(program)}, expected a function of ciphertexts")
        self._identities.check_key(key)
        check_optimize(optimize, plan is not None, self._planner is not None)
        with self._turns:
            if self._depth != 0:
                if optimize is not None:
                    raise InvalidArgument("run: optimize for a part of a run; give it to the outermost run")
                return self._run_within(program, args, kwargs, plan)
            self._depth = 1
            try:
                with stating_run_minimum(self, program, (args, kwargs)):
                    return self._run(program, args, kwargs, plan, key, optimize)
            finally:
                self._depth = 0

    def _run_within(
        self,
        program: Callable[..., ResultT],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        plan: PlanLike | None,
    ) -> ResultT:
        """A part of a run, on the twin while that is planned."""
        if plan is not None:
            raise InvalidArgument("run: a plan for a part of a run; give it to the outermost run")
        shaping = self._explaining or (None if self._planner is None else self._planner.shaping)
        bind = self._bind if shaping is None else shaping._bind
        bound = tuple(bind_all(each, bind) for each in args)
        return program(*bound, **{name: bind_all(each, bind) for name, each in kwargs.items()})

    def _run(
        self,
        program: Callable[..., ResultT],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        plan: PlanLike | None,
        key: Any,
        optimize: Optimize | None,
    ) -> ResultT:
        bound = tuple(bind_all(each, self._bind) for each in args)
        named = {name: bind_all(each, self._bind) for name, each in kwargs.items()}
        meter = RunMeter(self, self._planner)
        if self._automatic is not None:
            self._automatic.prepare(program, (bound, named), key)
        prepared, plan_seconds = self._prepare(program, (bound, named), plan, key, optimize)
        self._begins_cold = False
        meter.begin()
        with run_scope(self, lambda: self._identities.graph_number(program, (bound, named), key)):
            if self._planner is not None:
                result = self._planner.call(prepared, program, (bound, named))
            else:
                result = self._call(program, (bound, named))
        self.synchronize()
        self._last_run = meter.report(plan_seconds, prepared)
        return result

    def _place(self, program: Callable[..., Any], arguments: Arguments) -> None:
        """Finds the automatic bootstraps of a program, without keeping them."""
        if self._automatic is not None:
            self._automatic.current = self._automatic.placed(program, arguments)

    def _follow(self, other: PlannedHost) -> None:
        """Bootstraps the program that comes where another engine does: on its twin."""
        if self._automatic is not None:
            self._automatic.current = other._automatic.current

    def _call(self, program: Callable[..., Any], arguments: Arguments) -> Any:
        """The program with arguments of this engine, bootstrapped where that was found to be needed."""
        if self._automatic is not None:
            return self._automatic.call(program, arguments)
        positional, named = arguments
        with advising_bootstraps(self.params):
            return program(*positional, **named)

    def _add_encoded(self, ciphertext: Ciphertext, plain: _core.Plaintext) -> _core.Ciphertext:
        if self._automatic is not None:
            return self._automatic.core.add_encoded(ciphertext._core, plain)
        return _core.add_plain(self._native, ciphertext._core, plain)

    def _prepare(
        self,
        program: Callable[..., Any],
        arguments: Arguments,
        plan: PlanLike | None,
        key: Any,
        optimize: Optimize | None,
    ) -> tuple[Prepared | None, float]:
        """The plan to follow, and the seconds that it took to have it."""
        begin = time.perf_counter()
        if self._planner is None:
            if plan is not None:
                raise InvalidArgument(
                    f"run: the engine's policy is '{self._policy}'; plans are followed under 'planned'"
                )
            return None, 0.0
        if plan is not None:
            checked = load_plan(plan, self._plan_context(), self._composes)
            prepared: Prepared | None = Prepared(checked, is_given=True)
        elif self.budget_bytes == 0:
            return None, 0.0
        else:
            prepared = self._planner.plan_for(program, arguments, key, optimize=optimize == "io")
        self._last_plan = None if prepared is None else prepared.plan
        return prepared, time.perf_counter() - begin

    @overload
    def program(self, function: Callable[..., ResultT]) -> Callable[..., ResultT]: ...
    @overload
    def program(self, *, key: Any = None) -> Callable[[Callable[..., ResultT]], Callable[..., ResultT]]: ...
    def program(self, function: Any = None, *, key: Any = None) -> Any:
        """Decorator: calls of the function become `engine.run(function, ...)`; its plans are kept.

        @engine.program
        def score(x):
            return x * x + x.rotate(1)

        `@engine.program(key="score")` says by which key they are kept: see `run`.
        """
        if function is None:
            return functools.partial(self.program, key=key)

        @functools.wraps(function)
        def planned(*args: Any, **kwargs: Any) -> Any:
            return self.run(function, *args, **{"key": key, **kwargs})

        return planned

    def _plan_keys(self) -> list[tuple[int, int]]:
        """(Galois element, level) of the keys that plans are made with."""
        return self._core.list_keys()

    def _plan_context(self, device: str | None = None) -> str:
        """What a plan's program ran with, here or on another device; engines with another one refuse it."""
        return f"{self._params.fingerprint} {device or self._device} {kept_seeds_text(self._keep_seeds)}"

    def _ghost_twin(self, keys: list[tuple[int, int]]) -> Engine:
        """A ghost engine with keys of the same sizes, which keeps what this one keeps."""
        twin = self._make_ghost("planned")
        twin._core.cache_bytes = self._core.cache_bytes
        twin._core.prepare_keys(keys)
        twin._encoded_log = []
        twin._bootstrappers = self._bootstrappers  # what the twin encodes is what this engine will use
        return twin

    def _take_encoded(self) -> list[tuple[Any, int]]:
        """Circuits and levels that were encoded for this engine since the last call."""
        taken, self._encoded_log = self._encoded_log, []
        return taken or []

    @property
    def last_run(self) -> RunReport | None:
        """What the last `run` did."""
        return self._last_run

    @property
    def last_plan(self) -> Plan | None:
        """The plan of the last `run`: its `summary`, and `save` for another process; None if it had none."""
        return None if self._last_plan is None else Plan(self._last_plan)

    @contextlib.contextmanager
    def manual(self) -> Iterator[Engine]:
        """`with engine.manual():` products are neither relinearized nor rescaled, and nothing is aligned.

        It is about the operations of this thread. Levels of operands must then agree, and scales to 2^-30:
        InvalidArgument or ScaleMismatch otherwise.
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
        """`with engine.record() as trace:` fills `trace` with what happens to every buffer until the end.

        One at a time: raises InvalidArgument inside another recording. What other threads do is recorded too.
        """
        if not self._recording.acquire(blocking=False):
            raise InvalidArgument("record: a recording of this engine is being made already; end it first")
        try:
            trace = Trace.empty()
            _core.start_trace(self._native)
            try:
                yield trace
            finally:
                trace._fill(_core.stop_trace(self._native))
        finally:
            self._recording.release()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """`with engine.phase("conv1"):` names events of traces and rows of profiles."""
        _core.set_phase(self._native, expect(name, str, "phase"))
        _core.enter_operation(name)
        try:
            yield
        finally:
            _core.leave_operation()
            _core.set_phase(self._native, "")

    def profile(self) -> contextlib.AbstractContextManager[Profile]:
        """`with engine.profile() as p:` fills `p` with the times of everything until the end of the block.

        `print(p.table())`, `p.save("times.json")`, `p.save_perfetto("times.pftrace")`. One at a time. On a
        GPU kernels are launched one by one meanwhile.
        """
        return profiled(self)

    def graph_statistics(self) -> dict[str, int]:
        """Counters of the graphs of programs on a GPU; zeros elsewhere. docs/concepts/cuda_backend.md."""
        return _core.graph_statistics(self._native)

    def driver_calls(self) -> dict[str, int]:
        """Calls of this process to the device's driver that wait or may wait, so far."""
        return _core.driver_calls(self._native)

    # What needs several ciphertexts or steps at once

    def _own(self, ciphertext: Ciphertext, operation: str) -> _core.Ciphertext:
        if expect(ciphertext, Ciphertext, operation)._on(operation) is not self:
            raise InvalidArgument(
                f"{operation}: the ciphertext is bound to another engine; use ct.to(engine)"
            )
        return ciphertext._core

    def __program_identity__(self) -> Engine:
        return self

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "an Engine lives on its device and cannot be pickled; pickle its parameters and keys"
        )

    def __repr__(self) -> str:
        budget = _core.format_bytes(self.budget_bytes) if self.budget_bytes else "unlimited"
        return f"Engine({self._params.name!r} on {self._device}, memory {budget}, policy {self._policy!r})"
