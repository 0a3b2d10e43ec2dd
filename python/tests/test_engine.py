# SPDX-License-Identifier: Apache-2.0
import copy
import gc
import pickle
import threading

import halocline as hc
import numpy as np
import pytest

TOLERANCE = 2.0**-20


def test_run_binds_its_arguments(client, engine, x):
    ct, other = client.encrypt(x), client.encrypt(2 * x)

    def program(a, pair, named, *, scale):
        return [a + pair[0], named["b"] * scale]

    total, scaled = engine.run(program, ct, (other, "text"), {"b": ct}, scale=2)
    assert np.abs(client.decrypt(total) - 3 * x).max() < TOLERANCE
    assert np.abs(client.decrypt(scaled) - 2 * x).max() < TOLERANCE
    assert ct.device is None
    report = engine.last_run
    assert report.seconds > 0
    assert report.steps > 0
    assert report.peak_bytes > engine.params.table_bytes
    assert (report.plan_seconds, report.stall_seconds, report.bytes_moved) == (0.0, 0.0, {})
    with pytest.raises(hc.WrongType, match="function"):
        engine.run(ct, ct)


def test_example_of_the_readme(client, engine, x):
    y = engine.run(lambda x: (x * x + 0.5).rotate(1), client.encrypt(x))
    assert np.abs(client.decrypt(y) - np.roll(x * x + 0.5, -1)).max() < TOLERANCE


def test_hoisted_rotations_dot_and_inner_sum(client, engine, x, z):
    a, b = client.encrypt(x).to(engine), client.encrypt(z).to(engine)
    for steps, ct in zip((1, -2, 0, 4), engine.rotate_many(a, [1, -2, 0, 4]), strict=True):
        assert np.abs(client.decrypt(ct) - np.roll(x, -steps)).max() < TOLERANCE
    dot = engine.dot([a, a, b], [a, b, b])
    assert np.abs(client.decrypt(dot) - (x * x + x * z + z * z)).max() < TOLERANCE
    assert dot.level == a.level - 1
    total = engine.inner_sum(a)
    assert np.abs(client.decrypt(total) - x.sum()).max() < 64 * TOLERANCE
    strided = engine.inner_sum(a, count=4, stride=2)
    expected = sum(np.roll(x, -2 * i) for i in range(4))
    assert np.abs(client.decrypt(strided) - expected).max() < 4 * TOLERANCE
    with pytest.raises(hc.InvalidArgument, match="equally many"):
        engine.dot([a], [])
    with pytest.raises(hc.InvalidArgument, match="count"):
        engine.inner_sum(a, count=0)
    with pytest.raises(hc.InvalidArgument, match="not bound"):
        engine.rotate_many(client.encrypt(x), [1])


def test_linear_combinations(client, engine, x, z):
    a, b = client.encrypt(x).to(engine), client.encrypt(z).to(engine)
    low = (b * b).adjust(b.level - 2, 1.1 * engine.params.level(b.level - 2).scale)
    weights = np.array([[0.5, -2.0, 1.25], [0.0, 1.0, 1e-30]])
    made = engine.combine([a, b, low], weights)
    for ct, expected in zip(made, weights @ [x, z, z * z], strict=True):
        assert (ct.level, ct.scale) == (low.level - 1, engine.params.level(low.level - 1).scale)
        assert np.abs(client.decrypt(ct) - expected).max() < 4 * TOLERANCE
    (only,) = engine.combine([a], [[3]], level=1)
    assert only.level == 1
    assert np.abs(client.decrypt(only) - 3 * x).max() < 4 * TOLERANCE
    for cts, given, level, error in (
        (a, [[1]], None, hc.WrongType),
        ([], [[1]], None, hc.WrongType),
        ([a], [1], None, hc.InvalidArgument),
        ([a], [[1, 2]], None, hc.InvalidArgument),
        ([a], [[1], [1, 2]], None, hc.InvalidArgument),
        (iter([a]), [[1]], None, hc.WrongType),
        ([a], [[1j]], None, hc.InvalidArgument),
        ([a], [[np.inf]], None, hc.InvalidArgument),
        ([a], [[1]], a.level, hc.InvalidArgument),
        ([a.drop_level(0)], [[1]], None, hc.LevelExhausted),
        ([a, b.rotate(1).with_slots(b.slots // 2)], [[1, 1]], None, hc.InvalidArgument),
    ):
        with pytest.raises(error, match="combine"):
            engine.combine(cts, given, level=level)


def test_sums_of_rotations(client, engine, x):
    a = client.encrypt(x).to(engine)
    some = engine.sum_rotations(a, [0, 1, -2, 4])
    assert np.abs(client.decrypt(some) - sum(np.roll(x, -k) for k in (0, 1, -2, 4))).max() < 4 * TOLERANCE
    assert (some.level, some.scale, some.is_real) == (a.level, a.scale, a.is_real)
    doubled, wide = engine.inner_sum(a, 4), engine.inner_sum(a, 4, radix=2)
    assert doubled.to_bytes() == wide.to_bytes()
    for steps, error in (([], "no rotations"), ([1, 1], "twice")):
        with pytest.raises(hc.InvalidArgument, match=error):
            engine.sum_rotations(a, steps)
    for count, radix, error in ((8, 3, "radix 3"), (8, 128, "1.*2 to 64"), (6, 4, "count of 6")):
        with pytest.raises(hc.InvalidArgument, match=error):
            engine.inner_sum(a, count, radix=radix)


# One decomposition and one division of both components for four rotations with three keys; by doubling it is
# two of each with two keys. What a plan asks for are exactly these keys.
def test_stages_of_sums_share_decomposition_and_division(params):
    counts = {}
    for radix, steps in ((2, [1, 2]), (4, [1, 2, 3])):
        ghost = hc.Engine(params, device="ghost")
        ct = ghost.ghost_input()
        with ghost.record() as trace:
            ghost.inner_sum(ct, 4, radix=radix)
        columns = trace.columns
        of = {op: len(set(columns["step"][columns["op"] == op])) for op in ("intt", "ntt_linear_combine")}
        counts[radix] = of["intt"], of["ntt_linear_combine"]
        elements = {params._core.galois_element(step) for step in steps}
        assert {element for element, _ in ghost.key_plan.requests()} == elements
    assert counts == {2: (4, 2), 4: (2, 1)}


def test_budget_is_kept_and_the_error_names_the_largest_objects(params, keys, client, x):
    with pytest.raises(hc.OutOfMemory, match="evaluation keys alone need") as caught:
        hc.Engine(params, keys, memory="256KiB", threads=1)
    assert isinstance(caught.value, MemoryError)
    assert "KiB" in str(caught.value) or "MiB" in str(caught.value)
    few = client.evaluation_keys([1])
    engine = hc.Engine(params, few, memory="2MiB", threads=1)
    assert engine.budget_bytes == 2 << 20
    kept = []
    with pytest.raises(hc.OutOfMemory, match="ciphertext"):
        kept.extend(client.encrypt(x).to(engine) for _ in range(100))
    kept.clear()
    assert np.abs(client.decrypt(client.encrypt(x).to(engine).rotate(1)) - np.roll(x, -1)).max() < TOLERANCE
    assert engine.stats()["peak_bytes"] <= 2 << 20


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"memory": "lots"}, hc.InvalidArgument),
        ({"memory": 0}, hc.InvalidArgument),
        ({"memory": 1.5}, hc.WrongType),
        ({"device": "toaster"}, hc.InvalidArgument),
        ({"device": 0}, hc.WrongType),
        ({"policy": "magic"}, hc.InvalidArgument),
        ({"threads": 0}, hc.InvalidArgument),
    ],
)
def test_bad_options(params, options, error):
    with pytest.raises(error):
        hc.Engine(params, **options)


