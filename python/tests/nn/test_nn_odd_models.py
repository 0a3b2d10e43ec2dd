# SPDX-License-Identifier: Apache-2.0
"""Small networks of unusual shapes, encrypted against clear; what cannot be encrypted is named."""

import warnings

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn import INPUT, Add, AvgPool, Conv2d, Flatten, Linear, Model, Node, ReLU, Shortcut

RNG = np.random.default_rng(0)
BEND = nn.Polynomial(hc.Polynomial([0.1, 0.5, 0.25]))
TANH = nn.Polynomial(hc.Polynomial.fit(np.tanh, (-4, 4), 7))
NOISE = 2.0**-16


def conv(outputs, inputs, rows=3, columns=None, stride=1, padding=None):
    return Conv2d(weights(outputs, inputs, rows, columns or rows), None, stride, padding)


def dense(outputs, inputs):
    return Linear(weights(outputs, inputs), 0.3 * RNG.normal(size=outputs))


def weights(*shape):
    return RNG.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))


def chain(shape, *layers):
    names = [INPUT, *(f"n{k}" for k in range(len(layers)))]
    return Model(shape, tuple(Node(names[k + 1], each, (names[k],)) for k, each in enumerate(layers)))


def graph(shape, **layers):
    """Layers by name: the layer and the names of its inputs."""
    return Model(shape, tuple(Node(name, each, inputs) for name, (each, *inputs) in layers.items()))


def residual(*shape):
    """The beginning of a residual block of 2 channels, and its end."""
    start = {"first": (conv(2, 2), INPUT), "bend": (BEND, "first")}
    end = {
        "last": (BEND, "add"),
        "flat": (Flatten(), "last"),
        "out": (dense(3, 2 * shape[0] * shape[1]), "flat"),
    }
    return start, end


MODELS = {
    "7 x 5, stride 3, kernel 5": chain((2, 7, 5), conv(3, 2, 5, stride=3), BEND, Flatten(), dense(4, 18)),
    "28 x 28": chain(
        (1, 28, 28), conv(2, 1, 5, stride=2, padding=0), BEND, conv(4, 2, stride=2), BEND,
        AvgPool(2), Flatten(), dense(10, 36),
    ),
    "33 x 33, strides 2 and 3": chain(
        (1, 33, 33), conv(4, 1, stride=2), BEND, conv(8, 4, stride=3), BEND, AvgPool(), Flatten(), dense(5, 8)
    ),
    "windows that do not divide": chain(
        (1, 17, 13), conv(3, 1, 5, stride=3), BEND, AvgPool(2), BEND, Flatten(), dense(2, 18)
    ),
    "windows that overlap": chain(
        (1, 9, 9), conv(2, 1), BEND, AvgPool(3, 2), AvgPool(3, 1), Flatten(), dense(2, 8)
    ),
    "many strides in few rows": chain(
        (2, 2, 60), conv(2, 2, stride=3), BEND, conv(4, 2, stride=3), BEND, conv(4, 4, 1, 3, 3, 0), Flatten(),
        dense(2, 8),
    ),
    "rectangular kernel": chain((1, 9, 4), conv(2, 1, 3, 1, padding=0), BEND, Flatten(), dense(2, 56)),
    "kernel larger than the image": chain((1, 3, 3), conv(2, 1, 5, padding=4), BEND, Flatten(), dense(2, 98)),
    "kernels of one pixel": chain(
        (3, 5, 5), conv(5, 3, 1), BEND, conv(2, 5, 1, stride=2), BEND, Flatten(), dense(2, 18)
    ),
    "Flatten first": chain((3, 5, 4), Flatten(), dense(7, 60)),
    "activation first": chain((1, 6, 6), BEND, Flatten(), dense(3, 36)),
    "activation last": chain((1, 7, 7), conv(2, 1, stride=2), BEND),
    "activations in a row": chain((4,), BEND, BEND, dense(2, 4), TANH, BEND),
    "no activation": chain((1, 8, 8), conv(2, 1), AvgPool(2), Flatten(), dense(4, 32)),
    "nothing but Flatten": chain((1, 3, 3), Flatten()),
    "one feature": chain((1,), dense(1, 1), BEND, dense(1, 1)),
    "more features inside": chain((4,), dense(100, 4), BEND, dense(30, 100)),
    "large weights without activation": chain((16,), Linear(1e12 * weights(4, 16))),
    "large and small values in a sum": graph(
        (2, 6, 6),
        large=(Conv2d(1000 * weights(2, 2, 3, 3)), INPUT), p=(BEND, "large"),
        small=(Conv2d(0.001 * weights(2, 2, 3, 3)), INPUT), q=(TANH, "small"),
        add=(Add(), "p", "q"), flat=(Flatten(), "add"), out=(dense(3, 72), "flat"),
    ),
    "a sum with itself": graph((4,), a=(dense(3, 4), INPUT), p=(BEND, "a"), add=(Add(), "p", "p")),
    "the input in a sum": graph((4,), p=(BEND, INPUT), add=(Add(), "p", INPUT)),
    "a shortcut of odd sizes": graph(
        (3, 7, 7), a=(conv(5, 3, stride=2), INPUT), s=(Shortcut(2, 5), INPUT), add=(Add(), "a", "s"),
        p=(BEND, "add"), flat=(Flatten(), "p"), out=(dense(3, 80), "flat"),
    ),
    "a sum of other layouts": graph(
        (4, 8, 8), a=(conv(4, 4, stride=2), INPUT), p=(BEND, "a"),
        b=(conv(4, 4, 5, padding=0), INPUT), q=(BEND, "b"),
        add=(Add(), "p", "q"), r=(BEND, "add"), flat=(Flatten(), "r"), out=(dense(3, 64), "flat"),
    ),
}  # fmt: skip


