# SPDX-License-Identifier: Apache-2.0
"""An engine for each user whose keys a node holds, all of them within one budget."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict

from ..base.errors import OutOfMemory
from ..base.names import Device
from ..ckks.key_store import KeyStore, StoredKeys
from ..ckks.params import Params
from ..engine.engine import Engine
from ..engine.key_loading import loader_of
from ..memory.budget import MemoryBudget
from ..remote.needs import Ghosts


class User:
    """The keys of a user, and the engine that loads each when it is needed first."""

    def __init__(self, keys: StoredKeys, engine: Engine) -> None:
        self.keys, self.engine = keys, engine
        loader_of(engine._core, keys, lazily=True)


class Users:
    """Users by name and digest of their keys; the least recently used one goes first.

    memory: budget of all engines together, None for none. They are used by one thread.
    """

    def __init__(
        self,
        store: KeyStore,
        device: Device,
        memory: int | str | None,
        threads: int | None,
        allow_insecure: bool,
    ) -> None:
        self._store, self._device, self._threads = store, device, threads
        self._budget = None if memory is None else MemoryBudget(memory)
        self._allow_insecure = allow_insecure
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], User] = OrderedDict()
        self._ghosts: dict[str, Ghosts] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def budget(self) -> MemoryBudget | None:
        """What all engines may use together."""
        return self._budget

    @property
    def key_bytes(self) -> int:
        """Bytes of keys that are held."""
        with self._lock:
            return sum(each.engine._core.key_bytes for each in self._kept.values())

    def find(self, name: str, digest: str, key_id: str | None) -> StoredKeys:
        """The keys of a user, which must have that digest. Only the list of them is read."""
        with self._lock:
            kept = self._kept.get((name, digest))
        if kept is not None:
            return kept.keys
        return self._store.user(name, digest=digest, key_id=key_id, allow_insecure=self._allow_insecure)

    def open(self, keys: StoredKeys) -> User:
        """The user of these keys, made if there is none yet."""
        name = keys.user, keys.digest
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
                return found
        engine = Engine(
            keys.params,
            device=self._device,
            memory=self._budget,
            threads=self._threads,
            graphs=False,
        )
        made = User(keys, engine)
        with self._lock:
            self._kept[name] = made
        return made

    def ghosts(self, params: Params) -> Ghosts:
        """What executes requests of these parameters without arithmetic."""
        if params.fingerprint not in self._ghosts:
            if len(self._ghosts) >= 16:
                self._ghosts.clear()
            self._ghosts[params.fingerprint] = Ghosts(functools.partial(Engine, params, device="ghost"))
        return self._ghosts[params.fingerprint]

    def expect_room(self, size: int, what: str) -> None:
        """Raises OutOfMemory where so many bytes can never fit: before anything is loaded."""
        if self._budget is not None and size > self._budget.capacity:
            raise OutOfMemory(
                f"key node: {what} needs {size} bytes of keys and weights, and its budget has "
                f"{self._budget.capacity}; start it with a larger --memory"
            )

    def make_room(self, keys: StoredKeys) -> bool:
        """Drops the least recently used user, these keys' own last; whether there was one."""
        own = keys.user, keys.digest
        with self._lock:
            others = [each for each in self._kept if each != own]
            for name in [*others[:1], *([own] if not others and own in self._kept else [])]:
                del self._kept[name]
                return True
        return False

    def close(self) -> None:
        """Drops all."""
        with self._lock:
            self._kept.clear()
            self._ghosts.clear()
