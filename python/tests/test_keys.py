# SPDX-License-Identifier: Apache-2.0
import pickle

import halocline as hc
import pytest


def test_bundle_holds_what_was_asked_for(client, params):
    keys = client.evaluation_keys([1, -2, 1, 0], conjugation=True, relinearization=False, level=2)
    assert keys.rotations == [-2, 1]
    assert (keys.conjugation, keys.relinearization, len(keys)) == (True, False, 3)
    assert set(keys.levels.values()) == {2}
    assert "rotation key for step 1" in list(keys)
    assert "rotations [-2, 1], conjugation" in repr(keys)
    assert keys.params == params
    assert client.evaluation_keys().rotations == []
    assert client.evaluation_keys().relinearization
    assert keys.nbytes == 3 * params.key_bytes(2, seeded=True)


def test_progress_counts_keys(client):
    seen = []
    client.evaluation_keys([1, 2], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("rotations", "error"),
    [([512], hc.InvalidArgument), ([-512], hc.InvalidArgument), ([1.5], hc.WrongType), (["1"], hc.WrongType)],
)
def test_bad_rotations(client, rotations, error):
    with pytest.raises(error, match="rotation"):
        client.evaluation_keys(rotations)
    with pytest.raises(hc.WrongType, match=r"rotations: got int, expected a list of steps"):
        client.evaluation_keys(5)
    with pytest.raises(hc.InvalidArgument, match="level"):
        client.evaluation_keys([1], level=4)


def test_keys_of_a_level_serve_lower_levels_only(params, client, x):
    engine = hc.Engine(params, client.evaluation_keys([1], level=1), threads=1)
    ct = client.encrypt(x).to(engine)
    ct.drop_level(1).rotate(1)
    ct.drop_level(0).rotate(1)
    with pytest.raises(hc.MissingKey, match="level"):
        ct.rotate(1)


def test_plan_generates_exactly_the_needed_keys(params, client, x):
    def program(a, b):
        return (a * b).rotate(3).conj().rotate(-1)

    plan = hc.key_plan(params, program)
    top = params.max_level
    core = params._core
    assert plan.requests() == sorted(
        [
            (1, top),
            (core.galois_element(3), top - 1),
            (core.galois_element(-1), top - 1),
            (core.conjugation_element, top - 1),
        ]
    )
    assert (plan.rotations, plan.conjugation, plan.relinearization) == ([-1, 3], True, True)
    keys = client.evaluation_keys(plan=plan)
    assert keys.requests() == plan.requests()
    engine = hc.Engine(params, keys, threads=1)
    engine.run(program, client.encrypt(x), client.encrypt(x))
    assert plan.nbytes() == engine.stats()["live_by_class"]["evaluation_key"]
    with pytest.raises(hc.InvalidArgument, match="not both"):
        client.evaluation_keys([1], plan=plan)
    with pytest.raises(hc.WrongType, match="KeyPlan"):
        client.evaluation_keys(plan=[1, 2])


def test_plan_depends_on_the_shapes_given(params, client):
    ct = client.encrypt([1.0, 2.0, 3.0, 4.0], level=1)
    plan = hc.key_plan(params, lambda values, k: values[0].rotate(k), [ct], 2)
    assert plan.requests() == [(params._core.galois_element(2), 1)]
    assert len(hc.key_plan(params, lambda a: a + 1)) == 0
    with pytest.raises(hc.WrongType, match="function"):
        hc.key_plan(params, 5)
    with pytest.raises(hc.LevelExhausted):
        hc.key_plan(params, lambda a: a**64)


