# SPDX-License-Identifier: Apache-2.0
"""Compiled networks: levels, packing, forecasts, and encrypted results against the clear ones."""

from pathlib import Path

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn import INPUT, AvgPool, Conv2d, Flatten, Linear, Model, Node
from halocline.nn.approximation import approximate
from halocline.nn.schedule import Demand, Refresh, make_schedule
from halocline.nn.stages import stages_of

APPROXIMATION = 2.0**-10
"""What ReLUs of alpha 13 may add up to in the small network."""
NOISE = 2.0**-14
"""What encryption and bootstrapping add to that."""


# Levels


def chain(count, levels, refreshable=True):
    names = [INPUT, *(f"layer{i}" for i in range(count))]
    steps = [Demand(names[i + 1], (names[i],), levels, refreshable) for i in range(count)]
    return [*steps, Demand("out", (names[-1],), 0, False)]


def test_no_bootstraps_where_levels_suffice():
    made = make_schedule(chain(3, 2), 10, Refresh(2, 17))
    assert made.bootstraps == 0
    assert made.fresh_level == 3 * 3 + 1  # the least that is enough
    assert made.steps["out"].output_level == 0


def test_bootstraps_are_as_few_as_can_be():
    made = make_schedule(chain(12, 2), 17, Refresh(2, 17))
    # 17 levels are five layers and the way to the next bootstrap.
    assert made.bootstraps == 2
    for before, after in zip(made.steps.values(), list(made.steps.values())[1:], strict=False):
        assert after.linear_level <= before.output_level
        assert after.refreshed or after.activation_level == after.linear_level - 1
        assert after.activation_level <= 17


def test_a_deep_activation_is_bootstrapped_each_time():
    made = make_schedule(chain(3, 14), 17, Refresh(2, 17))
    assert [each.refreshed for each in made.steps.values()] == [True, True, True, False]
    assert made.fresh_level == 3
    assert made.steps["layer0"].activation_level == 17
    assert made.steps["layer2"].activation_level == 15  # only one linear map follows


def test_values_that_are_used_late_keep_their_levels():
    steps = [
        Demand("a", (INPUT,), 2, True),
        Demand("b", ("a",), 2, True),
        Demand("out", ("a", "b"), 0, False),
    ]
    made = make_schedule(steps, 9, None)
    assert made.fresh_level == 7
    assert made.steps["a"].output_level == 4
    assert made.steps["out"].linear_level == 1


def test_missing_levels_are_counted():
    with pytest.raises(hc.LevelExhausted, match=r"'layer0': takes 16 levels.*3 more.*has 17.*missing: 2"):
        make_schedule(chain(2, 16), 17, Refresh(2, 17))
    with pytest.raises(
        hc.LevelExhausted, match=r"needs 10 levels.*has 7.*cannot be bootstrapped.*missing: 3"
    ):
        make_schedule(chain(3, 2), 7, None)
    with pytest.raises(hc.LevelExhausted, match="input at level 4, expected 10 to 12"):
        make_schedule(chain(3, 2), 12, None, 4)


# Stages


def test_layers_between_activations_become_one_matrix(residual):
    model = residual()
    stages = stages_of(model, 2048)
    assert [stage.name for stage in stages] == ["relu1", "relu2", "relu3", "relu4", "dense"]
    sources = [set(stage.terms) for stage in stages]
    assert sources == [{"input"}, {"relu1"}, {"relu2"}, {"relu3", "relu2"}, {"relu4"}]
    assert [stage.layout.slots for stage in stages] == [128, 64, 64, 64, 4]
    assert [stage.linear for stage in stages] == ["conv1", "add2", "conv3", "add4", "dense"]


def test_products_that_are_too_large_are_computed_layer_by_layer(monkeypatch):
    monkeypatch.setattr("halocline.nn.stages.MAX_ENTRIES", 1000)
    kernel = np.ones((2, 2, 3, 3))
    nodes = (Node("first", Conv2d(kernel), (INPUT,)), Node("second", Conv2d(kernel), ("first",)))
    stages = stages_of(Model((2, 6, 6), nodes), 2048)
    assert [(stage.name, list(stage.terms)) for stage in stages] == [
        ("first", [INPUT]),
        ("second", ["first"]),
    ]


