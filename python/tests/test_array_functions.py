# SPDX-License-Identifier: Apache-2.0
"""Functions of encrypted arrays: errors within the stated ones, levels as stated, calibration."""

import math
import pickle
import subprocess
import sys
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from deep_array_rig import DeepArrayRig
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

F = hc.functions
NAMES = [
    "exp", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "erf", "gelu",
    "silu", "softplus", "sin", "cos",
]  # fmt: skip
NOISE = 2.0**-22
"""Noise of 512 slots at a scale of 2^40 is about 2^-31; functions below are at most 100 times as steep."""


@pytest.fixture(scope="module")
def rig():
    return DeepArrayRig(20)


def values(interval, shape, seed=3):
    """Random values of an interval, its ends among them."""
    made = np.random.default_rng(seed).uniform(*interval, shape)
    made.flat[:2] = interval
    return made


@pytest.mark.parametrize("name", NAMES)
def test_functions_are_within_their_stated_error_and_levels(rig, name):
    cost = F.describe(name)
    x = values(cost.interval, (3, 5))
    function = getattr(F, name)
    found = rig.run(lambda x: function(x, interval=cost.interval), x)
    assert np.abs(rig.client.decrypt(found) - function(x)).max() <= cost.error + NOISE
    assert found.level == rig.params.max_level - cost.levels
    assert found.is_clean
    assert rig.unused(found) < NOISE  # one slot in two holds no element


@given(
    name=st.sampled_from(NAMES),
    low=st.floats(-6, 6),
    width=st.floats(0.1, 8),
    precision=st.integers(4, 30),
)
def test_polynomials_keep_their_bound_on_any_interval(name, low, width, precision):
    if name in ("log", "log2", "rsqrt", "sqrt"):
        low = abs(low) + 0.1
    if name == "log1p":
        low = abs(low) - 0.9
    if name == "reciprocal":
        low = abs(low) + 0.1 if low > 0 else low - width - 0.1
    interval = (low, low + width)
    cost = F.describe(name, interval, precision)
    x = np.linspace(*interval, 2001)
    exact = getattr(F, name)(x)
    way = hc.arrays.elementary.approximation(name, interval, precision)
    assert np.abs(way(x) - exact).max() <= cost.error * (1 + 1e-9) + 1e-12 * np.abs(exact).max()
    assert cost.error <= 2.0**-precision * max(1, np.abs(exact).max())
    if precision > 4:
        assert F.describe(name, interval, precision - 4).levels <= cost.levels


@pytest.mark.parametrize(
    ("name", "interval", "precision", "method"),
    [
        ("reciprocal", (1e-5, 1), 20, "Goldschmidt"),
        ("reciprocal", (-1, -1e-5), 20, "Goldschmidt"),
        ("rsqrt", (1e-5, 1), 12, "Newton"),
        ("sqrt", (1e-7, 1), 22, "Newton"),
        ("cos", (-60, 60), 20, "doublings"),
        ("sin", (-60, 60), 20, "doublings"),
    ],
)
def test_wide_intervals_take_iterations(name, interval, precision, method):
    cost = F.describe(name, interval, precision)
    assert method in cost.method
    x = np.unique(
        np.concatenate([np.linspace(*interval, 4001), np.sign(interval[0]) * np.geomspace(1e-7, 1, 4001)])
    )
    x = x[(x >= interval[0]) & (x <= interval[1])]
    exact = getattr(F, name)(x)
    way = hc.arrays.elementary.approximation(name, interval, precision)
    assert np.abs(way(x) - exact).max() <= cost.error


def test_squaring_is_a_way_for_exponentials():
    way = next(iter(hc.arrays.approximations.squared((-8.0, 8.0), 0.001)))
    x = np.linspace(-8, 8, 4001)
    assert np.abs(way(x) - np.exp(x)).max() <= way.error <= 0.001
    assert "squarings" in way.method


def test_iterations_are_as_exact_encrypted(rig):
    for name, interval in [("reciprocal", (0.02, 1)), ("reciprocal", (-1, -0.02)), ("cos", (-30, 30))]:
        cost = F.describe(name, interval)
        x = values(interval, (7,))
        found = rig.run(lambda x, name=name, interval=interval: getattr(F, name)(x, interval=interval), x)
        steepest = 1 / 0.02**2  # of 1 / x: by so much noise of x is magnified
        assert (
            np.abs(rig.client.decrypt(found) - getattr(F, name)(x)).max()
            <= cost.error + NOISE * steepest / 100
        )
        assert found.level == rig.params.max_level - cost.levels


