# SPDX-License-Identifier: Apache-2.0
"""Keys of many users in host memory, as they are stored, in front of a key store."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _core
from ..base.errors import InvalidArgument, NotPicklable
from ..base.forks import renew_in_children
from ..base.values import byte_count, expect, positive
from .key_store import KeyStore, StoredKeys, checked_pins
from .keys import KeyPlan
from .params import Params

USERS_KEPT = 1024
"""Users of whom a cache keeps the manifest, 0.05 % of their keys; the least recently used one goes."""


class KeyCache:
    """Host memory for keys of a store: what several engines of this process read is fetched once.

    store: where the keys are. Bytes are verified when they come from it, and kept as they are stored: seeded,
        half the size of keys in an engine.
    memory: bytes that they may take, such as "8GiB". When it is full, bytes of the user who was read least
        recently go first. Users whose keys are in use by a `UserEngine` keep theirs; what then finds no room
        is read and not kept.
    expiry: seconds after which the bytes of a user who was not asked for are dropped; None: never.

    `Engine(params, cache.user("alice"))` takes keys as from a store. Calls from several threads are safe.
    """

    def __init__(
        self,
        store: KeyStore,
        memory: int | str,
        *,
        expiry: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = expect(store, KeyStore, "KeyCache: store", 'use hc.KeyStore("file:keys")')
        limit = byte_count(memory, "KeyCache: memory")
        if limit == 0:
            raise InvalidArgument('KeyCache: memory is 0 bytes; give a size such as "8GiB"')
        self._expiry = None if expiry is None else positive(expiry, "KeyCache: expiry")
        self._core = _core.ReadCache.make(limit)
        self._clock = clock
        self._users: OrderedDict[str, tuple[_core.StoredKeys, float]] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._renew_locks()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.Lock()

    @property
    def store(self) -> KeyStore:
        """Where the keys are."""
        return self._store

    @property
    def capacity(self) -> int:
        """Bytes that it may hold."""
        return self._core.limit_bytes

    @property
    def used(self) -> int:
        """Bytes that it holds."""
        return self._core.counts()["held_bytes"]

    def user(
        self,
        name: str,
        params: Params | None = None,
        *,
        key_id: str | None = None,
        digest: str | None = None,
        plan: KeyPlan | None = None,
        allow_insecure: bool = False,
    ) -> StoredKeys:
        """The keys of a user, read through the cache; arguments and errors as of `KeyStore.user`.

        With a `digest` that the cache has, the store is not asked. Without one, its manifest is read, and
        bytes of other keys, which the user has put since, are dropped.
        """
        expect(name, str, "user: name")
        self.expire()
        with self._lock:
            found = self._users.get(name, (None, 0.0))[0]
        known = found is not None and digest == found.digest and key_id in (None, found.key_id)
        if found is None or not known:
            found = self._find(name, found, digest, key_id)
        with self._lock:
            self._counts["reused" if known else "opened"] += 1
            self._users[name] = (found, self._clock())
            self._users.move_to_end(name)
            while len(self._users) > USERS_KEPT:
                self._drop(next(iter(self._users)))
        return self._store._keys_of(name, found, params, plan, allow_insecure)

    def _find(
        self, name: str, held: _core.StoredKeys | None, digest: str | None, key_id: str | None
    ) -> _core.StoredKeys:
        """Keys as the store has them now: those that are held, where they are the same."""
        digest, key_id = checked_pins("user", digest, key_id)
        there = self._store._core.find(name, digest, key_id)
        if held is not None and held.digest == there.digest:
            return held
        made = self._core.attach(there)
        with self._lock:
            newer = self._users.get(name, (None, 0.0))[0]
            if newer is not None and newer.digest == made.digest:
                return newer  # another thread was faster
            if newer is not None:
                newer.drop_cached()
                self._counts["replaced"] += 1
        return made

    def adopt(self, keys: StoredKeys) -> None:
        """Takes keys of `user` back that were dropped meanwhile, in place of others of the same digest."""
        with self._lock:
            self._drop(keys.user)
            self._users[keys.user] = (keys._core, self._clock())

    def drop(self, name: str) -> bool:
        """Drops what is held of a user; whether there was an entry."""
        with self._lock:
            return self._drop(name)

    def _drop(self, name: str) -> bool:
        found = self._users.pop(name, None)
        if found is not None:
            found[0].drop_cached()
        return found is not None

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            for name in list(self._users):
                self._drop(name)

    def expire(self) -> None:
        """Drops users that were not asked for during `expiry`. Every call of `user` does so too."""
        if self._expiry is None:
            return
        with self._lock:
            limit = self._clock() - self._expiry
            for name in [name for name, (_, used) in self._users.items() if used < limit]:
                self._drop(name)
                self._counts["expired"] += 1

    def stats(self) -> dict[str, Any]:
        """What it holds and has done.

        users: bytes held of each. held_bytes, limit_bytes: of all. fetched_bytes: read from the store,
        given_bytes: to engines, evicted_bytes. Calls of `user` that opened, reused or replaced keys, and
        users that expired.
        """
        with self._lock:
            users = {name: core.cached_bytes for name, (core, _) in sorted(self._users.items())}
            counts = {name: self._counts[name] for name in ("opened", "reused", "replaced", "expired")}
        return {"users": users, "limit_bytes": self.capacity, **self._core.counts(), **counts}

    def __program_identity__(self) -> KeyCache:
        return self

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a KeyCache is memory of this process; make one in each process, of a KeyStore")

    def __repr__(self) -> str:
        used, limit = (_core.format_bytes(each) for each in (self.used, self.capacity))
        return f"KeyCache({self._store.url!r}, {used} of {limit} used)"
