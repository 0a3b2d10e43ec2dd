# SPDX-License-Identifier: Apache-2.0
"""Keys of a store on a GPU: they come when plans and operations need them, with the integers of the CPU.

HALOCLINE_GPU_TEST_DEVICE names another device than cuda:0; with "cpu" the file tests itself.
"""

import os

import halocline as hc
import numpy as np
import pytest
from halocline import _core
from halocline.bench.cold.options import ColdKeyOptions
from halocline.bench.cold.run import run

DEVICE = os.environ.get("HALOCLINE_GPU_TEST_DEVICE", "cuda:0")
ON_CARD = DEVICE != "cpu"
PARAMS = hc.Params.preset("n13-d3")
STEPS = [1, 2, 3, 5, 8]
NAMES = ("alice", "bob", "carol")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        DEVICE not in _core.available_devices(), reason="no NVIDIA GPU, or a build without CUDA"
    ),
]


def program(x):
    y = x * x
    for step in STEPS:
        y = y + x.rotate(step)
    return y


class Store:
    """Keys of several users, their clients, and the results that the CPU gives."""

    def __init__(self, folder):
        self.store = hc.KeyStore(folder)
        self.clients = {name: hc.Client(PARAMS) for name in NAMES}
        self.digests, self.inputs, self.expected = {}, {}, {}
        values = np.random.default_rng(5).uniform(-1, 1, PARAMS.slots)
        for name, client in self.clients.items():
            keys = client.evaluation_keys(STEPS)
            self.digests[name] = self.store.put(name, keys)
            self.inputs[name] = client.encrypt(values)
            engine = hc.Engine(PARAMS, keys, threads=1)
            self.expected[name] = engine.run(program, self.inputs[name]).to_bytes()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("keys"))


def engine_of(kept, policy, memory="64MiB", **tiers):
    options = hc.MemoryOptions(tiers=hc.Tiers(**({"memory": "64MiB"} | tiers)))
    keys = kept.store.user("alice", PARAMS)
    return hc.Engine(PARAMS, keys, DEVICE, memory=memory, policy=policy, memory_options=options)


def near_bytes(engine):
    """Bytes of keys on tiers between the store and the device."""
    places = engine.explain().keys
    return sum(count for key in places for name, count in key.copies.items() if name != "remote")


def far_bytes(engine):
    return engine.stats()["links"][-1]["read_bytes"]


@pytest.mark.parametrize("policy", ["lru", "planned"])
def test_keys_come_when_they_are_needed(kept, policy):
    engine = engine_of(kept, policy)
    assert far_bytes(engine) == 0  # nothing is read before a program runs
    assert sum(key.fast_bytes for key in engine.explain().keys) == 0
    for _ in range(3):
        assert engine.run(program, kept.inputs["alice"]).to_bytes() == kept.expected["alice"]
    seeded = hc.key_plan(PARAMS, program).nbytes(seeded=True)
    assert 0 < far_bytes(engine) <= 1.1 * seeded  # each byte once, and no half that a seed stands for
    assert len(engine.stats()["links"]) == 3 and engine.stats()["links"][-1]["name"] == "remote"


def test_evicted_keys_come_from_the_nearest_tier(kept):
    engine = engine_of(kept, "planned")
    for _ in range(3):
        engine.run(program, kept.inputs["alice"])
    once = far_bytes(engine)
    for _ in range(3):
        engine.evict_keys()
        places = engine.explain().keys
        assert sum(key.fast_bytes for key in places) == 0
        assert near_bytes(engine) == once
        assert engine.run(program, kept.inputs["alice"]).to_bytes() == kept.expected["alice"]
        assert engine.last_run.followed_plan, engine.last_run.divergence
        assert engine.last_run.bytes_moved["loaded"] > 0 and engine.last_run.link_bytes["remote"] == 0
    assert far_bytes(engine) == once
    for rounds in (2, 3):
        engine.evict_keys(copies=True)
        assert near_bytes(engine) == 0
        assert engine.run(program, kept.inputs["alice"]).to_bytes() == kept.expected["alice"]
        assert far_bytes(engine) == pytest.approx(rounds * once, rel=0.01)