def test_layers_that_do_not_fit_are_named(residual):
    with pytest.raises(hc.InvalidArgument, match="layer 'input': each of 1 channels of 8 x 8 needs 64 slots"):
        stages_of(residual(), 32)


# Activations


@pytest.mark.parametrize(
    "polynomial",
    [
        hc.Polynomial([0.5, 0, 1.0]),
        hc.Polynomial([0.1, -0.5, 0.25, 2.0]),
        hc.Polynomial.fit(np.tanh, (-2, 5), 7),
    ],
)
def test_polynomials_on_normalised_inputs(polynomial):
    made = approximate(nn.Polynomial(polynomial), 3.0, "p")
    z = np.linspace(*(polynomial.domain if polynomial.basis == "chebyshev" else (-3, 3)), 101)
    np.testing.assert_allclose(made.clear(z), polynomial(z), atol=1e-12)
    u = (z - made.middle) / made.half
    assert np.abs(u).max() <= 1 + 1e-12
    assert np.abs(made.function(u)).max() <= 1 + 1e-9
    assert made.levels == int(np.ceil(np.log2(polynomial.degree + 1)))


# Programs


def test_forecast(network):
    found = network.compiled.report().to_dict()
    counts = found["operations"]
    assert (counts["bootstraps"], counts["activations"], counts["biases"]) == (4, 4, 3)
    assert found["levels"]["fresh"] == 3
    assert found["levels"]["relu1"] == dict(
        linear_level=3, refreshed=True, activation_level=17, output_level=3
    )
    assert found["slots"] == {"relu1": 128, "relu2": 64, "relu3": 64, "relu4": 64, "dense": 4}
    assert found["distinct_keys"] == len(network.compiled.key_plan)
    assert found["key_bytes"] == found["footprint"]["evaluation_key"]
    assert found["weight_bytes"] <= found["footprint"]["plaintext"]
    assert found["peak_bytes"] <= found["footprint_bytes"]


def check(network, logits, image):
    """Logits against the exact network and against the polynomials in the clear."""
    exact = network.model.forward(network.model.prepare(image[None]))[0]
    assert np.abs(logits - exact).max() < APPROXIMATION + NOISE
    assert np.abs(logits - network.compiled.simulate(image[None])[0]).max() < NOISE
    assert logits.argmax() == exact.argmax()


def test_encrypted_network_with_bootstraps(network, images):
    engine = hc.Engine(network.compiled.params, network.keys, threads=2)
    image = images(1, 9)[0]
    ct = network.compiled.encrypt(network.client, image)
    assert (ct.slots, ct.level) == (64, 3)
    seen, phases = [], []

    def phase(name):
        phases.append(name)
        return engine.phase(name)

    progress = []
    result = network.compiled.run(
        engine,
        ct,
        phase=phase,
        on_bootstrap=lambda *what: seen.append(what),
        progress=lambda *what: progress.append(what),
    )
    check(network, network.compiled.decrypt(network.client, result), image)
    assert seen == [(f"relu{k}", k, 4) for k in range(1, 5)]
    assert progress == [(done, 5) for done in range(6)]
    assert phases[:3] == ["conv1", "relu1: bootstrap", "relu1"]
    forecast = network.compiled.report()
    assert network.compiled.last_run.steps >= forecast.steps
    assert network.compiled.last_run.peak_bytes <= sum(forecast.footprint.values())


def test_first_bootstraps_with_few_keys(network, images):
    few = {"cts_mode": "small_key", "stc_mode": "small_key"}
    params = network.compiled.params
    compiled = nn.compile(network.model, params, network.ranges, first_bootstraps=2, first_bootstrap=few)
    used = [step.bootstrapper for step in compiled.steps if hasattr(step, "bootstrapper")]
    modes = [each.options.cts_mode for each in used]
    usual = network.compiled.program.bootstrappers[used[-1].slots].options.cts_mode
    assert modes == ["small_key"] * 2 + [usual] * 2 and usual != "small_key"
    assert compiled.program.schedule.steps == network.compiled.program.schedule.steps
    assert compiled.fingerprint != network.compiled.fingerprint
    # The first one needs fewer keys than it did, which are all that a cold run waits for.
    assert len(used[0].key_plan) < len(network.compiled.program.bootstrappers[used[0].slots].key_plan)
    keys = network.client.evaluation_keys(plan=compiled.key_plan)
    engine = hc.Engine(params, keys, threads=2)
    image = images(1, 11)[0]
    result = compiled.run(engine, compiled.encrypt(network.client, image))
    check(network, compiled.decrypt(network.client, result), image)


