# SPDX-License-Identifier: Apache-2.0
"""Key identifiers: every object names its secret key, and objects of two keys are refused."""

import hashlib
import pickle
import re
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.workloads.images.run_folder import RunFolder

OLD_FILES = Path(__file__).resolve().parents[2] / "cpp/tests/fuzz/corpus/serialize"


def nameless(data, version=2):
    """A container without key identifier, of either version."""
    header = bytearray(data[:112])
    header[8:12] = version.to_bytes(4, "little")
    header[64:80] = bytes(16)
    return bytes(header) + hashlib.blake2b(header, digest_size=16).digest() + bytes(data[128:])


@pytest.fixture(scope="module")
def stranger(params):
    return hc.Client(params, seed=b"another secret key" + bytes(14), threads=1)


@pytest.fixture(scope="module")
def strange_keys(stranger):
    return stranger.evaluation_keys([1])


def names_both(client, stranger):
    """Matches messages with both identifiers, in any order."""
    one, other = client.key_id, stranger.key_id
    return pytest.raises(hc.KeyMismatch, match=rf"(?s)({one}.*{other}|{other}.*{one})")


def test_identifiers_name_a_secret_key(params, client, stranger, keys, engine, x):
    assert re.fullmatch("[0-9a-f]{32}", client.key_id)
    assert client.key_id not in (stranger.key_id, hc.Client(params, threads=1).key_id)
    ct, public = client.encrypt(x), client.public_key()
    bound = ct.to(engine)
    results = [bound + bound, bound * bound, bound.rotate(1), bound.conj(), bound * 0.5, bound + x]
    results += [engine.run(lambda a: (a * a + 0.5).rotate(1), ct), np.eye(params.slots) @ bound]
    objects = [ct, client.encrypt(x, public=True), public, public.encrypt(x), keys, engine, *results]
    assert {each.key_id for each in objects} == {client.key_id}


def test_identifiers_say_nothing_about_the_secret(params, tmp_path):
    """They are drawn beside the key: two keys with the same secret can have two of them."""
    path = tmp_path / "secret.hlc"
    hc.Client(params, threads=1).save_secret_key(path)
    path.write_bytes(nameless(path.read_bytes()))
    first, second = (hc.Client.load(path, params, threads=1) for _ in range(2))
    assert first.key_id is None
    assert first.assign_key_id() != second.assign_key_id()


def test_they_travel_in_bytes_files_and_pickles(params, client, keys, x, tmp_path):
    objects = [client.encrypt(x), client.public_key(), keys]
    for number, each in enumerate(objects):
        each.save(tmp_path / str(number))
        with hc.allow_insecure_unpickling():
            unpickled = pickle.loads(pickle.dumps(each))
        for again in (
            type(each).from_bytes(each.to_bytes(), params),
            type(each).load(tmp_path / str(number), params),
            unpickled,
        ):
            assert again.key_id == client.key_id
    client.save_secret_key(tmp_path / "secret.hlc")
    loaded = hc.Client.load(tmp_path / "secret.hlc", params, threads=1)
    assert loaded.key_id == client.key_id
    assert np.abs(loaded.decrypt(client.encrypt(x)) - x).max() < 2.0**-14


def test_a_changed_identifier_is_noticed(client, params, x):
    data = bytearray(client.encrypt(x).to_bytes())
    assert bytes(data[64:80]).hex() == client.key_id
    data[70] ^= 1
    with pytest.raises(hc.CorruptData, match="header does not match"):
        hc.Ciphertext.from_bytes(bytes(data), params)


def test_decrypting_for_another_client_is_refused(client, stranger, engine, x):
    ct = client.encrypt(x)
    for each in (ct, ct.to(engine) * ct.to(engine), client.public_key().encrypt(x)):
        with names_both(client, stranger):
            stranger.decrypt(each)


def test_an_engine_takes_keys_and_ciphertexts_of_one_client(params, client, stranger, keys, strange_keys, x):
    engine = hc.Engine(params, keys, threads=1)
    before = engine.stats()["live_bytes"]
    with names_both(client, stranger):
        engine.add_keys(strange_keys)
    assert engine.stats()["live_bytes"] == before
    with names_both(client, stranger):
        stranger.encrypt(x).to(engine)
    with names_both(client, stranger):
        engine.run(lambda a, b: a + b, client.encrypt(x), stranger.encrypt(x))


def test_operands_of_two_clients_are_refused_without_keys_too(params, client, stranger, strange_keys, x):
    engine = hc.Engine(params, threads=1)
    a, b = client.encrypt(x).to(engine), stranger.encrypt(x).to(engine)
    assert engine.key_id is None
    for program in (lambda: a + b, lambda: b - a, lambda: a * b):
        with names_both(client, stranger):
            program()
    engine.add_keys(strange_keys)  # keys that come after a ciphertext of another client
    with names_both(client, stranger):
        a.rotate(1)
    assert (b.rotate(1) * b).key_id == stranger.key_id


