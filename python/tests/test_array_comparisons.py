# SPDX-License-Identifier: Apache-2.0
"""Comparisons of encrypted arrays, choices, maxima and their places."""

import halocline as hc
import numpy as np
import pytest
from deep_array_rig import DeepArrayRig
from hypothesis import given, settings
from hypothesis import strategies as st

F = hc.functions
BITS = 8
EDGE = hc.sign_epsilon(BITS)
NOISE = 2.0**-22
"""As in test_array_functions.py."""


@pytest.fixture(scope="module")
def rig():
    return DeepArrayRig(12)


@pytest.fixture(scope="module")
def deep():
    return DeepArrayRig(60)


def apart(shape, least=0.0, most=1.0, seed=4):
    """Different numbers, at equal distances, in random order."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(least, most, count)).reshape(shape)


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(1)
    return rng.uniform(-0.5, 0.5, (3, 5)), rng.uniform(-0.5, 0.5, 5)


SELECTED = {
    "maximum": (lambda a, b: F.maximum(a, b, interval=(-1, 1)), np.maximum),
    "minimum": (lambda a, b: F.minimum(a, b, interval=(-1, 1)), np.minimum),
    "maximum with a number": (
        lambda a, b: F.maximum(0.1, a, interval=(-1, 1)),
        lambda a, b: np.maximum(a, 0.1),
    ),
    "absolute": (lambda a, b: F.absolute(a, interval=(-1, 1)), lambda a, b: np.abs(a)),
    "relu": (lambda a, b: F.relu(a - b, interval=(-1, 1)), lambda a, b: np.maximum(a - b, 0)),
    "wide": (lambda a, b: F.maximum(3 * a, b, interval=(-2, 2)), lambda a, b: np.maximum(3 * a, b)),
    "narrow": (lambda a, b: F.relu(0.2 * a, interval=(-0.1, 0.1)), lambda a, b: np.maximum(0.2 * a, 0)),
    "clip": (lambda a, b: F.clip(a, -0.25, 0.2, interval=(-0.5, 0.5)), lambda a, b: np.clip(a, -0.25, 0.2)),
    "clip above": (lambda a, b: F.clip(a, None, 0.2, interval=(-0.5, 0.5)), lambda a, b: np.minimum(a, 0.2)),
}


@pytest.mark.parametrize("name", SELECTED)
def test_selections_are_within_the_error_of_their_relus(rig, pair, name):
    program, exact = SELECTED[name]
    found = rig.run(program, *pair)
    wanted = exact(*pair)
    largest = 2.0 if name == "wide" else 0.1 if name == "narrow" else 1.0
    relus = 2 if name in ("absolute", "clip") else 1
    error = F.describe("relu", (-largest, largest), BITS).error
    assert rig.client.decrypt(found).shape == wanted.shape
    assert np.abs(rig.client.decrypt(found) - wanted).max() <= relus * error + NOISE
    if name not in ("maximum", "maximum with a number", "wide"):  # b, broadcast, fills unused slots
        assert rig.unused(found) < NOISE


@pytest.mark.parametrize(
    ("name", "program", "exact"),
    [
        ("sign", lambda a, b: F.sign(a - b, interval=(-1, 1)), lambda a, b: np.sign(a - b)),
        ("greater", lambda a, b: F.greater(a, b, interval=(-1, 1)), lambda a, b: a > b),
        ("less", lambda a, b: F.less(a, b, interval=(-1, 1)), lambda a, b: a < b),
        ("greater", lambda a, b: F.greater(0.1, a, interval=(-1, 1)), lambda a, b: a < 0.1),
    ],
)
def test_jumps_are_right_away_from_equality(rig, pair, name, program, exact):
    a, b = pair[0], np.broadcast_to(pair[1], (3, 5))
    found = rig.run(program, a, b)
    values, wanted = rig.client.decrypt(found), exact(a, b).astype(float)
    difference = np.abs(a - b) if "0.1" not in str(program.__code__.co_consts) else np.abs(a - 0.1)
    sure = difference > EDGE
    assert sure.sum() >= 10
    assert np.abs(values - wanted)[sure].max() <= 2.0**-BITS + NOISE
    assert values.min() >= -1 - 2.0**-BITS and values.max() <= 1 + 2.0**-BITS
    cost = F.describe(name, (-1, 1), BITS)
    assert found.level == rig.params.max_level - cost.levels
    assert found.is_clean and rig.unused(found) < NOISE


@given(precision=st.integers(6, 13), high=st.floats(0.05, 9), name=st.sampled_from(F.COMPARISONS))
@settings(max_examples=15)
def test_levels_and_errors_of_comparisons_are_those_of_the_engine(precision, high, name):
    cost = F.describe(name, (-high / 2, high), precision)
    exact = hc.sign_levels(precision, high if high > 1 else 1 / np.floor(1 / high))
    jumps = ("sign", "greater", "less", "equal", "not_equal")
    assert cost.levels == exact + (name not in jumps[:3])
    assert np.isnan(cost.error) == (name in jumps)
    if name not in jumps:
        assert 0 < cost.error <= 4 * 2.0**-precision * max(high, 2 * high)


def test_choices_by_encrypted_and_plain_conditions(rig, pair):
    a, b = pair
    a = np.where(np.abs(a - 0.1) < 0.1, 0.4, a)

    def program(a, b):
        return F.where(F.greater(a, 0.1, interval=(-1, 1)), a, b)

    wanted = np.where(a > 0.1, a, b)
    assert np.abs(rig.decrypted(program, a, b) - wanted).max() <= 2.0**-BITS + NOISE
    chosen = np.array([True, False, False, True, True])
    for made, wanted in [
        (lambda a, b: np.where(chosen, a, b), np.where(chosen, a, b)),
        (lambda a, b: np.where(chosen, a, 0.5), np.where(chosen, a, 0.5)),
        (lambda a, b: F.where(chosen, 2.0, b), np.where(chosen, 2.0, b)),
    ]:
        assert np.abs(rig.decrypted(made, a, b) - wanted).max() < NOISE
    half = rig.decrypted(lambda a, b: F.where(F.greater(a, a, interval=(-1, 1)), a, b), a, b)
    assert np.abs(half - (a + b) / 2).max() < NOISE  # equal: between both


def test_equal_labels_are_found(rig):
    labels = np.array([[0, 1, 2, 3], [3, 2, 1, 0]]) * 1.0
    found = rig.run(lambda x: F.equal(x, 2, interval=(-2, 1)), labels)
    # Differences of 1 are 1/2 of the largest one, beyond the edge of 0.054; errors of a sign count twice.
    assert np.abs(rig.client.decrypt(found) - (labels == 2)).max() <= 2 * 2.0**-BITS + NOISE
    assert found.is_clean and rig.unused(found) < NOISE
    other = rig.decrypted(lambda x: F.not_equal(x, 2, interval=(-2, 1)), labels)
    assert np.abs(other - (labels != 2)).max() <= 2 * 2.0**-BITS + NOISE
    assert (F.equal(labels, 2) == (labels == 2)).all()


def test_ciphertexts_are_compared_too(rig):
    a, b = np.random.default_rng(2).uniform(-0.5, 0.5, (2, 512))
    engine = hc.Engine(rig.params, rig.client.evaluation_keys(), threads=1)
    found = engine.run(
        lambda a, b: F.maximum(a, b, interval=(-1, 1)), rig.client.encrypt(a), rig.client.encrypt(b)
    )
    error = F.describe("maximum", (-1, 1), BITS).error
    assert np.abs(rig.client.decrypt(found) - np.maximum(a, b)).max() <= error + NOISE


# Along axes


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((4, 4), 0), ((3, 5), 1), ((3, 5), 0), ((3, 2), None), ((2, 3, 2), 1), ((1, 3), 0), ((6,), -1)],
)
def test_maxima_and_minima_along_axes(deep, shape, axis):
    x = apart(shape)
    length = x.size if axis is None else x.shape[axis]
    rounds = (length - 1).bit_length()
    for ours, numpys in ((F.max, np.max), (F.min, np.min)):
        for keepdims in (False, True):
            found = deep.run(lambda x: ours(x, axis, keepdims=keepdims, interval=(0, 1)), x)  # noqa: B023
            wanted = numpys(x, axis=axis, keepdims=keepdims)
            assert found.shape == wanted.shape
            error = rounds * F.describe("maximum", (-1.1, 1.1), BITS).error
            assert np.abs(deep.client.decrypt(found) - wanted).max() <= error + NOISE
    # A factor there and back, as the width of 1 grows by the errors, and a maximum for each round.
    at_most = rounds * F.describe("maximum", (-1, 1), BITS).levels + 3
    assert found.level >= deep.params.max_level - at_most


@pytest.mark.parametrize(
    ("shape", "axis"), [((4, 2), 0), ((3, 5), 1), ((2, 3), None), ((3,), 0), ((1, 4), 0)]
)
def test_places_of_maxima_and_minima(deep, shape, axis):
    x = apart(shape, -1, 1)  # 2 / 14 between neighbours; sure from 0.054 times the width on
    for ours, numpys in ((F.argmax, np.argmax), (F.argmin, np.argmin)):
        index = deep.run(lambda x: ours(x, axis, interval=(-1, 1)), x)  # noqa: B023
        wanted = numpys(x, axis=axis)
        assert index.shape == wanted.shape
        length = x.size if axis is None else x.shape[axis]
        error = length**2 * 2.0**-BITS  # a share of 2^-8 goes wrong in each round, and counts by its index
        assert np.abs(deep.client.decrypt(index) - wanted).max() <= error
        hot = deep.run(lambda x: ours(x, axis, one_hot=True, interval=(-1, 1)), x)  # noqa: B023
        exact = ours(x, axis, one_hot=True)
        assert exact.shape == x.shape and exact.sum() == np.size(wanted)
        assert np.abs(deep.client.decrypt(hot) - exact).max() <= 4 * 2.0**-BITS
        assert deep.unused(hot) < NOISE


def test_axes_across_ciphertexts():
    rig = DeepArrayRig(40)
    x = np.linspace(-0.4, 0.4, 1536).reshape(3, 512)  # a ciphertext for each row
    x[0, 5], x[2, 500] = 0.5, 0.45
    found = rig.decrypted(lambda x: F.max(x, 0, interval=(-0.4, 0.5)), x)
    assert np.abs(found - x.max(0)).max() <= 2 * F.describe("maximum", (-1, 1)).error + NOISE
    hot = rig.run(lambda x: F.argmax(x, 0, one_hot=True, interval=(-0.4, 0.5)), x)
    exact = F.argmax(x, 0, one_hot=True)
    near = np.sort(x, axis=0)[2] - np.sort(x, axis=0)[1] > 0.06
    assert near.sum() > 500
    assert np.abs(rig.client.decrypt(hot) - exact)[:, near].max() <= 4 * 2.0**-BITS


def combined(x, y):
    """Operators of comparison and functions of numpy, without an interval."""
    larger = np.maximum(x, y) + np.minimum(x, 0.5) + abs(x - y)
    chosen = np.where(x > y, x, larger) * (y < 0.1)
    return np.clip(chosen, -1, 1) + x.max(axis=1, keepdims=True) - np.min(y, axis=0) + np.sign(x).sum() * 0.01


def test_operators_and_numpy_in_calibrated_programs(deep):
    samples = [(apart((2, 3), -1, 1, seed), apart((2, 3), -0.9, 0.9, seed + 50)) for seed in range(12)]
    calibrated = hc.calibrate(combined, samples, margin=1.1)
    names = [each.function for each in calibrated.sites]
    assert names == ["maximum", "minimum", "absolute", "greater", "less", "clip", "max", "min", "sign"]
    assert [each.values for each in calibrated.sites][:3] == ["a - b", "a - b", "x"]
    x, y = np.array([[0.9, -0.5, 0.2], [-0.8, 0.6, -0.2]]), np.array([[-0.6, 0.5, 0.8], [0.4, -0.3, 0.7]])
    # Ten selections and choices of about 2^-8 times 2, of values up to 2.
    assert np.abs(deep.decrypted(calibrated, x, y) - calibrated(x, y)).max() < 10 * 2.0**-BITS * 4


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: x > 0, hc.InvalidArgument, "functions.greater"),
        (abs, hc.InvalidArgument, "functions.absolute"),
        (lambda x: x.max(), hc.InvalidArgument, "functions.max"),
        (lambda x: F.max(x, 2, interval=(0, 1)), hc.InvalidArgument, "axis 2"),
        (lambda x: F.max(x, (0, 1), interval=(0, 1)), hc.WrongType, "one axis"),
        (lambda x: F.maximum(x, 0, interval=(0, 1), precision=20), hc.InvalidArgument, "6 to 13"),
        (lambda x: F.maximum(x, "a", interval=(0, 1)), hc.WrongType, "real numbers"),
        (lambda x: F.maximum(x * 1j, 0, interval=(0, 1)), hc.WrongType, "complex"),
        (lambda x: F.clip(x, 1, 0, interval=(0, 1)), hc.InvalidArgument, "lower one first"),
        (lambda x: F.clip(x, None, None, interval=(0, 1)), hc.InvalidArgument, "neither"),
        (
            lambda x: np.clip(x, np.zeros(4), np.ones(4)),
            hc.InvalidArgument,
            "shape .4,., expected one number",
        ),
        (
            lambda x: F.clip(x, 0, [1, 2], interval=(0, 1)),
            hc.InvalidArgument,
            "shape .2,., expected one number",
        ),
        (lambda x: F.max(x.parts[0], interval=(0, 1)), hc.WrongType, "encrypt_array"),
        (lambda x: F.argmax(x.parts[0], interval=(0, 1)), hc.WrongType, "encrypt_array"),
        (lambda x: F.sign(x, interval=(1, 0)), hc.InvalidArgument, "lower one first"),
        (lambda x: F.sort(x, interval=(0, 1)), hc.LevelExhausted, "level"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, kind, message):
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params, seed=bytes(range(32)), threads=1)
    engine = hc.Engine(params, device="ghost")
    with pytest.raises(kind, match=message):
        engine.run(call, client.encrypt_array(np.ones((3, 5))))
