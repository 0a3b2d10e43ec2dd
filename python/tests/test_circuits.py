# SPDX-License-Identifier: Apache-2.0
"""Circuits of engines against numpy, with exactly the keys of their plans."""

import halocline as hc
import numpy as np
import pytest
from halocline.circuits.encoded import MODES

TOLERANCE = 2.0**-18


@pytest.fixture(scope="module")
def evaluate(deep_params, deep_client):
    """Runs a program on freshly encrypted arrays with the keys that it needs and nothing more."""

    def run(program, *arrays):
        cts = [deep_client.encrypt(each) for each in arrays]
        keys = deep_client.evaluation_keys(plan=hc.key_plan(deep_params, program, *cts))
        engine = hc.Engine(deep_params, keys, threads=1)
        results = engine.run(program, *cts)
        many = isinstance(results, list)
        values = [deep_client.decrypt(each) for each in (results if many else [results])]
        return values if many else values[0]

    return run


@pytest.mark.parametrize("mode", MODES)
def test_linear_transform_in_every_mode(evaluate, rng, mode):
    matrix, v = rng.uniform(-1, 1, (32, 32)), rng.uniform(-1, 1, 32)
    transform = hc.LinearTransform(matrix, mode=mode)
    assert np.abs(evaluate(transform, v) - matrix @ v).max() < TOLERANCE


def test_complex_transform_and_diagonals(evaluate, rng):
    v = rng.uniform(-1, 1, 16) + 1j * rng.uniform(-1, 1, 16)
    diagonals = {0: rng.uniform(-1, 1, 16), 3: 1j * rng.uniform(-1, 1, 16), -5: np.ones(16)}
    expected = sum(d * np.roll(v, -k) for k, d in diagonals.items())
    result = evaluate(hc.LinearTransform(diagonals), v)
    assert result.dtype == np.complex128
    assert np.abs(result - expected).max() < TOLERANCE
    once = evaluate(lambda x: x.engine.linear_transform(x, diagonals, mode="bsgs"), v)
    assert np.abs(once - expected).max() < TOLERANCE


def test_short_diagonals_are_repeated(evaluate, rng):
    v = rng.uniform(-1, 1, 32)
    expected = np.tile([1.0, 2.0], 16) * np.roll(v, -1)
    assert np.abs(evaluate(hc.LinearTransform({1: [1.0, 2.0]}, slots=32), v) - expected).max() < TOLERANCE


@pytest.mark.parametrize("compact", [False, True])
def test_grid_of_transforms(evaluate, rng, compact):
    cells = [[rng.uniform(-1, 1, (16, 16)) for _ in range(3)] for _ in range(2)]
    cells[1][0] = {}
    grid = hc.TransformGrid(cells, compact=compact)
    inputs = rng.uniform(-1, 1, (3, 16))
    results = evaluate(lambda *xs: grid(xs), *inputs)
    for row, result in zip(cells, results, strict=True):
        expected = sum(m @ v for m, v in zip(row, inputs, strict=True) if len(m))
        assert np.abs(result - expected).max() < TOLERANCE
    assert (grid.inputs, grid.outputs, grid.slots) == (3, 2, 16)


def test_weights_are_encoded_once_for_each_engine_and_level(deep_params, deep_client, rng):
    transform = hc.LinearTransform({1: np.ones(16)})
    engine = hc.Engine(deep_params, deep_client.evaluation_keys([1]), threads=1)
    assert transform.rotations(engine) == [1]
    ct = deep_client.encrypt(np.ones(16)).to(engine)
    transform(ct)
    before = engine.stats()["live_by_class"]["plaintext"]
    transform(ct)
    assert engine.stats()["live_by_class"]["plaintext"] == before == transform.nbytes(engine)
    transform(ct.drop_level(3))
    assert engine.stats()["live_by_class"]["plaintext"] > before
    assert transform.cost(engine)["keys"] == 1
    transform.forget()
    assert engine.stats()["live_by_class"]["plaintext"] == 0
    transform.encode(engine, 2)
    assert engine.stats()["live_by_class"]["plaintext"] > 0


