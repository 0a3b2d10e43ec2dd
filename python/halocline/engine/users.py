# SPDX-License-Identifier: Apache-2.0
"""Many users on one engine: their keys come and go, the engine, its tables, weights and plans stay."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from .. import _core
from ..base.errors import InvalidArgument, MissingKey, NotPicklable, OutOfMemory
from ..base.forks import renew_in_children
from ..base.names import Device, Policy
from ..base.values import byte_count, expect, positive
from ..ckks.key_cache import KeyCache
from ..ckks.key_store import KeyStore, StoredKeys
from ..ckks.params import Params
from ..memory.budget import MemoryBudget, MemoryOptions
from .background import BackgroundJobs
from .plan_choice import Optimize
from .program_identity import Arguments
from .program_needs import NeedsOfPrograms, ProgramNeeds
from .refusals import refusal
from .shared_engine import SharedEngine, expect_ciphertexts_of
from .user_keys import ResidentKeys, UserKeys

ResultT = TypeVar("ResultT")

_LEAST_FREED, _MOST_FREED = 64 << 20, 2 << 30
"""Bytes of freed memory that are kept for the next user's keys."""
_RESIDENT = ("resident", "async", "cached")
"""Policies under which keys stay in the memory that the budget counts."""


class UserEngine:
    """An engine that computes for many users, whose keys it takes from a store.

    keys: a `KeyStore`, or a `KeyCache` in front of one, which several engines of a process may share.
    memory, policy, device: as of `Engine`; further options too: threads, keep_seeds, graphs,
        compose_rotations.
    key_memory: most bytes of keys of all users in the engine, expanded as it uses them. When a user comes
        whose keys do not fit, those of the user who was served least recently go. None: what `memory` leaves
        beside the program; to be given without a budget, and under policies that move bytes. Memory of keys
        that went is kept for those that come: a quarter of it, unless `MemoryOptions.freed` says how much.
    key_host_memory: most bytes of the cache in front of a `KeyStore`; 4 GiB unless given.
    key_expiry: seconds after which keys of a user who did not come are dropped; None: never.

    Plans, encoded weights, tables and graphs are made once and serve all users. Results are those of an
    `Engine` with the user's keys alone, and ciphertexts of other users are refused (KeyMismatch). Any number
    of threads may ask for users; they take turns. `close`, or leaving a `with` block, drops all keys.
    """

    def __init__(
        self,
        params: Params,
        keys: KeyStore | KeyCache,
        device: Device = "cpu",
        memory: int | str | MemoryBudget | None = None,
        policy: Policy = "resident",
        *,
        key_memory: int | str | None = None,
        key_host_memory: int | str | None = None,
        key_expiry: float | None = None,
        memory_options: MemoryOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        if device == "ghost":
            raise InvalidArgument("UserEngine: a ghost needs no keys of users; use Engine(device='ghost')")
        if key_memory is None and (memory is None or policy not in _RESIDENT):
            raise InvalidArgument(
                f"UserEngine: give key_memory, such as '4GiB': without a budget, and under '{policy}', "
                "nothing else limits the keys of users"
            )
        self._limit = None if key_memory is None else byte_count(key_memory, "UserEngine: key_memory")
        self._expiry = None if key_expiry is None else positive(key_expiry, "UserEngine: key_expiry")
        self._params = expect(params, Params, "UserEngine")
        self._cache = _cache_of(keys, key_host_memory, key_expiry, clock)
        kept = _keeping_freed(memory_options, self._limit)
        self._engine = SharedEngine(params, None, device, memory, policy, memory_options=kept, **options)
        self._engine._users = self
        self._needs = NeedsOfPrograms(self._engine)
        self._binds = device != "cpu" and bool(self._engine._core.binds_keys)
        self._resident = ResidentKeys(self._engine, params, direct=self._binds)
        self._lazy = device == "cpu" and policy == "resident"
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._jobs = BackgroundJobs()
        self._closed = False
        self._turn, self._lock = threading.RLock(), threading.Lock()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        """In a forked child: a turn of another thread does not go on here, one of this thread does."""
        if not self._turn._is_owned():  # type: ignore[attr-defined]
            self._turn = threading.RLock()
        self._lock = threading.Lock()
        self._counts["waiting"] = 0
        self._resident.renew_locks()

    # Users

    @contextlib.contextmanager
    def user(
        self, name: str, *, key_id: str | None = None, digest: str | None = None
    ) -> Iterator[SharedEngine]:
        """`with users.user("alice", key_id=..., digest=...) as engine:` the engine has the keys inside.

        They are pinned until the end of the block, and so is the engine: other users wait. Ciphertexts that
        are left in the engine stay valid. key_id, digest: as of `KeyStore.user`; with a digest that is known
        here, the store is not asked. When the user has put other keys since, the old ones are dropped.

        Raises what `KeyStore.user` raises; InvalidArgument inside the block of another user.
        """
        self._expect_open()
        if self._turn._is_owned():  # type: ignore[attr-defined]
            current = self._engine._user
            if current is None or current.name != name or digest not in (None, current.stored.digest):
                raise InvalidArgument(
                    f"user: this thread is in the block of {current.name if current else 'a user'!r}, and "
                    f"would wait for itself with {name!r}; end that block first"
                )
            yield self._engine
            return
        stored = self._cache.user(name, self._params, key_id=key_id, digest=digest)
        with self._taken_turn():
            self._expire()
            self._enter(name, stored)  # not kept here: keys that are replaced must not live on
            try:
                yield self._engine
            finally:
                self._leave()

    @contextlib.contextmanager
    def _taken_turn(self) -> Iterator[None]:
        with self._lock:
            self._counts["waiting"] += 1
        turn = self._turn
        try:
            turn.acquire()
        finally:
            with self._lock:
                self._counts["waiting"] -= 1
        try:
            self._expect_open()
            if self._engine._user is not None:  # in a forked child, of a thread that is not here
                self._leave()
            yield
        finally:
            turn.release()

    def _enter(self, name: str, stored: StoredKeys) -> None:
        keys = self._resident.get(name, stored, self._clock(), pin=True)
        if keys.stored._core is not stored._core:
            self._cache.adopt(keys.stored)  # it dropped what these keys are read through
        keys.stored._core.pin()
        with keys.lock:
            self._engine._core.exchange_keys(keys.core)
            keys.in_use, keys.is_ahead, keys.runs, keys.turns = True, False, 0, keys.turns + 1
        self._engine._user = keys
        self._counts["turns"] += 1

    def _leave(self) -> None:
        keys, self._engine._user = self._engine._user, None
        assert keys is not None
        with keys.lock:
            keys.nbytes = keys.reserved = self._engine._core.key_bytes
            self._engine._core.exchange_keys(keys.core)
            keys.in_use = False
        keys.stored._core.unpin()
        keys.pinned = False
        # Keys that were used outside of programs count from now on.
        if self._limit is not None and not self._resident.make_room(self._limit, keys, 0):
            self._resident.drop(keys.name)

    def run(
        self,
        user: str,
        program: Callable[..., ResultT],
        *args: Any,
        key_id: str | None = None,
        digest: str | None = None,
        key: Any = None,
        optimize: Optimize | None = None,
        **kwargs: Any,
    ) -> ResultT:
        """`program(*args, **kwargs)` for a user: as `Engine.run` inside `with users.user(user)`.

        Whether it fits is checked first: OutOfMemory before the store is asked for anything.
        """
        self._expect_open()
        self._expect_fits(self._needs.of(program, (args, kwargs), key))
        with self.user(user, key_id=key_id, digest=digest) as engine:
            return engine.run(program, *args, key=key, optimize=optimize, **kwargs)

    # Before a run

    @contextlib.contextmanager
    def ready(self, program: Callable[..., Any], arguments: Arguments, name: Any) -> Iterator[None]:
        """For the engine: makes room, and brings the keys of a program in, for the user who is being served.

        Everything is checked before.
        """
        keys = self._engine._user
        if keys is None:
            raise InvalidArgument("run: no user's keys are in use; run inside `with users.user(name)`")
        needs = self._needs.of(program, arguments, name)
        self._expect_fits(needs)
        self._expect_keys(needs, keys)
        expect_ciphertexts_of(keys, arguments)
        keys = self._make_room(needs, keys)
        held = {element for element, _ in self._engine._core.held_keys()}
        missing = [each for each in needs.requests if each[0] not in held]
        self._counts["hits"] += len(needs.requests) - len(missing)
        self._counts["misses"] += len(missing)
        engine = self._engine
        engine._planned_keys = sorted((element, keys.offers[element]) for element, _ in needs.requests)
        engine._begins_cold, keys.runs = keys.runs == 0, keys.runs + 1
        try:
            self._load(keys, missing)
            yield
        finally:
            keys.nbytes = engine._core.key_bytes

    def _expect_fits(self, needs: ProgramNeeds) -> None:
        """Raises OutOfMemory with numbers where it does not, whatever is evicted."""
        engine = self._engine
        budget = engine.budget_bytes
        if needs.minimum is not None:
            least = needs.minimum.at_least(engine.policy)
            if least is not None and least > budget:
                self._counts["refused"] += 1
                raise refusal(needs.minimum, budget, engine.policy)
        limit = self._room(needs)
        if limit is not None and needs.key_bytes > limit:
            self._counts["refused"] += 1
            size = _core.format_bytes
            raise OutOfMemory(
                f"run: the program needs {len(needs.requests)} keys of {size(needs.key_bytes)} in all "
                f"({needs.key_bytes} bytes); key_memory is {size(limit)} ({limit} bytes). Nothing was "
                "loaded. Give more; keep_seeds=True needs half"
            )

    def _room(self, needs: ProgramNeeds) -> int | None:
        """Bytes that keys of all users may have beside this program; None: no limit."""
        limits = [] if self._limit is None else [self._limit]
        if needs.minimum is not None and self._engine.policy in _RESIDENT:
            limits.append(max(0, self._engine.budget_bytes - (needs.minimum.resident - needs.key_bytes)))
        return min(limits, default=None)

    def _expect_keys(self, needs: ProgramNeeds, keys: UserKeys) -> None:
        there = dict(keys.stored.requests())
        missing = [each for each in needs.requests if there.get(each[0], -1) < each[1]]
        if missing:
            element, level = missing[0]
            named = _core.describe_key(self._params._core, element)
            raise MissingKey(
                f"run: user {keys.name!r} lacks {len(missing)} of the {len(needs.requests)} keys of the "
                f"program, first the {named} at level {level}; nothing was loaded. Put keys made with "
                "client.evaluation_keys(plan=hc.key_plan(params, program))"
            )

    def _make_room(self, needs: ProgramNeeds, keys: UserKeys) -> UserKeys:
        """Evicts keys of others, and of this user those that the program does not use, where it must be."""
        self._resident.learn(needs.requests)
        held = {element for element, _ in self._engine._core.held_keys()}
        if not self._resident.suits(keys, needs.requests, bool(held)):
            keys, held = self._renew(keys), set()
        limit, wanted = self._room(needs), self._bytes_of(keys, needs)
        more = sum(self._key_bytes(keys, each) for each, _ in needs.requests if each not in held)
        fits = self._resident.make_room(limit, keys, self._engine._core.key_bytes + more)
        if not fits and held:
            keys = self._renew(keys)
            fits = self._resident.make_room(limit, keys, wanted)
        if not fits:  # at the levels of this program alone it does
            keys = self._renew(keys, needs.requests)
            self._resident.make_room(limit, keys, needs.key_bytes)
        return keys

    def _bytes_of(self, keys: UserKeys, needs: ProgramNeeds) -> int:
        return sum(self._key_bytes(keys, element) for element, _ in needs.requests)

    def _key_bytes(self, keys: UserKeys, element: int) -> int:
        kept = self._engine._keep_seeds
        seeded = kept if isinstance(kept, bool) else element in kept
        return self._params._request_bytes(element, keys.offers[element], seeded)

    def _renew(self, keys: UserKeys, levels: list[tuple[int, int]] | None = None) -> UserKeys:
        """An empty set in place of the one in use."""
        made = self._resident.renewed(keys, levels)
        with keys.lock, made.lock:
            self._engine._core.exchange_keys(keys.core)
            self._engine._core.exchange_keys(made.core)
            keys.in_use, made.in_use = False, True
        self._engine._user = made
        return made

    def _load(self, keys: UserKeys, missing: list[tuple[int, int]]) -> None:
        if not missing:
            return
        wanted = [(element, keys.offers[element]) for element, _ in missing]
        if self._binds:  # steps and plans bring them through pinned memory
            for element, _ in wanted:
                self._engine._core.bind_stored_key(element)
            return self._measure()
        if len(wanted) > 1:  # into host memory, while the first ones are expanded and used
            stored = keys.stored._core  # the job must not keep keys of the engine alive
            self._jobs.start(None, lambda: stored.fetch(self._params._core, wanted))
        if self._lazy:
            return  # operations load each key when they need it
        for element, _ in wanted:
            self._engine._core.load_key(element)
        self._measure()

    def _measure(self) -> None:
        """Costs that plans count with, once."""
        if self._engine._planner is not None and self._engine.budget_bytes != 0:
            self._engine._core.calibrate()

    def evict_idle(self) -> bool:
        """Evicts keys of all users who are not being served; whether there were some in the engine."""
        return self._resident.evict_idle()

    # Ahead of time

    def prefetch(
        self,
        user: str,
        program: Callable[..., Any] | None = None,
        *args: Any,
        key_id: str | None = None,
        digest: str | None = None,
        key: Any = None,
        **kwargs: Any,
    ) -> Future[None]:
        """Brings keys of a user in by a thread of its own, while the engine computes for others.

        program, args, key: as of `run`; without arguments, fresh ciphertexts. Its keys come in the order in
        which it uses them; without a program, all keys of the user. They come into host memory, and into the
        engine too while it has nothing to do, under policy "resident", where a program is given and they fit.
        On a GPU under "planned" or "lru": into pinned memory, and on to the card while its link is idle and
        there is free room; keys of others leave for them, but none of the run.

        The result says when it is done, and raises what went wrong; `run` then loads what is missing. A
        prefetch for a user who has one under way returns that.
        """
        self._expect_open()
        needs = None
        if program is not None:
            arguments = (args, kwargs) if args or kwargs else self._needs.fresh_arguments(program)
            needs = self._needs.of(program, arguments, key)
            self._expect_fits(needs)
        return self._jobs.start(user, lambda: self._bring(user, needs, key_id, digest))

    def _bring(self, user: str, needs: ProgramNeeds | None, key_id: str | None, digest: str | None) -> None:
        stored = self._cache.user(user, self._params, key_id=key_id, digest=digest)
        with self._lock:
            self._counts["prefetches"] += 1
        if needs is None:
            stored._core.fetch(self._params._core, stored.requests())
            return
        self._resident.learn(needs.requests)
        keys = self._resident.get(user, stored, self._clock(), pin=False)
        wanted = [(element, keys.offers[element]) for element, _ in needs.requests if element in keys.offers]
        suits = self._resident.suits(keys, needs.requests, keys.nbytes > 0)
        if self._binds:
            if suits and self._resident.make_room(self._room(needs), keys, self._bytes_of(keys, needs)):
                self._resident.bring_near(keys, [element for element, _ in wanted], lambda: self._closed)
            return
        into_engine = self._engine.policy == "resident" and suits and not keys.pinned
        if into_engine:
            into_engine = self._resident.make_room(self._room(needs), keys, self._bytes_of(keys, needs))
        try:
            for request in wanted:
                stored._core.fetch(self._params._core, [request])
                into_engine = into_engine and self._load_idle(keys, request[0])
        finally:
            self._resident.settle(keys)

    def _load_idle(self, keys: UserKeys, element: int) -> bool:
        """Loads a key for a user who will come, unless the engine is in use; whether to go on with others."""
        if self._closed or self._engine._user is not None:
            return False
        try:
            return self._resident.load_idle(keys, element)
        except OutOfMemory:
            return False  # the program that runs has it all

    # The rest

    def drop(self, name: str) -> None:
        """Drops the keys of a user here and in the cache; of one who is being served, at the end of that."""
        self._resident.drop(name)
        self._cache.drop(name)

    def _expire(self) -> None:
        if self._expiry is not None:
            self._resident.expire(self._clock() - self._expiry)

    @property
    def params(self) -> Params:
        """Parameters of everything that it computes with."""
        return self._params

    @property
    def cache(self) -> KeyCache:
        """Keys in host memory, as they are stored."""
        return self._cache

    @property
    def engine(self) -> SharedEngine:
        """The engine, which has keys inside `user` only."""
        return self._engine

    def stats(self) -> dict[str, Any]:
        """What it holds and has done.

        users: for each one with keys here, engine_bytes, host_bytes, and whether they are pinned.
        engine_bytes, host_bytes: of all. hits, misses: keys that programs found in the engine, or not.
        evictions, expired, replaced: users whose keys left the engine for others, after a time, or for newer
        keys. turns, waiting: blocks of `user` so far, and threads that wait for one. refused: programs that
        cannot fit. prefetches. program_passes: programs that were called on ghosts to know their needs;
        plan_passes: to plan them. host: `KeyCache.stats`.
        """
        host = self._cache.stats()
        sizes = self._resident.sizes()
        users = {
            name: {
                "engine_bytes": sizes.get(name, (0, False))[0],
                "host_bytes": host["users"].get(name, 0),
                "pinned": sizes.get(name, (0, False))[1],
            }
            for name in sorted({*sizes, *host["users"]})
        }
        counted = ("hits", "misses", "turns", "waiting", "refused", "prefetches")
        kept = ("evictions", "expired", "replaced")
        planner = self._engine._planner
        return {
            "users": users,
            "engine_bytes": sum(nbytes for nbytes, _ in sizes.values()),
            "host_bytes": host["held_bytes"],
            **{name: self._counts[name] for name in counted},
            **{name: self._resident.counts[name] for name in kept},
            "program_passes": self._needs.ghost_passes,
            "plan_passes": 0 if planner is None else planner.ghost_passes,
            "host": host,
        }

    def close(self) -> None:
        """Waits for the user who is being served, and drops all keys of the engine. May be called again."""
        with self._turn:
            self._closed = True
            self._resident.evict_idle()

    def _expect_open(self) -> None:
        if self._closed:
            raise InvalidArgument("UserEngine: it is closed; make another one")

    def __enter__(self) -> UserEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __program_identity__(self) -> UserEngine:
        return self

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a UserEngine lives on its device; make one in each process, of a KeyStore")

    def __repr__(self) -> str:
        return f"UserEngine({self._engine!r}, keys of {self._cache.store.url!r})"


def _cache_of(
    keys: KeyStore | KeyCache, memory: int | str | None, expiry: float | None, clock: Callable[[], float]
) -> KeyCache:
    if isinstance(keys, KeyCache):
        if memory is not None:
            raise InvalidArgument("UserEngine: key_host_memory is that of the KeyCache; give it there")
        return keys
    store = expect(keys, KeyStore, "UserEngine: keys", "or a KeyCache")
    return KeyCache(store, "4GiB" if memory is None else memory, expiry=expiry, clock=clock)


def _keeping_freed(given: MemoryOptions | None, limit: int | None) -> MemoryOptions:
    """Options that keep memory of keys that went: fresh pages would take longer than keys to be expanded."""
    options = expect(given or MemoryOptions(), MemoryOptions, "UserEngine: memory_options")
    if options.freed is not None or limit is None:
        return options
    return dataclasses.replace(options, freed=min(_MOST_FREED, max(_LEAST_FREED, limit // 4)))