def evaluate(model, params, samples, **options):
    """Result for the first sample, encrypted; and the compiled network."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", hc.ActivationRange)
        compiled = nn.compile(model, params, nn.calibrate(model, samples), **options)
        client = hc.Client(params, seed=bytes(32), threads=1)
        engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan), threads=1)
        result = compiled.run(engine, compiled.encrypt(client, samples[0]))
    assert compiled.last_run.peak_bytes <= sum(compiled.report().footprint.values())
    return compiled.decrypt(client, result), compiled


@pytest.mark.parametrize("name", MODELS)
def test_polynomial_networks(name):
    model = MODELS[name]
    samples = np.random.default_rng(1).uniform(-1, 1, (20, *model.input_shape))
    got, compiled = evaluate(model, hc.Params.preset("test-n12-d14", allow_insecure=True), samples)
    exact = model.forward(samples[:1])[0]
    assert got.shape == model.output_shape
    assert np.abs(got - exact).max() < NOISE * max(1, np.abs(exact).max())
    assert compiled.program.schedule.bootstraps == 0


BOOTSTRAPPED = {
    "ReLU first and last": (chain((1, 6, 6), ReLU(), conv(2, 1), ReLU()), 1),
    "two features": (chain((2,), dense(2, 2), ReLU(), dense(2, 2), ReLU(), dense(1, 2)), 1),
    "as many values as slots": (chain((2, 32, 32), conv(2, 2), ReLU(), conv(2, 2), ReLU(), AvgPool()), 1),
    "the input in a sum": (graph((4,), p=(ReLU(), INPUT), add=(Add(), "p", INPUT), q=(ReLU(), "add")), 2),
    "deep polynomials": (chain((8,), *[each for _ in range(8) for each in (dense(8, 8), TANH)]), 2),
    "polynomials before ReLU": (chain((1, 8, 8), BEND, conv(2, 1), ReLU(), Flatten(), dense(2, 128)), 1),
}


@pytest.mark.parametrize("name", BOOTSTRAPPED)
def test_networks_with_bootstraps(name, boot_params):
    model, bootstraps = BOOTSTRAPPED[name]
    samples = np.random.default_rng(1).uniform(-1, 1, (20, *model.input_shape))
    got, compiled = evaluate(model, boot_params, samples)
    assert compiled.program.schedule.bootstraps == bootstraps
    scale = max(1, *compiled.ranges.values())
    assert np.abs(got - compiled.simulate(samples[:1])[0]).max() < 2.0**-13 * scale
    assert np.abs(got - model.forward(samples[:1])[0]).max() < 2.0**-9 * scale


# Weights that are 0


def test_a_branch_of_zeros_costs_nothing(deep_params):
    start, end = residual(6, 6)
    zeros = Conv2d(np.zeros((2, 2, 3, 3)), np.array([0.5, -0.25]))
    branch = {
        "c": (conv(2, 2), "bend"),
        "p": (BEND, "c"),
        "zero": (zeros, "p"),
        "add": (Add(), "zero", "bend"),
    }
    model = graph((2, 6, 6), **start, **branch, **end)
    samples = np.random.default_rng(1).uniform(-1, 1, (20, 2, 6, 6))
    got, compiled = evaluate(model, deep_params, samples)
    assert [each.name for each in compiled.program.placed] == ["bend", "last", "out"]
    assert np.abs(got - model.forward(samples[:1])[0]).max() < NOISE


@pytest.mark.parametrize(
    ("model", "layer"),
    [
        (chain((4,), Linear(np.zeros((3, 4)), np.ones(3)), BEND, dense(2, 3)), "n0"),
        (chain((4,), dense(3, 4), BEND, Linear(np.zeros((2, 3)))), "n2"),
        (
            chain((2, 6, 1), conv(3, 2, 3, 1, stride=2, padding=1), BEND),
            "n0",
        ),  # its windows are beside the image
    ],
)
def test_results_that_do_not_depend_on_the_input(model, layer, deep_params):
    ranges = nn.Ranges({node.name: 1.0 for node in model.activation_nodes})
    with pytest.raises(hc.InvalidArgument, match=f"layer '{layer}': does not depend on the input"):
        nn.compile(model, deep_params, ranges)


def test_layers_that_cancel_each_other(params):
    model = chain((2,), Linear([[1.0, 0.0], [0.0, 0.0]]), Linear([[0.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(hc.InvalidArgument, match=r"layer 'n1': has no effect.*it is 0"):
        nn.compile(model, params, nn.Ranges({})).report()


# Values that do not fit


def test_constant_polynomials_are_named(deep_params):
    model = chain((4,), dense(4, 4), nn.Polynomial(hc.Polynomial([0.5])), dense(2, 4))
    with pytest.raises(hc.InvalidArgument, match="layer 'n1': a polynomial of degree 0"):
        nn.compile(model, deep_params, nn.Ranges({"n1": 1.0}))


def test_polynomials_made_for_fewer_values_are_told(deep_params):
    model = chain((4,), dense(4, 4), TANH, dense(2, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", hc.ActivationRange)
        nn.compile(model, deep_params, nn.Ranges({"n1": 5.9}, 1.5))  # the margin may leave the interval
    with pytest.warns(hc.ActivationRange, match=r"layer 'n1': a polynomial on \[-4, 4\] gets values up to 6"):
        nn.compile(model, deep_params, nn.Ranges({"n1": 9.0}, 1.5))


def test_results_that_do_not_fit_are_told():
    params = hc.Params.preset("test-n12-d14", allow_insecure=True)
    model = chain((4,), Linear(np.eye(4)))
    pictures = 255 * np.random.default_rng(1).random((2, 4))
    got, compiled = evaluate(model, params, pictures)
    np.testing.assert_allclose(got, pictures[0], atol=1e-4)
    limit = compiled.program.output_limit
    assert 1e4 < limit < 1e9
    compiled.prepare(np.full(4, 0.9 * limit))
    with pytest.warns(hc.ActivationRange, match="results of up to .* scale inputs or the last layer down"):
        compiled.prepare(np.full(4, 1.1 * limit))


# What is no input, engine or option


def test_other_objects_are_refused(params):
    model = chain((4,), Linear(np.eye(4)))
    compiled = nn.compile(model, params, nn.Ranges({}))
    client = hc.Client(params, seed=bytes(32), threads=1)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan), threads=1)
    with pytest.raises(hc.WrongType, match="run: engine: got Client"):
        compiled.run(client, compiled.encrypt(client, np.ones(4)))
    with pytest.raises(hc.WrongType, match=r"input: got ndarray.*CompiledModel\.encrypt"):
        compiled.run(engine, np.ones(4))
    for wrong in (client.encrypt(np.ones(8)), client.encrypt(np.ones(4), level=0)):
        with pytest.raises(hc.InvalidArgument, match="expected 4 slots at level 1 or above"):
            compiled.run(engine, wrong)
        with pytest.raises(hc.InvalidArgument, match="expected 4 slots"):
            engine.run(compiled, wrong)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fresh_level": "high"}, hc.WrongType, "fresh_level"),
        ({"fresh_level": -1}, hc.InvalidArgument, "fresh_level"),
        ({"compact": "no"}, hc.WrongType, "compact"),
        ({"bootstrap": None}, hc.InvalidArgument, "expected a dictionary"),
        ({"first_bootstrap": {"order": "cts_first"}}, hc.InvalidArgument, "expected .* baby_count, compact"),
        ({"first_bootstraps": -1}, hc.InvalidArgument, "first_bootstraps"),
        ({"bootstrap": {"speed": 1}}, hc.InvalidArgument, "speed.*expected .*cts_mode"),
    ],
)
def test_bad_values_of_options(params, options, error, message):
    with pytest.raises(error, match=message):
        nn.compile(chain((4,), Linear(np.eye(4))), params, nn.Ranges({}), **options)
