# SPDX-License-Identifier: Apache-2.0
"""Keys of several users in the memory of one engine: one set is in use, the others wait."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from .. import _core
from ..ckks.key_store import StoredKeys
from ..ckks.params import Params
from .engine import Engine

Requests = list[tuple[int, int]]

_PAUSE_IN_STEPS, _PAUSE = 0.02, 0.0005
"""Seconds until what is left to be brought is looked at again: steps of a program that runs go on with it by
themselves; while nothing runs, the look does."""
_LATER, _NEAR = 1, 2
"""What became of a wish to have keys in fast memory: the link is busy, and they come while steps run; or
there is no room that nothing else needs."""


@dataclasses.dataclass(eq=False)
class UserKeys:
    """The keys of one user in the engine. While they are in use, `core` has the engine's empty set."""

    name: str
    stored: StoredKeys
    core: _core.UserKeys
    offers: dict[int, int]
    """Galois element -> level up to which its key is loaded."""
    used: float
    lock: threading.RLock = dataclasses.field(default_factory=threading.RLock)
    """Of `core`: exchanges and loads."""
    in_use: bool = False
    pinned: bool = False
    nbytes: int = 0
    reserved: int = 0
    """Bytes that it has or will have when what began is done."""
    runs: int = 0
    """Since it is in use."""
    turns: int = 0
    """How often it was in use."""
    bringing: int = 0
    """Threads that bring it ahead of a turn."""
    is_ahead: bool = False
    """Whether it was brought ahead of a turn that did not come yet."""


