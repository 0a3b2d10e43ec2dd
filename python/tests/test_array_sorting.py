# SPDX-License-Identifier: Apache-2.0
"""Sorting encrypted arrays: the network in the clear, and encrypted within the errors of its stages."""

import halocline as hc
import numpy as np
import pytest
from deep_array_rig import DeepArrayRig
from halocline.arrays.sorting import stages
from hypothesis import given
from hypothesis import strategies as st

F = hc.functions
NOISE = 2.0**-20
"""As in test_array_functions.py, after up to ten stages."""


def run_network(values):
    """The network with exact comparisons."""
    found = list(values)
    for stage in stages(len(found)):
        assert not set(stage.lower) & {i + stage.distance for i in stage.lower}  # pairs share no element
        for i in stage.lower:
            low, high = sorted((found[i], found[i + stage.distance]))
            found[i], found[i + stage.distance] = low, high
    return found


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40))
def test_the_network_sorts_any_number_of_numbers(values):
    assert run_network(values) == sorted(values)


@pytest.mark.parametrize("length", range(1, 10))
def test_the_network_sorts_all_zeros_and_ones(length):
    """By the 0-1 principle (Knuth, volume 3, section 5.3.4) it then sorts everything."""
    for number in range(1 << length):
        values = [number >> i & 1 for i in range(length)]
        assert run_network(values) == sorted(values)


def test_the_network_has_the_stages_of_the_guide():
    for logarithm in range(1, 8):
        assert len(stages(1 << logarithm)) == logarithm * (logarithm + 1) // 2


@pytest.fixture(scope="module")
def rig():
    return DeepArrayRig(60)


