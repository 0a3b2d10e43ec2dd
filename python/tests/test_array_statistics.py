# SPDX-License-Identifier: Apache-2.0
"""Statistics of encrypted samples against numpy: averages, covariances, scores, correlations, errors."""

import halocline as hc
import numpy as np
import pytest
from array_rig import ArrayRig
from halocline.arrays.statistics import inverse_root
from hypothesis import given, settings
from hypothesis import strategies as st

SCORES = 2.0**-15
"""20 bits of 1 / sqrt(variance), and sums of up to 300 squares whose noise, at most 2^-24 each, is divided by
the standard deviation: below 2^-15 for scores up to 4."""


@pytest.fixture(scope="module")
def rig():
    return ArrayRig()


@pytest.fixture(scope="module")
def deep():
    return ArrayRig("test-n12-d14")


def samples(count, variables, seed=1):
    """Correlated variables, with variances within a factor of 5."""
    rng = np.random.default_rng(seed)
    common = rng.uniform(-1, 1, (count, 1))
    return 0.4 + 0.5 * common + rng.uniform(-1, 1, (count, variables)) * np.linspace(0.7, 1.2, variables)


@settings(max_examples=10)
@given(data=st.data(), count=st.integers(2, 60), variables=st.integers(1, 9), rowvar=st.booleans())
def test_covariances(rig, data, count, variables, rowvar):
    x = samples(count, variables)
    if data.draw(st.booleans()):
        x = x + 1j * samples(count, variables, 2)[::-1]
    x = x.T.copy() if rowvar else x
    bias = data.draw(st.booleans())
    rig.check(lambda x: np.cov(x, rowvar=rowvar, bias=bias), x)


def test_covariances_cost_four_levels(rig):
    """Also over several ciphertexts: 256 x 16 takes four of 1024 slots."""
    x = samples(256, 16)
    made = rig.check(lambda x: np.cov(x, rowvar=False), x, level=4)
    assert made.shape == (16, 16)
    rig.check(lambda x: np.cov(x.T), x, level=4)
    rig.check(np.cov, x[:64, :8].T.copy(), level=4)
    low = rig.run(lambda x: hc.cov(x, rowvar=False, level=0), x)
    assert low.level == 0
    rig.compare(low, np.cov(x, rowvar=False))


def test_weights_of_samples(rig):
    x, rng = samples(40, 3), np.random.default_rng(3)
    reliable, counts = rng.uniform(0, 1, 40), rng.integers(0, 4, 40)
    for options in (
        {"aweights": reliable},
        {"fweights": counts},
        {"fweights": counts, "aweights": reliable},
        {"fweights": counts, "bias": True},
    ):
        rig.check(lambda x, options=options: np.cov(x, rowvar=False, **options), x)
    rig.check(lambda x: np.average(x, axis=0, weights=reliable), x, level=1)
    rig.check(lambda x: np.average(x, weights=np.abs(samples(40, 3))), x)
    rig.check(lambda x: np.average(x, axis=1), x)


def test_one_variable_and_two(rig):
    x, y = samples(50, 2).T.copy()
    assert rig.check(np.cov, x).shape == ()
    rig.check(np.cov, x, y)


@pytest.mark.parametrize(("count", "variables"), [(64, 4), (50, 5), (300, 7), (2, 2)])
@pytest.mark.parametrize("rowvar", [False, True])
def test_correlations_and_scores(deep, count, variables, rowvar):
    x = samples(count, variables, 4)
    bounds = hc.variance_range(x, rowvar=False, margin=1.2)
    given = x.T.copy() if rowvar else x
    made = deep.run(lambda x: hc.corrcoef(x, rowvar=rowvar, variances=bounds), given)
    assert np.abs(deep.client.decrypt(made) - np.corrcoef(given, rowvar=rowvar)).max() < SCORES
    scores = deep.run(lambda x: hc.standardize(x, int(rowvar), variances=bounds), given)
    wanted = (x - x.mean(axis=0)) / x.std(axis=0)
    assert np.abs(deep.client.decrypt(scores) - (wanted.T if rowvar else wanted)).max() < SCORES
    assert scores.is_real and scores.is_clean


def test_correlations_of_encrypted_columns(deep):
    """The program of the guide: no rotation, level or packing is named; 10 levels for high / low up to 5."""
    x = samples(256, 16, 5)
    bounds = (0.2, 1.0)
    assert bounds[0] < x.var(axis=0).min() and x.var(axis=0).max() < bounds[1]

    def program(x):
        return hc.corrcoef(x, rowvar=False, variances=bounds)

    made = deep.run(program, x)
    assert made.level == deep.params.max_level - 10
    assert np.abs(deep.client.decrypt(made) - np.corrcoef(x, rowvar=False)).max() < SCORES
    assert max(deep.client.keys_for(program, x).levels.values()) <= deep.params.max_level


@settings(max_examples=20)
@given(ratio=st.floats(1.5, 300), bits=st.floats(6, 24))
def test_inverse_roots_are_as_precise_as_asked(ratio, bits):
    found = inverse_root((1.0, ratio), bits)
    v = np.linspace(1.0, ratio, 4001)
    u = (2 * v - 1 - ratio) / (ratio - 1)
    assert np.abs(found(u) - np.sqrt(ratio / v)).max() <= 1.01 * 2.0**-bits
    assert found.degree <= 511


def test_variances_from_samples():
    x = samples(100, 3)
    low, high = hc.variance_range(x, rowvar=False)
    assert low == pytest.approx(x.var(axis=0).min() / 2)
    assert high == pytest.approx(x.var(axis=0).max() * 2)
    with pytest.raises(hc.InvalidArgument, match="vary"):
        hc.variance_range(np.ones((3, 4)))


def test_what_does_not_fit_says_so(rig):
    x = samples(8, 3)
    wrong = {
        "variances=": np.corrcoef,
        "positive bound": lambda x: hc.corrcoef(x, variances=(0, 1)),
        "closer to each other": lambda x: hc.corrcoef(x, variances=(1e-6, 1)),
        "more samples": lambda x: np.cov(x, rowvar=False, ddof=8),
        "as many": lambda x: np.average(x, axis=0, weights=np.ones(3)),
        "sum to 0": lambda x: np.average(x, axis=0, weights=[1, -1] * 4),
        "not negative": lambda x: np.cov(x, rowvar=False, aweights=-np.ones(8)),
        "expected real samples": lambda x: hc.standardize(x * 1j, variances=(1, 2)),
        "one or two": lambda x: np.cov(x.reshape(2, 4, 3)),
        "at least two": lambda x: np.cov(x[:1], rowvar=False),
    }
    for text, program in wrong.items():
        with pytest.raises(hc.InvalidArgument, match=text):
            rig.run(program, x)
    with pytest.raises(hc.WrongType, match="encrypt_array"):
        rig.run(lambda x: hc.cov(x.parts[0]), x)
    with pytest.raises(hc.LevelExhausted, match="takes level"):
        rig.run(lambda x: hc.cov(x, level=6), x)
