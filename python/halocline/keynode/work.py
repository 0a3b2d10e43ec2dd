# SPDX-License-Identifier: Apache-2.0
"""What one request computes: checks first, then keys, then the operation."""

from __future__ import annotations

import dataclasses
import re
import time
from typing import Any

from ..base.errors import Cancelled, CorruptData, InvalidArgument, OutOfMemory
from ..base.limits import KEY_NODE_MESSAGE
from ..ckks.ciphertext import Ciphertext
from ..ckks.key_store import StoredKeys
from ..remote.switches import MOST_INPUTS, Switch, apply, check
from .held_maps import HeldMaps
from .jobs import Answer, Job
from .users import Users

_DIGEST = re.compile(r"[0-9a-f]{64}")
_STEP_LIMIT = 1 << 40


@dataclasses.dataclass(frozen=True)
class Call:
    """A request as it came."""

    user: str
    digest: str
    key_id: str | None
    operation: str
    steps: tuple[int, ...]
    map: str | None
    blobs: list[bytes]

    @classmethod
    def parse(cls, meta: dict[str, Any], blobs: list[bytes]) -> Call:
        """Raises CorruptData for anything but the description of a request."""
        texts = [meta.get(each) for each in ("user", "digest", "operation")]
        steps, named, key = meta.get("steps"), meta.get("map"), meta.get("key_id")
        sound = all(_is_name(each) for each in texts) and (key is None or _is_name(key))
        sound = sound and (named is None or (isinstance(named, str) and _DIGEST.fullmatch(named) is not None))
        if not sound or not isinstance(steps, list) or not 1 <= len(blobs) <= MOST_INPUTS:
            raise CorruptData("key node: a call without user, digest, operation, steps or ciphertexts")
        if any(type(each) is not int or abs(each) > _STEP_LIMIT for each in steps):
            raise CorruptData("key node: steps that are no numbers of slots")
        user, digest, operation = (str(each) for each in texts)
        return cls(user, digest, key, operation, tuple(steps), named, blobs)


def _is_name(text: object) -> bool:
    return isinstance(text, str) and len(text) <= 256 and text.isascii() and text.isprintable()


class Worker:
    """Computes calls, with the keys of a store and the maps that were uploaded."""

    def __init__(self, users: Users, maps: HeldMaps) -> None:
        self.users, self.maps = users, maps

    def compute(self, call: Call, job: Job) -> Answer:
        """The answer to a call. Raises what the store, the keys and the operation raise."""
        keys = self.users.find(call.user, call.digest, call.key_id)
        switch = self._switch(call, keys)
        switches = self._admit(switch, keys)
        while True:
            try:
                return self._on_engine(switch, keys, job, switches)
            except OutOfMemory:
                if job.is_over or not self.users.make_room(keys):
                    raise

    def _switch(self, call: Call, keys: StoredKeys) -> Switch:
        """The request with its ciphertexts, checked completely."""
        circuit = None
        if call.map is not None:
            circuit = self.maps.get(call.map)
            if circuit is None:
                raise UnknownMap("key node: it does not keep the map; send it again")
        inputs = tuple(Ciphertext.from_bytes(each, keys.params) for each in call.blobs)
        if any(each.key_id not in (None, keys.key_id) for each in inputs):
            raise InvalidArgument("key node: a ciphertext under another secret key than the user's keys")
        switch = Switch(call.operation, inputs, call.steps, circuit)
        check(switch)
        return switch

    def _admit(self, switch: Switch, keys: StoredKeys) -> int:
        """Refuses what can never fit, before a key is loaded; the number of key switches."""
        ghosts = self.users.ghosts(keys.params)
        needs, largest = ghosts.needs(switch), ghosts.result_bytes(switch)
        if largest > KEY_NODE_MESSAGE:
            raise InvalidArgument(
                f"key node: results of {largest} bytes, expected at most {KEY_NODE_MESSAGE}; ask for fewer"
            )
        size = sum(keys.params._request_bytes(element, level) for element, level in needs.keys.items())
        self.users.expect_room(size + needs.weight_bytes, switch.operation)
        return needs.switches

    def _on_engine(self, switch: Switch, keys: StoredKeys, job: Job, switches: int) -> Answer:
        engine = self.users.open(keys).engine
        job.begin(engine)
        try:
            begin = time.perf_counter()
            done = self._computed(switch, engine, job)
            engine.synchronize()  # a GPU works on after its operations have returned
            seconds = time.perf_counter() - begin
            blobs = [each.to_bytes() for each in done]
        finally:
            job.end()
        return {"seconds": seconds, "switches": switches}, blobs

    def _computed(self, switch: Switch, engine: Any, job: Job) -> list[Ciphertext]:
        """The results. Where a cancellation came too late for an earlier request, it begins again."""
        while True:
            try:
                bound = tuple(each.to(engine) for each in switch.inputs)
                return apply(dataclasses.replace(switch, inputs=bound), engine)
            except Cancelled:
                if job.is_over:
                    raise


class UnknownMap(InvalidArgument):
    """A call names a map that the node does not have, or not any more."""
