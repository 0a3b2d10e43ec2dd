# SPDX-License-Identifier: Apache-2.0
"""Plain matrices and convolutions on encrypted vectors and images."""

import halocline as hc
import numpy as np

rng = np.random.default_rng(5)
params = hc.Params.preset("n14-d7")
client = hc.Client(params)


def run(program, *inputs):
    """Runs a program with exactly the keys that it needs."""
    engine = hc.Engine(params, client.evaluation_keys(plan=hc.key_plan(params, program, *inputs)))
    return engine.run(program, *inputs)


# A matrix times a vector. `matrix @ ct` encodes the matrix at each call; LinearTransform keeps it encoded.
matrix, v = rng.uniform(-1, 1, (64, 64)), rng.uniform(-1, 1, 64)
x = client.encrypt(v)
product = client.decrypt(run(lambda x: matrix @ x, x))
assert np.abs(product - matrix @ v).max() < 2.0**-16

# The same map with different numbers of keys: time against memory.
print("mode            keys  key switches")
for mode in ("naive", "bsgs", "double_hoisted", "small_key"):
    transform = hc.LinearTransform(matrix, mode=mode)
    engine = hc.Engine(params, client.evaluation_keys(plan=hc.key_plan(params, transform, x)))
    assert np.abs(client.decrypt(engine.run(transform, x)) - matrix @ v).max() < 2.0**-16
    cost = transform.cost(engine)
    print(f"{mode:14s}  {cost['keys']:4d}  {cost['key_switches']:12d}")

# A two-layer network on 128 vectors at once: block b of 64 slots holds vector b.
first, second = rng.uniform(-0.2, 0.2, (32, 64)), rng.uniform(-0.2, 0.2, (10, 32))
hidden = hc.BlockMatmul([[first]], 64, params.slots, mode="small_key", compact=True)
output = hc.BlockMatmul([[second]], 64, params.slots, fold=False, mode="small_key", compact=True)


def network(x):
    z = hidden([x])[0]
    return output([z * z])[0]


batch = rng.uniform(-1, 1, (params.slots // 64, 64))
result = client.decrypt(run(network, client.encrypt(batch.ravel()))).reshape(-1, 64)[:, :10]
expected = (batch @ first.T) ** 2 @ second.T
print(f"network on {len(batch)} vectors: largest error {np.abs(result - expected).max():.1e}")
assert np.abs(result - expected).max() < 2.0**-14

# A convolution: 32 images of 16 x 16 pixels in one ciphertext, one channel in, two out.
layout = hc.ImageLayout(16, 16, 256)
images, kernels = rng.uniform(0, 1, (32, 16, 16)), rng.uniform(-1, 1, (2, 1, 3, 3))
convolution = hc.Convolution2d(kernels, layout, params.slots, bias=[0.1, -0.1])
channels = run(convolution, [client.encrypt(layout.pack(images, params.slots))])
padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
for channel, kernel, bias in zip(channels, kernels[:, 0], (0.1, -0.1), strict=True):
    got = convolution.output_layout.unpack(client.decrypt(channel), len(images))
    assert np.abs(got - (np.einsum("nyxab,ab->nyx", windows, kernel) + bias)).max() < 2.0**-16
print("convolution of", len(images), "images: as in numpy")
