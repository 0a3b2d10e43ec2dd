# SPDX-License-Identifier: Apache-2.0
import copy
import pickle
import threading

import halocline as hc
import numpy as np
import pytest

TOLERANCE = 2.0**-22


def test_decrypt_returns_what_was_encrypted(client, x, z):
    real, plain = client.decrypt(client.encrypt(x)), client.decrypt(client.encrypt(z))
    assert real.dtype == np.float64
    assert plain.dtype == np.complex128
    assert np.abs(real - x).max() < TOLERANCE
    assert np.abs(plain - z).max() < TOLERANCE


def test_dtype_follows_the_operands_and_can_be_chosen(client, engine, x, z):
    ct = client.encrypt(x).to(engine)
    assert client.decrypt(ct * 2 + x).dtype == np.float64
    assert client.decrypt(ct * 2j).dtype == np.complex128
    assert client.decrypt(ct + z).dtype == np.complex128
    assert client.decrypt(ct.mul_i()).dtype == np.complex128
    assert client.decrypt(ct, real=False).dtype == np.complex128
    assert client.decrypt(client.encrypt(z), real=True).dtype == np.float64


def test_accepts_what_numpy_accepts(client):
    for values in (
        [1, 2, 3],
        (1.0, 2.0),
        range(5),
        np.arange(4, dtype=np.int8),
        np.arange(6, dtype=np.float32)[::2],
    ):
        expected = np.asarray(values, dtype=float)
        assert np.abs(client.decrypt(client.encrypt(values))[: len(expected)] - expected).max() < TOLERANCE
    assert client.decrypt(client.encrypt(2.5)) == pytest.approx([2.5])


def test_public_encryption(client, x):
    ct = client.encrypt(x, public=True)
    assert np.abs(client.decrypt(ct) - x).max() < 2.0**-16
    other = client.public_key().encrypt(x, level=1)
    assert other.level == 1
    assert np.abs(client.decrypt(other) - x).max() < 2.0**-16
    saved = len(ct.to_bytes()) - len(client.encrypt(x).to_bytes())
    assert saved >= ct.nbytes // 2  # a seed replaces one half of a symmetric ciphertext


def test_level_scale_and_slots(client, params):
    ct = client.encrypt([1.0, 2.0], level=1, scale=2.0**35, slots=8)
    assert (ct.level, ct.scale, ct.slots) == (1, 2.0**35, 8)
    assert np.abs(client.decrypt(ct)[:3] - [1, 2, 0]).max() < 2.0**-20


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, float("nan")], {}, "finite"),
        ([float("inf")], {}, "finite"),
        ([1 + 1j * float("inf")], {}, "finite"),
        (np.ones(513), {}, "slots"),
        ([1, 2, 3], {"slots": 2}, "slots"),
        ([1, 2, 3], {"slots": 6}, "slots"),
        ([1, 2, 3], {"slots": 1024}, "slots"),
        ([1, 2, 3], {"slots": 0}, "slots"),
        ([1e30], {}, "fit|large|overflow"),
        ([1.0], {"scale": 1e300}, "fit|large|overflow|scale"),
        ([1.0], {"scale": 0.0}, "scale"),
        ([1.0], {"scale": -1.0}, "scale"),
        ([1.0], {"scale": float("nan")}, "scale"),
        ([1.0], {"level": 9}, "level"),
        ([1.0], {"level": -1}, "level"),
        ([], {}, "no values"),
        (np.ones((2, 2)), {}, "one dimension"),
        ("text", {}, "numbers"),
        (None, {}, "numbers"),
        ([[1], [2, 3]], {}, "numbers"),
    ],
)
def test_bad_values_get_a_clear_error(client, values, options, message):
    with pytest.raises(hc.InvalidArgument, match=message):
        client.encrypt(values, **options)


def test_decrypt_refuses_other_objects(client, keys, deep_client):
    with pytest.raises(hc.WrongType, match="Ciphertext"):
        client.decrypt(keys)
    with pytest.raises(hc.WrongType, match="Ciphertext"):
        client.decrypt(b"bytes")
    with pytest.raises(hc.InvalidArgument, match="one parameter set"):
        client.decrypt(deep_client.encrypt([1.0]))
    with pytest.raises(hc.InvalidArgument, match="flooding_bits"):
        client.decrypt(client.encrypt([1.0]), flooding_bits=-1)


