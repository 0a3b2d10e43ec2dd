# SPDX-License-Identifier: Apache-2.0
"""Functions of encrypted numbers: polynomials, Chebyshev approximations, comparisons."""

import halocline as hc
import numpy as np

params = hc.Params.preset("n15-d14")
client = hc.Client(params)
engine = hc.Engine(params, client.evaluation_keys(level=params.max_level))
values = np.linspace(-1, 1, params.slots)
x = client.encrypt(values).to(engine)


def show(name, ct, expected, tolerance, where=None):
    """Prints the largest error and the levels that a function took."""
    error = np.abs(client.decrypt(ct) - expected)
    worst = error.max() if where is None else error[where].max()
    print(f"{name:34s} {x.level - ct.level:2d} levels, largest error {worst:.1e}")
    assert worst < tolerance


# Coefficients from the constant up. A polynomial of degree 2^k - 1 takes k levels.
show("1 - x + 2 x^3", engine.polynomial(x, [1, -1, 0, 2]), 1 - values + 2 * values**3, 2.0**-20)

# Any smooth function, by its Chebyshev interpolation on an interval.
sigmoid = hc.Polynomial.fit(lambda t: 1 / (1 + np.exp(-4 * t)), domain=(-1, 1), degree=31)
print(f"fit of the sigmoid: {sigmoid}, error {sigmoid.max_error:.1e}")
show("sigmoid(4 x)", engine.polynomial(x, sigmoid), 1 / (1 + np.exp(-4 * values)), 1e-5)
show("exp(x)", engine.chebyshev(x, np.exp, (-1, 1), degree=15), np.exp(values), 1e-6)

# Sign, comparison and ReLU, by composite minimax polynomials: alpha bits outside an interval around zero.
alpha = 8
clear = np.abs(values) > hc.sign_epsilon(alpha)
show("sign(x)", engine.sign(x, alpha=alpha), np.sign(values), 2.0**-alpha * 1.1, clear)
show("relu(x)", engine.relu(x, alpha=alpha), np.maximum(values, 0), 2.0**-alpha * 1.1)

other = np.roll(values, params.slots // 3)
y = client.encrypt(other).to(engine)
largest = engine.maximum(x, y, alpha=alpha, bound=2)  # |x - y| is at most 2
show("maximum(x, y)", largest, np.maximum(values, other), 2.0**-alpha * 2.2)

# Values beyond the bound would give results without meaning: the library cannot look at them.
try:
    engine.sign(x.drop_level(3), alpha=alpha)
except hc.LevelExhausted as exhausted:
    print("as expected:", exhausted)
