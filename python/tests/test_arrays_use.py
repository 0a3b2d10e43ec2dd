# SPDX-License-Identifier: Apache-2.0
"""Encrypted arrays around programs: clients, packings, files, engines, plans, keys, ghosts."""

import functools
import io
import pickle

import halocline as hc
import numpy as np
import pytest
from array_rig import ArrayRig
from halocline.arrays import container
from halocline.arrays.movement import gather
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@pytest.fixture(scope="module")
def rig():
    return ArrayRig("test-n10-d3")


def numbers(*shape):
    return np.random.default_rng(2).uniform(-1, 1, shape)


# Packings


@given(shape=hnp.array_shapes(min_dims=0, max_dims=4, max_side=9), data=st.data())
def test_packing_gives_back_what_it_got(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    packing = hc.Packing.of(shape, data.draw(st.sampled_from([1, 8, 64])), order)
    values = numbers(*shape)
    vectors = packing.pack(values)
    assert len(vectors) == packing.count <= max(1, np.prod(packing.padded) // packing.slots)
    assert all(each.shape == (packing.slots,) for each in vectors)
    assert np.array_equal(packing.unpack(vectors), values)
    assert np.isclose(np.sum(vectors), values.sum())


def test_packing_with_copies():
    packing = hc.Packing((3,), (2,), 16, copies=9)
    assert packing.copy_count == 4
    wanted = [1, 1, 2, 2, 3, 3, 0, 0] * 2
    assert np.array_equal(packing.pack([1.0, 2.0, 3.0])[0], wanted)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((3, 3), (2, 1), 16), "shares addresses"),
        (((3,), (3,), 16), "power of two"),
        (((3,), (0,), 16), "power of two"),
        (((3,), (1, 2), 16), "2 strides"),
        (((3,), (1,), 12), "12 slots"),
        (((3,), (1,), 16, 2), "shares addresses"),
        (((0,), (1,), 16), "no elements"),
        (((2,) * 17, (1,) * 17, 16), "17 axes"),
        (((2**30, 2**30), (2**30, 1), 16), "too large"),
        (((2,), (2**50,), 16), "too far"),
        ((("a",), (1,), 16), "shape"),
    ],
)
def test_packings_that_cannot_be(arguments, text):
    with pytest.raises(hc.InvalidArgument, match=text):
        hc.Packing(*arguments)


# The client


@given(shape=hnp.array_shapes(min_dims=0, max_dims=3, max_side=12), real=st.booleans())
def test_client_gives_back_what_it_got(rig, shape, real):
    values = numbers(*shape) if real else numbers(*shape) * (1 + 2j)
    array = rig.client.encrypt_array(values)
    made = rig.client.decrypt(array)
    assert made.dtype == (np.float64 if real else np.complex128) and array.is_real == real
    assert made.shape == values.shape == array.shape
    assert np.abs(made - values).max() < 2.0**-20  # fresh noise at scale 2^40


def test_client_takes_numbers_and_lists(rig):
    assert rig.client.encrypt_array(3).shape == ()
    assert rig.client.encrypt_array([[True, False]]).shape == (1, 2)
    assert rig.client.encrypt_array([1, 2], level=1, public=True).level == 1
    assert rig.client.decrypt(rig.client.encrypt_array([1, 2]), real=False).dtype == np.complex128
    ct = rig.client.encrypt([1.0, 2.0])
    assert rig.client.decrypt(ct).shape == (2,)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], hc.InvalidArgument),
        (np.zeros((3, 0)), hc.InvalidArgument),
        ([np.nan], hc.InvalidArgument),
        (np.ma.array([1.0, 2.0], mask=[False, True]), hc.InvalidArgument),
        (["a"], hc.WrongType),
        ([[1], [1, 2]], hc.WrongType),
        (None, hc.WrongType),
    ],
)
def test_client_refuses(rig, values, kind):
    with pytest.raises(kind):
        rig.client.encrypt_array(values)