def test_newton_is_as_exact_encrypted():
    rig = DeepArrayRig(24)
    interval = (1e-5, 1)
    cost = F.describe("rsqrt", interval, 12)
    x = np.geomspace(*interval, 16)
    found = rig.run(lambda x: F.rsqrt(x, interval=interval, precision=12), x)
    noise = 2.0**-28 * 0.5 * x**-1.5  # of x, magnified by the derivative
    assert (np.abs(rig.client.decrypt(found) - x**-0.5) <= cost.error + noise).all()
    assert found.level == rig.params.max_level - cost.levels


def test_intervals_without_zero_leave_unused_slots_alone(rig):
    x = values((5, 9), (3, 3))
    found = rig.run(lambda x: F.log(F.sqrt(x, interval=(5, 9)), interval=(2, 3.1)), x)
    assert (
        np.abs(rig.client.decrypt(found) - 0.5 * np.log(x)).max() < 2.0**-17
    )  # two errors of 2^-20 times 9^0.5
    assert rig.unused(found) < NOISE


def test_several_ciphertexts_and_single_ones(rig):
    x = values((-1, 1), (700,))
    found = rig.run(lambda x: F.tanh(x, interval=(-1, 1)), x)
    assert len(found.parts) == 2
    assert np.abs(rig.client.decrypt(found) - np.tanh(x)).max() < 2.0**-19
    ct = rig.client.encrypt(x[:512])
    engine = hc.Engine(rig.params, rig.client.evaluation_keys(), threads=1)
    single = engine.run(lambda ct: F.tanh(ct, interval=(-1, 1)), ct)
    assert np.abs(rig.client.decrypt(single) - np.tanh(x[:512])).max() < 2.0**-19


def test_unclean_arrays_are_cleaned_for_a_level(rig):
    x = values((5, 9), (3, 5))

    def program(x):
        dirty = hc.EncryptedArray([ct + 100 for ct in x.parts], x.packing, clean=False)
        return F.log(dirty, interval=(105, 109))

    found = rig.run(program, x)
    assert np.abs(rig.client.decrypt(found) - np.log(x + 100)).max() < 2.0**-17
    assert rig.unused(found) < NOISE


def test_numbers_in_the_clear_get_exact_values():
    x = np.linspace(0.5, 2, 7)
    for name in NAMES:
        assert getattr(F, name)(x, interval=(0.5, 2)).shape == (7,)
    assert F.exp(x) == pytest.approx(np.exp(x), rel=1e-15)
    assert F.sigmoid(3) == pytest.approx(1 / (1 + math.exp(-3)), rel=1e-14)
    assert F.gelu(x) == pytest.approx([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x], rel=1e-14)
    assert F.divide(1.0, x) == pytest.approx(1 / x)
    assert F.softplus([1, 2]) == pytest.approx(np.log1p(np.exp([1, 2])))


def test_any_function_of_arrays_can_be_applied(rig):
    x = values((0.2, 0.7), (5,))
    for function in (np.arcsin, lambda x: np.sqrt(x) + np.floor(0.5)):
        found = rig.decrypted(lambda x, f=function: F.apply(f, x, interval=(0.2, 0.7), precision=16), x)
        assert np.abs(found - function(x)).max() <= 2.0**-16 + NOISE
    program = hc.calibrate(lambda x: F.apply(np.arctan, x, name="angle"), [x])
    assert program.sites[0].function == "angle"
    assert np.abs(rig.decrypted(program, x) - np.arctan(x)).max() < 2.0**-19
    seen = []
    F.apply(
        lambda x: seen.append((np.min(x), np.max(x))) or np.cos(x),
        rig.client.encrypt_array(x).to(hc.Engine(rig.params, device="ghost")),
        interval=(0.2, 0.7),
    )
    assert min(low for low, _ in seen) >= 0.2 and max(high for _, high in seen) <= 0.7


# Calibration


def standardised(x):
    """A program of a user: no interval is named."""
    centred = x - x.mean(axis=0)
    return centred / np.sqrt((centred * centred).mean(axis=0) + 0.1)


