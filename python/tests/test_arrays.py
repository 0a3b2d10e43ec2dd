# SPDX-License-Identifier: Apache-2.0
"""Encrypted arrays against numpy: arithmetic with broadcasting, reductions, shapes, random programs."""

import halocline as hc
import numpy as np
import pytest
from array_rig import ArrayRig
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@pytest.fixture(scope="module")
def rig():
    return ArrayRig()


def numbers(shape, seed, kind="real"):
    rng = np.random.default_rng(seed)
    real = rng.uniform(-1, 1, shape)
    return real if kind == "real" else real + 1j * rng.uniform(-1, 1, shape)


SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, max_side=6)
KINDS = st.sampled_from(["real", "complex"])


@settings(max_examples=25)
@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=6),
    kinds=st.tuples(KINDS, KINDS),
    plain=st.sampled_from(["none", "left", "right"]),
    operation=st.sampled_from([np.add, np.subtract, np.multiply]),
)
def test_operators_broadcast_as_in_numpy(rig, shapes, kinds, plain, operation):
    x, y = (numbers(s, 3 + i, kinds[i]) for i, s in enumerate(shapes.input_shapes))
    if plain == "left":
        rig.check(lambda y: operation(x, y), y)
    elif plain == "right":
        rig.check(lambda x: operation(x, y), x)
    else:
        rig.check(operation, x, y)


@settings(max_examples=25)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=6), keepdims=st.booleans())
def test_reductions_follow_axes(rig, data, shape, keepdims):
    axes = st.integers(-len(shape), len(shape) - 1)
    axis = data.draw(st.none() | axes | st.just(tuple(range(len(shape)))))
    name = data.draw(st.sampled_from(["sum", "mean", "var"]))
    x = numbers(shape, 5, data.draw(KINDS))
    made = rig.check(lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x)
    assert made.is_real or name != "var"


@settings(max_examples=30)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=7))
def test_indices_as_in_numpy(rig, data, shape):
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    x = numbers(shape, 6)
    if x[index].size == 0:
        with pytest.raises(hc.InvalidArgument, match="no elements"):
            rig.run(lambda x: x[index], x)
    else:
        rig.check(lambda x: x[index], x)


@settings(max_examples=25)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
def test_chains_of_operations(rig, data, shape):
    """Results of any operation are good operands of the next: what holds no element does not leak."""
    steps = data.draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=3))

    def program(x):
        for step in steps:
            x = STEPS[step](x)
        return x

    rig.check(program, numbers(shape, 7))


STEPS = {
    "centre": lambda x: x - np.mean(x, axis=-1, keepdims=True) if x.ndim else x - 1.0,
    "centre first": lambda x: x - np.mean(x, axis=0) if x.ndim else x,
    "row sums": lambda x: np.sum(x, axis=-1) if x.ndim else x,
    "column sums": lambda x: np.sum(x, axis=0) if x.ndim else x,
    "transpose": np.transpose,
    "flatten": np.ravel,
    "every other": lambda x: x[..., ::2] if x.ndim else x,
    "without the first": lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x,
    "twice": lambda x: np.concatenate([np.ravel(x), np.ravel(x)]),
    "add one": lambda x: x + 1.0,
    "square": lambda x: x * x,
    "outer": lambda x: x[..., None] * np.arange(1.0, 4.0),
    "last": lambda x: x[..., -1] if x.ndim else x,
    "roll": lambda x: np.roll(x, 1),
    "cumsum": lambda x: np.cumsum(x, axis=0) if x.ndim else x,
}


@settings(max_examples=15)
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=40))
def test_several_ciphertexts(data, shape):
    """Axes that reach over ciphertexts: as above, with 256 slots... and arrays of up to 1600 numbers."""
    step = data.draw(st.sampled_from(sorted(STEPS)))
    WIDE.check(STEPS[step], numbers(shape, 8))


WIDE = ArrayRig("test-n10-d3")


@pytest.mark.parametrize("shape", [(1100,), (3, 600), (600, 3), (2, 2, 300), (5, 3, 512)])
@pytest.mark.parametrize("step", sorted(STEPS))
def test_arrays_larger_than_a_ciphertext(shape, step):
    WIDE.check(STEPS[step], numbers(shape, 9))