def test_other_parties_encrypt_with_the_public_key(rig):
    x = numbers(3, 400)
    array = hc.encrypt_array(rig.client.public_key(), x, hc.Packing.of(x.shape, 512, (1, 0)), level=2)
    assert array.level == 2 and array.packing.strides == (1, 4)
    rig.compare(array, x)
    rig.compare(hc.encrypt_array(rig.client, x), x)
    with pytest.raises(hc.WrongType, match="PublicKey"):
        hc.encrypt_array(rig.params, x)


def test_client_refuses_packings_of_others(rig):
    with pytest.raises(hc.InvalidArgument, match="shape"):
        rig.client.encrypt_array([1, 2], hc.Packing.of(3, 512))
    with pytest.raises(hc.InvalidArgument, match="512"):
        rig.client.encrypt_array(np.zeros(1024), hc.Packing.of(1024, 1024))
    other = hc.Client(rig.params)
    with pytest.raises(hc.KeyMismatch):
        other.decrypt(rig.client.encrypt_array([1, 2]))


def test_constructor_checks(rig):
    ct = rig.client.encrypt(np.arange(8.0))
    packing = hc.Packing.of(8, 512)
    array = hc.EncryptedArray([ct], packing)
    assert np.allclose(rig.client.decrypt(array), np.arange(8.0), atol=2.0**-20)
    assert (array.nbytes, array.level, array.key_id) == (ct.nbytes, ct.level, ct.key_id)
    for parts, text in [([ct, ct], "2 ciphertexts"), (ct, "a list"), ([1], "Ciphertext"), ([], "0 cip")]:
        with pytest.raises(hc.InvalidArgument, match=text):
            hc.EncryptedArray(parts, packing)
    with pytest.raises(hc.InvalidArgument, match="16"):
        hc.EncryptedArray([rig.client.encrypt(np.arange(16.0))], packing)


# Files


def test_bytes_files_and_pickles(rig, tmp_path):
    x = numbers(7, 100)
    array = rig.run(lambda x: x[1:], x)
    array.save(tmp_path / "x.hla")
    for again in (
        hc.EncryptedArray.load(tmp_path / "x.hla", rig.params),
        hc.EncryptedArray.from_bytes(array.to_bytes(), allow_insecure=True),
        hc.EncryptedArray.from_bytes(bytearray(array.to_bytes()), rig.params),
    ):
        assert (again.packing, again.is_clean, again.engine) == (array.packing, array.is_clean, None)
        rig.compare(again, x[1:])
    with hc.allow_insecure_unpickling():
        rig.compare(pickle.load(io.BytesIO(pickle.dumps(array))), x[1:])
    with pytest.raises(hc.InsecureParameters):
        hc.EncryptedArray.from_bytes(array.to_bytes())
    with pytest.raises(hc.InvalidArgument):
        hc.EncryptedArray.from_bytes(array.to_bytes(), hc.Params.preset("n14-d7"))


def test_mutated_bytes_are_refused_as_corrupt(rig):
    good = rig.client.encrypt_array(numbers(3, 300)).to_bytes()
    head = good.index(b"}") + 1
    random = np.random.default_rng(3)
    for attempt in range(300):
        data = bytearray(good)
        at = int(random.integers(head if attempt % 2 else len(good)))
        data[at] ^= 1 << int(random.integers(8))
        with pytest.raises(hc.CorruptData):
            hc.EncryptedArray.from_bytes(bytes(data), rig.params)
    for size in (0, 5, 40, head, head + 10, len(good) - 1):
        with pytest.raises(hc.CorruptData):
            hc.EncryptedArray.from_bytes(good[:size], rig.params)
    with pytest.raises(hc.CorruptData):
        hc.EncryptedArray.from_bytes(good + b"0", rig.params)


