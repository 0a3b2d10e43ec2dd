# SPDX-License-Identifier: Apache-2.0
"""Keys of many users in a key store, and one engine that serves all of them."""

import tempfile

import halocline as hc
import numpy as np

params = hc.Params.preset("n13-d3")
folder = tempfile.TemporaryDirectory()  # or "https://keys.example.org/store", or "s3://bucket/store"
store = hc.KeyStore(f"file:{folder.name}", quota="64MiB")

# Each user makes keys at home, and keeps the digest that `put` returns: it excludes other keys.
names = ["alice", "bob", "carol"]
clients = {name: hc.Client(params) for name in names}
digests = {name: store.put(name, clients[name].evaluation_keys(rotations=[1, 2])) for name in names}
print(f"{len(store.users())} users, {sum(store.nbytes(each) for each in names) >> 20} MiB of keys")


def smooth(x):
    """Needs two rotation keys and the relinearization key."""
    return x * x + 0.5 * (x.rotate(1) + x.rotate(2))


# One user: an engine takes keys from the store as it takes a bundle, and loads each at its first use.
alice = hc.Engine(params, store.user("alice", digest=digests["alice"]))
values = np.linspace(-1, 1, params.slots)
x = clients["alice"].encrypt(values)
alice.run(lambda y: y.rotate(1), x)
print(f"one rotation read {store.counts()['read_bytes'] >> 10} KiB: its key, and the list of all")

# All users: their keys share one engine and its budget; the next user's keys come while it computes.
with hc.UserEngine(params, store, memory="64MiB", key_host_memory="256MiB") as users:
    for turn in range(6):
        name, following = names[turn % 3], names[(turn + 1) % 3]
        coming = users.prefetch(following, smooth, clients[following].encrypt(values))
        result = clients[name].decrypt(users.run(name, smooth, clients[name].encrypt(values)))
        expected = values**2 + 0.5 * (np.roll(values, -1) + np.roll(values, -2))
        assert np.abs(result - expected).max() < 2**-20
        coming.result()
    print(f"6 requests: {users.stats()['hits']} keys were in the engine, {users.stats()['misses']} came")

try:
    store.user("mallory")
except hc.UnknownUser as error:
    print(f"refused: {error}")

try:  # with what another user may send
    alice.run(smooth, clients["bob"].encrypt(values))
except hc.KeyMismatch:
    print("refused: a ciphertext of another user")

assert store.delete("bob") and store.users() == ["alice", "carol"]
