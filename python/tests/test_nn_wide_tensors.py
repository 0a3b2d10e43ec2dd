# SPDX-License-Identifier: Apache-2.0
"""Networks whose layers need several ciphertexts: maps between them in the clear, and encrypted results."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn import INPUT, Add, AvgPool, Conv2d, Flatten, Layout, Linear, Model, Node, Shortcut
from halocline.nn.lowering import matrix_of
from halocline.nn.tensor_layout import TensorLayout
from halocline.nn.tensor_map import Convolution, TensorMap

BOOTSTRAP_NOISE = 2.0**-14
"""Bootstraps of this preset have about 20 bits; five follow each other, on ranges of about 4."""
RELU_ERROR = 2.0**-10
"""Polynomials of alpha 13 are off by 2^-13 of ranges of about 4."""
SQUARE = nn.Polynomial(hc.Polynomial([0.1, 0.5, 0.25]))


def weights(rng, *shape):
    return rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))


IMAGE = Layout.of((4, 8, 8))  # 256 slots
HALF = IMAGE.strided(2, (8, 4, 4))  # 128 slots
QUARTER = Layout.of((2, 16, 16)).strided(2, (8, 8, 8)).strided(2, (64, 4, 4))  # gap 4, 1024 slots
CASES = [  # layer, input shape, layouts, slots of a ciphertext, images at once
    (lambda r: Conv2d(weights(r, 4, 4, 3, 3)), (4, 8, 8), IMAGE, IMAGE, 64, 1),
    (lambda r: Conv2d(weights(r, 4, 4, 3, 3)), (4, 8, 8), IMAGE, IMAGE, 128, 1),
    (lambda r: Conv2d(weights(r, 4, 4, 3, 3)), (4, 8, 8), IMAGE, IMAGE, 1024, 4),
    (lambda r: Conv2d(weights(r, 8, 4, 3, 3), None, 2), (4, 8, 8), IMAGE, HALF, 64, 1),
    (lambda r: Conv2d(weights(r, 8, 4, 3, 3), None, 2), (4, 8, 8), IMAGE, HALF, 256, 8),
    (lambda r: Conv2d(weights(r, 8, 4, 1, 1), None, 2), (4, 8, 8), IMAGE, HALF, 512, 3),
    (lambda r: Conv2d(weights(r, 6, 8, 3, 3)), (8, 4, 4), HALF, HALF.strided(1, (6, 4, 4)), 64, 1),
    (lambda r: Conv2d(weights(r, 4, 4, 3, 3)), (4, 8, 8), IMAGE, Layout.of((4, 8, 8), 3), 128, 1),
    (lambda r: Conv2d(weights(r, 64, 64, 3, 3)), (64, 4, 4), QUARTER, QUARTER, 512, 1),
    (lambda r: Shortcut(2, 8), (4, 8, 8), IMAGE, HALF, 64, 1),
    (lambda r: AvgPool(2), (4, 8, 8), IMAGE, IMAGE.strided(2, (4, 4, 4)), 128, 4),
    (lambda r: AvgPool(), (8, 4, 4), HALF, Layout.of((8,)), 64, 4),
    (lambda r: Linear(weights(r, 20, 48)), (48,), Layout.of((48,)), Layout.of((20,)), 16, 1),
    (lambda r: Linear(weights(r, 48, 5)), (5,), Layout.of((5,)), Layout.of((48,)), 16, 2),
]


@pytest.mark.parametrize(("make", "shape", "source", "target", "slots", "images"), CASES)
def test_maps_between_several_ciphertexts(make, shape, source, target, slots, images, rng):
    layer = make(rng)
    layouts = [TensorLayout.within(each, slots, images) for each in (source, target)]
    assert max(each.parts * each.batch for each in layouts) > 1
    of_matrix = TensorMap(lambda: [matrix_of(layer, shape)], *layouts)
    x = rng.normal(size=(of_matrix.images, *shape))
    expected = layer.forward(x)
    packed = layouts[0].pack(x)
    assert len(packed) == of_matrix.inputs
    results = of_matrix.apply(packed)
    assert len(results) == of_matrix.outputs
    np.testing.assert_allclose(
        layouts[1].unpack(results).reshape(expected.shape), expected, rtol=0, atol=1e-12
    )
    unused = np.setdiff1d(np.arange(of_matrix.outputs * layouts[1].slots), layouts[1].places(len(x)))
    assert not np.concatenate(results)[unused].any()
    if isinstance(layer, Conv2d):  # the same diagonals without a list of all entries
        made = TensorMap(lambda: [Convolution(layer, shape)], *layouts)
        for row, other in zip(made.cells(), of_matrix.cells(), strict=True):
            for cell, same in zip(row, other, strict=True):
                assert cell.keys() == same.keys()
                for d, diagonal in cell.items():
                    np.testing.assert_array_equal(diagonal, same[d])


def test_images_of_a_ciphertext_take_the_diagonals_of_one(rng):
    conv = Conv2d(weights(rng, 16, 16, 3, 3))
    layout = Layout.of((16, 8, 8))

    def count(images):
        tensor = TensorLayout.within(layout, 1 << 15, images)
        return len(TensorMap(lambda: [Convolution(conv, (16, 8, 8))], tensor, tensor).cells()[0][0])

    assert count(32) == count(2) == count(1) == 16 * 9


def run(model, params, images, ranges=None, **options):
    """Results of a network on encrypted images, in the clear, and the network."""
    samples = model.prepare(images)
    compiled = nn.compile(model, params, ranges or nn.calibrate(model, samples), **options)
    client = hc.Client(params, seed=bytes(32), threads=2)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan), threads=2)
    results = compiled.run(engine, compiled.encrypt(client, images))
    logits = compiled.decrypt(client, results, len(images))
    return logits.reshape(len(images), *model.output_shape), model.forward(samples), compiled


def block(rng, name, source, inputs, outputs, stride, activation):
    """A residual block with a convolution as shortcut where it has a stride, as in ResNet-18."""
    yield Node(
        f"{name}.conv1",
        Conv2d(weights(rng, outputs, inputs, 3, 3), rng.normal(size=outputs) / 8, stride),
        (source,),
    )
    yield Node(f"{name}.act1", activation, (f"{name}.conv1",))
    yield Node(f"{name}.conv2", Conv2d(weights(rng, outputs, outputs, 3, 3)), (f"{name}.act1",))
    if stride > 1:
        yield Node(f"{name}.short", Conv2d(weights(rng, outputs, inputs, 1, 1), None, stride, 0), (source,))
        source = f"{name}.short"
    yield Node(f"{name}.add", Add(), (f"{name}.conv2", source))
    yield Node(f"{name}.act2", activation, (f"{name}.add",))


def residual(rng, side, width, activation):
    """A network of two blocks: tensors of width x side^2 values, and of half as many."""
    stem = Conv2d(weights(rng, width, 3, 3, 3), rng.normal(size=width) / 4)
    return Model(
        (3, side, side),
        (
            Node("stem", stem, (INPUT,)),
            Node("act", activation, ("stem",)),
            *block(rng, "one", "act", width, width, 1, activation),
            *block(rng, "two", "one.act2", width, 2 * width, 2, activation),
            Node("pool", AvgPool(), ("two.act2",)),
            Node("flat", Flatten(), ("pool",)),
            Node("dense", Linear(weights(rng, 10, 2 * width), rng.normal(size=10)), ("flat",)),
        ),
    )


def test_a_strided_block_on_several_ciphertexts(rng):
    params = hc.Params.preset("test-n12-d14", allow_insecure=True)
    model = Model(
        (3, 16, 16),
        (
            Node("stem", Conv2d(weights(rng, 48, 3, 3, 3), rng.normal(size=48) / 4), (INPUT,)),
            Node("act", SQUARE, ("stem",)),
            *block(rng, "two", "act", 48, 64, 2, SQUARE),
            Node("pool", AvgPool(), ("two.act2",)),
            Node("flat", Flatten(), ("pool",)),
            Node("dense", Linear(weights(rng, 10, 64), rng.normal(size=10)), ("flat",)),
        ),
    )
    found, exact, compiled = run(model, params, rng.uniform(-1, 1, (1, 3, 16, 16)))
    forecast = compiled.report().to_dict()
    # 48 channels of 256 pixels are 6 ciphertexts of 2048 slots, 64 channels of 64 pixels are 2.
    assert forecast["ciphertexts"] == {"act": 6, "two.act1": 2, "two.act2": 2, "dense": 1}
    assert forecast["operations"]["activations"] == 10
    # Scale 2^40, sums of up to 432 products whose weights add up to about 20: 2^-40 sqrt(N) 2^8.
    assert np.abs(found - exact).max() < 2.0**-22
    assert compiled.last_run.peak_bytes <= sum(compiled.report().footprint.values())


def test_bootstraps_of_several_ciphertexts(rng):
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    model = residual(rng, 16, 16, nn.ReLU(13))
    images = rng.uniform(-1, 1, (1, 3, 16, 16))
    found, exact, compiled = run(model, params, images)
    forecast = compiled.report().to_dict()
    wide = [name for name, count in forecast["ciphertexts"].items() if count == 2]
    assert wide == ["act", "one.act1", "one.act2"]
    assert forecast["operations"]["bootstraps"] == forecast["operations"]["activations"] == 8
    np.testing.assert_allclose(found, compiled.simulate(images), rtol=0, atol=BOOTSTRAP_NOISE)
    np.testing.assert_allclose(found, exact, rtol=0, atol=BOOTSTRAP_NOISE + RELU_ERROR)


def test_inputs_and_results_of_several_ciphertexts(rng):
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    model = Model(
        (4, 16, 16),
        (
            Node("conv", Conv2d(weights(rng, 8, 4, 3, 3), rng.normal(size=8)), (INPUT,)),
            Node("square", nn.Polynomial(hc.Polynomial([0, 0, 1])), ("conv",)),
        ),
    )
    images = rng.uniform(-1, 1, (2, 4, 16, 16))
    compiled = nn.compile(model, params, nn.calibrate(model, images))
    client = nn.Client(compiled.client_spec(), hc.Client(params, seed=bytes(32), threads=2))
    engine = hc.Engine(params, client.evaluation_keys(), threads=2)
    inputs = client.encrypt(images)
    assert len(inputs) == 4  # 1024 values of an image in ciphertexts of 512 slots
    results = compiled.run(engine, inputs)
    assert len(results) == 8
    exact = model.forward(images)
    # Scale 2^40, ring 2^10, squares of values of about 4.
    np.testing.assert_allclose(client.decrypt(results), exact, rtol=0, atol=2.0**-20)
    np.testing.assert_allclose(compiled.decrypt(client.owner, results), exact, rtol=0, atol=2.0**-20)
    with pytest.raises(hc.InvalidArgument, match="1 ciphertexts, expected 2 for each input"):
        compiled.run(engine, inputs[:1])
    with pytest.raises(hc.InvalidArgument, match="2 inputs of 2 ciphertexts, expected one of one"):
        compiled.prepare(images)


def test_channels_without_effect_get_their_bias(rng):
    """Half of the results are in a ciphertext to which no weight adds anything."""
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    weight = weights(rng, 4, 2, 3, 3)
    weight[2:] = 0
    bias = rng.normal(size=4)
    model = Model((2, 16, 16), (Node("conv", Conv2d(weight, bias), (INPUT,)),))
    found, exact, compiled = run(model, params, rng.uniform(-1, 1, (1, 2, 16, 16)), nn.Ranges({}))
    assert compiled.program.output_layout.parts == 2
    np.testing.assert_allclose(found, exact, rtol=0, atol=2.0**-20)
    with pytest.raises(hc.InvalidArgument, match=r"'conv'.*does not depend on the input"):
        nothing = Model((2, 16, 16), (Node("conv", Conv2d(0 * weight, bias), (INPUT,)),))
        nn.compile(nothing, params, nn.Ranges({}))
