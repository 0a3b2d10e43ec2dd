# SPDX-License-Identifier: Apache-2.0
"""Operations on arrays in any packing: orders of axes, gaps, copies, few slots, several ciphertexts."""

import halocline as hc
import numpy as np
from array_rig import ArrayRig
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

RIG = ArrayRig("test-n10-d3")
MOST_SLOTS, MOST_ADDRESSES = 64, 1024


@st.composite
def packings(draw, shape):
    """A packing of a shape: bits of the address shared out among axes, copies and gaps."""
    widths = [(n - 1).bit_length() for n in shape]
    fillers = draw(st.lists(st.sampled_from(["gap", "copy"]), max_size=3))
    slots = 1 << draw(st.integers(0, MOST_SLOTS.bit_length() - 1))
    strides, copies, bit = [0] * len(shape), 0, 0
    for item in draw(st.permutations([*range(len(shape)), *fillers])):
        if isinstance(item, int):
            strides[item], bit = 1 << bit, bit + widths[item]
        else:
            copies |= (1 << bit) if item == "copy" and 1 << bit < slots else 0
            bit += 1
    return hc.Packing(shape, tuple(strides), slots, copies)


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def test_ciphertexts_that_are_far_apart():
    """Products look for their blocks among the ciphertexts that are there, not among all addresses."""
    x = numbers((2,), 1)
    array = RIG.client.encrypt_array(x, hc.Packing((2,), (1 << 39,), 64))
    for program in (
        lambda x: x.reshape(2, -1) @ x.reshape(2, -1).T,
        lambda x: x.reshape(2, 1) @ x.reshape(1, 2),
    ):
        RIG.compare(RIG.run(program, array), program(x))


PROGRAMS = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "sum of the sum": lambda x, y: np.sum(x, axis=-1, keepdims=True) + y,
    "sum of what was cut": lambda x, y: np.sum((x + y)[..., :2], axis=0),
    "sum of both": lambda x, y: np.sum(x - y),
    "centred": lambda x, y: x - y.mean(axis=0),
    "reshaped": lambda x, y: np.ravel(x + y)[::-1],
    "beside": lambda x, y: np.concatenate([np.ravel(x), np.ravel(y)]),
    "rolled": lambda x, y: np.roll(x, 1, axis=-1) * y,
    "plain": lambda x, y: (x + 1.0) * np.arange(1.0, 1 + y.shape[-1]),
}


@settings(max_examples=120)
@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=3, max_side=5),
    data=st.data(),
    name=st.sampled_from(sorted(PROGRAMS)),
)
def test_programs_in_any_packing(shapes, data, name):
    values = [numbers(shape, seed) for seed, shape in enumerate(shapes.input_shapes)]
    arrays = [RIG.client.encrypt_array(x, data.draw(packings(x.shape))) for x in values]
    RIG.compare(RIG.run(PROGRAMS[name], *arrays), PROGRAMS[name](*values))


@settings(max_examples=60)
@given(shape=hnp.array_shapes(min_dims=0, max_dims=3, max_side=5), data=st.data())
def test_any_packing_becomes_any_other(shape, data):
    x = numbers(shape, 3)
    array = RIG.client.encrypt_array(x, data.draw(packings(shape)))
    target = data.draw(packings(shape))
    made = RIG.run(lambda x: x.repack(target), array)
    assert made.packing == target
    RIG.compare(made, x)
    again = RIG.run(lambda x: (x + x.repack(target)).repack(), array)
    RIG.compare(again, 2 * x)