def test_keys_of_a_bundle_wait_in_host_memory(kept):
    keys = kept.store.get("alice", PARAMS)
    engine = hc.Engine(PARAMS, keys, DEVICE, memory="64MiB", policy="planned")
    for _ in range(4):
        engine.evict_keys()
        assert sum(key.fast_bytes for key in engine.explain().keys) == 0
        assert engine.run(program, kept.inputs["alice"]).to_bytes() == kept.expected["alice"]


def test_where_keys_stay_they_are_not_evicted(kept):
    engine = hc.Engine(PARAMS, kept.store.get("alice", PARAMS), DEVICE)
    with pytest.raises(hc.InvalidArgument, match="evict_keys: the policy is 'resident'"):
        engine.evict_keys()


@pytest.mark.parametrize("memory", ["12MiB", "64MiB"])
def test_users_in_turn(kept, memory):
    users = hc.UserEngine(
        PARAMS,
        kept.store,
        DEVICE,
        memory=memory,
        policy="planned",
        key_memory="256MiB",
        memory_options=hc.MemoryOptions(tiers=hc.Tiers(memory="64MiB")),
    )
    with users:
        for turn in range(9):
            name, following = NAMES[turn % 3], NAMES[(turn + 1) % 3]
            with users.user(name, digest=kept.digests[name]) as engine:
                coming = users.prefetch(
                    following, program, kept.inputs[following], digest=kept.digests[following]
                )
                result = engine.run(program, kept.inputs[name])
                assert engine.last_run.followed_plan, engine.last_run.divergence
                assert result.to_bytes() == kept.expected[name]
                coming.result(timeout=60)
        counts = users.engine.stats()["links"][-1]
        if ON_CARD:  # every user's keys came from the store once, and then out of pinned memory
            seeded = hc.key_plan(PARAMS, program).nbytes(seeded=True)
            assert counts["read_bytes"] <= 3.3 * seeded
        with pytest.raises(hc.KeyMismatch):
            users.run("alice", program, kept.inputs["bob"])


def test_a_prefetch_of_a_damaged_store_leaves_the_error_to_the_run(kept, tmp_path):
    store = hc.KeyStore(tmp_path)
    digests = {name: store.put(name, kept.store.get(name, PARAMS)) for name in NAMES[:2]}
    users = hc.UserEngine(PARAMS, store, DEVICE, memory="64MiB", policy="planned", key_memory="256MiB")
    with users:
        users.run("alice", program, kept.inputs["alice"], digest=digests["alice"])
        with users.user("alice", digest=digests["alice"]):
            users.prefetch("bob", digest=digests["bob"]).result(timeout=60)  # the list is known now
        for path in tmp_path.rglob("*"):
            if path.is_file() and path.stat().st_size > 1 << 16:
                data = bytearray(path.read_bytes())
                data[1 << 15 :: 1 << 12] = bytes(255 ^ each for each in data[1 << 15 :: 1 << 12])
                path.write_bytes(data)
        users.cache.drop("bob")
        with pytest.raises(hc.Error):
            users.run("bob", program, kept.inputs["bob"], digest=digests["bob"])
        result = users.run("alice", program, kept.inputs["alice"], digest=digests["alice"])
        assert result.to_bytes() == kept.expected["alice"]


def test_the_benchmark_begins_cold_and_is_right():
    options = ColdKeyOptions(
        device=DEVICE,
        params="test-n11-boot",
        allow_insecure=True,
        cases=("bootstrap", "users"),
        variants="cts_mode=small_key,stc_mode=double_hoisted",
        program="bootstrap",
        runs=3,
        users=3,
        turns=6,
        memory="64MiB",
        room="256MiB",
        host_memory="256MiB",
    )
    content = run(options)
    rows = content["rows"]
    cold = [row for row in rows if row["case"] == "bootstrap cold"]
    assert [row["variant"] for row in cold] == [
        "cts_mode=small_key,stc_mode=double_hoisted",
        "as-written",
    ]
    for row in cold:
        assert row["fast_key_bytes_before"] == 0 and row["pinned_key_bytes_before"] > 0
        assert row["followed_plan"] and row["runs"] == 3
        assert row["link_bytes"]["remote"] == 0 and row["bytes_moved"]["loaded"] > 0
    assert {row["case"] for row in rows} >= {"bootstrap warm", "one user, resident", "users in turn"}
    assert content["skipped"] == []