def test_wrong_keys_get_a_clear_error(params, client, keys, deep_client):
    with pytest.raises(hc.WrongType, match="owns the secret key"):
        hc.Engine(params, client)
    with pytest.raises(hc.WrongType, match="EvaluationKeys"):
        hc.Engine(params, client.public_key())
    with pytest.raises(hc.WrongType, match="EvaluationKeys"):
        hc.Engine(params, "keys.hlc")
    with pytest.raises(hc.WrongType, match="Params"):
        hc.Engine(keys)
    with pytest.raises(hc.InvalidArgument, match="one parameter set"):
        hc.Engine(params, deep_client.evaluation_keys([1]))
    with pytest.raises(hc.InvalidArgument, match="one parameter set"):
        deep_client.encrypt([1.0]).to(hc.Engine(params, threads=1))


def test_engine_without_keys_adds_and_scales(params, client, x):
    engine = hc.Engine(params, threads=1)
    ct = client.encrypt(x).to(engine)
    assert np.abs(client.decrypt(2 * ct + ct * x) - (2 * x + x * x)).max() < TOLERANCE
    with pytest.raises(hc.MissingKey, match="relinearization"):
        _ = ct * ct


def test_kept_seeds_halve_the_keys(params, keys, client, x):
    full = hc.Engine(params, keys, threads=1)
    small = hc.Engine(params, keys, threads=1, keep_seeds=True)
    sizes = [each.stats()["live_by_class"]["evaluation_key"] for each in (full, small)]
    assert sizes[1] * 2 == sizes[0]
    results = [each.run(lambda a: (a * a).rotate(1), client.encrypt(x)) for each in (full, small)]
    assert np.abs(client.decrypt(results[0]) - client.decrypt(results[1])).max() < TOLERANCE


def test_objects_may_be_dropped_in_any_order(x):
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    client = hc.Client(params, seed=b"k" * 32, threads=1)
    keys = client.evaluation_keys([1])
    engine = hc.Engine(params, keys, threads=1)
    ct, public = client.encrypt(x), client.public_key()
    y = engine.run(lambda a: a.rotate(1) * a, ct)
    del engine, keys, params, ct
    gc.collect()
    y = y + 1  # the ciphertext keeps its engine
    assert np.abs(client.decrypt(y) - (np.roll(x, -1) * x + 1)).max() < TOLERANCE
    del client
    gc.collect()
    assert public.encrypt(x).slots == len(x)
    del public
    gc.collect()
    assert y.level == 2


def test_memory_returns_to_what_it_was(client, engine, x):
    def program(a):
        return ((a * a) + a).rotate(1).conj()

    engine.run(program, client.encrypt(x))  # makes the permutation tables
    gc.collect()
    before = engine.stats()["live_bytes"]
    for _ in range(3):
        engine.run(program, client.encrypt(x))
    gc.collect()
    assert engine.stats()["live_bytes"] == before


def test_engine_may_be_used_from_threads(client, engine, x):
    results = []

    def work():
        results.append(client.decrypt(engine.run(lambda a: (a * a).rotate(1), client.encrypt(x))))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert len(results) == 4
    assert all(np.abs(each - np.roll(x * x, -1)).max() < TOLERANCE for each in results)


def test_engines_cannot_be_pickled(engine):
    for action in (pickle.dumps, copy.deepcopy):
        with pytest.raises(hc.Error, match="cannot be pickled"):
            action(engine)


def test_description(engine, params):
    assert engine.describe()["threads"] == 1
    assert (engine.device, engine.policy, engine.budget_bytes, engine.is_ghost) == (
        "cpu",
        "resident",
        0,
        False,
    )
    assert engine.params == params
    assert "unlimited" in repr(engine)
