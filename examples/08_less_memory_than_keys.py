# SPDX-License-Identifier: Apache-2.0
"""A program in a third of the memory that it touches: ghost pass, plan, run."""

import halocline as hc
import numpy as np

params = hc.Params.preset("n14-d7")
client = hc.Client(params)
STEPS = (1, 3, 9, 27, 81, 243, 729)


def smooth(x):
    """Averages of neighbours at growing distances, then differences to the other side."""
    for k in STEPS[:5]:
        x = (x + x.rotate(k)) * 0.5
    for k in STEPS:
        x = x - x.rotate(-k)
    return x


x = client.encrypt(np.linspace(-1, 1, params.slots))
traced = hc.trace_program(params, smooth, x)  # no keys, no data, no memory
budget = traced.peak_bytes // 3
print(f"the program touches {traced.peak_bytes >> 20} MiB, the engine gets {budget >> 20}")

engine = hc.Engine(params, memory=budget, policy="planned")
for request in traced.key_plan.requests():  # one key at a time: they are never all in memory
    engine.add_keys(client.evaluation_keys(plan=hc.KeyPlan(params, [request])))

y = engine.run(smooth, x)
ran = engine.last_run
print(f"followed its plan: {ran.followed_plan}; at most {ran.peak_fast_bytes >> 20} MiB in memory")
waited = f"waited {1e3 * ran.stall_seconds:.0f} of {1e3 * ran.seconds:.0f} ms"
print(f"loaded {ran.bytes_moved['loaded'] >> 20} MiB, {waited}")
assert ran.followed_plan and ran.peak_fast_bytes <= budget

expected = np.linspace(-1, 1, params.slots)
for k in STEPS[:5]:
    expected = (expected + np.roll(expected, -k)) * 0.5
for k in STEPS:
    expected = expected - np.roll(expected, k)
error = np.abs(client.decrypt(y) - expected).max()
print(f"largest error 2^{np.log2(error):.1f}")
assert error < 2**-15
