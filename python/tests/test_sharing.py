# SPDX-License-Identifier: Apache-2.0
"""Decryption of results that leave the client: width of the noise, bounds, what is refused."""

import math

import halocline as hc
import numpy as np
import pytest


@pytest.fixture
def sharer(params):
    """A client that has shared nothing yet."""
    return hc.Client(params, threads=1)


def square(ct):
    return ct * ct


@pytest.fixture(scope="module")
def square_bound(params):
    return hc.measure_error_bound(params, square, np.full(params.slots, 1.0), threads=1)


def test_width_is_that_of_the_literature():
    # Li, Micciancio, Schultz, Sorrell 2022 as restated by OpenFHE's CKKS_NOISE_FLOODING.md:
    # sigma = sqrt(12 tau) 2^(s/2) t. One query, 30 bits: 2^16.79 times the bound.
    found = hc.plan_flooding(2.0**40, 512, 2.0**-30)
    assert found.flooding_bits == pytest.approx(10 + 16.7925, abs=1e-3)
    assert (found.queries, found.statistical_bits) == (1, 30.0)
    many = hc.plan_flooding(2.0**40, 512, 2.0**-30, queries=1024, statistical_bits=64)
    assert many.flooding_bits == pytest.approx(found.flooding_bits + 5 + 17)
    # Divergence of Gaussians of deviation sigma that are t apart, summed over the queries.
    t, sigma = 2.0**10, 2.0**many.flooding_bits
    assert 1024 * t**2 / (2 * sigma**2) == pytest.approx(2.0**-64 / 24)
    assert many.precision_bits == pytest.approx(40 - many.flooding_bits - 4.5)


def test_slot_errors_bound_the_norm_of_the_coefficients(rng):
    slots = 64
    errors = rng.normal(size=2 * slots)
    roots = np.exp(1j * np.pi * (2 * np.arange(slots) + 1) / (2 * slots))  # one of each conjugate pair
    values = np.polynomial.polynomial.polyval(roots, errors)
    assert np.mean(np.abs(values) ** 2) == pytest.approx(np.sum(errors**2))
    assert np.linalg.norm(errors) <= np.abs(values).max()