def test_planned_runs_and_plans_do_not_depend_on_the_key(params, client, stranger, tmp_path, x):
    """A plan made for one client serves another; ghosts belong to no client."""

    def program(a, b):
        return (a * b).rotate(1) + a

    results = []
    plan = None
    for owner in (client, stranger):
        keys = owner.evaluation_keys([1])
        engine = hc.Engine(params, keys, memory="2MiB", policy="planned", threads=1)
        a, b = owner.encrypt(x), owner.encrypt(-x)
        result = engine.run(program, a, b, plan=plan)
        assert result.key_id == owner.key_id
        assert engine.last_run.followed_plan
        plan = engine.last_plan if plan is None else plan
        results.append(owner.decrypt(result))
    assert np.abs(results[0] - results[1]).max() < 2.0**-10
    traced = [hc.trace_program(params, program, c.encrypt(x), c.encrypt(x)) for c in (client, stranger)]
    assert traced[0].key_plan == traced[1].key_plan
    assert traced[0].result.key_id is None
    ghost = hc.Engine(params, client.evaluation_keys([1]), device="ghost")
    assert ghost.run(program, client.encrypt(x), client.encrypt(x)).key_id == client.key_id


def test_bundles_may_be_empty(params, client, stranger, x, tmp_path):
    none = client.evaluation_keys(relinearization=False)
    assert len(none) == 0
    assert "no keys" in repr(none)
    none.save(tmp_path / "keys.hlc")
    with hc.allow_insecure_unpickling():
        unpickled = pickle.loads(pickle.dumps(none))
    for again in (none, hc.EvaluationKeys.load(tmp_path / "keys.hlc", params), unpickled):
        assert (len(again), again.key_id) == (0, client.key_id)
        engine = hc.Engine(params, again, threads=1)
        y = engine.run(lambda a: a + a, client.encrypt(x))
        assert np.abs(client.decrypt(y) - 2 * x).max() < 2.0**-14
        with names_both(client, stranger):
            stranger.encrypt(x).to(engine)


@pytest.mark.parametrize("version", [1, 2])
def test_nameless_objects_go_with_every_key(params, client, stranger, x, version):
    old = hc.Ciphertext.from_bytes(nameless(client.encrypt(x, public=True).to_bytes(), version), params)
    old_keys = hc.EvaluationKeys.from_bytes(nameless(client.evaluation_keys([1]).to_bytes()), params)
    assert old.key_id is None
    assert old_keys.key_id is None
    assert np.abs(client.decrypt(old) - x).max() < 2.0**-8
    engine = hc.Engine(params, old_keys, threads=1)
    new = engine.run(lambda a, b: (a * b).rotate(1), old, client.encrypt(x))
    assert new.key_id == client.key_id
    assert engine.run(lambda a: a.rotate(1), old).key_id is None
    with names_both(client, stranger):
        stranger.decrypt(new)


def test_an_old_secret_key_gets_an_identifier_on_request(params, client, x, tmp_path):
    path = tmp_path / "secret.hlc"
    client.save_secret_key(path)
    path.write_bytes(nameless(path.read_bytes(), 1))
    old = hc.Client.load(path, params, threads=1)
    ct = old.encrypt(x)
    assert (old.key_id, ct.key_id, old.public_key().key_id) == (None, None, None)
    given = old.assign_key_id()
    assert old.key_id == old.public_key().key_id == old.encrypt(x).key_id == given
    assert np.abs(old.decrypt(ct) - x).max() < 2.0**-14
    with pytest.raises(hc.InvalidArgument, match=given):
        old.assign_key_id()
    old.save_secret_key(path, overwrite=True)
    assert hc.Client.load(path, params, threads=1).key_id == given


def test_a_run_folder_holds_results_of_its_own_key(params, stranger, x, tmp_path):
    with RunFolder(tmp_path / "run", "network", np.zeros((2, 3))) as folder:
        own = folder.client(params, threads=1)
        folder.keep_result(0, own.encrypt(x))
        folder.keep_result(1, stranger.encrypt(x))
    with RunFolder(tmp_path / "run", "network", np.zeros((2, 3))) as again:
        assert again.client(params, threads=1).key_id == own.key_id
        assert again.result(0, params).key_id == own.key_id
        with names_both(own, stranger):
            again.result(1, params)


def test_committed_files_of_version_1_load():
    params = hc.Params.load(OLD_FILES / "parameters", allow_insecure=True)
    for name, kind in (("ciphertext_seeded", hc.Ciphertext), ("public_key", hc.PublicKey)):
        assert kind.load(OLD_FILES / name, params).key_id is None
    assert len(hc.EvaluationKeys.load(OLD_FILES / "evaluation_keys", params)) == 2
    assert hc.Client.load(OLD_FILES / "secret_key", params, threads=1).key_id is None
