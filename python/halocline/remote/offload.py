# SPDX-License-Identifier: Apache-2.0
"""What an engine sends to key nodes instead of fetching keys, what it counts, and what follows a failure."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine
from ..base.errors import Cancelled, CorruptData, Error, InvalidArgument, KeyNodeFailure
from ..base.forks import renew_in_children
from ..base.values import expect, kind_of
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from ..ckks.key_store import StoredKeys
from .cost import Estimate, Ledger, estimate
from .maps import Circuit
from .needs import Ghosts
from .node import KeyNode, Reply, is_refusal
from .switches import MOST_STEPS, Switch

KeyNodes = KeyNode | Sequence[KeyNode]
"""What an engine takes: a node, or several of which the first that works is asked."""

COUNTS = (
    "requests",
    "switches",
    "sent_bytes",
    "received_bytes",
    "map_bytes",
    "unfetched_bytes",
    "fetches",
    "failures",
)
"""What is counted. sent_bytes and received_bytes: of frames; map_bytes: of those, weights. unfetched_bytes:
keys that were not fetched, for each request. fetches: requests whose keys were fetched, as that was cheaper.
"""


def nodes_of(given: object) -> tuple[KeyNode, ...]:
    """The nodes that an engine was given, checked."""
    several = given if isinstance(given, Sequence) else [given]
    nodes = tuple(expect(each, KeyNode, "Engine: key_nodes") for each in several)
    if not nodes:
        raise InvalidArgument("Engine: key_nodes is empty; give a KeyNode, or leave it out")
    return nodes


def offload_of(
    key_nodes: KeyNodes | None,
    core: NativeEngine,
    keys: object,
    device: str,
    policy: str,
    make_shapes: Callable[[], Host],
) -> Offload | None:
    """What sends the key switches of an engine to nodes, where it was given some."""
    if key_nodes is None:
        return None
    if device == "ghost" or policy != "resident":
        raise InvalidArgument(
            f"Engine: key_nodes on {device} under policy '{policy}'; expected the CPU or a GPU under policy "
            '"resident", for which alone key nodes work'
        )
    return Offload(core, key_nodes, keys, make_shapes)


class Offload:
    """Sends the key switches of one engine, whose keys are those of a user in a store.

    core: the engine itself, which this object must not keep alive. make_shapes: makes a ghost engine of the
    same parameters.
    """

    def __init__(
        self, core: NativeEngine, given: object, keys: object, make_shapes: Callable[[], Host]
    ) -> None:
        self._nodes = nodes_of(given)
        if not isinstance(keys, StoredKeys):
            raise InvalidArgument(
                f"Engine: key_nodes with keys of type {kind_of(keys)}; a node finds keys by store and "
                "user: Engine(params, store.user(name), key_nodes=...)"
            )
        self._core, self._keys, self._ghosts = core, keys, Ghosts(make_shapes)
        self._offered = dict(keys.requests())
        self._ledger = Ledger()
        self._renew_locks()
        self._counts = dict.fromkeys(COUNTS, 0)
        self._last_failure: str | None = None
        self._give_up: set[threading.Event] = set()
        renew_in_children(self)

    def _renew_locks(self) -> None:
        """In a forked child: requests of other threads do not go on here."""
        self._lock = threading.RLock()
        self._give_up = set()

    def counts(self) -> dict[str, Any]:
        """Since the engine was made. `Engine.stats` explains the names."""
        with self._lock:
            return self._counts | {"last_failure": self._last_failure}

    def cancel(self) -> bool:
        """Ends the requests that wait for a node with Cancelled; whether there were any."""
        with self._lock:
            waiting = list(self._give_up)
        for each in waiting:
            each.set()
        return bool(waiting)

    def switch(  # `ckks.host.Elsewhere` says what it is for
        self,
        operation: str,
        inputs: Sequence[Ciphertext],
        steps: Sequence[int] = (),
        circuit: Circuit | None = None,
    ) -> list[NativeCiphertext] | None:
        """The results, in the engine; None where it shall compute them itself.

        Raises what a failing node raised where it was made with on_failure="raise", Cancelled, and what the
        engine itself raises for a result that does not fit.
        """
        request = Switch(operation, tuple(inputs), tuple(steps), circuit)
        if len(request.steps) > MOST_STEPS:
            return None
        for node in self._nodes:
            if node.is_resting:
                continue
            cost = self._worth_it(request, node)
            if cost is None:
                return None
            try:
                return self._ask(request, node, cost)
            except Cancelled:
                raise
            except Error as error:
                self._note(node, error)
                if node.on_failure == "raise":
                    raise
        return None

    # Decisions

    def _worth_it(self, request: Switch, node: KeyNode) -> Estimate | None:
        """What the request costs, where a node should do it."""
        with self._lock:  # one thread at a time uses the ghosts
            needs = self._ghosts.needs(request)
            moved = sum(each.nbytes for each in request.inputs) + self._ghosts.result_bytes(request)
        needed, switches = needs.keys, needs.switches
        held = dict(self._core.held_keys())
        lacking = {g: level for g, level in needed.items() if held.get(g, -1) < level}
        if not lacking or any(self._offered.get(g, -1) < level for g, level in lacking.items()):
            return None  # nothing to fetch; or a key that the user does not have, which the engine names
        if request.circuit is not None:
            named = node.map_name(request.circuit, self._ghosts.one._circuits)
            if named is None:
                return None
            moved += named[1]
        params = self._keys.params
        sizes = {g: params._request_bytes(g, self._offered[g], True) for g in lacking}
        cost = estimate(sizes, moved, switches, node.store_link, node.link, node.switch_seconds)
        if node.use == "always" or not self._fits(request, lacking) or self._ledger.is_cheaper_away(cost):
            return cost
        with self._lock:
            self._counts["fetches"] += 1
        return None

    def _fits(self, request: Switch, lacking: dict[int, int]) -> bool:
        """Whether the keys fit into the engine's budget beside what is there and a key switch's workspace.

        That is the raised digits, as many as a half of a key has, and the results.
        """
        budget = int(self._core.budget_bytes)
        sizes = [self._keys.params._request_bytes(g, self._offered[g]) for g in lacking]
        with self._lock:
            workspace = max(sizes) // 2 + self._ghosts.result_bytes(request)
        return budget == 0 or int(self._core.statistics()["live_bytes"]) + sum(sizes) + workspace <= budget

    # Requests

    def _ask(self, request: Switch, node: KeyNode, cost: Estimate) -> list[NativeCiphertext]:
        about: dict[str, Any] = {
            "user": self._keys.user,
            "digest": self._keys.digest,
            "key_id": self._keys.key_id,
        }
        about |= {"operation": request.operation, "steps": list(request.steps)}
        told = threading.Event()

        def give_up() -> None:
            if told.is_set():
                raise Cancelled(f"{request.operation}: cancelled while the key node {node.url} computed it")

        with self._lock:
            self._give_up.add(told)
        try:
            blobs = [each.to_bytes() for each in request.inputs]
            reply = node.call(about, blobs, request.circuit, give_up, self._ghosts.one._circuits)
        finally:
            with self._lock:
                self._give_up.discard(told)
        results = self._checked(request, reply)
        self._ledger.spend(cost)
        with self._lock:
            for name, more in (
                ("requests", 1),
                ("switches", reply.switches),
                ("sent_bytes", reply.sent_bytes),
                ("received_bytes", reply.received_bytes),
                ("map_bytes", reply.map_bytes),
                ("unfetched_bytes", cost.key_bytes),
            ):
                self._counts[name] += more
        return results

    def _checked(self, request: Switch, reply: Reply) -> list[NativeCiphertext]:
        """The results in the engine, if they have the shapes that it would have computed."""
        params = self._keys.params
        made = [Ciphertext.from_bytes(each, params) for each in reply.blobs]
        found = [(each.level, each.scale, each.slots) for each in made]
        with self._lock:
            expected = self._ghosts.results(request)
        known = request.inputs[0].key_id or self._keys.key_id
        if found != expected or any(each.components != 2 or each.key_id != known for each in made):
            raise CorruptData(
                f"key node: {request.operation} gave {len(found)} ciphertexts of (level, scale, slots) "
                f"{found[:3]}, expected {len(expected)}: {expected[:3]}, under the same key"
            )
        return [self._core.load(each._core) for each in made]

    def _note(self, node: KeyNode, error: Error) -> None:
        """Says that a node failed; it rests for a while, unless it refused this request only."""
        if not is_refusal(error):
            node.failed()
        with self._lock:
            self._counts["failures"] += 1
            self._last_failure = str(error)
        if node.on_failure == "fetch":
            warnings.warn(
                f"{error}; the engine does it itself, with keys that it fetches", KeyNodeFailure, stacklevel=5
            )


def numbers_of(counts: dict[str, Any]) -> dict[str, int]:
    """What can be subtracted of `Offload.counts`."""
    return {name: counts[name] for name in COUNTS}