def array_header(array):
    """The description that is in a file of the array."""
    packing = array.packing
    return {
        "shape": packing.shape,
        "strides": packing.strides,
        "slots": packing.slots,
        "copies": 0,
        "clean": True,
        "bytes": [len(each.to_bytes()) for each in array.parts],
    }


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [5, 300]},
        {"shape": [2**30, 2**9]},
        {"shape": [3, "a"]},
        {"shape": 3},
        {"shape": None},
        {"strides": [1, 1]},
        {"slots": 1 << 40},
        {"slots": 256, "strides": [512, 1]},
        {"copies": -1},
        {"clean": 1},
        {"bytes": [1]},
        {"bytes": [-5]},
        {"more": 1},
    ],
)
def test_descriptions_that_lie(rig, change):
    """With a right hash, as an attacker would write it."""
    array = rig.client.encrypt_array(numbers(3, 300))
    blobs = [each.to_bytes() for each in array.parts]
    header = array_header(array)
    assert hc.EncryptedArray.from_bytes(container.joined(header, blobs), rig.params).shape == (3, 300)
    with pytest.raises(hc.CorruptData):
        hc.EncryptedArray.from_bytes(container.joined(header | change, blobs), rig.params)


@pytest.mark.parametrize(
    ("shape", "strides", "slots", "count"),
    [([1 << 34], [1], 1 << 20, 1 << 14), ([1 << 26], [1 << 13], 1 << 13, 1 << 13), ([3, 5], [8, 1], 2, 8)],
)
def test_sizes_are_compared_before_a_list_of_ciphertexts_is_made(shape, strides, slots, count):
    """Descriptions of some KiB whose lists of elements, or of ciphertexts, would take gigabytes."""
    import tracemalloc

    header = {"shape": shape, "strides": strides, "slots": slots, "copies": 0, "clean": True}
    data = container.joined(header | {"bytes": [1] * count}, [b"x"] * count)
    tracemalloc.start()
    try:
        with pytest.raises(hc.CorruptData):
            hc.EncryptedArray.from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < (1 << 20) + 40 * len(data)
    finally:
        tracemalloc.stop()


def test_parts_of_two_clients_are_refused(rig):
    other = hc.Client(rig.params)
    parts = [each.encrypt(np.arange(512.0)) for each in (rig.client, other)]
    with pytest.raises(hc.KeyMismatch, match=f"{other.key_id}.*one client"):
        hc.EncryptedArray(parts, hc.Packing.of(1024, 512))
    data = container.write_container(hc.Packing.of(1024, 512), True, [each.to_bytes() for each in parts])
    with pytest.raises(hc.KeyMismatch):
        hc.EncryptedArray.from_bytes(data, rig.params)


def test_messages_about_headers_are_short(rig):
    array = rig.client.encrypt_array(np.arange(4.0))
    header, blob = array_header(array), array.parts[0].to_bytes()
    for change in (
        {"x" * 100_000: 1},
        {str(each): 1 for each in range(10_000)},
        {"bytes": [10**4200] * 30},
        {"strides": [10**4200]},
        {"slots": "1" * 100_000},
        {"shape": [10**4200]},
    ):
        with pytest.raises(hc.CorruptData) as raised:
            hc.EncryptedArray.from_bytes(container.joined(header | change, [blob]), rig.params)
        assert len(str(raised.value)) < 400


# Engines, plans, keys


def program(x, w):
    scores = np.sum(x * w, axis=1)
    return {"scores": scores, "centred": [x - x.mean(axis=0)], "backwards": (np.flip(x, 1),)}


@pytest.mark.parametrize("policy", ["resident", "lru", "planned"])
def test_policies(rig, policy):
    x, w = numbers(70, 20), numbers(20)
    arrays = [rig.client.encrypt_array(each) for each in (x, w)]
    traced = hc.trace_program(rig.params, program, *arrays)
    needed = traced.minimum_budget.planned if policy == "planned" else traced.peak_bytes * 2
    engine = rig.engine_for(program, *arrays, policy=policy, memory=None if policy == "resident" else needed)
    for _ in range(2):
        made = engine.run(program, *arrays)
        rig.compare(made["scores"], (x * w).sum(axis=1))
        rig.compare(made["centred"][0], x - x.mean(axis=0))
        rig.compare(made["backwards"][0], x[:, ::-1])
    assert engine.last_run.divergence is None
    assert (engine.last_plan is not None) == (policy == "planned")


