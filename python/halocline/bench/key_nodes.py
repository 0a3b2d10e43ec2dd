# SPDX-License-Identifier: Apache-2.0
"""Bytes that move where keys are fetched, and where ciphertexts go to a key node instead.

Both go over a throttled link on loopback whose bytes are counted, HTTP and frames included. The node has the
keys in a folder; the engine reads the same ones from a web server. On every device it has no key when an
operation begins, and fetches each when that needs it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import CorruptData, Error
from ..base.names import device_name
from ..circuits.bootstrapping import Bootstrapper
from ..circuits.polynomial import Polynomial
from ..circuits.transforms import LinearTransform
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.key_store import KeyStore, StoredKeys
from ..ckks.keys import KeyPlan
from ..ckks.named_params import named_params
from ..ckks.params import Params
from ..engine.engine import Engine
from ..engine.key_loading import loader_of
from ..keynode.server import KeyNodeServer
from ..remote.node import KeyNode
from .keeping import SILENT, Json, Watcher
from .key_node_options import KeyNodeOptions
from .range_server import RangeServer
from .relay import Relay

SCHEMA = 1
USER = "bench"
BURST = 0.005
"""Seconds of a link's rate that may pass at once."""
_POLYNOMIAL = Polynomial(1.0 / np.arange(1, 17))
Work = Callable[[Engine, Ciphertext], list[Ciphertext]]
Held = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True)
class _Case:
    """One operation."""

    name: str
    work: Work


def run(options: KeyNodeOptions | None = None, watcher: Watcher = SILENT) -> Json:
    """The suite with its options, as `--json` writes it."""
    o = options or KeyNodeOptions()
    params = named_params(o.params, o.allow_insecure)
    for each in (o.device, o.node_device):
        _core.report_device(each, False)  # refuses devices that are not there before keys are made
    cases = list(_cases(o, params))
    content: Json = {"schema": SCHEMA, "suite": "key-nodes", "device": o.device, "params": params.name}
    content |= {
        "node_device": o.node_device,
        "bytes_per_second": o.rate,
        "seed": o.seed,
        "threads": o.threads,
        "rows": [],
    }
    watcher.progress("making keys", 0, len(cases))
    client = Client(params)
    with tempfile.TemporaryDirectory(prefix="halocline-key-nodes-") as folder:
        kept = KeyStore(Path(folder))
        kept.put(USER, client.evaluation_keys(plan=_key_plan(cases, params)))
        fresh = client.encrypt(np.random.default_rng(o.seed).uniform(-1, 1, params.slots))
        with _rig(Path(folder), kept, o) as rig:
            for case in cases:
                content["rows"].append(rig.row(case, fresh))
                watcher.row(case.name, content, len(content["rows"]), len(cases))
    return content


def _cases(o: KeyNodeOptions, params: Params) -> Iterator[_Case]:
    yield _Case("rotation", lambda engine, x: [x.rotate(1)])
    hoisted = list(range(1, o.hoisted + 1))
    yield _Case(f"{o.hoisted} hoisted", lambda engine, x: engine.rotate_many(x, hoisted))
    for count in o.diagonals:
        rng = np.random.default_rng([o.seed, count])
        circuit = LinearTransform({d: rng.standard_normal(params.slots) for d in range(count)})
        yield _Case(f"map of {count}", lambda engine, x, circuit=circuit: [circuit(x)])  # type: ignore[misc]
    yield _Case("product", lambda engine, x: [x * x])
    if params.max_level >= _POLYNOMIAL.levels:
        yield _Case(
            f"polynomial of degree {_POLYNOMIAL.degree}",
            lambda engine, x: [engine.polynomial(x, _POLYNOMIAL)],
        )
    if params.bootstrapping is not None:
        boots = Bootstrapper(params)
        yield _Case("bootstrap", lambda engine, x: [boots(x.drop_level(boots.input_level))])


def _key_plan(cases: list[_Case], params: Params) -> KeyPlan:
    """The keys of all operations."""
    ghost = Engine(params, device="ghost")
    for case in cases:
        case.work(ghost, ghost.ghost_input())
    return ghost.key_plan