@pytest.mark.parametrize("shape", [(4, 16), (16, 4), (10, 7), (16, 16), (1, 16), (16, 1)])
def test_matrix_products(evaluate, rng, shape):
    matrix = rng.uniform(-1, 1, shape)
    v = rng.uniform(-1, 1, 16)
    result = evaluate(lambda x: matrix @ x, v)
    assert np.abs(result[: shape[0]] - matrix @ v[: shape[1]]).max() < TOLERANCE
    assert np.abs(result[shape[0] :]).max(initial=0.0) < TOLERANCE
    product = hc.MatrixVector(matrix)
    result = evaluate(product, product.repeat(v[: shape[1]]))
    expected = np.pad(matrix @ v[: shape[1]], (0, product.output_period - shape[0]))
    assert np.abs(result - np.tile(expected, product.slots // product.output_period)).max() < TOLERANCE


def test_polynomials(evaluate, rng):
    v = rng.uniform(-1, 1, 64)
    for coefficients in ([1, 2], [0.5, 0, -1, 2], [0, 1, 0, -0.5, 0, 0.25], rng.uniform(-1, 1, 16)):
        expected = np.polynomial.polynomial.polyval(v, coefficients)
        result = evaluate(lambda x, c=coefficients: x.engine.polynomial(x, c), v)
        assert np.abs(result - expected).max() < TOLERANCE
    series = hc.Polynomial(rng.uniform(-1, 1, 24), "chebyshev", (-2, 3))
    points = rng.uniform(-2, 3, 64)
    assert (
        np.abs(evaluate(lambda x: x.engine.polynomial(x, series), points) - series(points)).max() < 2.0**-14
    )
    complex_result = evaluate(lambda x: x.engine.polynomial(x, [1j, 2]), v)
    assert np.abs(complex_result - (1j + 2 * v)).max() < TOLERANCE


def test_polynomial_levels(deep_client, deep_engine):
    x = deep_client.encrypt(np.linspace(-1, 1, 8)).to(deep_engine)
    for degree, levels in ((1, 1), (2, 2), (3, 2), (7, 3), (8, 4), (15, 4)):
        p = hc.Polynomial(np.ones(degree + 1))
        assert (p.degree, p.levels) == (degree, levels)
        assert deep_engine.polynomial(x, p).level == x.level - levels
    assert deep_engine.polynomial(x, [1, 1, 1], level=2).level == 2
    with pytest.raises(hc.LevelExhausted):
        deep_engine.polynomial(x.drop_level(1), np.ones(16))
    with pytest.raises(hc.InvalidArgument):
        deep_engine.polynomial(x, [1.0])
    with pytest.raises(hc.InvalidArgument, match="basis"):
        deep_engine.polynomial(x, [1, 2], "fourier")
    with pytest.raises(hc.InvalidArgument, match="finite"):
        deep_engine.polynomial(x, [1, float("nan")])


def test_chebyshev_interpolation(evaluate, rng):
    points = rng.uniform(-2, 2, 64)
    fit = hc.Polynomial.fit(np.exp, (-2, 2), 15)
    assert fit.max_error < 1e-9
    assert np.abs(fit(points) - np.exp(points)).max() <= 2 * fit.max_error
    result = evaluate(lambda x: x.engine.chebyshev(x, np.exp, (-2, 2), 15), points)
    assert np.abs(result - np.exp(points)).max() < 2.0**-14
    for domain in ((1, 1), (2, 1), (0, float("inf"))):
        with pytest.raises(hc.InvalidArgument, match="domain"):
            hc.Polynomial.fit(np.exp, domain)
    with pytest.raises(hc.WrongType, match="function"):
        hc.Polynomial.fit([1, 2])
    with pytest.raises(ZeroDivisionError):
        hc.Polynomial.fit(lambda x: 1 / 0)


def test_comparisons(evaluate, rng):
    a, b = rng.uniform(-1, 1, 256), rng.uniform(-1, 1, 256)
    clear = np.abs(a) > hc.sign_epsilon(6)
    sign = evaluate(lambda x: x.engine.sign(x, alpha=6), a)
    assert np.abs(sign - np.sign(a))[clear].max() < 2.0**-6 + TOLERANCE
    step = evaluate(lambda x: x.engine.step(x, alpha=6), a)
    assert np.abs(step - (a > 0))[clear].max() < 2.0**-6
    relu = evaluate(lambda x: x.engine.relu(x, alpha=6), a)
    assert np.abs(relu - np.maximum(a, 0)).max() < 1.2 * 2.0**-6
    apart = np.abs(a - b) > 2 * hc.sign_epsilon(6)
    more = evaluate(lambda x, y: x.engine.compare(x, y, alpha=6, bound=2), a, b)
    assert np.abs(more - (a > b))[apart].max() < 2.0**-6
    largest = evaluate(lambda x, y: x.engine.maximum(x, y, alpha=6, bound=2), a, b)
    assert np.abs(largest - np.maximum(a, b)).max() < 2.4 * 2.0**-6
    least = evaluate(lambda x, y: x.engine.minimum(x, y, alpha=6, bound=2), a, b)
    assert np.abs(least - np.minimum(a, b)).max() < 2.4 * 2.0**-6
    assert hc.sign_levels(6) == 5


def test_bad_arguments(deep_client, deep_engine):
    x = deep_client.encrypt(np.ones(16)).to(deep_engine)
    for maps in (np.ones(16), np.ones((4, 5)), {}, {0: [1.0, float("nan")]}, {0: np.ones(3), 1: np.ones(4)}):
        with pytest.raises(hc.InvalidArgument):
            hc.LinearTransform(maps)
    with pytest.raises(hc.InvalidArgument, match="mode"):
        hc.LinearTransform(np.eye(4), mode="magic")
    with pytest.raises(hc.InvalidArgument, match="16 slots"):
        hc.LinearTransform(np.eye(4))(x)
    with pytest.raises(hc.InvalidArgument, match="cells"):
        hc.TransformGrid([[np.eye(4)], []])
    with pytest.raises(hc.WrongType, match="list"):
        hc.TransformGrid([[np.eye(16)]])(x)
    with pytest.raises(hc.InvalidArgument, match="inputs"):
        hc.TransformGrid([[np.eye(16)]])([x, x])
    with pytest.raises(hc.MissingKey, match="step"):
        hc.LinearTransform({3: np.ones(16)})(x)
    with pytest.raises(hc.InvalidArgument, match="slots"):
        _ = np.ones((3, 17)) @ x
    with pytest.raises(hc.InvalidArgument, match="matrix"):
        _ = np.ones(16) @ x
    with pytest.raises(hc.InvalidArgument, match="alpha"):
        deep_engine.sign(x, alpha=99)
    with pytest.raises(hc.InvalidArgument, match="bound"):
        deep_engine.sign(x, bound=-1)
    with pytest.raises(hc.InvalidArgument, match="not bound"):
        deep_engine.polynomial(deep_client.encrypt([1.0]), [1, 2])