def test_callbacks_belong_to_their_run(network):
    compiled = network.compiled
    level, slots = compiled.program.schedule.fresh_level, compiled.program.input_layout.slots
    seen = {"outer": [], "inner": []}

    def run(name):
        engine = hc.Engine(compiled.params, device="ghost")

        def phase(layer):
            seen[name].append(layer)
            if name == "outer" and len(seen[name]) == 2:
                run("inner")
            return engine.phase(layer)

        compiled.run(engine, engine.ghost_input(level=level, slots=slots), phase=phase)

    run("outer")
    assert seen["outer"] == seen["inner"]
    assert len(seen["outer"]) > 8


@pytest.mark.parametrize("encode", ["keep", "fly"])
def test_encrypted_network_under_a_budget(network, images, encode):
    compiled = nn.compile(network.model, network.compiled.params, network.ranges, encode=encode)
    budget = compiled.report().peak_bytes // 2
    engine = hc.Engine(compiled.params, network.keys, memory=budget, policy="planned", threads=2)
    image = images(1, 10)[0]
    result = compiled.run(engine, compiled.encrypt(network.client, image))
    check(network, compiled.decrypt(network.client, result), image)
    assert compiled.last_run.followed_plan
    assert compiled.last_run.peak_fast_bytes <= budget
    for passes in (1, 0):  # planned once more before the second run, whatever the callbacks are
        compiled.run(engine, compiled.encrypt(network.client, image), progress=lambda done, total: None)
        assert compiled.last_run.followed_plan and compiled.last_run.ghost_passes == passes
    assert len(engine._planner._plans) == 1
    assert compiled.report().weight_bytes < network.compiled.report().weight_bytes or encode == "keep"


def test_polynomial_network_without_bootstraps(images):
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    rng = np.random.default_rng(3)
    square = nn.Polynomial(hc.Polynomial([0.1, 0.5, 0.25]))
    model = Model(
        (1, 7, 7),
        (
            Node("conv", Conv2d(rng.normal(size=(3, 1, 3, 3)), rng.normal(size=3), 2), (INPUT,)),
            Node("act1", square, ("conv",)),
            Node("pool", AvgPool(2), ("act1",)),
            Node("flat", Flatten(), ("pool",)),
            Node("fc1", Linear(rng.normal(size=(6, 12)) / 4, rng.normal(size=6)), ("flat",)),
            Node("act2", square, ("fc1",)),
            Node("fc2", Linear(rng.normal(size=(2, 6))), ("act2",)),
        ),
    )
    samples = rng.uniform(-1, 1, (40, 1, 7, 7))
    compiled = nn.compile(model, params, nn.calibrate(model, samples))
    assert compiled.program.schedule.bootstraps == 0
    assert compiled.program.schedule.fresh_level == 7  # three linear maps, two polynomials of degree 2
    assert len(compiled.segments) == 1
    client = hc.Client(params, seed=bytes(32), threads=1)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan), threads=1)
    logits = compiled.decrypt(client, compiled.run(engine, compiled.encrypt(client, samples[0])))
    exact = model.forward(samples[:1])[0]
    assert np.abs(logits - exact).max() < 2.0**-16
    np.testing.assert_allclose(compiled.simulate(samples[:5]), model.forward(samples[:5]), atol=1e-12)


def test_large_results_are_scaled_down():
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    identity = nn.Polynomial(hc.Polynomial([0.0, 1.0]))
    nodes = (
        Node("act", identity, (INPUT,)),
        Node("big", Linear(1e7 * np.eye(2)), ("act",)),
    )
    model = Model((2,), nodes)
    compiled = nn.compile(model, params, nn.Ranges({"act": 2.0}))
    scale = compiled.program.output_scale
    assert scale > 1
    assert np.log2(scale) == int(np.log2(scale))
    client = hc.Client(params, seed=bytes(32), threads=1)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan), threads=1)
    got = compiled.decrypt(client, compiled.run(engine, compiled.encrypt(client, [1.5, -0.25])))
    np.testing.assert_allclose(got, [1.5e7, -0.25e7], rtol=1e-4)


