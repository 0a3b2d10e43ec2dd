# SPDX-License-Identifier: Apache-2.0
"""Products of encrypted arrays against numpy: all shapes, all ways, levels, key switches, errors."""

import operator

import halocline as hc
import numpy as np
import pytest
from array_rig import TOLERANCE, ArrayRig
from halocline.arrays import plain_products
from halocline.arrays.block_products import block_product
from halocline.arrays.inner_products import column_products, row_products
from halocline.arrays.packing import Packing
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def rig():
    return ArrayRig()


@pytest.fixture(scope="module")
def small():
    """512 slots, three levels: most matrices take several ciphertexts."""
    return ArrayRig("test-n10-d3")


def numbers(shape, seed, kind="real"):
    rng = np.random.default_rng(seed)
    real = rng.uniform(-1, 1, shape)
    return real if kind == "real" else real + 1j * rng.uniform(-1, 1, shape)


SIDE = st.integers(1, 40)
KIND = st.sampled_from(["real", "real", "complex"])


@settings(max_examples=25)
@given(m=SIDE, k=SIDE, n=SIDE, kinds=st.tuples(KIND, KIND))
def test_matrices_of_any_shape(rig, m, k, n, kinds):
    """Sums of up to 40 products of numbers up to sqrt(2): within the tolerance of the rig."""
    rig.check(operator.matmul, numbers((m, k), 1, kinds[0]), numbers((k, n), 2, kinds[1]))


@settings(max_examples=10)
@given(m=st.integers(1, 20), k=SIDE, n=st.integers(1, 20))
def test_blocks_of_transposed_matrices(rig, m, k, n):
    x, y = numbers((k, m), 3), numbers((k, n), 4)
    rig.compare(rig.run(lambda x, y: block_product(x.T, y), x, y), x.T @ y)


@settings(max_examples=10)
@given(m=st.integers(2, 20), k=st.integers(2, 300))
def test_columns_of_many_elements(rig, m, k):
    """Each algorithm by itself, whichever `@` would take."""
    x, y = numbers((k, m), 3), numbers((k, m), 4)
    rig.compare(rig.run(lambda x, y: column_products(x, y, 0.5), x, y), 0.5 * x.T @ y)


@settings(max_examples=10)
@given(m=st.integers(2, 12), n=st.integers(2, 12), k=st.integers(16, 100))
def test_rows_of_many_elements(rig, m, n, k):
    x, y = numbers((m, k), 5), numbers((n, k), 6)
    width = 1 << (k - 1).bit_length()
    both = [rig.client.encrypt_array(v, Packing(v.shape, (width, 1), 512 * 2)) for v in (x, y)]
    program = lambda x, y: row_products(x, y, 2.0)  # noqa: E731  # one function: its keys and its run
    rig.compare(rig.run(program, *both), 2 * x @ y.T)


@settings(max_examples=10)
@given(data=st.data(), plain=st.sampled_from(["left", "right"]))
def test_plain_matrices_and_vectors(rig, data, plain):
    batch = data.draw(st.lists(st.integers(1, 3), max_size=2))
    m, k, n = data.draw(st.tuples(*[st.integers(1, 20)] * 3))
    vector = data.draw(st.sampled_from(["none", "left", "right"]))
    x = numbers((k,) if vector == "left" else (*batch, m, k), 7)
    y = numbers((k,) if vector == "right" else (k, n), 8, data.draw(KIND))
    if plain == "left":
        rig.check(lambda y: x @ y, y)
    else:
        rig.check(lambda x: x @ y, x)


@pytest.mark.parametrize(
    ("first", "second"),
    [((6,), (6,)), ((5, 7), (7,)), ((7,), (7, 5)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)),
     ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (3, 4, 2))],
)  # fmt: skip
def test_vectors_and_batches(rig, first, second):
    rig.check(np.matmul, numbers(first, 9), numbers(second, 10, "complex"))
    plain = numbers(second, 10)
    rig.check(lambda x: x @ plain, numbers(first, 9))