def test_calibrated_programs_name_no_interval(rig):
    rng = np.random.default_rng(5)
    samples = [rng.normal(1, 2, (8, 3)) for _ in range(20)]
    program = hc.calibrate(standardised, samples, margin=1.5)
    assert [each.function for each in program.sites] == ["sqrt", "reciprocal"]
    x = rng.normal(1, 2, (8, 3))
    found = rig.decrypted(program, x)
    assert np.abs(found - standardised(x)).max() < 2.0**-14  # 2^-20 each, magnified by 1 / 0.3^2
    assert program(x) == pytest.approx(standardised(x))
    assert program.check(x) == []
    table = str(program)
    assert "sqrt" in table and "reciprocal" in table and len(table.splitlines()) == 3
    assert repr(program) == "CalibratedProgram(standardised, 2 calls, margin 1.5)"


def test_standard_deviations_are_calibrated(rig):
    rng = np.random.default_rng(7)
    samples = rng.normal(size=(60, 6, 2))
    program = hc.calibrate(lambda x: x.std(axis=0) + np.std(x), samples, margin=2)
    assert [each.function for each in program.sites] == ["sqrt", "sqrt"]
    x = rng.normal(size=(6, 2))
    assert program.check(x) == []
    assert np.abs(rig.decrypted(program, x) - program(x)).max() < 2.0**-17  # two errors of 2^-20 times 2


@given(
    name=st.sampled_from(NAMES),
    shape=st.lists(st.integers(1, 6), max_size=3),
    low=st.floats(0.2, 2),
    width=st.floats(0.2, 3),
    precision=st.integers(8, 20),
)
@settings(max_examples=15)
def test_any_shape_and_interval_is_within_the_stated_error(rig, name, shape, low, width, precision):
    interval = (low, low + width)
    x = np.random.default_rng(1).uniform(*interval, shape)
    function = getattr(F, name)
    found = rig.run(lambda x: function(x, interval=interval, precision=precision), x)
    cost = F.describe(name, interval, precision)
    assert found.shape == x.shape
    assert found.level == rig.params.max_level - cost.levels
    # exp of 5 and 1 / x of 0.2 magnify noise by 150 and 25
    assert np.abs(rig.client.decrypt(found) - function(x)).max() <= cost.error + 150 * 2.0**-26


def test_correlations_and_scores_are_calibrated():
    def program(x):
        return np.corrcoef(x.T) @ hc.standardize(x).mean(axis=0) + np.tanh(hc.standardize(x)).sum(axis=0)

    rig = DeepArrayRig(26)
    rng = np.random.default_rng(3)
    calibrated = hc.calibrate(program, rng.normal(size=(40, 16, 2)), margin=2)
    names = [each.function for each in calibrated.sites]
    assert names == ["corrcoef", "standardize", "standardize", "tanh"]
    assert calibrated.sites[0].values == "variances"
    x = rng.normal(size=(16, 2))
    assert calibrated.check(x) == []
    assert hc.corrcoef(x, rowvar=False) == pytest.approx(np.corrcoef(x.T))
    assert hc.standardize(x) == pytest.approx((x - x.mean(axis=0)) / x.std(axis=0))
    assert np.abs(rig.decrypted(calibrated, x) - program(x)).max() < 2.0**-14  # sums of 16 errors of 2^-20


def activations(x, y):
    """Functions by numpy's names and by ours, with a loop."""
    for _ in range(2):
        x = np.tanh(x + np.exp(y))
    return F.sigmoid(x) * np.reciprocal(2 + np.cos(y)) + F.sin(x, interval=(-4, 4))


def test_calls_are_told_apart_by_their_order(rig):
    rng = np.random.default_rng(6)
    samples = [(rng.uniform(-1, 1, 5), rng.uniform(-1, 1, 5)) for _ in range(30)]
    program = hc.calibrate(activations, samples)
    names = [each.function for each in program.sites]
    assert names == ["exp", "tanh", "exp", "tanh", "sigmoid", "cos", "reciprocal", "sin"]
    assert program.sites[-1].given and program.sites[-1].interval == (-4, 4)
    x, y = rng.uniform(-1, 1, (2, 5))
    deep = DeepArrayRig(30)
    assert np.abs(deep.decrypted(program, x, y) - activations(x, y)).max() < 2.0**-16
    assert pickle.loads(pickle.dumps(program)).sites == program.sites