@pytest.mark.parametrize("slots", [1, 16, 512])
def test_noise_has_the_reported_width(sharer, rng, slots):
    values = rng.uniform(-1, 1, slots) + 1j * rng.uniform(-1, 1, slots)
    ct = sharer.encrypt(values)
    count = max(1, 1024 // slots)
    results = [sharer.decrypt_for_sharing(ct, queries=count) for _ in range(count)]
    noise = np.concatenate([each.values - values for each in results])
    parts = np.concatenate([noise.real, noise.imag])
    stddev = results[0].flooding.slot_stddev
    assert np.sqrt(np.mean(parts**2)) == pytest.approx(stddev, rel=0.12)  # 2048 samples: 1.6 % each way
    exact = np.abs(sharer.decrypt(ct, real=False) - values).max()
    assert stddev > 1000 * exact


def test_every_call_draws_its_own_noise(sharer, x):
    ct = sharer.encrypt(x)
    first, second = (sharer.decrypt_for_sharing(ct, queries=2) for _ in range(2))
    assert first.flooding == second.flooding
    assert first.values.dtype == np.float64
    assert not np.any(first.values == second.values)


def test_fresh_bounds_hold_and_are_not_far_off(sharer, params, rng):
    for public in (False, True):
        for slots in (1, 32, params.slots):
            bound = hc.fresh_error_bound(params, slots=slots, public=public)
            worst = 0.0
            for _ in range(10):
                values = rng.uniform(-1, 1, slots)
                error = sharer.decrypt(sharer.encrypt(values, public=public), real=False) - values
                worst = max(worst, float(np.sqrt(np.mean(np.abs(error) ** 2))))
            assert worst < bound < 64 * worst, (public, slots)


def test_computed_results_need_a_bound(sharer, params, keys, x):
    engine = hc.Engine(params, sharer.evaluation_keys(), threads=1)
    result = engine.run(square, sharer.encrypt(x))
    with pytest.raises(hc.InvalidArgument, match="measure_error_bound"):
        sharer.decrypt_for_sharing(result)
    with pytest.raises(hc.InvalidArgument, match="measure_error_bound"):
        sharer.decrypt_for_sharing(sharer.encrypt(x, public=True))


def test_measured_bounds_hold_under_other_keys(sharer, params, square_bound, x):
    engine = hc.Engine(params, sharer.evaluation_keys(), threads=1)
    result = engine.run(square, sharer.encrypt(x))
    worst = np.abs(sharer.decrypt(result, real=False) - x * x).max()
    assert worst < square_bound < 64 * worst
    shared = sharer.decrypt_for_sharing(result, error_bound=square_bound)
    assert np.abs(shared.values - x * x).max() < 6 * shared.flooding.slot_stddev
    assert np.abs(shared.values - x * x).max() > worst


def test_measuring_takes_programs_of_several_results(params):
    def program(a, b):
        return {"sum": a + b, "more": [a * b, (a * b).rotate(1)]}

    bound = hc.measure_error_bound(params, program, np.ones(4), np.ones(4), runs=2, threads=1)
    assert 0 < bound < 1e-3
    with pytest.raises(hc.WrongType, match="no ciphertext"):
        hc.measure_error_bound(params, lambda ct: 5, np.ones(4), runs=2)
    with pytest.raises(hc.InvalidArgument, match="no inputs"):
        hc.measure_error_bound(params, program)
    with pytest.raises(hc.InvalidArgument, match="runs"):
        hc.measure_error_bound(params, program, np.ones(4), np.ones(4), runs=1)


def test_measuring_takes_values_that_are_made_up(sharer, params, x):
    with pytest.raises(hc.WrongType, match="measure_error_bound: got a Ciphertext; give values"):
        hc.measure_error_bound(params, lambda x: x * x, sharer.encrypt(x))
    with pytest.raises(hc.WrongType, match="measure_error_bound: got str, expected a function"):
        hc.measure_error_bound(params, "x*x", [1.0])


def test_no_more_results_than_queries(sharer, x):
    ct = sharer.encrypt(x)
    for _ in range(3):
        sharer.decrypt_for_sharing(ct, queries=3)
    with pytest.raises(hc.InvalidArgument, match="queries"):
        sharer.decrypt_for_sharing(ct, queries=3)
    with pytest.raises(hc.InvalidArgument, match="queries"):
        sharer.decrypt_for_sharing(ct, queries=1000)


def test_a_weaker_result_breaks_the_guarantee_of_later_ones(sharer, x):
    ct = sharer.encrypt(x)
    sharer.decrypt_for_sharing(ct, statistical_bits=20)
    with pytest.raises(hc.InvalidArgument, match="30 bits of security cannot be kept"):
        sharer.decrypt_for_sharing(ct, queries=100)


def test_a_weaker_result_cannot_break_the_guarantee_of_an_earlier_one(sharer, x):
    ct = sharer.encrypt(x)
    sharer.decrypt_for_sharing(ct, queries=2)
    with pytest.raises(hc.InvalidArgument, match="30 bits of security cannot be kept by noise of 20 bits"):
        sharer.decrypt_for_sharing(ct, statistical_bits=20, queries=2)
    sharer.decrypt_for_sharing(ct, queries=2)  # the refused one cost nothing


def test_loaded_clients_count_too(sharer, params, x, tmp_path):
    sharer.save_secret_key(tmp_path / "secret.hlc")
    loaded = hc.Client.load(tmp_path / "secret.hlc", params, threads=1)
    loaded.decrypt_for_sharing(loaded.encrypt(x))
    with pytest.raises(hc.InvalidArgument, match="queries"):
        loaded.decrypt_for_sharing(loaded.encrypt(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error_bound": 1e-20}, "rounding to integers"),
        ({"error_bound": 0.0}, "positive"),
        ({"error_bound": math.nan}, "positive"),
        ({"error_bound": math.inf}, "positive"),
        ({"queries": 0}, "got 0, expected 1 to"),
        ({"statistical_bits": -1}, "positive"),
        ({"statistical_bits": 1e6, "magnitude": 1e300}, "at most 256"),
        ({"magnitude": 0}, "positive"),
        ({"error_bound": 1e-3}, "would leave nothing"),
        ({"statistical_bits": 128}, "would leave nothing"),
        ({"magnitude": 1e-6}, "would leave nothing"),
        ({"statistical_bits": 128, "magnitude": 1e40}, "standard deviation of 2"),
    ],
)
def test_what_cannot_be_shared_is_refused_and_costs_nothing(sharer, x, options, message):
    ct = sharer.encrypt(x)
    with pytest.raises(hc.InvalidArgument, match=message):
        sharer.decrypt_for_sharing(ct, **options)
    sharer.decrypt_for_sharing(ct)  # the one result of the default is still free


def test_other_objects_are_refused(sharer, keys, deep_client):
    with pytest.raises(hc.WrongType, match="Ciphertext"):
        sharer.decrypt_for_sharing(keys)
    with pytest.raises(hc.WrongType, match="number"):
        sharer.decrypt_for_sharing(sharer.encrypt([1.0]), error_bound="small")
    with pytest.raises(hc.InvalidArgument, match="one parameter set"):
        sharer.decrypt_for_sharing(deep_client.encrypt([1.0]))


@pytest.mark.parametrize(
    "arguments",
    [
        (2.0**40, 10**400, 1.0),
        (1e308, 1, 1e308),
        (2.0**40, 1, 1.0, {"queries": 10**400}),
    ],
)
def test_widths_that_are_no_numbers_are_refused(arguments):
    *numbers, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(hc.InvalidArgument):
        hc.plan_flooding(*numbers, **options)


def test_bounds_that_are_no_numbers_are_refused(params):
    with pytest.raises(hc.InvalidArgument, match="finite"):
        hc.fresh_error_bound(params, scale=1e-308)


@pytest.mark.parametrize("margin", [0.5, 0, -1, math.inf, math.nan])
def test_margins_below_the_error_are_refused(params, margin):
    with pytest.raises(hc.InvalidArgument, match=r"margin: got .*, expected"):
        hc.measure_error_bound(params, square, [1.0], margin=margin)
