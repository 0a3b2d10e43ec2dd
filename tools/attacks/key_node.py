# SPDX-License-Identifier: Apache-2.0
"""What key nodes and their clients read: frames, calls, weights."""

from __future__ import annotations

import time
from typing import Any

import halocline as hc
import numpy as np
from attacks.case import Finding
from attacks.samples import World
from attacks.target import Target
from halocline.circuits.functions import ComparisonCircuit, PolynomialCircuit, WholeCircuit
from halocline.keynode.held_maps import HeldMaps
from halocline.keynode.jobs import Job
from halocline.keynode.users import Users
from halocline.keynode.work import Call, Worker
from halocline.remote import maps
from halocline.remote.wire import HEAD_BYTES, Frame, Kind, _digest, pack, parse_head, unpack

_BOOTS = hc.Params.preset("test-n11-boot", allow_insecure=True)
_DEEP = hc.Params.preset("n14-d7")


def seal_frame(data: bytes) -> bytes:
    """A frame whose length and digest fit what follows its head."""
    if len(data) < HEAD_BYTES:
        return data
    payload = data[HEAD_BYTES:]
    start = data[:24] + len(payload).to_bytes(8, "little")
    return start + _digest(start, payload) + payload


class _Rig:
    """A worker as a node has it, without its connections."""

    def __init__(self, world: World) -> None:
        self.world = world
        store = hc.KeyStore(world.folder / "node-keys")
        store.put("alice", world.keys)
        self.stored = store.user("alice", world.params)
        self.maps = HeldMaps(64 << 20)
        users = Users(store, "cpu", "64MiB", 1, allow_insecure=True)
        self.worker = Worker(users, self.maps)
        rng = np.random.default_rng(1)
        slots = world.params.slots
        self.circuit = hc.LinearTransform({d: rng.standard_normal(slots) for d in (0, 1, 2)}, mode="naive")
        data = maps.to_bytes(self.circuit)
        if data is None:
            raise Finding("a linear transform has no bytes")
        self.map, self.name = data, maps.digest_of(data)
        self.maps.add(self.name, data)
        self.wholes = self._wholes()
        for each in self.wholes.values():
            self.maps.add(maps.digest_of(each), each)

    def _wholes(self) -> dict[str, bytes]:
        """Circuits without encoded weights as they travel."""
        found = {
            "polynomial": PolynomialCircuit(hc.Polynomial([0.5, -1, 0.25])),
            "comparison": ComparisonCircuit("sign", 6, 1.0),
            "bootstrap": hc.Bootstrapper(_BOOTS, slots=8),
        }
        return {name: maps.to_bytes(each) or b"" for name, each in found.items()}

    def call(self, **changes: Any) -> bytes:
        """A call as a frame."""
        about = {"user": "alice", "digest": self.stored.digest, "key_id": self.stored.key_id}
        about |= {"operation": "rotate", "steps": [1], **changes}
        return Frame(Kind.CALL, 1, pack(about, [self.world.x.to_bytes()]), 60.0).to_bytes()

    def compute(self, data: bytes) -> None:
        """A call that is taken gives ciphertexts of the parameters."""
        head = parse_head(data[:HEAD_BYTES], frozenset({Kind.CALL}))
        frame = head.frame(data[HEAD_BYTES : HEAD_BYTES + head.length])
        call = Call.parse(*unpack(frame.payload, "call"))
        job = Job(lambda job: self.worker.compute(call, job), lambda answer: None, time.monotonic() + 600, 0)
        for blob in self.worker.compute(call, job)[1]:
            hc.Ciphertext.from_bytes(blob, self.world.params)

    def keep(self, data: bytes) -> None:
        """Weights that are taken can be encoded, or are refused then."""
        circuit = maps.from_bytes(data)
        if isinstance(circuit, WholeCircuit):
            boots = circuit.operation == "bootstrap"
            ghost = hc.Engine(_BOOTS if boots else _DEEP, device="ghost")
            circuit._apply([ghost.ghost_input(slots=8)] * (circuit.inputs or 1))
        else:
            circuit._on(hc.Engine(self.world.params, device="ghost"), 2)


def key_node_targets(world: World) -> dict[str, Target]:
    """The readers, with samples that they take."""
    rig = _Rig(world)
    return {
        "key node call": Target(rig.call(), rig.compute, seal_frame),
        "key node map call": Target(
            rig.call(operation="map", steps=[], map=rig.name), rig.compute, seal_frame
        ),
        "key node weights": Target(rig.map, rig.keep),
        **{f"key node {name}": Target(data, rig.keep) for name, data in rig.wholes.items()},
        "key node polynomial call": Target(
            rig.call(operation="polynomial", steps=[], map=maps.digest_of(rig.wholes["polynomial"])),
            rig.compute,
            seal_frame,
        ),
    }