def test_plan_travels_as_json(params, deep_params):
    plan = hc.key_plan(params, lambda a: (a * a).rotate(1))
    again = hc.KeyPlan.from_json(plan.to_json(), params)
    assert again == plan
    assert hash(again) == hash(plan)
    with pytest.raises(hc.InvalidArgument, match="made for parameters"):
        hc.KeyPlan.from_json(plan.to_json(), deep_params)
    for text in ("", "[]", "{}", '{"schema": 1}', plan.to_json().replace("keys", "locks"), "[" * 100000):
        with pytest.raises(hc.Error):
            hc.KeyPlan.from_json(text, params)
    with pytest.raises(hc.InvalidArgument, match="schema"):
        hc.KeyPlan.from_json(plan.to_json().replace('"schema": 1', '"schema": 2'), params)
    with pytest.raises(hc.InvalidArgument, match="level"):
        hc.KeyPlan(params, [(1, 99)])


def test_public_objects_can_be_pickled(client, keys, params, engine, x):
    with hc.allow_insecure_unpickling():
        check_pickles(client, keys, params, engine, x)


def check_pickles(client, keys, params, engine, x):
    again = pickle.loads(pickle.dumps(keys))
    assert again.requests() == keys.requests()
    public = pickle.loads(pickle.dumps(client.public_key()))
    assert public.encrypt(x).slots == params.slots
    bound = client.encrypt(x).to(engine)
    restored = pickle.loads(pickle.dumps(bound))
    assert restored.device is None
    assert restored.is_real
    plan = hc.key_plan(params, lambda a: a.rotate(1))
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_bundles_cannot_be_made_by_hand(params):
    for kind in (hc.EvaluationKeys, hc.PublicKey):
        with pytest.raises(hc.WrongType, match="use client"):
            kind(b"bytes")
    with pytest.raises(hc.WrongType, match=r"use client\.encrypt"):
        hc.Ciphertext([1.0], None, True)


def test_encapsulation_key_travels_with_the_others():
    params = hc.Params.preset("test-n11-boot", allow_insecure=True)
    client = hc.Client(params, threads=1)
    keys = client.evaluation_keys([1], encapsulation=True)
    assert keys.requests() == [(1, 5), (2, 16), (params._core.galois_element(1), 5)]
    assert keys.encapsulation and "encapsulation" in repr(keys) and "encapsulation key" in list(keys)
    size = params.encapsulation_key_bytes(seeded=True)
    assert keys.nbytes == size + 2 * params.key_bytes(seeded=True)
    copy = hc.EvaluationKeys.from_bytes(keys.to_bytes(), params)
    assert copy.requests() == keys.requests()
    with hc.allow_insecure_unpickling():
        assert pickle.loads(pickle.dumps(copy)).to_bytes() == keys.to_bytes()
    plan = hc.KeyPlan(params, keys.requests())
    assert plan.nbytes(seeded=True) == keys.nbytes
    assert hc.KeyPlan.from_json(plan.to_json(), params) == plan
    assert client.evaluation_keys(plan=plan).requests() == keys.requests()
    engine = hc.Engine(params, copy, threads=1)
    assert engine.stats()["live_by_class"]["evaluation_key"] == plan.nbytes()
    with pytest.raises(hc.InvalidArgument, match="not both"):
        client.evaluation_keys(plan=plan, encapsulation=True)
    with pytest.raises(hc.InvalidArgument, match="level"):
        client.encrypt([1.0], level=6)
    with pytest.raises(hc.InvalidArgument, match="level"):
        client.public_key().encrypt([1.0], level=6)


def test_sets_without_a_sparse_secret_have_no_encapsulation_key(client):
    assert not client.evaluation_keys().encapsulation
    with pytest.raises(hc.InvalidArgument, match="n16-boot"):
        client.evaluation_keys(encapsulation=True)
    with pytest.raises(hc.InvalidArgument, match="n16-boot"):
        client.evaluation_keys(plan=hc.KeyPlan(client.params, [(2, 1)]))


def test_plans_name_each_key_once(params):
    text = hc.KeyPlan(params, [(5, 1), (25, 2)]).to_json().replace("25", "5")
    with pytest.raises(hc.CorruptData, match="twice"):
        hc.KeyPlan.from_json(text, params)