def everyday(x):
    """Divisions by plain numbers, single elements, loops over them, roots as powers, scipy's names."""
    half = x / 2 / np.array([1.0, 2.0, 4.0])
    total = sum(np.tanh(each) for each in half) + np.tanh(x[0]) + x.prod() + x.dot(x)
    return total + (x[1] ** 2 + 1) ** 0.5 + (x[2] + 3) ** -1 + special.expit(x[0]) + special.erf(x)


def test_everyday_programs_are_calibrated(rig):
    samples = np.random.default_rng(8).uniform(-1, 1, (20, 3))
    program = hc.calibrate(everyday, samples)
    assert [each.function for each in program.sites] == [
        *["tanh"] * 4,
        "sqrt",
        "reciprocal",
        "sigmoid",
        "erf",
    ]
    apart = np.abs(rig.decrypted(program, samples[3]) - everyday(samples[3])).max()
    assert apart < 2.0**-16  # eight polynomials of 20 bits, each with values up to 2


def test_clip_has_the_names_of_numpy(rig):
    samples = np.random.default_rng(9).uniform(-1, 1, (20, 5))
    program = hc.calibrate(lambda x: np.clip(x, a_min=None, a_max=0.25), samples)
    apart = np.abs(rig.decrypted(program, samples[0]) - np.minimum(samples[0], 0.25)).max()
    assert apart < 2.0**-5  # comparisons have 8 bits


def test_clear_division():
    assert hc.functions.divide([1, 2], [4, 8]).tolist() == [0.25, 0.25]


def test_plans_of_calibrated_programs_are_kept():
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    client = hc.Client(params, seed=bytes(range(32)), threads=1)
    samples = [np.linspace(-1, 1, 9)]
    program = hc.calibrate(np.exp, samples)
    engine = hc.Engine(params, client.evaluation_keys(), memory="64MiB", policy="planned", threads=1)
    x = client.encrypt_array(samples[0])
    first = client.decrypt(engine.run(program, x))
    again = engine.run(hc.calibrate(np.exp, samples), x)
    assert engine.last_run.divergence is None
    assert np.abs(client.decrypt(again) - first).max() == 0
    assert np.abs(first - np.exp(samples[0])).max() < 2.0**-18
    wider = hc.calibrate(np.exp, samples, margin=3)
    assert (
        np.abs(client.decrypt(engine.run(wider, x)) - first).max() > 0
    )  # another polynomial, not the old plan
    assert engine.last_run.divergence is None


def test_an_input_that_takes_another_course_is_refused_by_check():
    program = hc.calibrate(lambda x: np.exp(x) if x.shape == (5,) else x, [np.linspace(-1, 1, 5)])
    with pytest.raises(hc.InvalidArgument, match="another course: 0 calls, the samples had 1"):
        program.check(np.ones(4))


def test_inputs_can_be_checked():
    program = hc.calibrate(lambda x: np.exp(x) + np.log(x + 2), [np.linspace(-1, 1, 5)])
    with pytest.warns(hc.ActivationRange, match=r"1 \(exp\).*2 \(log\)|2 \(log\).*1 \(exp\)"):
        found = program.check(np.array([0.0, 3.0]))
    assert {each.function for each in found} == {"exp", "log"}
    assert {each.site for each in found} == {1, 2}
    with pytest.warns(hc.ActivationRange):
        assert len(program.check(np.array([1.5]))) == 1


def test_margins_stay_where_functions_are_defined():
    widened = hc.arrays.calibration.widened
    assert widened((-1, 3), 1.5) == (-2, 4)
    assert widened((1, 4), 2, 0.0) == (0.5, 8)
    assert widened((-4, -1), 2, 0.0, mirrored=True) == (-8, -0.5)
    assert widened((0, 1), 2, -1.0) == (-0.5, 3)
    low, high = widened((2, 2), 1)
    assert low < 2 < high
    low, high = widened((2, 2), 1, 0.0)
    assert 0 < low < 2 < high


