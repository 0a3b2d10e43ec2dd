# SPDX-License-Identifier: Apache-2.0
"""Products, polynomials, comparisons and bootstraps at key nodes."""

from __future__ import annotations

from collections.abc import Iterator

import halocline as hc
import numpy as np
import pytest
from halocline.base.errors import CorruptData, InvalidArgument
from halocline.circuits.functions import ComparisonCircuit, PolynomialCircuit
from halocline.ckks.ciphertext import Ciphertext
from halocline.remote.maps import MOST_COEFFICIENTS, from_bytes, to_bytes
from halocline.remote.offload import offload_of
from halocline.remote.wire import pack, unpack

PARAMS = hc.Params.preset("test-n11-boot", allow_insecure=True)
BOOT = hc.Bootstrapper(PARAMS, slots=16)
SPARSE = hc.Bootstrapper(PARAMS, slots=16, from_sparse=True)
LOWER = hc.Bootstrapper(PARAMS, slots=16, output_level=2)
SINE = hc.Polynomial.fit(np.sin, (-1, 1), 7)
USE = {"use": "always", "on_failure": "raise"}

OPERATIONS = {
    "product": lambda e, y: [y * (y + 0.5)],
    "square": lambda e, y: [y * y],
    "power": lambda e, y: [y**3],
    "levels that differ": lambda e, y: [y.drop_level(3) * y],
    "dot": lambda e, y: [e.dot([y, y + 1], [y.drop_level(3), y - 1])],
    "polynomial": lambda e, y: [e.polynomial(y, [0.5, 0, -0.25, 1j])],
    "polynomial at a level": lambda e, y: [e.polynomial(y, SINE, level=1)],
    "bootstrap": lambda e, y: [BOOT(y.drop_level(0))],
    "bootstraps": lambda e, y: BOOT([y, y + 0.25]),
    "bootstrap from the sparse secret": lambda e, y: [SPARSE(y.drop_level(0))],
    "bootstrap to a lower level": lambda e, y: [LOWER(y.drop_level(0))],
    "bootstrap of the engine": lambda e, y: [e.bootstrap(y, baby_count=2, compact=True)],
}
TIMES = {"power": 2}
"""Requests, where there is more than one."""


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS, threads=1)


@pytest.fixture(scope="module")
def store(client: hc.Client, tmp_path_factory: pytest.TempPathFactory) -> hc.KeyStore:
    ghost = hc.Engine(PARAMS, device="ghost")
    for work in OPERATIONS.values():
        work(ghost, ghost.ghost_input(slots=16))
    kept = hc.KeyStore(tmp_path_factory.mktemp("keys"))
    kept.put("alice", client.evaluation_keys(plan=ghost.key_plan))
    return kept


@pytest.fixture(scope="module")
def server(store: hc.KeyStore) -> Iterator[hc.KeyNodeServer]:
    with hc.KeyNodeServer(store, threads=1, allow_insecure=True) as node:
        yield node


@pytest.fixture(scope="module")
def x(client: hc.Client) -> hc.Ciphertext:
    return client.encrypt(np.linspace(-0.5, 0.5, 16), slots=16)


@pytest.fixture(scope="module")
def near(store: hc.KeyStore) -> hc.Engine:
    return hc.Engine(PARAMS, store.user("alice", PARAMS), threads=1)


def engine(store: hc.KeyStore, url: str, **options: object) -> hc.Engine:
    node = hc.KeyNode(url, **(USE | options))
    return hc.Engine(PARAMS, store.user("alice", PARAMS), threads=1, key_nodes=node)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_same_integers_without_a_key(
    name: str, near: hc.Engine, server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext
) -> None:
    far = engine(store, server.url)
    here, there = (each.run(lambda y, e=each: OPERATIONS[name](e, y), x) for each in (near, far))
    assert [each.to_bytes() for each in there] == [each.to_bytes() for each in here]
    counts = far.last_run.key_nodes
    assert counts["requests"] == TIMES.get(name, 1) and counts["switches"] >= counts["requests"]
    assert far._core.held_keys() == [] and counts["failures"] == counts["fetches"] == 0


