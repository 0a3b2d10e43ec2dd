# SPDX-License-Identifier: Apache-2.0
"""Random programs through the public interface against numpy, with an error bound that is carried along.

Bound: every operation adds at most NOISE in a slot. For N = 2^11 the largest contribution is a key switch or
a rescale, whose error has a deviation of about sqrt(N) * 2^6 / 2^40 = 2^-28.5 in a slot; eight deviations,
and two bits for the coarser scale of 64-bit words, give 2^-23. Errors of operands propagate as in the
formulas beside the operations.
"""

import dataclasses

import halocline as hc
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NOISE = 2.0**-23
LARGEST = 200.0
STEPS = (1, 2, 4, -1)


@dataclasses.dataclass
class Tracked:
    """A ciphertext, what it should hold, and how far off it may be."""

    ct: hc.Ciphertext
    value: np.ndarray
    error: float

    @property
    def size(self):
        return float(np.abs(self.value).max()) + self.error


def add(a, b):
    return Tracked(a.ct + b.ct, a.value + b.value, a.error + b.error + NOISE)


def sub(a, b):
    return Tracked(a.ct - b.ct, a.value - b.value, a.error + b.error + NOISE)


def multiply(a, b):
    return Tracked(
        a.ct * b.ct, a.value * b.value, a.size * b.error + b.size * a.error + NOISE * (1 + a.size + b.size)
    )


def add_plain(a, p):
    return Tracked(p + a.ct, a.value + p, a.error + NOISE)


def multiply_plain(a, p):
    return Tracked(a.ct * p, a.value * p, float(np.abs(p).max()) * a.error + NOISE * (1 + a.size))


def rotate(a, k):
    return Tracked(a.ct.rotate(k), np.roll(a.value, -k), a.error + NOISE)


def conj(a):
    return Tracked(a.ct.conj(), a.value.conj(), a.error + NOISE)


def drop(a):
    return Tracked(a.ct.drop_level(a.ct.level - 1), a.value, a.error + NOISE)


def plain_operand(seed, kind, slots):
    """A vector, a complex vector, a number, a small integer or a complex number."""
    rng = np.random.default_rng(seed)
    return [
        lambda: rng.uniform(-2, 2, slots),
        lambda: rng.uniform(-1, 1, slots) + 1j * rng.uniform(-1, 1, slots),
        lambda: float(rng.uniform(-2, 2)),
        lambda: int(rng.integers(-3, 4)),
        lambda: complex(rng.uniform(-1, 1), rng.uniform(-1, 1)),
    ][kind]()


OPERATION = st.tuples(
    st.sampled_from(
        ["add", "sub", "multiply", "add_plain", "multiply_plain", "rotate", "conj", "drop", "square"]
    ),
    st.integers(0, 100),
    st.integers(0, 100),
    st.integers(0, 2**32 - 1),
)


def apply(pool, operation, slots):
    """One operation on members of the pool; None when it would not fit the levels or sizes."""
    name, first, second, seed = operation
    a, b = pool[first % len(pool)], pool[second % len(pool)]
    needs_level = {
        "multiply": min(a.ct.level, b.ct.level),
        "multiply_plain": a.ct.level,
        "square": a.ct.level,
    }
    needs_level |= {
        "add": min(a.ct.level, b.ct.level),
        "sub": min(a.ct.level, b.ct.level),
        "drop": a.ct.level,
    }
    if needs_level.get(name, 1) == 0 or a.size * max(b.size, 2.0) > LARGEST:
        return None
    plain = plain_operand(seed, second % 5, slots)
    return {
        "add": lambda: add(a, b),
        "sub": lambda: sub(a, b),
        "multiply": lambda: multiply(a, b),
        "square": lambda: multiply(a, a),
        "add_plain": lambda: add_plain(a, plain),
        "multiply_plain": lambda: multiply_plain(a, plain),
        "rotate": lambda: rotate(a, STEPS[seed % len(STEPS)]),
        "conj": lambda: conj(a),
        "drop": lambda: drop(a),
    }[name]()


def run_program(client, engine, operations, seed, slots):
    """Runs a program on two fresh ciphertexts and compares every intermediate result with numpy."""
    rng = np.random.default_rng(seed)
    pool = []
    for level in (engine.params.max_level, engine.params.max_level - 1):
        value = rng.uniform(-1, 1, slots) + 1j * rng.uniform(-1, 1, slots)
        pool.append(Tracked(client.encrypt(value, level=level).to(engine), value, NOISE))
    for operation in operations:
        made = apply(pool, operation, slots)
        if made is not None:
            pool.append(made)
    for each in pool:
        distance = np.abs(client.decrypt(each.ct, real=False) - each.value).max()
        assert distance <= each.error, f"{distance} > {each.error} at level {each.ct.level}"


@settings(max_examples=60)
@given(operations=st.lists(OPERATION, min_size=3, max_size=14), seed=st.integers(0, 1000))
def test_random_programs(deep_client, deep_engine, operations, seed):
    run_program(deep_client, deep_engine, operations, seed, deep_engine.params.slots)


@settings(max_examples=30)
@given(
    operations=st.lists(OPERATION, min_size=3, max_size=10), seed=st.integers(0, 1000), log=st.integers(3, 8)
)
def test_random_programs_on_sparse_slots(deep_client, deep_engine, operations, seed, log):
    run_program(deep_client, deep_engine, operations, seed, 1 << log)


@pytest.fixture(scope="module")
def wide():
    """64-bit words: one prime for each level."""
    params = hc.Params.preset("test-n10-d3-w64", allow_insecure=True)
    client = hc.Client(params, seed=b"w" * 32, threads=1)
    keys = client.evaluation_keys(STEPS, conjugation=True)
    return client, hc.Engine(params, keys, threads=1)


@settings(max_examples=30)
@given(operations=st.lists(OPERATION, min_size=3, max_size=10), seed=st.integers(0, 1000))
def test_random_programs_on_64_bit_words(wide, operations, seed):
    client, engine = wide
    run_program(client, engine, operations, seed, engine.params.slots)
