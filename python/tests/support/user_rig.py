# SPDX-License-Identifier: Apache-2.0
"""Users of one engine for tests: their keys in a store, their inputs, and what must come out."""

from __future__ import annotations

from typing import Any

import halocline as hc
import numpy as np

PARAMS = hc.Params.preset("test-n10-d3", allow_insecure=True)
STEPS = [1, 2, 3, 4]
VALUES = np.linspace(-1, 1, PARAMS.slots)
NAMES = [f"user{i}" for i in range(10)]


def spread(x: hc.Ciphertext) -> hc.Ciphertext:
    y = x * x
    for step in STEPS:
        y = y + y.rotate(step)
    return y


class People:
    """Clients, their keys in a store, their inputs, and what engines of their own make of these."""

    def __init__(self, store: hc.KeyStore, clients: dict[str, hc.Client], bundles: dict[str, Any]) -> None:
        self.store, self.clients = store, clients
        self.digests = {name: store.put(name, keys) for name, keys in bundles.items()}
        self.inputs = {name: client.encrypt(VALUES) for name, client in clients.items()}
        self.bundles = bundles

    def expected(self, name: str, program: Any) -> bytes:
        return hc.Engine(PARAMS, self.bundles[name], threads=1).run(program, self.inputs[name]).to_bytes()


def program_bytes(program: Any = spread) -> int:
    """Bytes of the program's keys in an engine."""
    return hc.key_plan(PARAMS, program).nbytes()


def make(people: People, **options: Any) -> hc.UserEngine:
    return hc.UserEngine(PARAMS, people.store, **{"key_memory": "64MiB", "threads": 1, **options})


def serve(users: hc.UserEngine, people: People, name: str, program: Any = spread) -> None:
    """Runs a program for a user and checks every bit of the result."""
    result = users.run(name, program, people.inputs[name], digest=people.digests[name])
    assert result.to_bytes() == people.expected(name, program)
    assert result.key_id == people.clients[name].key_id


def key_reads(people: People) -> int:
    return people.store.counts()["read_bytes"]