def test_one_plan_for_arrays_of_one_shape_and_packing(rig):
    def double(x):
        return x + x

    engine = hc.Engine(rig.params, memory="2GiB", policy="planned", threads=1)
    encrypt = functools.partial(rig.client.encrypt_array, numbers(4, 8))
    plans = []
    for array in (encrypt(), encrypt(), encrypt(hc.Packing.of((4, 8), 512, (1, 0))), encrypt(level=2)):
        rig.compare(engine.run(double, array), 2 * numbers(4, 8))
        identity = engine._identities.identify(double, ((array,), {}))
        plans.append(identity)
    assert plans[0] == plans[1] and len(set(plans)) == 3
    captured = encrypt()
    assert engine._identities.identify(lambda: captured, ((), {})) == engine._identities.identify(
        lambda: captured, ((), {})
    )


def test_arrays_bind_and_stay_where_they_are(rig):
    engine = hc.Engine(rig.params, threads=1)
    array = rig.client.encrypt_array(numbers(3, 4))
    bound = array.to(engine)
    assert bound.engine is engine and bound.device == "cpu" and array.engine is None and array.device is None
    assert "cpu" in repr(bound) and "unbound" in repr(array)
    other = array.to(hc.Engine(rig.params, threads=1))
    with pytest.raises(hc.InvalidArgument, match="two engines"):
        bound + other
    with pytest.raises(hc.InvalidArgument, match="several engines"):
        packing = hc.Packing((2, 8), (16, 1), 16)
        hc.EncryptedArray([rig.client.encrypt(np.zeros(16)).to(e) for e in (engine, other.engine)], packing)


def test_keys_before_anything_is_encrypted(rig):
    """Specs, plain arrays and encrypted arrays lead to the same keys; nothing is named by the user."""
    x, w = numbers(20, 20), numbers(20)
    specs = [hc.ArraySpec(each.shape) for each in (x, w)]
    plan = hc.key_plan(rig.params, program, *specs)
    encrypted = [rig.client.encrypt_array(each) for each in (x, w)]
    assert hc.key_plan(rig.params, program, *encrypted).requests() == plan.requests()
    assert rig.client.keys_for(program, x, w).requests() == plan.requests()
    assert len(plan) > 1
    traced = hc.trace_program(rig.params, program, *specs)
    assert traced.result["scores"].shape == (20,)
    assert hc.key_plan(rig.params, lambda x: x["a"].sum(), {"a": hc.ArraySpec(8)}).requests()
    with pytest.raises(hc.InvalidArgument, match="ArraySpec"):
        hc.key_plan(rig.params, program, x, w)


def test_keys_and_packings_of_programs_that_are_bootstrapped():
    """Forty steps of a recurrence, for which an engine places bootstraps, in as few calls as any program."""

    def steps(x):
        for _ in range(40):
            x = 3.2 * (x * (1 - x))
        return x

    client = ArrayRig("test-n11-boot").client
    start = np.linspace(0.1, 0.9, 16)
    with pytest.raises(hc.LevelExhausted, match='give bootstrap="auto" to the Engine'):
        client.keys_for(steps, start)
    arrays = client.encrypt_for(steps, start, bootstrap="auto")
    keys = client.keys_for(steps, *arrays, bootstrap="auto")
    engine = hc.Engine(client.params, keys, bootstrap="auto", threads=1)
    got = client.decrypt(engine.run(steps, *arrays))
    # Twenty bootstraps of 20 bits; the recurrence goes to a cycle, where errors shrink.
    assert np.abs(got - steps(start)).max() < 2.0**-14


@pytest.mark.parametrize(
    "make",
    [
        lambda: hc.ArraySpec((0,)),
        lambda: hc.ArraySpec((2,), level=-1),
        lambda: hc.ArraySpec((2,), packing=hc.Packing.of(3, 8)),
        lambda: hc.ArraySpec("ab"),
    ],
)
def test_specs_that_cannot_be(make):
    with pytest.raises(hc.InvalidArgument):
        make()


