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
    "without sums": lambda x: x - np.sum(x, axis=-1, keepdims=True) if x.ndim else x,
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
    """Up to 1600 numbers, which 64 x 64 addresses hold, with 512 slots in a ciphertext."""
    step = data.draw(st.sampled_from(sorted(STEPS)))
    WIDE.check(STEPS[step], numbers(shape, 8))


WIDE = ArrayRig("test-n10-d3")


@pytest.mark.parametrize("shape", [(1100,), (3, 600), (600, 3), (2, 2, 300), (5, 3, 512)])
@pytest.mark.parametrize("step", sorted(STEPS))
def test_arrays_larger_than_a_ciphertext(shape, step):
    WIDE.check(STEPS[step], numbers(shape, 9))


def test_copies_beside_elements_are_known(rig):
    """A number that repeats itself in all slots leaves copies between the elements that it is added to."""
    x = numbers((4, 8), 10)
    made = rig.check(lambda x, y: np.mean(x, axis=1) + y, x, numbers((1,), 11))
    assert not made.is_clean and made.packing.strides == (8,)
    rig.check(lambda x, y: np.sum(np.mean(x, axis=1) + y) * np.ones(3), x, numbers((1,), 11))


def test_sums_over_ciphertexts_leave_out_what_is_no_element():
    """19 rows of 33, 8 rows to a ciphertext: the last one has 5 rows that hold copies of the first row."""
    WIDE.check(lambda x: np.sum(x + x[:1], axis=0), numbers((19, 33), 12))


def test_levels_do_not_depend_on_the_number_of_ciphertexts():
    """19 rows, 8 to a ciphertext: variances cost two levels, and sums of what is left of means none."""
    x = numbers((19, 33), 12)
    WIDE.check(lambda x: np.var(x, axis=0), x, level=2)
    WIDE.check(lambda x: np.var(x, axis=1), x, level=2)
    WIDE.check(lambda x: np.sum(x - np.mean(x, axis=0), axis=0), x, level=1)


def test_levels_that_operations_cost(rig):
    """What the guide says: no level where rotations are enough."""
    x = numbers((4, 8), 13)
    costs = {
        0: [
            np.sum,
            np.transpose,
            np.ravel,
            lambda x: x + x.sum(axis=0),
            lambda x: x[1:3, ::2],
            np.diff,
        ],
        1: [
            lambda x: x * x,
            lambda x: x + x[0],
            np.mean,
            lambda x: np.flip(x, 0),
            lambda x: x - x.mean(axis=0),
            np.cumsum,
        ],
        2: [lambda x: np.var(x, axis=0), lambda x: np.var(x, axis=1), lambda x: x**3],
    }
    for level, programs in costs.items():
        for program in programs:
            rig.check(program, x, level=level)


def test_axis_in_the_way_of_a_roll_costs_no_level(rig):
    """A rotation where the axis fills the ciphertext."""
    rig.check(lambda x: np.roll(x, 3), numbers((16,), 14), level=0)
    rig.check(lambda x: np.roll(x, -1, axis=0), numbers((4, 8), 14), level=0)
    rig.check(lambda x: np.roll(x, 1, axis=1), numbers((4, 8), 14), level=1)


def test_long_cumulative_sums(rig):
    """65 and more terms take two steps."""
    rig.check(np.cumsum, numbers((64,), 15), level=1)
    rig.check(np.cumsum, numbers((100,), 15), level=2)


def test_complex_parts(rig):
    z = numbers((3, 5), 16, "complex")
    assert rig.check(np.real, z).is_real
    assert rig.check(np.imag, z).is_real
    rig.check(lambda z: z * np.conj(z) + z.conj(), z)
    x = numbers((3, 5), 16)
    assert rig.check(lambda x: x.imag, x, level=0).is_real
    assert rig.check(lambda x: x.real, x, level=0).is_real


def test_powers_and_quotients(rig):
    x = numbers((2, 3), 17)
    rig.check(lambda x: x**0 + x**1 + x**5, x, level=3)
    rig.check(lambda x: x / 4 + x / np.array([1.0, 2.0, -3.0]), x, level=1)
    rig.check(lambda x: 1 - x, x, level=0)
    rig.check(lambda x: np.prod(x, axis=1), numbers((2, 7), 18), level=3)
    rig.check(lambda x: -x + np.square(x), x)


def test_powers_of_what_was_cut_off_do_not_spoil_the_rest(rig):
    """300^7 is beyond the modulus, 0.5^7 is not; the level that this takes is taken once."""
    x = np.array([0.5, 300.0, -0.25, 200.0])
    rig.check(lambda x: x[::2] ** 7, x, level=4)
    rig.check(lambda x: x[::2] * x[::2], x, level=1)

    def seventh(x):
        x = x[::2]
        square = x * x
        return square * square * square * x

    rig.check(seventh, x, level=5)  # one more than without cutting
