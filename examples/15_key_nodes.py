# SPDX-License-Identifier: Apache-2.0
"""Ciphertexts travel to a process that has the keys, where that moves fewer bytes than fetching keys."""

import tempfile
import warnings

import halocline as hc
import numpy as np

params = hc.Params.preset("n13-d3")
client = hc.Client(params)
rng = np.random.default_rng(1)
wide = hc.LinearTransform({d: rng.uniform(-1, 1, params.slots) for d in range(32)})
values = rng.uniform(-1, 1, params.slots)


def program(x):
    """A map of 32 diagonals, and a square of its result."""
    y = wide(x)
    return y * y


folder = tempfile.TemporaryDirectory()
store = hc.KeyStore(f"file:{folder.name}")
digest = store.put("alice", client.evaluation_keys(plan=hc.key_plan(params, program, client.encrypt(values))))

# `halocline keynode --store file:FOLDER` is the same as a process, and --device cuda:0 computes on a GPU.
with hc.KeyNodeServer(store) as server:
    # Rates and latencies are what you know of your network; here that of a slow one.
    node = hc.KeyNode(server.url, rate=12.5e6, latency=0.02, deadline=30)
    engine = hc.Engine(params, store.user("alice", digest=digest), key_nodes=node)
    y = engine.run(program, client.encrypt(values))
    asked = engine.last_run.key_nodes
    moved = asked["sent_bytes"] + asked["received_bytes"]
    print(
        f"{asked['requests']} requests moved {moved >> 10} KiB, {asked['map_bytes'] >> 10} of them weights,"
    )
    print(
        f"in place of {asked['unfetched_bytes'] >> 10} KiB of keys; {asked['fetches']} were cheaper to fetch"
    )
    assert asked["requests"] >= 1 and asked["failures"] == 0

    # Weights travel once.
    engine.run(program, client.encrypt(values))
    assert engine.last_run.key_nodes["map_bytes"] == 0

# The integers are those of an engine that has the keys, wherever they were computed.
x = client.encrypt(values)
near = hc.Engine(params, store.user("alice", digest=digest))
with hc.KeyNodeServer(store) as server:
    always = hc.KeyNode(server.url, use="always", on_failure="raise")
    far = hc.Engine(params, store.user("alice", digest=digest), key_nodes=always)
    assert far.run(program, x).to_bytes() == near.run(program, x).to_bytes()
    assert far.stats()["live_by_class"]["evaluation_key"] == 0
print("no key was ever in the engine that asked for all of it")

# A node that cannot be reached is no end: the engine warns, fetches the keys, and goes on.
alone = hc.Engine(params, store.user("alice"), key_nodes=hc.KeyNode(server.url, use="always", deadline=1))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always", hc.KeyNodeFailure)
    assert alone.run(program, x).to_bytes() == near.run(program, x).to_bytes()
print(f"without the node: {alone.last_run.key_nodes['failures']} failure, and the same integers")
assert [each.category for each in said] == [hc.KeyNodeFailure]
