# SPDX-License-Identifier: Apache-2.0
"""Key switches at key nodes: the same integers, cheaper bytes, refusals, tokens, TLS."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.remote.cost import Ledger, Link, estimate
from halocline.remote.maps import from_bytes, to_bytes
from halocline.remote.switches import sums_of

PARAMS = hc.Params.preset("n13-d3")
STEPS = [*range(1, 17), 32, 64, -1]
TOKEN = "0123456789abcdef-a-token"
USE = {"use": "always", "on_failure": "raise"}
"""What most tests want: every key switch at the node, and no way round it."""


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS)


@pytest.fixture(scope="module")
def folder(client: hc.Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys")
    keys = client.evaluation_keys(rotations=STEPS, conjugation=True)
    hc.KeyStore(path).put("alice", keys)
    return path


@pytest.fixture(scope="module")
def store(folder: Path) -> hc.KeyStore:
    return hc.KeyStore(folder)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[hc.KeyNodeServer]:
    with hc.KeyNodeServer(hc.KeyStore(folder), threads=1) as node:
        yield node


@pytest.fixture
def far(server: hc.KeyNodeServer, store: hc.KeyStore) -> hc.Engine:
    """An engine that leaves every key switch to the node."""
    return hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=hc.KeyNode(server.url, **USE))


@pytest.fixture(scope="module")
def near(store: hc.KeyStore) -> hc.Engine:
    """An engine that computes alone."""
    return hc.Engine(PARAMS, store.user("alice"), threads=1)


@pytest.fixture(scope="module")
def x(client: hc.Client) -> hc.Ciphertext:
    return client.encrypt(np.linspace(-1, 1, PARAMS.slots))


def diagonals(count: int, seed: int = 3) -> dict[int, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {d: rng.standard_normal(PARAMS.slots) for d in range(count)}


def circuits() -> dict[str, hc.LinearTransform]:
    rng = np.random.default_rng(5)
    shared = rng.standard_normal(PARAMS.slots)
    layout = hc.ImageLayout(8, 8, 64)
    return {
        "map": hc.LinearTransform(diagonals(9)),
        "small keys": hc.LinearTransform(diagonals(6), mode="small_key"),
        "complex": hc.LinearTransform({0: 1j * shared, 2: shared, 3: shared}, mode="naive", compact=True),
        "grid": hc.TransformGrid([[{0: shared, 1: shared}, {}], [{2: shared}, {1: shared}]]),
        "matrix": hc.MatrixVector(rng.standard_normal((5, 7)), PARAMS.slots),
        "blocks": hc.BlockMatmul([[rng.standard_normal((4, 4))]], 4, PARAMS.slots, fold=False),
        "convolution": hc.Convolution2d(
            rng.standard_normal((2, 1, 3, 3)), layout, PARAMS.slots, bias=[0.5, 1], mode="naive"
        ),
    }


OPERATIONS = {
    "rotate": lambda e, y: [y.rotate(5)],
    "rotate to the right": lambda e, y: [y.rotate(-1)],
    "conjugate": lambda e, y: [y.conj()],
    "hoisted": lambda e, y: e.rotate_many(y, [1, 0, 2, 7]),
    "sum": lambda e, y: [e.inner_sum(y, 16)],
    "odd sum": lambda e, y: [e.inner_sum(y, 7)],
    "sum in fours": lambda e, y: [e.inner_sum(y, 8, radix=4)],
    "sum of rotations": lambda e, y: [e.sum_rotations(y, [0, 1, -1, 5])],
    "low level": lambda e, y: [y.drop_level(1).rotate(3)],
    "few slots": lambda e, y: [y.with_slots(64).rotate(3)],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_the_same_integers(
    name: str, far: hc.Engine, near: hc.Engine, x: hc.Ciphertext
) -> None:
    here = [each.to_bytes() for each in near.run(lambda y: OPERATIONS[name](near, y), x)]
    there = [each.to_bytes() for each in far.run(lambda y: OPERATIONS[name](far, y), x)]
    assert there == here
    assert far._core.held_keys() == [] and far._core.key_bytes == 0
    assert far.last_run.key_nodes["requests"] == 1 and far.last_run.key_nodes["switches"] > 0
    assert far.last_run.key_nodes["failures"] == far.last_run.key_nodes["fetches"] == 0


@pytest.fixture(scope="module")
def many_keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[hc.Client, hc.KeyStore]:
    """A user with the keys of all circuits."""
    client, ghost = hc.Client(PARAMS), hc.Engine(PARAMS, device="ghost")
    steps = sorted({step for each in circuits().values() for step in each.rotations(ghost)})
    kept = hc.KeyStore(tmp_path_factory.mktemp("more"))
    kept.put("alice", client.evaluation_keys(rotations=steps))
    return client, kept


@pytest.mark.parametrize("name", circuits())
def test_maps_give_the_same_integers(name: str, many_keys: tuple[hc.Client, hc.KeyStore]) -> None:
    client, kept = many_keys
    circuit, x = circuits()[name], client.encrypt(np.linspace(-1, 1, PARAMS.slots))
    near = hc.Engine(PARAMS, kept.user("alice"), threads=1)
    with hc.KeyNodeServer(kept, threads=1) as node:
        far = hc.Engine(PARAMS, kept.user("alice"), threads=1, key_nodes=hc.KeyNode(node.url, **USE))
        here, there = (circuit._apply([x.to(engine)] * circuit.inputs) for engine in (near, far))
        assert [each.to_bytes() for each in there] == [each.to_bytes() for each in here]
        assert len(there) == circuit.outputs and there[0].is_real == here[0].is_real
        first = far.stats()["key_nodes"]
        circuit._apply([x.to(far)] * circuit.inputs)
        second = far.stats()["key_nodes"]
    assert first["map_bytes"] == second["map_bytes"] > 0, "weights travel once"
    assert second["requests"] == 2 and far._core.held_keys() == []


def test_an_engine_that_decides_about_circuits(many_keys: tuple[hc.Client, hc.KeyStore]) -> None:
    client, kept = many_keys
    x = client.encrypt(np.linspace(-1, 1, PARAMS.slots))
    circuit = circuits()["map"]
    with hc.KeyNodeServer(kept, threads=1) as server:
        node, made = hc.KeyNode(server.url, **USE), []
        for choice in (None, hc.CircuitChoice(mode="small_key", baby_count=3, compact=True)):
            engines = [
                hc.Engine(PARAMS, kept.user("alice"), threads=1, key_nodes=each, circuits=choice)
                for each in (None, node)
            ]
            here, there = (circuit(x.to(engine)).to_bytes() for engine in engines)
            assert there == here and engines[1]._core.held_keys() == []
            made.append(here)
        assert made[0] != made[1] and server.status()["maps"] == 2


@pytest.mark.parametrize("name", circuits())
def test_circuits_survive_their_bytes(name: str) -> None:
    circuit = circuits()[name]
    data = to_bytes(circuit)
    assert data is not None and data == to_bytes(from_bytes(data))
    assert repr(from_bytes(data)) == repr(circuit)


def test_relinearization_in_manual_mode(far: hc.Engine, near: hc.Engine, x: hc.Ciphertext) -> None:
    made = []
    for engine in (near, far):
        with engine.manual():
            y = x.to(engine)
            made.append((y * y).relinearize().to_bytes())
    assert made[0] == made[1]
    assert far._core.held_keys() == []


def test_what_needs_no_key_stays_here(far: hc.Engine, x: hc.Ciphertext) -> None:
    y = x.to(far)
    (y.rotate(0), y.rotate(PARAMS.slots), far.rotate_many(y, [0]), far.inner_sum(y, 1), y + y)
    assert far.stats()["key_nodes"]["requests"] == 0


def test_sums_follow_the_evaluator() -> None:
    for count in (1, 2, 3, 7, 12, 16, 31):
        ghost = hc.Engine(PARAMS, device="ghost")
        ghost.inner_sum(ghost.ghost_input(), count, 3)
        asked = {element for element, _ in ghost.key_plan.requests()}
        assert asked == {PARAMS._core.galois_element(step) for step in sums_of(3, count)}


# Decisions


def test_a_key_is_fetched_when_its_uses_have_cost_as_much() -> None:
    link = Link(1e6, 0.001)
    cost = estimate({5: 1_000_000}, 300_000, 1, link, link, 0.0)
    ledger = Ledger()
    decisions = []
    for _ in range(6):
        decisions.append(ledger.is_cheaper_away(cost))
        if decisions[-1]:
            ledger.spend(cost)
    assert cost.fetch_seconds == pytest.approx(1.001) and cost.node_seconds == pytest.approx(0.301)
    assert decisions == [True, True, True, False, False, False]
    assert not Ledger().is_cheaper_away(estimate({5: 1000}, 2000, 1, link, link, 0.0)), "bytes decide"
    assert not Ledger().is_cheaper_away(estimate({5: 10**6}, 1, 100, link, link, 0.1)), "so does its compute"
    assert Ledger().is_cheaper_away(estimate({5: 10**6}, 10**6, 1, link, Link(1e9, 0.001), 0.0))
    assert Ledger().is_cheaper_away(estimate({5: 10, 7: 10}, 10, 1, link, link, 0.0)), "one trip, not two"


def test_an_engine_sends_maps_and_fetches_hot_keys(
    server: hc.KeyNodeServer, store: hc.KeyStore, near: hc.Engine, x: hc.Ciphertext
) -> None:
    node = hc.KeyNode(server.url, rate=1e8, latency=1e-6, switch_seconds=0.0, on_failure="raise")
    engine = hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=node)
    y = x.to(engine)
    circuit = hc.LinearTransform(diagonals(9), mode="naive")
    circuit(y)
    counts = engine.stats()["key_nodes"]
    assert counts["requests"] == 1 and counts["fetches"] == 0 and engine._core.held_keys() == []
    for _ in range(12):
        y.rotate(32)
    counts = engine.stats()["key_nodes"]
    size = PARAMS._request_bytes(PARAMS._core.galois_element(32), PARAMS.top_level, True)
    trips = -(-size // (2 * x.nbytes)) - 1  # as many as together cost less than the key
    assert counts["requests"] == 1 + trips and counts["fetches"] == 1
    assert [element for element, _ in engine._core.held_keys()] == [PARAMS._core.galois_element(32)]
    assert y.rotate(32).to_bytes() == x.to(near).rotate(32).to_bytes()


def test_keys_that_do_not_fit_are_not_fetched(
    server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext
) -> None:
    # Fetching is forecast to be free, and the budget has no room for a key.
    node = hc.KeyNode(server.url, rate=1.0, store_rate=1e12, store_latency=1e-9, on_failure="raise")
    bare = hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=node)
    x.to(bare).rotate(1)
    assert bare.stats()["key_nodes"]["fetches"] == 1
    budget = bare.stats()["peak_bytes"] - bare._core.key_bytes // 2
    engine = hc.Engine(PARAMS, store.user("alice"), threads=1, memory=budget, key_nodes=node)
    x.to(engine).rotate(1)
    assert engine.stats()["key_nodes"]["requests"] == 1 and engine._core.key_bytes == 0


def test_a_missing_key_is_named(far: hc.Engine, x: hc.Ciphertext) -> None:
    with pytest.raises(hc.MissingKey, match="rotation key for step 17"):
        x.to(far).rotate(17)
    assert far.stats()["key_nodes"]["requests"] == 0


# The node


def test_memory_of_a_node(folder: Path, store: hc.KeyStore, x: hc.Ciphertext, near: hc.Engine) -> None:
    def engine(url: str) -> hc.Engine:
        return hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=hc.KeyNode(url, **USE))

    with hc.KeyNodeServer(hc.KeyStore(folder), threads=1, memory="24MiB") as node:
        far = engine(node.url)
        for step in STEPS[:12]:  # more keys than fit: the node begins anew with the key that is needed
            assert x.to(far).rotate(step).to_bytes() == x.to(near).rotate(step).to_bytes()
        assert node._shared.worker.users.budget.peak <= 24 << 20
    with hc.KeyNodeServer(hc.KeyStore(folder), threads=1, memory="3MiB") as node:
        far = engine(node.url)
        with pytest.raises(hc.OutOfMemory, match=r"needs .* bytes of keys and weights"):
            far.rotate_many(x.to(far), STEPS)
        assert node.status()["users"] == 0, "refused before anything was loaded"
    with hc.KeyNodeServer(hc.KeyStore(folder), threads=1, map_memory="400KiB") as node:
        far = engine(node.url)
        first, second = (hc.LinearTransform(diagonals(9, seed)) for seed in (1, 2))
        for circuit in (first, second, first):  # each upload displaces the other one
            assert circuit(x.to(far)).to_bytes() == circuit(x.to(near)).to_bytes()
            assert node.status()["maps"] == 1 and node.status()["map_bytes"] <= 400 << 10
        with pytest.raises(hc.OutOfMemory, match="--map-memory"):
            hc.LinearTransform(diagonals(40))(x.to(far))


def test_several_users(tmp_path: Path) -> None:
    kept, clients = hc.KeyStore(tmp_path / "keys"), [hc.Client(PARAMS) for _ in range(2)]
    for number, each in enumerate(clients):
        kept.put(f"user{number}", each.evaluation_keys(rotations=[1]))
    with hc.KeyNodeServer(kept, threads=1) as server:
        node = hc.KeyNode(server.url, **USE)
        engines = [hc.Engine(PARAMS, kept.user(f"user{i}"), threads=1, key_nodes=node) for i in range(2)]
        values = np.linspace(-1, 1, PARAMS.slots)
        for _ in range(2):
            for engine, each in zip(engines, clients, strict=True):
                result = each.decrypt(engine.run(lambda y: y.rotate(1), each.encrypt(values)))
                assert np.max(np.abs(result - np.roll(values, -1))) < 2**-20
        assert node.status()["users"] == 2
        # Keys that were replaced since: the engine has the digest of the old ones.
        kept.put("user0", hc.Client(PARAMS).evaluation_keys(rotations=[1, 2]))
        again = hc.KeyNode(server.url, **USE)
        other = hc.Engine(PARAMS, kept.user("user0"), threads=1, key_nodes=again)
        with pytest.raises(hc.KeyMismatch):
            clients[0].encrypt(values).to(other)


def test_threads_share_a_node(
    server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext, near: hc.Engine
) -> None:
    node = hc.KeyNode(server.url, **USE)
    expected = {step: x.to(near).rotate(step).to_bytes() for step in STEPS[:8]}
    wrong: list[int] = []

    def work(step: int) -> None:
        engine = hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=node)
        for _ in range(4):
            if x.to(engine).rotate(step).to_bytes() != expected[step]:
                wrong.append(step)

    threads = [threading.Thread(target=work, args=(step,)) for step in expected]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_engines_are_freed(server: hc.KeyNodeServer, store: hc.KeyStore, x: hc.Ciphertext) -> None:
    engine = hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=hc.KeyNode(server.url, **USE))
    x.to(engine).rotate(1)
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None, "something keeps the engine in a circle"
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_children(far: hc.Engine, x: hc.Ciphertext) -> None:
    expected = x.to(far).rotate(1).to_bytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if x.to(far).rotate(1).to_bytes() == expected else 1)
    assert x.to(far).rotate(1).to_bytes() == expected
    assert os.waitpid(child, 0)[1] == 0


# Who may ask


def test_loopback_only_without_tls_and_token(folder: Path, tmp_path: Path) -> None:
    kept = hc.KeyStore(folder)
    for host in ("0.0.0.0", "192.0.2.1", "[::]", "example.org"):
        with pytest.raises(hc.InvalidArgument, match=r"without TLS .* and a token"):
            hc.KeyNodeServer(kept, f"{host}:0")
    (tmp_path / "token").write_text(TOKEN + "\n")
    with pytest.raises(hc.InvalidArgument, match=r"without TLS \(--tls-cert and --tls-key\);"):
        hc.KeyNodeServer(kept, "0.0.0.0:0", token_file=tmp_path / "token")
    certificate = certified(tmp_path)
    with pytest.raises(hc.InvalidArgument, match="without a token"):
        hc.KeyNodeServer(kept, "0.0.0.0:0", certificate=certificate[0], private_key=certificate[1])
    with pytest.raises(hc.InvalidArgument, match="give both"):
        hc.KeyNodeServer(kept, certificate=certificate[0])
    hc.KeyNodeServer(
        kept,
        "0.0.0.0:0",
        certificate=certificate[0],
        private_key=certificate[1],
        token_file=tmp_path / "token",
    ).close()
    for url in ("tcp://192.0.2.1:7431", "tcp://example.org:7431"):
        with pytest.raises(hc.InvalidArgument, match="use tls://"):
            hc.KeyNode(url)
    for url in ("127.0.0.1:1", "http://127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://u:p@h:1"):
        with pytest.raises(hc.InvalidArgument, match="expected"):
            hc.KeyNode(url)


def certified(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    names = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(names[1]), "-out", str(names[0])]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return names


def test_tls_and_tokens(
    folder: Path, store: hc.KeyStore, x: hc.Ciphertext, near: hc.Engine, tmp_path: Path
) -> None:
    certificate, key = certified(tmp_path)
    (tmp_path / "tokens").write_text(f"# of two servers\n{TOKEN}\nanother-token-of-16\n")
    node = hc.KeyNodeServer(
        hc.KeyStore(folder),
        certificate=certificate,
        private_key=key,
        token_file=tmp_path / "tokens",
        threads=1,
    )
    with node:
        assert node.url.startswith("tls://")
        for token in (TOKEN, "another-token-of-16"):
            far = hc.KeyNode(node.url, token=token, ca_file=certificate, **USE)
            engine = hc.Engine(PARAMS, store.user("alice"), threads=1, key_nodes=far)
            assert engine.rotate_many(x.to(engine), [1, 2])[1].to_bytes() == x.to(near).rotate(2).to_bytes()
        with pytest.raises(hc.IoError, match=r"certificate verify failed|no secure connection"):
            hc.KeyNode(node.url, token=TOKEN).status()
        for token in ("another-token-of-17", None):
            with pytest.raises(hc.InvalidArgument, match="token is missing or wrong"):
                hc.KeyNode(node.url, token=token, ca_file=certificate).status()
        with pytest.raises(hc.Error):  # no TLS, where TLS is spoken
            hc.KeyNode(node.url.replace("tls", "tcp"), token=TOKEN, deadline=5).status()


def test_tokens_are_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("short", "with a space in it....", "ünïcode-ünïcode-ünïcode", "x" * 300):
        with pytest.raises(hc.InvalidArgument) as caught:
            hc.KeyNode("tcp://127.0.0.1:1", token=wrong)
        assert wrong not in str(caught.value)
    node = hc.KeyNode("tcp://127.0.0.1:1", token=TOKEN)
    assert TOKEN not in repr(node)
    with pytest.raises(hc.NotPicklable) as caught:
        pickle.dumps(node)
    assert TOKEN not in str(caught.value)
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setenv("HALOCLINE_KEYNODE_TOKEN", TOKEN)
    for kept in (hc.KeyNode("tcp://127.0.0.1:1", token_file=tmp_path / "token"), hc.KeyNode("tcp://[::1]:9")):
        data = pickle.dumps(kept)
        assert TOKEN.encode() not in data
        again = pickle.loads(data)
        assert again.url == kept.url and again._token == TOKEN
    with pytest.raises(hc.IoError) as refused:
        node.status()
    assert TOKEN not in str(refused.value)


def test_engines_that_take_no_node(store: hc.KeyStore, client: hc.Client) -> None:
    node = hc.KeyNode("tcp://127.0.0.1:1")
    with pytest.raises(hc.InvalidArgument, match=r"keys of a store|finds keys by store"):
        hc.Engine(PARAMS, client.evaluation_keys(rotations=[1]), key_nodes=node)
    for options in ({"policy": "lru", "memory": "1GiB"}, {"device": "ghost"}):
        with pytest.raises(hc.InvalidArgument, match='expected the CPU or a GPU under policy "resident"'):
            hc.Engine(PARAMS, store.user("alice"), key_nodes=node, **options)
    with pytest.raises(hc.WrongType):
        hc.Engine(PARAMS, store.user("alice"), key_nodes="tcp://127.0.0.1:1")
    with pytest.raises(hc.InvalidArgument, match="empty"):
        hc.Engine(PARAMS, store.user("alice"), key_nodes=[])


def test_a_closed_server_ends_in_time(folder: Path) -> None:
    server = hc.KeyNodeServer(hc.KeyStore(folder), threads=1).start()
    with pytest.raises(hc.NotPicklable):
        pickle.dumps(server)
    node = hc.KeyNode(server.url)
    node.status()
    begin = time.monotonic()
    server.close()
    server.close()
    assert time.monotonic() - begin < 10
    with pytest.raises(hc.IoError):
        node.status()


@pytest.mark.parametrize(("count", "radix"), [(6, 4), (7, 3), (8, 6)])
def test_sums_that_the_evaluator_refuses_have_an_end(count, radix):
    assert len(sums_of(1, count, radix)) < count
