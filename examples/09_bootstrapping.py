# SPDX-License-Identifier: Apache-2.0
"""More multiplications than there are levels: bootstrapping gives levels back."""

import halocline as hc
import numpy as np

# Small and insecure, so that it takes a second; the real one is n16-boot.
params = hc.Params.preset("test-n11-boot", allow_insecure=True)
boots = hc.Bootstrapper(params, slots=64, real=True)
facts = boots.describe()
print(f"{params.max_level} levels; a bootstrap takes level {boots.input_level} to {boots.output_level}")
print(f"forecast: {facts['worst_bits']:.1f} bits; fails: 2^{facts['log2_failure_probability']:.0f}")

client = hc.Client(params)
engine = hc.Engine(params, client.evaluation_keys(plan=boots.key_plan))
print(f"{len(boots.key_plan)} keys, {boots.key_plan.nbytes() >> 20} MiB")


def logistic(x):
    """x -> 3.5 x (1 - x), ten times: twenty levels."""
    for _ in range(10):
        if x.level < 2:
            x = boots(x)
        x = (x * 3.5) * (1 - x)
    return x


start = np.linspace(0.1, 0.9, 64)
boots.check_message(start)  # what is encrypted cannot be checked any more
y = engine.run(logistic, client.encrypt(start))

expected = start
for _ in range(10):
    expected = 3.5 * expected * (1 - expected)
error = abs(client.decrypt(y) - expected).max()
print(f"level {y.level}, largest error {error:.2e}")
assert error < 1e-3  # the map is chaotic: it makes errors larger at each step

# Several in one call share each step; small keys need a few keys for any number of diagonals.
many = engine.run(boots, [client.encrypt(start / k, level=0) for k in (1, 2, 3)])
assert all(each.level == boots.output_level for each in many)
walking = hc.Bootstrapper(params, slots=1024, cts_mode="small_key", stc_mode="small_key")
print(f"full slots: {len(hc.Bootstrapper(params).key_plan)} keys, walking {len(walking.key_plan)}")
