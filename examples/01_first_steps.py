# SPDX-License-Identifier: Apache-2.0
"""Encrypt, compute, decrypt: the whole round trip in a dozen lines."""

import halocline as hc
import numpy as np

params = hc.Params.preset("n14-d7")  # checked: at least 128 bits of security
print(params)

client = hc.Client(params)  # owns the secret key
keys = client.evaluation_keys(rotations=[1])  # holds no secret: send it to the server
engine = hc.Engine(params, keys)  # evaluates, never sees a secret
print(keys)
print(engine)

values = np.linspace(-1, 1, params.slots)
x = client.encrypt(values)
print("encrypted:", x)

y = engine.run(lambda x: (x * x + 0.5).rotate(1), x)
print("result:   ", y)

result = client.decrypt(y)
expected = np.roll(values * values + 0.5, -1)  # a positive rotation goes to the left
error = np.abs(result - expected).max()
print("first values:", result[:4], " largest error:", f"{error:.1e}")
assert error < 2.0**-18

# Without the key for a rotation the engine says which one it needs.
try:
    x.to(engine).rotate(5)
except hc.MissingKey as missing:
    print("as expected:", missing)