@pytest.mark.parametrize("function", [np.dot, np.inner, np.outer, np.vdot])
@pytest.mark.parametrize(
    ("first", "second"),
    [((6,), (6,)), ((3, 4), (4, 3)), ((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((2, 2, 3), (2, 3, 2)), ((), (3,))],
)
def test_functions_of_numpy(rig, function, first, second):
    x, y = numbers(first, 11, "complex"), numbers(second, 12, "complex")
    try:
        function(x, y)
    except ValueError:
        with pytest.raises(hc.InvalidArgument):
            rig.run(function, x, y)
        return
    rig.check(function, x, y)
    rig.check(lambda y: function(x, y), y)
    rig.check(lambda x: function(x, y), x)


def test_matrices_in_many_ciphertexts(small):
    """Blocks in all three dimensions: 512 slots hold 16 x 32."""
    x, y = numbers((70, 45), 13), numbers((45, 33), 14)
    level3 = small.run(lambda y: x @ y, y)
    small.compare(level3, x @ y)
    assert level3.level == 2
    rig = ArrayRig("test-n11-d8")
    made = rig.check(operator.matmul, x, y)
    assert len(made.parts) > 1
    wide = numbers((3, 5), 15), numbers((5, 300), 16)
    rig.check(operator.matmul, *wide)


def test_levels_and_key_switches(rig):
    """Counts of the guide: 16 x 16 in 1024 slots takes four copies, two halves and two steps."""
    x, y = numbers((16, 16), 17), numbers((16, 16), 18)
    rig.check(operator.matmul, x, y, level=3)
    low = rig.run(lambda x, y: hc.matmul(x, y, level=0), x, y)
    assert low.level == 0
    rig.compare(low, x @ y)
    params = hc.Params.preset("n15-d14")
    spec = hc.ArraySpec((64, 64), level=3)
    plan = hc.key_plan(params, operator.matmul, spec, spec)
    assert max(plan.levels.values()) <= 3
    assert len(plan) <= 48  # up to 7.3 MB each at level 3
    engine = hc.Engine(params, device="ghost")
    calls = []
    dot = engine.dot
    engine.dot = lambda a, b: calls.append(len(a)) or dot(a, b)
    engine.run(operator.matmul, spec._stand_in(engine), spec._stand_in(engine))
    assert calls == [8]  # 64 terms: 4 copies, 2 halves, 8 steps, and one relinearization


def test_same_shapes_share_circuits(rig):
    """Weights are encoded once for equal shapes: the second product makes no new circuit."""
    from halocline.arrays.slot_maps import kept_circuit

    x, y = numbers((8, 8), 19), numbers((8, 8), 20)
    rig.run(operator.matmul, x, y)
    before = kept_circuit.cache_info().misses
    rig.run(operator.matmul, y, x)
    assert kept_circuit.cache_info().misses == before


def test_slots_with_anything_do_not_count(rig):
    """An array that is not clean: slots between its elements are not 0, and must not reach the sums."""
    x, y = numbers((5, 6), 21), numbers((6, 3), 22)

    def program(x, y):
        dirty = hc.EncryptedArray([ct + 1.0 for ct in x.parts], x.packing, clean=False) - 1.0
        assert not dirty.is_clean
        other = hc.EncryptedArray([ct + 1.0 for ct in y.parts], y.packing, clean=False) - 1.0
        return dirty @ other, column_products(dirty.T.T, dirty)

    engine = rig.engine_for(program, x, y)
    made, gram = engine.run(program, rig.client.encrypt_array(x), rig.client.encrypt_array(y))
    rig.compare(made, x @ y)
    rig.compare(gram, x.T @ x)


def test_planned_runs_give_the_same(rig):
    x, y = (rig.client.encrypt_array(numbers((16, 16), seed)) for seed in (23, 24))
    keys = rig.client.keys_for(operator.matmul, x, y)
    want = hc.Engine(rig.params, keys, threads=1).run(operator.matmul, x, y)
    planned = hc.Engine(rig.params, keys, threads=1, policy="planned", memory="24MiB")
    for _ in range(2):
        made = planned.run(operator.matmul, x, y)
        assert planned.last_run.divergence is None
        assert [each.to_bytes() for each in made.parts] == [each.to_bytes() for each in want.parts]


def test_what_does_not_fit_says_so(rig):
    x, y = numbers((3, 4), 25), numbers((3, 4), 26)
    for program in (operator.matmul, np.dot, lambda x, y: x @ np.ones((3, 2))):
        with pytest.raises(hc.InvalidArgument, match="expected equally many"):
            rig.run(program, x, y)
    with pytest.raises(hc.InvalidArgument, match="multiply by a number"):
        rig.run(lambda x, y: x @ np.float64(2.0), x, y)
    with pytest.raises(hc.LevelExhausted, match="takes level"):
        rig.run(lambda x, y: hc.matmul(x.T, y, level=7), x, y)
    low = [rig.client.encrypt_array(v, level=1) for v in (x.T.copy(), y)]
    with pytest.raises(hc.LevelExhausted, match="takes level"):
        rig.run(operator.matmul, *low)
    with pytest.raises(hc.InvalidArgument, match="not bound to an engine"):
        hc.matmul(rig.client.encrypt_array(x), y.T)
    with pytest.raises(hc.WrongType):
        rig.run(lambda x, y: hc.matmul(x, y.parts[0]), x, y)
    assert TOLERANCE < 1e-4


def test_equal_ciphertexts_share_the_map_of_a_plain_matrix(small, monkeypatch):
    """70 rows of 32 slots are in five ciphertexts, of which the last one is not full. The ghost that
    finds the keys and the engine have the same maps.
    """
    made = []
    grid = plain_products.TransformGrid
    monkeypatch.setattr(plain_products, "TransformGrid", lambda *a, **k: made.append(1) or grid(*a, **k))
    x, y = numbers((70, 20), 27), numbers((20, 18), 28)
    encrypted = small.client.encrypt_array(x)
    assert len(encrypted.parts) == 5
    engine = small.engine_for(lambda x: x @ y, encrypted)
    small.compare(engine.run(lambda x: x @ y, encrypted), x @ y)
    assert len(made) == 2


def test_maps_of_a_plain_matrix_are_kept(small):
    """Diagonals are encoded once for equal contents, and a matrix that changes is taken as it is now."""
    matrix, x = numbers((6, 5), 33), numbers((3, 6), 34)
    encrypted = small.client.encrypt_array(x)
    engine = small.engine_for(lambda x: x @ matrix, encrypted)

    def encoded(values):
        with engine.profile() as profile:
            small.compare(engine.run(lambda x: x @ values, encrypted), x @ values)
        return sum(row[1] == "encode_expand" for row in profile._core.rows)

    encoded(matrix)
    assert encoded(matrix) == encoded(matrix.copy()) == 0
    matrix[2, 3] += 1
    assert encoded(matrix) > 0
    assert encoded(matrix) == 0


def test_programs_run_in_the_clear_too():
    x = numbers((5, 3), 29)
    assert np.array_equal(hc.matmul(x.T, x, level=1), x.T @ x)
    assert np.array_equal(hc.cov(x, rowvar=False, level=2), np.cov(x, rowvar=False))


def test_products_are_bootstrapped_by_themselves():
    """Six products and twelve scalings take 24 levels, the parameters have five."""
    params = hc.Params.preset("test-n11-boot", allow_insecure=True)
    client = hc.Client(params, threads=1, seed=bytes(32))
    x, _ = np.linalg.qr(numbers((8, 8), 30))  # powers of it have elements up to 1

    def program(a):
        for _ in range(6):
            a = a @ a * 1.25 * 0.8
        return a

    encrypted = client.encrypt_array(x)
    plan = hc.key_plan(params, program, encrypted, bootstrap="auto")
    # Outside of a run ciphertexts are bootstrapped elsewhere, so that rotations have other levels.
    plan = hc.KeyPlan(params, [(element, max(level, params.max_level)) for element, level in plan.requests()])
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), threads=1, bootstrap="auto")
    wanted = program(x)
    for made in (engine.run(program, encrypted), program(encrypted.to(engine))):
        # Bootstraps of this preset are right to 2^-22 or better, and each of six products doubles errors or
        # less, as rows and columns have length 1.
        assert np.abs(client.decrypt(made) - wanted).max() < 2.0**-15
