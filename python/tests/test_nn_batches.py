# SPDX-License-Identifier: Apache-2.0
"""Many inputs at once: several in a ciphertext, several ciphertexts under one pass over keys and weights."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn import INPUT, Add, AvgPool, Conv2d, Flatten, Linear, Model, Node, Shortcut
from halocline.nn.checkpoint import Checkpoint

SQUARE = nn.Polynomial(hc.Polynomial([0.1, 0.5, 0.25]))
NOISE = 2.0**-20
"""Of networks without bootstraps: scale 2^40, ring 2^11, values of about 4, sums of up to 100 products."""


def weights(rng, *shape):
    return rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))


def strided(activation=SQUARE):
    """Tensors of 512 and 256 values: of 1024 slots, 2 and 4 of them share a ciphertext."""
    rng = np.random.default_rng(3)
    return Model(
        (1, 8, 8),
        (
            Node("conv1", Conv2d(weights(rng, 8, 1, 3, 3), rng.normal(size=8) / 4), (INPUT,)),
            Node("act1", activation, ("conv1",)),
            Node("conv2", Conv2d(weights(rng, 16, 8, 3, 3), rng.normal(size=16) / 4, 2), ("act1",)),
            Node("short", Shortcut(2, 16), ("act1",)),
            Node("add", Add(), ("conv2", "short")),
            Node("act2", activation, ("add",)),
            Node("pool", AvgPool(), ("act2",)),
            Node("flat", Flatten(), ("pool",)),
            Node("dense", Linear(weights(rng, 5, 16), rng.normal(size=5)), ("flat",)),
        ),
    )


def images(count, seed=5):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 1, 8, 8))


class Party:
    """A compiled network, its client and an engine with its keys."""

    def __init__(self, model, preset, **options):
        self.params = hc.Params.preset(preset, allow_insecure=True)
        self.model = model
        self.compiled = nn.compile(model, self.params, nn.calibrate(model, images(50)), **options)
        self.client = hc.Client(self.params, seed=bytes(32), threads=2)
        self.keys = self.client.evaluation_keys(plan=self.compiled.key_plan)
        self.engine = hc.Engine(self.params, self.keys, threads=2)

    def logits(self, given, engine=None, **options):
        results = self.compiled.run(
            engine or self.engine, self.compiled.encrypt(self.client, given), **options
        )
        return self.compiled.decrypt(self.client, results, len(given))


@pytest.fixture(scope="module")
def throughput():
    return Party(strided(), "test-n11-d8", batch=8)


@pytest.fixture(scope="module")
def latency():
    return Party(strided(), "test-n11-d8")


def test_images_share_the_slots_that_are_left(throughput):
    layouts = {each.name: each.stage.layout for each in throughput.compiled.program.placed}
    assert {name: (each.slots, each.batch) for name, each in layouts.items()} == {
        "act1": (1024, 2),
        "act2": (1024, 4),
        "dense": (32, 4),  # more would save no activation
    }
    assert throughput.compiled.program.input_layout.batch == 8
    found = throughput.compiled.report().to_dict()
    assert found["images"] == 8
    assert found["ciphertexts"] == {"act1": 4, "act2": 2, "dense": 2}
    assert found["operations"]["activations"] == 6  # of 16 one by one


@pytest.mark.parametrize("count", [1, 3, 8, 11])
def test_any_number_of_inputs(throughput, count):
    """The same keys, also where ciphertexts have room for more images than there are."""
    given = images(count)
    inputs = throughput.compiled.encrypt(throughput.client, given)
    assert len(inputs) == -(-count // 8)
    logits = throughput.logits(given)
    assert logits.shape == (count, 5)
    np.testing.assert_allclose(logits, throughput.model.forward(given), rtol=0, atol=NOISE)
    assert throughput.compiled.report(count).key_plan.requests() == throughput.compiled.key_plan.requests()


def test_one_image_of_the_input_shape(throughput):
    results = throughput.compiled.run(
        throughput.engine, throughput.compiled.encrypt(throughput.client, images(1)[0])
    )
    found = throughput.compiled.decrypt(throughput.client, results)
    # The image is in all places of its ciphertext.
    np.testing.assert_allclose(
        found, np.repeat(throughput.model.forward(images(1)), 8, axis=0), rtol=0, atol=NOISE
    )


def test_latency_mode_gives_each_image_the_result_that_it_gets_alone(latency):
    given = images(3)
    inputs = latency.compiled.encrypt(latency.client, given)
    assert len(inputs) == 3
    together = latency.compiled.run(latency.engine, inputs)
    for ct, result in zip(inputs, together, strict=True):
        alone = latency.compiled.run(latency.engine, ct)
        assert isinstance(alone, hc.Ciphertext)
        assert alone.to_bytes() == result.to_bytes()
    np.testing.assert_allclose(
        latency.compiled.decrypt(latency.client, together), latency.model.forward(given), rtol=0, atol=NOISE
    )
    assert latency.compiled.decrypt(latency.client, together[0]).shape == (5,)


def test_a_batch_takes_fewer_operations_than_its_images(latency, throughput):
    alone, together = latency.compiled.report().to_dict(), throughput.compiled.report().to_dict()
    switches = together["operations"]["key_switches"] / (8 * alone["operations"]["key_switches"])
    steps = together["operations"]["backend_steps"] / (8 * alone["operations"]["backend_steps"])
    # Activations: 6 of 16; linear maps: 1 + 2 + 1 units instead of 8 of each.
    assert max(switches, steps) < 0.5


def test_a_batch_within_a_budget(throughput):
    budget = throughput.compiled.report().peak_bytes // 2
    engine = hc.Engine(throughput.params, throughput.keys, memory=budget, policy="planned", threads=2)
    given = images(16)
    logits = throughput.logits(given, engine)
    np.testing.assert_allclose(logits, throughput.model.forward(given), rtol=0, atol=NOISE)
    assert throughput.compiled.last_run.followed_plan
    assert throughput.compiled.last_run.peak_fast_bytes <= budget


def test_wide_layers_and_small_ones_in_one_network(rng):
    """Images share ciphertexts at first, then each takes two, and at last four share one again."""
    model = Model(
        (1, 8, 8),
        (
            Node("up", Conv2d(weights(rng, 32, 1, 3, 3)), (INPUT,)),
            Node("act1", SQUARE, ("up",)),
            Node("down", Conv2d(weights(rng, 16, 32, 3, 3), rng.normal(size=16), 2), ("act1",)),
            Node("act2", SQUARE, ("down",)),
            Node("flat", Flatten(), ("act2",)),
            Node("dense", Linear(weights(rng, 3, 256)), ("flat",)),
        ),
    )
    party = Party(model, "test-n11-d8", batch=4)
    layouts = [each.stage.layout for each in party.compiled.program.placed]
    assert [(each.batch, each.parts) for each in layouts] == [(1, 2), (4, 1), (4, 1)]
    given = images(5)
    np.testing.assert_allclose(party.logits(given), model.forward(given), rtol=0, atol=NOISE)


BOOTSTRAPPED = 2.0**-16
"""Bootstraps of the small preset have about 20 bits; two follow each other, on ranges of about 4."""


@pytest.fixture(scope="module")
def deep():
    return Party(strided(), "test-n11-boot", batch=8, fresh_level=2)


def test_a_batch_is_bootstrapped_together(deep):
    given = images(8)
    logits = deep.logits(given)
    assert deep.compiled.report().to_dict()["operations"]["bootstraps"] == 6  # 4 of 2 images, 2 of 4
    np.testing.assert_allclose(logits, deep.model.forward(given), rtol=0, atol=BOOTSTRAPPED)


class Interrupted(Exception):
    pass


def test_a_run_of_several_images_goes_on(deep, tmp_path):
    path, given = tmp_path / "kept", images(4)

    def stop(done, total):
        if done == 2:
            raise Interrupted

    inputs = deep.compiled.encrypt(deep.client, given)
    with pytest.raises(Interrupted):
        deep.compiled.run(deep.engine, inputs, checkpoint=path, progress=stop)
    seen = []
    results = deep.compiled.run(
        deep.engine, None, checkpoint=path, progress=lambda done, total: seen.append(done)
    )
    assert seen[0] == 2
    found = deep.compiled.decrypt(deep.client, results, len(given))
    np.testing.assert_allclose(found, deep.model.forward(given), rtol=0, atol=BOOTSTRAPPED)
    with pytest.raises(Interrupted):
        deep.compiled.run(deep.engine, inputs, checkpoint=path, progress=stop)
    with pytest.raises(hc.InvalidArgument, match="another encrypted input"):
        deep.compiled.run(deep.engine, inputs[:1] * 2, checkpoint=path)


def test_checkpoints_of_incomplete_values_are_refused(deep, tmp_path):
    kept = Checkpoint(tmp_path / "kept", deep.compiled, deep.client.key_id)
    inputs = deep.compiled.encrypt(deep.client, images(8))
    kept.expect_input(inputs, False)
    (name,) = deep.compiled.live_values(1)
    layout = deep.compiled.layout_of(name)
    cts = [deep.client.encrypt(np.zeros(layout.slots), level=2, slots=layout.slots) for _ in range(2)]
    kept.save(1, {name: cts})
    position, values = kept.load()
    assert (position, [len(each) for each in values.values()], kept.is_single) == (1, [2], False)
    other = deep.client.encrypt(np.zeros(8), level=2, slots=8)
    kept.save(1, {name: [cts[0], other]})
    with pytest.raises(hc.CorruptData, match="do not make up whole images"):
        kept.load()


def test_inputs_that_do_not_fit_are_refused(throughput, latency):
    compiled, engine = throughput.compiled, throughput.engine
    with pytest.raises(hc.InvalidArgument, match="no inputs, expected at least one"):
        compiled.encrypt(throughput.client, np.zeros((0, 1, 8, 8)))
    with pytest.raises(hc.InvalidArgument, match="0 ciphertexts, expected 1 for each input, or each 8"):
        compiled.run(engine, [])
    with pytest.raises(hc.InvalidArgument, match="64 slots at level 7, expected 512 slots"):
        compiled.run(engine, latency.compiled.encrypt(latency.client, images(2)))
    with pytest.raises(hc.Error, match="network: input"):
        compiled.run(engine, [1])
    with pytest.raises(hc.InvalidArgument, match="compile: batch: got 0"):
        nn.compile(strided(), throughput.params, nn.Ranges({"act1": 1.0, "act2": 1.0}), batch=0)
    with pytest.raises(hc.InvalidArgument, match="count"):
        compiled.decrypt(
            throughput.client, compiled.run(engine, compiled.encrypt(throughput.client, images(2))), 9
        )
    assert compiled.fingerprint != latency.compiled.fingerprint


def test_a_client_without_weights_sends_any_number(throughput):
    spec = nn.ClientSpec.from_bytes(throughput.compiled.client_spec().to_bytes(), allow_insecure=True)
    client = nn.Client(spec, throughput.client)
    given = images(11)
    inputs = client.encrypt(given)
    assert len(inputs) == 2
    results = throughput.compiled.run(throughput.engine, inputs)
    np.testing.assert_allclose(
        client.decrypt(results, len(given)), throughput.model.forward(given), rtol=0, atol=NOISE
    )
