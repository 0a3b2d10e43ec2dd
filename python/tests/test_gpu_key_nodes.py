# SPDX-License-Identifier: Apache-2.0
"""Key nodes and engines that use them, on a GPU and on the CPU in each combination.

HALOCLINE_GPU_TEST_DEVICE names another device than cuda:0; with "cpu" the file tests itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import halocline as hc
import numpy as np
import pytest
from halocline.bench.key_node_options import KeyNodeOptions
from halocline.bench.key_nodes import run

DEVICE = os.environ.get("HALOCLINE_GPU_TEST_DEVICE", "cuda:0")
PARAMS = hc.Params.preset("test-n11-boot", allow_insecure=True)
BOOT = hc.Bootstrapper(PARAMS, slots=16)
MAP = hc.LinearTransform({d: np.linspace(-1, 1, 16) for d in range(4)}, slots=16)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE not in hc._core.available_devices(), reason=f"no device '{DEVICE}' here"),
]

OPERATIONS = {
    "rotate": lambda e, y: [y.rotate(1)],
    "hoisted": lambda e, y: e.rotate_many(y, [1, 2, 0]),
    "sum": lambda e, y: [e.inner_sum(y, 4)],
    "conjugate": lambda e, y: [y.conj()],
    "product": lambda e, y: [y * y + y.rotate(1)],
    "dot": lambda e, y: [e.dot([y, y], [y, y + 1])],
    "map": lambda e, y: [MAP(y)],
    "polynomial": lambda e, y: [e.polynomial(y, [0.5, 0, -0.25, 0.125])],
    "bootstrap": lambda e, y: [BOOT(y.drop_level(0))],
}


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS)


@pytest.fixture(scope="module")
def store(client: hc.Client, tmp_path_factory: pytest.TempPathFactory) -> hc.KeyStore:
    ghost = hc.Engine(PARAMS, device="ghost")
    for work in OPERATIONS.values():
        work(ghost, ghost.ghost_input(slots=16))
    kept = hc.KeyStore(tmp_path_factory.mktemp("keys"))
    kept.put("alice", client.evaluation_keys(plan=ghost.key_plan))
    return kept


@pytest.fixture(scope="module", params=["cpu", DEVICE])
def server(request: pytest.FixtureRequest, store: hc.KeyStore) -> Iterator[hc.KeyNodeServer]:
    with hc.KeyNodeServer(store, device=request.param, allow_insecure=True, memory="256MiB") as node:
        yield node


@pytest.fixture(scope="module")
def expected(store: hc.KeyStore, x: hc.Ciphertext) -> dict[str, list[bytes]]:
    """What the CPU makes alone."""
    engine = hc.Engine(PARAMS, store.user("alice", PARAMS))
    return {
        name: [each.to_bytes() for each in work(engine, x.to(engine))] for name, work in OPERATIONS.items()
    }


@pytest.fixture(scope="module")
def x(client: hc.Client) -> hc.Ciphertext:
    return client.encrypt(np.linspace(-0.5, 0.5, 16), slots=16)


@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_all_operations_give_the_same_integers(
    device: str,
    server: hc.KeyNodeServer,
    store: hc.KeyStore,
    x: hc.Ciphertext,
    expected: dict[str, list[bytes]],
) -> None:
    node = hc.KeyNode(server.url, use="always", on_failure="raise")
    far = hc.Engine(PARAMS, store.user("alice", PARAMS), device, key_nodes=node)
    for name, work in OPERATIONS.items():
        for _ in range(3):  # a GPU makes graphs of programs that it has seen before
            made = far.run(lambda y, work=work: work(far, y), x)
            assert [each.to_bytes() for each in made] == expected[name], name
        assert far.last_run.key_nodes["requests"] >= 1
    assert far._core.held_keys() == [] and far._core.key_bytes == 0
    assert server.status()["key_bytes"] > 0


def test_an_engine_fetches_what_it_needs_when_its_node_ends(
    store: hc.KeyStore, x: hc.Ciphertext, expected: dict[str, list[bytes]]
) -> None:
    with hc.KeyNodeServer(store, device=DEVICE, allow_insecure=True) as server:
        node = hc.KeyNode(server.url, use="always", deadline=5)
        far = hc.Engine(PARAMS, store.user("alice", PARAMS), DEVICE, key_nodes=node)
        assert x.to(far).rotate(1).to_bytes() == expected["rotate"][0]
        assert far._core.held_keys() == []
    with pytest.warns(hc.KeyNodeFailure):
        assert OPERATIONS["sum"](far, x.to(far))[0].to_bytes() == expected["sum"][0]
    held = {element for element, _ in far._core.held_keys()}
    assert held == {PARAMS._core.galois_element(step) for step in (1, 2)}, "these alone are on the device"


def test_hot_keys_are_fetched_to_the_device(
    server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext, expected: dict[str, list[bytes]]
) -> None:
    node = hc.KeyNode(server.url, rate=1e6, latency=1e-6, switch_seconds=0.0, on_failure="raise")
    far = hc.Engine(PARAMS, store.user("alice", PARAMS), DEVICE, key_nodes=node)
    for _ in range(20):
        assert x.to(far).rotate(1).to_bytes() == expected["rotate"][0]
    counts = far.stats()["key_nodes"]
    assert counts["fetches"] == 1 and 0 < counts["requests"] < 19
    assert [element for element, _ in far._core.held_keys()] == [PARAMS._core.galois_element(1)]


def test_the_benchmark_fetches_the_same_bytes_as_on_the_cpu() -> None:
    options = {"params": "test-n10-d3", "diagonals": (4,), "threads": 1, "rate": 20e6, "allow_insecure": True}
    here, there = (
        run(KeyNodeOptions(device=each, node_device=each, **options))["rows"] for each in ("cpu", DEVICE)
    )
    for own, other in zip(here, there, strict=True):
        keys, fetched = other["keys"], other["fetched_bytes"]
        assert own["keys"] == keys and own["fetched_bytes"] == pytest.approx(fetched, rel=1e-3)
        assert 0 < keys < 9, "of those in the store"
        assert fetched > 150_000 * keys
        assert other["fetched_seconds"] > fetched / 20e6 - 0.006, (
            "no faster than the link, less what may burst"
        )
        assert other["moved_bytes"] == pytest.approx(own["moved_bytes"], abs=100)
