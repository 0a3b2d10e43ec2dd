"""HELR in the clear: its polynomial, its constants, its twin, its packing."""

import halocline as hc
import numpy as np
import pytest
from halocline.workloads.helr.circuit import HelrLayout
from halocline.workloads.helr.model import (
    exact_sigmoid,
    fit_sigmoid,
    make_constants,
    momenta,
    rehearse,
    train,
)


@pytest.fixture
def signed(rng):
    """50 samples of 20 features and the constant, times their labels."""
    samples = np.hstack([rng.uniform(0, 1, (50, 20)), np.ones((50, 1))])
    return samples * np.sign(samples @ rng.normal(size=21))[:, None]


def test_polynomials_are_those_of_the_papers():
    narrow, wide = fit_sigmoid(8.0), fit_sigmoid(16.0)
    assert (narrow.linear, narrow.cubic) == pytest.approx((-0.15012, 0.0015930), abs=2e-6)
    assert (wide.linear, wide.cubic) == pytest.approx((-0.0843, 0.0002), abs=5e-5)
    points = np.linspace(-8, 8, 4001)
    powers = np.stack([np.ones(4001), points, points**3], axis=1)
    best = np.linalg.lstsq(powers, exact_sigmoid(points), rcond=None)[0]
    assert (narrow.constant, narrow.linear, narrow.cubic) == pytest.approx(best, rel=2e-3)


def test_momenta():
    etas = momenta(4)
    assert etas[0] == 0
    assert etas[1] == pytest.approx(-0.281747, abs=1e-5)
    assert all(a > b > -1 for a, b in zip(etas, etas[1:], strict=False))


@pytest.mark.parametrize("iterations", [1, 2, 7, 32])
@pytest.mark.parametrize("per_period", [1, 3, 4])
def test_twin_equals_training_as_the_papers_state_it(signed, iterations, per_period):
    constants = make_constants(len(signed), iterations, 1.0, 16.0, per_period)
    twin = rehearse(signed, constants)
    plain = train(signed, iterations, 1.0, constants.sigmoid)
    assert twin.weights == pytest.approx(plain.weights, abs=1e-11)
    assert len(twin.packed) == -(-iterations // per_period)
    assert [len(each) for each in constants.periods()][:-1] == [per_period] * (len(twin.packed) - 1)


def test_numbers_fit_into_ciphertexts(signed):
    constants = make_constants(len(signed), 32, 1.0, 16.0, 4)
    assert np.abs(constants.steps).max() < 4
    assert not (constants.steps == np.round(constants.steps)).any()  # products with integers go another way
    assert 2**-10 < constants.backward <= 1
    assert 2**-10 < constants.mask <= 1
    assert np.abs(constants.steps[:, 0]).max() < 2  # U^2 is at most about 1
    for packed in rehearse(signed, constants).packed:
        assert np.abs(packed).max() < 8  # a coefficient is some hundredths of it


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((50, 0, 1.0, 16.0, 4), "0 iterations"),
        ((50, 4, 0.0, 16.0, 4), "rate 0"),
        ((50, 4, 1, -2, 4), "interval -2"),
    ],
)
def test_bad_options(arguments, message):
    with pytest.raises(hc.InvalidArgument, match=message):
        make_constants(*arguments)


@pytest.mark.parametrize(
    ("slots", "samples", "columns"), [(512, 50, 21), (128, 50, 21), (4096, 50, 21), (64, 50, 21)]
)
def test_packed_products(signed, rng, slots, samples, columns):
    """The circuit's rotations and sums on vectors of slots."""
    layout = HelrLayout.of(slots, samples, columns)
    assert layout.rows * layout.width == slots
    assert layout.ciphertexts * slots == layout.rows * layout.columns
    v = rng.normal(size=columns)
    steps = [layout.width * k for k in range(layout.ciphertexts)]

    def total(x, stride, end):
        return sum(np.roll(x, -k) for k in range(0, end, stride))

    repeated = np.tile(layout.vector(v), slots // layout.columns)
    products = sum(a * np.roll(repeated, -k) for a, k in zip(layout.forward(signed), steps, strict=True))
    u = total(products, 1, layout.width)
    assert u[:: layout.width][:samples] == pytest.approx(signed @ v)
    u[np.arange(slots) % layout.width > 0] = 0
    s = total(u, 1, layout.width)
    products = sum(a * np.roll(s, -k) for a, k in zip(layout.backward(signed), steps, strict=True))
    gradient = total(products, layout.columns, slots)
    expected = np.tile(layout.vector(signed.T @ (signed @ v)), slots // layout.columns)
    assert gradient == pytest.approx(expected)


@pytest.mark.parametrize(("samples", "columns"), [(10, 300), (300, 10)])
def test_layouts_that_do_not_fit(samples, columns):
    with pytest.raises(
        hc.InvalidArgument, match=f"{samples} samples of {columns} columns, expected at most 256"
    ):
        HelrLayout.of(256, samples, columns)