def apart(shape, least, most, seed=11):
    """Different numbers, at equal distances, in random order."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(least, most, count)).reshape(shape)


def bound(length, width, bits):
    """Errors of all stages: each off by that of a ReLU on a width that may have been rounded up."""
    return len(stages(length)) * F.describe("relu", (-1.25 * width, 1.25 * width), bits).error


@pytest.mark.parametrize(
    ("shape", "axis", "interval"),
    [
        ((4, 3), 0, (0, 1)),
        ((3, 5), -1, (0, 1)),
        ((6,), 0, (-3, 4)),
        ((2, 2), None, (0, 1)),
        ((1, 4), 0, (0, 1)),
    ],
)
def test_arrays_are_sorted_along_axes(rig, shape, axis, interval):
    x = apart(shape, *interval)
    found = rig.run(lambda x: F.sort(x, axis, interval=interval, precision=8), x)
    wanted = np.sort(x, axis=axis)
    assert found.shape == wanted.shape
    error = bound(wanted.shape[axis or 0], interval[1] - interval[0], 8)
    assert np.abs(rig.client.decrypt(found) - wanted).max() <= error + NOISE
    assert rig.unused(found) < NOISE  # the stages leave other slots alone


def test_levels_of_a_sort_are_those_of_its_stages(rig):
    x = apart((4,), 0, 1)
    found = rig.run(lambda x: F.sort(x, interval=(0, 0.9), precision=8), x * 0.9)
    relu = F.describe("relu", (-1, 1), 8).levels
    assert found.level == rig.params.max_level - 3 * (relu + 1)


def test_rows_across_ciphertexts_are_sorted(rig):
    x = np.stack([apart((500,), 0, 0.9, seed) for seed in range(3)])  # a ciphertext for each row
    found = rig.decrypted(lambda x: F.sort(x, 0, interval=(0, 0.9), precision=8), x)
    assert np.abs(found - np.sort(x, axis=0)).max() <= bound(3, 0.9, 8)


def test_neighbours_in_two_ciphertexts_are_sorted(rig):
    x = apart((2, 3), 0, 0.9)
    packing = hc.Packing((2, 3), (1, 2), 4)  # column 2 is in another ciphertext than columns 0 and 1
    found = rig.run(lambda x: F.sort(x, 1, interval=(0, 0.9), precision=8), x, packing=packing)
    assert len(found.parts) == 2
    assert np.abs(rig.client.decrypt(found) - np.sort(x, axis=1)).max() <= bound(3, 0.9, 8)


def test_bootstraps_are_placed_where_a_sort_needs_them():
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    client = hc.Client(params, seed=bytes(range(32)), threads=1)
    x = apart((4,), 0, 0.9)

    def program(x):
        return F.sort(x, interval=(0, 0.9))

    encrypted = client.encrypt_array(x)
    plan = hc.key_plan(params, program, encrypted, bootstrap="auto")
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), threads=1, bootstrap="auto")
    found = engine.run(program, encrypted)
    assert F.describe("sort", (0, 0.9), length=4).levels > params.max_level
    assert "bootstrap" in str(engine.explain())
    # Two bootstraps of these small parameters leave 2^-12 or better.
    assert np.abs(client.decrypt(found) - np.sort(x)).max() <= bound(4, 0.9, 8) + 2.0**-12


@pytest.mark.parametrize(
    "packing",
    [
        hc.Packing((3, 2), (1, 4), 32, copies=24),
        hc.Packing((3, 2), (2, 1), 16, copies=8),
        hc.Packing((3, 2), (4, 1), 4),
        hc.Packing((3, 2), (8, 32), 16),
    ],
    ids=["copies", "more copies", "rows apart", "columns apart, with gaps"],
)
def test_any_packing_is_sorted_and_has_maxima(packing):
    rig = DeepArrayRig(26)
    x = apart((3, 2), 0.1, 0.9)
    how = {"interval": (0, 0.9), "precision": 7}
    found = rig.decrypted(lambda x: F.sort(x, 0, **how), x, packing=packing)
    assert np.abs(found - np.sort(x, axis=0)).max() <= bound(3, 0.9, 7)
    largest = rig.decrypted(lambda x: F.max(x, 1, **how), x, packing=packing)
    assert np.abs(largest - x.max(axis=1)).max() <= bound(3, 0.9, 7)
    place = rig.decrypted(lambda x: F.argmax(x, 0, one_hot=True, **how), x, packing=packing)
    assert np.abs(place - F.argmax(x, 0, one_hot=True)).max() <= 4 * 2.0**-7
    logs = rig.run(lambda x: F.log(x, interval=(0.1, 0.9)), x, packing=packing)
    assert np.abs(rig.client.decrypt(logs) - np.log(x)).max() < 2.0**-18
    assert rig.unused(logs) < NOISE


def test_medians_and_percentiles():
    rig = DeepArrayRig(60)
    x = apart((5, 2), 0, 0.9)
    how = {"interval": (0, 0.9), "precision": 7}
    for program, wanted in [
        (lambda x: F.median(x, 0, **how), np.median(x, axis=0)),
        (lambda x: F.median(x, 1, **how), np.median(x, axis=1)),
        (lambda x: F.percentile(x, 30, 0, **how), np.percentile(x, 30, axis=0)),
        (lambda x: F.percentile(x, 100, 1, **how), x.max(axis=1)),
    ]:
        found = rig.decrypted(program, x)
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() <= bound(5, 0.9, 7)


def test_calibrated_programs_sort(rig):
    def program(x):
        return np.sort(x, axis=0)[0] + np.median(x)

    samples = [apart((2, 2), 0, 1, seed) for seed in range(5)]
    calibrated = hc.calibrate(program, samples)
    assert [each.function for each in calibrated.sites] == ["sort", "median"]
    x = apart((2, 2), 0, 1, 8)
    assert np.abs(rig.decrypted(calibrated, x) - program(x)).max() <= bound(2, 1.3, 8) + bound(4, 1.3, 8)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (np.sort, hc.InvalidArgument, "functions.sort"),
        (lambda x: F.sort(x, 3, interval=(0, 1)), hc.InvalidArgument, "axis 3"),
        (lambda x: F.sort(x.parts[0], interval=(0, 1)), hc.WrongType, "encrypt_array"),
        (lambda x: F.median(x.parts[0], interval=(0, 1)), hc.WrongType, "encrypt_array"),
        (lambda x: F.sort(x, interval=(0, 1), precision=30), hc.InvalidArgument, "6 to 13"),
        (lambda x: F.percentile(x, 101, interval=(0, 1)), hc.InvalidArgument, "0 to 100"),
        (lambda x: F.percentile(x, [1, 2], interval=(0, 1)), hc.WrongType, "one number"),
        (lambda x: F.sort(x * 1j, interval=(0, 1)), hc.WrongType, "complex"),
    ],
)
def test_what_cannot_be_sorted_is_refused(call, kind, message):
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params, seed=bytes(range(32)), threads=1)
    engine = hc.Engine(params, device="ghost")
    with pytest.raises(kind, match=message):
        engine.run(call, client.encrypt_array(np.ones((3, 5))))