class _Rig:
    """Both links."""

    def __init__(self, store: Relay, node: Relay, o: KeyNodeOptions) -> None:
        self._store, self._node, self._o = store, node, o

    def row(self, case: _Case, x: Ciphertext) -> dict[str, Any]:
        """Bytes and seconds of one operation: with keys that are fetched; at the node, twice."""
        near = self._fetching(x.params)
        # A result, twice the bytes of a fresh ciphertext, whose half is a seed.
        x = x.to(near) + 1.0
        before = near._core.held_keys()
        fetched = self._measure(self._store, near, lambda: case.work(near, x))
        held = near._core.held_keys()
        _expect_fetched(case.name, x.params, before, held, fetched[0])
        node = KeyNode(f"tcp://127.0.0.1:{self._node.port}", use="always", on_failure="raise")
        far = self._sending(x.params, node)
        first, again = (self._measure(self._node, far, lambda: case.work(far, x.to(far))) for _ in range(2))
        if not fetched[2] == first[2] == again[2]:
            raise CorruptData(f"bench key-nodes: {case.name} gave other integers at the node")
        if far._core.held_keys():
            raise Error(f"bench key-nodes: {case.name} was not left to the node; the engine fetched keys")
        node.close()
        return {
            "operation": case.name,
            "keys": len(held),
            "fetched_bytes": fetched[0],
            "first_bytes": first[0],
            "moved_bytes": again[0],
            "map_bytes": far.stats()["key_nodes"]["map_bytes"],
            "fewer_first": fetched[0] / first[0],
            "fewer": fetched[0] / again[0],
            "fetched_seconds": fetched[1],
            "first_seconds": first[1],
            "moved_seconds": again[1],
        }

    def _keys(self, params: Params) -> StoredKeys:
        return KeyStore(f"http://127.0.0.1:{self._store.port}").user(USER, params)

    def _fetching(self, params: Params) -> Engine:
        """An engine that fetches each key when it needs it first, as those of nodes do.

        One that is given its keys when it is made would read them all then on a GPU, before any operation.
        """
        device = device_name(self._o.device)
        engine = Engine(params, device=device, threads=self._o.threads, graphs=False)
        loader_of(engine._core, self._keys(params), lazily=True)
        return engine

    def _sending(self, params: Params, node: KeyNode) -> Engine:
        device = device_name(self._o.device)
        return Engine(params, self._keys(params), device=device, threads=self._o.threads, key_nodes=node)

    def _measure(
        self, link: Relay, engine: Engine, work: Callable[[], list[Ciphertext]]
    ) -> tuple[int, float, list[bytes]]:
        engine.synchronize()  # what was submitted before is not a part of it
        before, begin = link.moved, time.perf_counter()
        made = work()
        engine.synchronize()
        seconds, moved = time.perf_counter() - begin, link.moved - before
        return moved, seconds, [each.to_bytes() for each in made]


def _expect_fetched(name: str, params: Params, before: Held, after: Held, moved: int) -> None:
    """Raises Error unless all keys that an engine has since an operation came over the link in it.

    before, after: (Galois element, level) of its keys. moved: bytes that were counted.
    """
    least = sum(params._request_bytes(element, level, True) for element, level in after)
    if before or not after or moved < least:
        raise Error(
            f"bench key-nodes: {name} read {moved} bytes over the link; the engine had {len(before)} keys "
            f"before it and {len(after)} keys of {least} bytes after it. It must begin without keys"
        )


def _server(kept: KeyStore, o: KeyNodeOptions) -> KeyNodeServer:
    return KeyNodeServer(
        kept, device=device_name(o.node_device), threads=o.threads, allow_insecure=o.allow_insecure
    )


@contextlib.contextmanager
def _rig(folder: Path, kept: KeyStore, o: KeyNodeOptions) -> Iterator[_Rig]:
    with contextlib.ExitStack() as stack:
        files = stack.enter_context(RangeServer(folder))
        node = stack.enter_context(_server(kept, o))
        links = [stack.enter_context(Relay(port, o.rate, BURST)) for port in (files.port, node.port)]
        yield _Rig(links[0], links[1], o)
