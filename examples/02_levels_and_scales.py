# SPDX-License-Identifier: Apache-2.0
"""Levels: each product takes one. Scales look after themselves, unless you ask for manual mode."""

import halocline as hc
import numpy as np

params = hc.Params.preset("n14-d7")
client = hc.Client(params)
engine = hc.Engine(params, client.evaluation_keys())
values = np.cos(np.arange(params.slots))
x = client.encrypt(values).to(engine)

print("level  log2 scale  bits of precision")
power, expected = x, values
while power.level > 0:
    power, expected = power * x, expected * values  # operands meet at the lower level
    bits = -np.log2(np.abs(client.decrypt(power) - expected).mean())
    print(f"{power.level:5d}  {np.log2(power.scale):10.3f}  {bits:.1f}")
    assert bits > 20

try:
    power * x
except hc.LevelExhausted as exhausted:
    print("as expected:", exhausted)

# x**n takes ceil(log2(n)) levels, a chain of products takes n - 1.
assert (x**8).level == x.level - 3

# Sums of different levels are exact: the higher operand is brought to the level and scale of the other.
mixed = x + power
assert mixed.level == power.level

# Manual mode: a product is only a product. Three components, twice the scale, until you act.
with engine.manual():
    product = x * x
    print(f"manual:     {product.components} components, scale 2^{np.log2(product.scale):.1f}")
    product = product.relinearize().rescale()
    print(f"afterwards: {product.components} components, scale 2^{np.log2(product.scale):.1f}")
assert np.abs(client.decrypt(product) - values**2).max() < 2.0**-18

# Fewer levels left means fewer bytes: encrypt at the level that the program needs.
low = client.encrypt(values, level=2)
print(f"bytes at level {x.level}: {x.nbytes}, at level {low.level}: {low.nbytes}")
