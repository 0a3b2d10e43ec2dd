# SPDX-License-Identifier: Apache-2.0
"""Exactly the keys that a program needs, found by a ghost run that computes nothing."""

import halocline as hc
import numpy as np

params = hc.Params.preset("n14-d7")


def moving_average(x):
    """Mean of each slot and its three right neighbours, squared."""
    pairs = x + x.rotate(1)
    mean = (pairs + pairs.rotate(2)) * 0.25
    return mean * mean


# The server has the program, but neither the data nor the client. It finds out which keys it needs ...
plan = hc.key_plan(params, moving_average)
print(plan, f"{plan.nbytes() / 2**20:.1f} MiB on the server")
message = plan.to_json()

# ... and tells the client, who generates them, each for the highest level at which it is used.
client = hc.Client(params)
keys = client.evaluation_keys(plan=hc.KeyPlan.from_json(message, params))
print(keys)
assert keys.requests() == plan.requests()
everything = client.evaluation_keys([1, 2], level=params.max_level)
assert keys.nbytes <= everything.nbytes

engine = hc.Engine(params, keys)
values = np.random.default_rng(1).uniform(-1, 1, params.slots)
result = client.decrypt(engine.run(moving_average, client.encrypt(values)))
expected = np.mean([np.roll(values, -k) for k in range(4)], axis=0) ** 2
print("largest error:", f"{np.abs(result - expected).max():.1e}")
assert np.abs(result - expected).max() < 2.0**-18

# The same ghost run says how much memory the engine will need, before any key exists.
traced = hc.trace_program(params, moving_average)
print(f"predicted peak {traced.peak_bytes} bytes, measured {engine.last_run.peak_bytes} bytes")