def test_comparisons(tmp_path) -> None:
    params = hc.Params.preset("n14-d7")
    client, kept = hc.Client(params, threads=1), hc.KeyStore(tmp_path)
    kept.put("alice", client.evaluation_keys())
    x = client.encrypt([-0.9, -0.5, 0.5, 0.9], slots=4)
    with hc.KeyNodeServer(kept, threads=1) as server:
        node = hc.KeyNode(server.url, **USE)
        engines = [hc.Engine(params, kept.user("alice"), threads=1, key_nodes=n) for n in (None, node)]
        made = [[e.sign(x.to(e), alpha=6), e.compare(x.to(e), 0.0 * x.to(e), alpha=6)] for e in engines]
        assert engines[1].stats()["key_nodes"]["requests"] == 2 and engines[1]._core.held_keys() == []
    assert [each.to_bytes() for each in made[1]] == [each.to_bytes() for each in made[0]]
    assert np.max(np.abs(client.decrypt(made[1][0]) - [-1, -1, 1, 1])) < 2**-6


def test_products_of_manual_mode_stay_products(
    server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext
) -> None:
    far = engine(store, server.url)
    with far.manual():
        y = x.to(far)
        assert (y * y).components == far.dot([y], [y]).components == 3
    assert far.stats()["key_nodes"]["requests"] == 0


def test_levels_that_are_missing_are_refused_here(
    server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext
) -> None:
    far = engine(store, server.url)
    low = x.to(far).drop_level(0)
    with pytest.raises(hc.LevelExhausted, match="multiply"):
        low * low
    with pytest.raises(hc.LevelExhausted):
        far.polynomial(low, SINE)
    with pytest.raises(hc.InvalidArgument, match="slots"):
        hc.Bootstrapper(PARAMS, slots=8)(x.to(far))
    assert far.stats()["key_nodes"]["requests"] == 0


def test_the_cost_model_decides_for_whole_circuits(
    server: hc.KeyNodeServer, store: hc.KeyStore, near: hc.Engine, x: hc.Ciphertext
) -> None:
    """A bootstrap moves a hundredth of its keys; a product moves as much as its key, which is fetched."""
    far = engine(store, server.url, use="cheaper", rate=1e6, latency=1e-6, switch_seconds=0.0)
    y = x.to(far)
    far.bootstrap(y.drop_level(0), baby_count=2)
    counts = far.stats()["key_nodes"]
    assert counts["requests"] == 1 and counts["fetches"] == 0
    moved = counts["sent_bytes"] + counts["received_bytes"]
    assert counts["unfetched_bytes"] > 10 * moved
    for _ in range(10):
        product = y * y
    assert far.stats()["key_nodes"]["fetches"] == 1
    assert product.to_bytes() == OPERATIONS["square"](near, x.to(near))[0].to_bytes()
    assert [element for element, _ in far._core.held_keys()] == [1]


def test_engines_decide_about_bootstraps_at_nodes(
    client: hc.Client, server: hc.KeyNodeServer, tmp_path, x: hc.Ciphertext
) -> None:
    choice = hc.CircuitChoice(bootstrap_mode="small_key", bootstrap_baby_count=2)
    ghost = hc.Engine(PARAMS, device="ghost", circuits=choice)
    BOOT(ghost.ghost_input(level=0, slots=16))
    kept = hc.KeyStore(tmp_path)
    kept.put("alice", client.evaluation_keys(plan=ghost.key_plan))
    with hc.KeyNodeServer(kept, threads=1, allow_insecure=True) as other:
        nodes = (None, hc.KeyNode(other.url, **USE))
        engines = [
            hc.Engine(PARAMS, kept.user("alice", PARAMS), threads=1, key_nodes=n, circuits=choice)
            for n in nodes
        ]
        made = [BOOT(x.to(each)).to_bytes() for each in engines]
    assert made[0] == made[1] and engines[1]._core.held_keys() == []