class ResidentKeys:
    """The sets of all users in one engine, in the order of their use. Thread-safe.

    Levels: each key is loaded up to the highest level that programs so far need it at, so that keys of all
    users have the same sizes and one plan serves them all; keys that none needed, for all their levels.
    direct: keys are read past the cache, because the engine's own tiers keep their bytes.
    """

    def __init__(self, engine: Engine, params: Params, direct: bool) -> None:
        self._engine, self._params, self._direct = engine, params, direct
        self._sets: OrderedDict[str, UserKeys] = OrderedDict()
        self._levels: dict[int, int] = {}
        self.counts: Counter[str] = Counter()
        self.renew_locks()

    def renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()
        for each in self._sets.values():
            each.lock = threading.RLock()

    def learn(self, requests: Requests) -> None:
        """A program needs keys at these levels."""
        with self._lock:
            for element, level in requests:
                self._levels[element] = max(level, self._levels.get(element, 0))

    def suits(self, keys: UserKeys, requests: Requests, held: bool) -> bool:
        """Whether a set loads keys up to these levels, and, where it holds none, not beyond these."""
        with self._lock:
            if not held and keys.offers != self._offers(keys.stored):
                return False
        return all(keys.offers.get(element, -1) >= level for element, level in requests)

    def get(self, name: str, stored: StoredKeys, now: float, pin: bool) -> UserKeys:
        """The set of a user, made where there is none of these keys; used now, and pinned if asked."""
        with self._lock:
            found = self._sets.get(name)
            if found is not None and found.stored.digest != stored.digest:
                self.counts["replaced"] += 1
                self._remove(found)
                found = None
            if found is None:
                found = self._sets[name] = self._make(name, stored, now)
            found.used = now
            found.pinned = found.pinned or pin
            self._sets.move_to_end(name)
            return found

    def load_idle(self, keys: UserKeys, element: int) -> bool:
        """Loads a key into a set; False where its user is being served, or it was evicted meanwhile."""
        with self._lock, keys.lock:
            if keys.in_use or self._sets.get(keys.name) is not keys:
                return False
            keys.core.load(element)
            keys.nbytes = keys.core.nbytes
            return True

    def bring_near(self, keys: UserKeys, elements: list[int], is_over: Callable[[], bool]) -> None:
        """Into pinned memory, and on to the card while the link to it has nothing else to do.

        Keys of users who are not served leave the card for them, but nothing that the present run needs. Ends
        when they are there, when no such keys are left, or when the user is served: a plan brings the rest.
        """
        turns = keys.turns
        keys.bringing += 1
        try:
            while not is_over() and self._bring(keys, elements, turns):
                with self._lock:
                    is_serving = any(each.in_use for each in self._sets.values())
                time.sleep(_PAUSE_IN_STEPS if is_serving else _PAUSE)
        finally:
            keys.bringing -= 1

    def _bring(self, keys: UserKeys, elements: list[int], turns: int) -> bool:
        """Whether some will come later. Not after the user was served meanwhile."""
        with self._lock, keys.lock:
            if keys.in_use or keys.turns != turns or self._sets.get(keys.name) is not keys:
                return False
            found = keys.core.bring(elements)
            keys.nbytes = keys.core.nbytes
            keys.is_ahead = True
        return found == _LATER or (found == _NEAR and self._give_up_ahead(keys))

    def _give_up_ahead(self, for_set: UserKeys) -> bool:
        """Lets keys that were brought for another user, who did not come, go first; False: there are none."""
        with self._lock:
            for each in self._sets.values():  # the least recently used first
                if each is for_set or each.in_use or each.bringing or not each.is_ahead:
                    continue
                with each.lock:
                    each.core.set_spare()
                    each.is_ahead = False
                return True
            return False

    def settle(self, keys: UserKeys) -> None:
        """What was reserved for a set that is not pinned, and is not there, is free."""
        with self._lock:
            if not keys.pinned:
                keys.reserved = keys.nbytes

    def renewed(self, keys: UserKeys, levels: Requests | None) -> UserKeys:
        """An empty set in place of another one: for these levels, or those that are needed by now."""
        with self._lock:
            made = self._make(keys.name, keys.stored, keys.used, levels)
            made.pinned, keys.pinned = keys.pinned, False
            if self._sets.get(keys.name) is keys:
                self._sets[keys.name] = made
            return made

    def _make(self, name: str, stored: StoredKeys, now: float, levels: Requests | None = None) -> UserKeys:
        offers = self._offers(stored) | dict(levels or ())
        core = self._engine._core.make_user_keys(stored._core, sorted(offers.items()), self._direct)
        return UserKeys(name, stored, core, offers, now)

    def _offers(self, stored: StoredKeys) -> dict[int, int]:
        levels = self._levels
        return {element: min(level, levels.get(element, level)) for element, level in stored.requests()}

    def make_room(self, limit: int | None, for_set: UserKeys, reserved: int) -> bool:
        """Evicts sets that are not pinned, until all fit with this one at its bytes; whether they do."""
        with self._lock:
            for_set.reserved = max(for_set.nbytes, reserved)
            if limit is None:
                return True
            for each in list(self._sets.values()):
                if self.total() <= limit:
                    break
                if each is not for_set and not each.pinned:
                    self._remove(each)
                    self.counts["evictions"] += 1
            return self.total() <= limit

    def evict_idle(self) -> bool:
        """Evicts all sets that are not pinned; whether there were some with keys."""
        with self._lock:
            idle = [each for each in self._sets.values() if not each.pinned]
            for each in idle:
                self._remove(each)
                self.counts["evictions"] += 1
            return any(each.nbytes > 0 for each in idle)

    def expire(self, limit: float) -> None:
        """Drops sets that are not pinned and that were last used before then."""
        with self._lock:
            for each in list(self._sets.values()):
                if not each.pinned and each.used < limit:
                    self._remove(each)
                    self.counts["expired"] += 1

    def drop(self, name: str) -> None:
        """Drops the set of a user, at once or when it is no longer in use."""
        with self._lock:
            found = self._sets.get(name)
            if found is not None:
                self._remove(found)

    def _remove(self, keys: UserKeys) -> None:
        """Those that are in use go with their last user."""
        if self._sets.get(keys.name) is keys:
            del self._sets[keys.name]

    def total(self) -> int:
        """Bytes of all sets, as reserved."""
        with self._lock:
            return sum(max(each.reserved, each.nbytes) for each in self._sets.values())

    def sizes(self) -> dict[str, tuple[int, bool]]:
        """Bytes of each user, and whether they are pinned."""
        with self._lock:
            return {name: (each.nbytes, each.pinned) for name, each in sorted(self._sets.items())}
