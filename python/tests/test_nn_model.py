# SPDX-License-Identifier: Apache-2.0
"""Layers and models in the clear, against loops and closed formulas."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.workloads.digits import model as digits_model


def loop_convolution(x, layer):
    """One image, as the definition says."""
    outputs, down, across = layer.output_shape([x.shape])
    out = np.zeros((outputs, down, across))
    for o, y, c in np.ndindex(out.shape):
        out[o, y, c] = layer.bias[o]
        for i, dy, dx in np.ndindex(layer.weight.shape[1:]):
            at_y, at_x = layer.stride * y + dy - layer.padding, layer.stride * c + dx - layer.padding
            if 0 <= at_y < x.shape[1] and 0 <= at_x < x.shape[2]:
                out[o, y, c] += layer.weight[o, i, dy, dx] * x[i, at_y, at_x]
    return out


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(3, 1, None), (3, 2, None), (1, 1, 0), (5, 3, 4), (3, 2, 0)]
)
def test_convolution(rng, monkeypatch, kernel, stride, padding):
    monkeypatch.setattr("halocline.nn.layers.CHUNK_VALUES", 2000)  # several chunks, the last one smaller
    weight, bias = rng.normal(size=(4, 3, kernel, kernel)), rng.normal(size=4)
    layer = nn.Conv2d(weight, bias, stride=stride, padding=padding)
    batch = rng.normal(size=(5, 3, 7, 6))
    got = layer.forward(batch)
    assert got.shape == (5, *layer.output_shape([(3, 7, 6)]))
    for image, result in zip(batch, got, strict=True):
        assert np.allclose(result, loop_convolution(image, layer))


def test_other_layers(rng):
    batch = rng.normal(size=(2, 3, 4, 6))
    assert np.allclose(nn.AvgPool().forward(batch), batch.mean(axis=(2, 3), keepdims=True))
    pooled = batch.reshape(2, 3, 2, 2, 3, 2).mean(axis=(3, 5))
    assert np.allclose(nn.AvgPool(2).forward(batch), pooled)
    assert nn.AvgPool(3, 2).output_shape([(3, 4, 6)]) == (3, 1, 2)
    assert np.allclose(nn.AvgPool(3, 2).forward(batch)[:, :, 0, 1], batch[:, :, :3, 2:5].mean(axis=(2, 3)))
    short = nn.Shortcut(2, 6).forward(batch)
    assert short.shape == (2, 6, 2, 3)
    assert np.array_equal(short[:, 1:4], batch[:, :, ::2, ::2])
    assert not short[:, [0, 4, 5]].any()
    flat = nn.Flatten().forward(batch)
    assert flat[1, 1 * 24 + 2 * 6 + 3] == batch[1, 1, 2, 3]
    weight, bias = rng.normal(size=(5, 72)), rng.normal(size=5)
    assert np.allclose(nn.Linear(weight, bias).forward(flat), np.einsum("oi,ni->no", weight, flat) + bias)
    assert np.allclose(nn.Linear(weight).forward(flat), flat @ weight.T)
    assert np.array_equal(nn.ReLU().forward(batch), batch * (batch > 0))
    assert np.allclose(nn.Polynomial(hc.Polynomial([1, 0, 2])).forward(batch), 1 + 2 * batch**2)


def test_batch_norm_is_folded(rng):
    weight, bias = rng.normal(size=(4, 2, 3, 3)), rng.normal(size=4)
    gamma, beta, mean, variance = rng.normal(size=(4, 4)) ** 2
    batch = rng.normal(size=(3, 2, 5, 5))
    before = nn.Conv2d(weight, bias).forward(batch)
    column = (-1, 1, 1)
    expected = (before - mean.reshape(column)) / np.sqrt(variance + 1e-3).reshape(column)
    expected = expected * gamma.reshape(column) + beta.reshape(column)
    folded = nn.fold_batch_norm(weight, bias, gamma, beta, mean, variance, 1e-3)
    assert np.allclose(nn.Conv2d(*folded).forward(batch), expected)
    matrix = nn.fold_batch_norm(np.eye(4), None, gamma, beta, mean, variance)
    assert np.allclose(nn.Linear(*matrix).forward(mean[np.newaxis]), beta)
    with pytest.raises(hc.InvalidArgument, match="running_var"):
        nn.fold_batch_norm(weight, bias, gamma, beta, mean, -variance)
    with pytest.raises(hc.InvalidArgument, match="running_mean"):
        nn.fold_batch_norm(weight, bias, gamma, beta, mean[:3], variance)


def residual(rng, **options):
    """A small network with every way of joining layers."""
    return nn.Model(
        (2, 6, 6),
        (
            nn.Node("stem", nn.Conv2d(rng.normal(size=(3, 2, 3, 3))), ("input",)),
            nn.Node("relu", nn.ReLU(), ("stem",)),
            nn.Node("conv", nn.Conv2d(rng.normal(size=(6, 3, 3, 3)), stride=2), ("relu",)),
            nn.Node("shortcut", nn.Shortcut(2, 6), ("relu",)),
            nn.Node("add", nn.Add(), ("conv", "shortcut")),
            nn.Node("square", nn.Polynomial(hc.Polynomial([0, 0, 1])), ("add",)),
            nn.Node("pool", nn.AvgPool(), ("square",)),
            nn.Node("flatten", nn.Flatten(), ("pool",)),
            nn.Node("out", nn.Linear(rng.normal(size=(4, 6))), ("flatten",)),
        ),
        **options,
    )


def test_model(rng):
    model = residual(rng)
    assert model.output == "out"
    assert model.output_shape == (4,)
    assert model.shapes["add"] == (6, 3, 3)
    assert [node.name for node in model.activation_nodes] == ["relu", "square"]
    batch = rng.normal(size=(3, 2, 6, 6))
    values = model.activations(batch)
    assert np.array_equal(values["input"], batch)
    layers = {node.name: node.layer for node in model.nodes}
    relu = np.maximum(layers["stem"].forward(batch), 0)
    total = layers["conv"].forward(relu) + layers["shortcut"].forward(relu)
    assert np.allclose(values["add"], total)
    expected = (total**2).mean(axis=(2, 3)) @ layers["out"].weight.T
    assert np.allclose(model.forward(batch), expected)
    assert np.allclose(model.forward(batch[:1]), expected[:1])
    assert model.forward(batch[:0]).shape == (0, 4)
    seen = []
    changed = model.forward(batch, approximate={"relu": lambda x: seen.append(x) or np.maximum(x, 0.1)})
    assert np.array_equal(seen[0], values["stem"])
    assert not np.allclose(changed, expected)
    with pytest.raises(AttributeError):
        model.output = "add"
    with pytest.raises(TypeError):
        model.shapes["add"] = (1,)
    with pytest.raises(ValueError, match="read-only"):
        layers["out"].weight[0, 0] = 1


def test_the_digits_network_is_such_a_model():
    shipped = digits_model.default_model()
    square = nn.Polynomial(hc.Polynomial([0, 0, 1]))
    layers = (
        nn.Conv2d(shipped.conv_weight[:, np.newaxis], shipped.conv_bias),
        square,
        nn.Flatten(),
        nn.Linear(shipped.hidden_weight, shipped.hidden_bias),
        square,
        nn.Linear(shipped.output_weight, shipped.output_bias),
    )
    names = ("input", "conv", "square1", "flatten", "hidden", "square2", "output")
    nodes = [
        nn.Node(name, layer, (before,)) for before, name, layer in zip(names, names[1:], layers, strict=False)
    ]
    model = nn.Model((1, 8, 8), tuple(nodes))
    images = np.random.default_rng(1).random((5, 8, 8))
    assert np.allclose(model.forward(images[:, np.newaxis]), digits_model.forward_plain(images, shipped))


def test_normalisation(rng):
    model = residual(rng, metadata={"normalize_mean": "0.5, 1", "normalize_std": "2,0.25"})
    images = rng.random((3, 2, 6, 6))
    expected = np.stack([(images[:, 0] - 0.5) / 2, (images[:, 1] - 1) / 0.25], axis=1)
    assert np.allclose(model.prepare(images), expected)
    assert np.array_equal(residual(rng).prepare(images), images)
    for metadata in (
        {"normalize_mean": "0,0"},
        {"normalize_mean": "0,0", "normalize_std": "1"},
        {"normalize_mean": "0,0", "normalize_std": "1,0"},
        {"normalize_mean": "0,nan", "normalize_std": "1,1"},
        {"normalize_mean": "a,b", "normalize_std": "1,1"},
    ):
        with pytest.raises(hc.InvalidArgument, match="normalize_"):
            residual(rng, metadata=metadata)
    with pytest.raises(hc.WrongType, match="metadata"):
        residual(rng, metadata={"epochs": 3})


def test_bad_layers():
    for make, match in (
        (lambda: nn.Conv2d(np.ones((1, 1, 2, 2))), "padding= as a number"),
        (lambda: nn.Conv2d(np.ones((3, 1, 3, 3)), groups=2), "groups"),
        (lambda: nn.Conv2d(np.ones((1, 1, 3, 3)), stride=(1, 2, 3)), "two for rows"),
        (lambda: nn.Conv2d(np.ones((1, 1, 1, 3))), "padding"),
        (lambda: nn.Conv2d(np.ones((1, 1, 3))), "4 dimensions"),
        (lambda: nn.Conv2d(np.full((1, 1, 3, 3), np.nan)), "finite"),
        (lambda: nn.Conv2d(np.ones((1, 1, 3, 3)), [1.0, 2.0]), "bias"),
        (lambda: nn.Conv2d(np.ones((1, 1, 3, 3)), stride=0), "stride"),
        (lambda: nn.Conv2d(np.ones((1, 1, 3, 3)), padding=3), "padding"),
        (lambda: nn.Conv2d(np.ones((1, 1, 3, 3)) * 1j), "real"),
        (lambda: nn.Linear([["a"]]), "real"),
        (lambda: nn.Linear([[1.0], [1.0, 2.0]]), "array"),
        (lambda: nn.Linear(np.ones((0, 3))), "empty"),
        (lambda: nn.AvgPool(0), "kernel"),
        (lambda: nn.AvgPool(None, 2), "stride"),
        (lambda: nn.Shortcut(2, 0), "channels"),
        (lambda: nn.ReLU(alpha=40), "alpha"),
        (lambda: nn.Polynomial([0, 1]), "Polynomial"),
        (lambda: nn.Polynomial(hc.Polynomial([0, 1j])), "real"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            make()


def test_bad_models(rng):
    conv = nn.Conv2d(np.ones((2, 1, 3, 3)))
    first = nn.Node("conv", conv, ("input",))
    for shape, nodes, output, match in (
        ((1, 4), (first,), "", "input shape"),
        ((1, 0, 4), (first,), "", "input shape"),
        ((1, 1 << 13, 1 << 13), (first,), "", "values"),
        ("abc", (first,), "", "input shape"),
        ((1, 4, 4), (), "", "0 layers"),
        ((1, 4, 4), (first,), "relu", "'relu' is no layer"),
        ((1, 4, 4), (first, first), "", "two layers"),
        ((2, 4, 4), (first,), "", "layer 'conv': Conv2d: input of 2 channels"),
        ((4,), (first,), "", r"layer 'conv': Conv2d: input of shape \(4,\)"),
        (
            (1, 4, 4),
            (nn.Node("a", nn.ReLU(), ("b",)), nn.Node("b", nn.ReLU(), ("a",))),
            "",
            "no layer before",
        ),
        ((1, 4, 4), (first, nn.Node("r", nn.ReLU(), ("input",))), "", "'conv' does not lead"),
        ((1, 4, 4), (first, nn.Node("s", nn.Add(), ("conv", "input"))), "", "'s': Add: .*equal shapes"),
        ((1, 4, 4), (nn.Node("f", nn.Linear(np.ones((1, 16))), ("input",)),), "", "'f': Linear.*Flatten"),
        ((15,), (nn.Node("f", nn.Linear(np.ones((1, 16))), ("input",)),), "", "'f': Linear: 15 inputs"),
        ((1, 4, 4), (nn.Node("p", nn.AvgPool(5), ("input",)),), "", "'p': AvgPool: a window of 5"),
        (
            (1, 4096, 4096),
            (nn.Node("c", nn.Conv2d(np.ones((1, 1, 5, 5))), ("input",)),),
            "",
            "'c': .*windows",
        ),
        ((4, 4, 4), (nn.Node("s", nn.Shortcut(1, 3), ("input",)),), "", "'s': Shortcut"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            nn.Model(shape, nodes, output)
    for name, layer, inputs, match in (
        ("input", conv, ("input",), "name"),
        ("", conv, ("input",), "name"),
        ("a\n", conv, ("input",), "name"),
        ("a", "conv", ("input",), "supported are Conv2d"),
        ("a", conv, ("input", "input"), "expected 1"),
        ("a", nn.Add(), ("input",), "expected 2"),
        ("a", conv, (3,), "names of layers"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            nn.Node(name, layer, inputs)


def test_layers_of_many_others_are_counted_before_all_are_made(monkeypatch):
    """A description of some KiB would take gigabytes: each of these is 33 layers with 87890 numbers."""
    layer = nn.MaxPool((16, 16), (1, 1), (8, 7, 8, 7))
    names = [f"pool{i}" for i in range(400)]
    nodes = [nn.Node(name, layer, (before,)) for name, before in zip(names, ["input", *names], strict=False)]
    model = nn.Model((1, 16, 16), tuple(nodes))
    made = []
    parts = nn.MaxPool.parts
    monkeypatch.setattr(nn.MaxPool, "parts", lambda *given: made.append(1) or parts(*given))
    with pytest.raises(hc.InvalidArgument, match="expected at most 4096 with"):
        _ = model.expanded
    assert len(made) < 130
    made.clear()
    monkeypatch.setattr("halocline.base.limits.WEIGHT_COUNT", 100000)
    with pytest.raises(hc.InvalidArgument, match="with 100000; take fewer"):
        _ = model.expanded
    assert len(made) == 2


def test_bad_inputs(rng):
    model = residual(rng)
    for batch, match in (
        (np.ones((2, 6, 6)), "newaxis"),
        (np.ones((1, 3, 6, 6)), r"expected \(batch, 2, 6, 6\)$"),
        (np.ones((1, 6, 6, 2)), r"channels come first: x.transpose\(0, 3, 1, 2\)"),
        (np.ones((6, 6, 2)), r"channels come first: x.transpose\(2, 0, 1\)"),
        (np.full((1, 2, 6, 6), np.inf), "finite"),
        (np.ones((1, 2, 6, 6)) * 1j, "real"),
        ([[1], [1, 2]], "array"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            model.forward(batch)
    with pytest.raises(hc.InvalidArgument, match="'add'"):
        model.forward(np.ones((1, 2, 6, 6)), approximate={"add": np.tanh})
    with pytest.raises(hc.InvalidArgument, match="no layer 'nothing'"):
        model.node("nothing")