CIRCUITS = {
    "real": PolynomialCircuit(SINE, 2),
    "complex": PolynomialCircuit(hc.Polynomial([1, 2j])),
    "sign": ComparisonCircuit("sign", 8, 2.0),
    "maximum": ComparisonCircuit("maximum", 7, 1.0),
    "bootstrap": hc.Bootstrapper(PARAMS, slots=16, real=True, memory="1GiB", order="stc_first"),
}


@pytest.mark.parametrize("name", CIRCUITS)
def test_circuits_survive_their_bytes(name: str) -> None:
    data = to_bytes(CIRCUITS[name])
    assert data is not None and to_bytes(from_bytes(data)) == data
    assert from_bytes(data).inputs == CIRCUITS[name].inputs


def test_circuits_that_no_node_takes_stay_here() -> None:
    assert to_bytes(hc.Bootstrapper(PARAMS, log2_failure=-np.inf)) is None
    assert to_bytes(PolynomialCircuit(hc.Polynomial(np.ones(MOST_COEFFICIENTS + 1)))) is None


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("real", {"basis": "fourier"}),
        ("real", {"domain": [1, "2"]}),
        ("real", {"level": -1}),
        ("real", {"coefficients": 7}),
        ("sign", {"name": "__class__"}),
        ("sign", {"alpha": 10**9}),
        ("sign", {"bound": "1"}),
        ("sign", {"bound": -1.0}),
        ("bootstrap", {"options": {}}),
        ("bootstrap", {"options": []}),
    ],
)
def test_bytes_that_are_no_circuit(name: str, changes: dict[str, object]) -> None:
    about, blobs = unpack(to_bytes(CIRCUITS[name]) or b"", "map")
    about.pop("blobs")
    with pytest.raises((CorruptData, InvalidArgument, hc.WrongType)):
        from_bytes(pack(about | changes, blobs))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iterations", 10**9),
        ("arcsine_degree", 10**9 + 1),
        ("eval_mod_together", 65),
        ("fraction", "1"),
        ("compact", 1),
        ("slots", "many"),
        ("memory", "a lot"),
        ("order", "sideways"),
        ("cts_levels", 2.5),
    ],
)
def test_options_of_bootstraps_are_checked(field: str, value: object) -> None:
    about, blobs = unpack(to_bytes(CIRCUITS["bootstrap"]) or b"", "map")
    about.pop("blobs")
    about["options"][field] = value
    with pytest.raises((CorruptData, InvalidArgument, hc.WrongType)):
        from_bytes(pack(about, blobs))


def test_engines_on_gpus_may_have_nodes(
    server: hc.KeyNodeServer, store: hc.KeyStore, near: hc.Engine, x: hc.Ciphertext
) -> None:
    """What sends requests asks an engine for its operations only, on whatever device; ghosts have none."""
    bare = hc.Engine(PARAMS, threads=1)
    keys, node = store.user("alice", PARAMS), hc.KeyNode(server.url, **USE)

    def ghost() -> hc.Engine:
        return hc.Engine(PARAMS, device="ghost")

    sender = offload_of(node, bare._core, keys, "cuda:0", "resident", ghost)
    assert sender is not None
    (made,) = (
        sender.switch(
            "product", [Ciphertext(bare._core.unfinished_product(*[x.to(bare)._core] * 2), bare, True)]
        )
        or []
    )
    assert made.to_bytes(True) == OPERATIONS["square"](near, x.to(near))[0].to_bytes()
    for device, policy in (("ghost", "resident"), ("cuda:0", "planned")):
        with pytest.raises(InvalidArgument, match="the CPU or a GPU under policy"):
            offload_of(node, bare._core, keys, device, policy, ghost)