def test_values_that_grow_from_layer_to_layer():
    """Squares of images from 0 to 255: bounds of the first activations do not follow from the last ones."""
    rng = np.random.default_rng(5)
    square = nn.Polynomial(hc.Polynomial([0, 0, 1]))
    layers = [nn.Conv2d(rng.normal(size=(2, 1, 3, 3)) / 3, stride=2), square, nn.Flatten()]
    for width in (8, 6, 3):
        layers += [nn.Linear(rng.normal(size=(width, {8: 32, 6: 8, 3: 6}[width])) / 3), square]
    names = ["input", *(f"layer{number}" for number in range(len(layers)))]
    pairs = zip(names[1:], layers, names, strict=False)
    model = nn.Model((1, 8, 8), tuple(nn.Node(name, layer, (before,)) for name, layer, before in pairs))
    images = rng.integers(0, 256, (10, 1, 8, 8))
    params = hc.Params.preset("test-n12-d14", allow_insecure=True)
    compiled = nn.compile(model, params, nn.calibrate(model, images))
    client = hc.Client(params)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan))
    found = compiled.decrypt(client, compiled.run(engine, compiled.encrypt(client, images[:2])))
    expected = model.forward(images[:2])
    assert np.abs(expected).max() > 1e20
    # Each square doubles what 40 bits of scale leave, some 2^-28 of the largest value, and adds as much.
    assert np.abs(found - expected).max() < 2.0**-20 * np.abs(model.forward(images)).max()


def test_inputs_are_checked_on_the_client(network, images):
    with pytest.warns(hc.ActivationRange, match="relu1"):
        network.compiled.prepare(50 * images(1)[0])
    with pytest.raises(hc.InvalidArgument, match="2 inputs of 1 ciphertexts, expected one"):
        network.compiled.prepare(images(2))
    with pytest.raises(hc.InvalidArgument, match="shape"):
        network.compiled.prepare(np.zeros((1, 8, 9)))
    other = hc.Client(hc.Params.preset("test-n10-d3", allow_insecure=True))
    with pytest.raises(hc.InvalidArgument, match="the client belongs to parameters 'test-n10-d3'"):
        network.compiled.encrypt(other, images(1))


def test_bad_options(network, boot_params):
    model, ranges = network.model, network.ranges
    with pytest.raises(hc.InvalidArgument, match="unknown options speed; expected mode"):
        nn.compile(model, boot_params, ranges, speed=11)
    with pytest.raises(hc.InvalidArgument, match="encode 'never', expected 'keep' or 'fly'"):
        nn.compile(model, boot_params, ranges, encode="never")
    with pytest.raises(hc.InvalidArgument, match="bootstrap options with slots"):
        nn.compile(model, boot_params, ranges, bootstrap={"slots": 8})
    with pytest.raises(hc.InvalidArgument, match="no bound for"):
        nn.compile(model, boot_params, nn.Ranges({"relu1": 1.0}))
    with pytest.raises(hc.LevelExhausted, match=r"needs 61 levels.*cannot be bootstrapped.*missing: 47"):
        nn.compile(model, hc.Params.preset("test-n12-d14", allow_insecure=True), ranges)
    with pytest.raises(hc.LevelExhausted, match=r"'relu.': takes 14 levels.*a bootstrapped ciphertext has 5"):
        nn.compile(model, hc.Params.preset("test-n11-boot", allow_insecure=True), ranges)


@pytest.mark.slow
def test_resnet20_on_a_ghost():
    weights = Path(nn.__file__).parent.parent / "data" / "resnet20_digits.safetensors"
    model = nn.resnet20(weights)
    ranges = nn.Ranges({node.name: 20.0 for node in model.activation_nodes})
    compiled = nn.compile(model, hc.Params.preset("n16-boot"), ranges)
    found = compiled.report().to_dict()
    assert found["operations"]["bootstraps"] == found["operations"]["activations"] == 19
    assert found["operations"]["diagonals"] < 8000
    assert sorted(set(found["slots"].values())) == [16, 4096, 8192, 16384]
    assert found["peak_bytes"] < 16 << 30