def test_engine_for_many_users(rig, tmp_path):
    """The keys of the user whose arrays they are; arrays of another client are refused."""

    def centred(x):
        return x - x.mean(axis=1, keepdims=True)

    x = numbers(3, 400)
    store = hc.KeyStore(f"file:{tmp_path / 'keys'}")
    store.put("one", rig.client.keys_for(centred, x))
    with hc.UserEngine(rig.params, store, key_memory="1GiB", threads=1) as users:
        rig.compare(users.run("one", centred, rig.client.encrypt_array(x)), centred(x))
        with pytest.raises(hc.KeyMismatch):
            users.run("one", centred, hc.Client(rig.params).encrypt_array(x))


# Packings chosen


def test_packing_is_chosen_by_what_the_program_does(rig):
    """Sums of rows want rows in the high bits, sums of columns the columns; both cost no mask then."""
    x = numbers(8, 8)
    for axis, strides in ((0, (8, 1)), (1, (1, 8))):
        (packing,) = hc.choose_packing(rig.params, lambda x, axis=axis: x.mean(axis=axis), x)
        assert packing.strides == strides
    total = functools.partial(np.sum, axis=None)
    assert hc.choose_packing(rig.params, total, x) == [hc.Packing.of((8, 8), 512)]


def test_arrays_that_are_added_are_packed_alike(rig):
    """Another order for one of them alone would cost more than it saves."""

    def program(x, y):
        both = x + y
        return both - both.mean(axis=1, keepdims=True)

    packings = hc.choose_packing(rig.params, program, numbers(16, 8), numbers(16, 8))
    assert [each.strides for each in packings] == [(1, 16), (1, 16)]


def test_chosen_packings_cost_less_and_compute_the_same(rig):
    x, w = numbers(16, 8), numbers(16)

    def weighted(x, w):
        return np.sum(x * w[:, None], axis=1)

    arrays = rig.client.encrypt_for(weighted, x, w)
    usual = [rig.client.encrypt_array(each) for each in (x, w)]
    switches = [
        sum(hc.trace_program(rig.params, weighted, *each).key_uses.values()) for each in (arrays, usual)
    ]
    assert switches[0] < switches[1]
    rig.compare(rig.run(weighted, *arrays), weighted(x, w))
    assert hc.choose_packing(rig.params, weighted, *arrays) == [each.packing for each in arrays]
    assert rig.client.encrypt_for(weighted, arrays[0], w)[0] is arrays[0]


def test_programs_that_fail_say_why_for_any_packing(rig):
    with pytest.raises(hc.LevelExhausted):
        hc.choose_packing(rig.params, lambda x: x**32, numbers(4, 4))
    with pytest.raises(hc.InvalidArgument, match="do not go together"):
        rig.client.encrypt_for(lambda x, y: x + y, numbers(3), numbers(4))


def test_repacking(rig):
    """40 sums of rows lie in 5 ciphertexts until they are brought together."""
    made = rig.run(lambda x: x.sum(axis=1), numbers(40, 50))
    assert made.packing.count == 5
    packed = rig.run(lambda x: x.repack(), made)
    assert packed.packing == hc.Packing.of(40, 512) and packed.is_clean
    rig.compare(packed, numbers(40, 50).sum(axis=1))
    with pytest.raises(hc.InvalidArgument, match="repack"):
        packed.repack(hc.Packing.of(41, 512))


# Movements with weights, for products


def test_weighted_sums_of_elements(rig):
    x = numbers(6)
    packing = hc.Packing.of(6, 512)
    source = np.array([[0, 1], [5, -1], [3, 3]])
    weights = np.array([[2.0, -1.0], [0.5, 7.0], [1.0, 1.0]])
    made = rig.run(lambda x: gather(x, hc.Packing.of(3, 512), source, weights), x)
    rig.compare(made, [2 * x[0] - x[1], x[5] / 2, 2 * x[3]])
    assert made.is_clean and made.packing != packing
