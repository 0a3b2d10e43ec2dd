# SPDX-License-Identifier: Apache-2.0
import halocline as hc
import numpy as np
import pytest

TOLERANCE = 2.0**-18
SLOTS = 256


def convolve(images, weights, stride):
    """Reference: images (count, inputs, rows, columns)."""
    reach = weights.shape[-1] // 2
    padded = np.pad(images, ((0, 0), (0, 0), (reach, reach), (reach, reach)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[-2:], axis=(2, 3))
    return np.einsum("niyxab,oiab->onyx", windows[:, :, ::stride, ::stride], weights)


@pytest.mark.parametrize(("stride", "kernel"), [(1, 3), (2, 3), (1, 5), (1, 1)])
def test_convolution(deep_params, deep_client, rng, stride, kernel):
    layout = hc.ImageLayout(6, 7, 64)
    images = rng.uniform(-1, 1, (4, 2, 6, 7))
    weights, bias = rng.uniform(-1, 1, (3, 2, kernel, kernel)), [0.5, -1.0, 0.25]
    layer = hc.Convolution2d(weights, layout, SLOTS, bias=bias, stride=stride)
    inputs = [deep_client.encrypt(layout.pack(images[:, c], SLOTS)) for c in range(2)]
    keys = deep_client.evaluation_keys(plan=hc.key_plan(deep_params, layer, inputs))
    engine = hc.Engine(deep_params, keys, threads=1)
    expected = convolve(images, weights, stride) + np.reshape(bias, (3, 1, 1, 1))
    for results in (
        engine.run(layer, inputs),
        engine.run(lambda xs: engine.conv2d(xs, weights, layout, bias=bias, stride=stride), inputs),
    ):
        for ct, reference in zip(results, expected, strict=True):
            got = layer.output_layout.unpack(deep_client.decrypt(ct), 4)
            assert np.abs(got - reference).max() < TOLERANCE


def test_convolutions_follow_each_other(deep_params, deep_client, rng):
    layout = hc.ImageLayout(8, 8, 64)
    weights = rng.uniform(-1, 1, (2, 1, 1, 3, 3))
    first = hc.Convolution2d(weights[0], layout, SLOTS, stride=2)
    second = hc.Convolution2d(weights[1], first.output_layout, SLOTS, stride=2)
    images = rng.uniform(-1, 1, (1, 1, 8, 8))
    ct = deep_client.encrypt(layout.pack(images[0], SLOTS))

    def program(x):
        return second(first([x]))[0]

    engine = hc.Engine(
        deep_params, deep_client.evaluation_keys(plan=hc.key_plan(deep_params, program, ct)), threads=1
    )
    got = second.output_layout.unpack(deep_client.decrypt(engine.run(program, ct)), 1)
    expected = convolve(convolve(images, weights[0], 2), weights[1], 2)[0]
    assert got.shape == (1, 2, 2)
    assert np.abs(got - expected).max() < TOLERANCE


@pytest.mark.parametrize("fold", [True, False])
def test_block_products(deep_params, deep_client, rng, fold):
    matrices = [[rng.uniform(-1, 1, (5, 16)) for _ in range(2)]]
    layer = hc.BlockMatmul(matrices, 16, SLOTS, fold=fold)
    vectors = rng.uniform(-1, 1, (2, SLOTS // 16, 16))
    inputs = [deep_client.encrypt(each.ravel()) for each in vectors]
    keys = deep_client.evaluation_keys(plan=hc.key_plan(deep_params, layer, inputs))
    engine = hc.Engine(deep_params, keys, threads=1)
    values = deep_client.decrypt(engine.run(layer, inputs)[0]).reshape(-1, 16)
    expected = sum(v @ m.T for v, m in zip(vectors, matrices[0], strict=True))
    assert np.abs(values[:, :5] - expected).max() < TOLERANCE
    if not fold:
        assert np.abs(values[:, 5:]).max() < TOLERANCE


def test_images_are_packed_where_the_layout_says(rng):
    layout = hc.ImageLayout(2, 3, 8, pitch=4, gap=1)
    images = rng.uniform(-1, 1, (2, 2, 3))
    values = layout.pack(images, 32)
    assert values[layout.slot(1, 2)] == images[0, 1, 2]
    assert values[8 + layout.slot(0, 1)] == images[1, 0, 1]
    assert np.array_equal(layout.unpack(values + 0j, 2), images)
    assert np.array_equal(layout.pack(images[0], 32), layout.pack(images[:1], 32))
    assert layout.strided(2) == hc.ImageLayout(1, 2, 8, pitch=4, gap=2)
    with pytest.raises(hc.InvalidArgument, match="images"):
        layout.pack(rng.uniform(-1, 1, (5, 2, 3)), 32)
    with pytest.raises(hc.InvalidArgument, match="images"):
        layout.pack(np.ones((1, 3, 3)), 32)
    with pytest.raises(hc.InvalidArgument, match="images"):
        layout.unpack(values, 5)


def test_bad_arguments(deep_engine, rng):
    layout = hc.ImageLayout(4, 4, 16)
    for weights in (
        np.ones((2, 1, 3)),
        np.ones((2, 1, 3, 5)),
        1j * np.ones((1, 1, 3, 3)),
        np.full((1, 1, 1, 1), np.nan),
    ):
        with pytest.raises(hc.InvalidArgument, match="convolution"):
            hc.Convolution2d(weights, layout, SLOTS)
    with pytest.raises(hc.InvalidArgument, match="bias"):
        hc.Convolution2d(np.ones((2, 1, 3, 3)), layout, SLOTS, bias=[1.0])
    with pytest.raises(hc.WrongType, match="ImageLayout"):
        hc.Convolution2d(np.ones((2, 1, 3, 3)), (4, 4, 16), SLOTS)
    with pytest.raises(hc.InvalidArgument):
        hc.Convolution2d(np.ones((2, 1, 2, 2)), layout, SLOTS).encode(deep_engine)
    with pytest.raises(hc.InvalidArgument):
        hc.Convolution2d(np.ones((2, 1, 3, 3)), hc.ImageLayout(8, 8, 16), SLOTS).encode(deep_engine)
    with pytest.raises(hc.InvalidArgument):
        hc.MatrixVector(np.ones(4))
    with pytest.raises(hc.InvalidArgument, match="values"):
        hc.MatrixVector(np.ones((2, 4))).repeat(np.ones(5))
    with pytest.raises(hc.InvalidArgument, match="matrices"):
        hc.BlockMatmul([[np.eye(4)], []], 4, SLOTS)
    with pytest.raises(hc.InvalidArgument):
        hc.BlockMatmul([[np.eye(8)]], 4, SLOTS).encode(deep_engine)
    with pytest.raises(hc.WrongType, match="list"):
        deep_engine.conv2d([], np.ones((1, 1, 3, 3)), layout)
