# SPDX-License-Identifier: Apache-2.0
"""What encrypted values cannot do, and numbers that are no use, are refused with what to do instead."""

import math
import warnings

import halocline as hc
import numpy as np
import pytest
from halocline.cli.value_files import read_values

REFUSED = {
    "x @ y": (lambda x, y: x @ y, r"matrix @ x.*inner_sum"),
    "x @ matrix": (lambda x, y: x @ np.eye(4), r"matrix\.T @ x"),
    "x[0]": (lambda x, y: x[0], r"client\.decrypt.*ct\.rotate"),
    "x[1:2]": (lambda x, y: x[1:2], r"cannot be taken out"),
    "for v in x": (lambda x, y: list(x), r"cannot be taken out"),
    "len(x)": (lambda x, y: [len(x)], r"ct\.slots"),
    "float(x)": (lambda x, y: [float(x)], r"float: .*client\.decrypt"),
    "int(x)": (lambda x, y: int(x), r"int: .*client\.decrypt"),
    "complex(x)": (lambda x, y: complex(x), r"complex: .*client\.decrypt"),
    "math.sin(x)": (lambda x, y: math.sin(x), r"client\.decrypt"),
    "np.sin(x)": (lambda x, y: np.sin(x), r"np\.sin: .*chebyshev\(x, np\.sin"),
    "np.abs(x)": (lambda x, y: np.abs(x), r"x \* engine\.sign"),
    "np.maximum(x, y)": (np.maximum, r"engine\.maximum"),
    "np.sum(x)": (lambda x, y: np.sum(x), r"np\.sum.*engine\.inner_sum"),
    "np.add.reduce(x)": (lambda x, y: np.add.reduce(x), r"np\.add\.reduce.*engine\.inner_sum"),
    "np.mean(x)": (lambda x, y: np.mean(x), r"np\.mean.*engine\.inner_sum"),
    "np.dot(x, y)": (np.dot, r"np\.dot.*engine\.inner_sum\(x \* y\)"),
    "np.cumsum(x)": (lambda x, y: np.cumsum(x), r"np\.cumsum: not defined"),
    "np.sort(x)": (lambda x, y: np.sort(x), r"np\.sort: not defined"),
    "np.where(c, x, y)": (lambda x, y: np.where([1, 0, 0, 1], x, y), r"np\.where.*ones and zeros"),
    "np.add(x, y, out=)": (lambda x, y: np.add(x, y, out=np.ones(4)), r"np\.add"),
    "abs(x)": (lambda x, y: abs(x), r"engine\.sign"),
    "round(x)": (lambda x, y: round(x), r"engine\.chebyshev"),
    "x % 2": (lambda x, y: x % 2, r"%: not defined"),
    "2 // x": (lambda x, y: 2 // x, r"//: not defined"),
    "x < y": (lambda x, y: x < y, r"engine\.compare\(a, b\)"),
    "max(x, y)": (max, r"engine\.maximum"),
    "if x": (lambda x, y: 1 if x else 2, r"no truth value.*engine\.compare"),
    "not x": (lambda x, y: not x, r"no truth value"),
    "1 / x": (lambda x, y: 1 / x, r"reciprocal"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_ciphertexts_cannot_do_names_the_way(client, engine, what):
    action, words = REFUSED[what]
    x, y = (client.encrypt(np.ones(4)).to(engine) for _ in range(2))
    with pytest.raises(hc.WrongType, match=words) as caught:
        action(x, y)
    assert isinstance(caught.value, TypeError)


def test_arrays_and_numpy_scalars_beside_ciphertexts_are_operators(client, engine, rng):
    a, b = rng.uniform(0.5, 1, 4), rng.uniform(0.5, 1, 4)
    x = client.encrypt(a).to(engine)
    cases = {
        "b * x": (b * x, a * b),
        "x * b": (x * b, a * b),
        "b - x": (b - x, b - a),
        "b + x": (b + x, b + a),
        "float64 * x": (np.float64(2.5) * x, 2.5 * a),
        "x / b": (x / b, a / b),
        "np.multiply(b, x)": (np.multiply(b, x), a * b),
        "np.subtract(x, b)": (np.subtract(x, b), a - b),
        "np.negative(x)": (np.negative(x), -a),
        "np.power(x, 2)": (np.power(x, 2), a * a),
        "np.add(x, x)": (np.add(x, x), 2 * a),
    }
    for name, (made, expected) in cases.items():
        assert np.abs(client.decrypt(made) - expected).max() < 2.0**-18, name
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])
    assert np.abs(client.decrypt(matrix @ x) - matrix @ a).max() < 2.0**-16
    pair = np.array([x, x], dtype=object)  # arrays of ciphertexts stay possible
    assert pair.shape == (2,)


@pytest.mark.parametrize("factor", [1e-14, -1e-14, 1e-14j, np.float64(3e-14)])
def test_factors_that_round_to_zero_warn(client, engine, factor):
    x = client.encrypt(np.ones(4)).to(engine)
    with pytest.warns(
        hc.PrecisionLoss, match=r"factor .e-14 times .* rounds to 0.* takes 4\.\d*e-13"
    ) as found:
        product = x * factor
    assert np.abs(client.decrypt(product)).max() < 1e-9
    assert found[0].filename == __file__
    with pytest.warns(hc.PrecisionLoss):
        factor * x
    with pytest.warns(hc.PrecisionLoss):
        x / 1e14
    with engine.manual(), pytest.warns(hc.PrecisionLoss):
        x * factor
    with pytest.raises(hc.LevelExhausted):
        x.drop_level(0) * factor


def test_a_vector_that_rounds_to_zero_is_reported(engine, client):
    x = client.encrypt(np.ones(8)).to(engine)
    with pytest.warns(hc.PrecisionLoss, match="rounds to 0"):
        x * np.full(8, 1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x * np.array([1e-14, 1, 0, 0, 0, 0, 0, 0])
        x * np.zeros(8)


def test_a_captured_ciphertext_is_named_as_such(client, params):
    keys = client.evaluation_keys(rotations=[1])
    planned = hc.Engine(params, keys, memory="1GiB", policy="planned")
    kept = client.encrypt(np.ones(8)).to(planned)
    with pytest.warns(hc.PlanDivergence, match="pass both as arguments of the program"):
        planned.run(lambda x: x * kept, client.encrypt(np.ones(8)))


@pytest.mark.filterwarnings("error")
def test_factors_of_which_something_is_left_do_not_warn(client, engine):
    x = client.encrypt(np.ones(4)).to(engine)
    assert np.abs(client.decrypt(x * 0.0)).max() < 1e-6
    assert client.decrypt(x * np.array([1e-14, 1, 1, 1]))[1] == pytest.approx(1, abs=1e-6)
    assert client.decrypt(x * 1e-9)[0] == pytest.approx(1e-9, rel=0.5)
    x * 5e-13


def test_numbers_that_would_wrap_are_refused(client, engine):
    x = client.encrypt(np.ones(4)).to(engine)
    for action in (lambda: x + 1e30, lambda: x - 1e30, lambda: x * 1e30, lambda: x + 1e30j):
        with pytest.raises(hc.InvalidArgument, match=r"too large.*expected less than"):
            action()
    assert client.decrypt(x + 1e6)[0] == pytest.approx(1e6 + 1)
    assert client.decrypt(x * 2.0**20)[0] == pytest.approx(2.0**20, rel=1e-4)


def test_values_that_are_too_large_name_slot_value_and_limit(client, engine):
    values = np.ones(8)
    values[5] = -1e30
    words = r"value -1e\+30 in slot 5.*limit is 2\^.*magnitude up to \d"
    with pytest.raises(hc.InvalidArgument, match=words):
        client.encrypt(values)
    with pytest.raises(hc.InvalidArgument, match=words):
        client.public_key().encrypt(values)
    with pytest.raises(hc.InvalidArgument, match=words):
        client.encrypt(np.ones(8)).to(engine) * values
    values[3] = 1e308
    with pytest.raises(hc.InvalidArgument, match=r"value 1e\+308 in slot 3"):
        client.encrypt(values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1, 2\n3 inf 4", r"number 4, in line 2: 'inf' is not finite"),
        ("nan", r"number 1, in line 1: 'nan' is not finite"),
        ("1\n\n-Infinity", r"number 2, in line 3: '-Infinity'"),
        ("1e999", r"'1e999' is not finite"),
        ("1, 2\n, x,", r"number 3, in line 2: 'x' is no number"),
    ],
)
def test_text_that_is_no_finite_number_is_refused_with_its_place(tmp_path, text, words):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(hc.CorruptData, match=words):
        read_values(tmp_path / "v.txt")


def test_text_of_numbers(tmp_path):
    (tmp_path / "v.txt").write_text("1, 2.5e-3\n-1i 1+2j,\n\n  7")
    assert read_values(tmp_path / "v.txt").tolist() == [1, 2.5e-3, -1j, 1 + 2j, 7]
    (tmp_path / "v.txt").write_text("\n".join(["1"] * 65537))
    with pytest.raises(hc.CorruptData, match="more than 65536"):
        read_values(tmp_path / "v.txt")


# Fits


def test_fits_over_a_pole_are_refused():
    for degree in (15, 31):
        with pytest.raises(hc.InvalidArgument, match="pole"):
            hc.Polynomial.fit(lambda x: 1 / x if x else 1e300, (-1, 1), degree)
    with pytest.raises(hc.InvalidArgument, match="finite"):
        hc.Polynomial.fit(np.log, (-1, 1))
    with np.errstate(divide="ignore"), pytest.raises(hc.InvalidArgument, match=r"finite|pole"):
        hc.Polynomial.fit(lambda x: np.float64(1) / x, (0, 1), 14)


def test_poor_fits_warn_and_tolerances_refuse():
    with pytest.warns(hc.PoorFit, match=r"degree 15 on \(-1, 1\) is off by .* at ") as found:
        hc.Polynomial.fit(np.sign)
    assert found[0].filename == __file__
    with pytest.warns(hc.PoorFit):
        hc.Polynomial.fit(lambda x: np.exp(20 * x), degree=3)
    fit = hc.Polynomial.fit(np.sign, tolerance=2.0)  # the caller accepted it
    assert 0.5 < fit.max_error <= 2
    with pytest.raises(hc.InvalidArgument, match=r"expected at most 1e-06, the tolerance"):
        hc.Polynomial.fit(np.exp, (-2, 2), 7, tolerance=1e-6)
    with pytest.raises(hc.InvalidArgument, match="tolerance"):
        hc.Polynomial.fit(np.exp, tolerance=-1)


@pytest.mark.filterwarnings("error")
def test_good_fits_do_not_warn():
    for function in (np.exp, np.tanh, lambda x: 0.0, lambda x: 3.0, lambda x: 1e-30 * x, np.abs):
        hc.Polynomial.fit(function, (-2, 2), 15)
