# SPDX-License-Identifier: Apache-2.0
"""Linear layers as sparse matrices and as diagonals, in the clear and encrypted."""

import halocline as hc
import numpy as np
import pytest
from halocline.nn import AvgPool, Conv2d, Flatten, Layout, Linear, ReLU, Shortcut
from halocline.nn.lowering import EncodedVector, matrix_of
from halocline.nn.tensor_layout import TensorLayout
from halocline.nn.tensor_map import EncodedMap, TensorMap


def weights(rng, *shape):
    return rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))


LAYERS = [
    (lambda r: Conv2d(weights(r, 3, 2, 3, 3)), (2, 6, 5)),
    (lambda r: Conv2d(weights(r, 5, 2, 3, 3), None, 2), (2, 7, 8)),
    (lambda r: Conv2d(weights(r, 4, 3, 1, 3), None, 1, 0), (3, 4, 6)),
    (lambda r: Conv2d(weights(r, 4, 2, 5, 5), None, 2, 1), (2, 9, 9)),
    (lambda r: Linear(weights(r, 7, 12)), (12,)),
    (lambda r: AvgPool(), (3, 4, 6)),
    (lambda r: AvgPool(3, 2), (2, 8, 7)),
    (lambda r: Flatten(), (2, 3, 4)),
    (lambda r: Shortcut(2, 7), (4, 6, 5)),
]


@pytest.mark.parametrize(("make", "shape"), LAYERS)
def test_matrices_do_what_layers_do(make, shape, rng):
    layer = make(rng)
    x = rng.normal(size=(3, *shape))
    matrix = matrix_of(layer, shape).dense()
    expected = layer.forward(x).reshape(3, -1)
    np.testing.assert_allclose(x.reshape(3, -1) @ matrix.T, expected, atol=1e-12)


def test_products_and_sums_of_matrices(rng):
    conv, pool = Conv2d(weights(rng, 4, 2, 3, 3), None, 2), AvgPool(2)
    first, second = matrix_of(conv, (2, 8, 8)), matrix_of(pool, (4, 4, 4))
    np.testing.assert_allclose(second.after(first).dense(), second.dense() @ first.dense(), atol=1e-12)
    assert second.product_entries(first) == second.after(first).entries
    np.testing.assert_allclose((first + first).scaled(0.5).dense(), first.dense(), atol=1e-12)
    with pytest.raises(hc.InvalidArgument, match="ReLU is no linear layer"):
        matrix_of(ReLU(), (4,))


def lowered(layer, shape, source, target):
    return TensorMap(lambda: [matrix_of(layer, shape)], TensorLayout(source), TensorLayout(target))


IMAGE = Layout.of((2, 8, 8))  # 128 slots
SMALL = IMAGE.strided(2, (4, 4, 4))  # 64 slots
MAPS = [
    (lambda r: Conv2d(weights(r, 2, 2, 3, 3)), (2, 8, 8), IMAGE, IMAGE, 1),
    (lambda r: Conv2d(weights(r, 4, 2, 3, 3), None, 2), (2, 8, 8), IMAGE, SMALL, 2),
    (lambda r: Conv2d(weights(r, 4, 4, 3, 3)), (4, 4, 4), SMALL, SMALL, 1),
    (lambda r: Conv2d(weights(r, 8, 2, 3, 3)), (2, 8, 8), IMAGE, Layout.of((8, 8, 8)), 1),
    (lambda r: Linear(weights(r, 5, 64)), (64,), Layout.of((64,)), Layout.of((5,)), 8),
    (lambda r: Linear(weights(r, 64, 5)), (5,), Layout.of((5,)), Layout.of((64,)), 1),
    (lambda r: Shortcut(2, 4), (2, 8, 8), IMAGE, SMALL, 2),
]


@pytest.mark.parametrize(("make", "shape", "source", "target", "folds"), MAPS)
def test_maps_between_layouts(make, shape, source, target, folds, rng):
    layer = make(rng)
    tensor_map = lowered(layer, shape, source, target)
    assert tensor_map.folds == folds
    assert tensor_map.slots == max(source.slots, target.slots)
    assert len(tensor_map.cells()[0][0]) <= min(source.slots, target.slots)
    x = rng.normal(size=shape)
    (y,) = tensor_map.apply([source.pack(x)])
    np.testing.assert_allclose(target.unpack(y).ravel(), layer.forward(x[None])[0].ravel(), atol=1e-12)
    unused = np.setdiff1d(np.arange(target.slots), target.index())
    assert not y[unused].any()


def test_numbers_of_diagonals_of_resnet20(rng):
    image, one = Layout.of((3, 32, 32)), Layout.of((16, 32, 32))
    two = one.strided(2, (32, 16, 16))
    three = two.strided(2, (64, 8, 8))

    def count(layer, shape, source, target):
        return len(lowered(layer, shape, source, target).cells()[0][0])

    def conv(outputs, inputs, stride=1):
        return Conv2d(weights(rng, outputs, inputs, 3, 3), None, stride)

    assert count(conv(16, 3), (3, 32, 32), image, one) == 36
    assert count(conv(16, 16), (16, 32, 32), one, one) == 144
    assert count(conv(32, 16, 2), (16, 32, 32), one, two) == 128
    assert count(conv(32, 32), (32, 16, 16), two, two) == 392
    assert count(conv(64, 32, 2), (32, 16, 16), two, three) == 324
    assert count(conv(64, 64), (64, 8, 8), three, three) == 900
    assert count(Shortcut(2, 32), (16, 32, 32), one, two) == 16
    dense = matrix_of(Linear(weights(rng, 10, 64)), (64,)).after(matrix_of(AvgPool(), (64, 8, 8)))
    head = TensorMap(lambda: [dense], TensorLayout(three), TensorLayout(Layout.of((10,))))
    assert len(head.cells()[0][0]) == 16


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("case", [1, 3, 4])
def test_encrypted_maps(case, keep, params, client, rng):
    make, shape, source, target, _ = MAPS[case]
    layer = make(rng)
    encoded = EncodedMap(lowered(layer, shape, source, target), keep=keep)
    bias = rng.normal(size=target.size)
    add = EncodedVector(lambda: target.pack(bias), target.slots, keep=keep)
    x = rng.normal(size=shape)
    ct = client.encrypt(source.pack(x))

    def program(ct):
        return add(encoded([ct])[0])

    keys = client.evaluation_keys(plan=hc.key_plan(params, program, ct))
    y = hc.Engine(params, keys, threads=1).run(program, ct)
    assert (y.slots, y.level) == (target.slots, params.max_level - 1)
    found = target.unpack(client.decrypt(y)).ravel()
    expected = layer.forward(x[None])[0].ravel() + bias
    assert np.abs(found - expected).max() < 2.0**-18
    assert encoded.products == len(encoded.tensor_map.cells()[0][0])