def test_flooding_adds_noise_of_the_right_size(client, x, params):
    ct = client.encrypt(x)
    flooded = client.decrypt(ct, flooding_bits=30) - x
    # Coefficients get noise of deviation 2^30; a slot is a sum of N of them, divided by the scale.
    expected = 2.0**30 * np.sqrt(params.n) / ct.scale
    assert 0.3 * expected < np.sqrt(np.mean(flooded**2) * 2) < 3 * expected


def test_two_clients_cannot_read_each_other(params, client, x):
    stranger = hc.Client(params, threads=1)
    with pytest.raises(hc.KeyMismatch, match=f"{client.key_id}.*{stranger.key_id}"):
        stranger.decrypt(client.encrypt(x))


def test_seed_makes_clients_equal(params, x):
    first, second = (hc.Client(params, seed=b"s" * 32, threads=1) for _ in range(2))
    assert first.encrypt(x).to_bytes() == second.encrypt(x).to_bytes()
    with pytest.raises(hc.InvalidArgument, match="32"):
        hc.Client(params, seed=b"short")
    with pytest.raises(hc.WrongType, match="32 bytes"):
        hc.Client(params, seed=5)


def test_secret_never_leaves_by_pickle_or_copy(client):
    for action in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(hc.Error, match="secret key"):
            action(client)


def test_secret_key_file(client, params, x, tmp_path):
    path = tmp_path / "secret.hlc"
    client.save_secret_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    again = hc.Client.load(path, params, threads=1)
    assert np.abs(again.decrypt(client.encrypt(x)) - x).max() < TOLERANCE
    assert hc.Client.load(path, threads=1, allow_insecure=True).params == params
    with pytest.raises(hc.InsecureParameters):  # whatever was allowed before
        hc.Client.load(path, threads=1)
    with pytest.raises(hc.InvalidArgument, match="secret key"):
        hc.EvaluationKeys.load(path, params)
    with pytest.raises(hc.InvalidArgument, match="secret key"):
        hc.Ciphertext.load(path, params)
    client.encrypt(x).save(tmp_path / "x.hlc")
    with pytest.raises(hc.InvalidArgument, match="ciphertext"):
        hc.Client.load(tmp_path / "x.hlc", params)


def test_wrong_objects_where_a_client_is_made(params, keys, client):
    with pytest.raises(hc.WrongType, match="holds no secret key"):
        hc.Client(keys)
    with pytest.raises(hc.WrongType, match="holds no secret key"):
        hc.Client(client.public_key())
    with pytest.raises(hc.WrongType, match="Params"):
        hc.Client("n14-d7")


def test_client_may_be_used_from_threads(client, x):
    results = []
    workers = [
        threading.Thread(target=lambda: results.append(client.decrypt(client.encrypt(x)))) for _ in range(4)
    ]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert len(results) == 4
    assert all(np.abs(each - x).max() < TOLERANCE for each in results)


def test_keys_are_made_within_the_room_of_one(params):
    seed, steps = bytes(32), range(1, 12)
    unlimited = hc.Client(params, seed=seed, threads=1)
    before = unlimited.stats()["live_bytes"]
    keys = unlimited.evaluation_keys(steps)
    one = keys.nbytes // len(list(keys))
    limit = before + 3 * one  # one key, and scratch of less than two
    assert limit < before + keys.nbytes
    limited = hc.Client(params, seed=seed, threads=1, memory=limit)
    assert limited.evaluation_keys(steps).to_bytes() == keys.to_bytes()
    assert limited.stats()["peak_bytes"] <= limit
    with pytest.raises(hc.OutOfMemory, match="budget"):
        hc.Client(params, seed=seed, threads=1, memory=before + one // 2).evaluation_keys(steps)


def test_devices_of_a_client(params):
    assert hc.Client(params, threads=1).device == "cpu"
    with pytest.raises(hc.InvalidArgument, match="no secret key"):
        hc.Client(params, device="ghost")
    with pytest.raises(hc.InvalidArgument, match="unknown device 'abacus'"):
        hc.Client(params, device="abacus")
    with pytest.raises(hc.InvalidArgument, match="policy"):
        hc.Client(params, policy="wishful")