# Refusals


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (F.exp, hc.InvalidArgument, "hc.calibrate"),
        (np.exp, hc.InvalidArgument, r"functions.exp\(x, interval=\(low, high\)\)"),
        (lambda x: 1 / x, hc.InvalidArgument, "functions.reciprocal"),
        (lambda x: F.log(x, interval=(0, 1)), hc.InvalidArgument, "above 0"),
        (lambda x: F.log1p(x, interval=(-1, 1)), hc.InvalidArgument, "above -1"),
        (lambda x: F.sqrt(x, interval=(-1, 1)), hc.InvalidArgument, "from 0 on"),
        (lambda x: F.sqrt(x, interval=(0, 1), precision=30), hc.InvalidArgument, "begins farther from 0"),
        (lambda x: F.reciprocal(x, interval=(-1, 1)), hc.InvalidArgument, "contains 0"),
        (lambda x: F.exp(x, interval=(1, -1)), hc.InvalidArgument, "lower one first"),
        (lambda x: F.exp(x, interval=3), hc.WrongType, "pair"),
        (lambda x: F.exp(x, interval=(0, 1), precision=0), hc.InvalidArgument, "1 to 40"),
        (lambda x: F.exp(x, interval=(0, 1), precision="high"), hc.WrongType, "bits"),
        (lambda x: F.exp(x * 1j, interval=(0, 1)), hc.WrongType, "complex"),
        (lambda x: F.exp(x, interval=(0, 5000)), hc.InvalidArgument, "up to inf"),
        (lambda x: F.exp(F.exp(x, interval=(0, 1)), interval=(0, 30)), hc.Error, "modulus|level"),
        (np.arctan, hc.WrongType, "arctan"),
        (lambda x: F.sin("one"), hc.WrongType, "real numbers"),
        (lambda x: F.apply(3, x, interval=(0, 1)), hc.WrongType, "function"),
        (lambda x: F.apply(np.sum, x, interval=(0, 1)), hc.WrongType, "each element"),
        (lambda x: F.apply(np.sign, x, interval=(-1, 1)), hc.InvalidArgument, "degree above"),
        (lambda x: F.apply(np.arccos, x, interval=(0, 2)), hc.InvalidArgument, "finite"),
    ],
)
def test_what_cannot_be_done_is_refused(call, kind, message):
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)
    engine = hc.Engine(params, device="ghost")
    client = hc.Client(params, seed=bytes(range(32)), threads=1)
    x = client.encrypt_array(np.ones(3))
    with pytest.raises(kind, match=message):
        engine.run(call, x)


def test_calibration_refuses_what_gives_no_intervals():
    ones = np.ones(3)
    for samples, message in [
        ([], "no samples"),
        (ones, "pass a list"),
        ([ones * np.nan], "not finite"),
        ([-ones], "above 0 only"),
    ]:
        with pytest.raises(hc.InvalidArgument, match=message):
            hc.calibrate(np.log, samples)
    with pytest.raises(hc.WrongType, match="function"):
        hc.calibrate(3, [ones])
    with pytest.raises(hc.WrongType, match="list"):
        hc.calibrate(np.log, 3)
    with pytest.raises(hc.InvalidArgument, match="at least 1"):
        hc.calibrate(np.log, [ones], margin=0.5)
    with pytest.raises(hc.InvalidArgument, match="another course"):
        hc.calibrate(lambda x: np.exp(x) if float(x[0]) > 1 else np.cos(x), [ones, 2 * ones])
    with pytest.raises(hc.InvalidArgument, match="one side of 0"):
        hc.calibrate(lambda x: 1 / x, [np.array([-1.0, 1.0])])
    with pytest.raises(hc.InvalidArgument, match="describe"):
        F.describe("arctan")


def test_calibration_says_how_samples_are_passed():
    samples = np.zeros((5, 4))
    with pytest.raises(hc.WrongType, match="list of tuples"):
        hc.calibrate(lambda x, y: x + y, samples, samples)
    with pytest.raises(hc.WrongType, match="no truth value"):
        hc.calibrate(lambda x: max(x[0], x[1]), samples)


def test_a_program_with_another_course_is_refused(rig):
    calls = [np.exp]

    def program(x):
        for each in calls:
            x = each(x)
        return x

    calibrated = hc.calibrate(program, [np.linspace(0, 1, 3)])
    calls.append(np.cos)
    with pytest.raises(hc.InvalidArgument, match="calibrate it anew"):
        rig.run(calibrated, np.linspace(0, 1, 3))
    calls[:] = [np.sin]
    with pytest.raises(hc.InvalidArgument, match="where the samples had exp"):
        rig.run(calibrated, np.linspace(0, 1, 3))
    calls[:] = []
    calibrated = hc.calibrate(lambda x: x, [np.linspace(0, 1, 3)])
    assert calibrated.sites == ()


def test_the_guide_has_the_costs_of_now():
    script = Path(__file__).resolve().parents[2] / "tools" / "array_function_table.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
