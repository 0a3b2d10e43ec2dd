# SPDX-License-Identifier: Apache-2.0
"""Networks made ready for encryption: what is replaced, and what that costs."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest


def network(seed=0):
    """A convolutional network of random weights with every layer that can be replaced."""
    rng = np.random.default_rng(seed)
    return nn.Model(
        (1, 6, 6),
        (
            nn.Node("conv", nn.Conv2d(rng.normal(size=(4, 1, 3, 3)) / 3), ("input",)),
            nn.Node("relu", nn.ReLU(), ("conv",)),
            nn.Node("gate", nn.Affine(0.01), ("relu",)),
            nn.Node("product", nn.Multiply(), ("relu", "gate")),
            nn.Node("sum", nn.Add(), ("product", "relu")),
            nn.Node("pool", nn.MaxPool(2), ("sum",)),
            nn.Node("flatten", nn.Flatten(), ("pool",)),
            nn.Node("dense", nn.Linear(rng.normal(size=(8, 36)) / 6), ("flatten",)),
            nn.Node("tanh", nn.Tanh(), ("dense",)),
            nn.Node("out", nn.Linear(rng.normal(size=(3, 8))), ("tanh",)),
        ),
    )


DATA = np.random.default_rng(1).normal(size=(60, 1, 6, 6))


def test_what_is_kept_costs_what_approximations_do():
    model = network()
    labels = model.forward(DATA).argmax(axis=1)
    made = nn.prepare(model, DATA, labels)
    assert made.changes == () and made.accuracy == (1.0, made.agreement)
    assert 0 < made.error < 0.02 and made.agreement > 0.95  # ReLUs of 13 bits, a tanh of 12, sums of 36
    assert np.allclose(made.model.forward(DATA), model.forward(DATA))
    assert made.model.node("product").layer.balance == pytest.approx(100)
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    compiled = nn.compile(made.model, params, made.ranges)
    assert np.abs(compiled.simulate(DATA) - model.forward(DATA)).max() == pytest.approx(made.error)


def test_polynomials_and_means_are_fitted_in_order():
    model = network()
    made = nn.prepare(model, DATA, activations="polynomial", degree=15, pooling="average", margin=1.2)
    kinds = {node.name: type(node.layer).__name__ for node in made.model.nodes}
    assert kinds["relu"] == kinds["tanh"] == "Polynomial"
    assert (kinds["pool.mean"], kinds["pool"]) == ("Resample", "Affine")
    assert [each.split(":")[0] for each in made.changes] == ["relu", "pool", "tanh"]
    assert made.accuracy is None and "classes agree on" in str(made)
    found = made.model.forward(DATA)
    assert np.abs(found - model.forward(DATA)).max() == pytest.approx(made.error, rel=1e-6)
    # Better than means as they are: the fit has the scale of maxima.
    plain = nn.prepare(model, DATA, pooling="average")
    nodes = [nn.Node(n.name, nn.AvgPool(2), n.inputs) if n.name == "pool" else n for n in model.nodes]
    means = nn.Model(model.input_shape, tuple(nodes)).forward(DATA)
    assert np.mean((plain.model.forward(DATA) - model.forward(DATA)) ** 2) < np.mean(
        (means - model.forward(DATA)) ** 2
    )


def test_more_degree_costs_less_accuracy():
    errors = [nn.prepare(network(), DATA, activations="polynomial", degree=n).error for n in (3, 15)]
    assert errors[1] < errors[0] / 2


def test_bad_arguments():
    for options, match in (
        ({"activations": "square"}, "activations 'square'"),
        ({"pooling": "none"}, "pooling"),
        ({"degree": 1}, "degree"),
        ({"labels": np.zeros(3)}, "labels of shape"),
        ({"margin": 0}, "margin"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            nn.prepare(network(), DATA, **options)
    with pytest.raises(hc.WrongType, match="torch module"):
        nn.prepare(network(), DATA, fine_tune=nn.FineTune())
    with pytest.raises(hc.WrongType, match="got str"):
        nn.prepare("model", DATA)
    with pytest.raises(hc.WrongType, match="got bool, expected FineTune; such as"):
        nn.prepare(network(), DATA, fine_tune=True)
    with pytest.raises(hc.WrongType, match="data: got object, expected an array"):
        nn.prepare(network(), object())
    with pytest.raises(hc.InvalidArgument, match="epochs"):
        nn.FineTune(epochs=0)


@pytest.mark.filterwarnings("error::halocline.ActivationRange")
def test_fine_tuning_regains_accuracy():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 1, 6, 6))
    y = (np.abs(x).mean(axis=(1, 2, 3)) > np.abs(x).mean()).astype(np.int64)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 6, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(54, 2),
    )  # fmt: skip
    options = {"activations": "polynomial", "degree": 2, "pooling": "average"}
    untouched = [each.clone() for each in module.parameters()]
    plain = nn.prepare(module, x, y, **options)
    # No polynomial gets more than it was written for: no warning.
    tuned = nn.prepare(module, x, y, **options, fine_tune=nn.FineTune(epochs=15, learning_rate=0.01))
    assert tuned.accuracy[1] > plain.accuracy[1] + 0.15
    assert tuned.changes[-1] == "trained for 15 epochs on 300 inputs"
    assert {type(each.layer).__name__ for each in tuned.model.nodes} >= {"Polynomial", "AvgPool"}
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), untouched, strict=True))
