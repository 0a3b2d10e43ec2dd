# SPDX-License-Identifier: Apache-2.0
"""Public objects pickle and copy, and are the same afterwards, or say why not."""

import copy
import dataclasses
import inspect
import pickle

import halocline as hc
import numpy as np
import pytest
from halocline import nn

RNG = np.random.default_rng(11)
MATRIX = RNG.uniform(-1, 1, (8, 8))
WAYS = {
    "pickle": lambda each: pickle.loads(pickle.dumps(each)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(params=WAYS)
def again(request):
    """An object once more, by a pickle or a copy."""
    with hc.allow_insecure_unpickling():
        yield WAYS[request.param]


def circuits():
    return {
        "LinearTransform": hc.LinearTransform(MATRIX, compact=True),
        "TransformGrid": hc.TransformGrid([[MATRIX, {}], [{1: np.ones(8)}, MATRIX.T]], mode="bsgs"),
        "MatrixVector": hc.MatrixVector(MATRIX[:3], slots=8),
    }


@pytest.mark.parametrize("name", circuits())
def test_circuits_pickle_also_after_use(client, params, again, name):
    circuit = circuits()[name]
    cts = [client.encrypt(RNG.uniform(-1, 1, 8)) for _ in range(circuit.inputs)]

    def run(made, engine):
        single = not isinstance(made, hc.TransformGrid) or isinstance(made, hc.LinearTransform)
        results = engine.run(lambda *x: made(x[0] if single else list(x)), *cts)
        return [client.decrypt(each) for each in ([results] if single else results)]

    keys = client.evaluation_keys(range(1, 8))
    engine = hc.Engine(params, keys, threads=1)
    expected = run(circuit, engine)  # now it is encoded for an engine
    other = again(circuit)
    assert other is not circuit and repr(other) == repr(circuit)
    for where in (engine, hc.Engine(params, keys, threads=1)):
        for got, wanted in zip(run(other, where), expected, strict=True):
            assert np.array_equal(got, wanted)
    circuit.forget()  # what is encoded belongs to one of them
    assert other._encoded


def test_bootstrappers_pickle(again):
    boots = hc.Bootstrapper(hc.Params.preset("n16-boot"), slots=8, real=True, log2_failure=-30)
    other = again(boots)
    assert other.options == boots.options and other.params == boots.params
    assert repr(other) == repr(boots) and other.slots == 8


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(4)
    layers = (
        nn.Node("conv", nn.Conv2d(rng.normal(size=(2, 1, 3, 3)) / 3, stride=2), ("input",)),
        nn.Node("square", nn.Polynomial(hc.Polynomial([0, 0, 1])), ("conv",)),
        nn.Node("flatten", nn.Flatten(), ("square",)),
        nn.Node("out", nn.Linear(rng.normal(size=(3, 32)) / 8), ("flatten",)),
    )
    return nn.Model((1, 8, 8), layers, metadata={"name": "test"})


@pytest.fixture(scope="module")
def compiled(network, deep_params):
    images = np.random.default_rng(4).random((20, 1, 8, 8))
    return nn.compile(network, deep_params, nn.calibrate(network, images, provenance={"source": "test"}))


def test_networks_pickle(network, again):
    other = again(network)
    images = np.random.default_rng(4).random((2, 1, 8, 8))
    assert np.array_equal(other.forward(images), network.forward(images))
    assert dict(other.metadata) == {"name": "test"} and other.shapes == network.shapes
    with pytest.raises(TypeError):
        other.metadata["name"] = "changed"


def test_compiled_networks_pickle(compiled, deep_client, again):
    other = again(compiled)
    assert other.fingerprint == compiled.fingerprint
    assert dict(other.ranges) == dict(compiled.ranges)
    assert other.ranges.provenance == compiled.ranges.provenance
    image = np.random.default_rng(5).random((1, 8, 8))
    keys = deep_client.evaluation_keys(plan=compiled.key_plan)
    ct = compiled.encrypt(deep_client, image)
    made = [
        each.decrypt(deep_client, each.run(hc.Engine(each.params, keys, threads=1), ct))
        for each in (compiled, other)
    ]
    assert np.array_equal(*made)
    assert again(compiled.report()).to_dict() == compiled.report().to_dict()


def test_plans_and_device_models_pickle(params, again):
    trace = hc.trace_program(params, lambda x: x * x).trace
    plan = hc.plan_trace(trace, "1MiB")
    assert again(plan).to_bytes() == plan.to_bytes()
    model = hc.device_models()["h200"] if isinstance(hc.device_models(), dict) else hc.device_models()[0]
    other = again(model)
    assert other.name == model.name
    assert hc.replay(trace, other, "resident") == hc.replay(trace, model, "resident")


def test_calibrated_programs_pickle(again):
    samples = np.linspace(0.5, 2, 20).reshape(4, 5)
    program = hc.calibrate(np.sqrt, samples)
    other = again(program)
    assert (other.sites, other.margin) == (program.sites, program.margin)
    assert np.array_equal(other(samples[0]), np.sqrt(samples[0]))


def test_servers_of_networks_say_why_not(again):
    model = nn.Model((4,), (nn.Node("out", nn.Linear(np.eye(2, 4)), ("input",)),))
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    compiled = nn.compile(model, params, nn.calibrate(model, np.ones((2, 4))))
    keys = hc.Client(params).evaluation_keys(plan=compiled.key_plan)
    with pytest.raises(hc.NotPicklable, match="in each process"):
        again(nn.Server(compiled, keys))


def test_what_stays_in_its_process_says_why(params, client, engine, again):
    with engine.profile() as profile:
        engine.run(lambda x: x * x, client.encrypt(np.ones(4)))
    for each, words in (
        (hc.MemoryBudget("1MiB"), "in each process"),
        (hc.trace_program(params, lambda x: x * x), "pickle what it says"),
        (profile, r"profile\.rows, or"),
        (client, "secret key"),
        (engine, "its parameters and keys"),
    ):
        with pytest.raises(hc.NotPicklable, match=words) as caught:
            again(each)
        assert isinstance(caught.value, TypeError)
    assert again(profile.rows) == profile.rows


def test_every_public_class_is_data_or_says_how_it_pickles():
    """A class that holds an object of the extension, or a weak dictionary, must say what becomes of it."""
    silent = []
    for module in (hc, nn):
        for name in module.__all__:
            each = getattr(module, name)
            data = inspect.isclass(each) and issubclass(each, BaseException | tuple)
            if not inspect.isclass(each) or data or dataclasses.is_dataclass(each):
                continue
            own = [vars(base) for base in each.__mro__[:-1]]
            if not any("__reduce__" in names or "__getstate__" in names for names in own):
                silent.append(name)
    assert set(silent) <= {"KeyPlan", "Polynomial"} | {
        name for name in silent if getattr(nn, name, None) and issubclass(getattr(nn, name), nn.Layer)
    }
