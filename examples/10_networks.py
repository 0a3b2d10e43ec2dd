# SPDX-License-Identifier: Apache-2.0
"""A network of your own on encrypted images: described, calibrated, compiled, forecast, and run."""

import halocline as hc
import halocline.nn as nn
import numpy as np
from sklearn.datasets import load_digits

pixels, labels = load_digits(return_X_y=True)
images = pixels.reshape(-1, 1, 8, 8) / 16.0
train, test = slice(0, 1400), slice(1400, None)

# A residual block on random filters. A polynomial where others have ReLU saves levels: no bootstrap.
rng = np.random.default_rng(0)
bend = nn.Polynomial(hc.Polynomial([0, 0.5, 0.5]))  # 0.5 x + 0.5 x^2
body = (
    nn.Node("conv1", nn.Conv2d(rng.normal(size=(8, 1, 3, 3)) / 3, stride=2), ("input",)),
    nn.Node("bend1", bend, ("conv1",)),
    nn.Node("conv2", nn.Conv2d(rng.normal(size=(8, 8, 3, 3)) / 12), ("bend1",)),
    nn.Node("add", nn.Add(), ("conv2", "bend1")),
    nn.Node("bend2", bend, ("add",)),
    nn.Node("flatten", nn.Flatten(), ("bend2",)),
)

# Only the last layer is trained, by least squares, in the clear.
features = nn.Model((1, 8, 8), body).forward(images)
matrix = np.hstack([features, np.ones((len(features), 1))])
wanted = np.eye(10)[labels]
solved = np.linalg.solve(
    matrix[train].T @ matrix[train] + 0.1 * np.eye(matrix.shape[1]), matrix[train].T @ wanted[train]
)
model = nn.Model((1, 8, 8), (*body, nn.Node("out", nn.Linear(solved[:-1].T, solved[-1]), ("flatten",))))
found = model.forward(images[test]).argmax(axis=1)
print(f"in the clear: {100 * (found == labels[test]).mean():.1f} % of {len(found)} held-out digits")

# What activations get lies in these ranges; the client is warned of an input that leaves them.
ranges = nn.calibrate(model, images[train], margin=1.5)
compiled = nn.compile(model, hc.Params.preset("n14-d7"), ranges)
print(compiled)

# From a ghost run: nothing was allocated yet.
forecast = compiled.report().to_dict()
counts = forecast["operations"]
print(f"{counts['key_switches']} key switches with {forecast['distinct_keys']} keys")
print({name: f"{count / 2**20:.1f} MiB" for name, count in forecast["footprint"].items()})

client = hc.Client(compiled.params)
engine = hc.Engine(compiled.params, client.evaluation_keys(plan=compiled.key_plan))
exact = model.forward(images)
for which in range(1400, 1404):
    ct = compiled.encrypt(client, images[which])  # the client
    result = compiled.run(engine, ct)  # the server
    logits = compiled.decrypt(client, result)  # the client
    error = abs(logits - exact[which]).max()
    seconds = compiled.last_run.seconds
    print(f"a {labels[which]}: found {logits.argmax()} in {seconds:.2f} s, error {error:.1e}")
    assert logits.argmax() == exact[which].argmax() and error < 1e-3
assert engine.stats()["peak_bytes"] <= forecast["footprint_bytes"]

# ReLU takes 14 levels, so each one comes with a bootstrap; n16-boot is the secure set for this.
steps = [nn.Node(n.name, nn.ReLU() if n.layer is bend else n.layer, n.inputs) for n in model.nodes]
relu = nn.Model((1, 8, 8), steps)
params = hc.Params.preset("test-n12-boot", allow_insecure=True)  # insecure: a second instead of a minute
deep = nn.compile(relu, params, nn.calibrate(relu, images[train]))
print(deep)
client = hc.Client(params)
engine = hc.Engine(params, client.evaluation_keys(plan=deep.key_plan))
logits = deep.decrypt(client, deep.run(engine, deep.encrypt(client, images[1400])))
exact = relu.forward(images[1400:1401])[0]
error = abs(logits - exact).max()
polynomials = abs(deep.simulate(images[1400:1401])[0] - exact).max()
print(f"with ReLU: error {error:.1e}, {polynomials:.1e} by the polynomials alone")
assert error < 1e-2
