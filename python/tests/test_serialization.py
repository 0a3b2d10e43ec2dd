# SPDX-License-Identifier: Apache-2.0
"""Bytes and files of all objects: round trips, damage, foreign objects, full disks."""

import resource
import signal

import halocline as hc
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def samples(params, client):
    """Kind -> (bytes, reader)."""
    keys = client.evaluation_keys([1])
    return {
        "ciphertext": (client.encrypt([1.0, -2.0]).to_bytes(), hc.Ciphertext.from_bytes),
        "keys": (keys.to_bytes(), hc.EvaluationKeys.from_bytes),
        "public": (client.public_key().to_bytes(), hc.PublicKey.from_bytes),
    }


KINDS = ("ciphertext", "keys", "public")


def test_ciphertexts_round_trip(client, engine, params, x, z):
    for values in (x, z):
        ct = client.encrypt(values)
        for each in (ct, ct.to(engine), ct.to(engine) * 0.5):
            again = hc.Ciphertext.from_bytes(each.to_bytes(), params)
            assert (again.level, again.scale, again.slots) == (each.level, each.scale, each.slots)
            assert np.array_equal(client.decrypt(again), client.decrypt(each))
            assert client.decrypt(again).dtype == client.decrypt(each).dtype
    with engine.manual():
        triple = client.encrypt(x).to(engine) * client.encrypt(x).to(engine)
    again = hc.Ciphertext.from_bytes(triple.to_bytes(), params)
    assert again.components == 3
    assert np.array_equal(client.decrypt(again), client.decrypt(triple))


def test_loaded_objects_work(client, keys, params, x, tmp_path):
    client.encrypt(x).save(tmp_path / "x.hlc")
    keys.save(tmp_path / "keys.hlc")
    client.public_key().save(tmp_path / "public.hlc")
    engine = hc.Engine(params, hc.EvaluationKeys.load(tmp_path / "keys.hlc", params), threads=1)
    a = hc.Ciphertext.load(tmp_path / "x.hlc", params)
    b = hc.PublicKey.load(tmp_path / "public.hlc", params).encrypt(x)
    y = engine.run(lambda a, b: (a * b).rotate(1), a, b)
    y.save(tmp_path / "y.hlc")
    result = client.decrypt(hc.Ciphertext.load(tmp_path / "y.hlc", params))
    assert np.abs(result - np.roll(x * x, -1)).max() < 2.0**-14


def test_parameters_travel_with_every_object():
    params = hc.Params.preset("n13-d3")
    client = hc.Client(params, threads=1)
    ct = hc.Ciphertext.from_bytes(client.encrypt([1.0, 2.0]).to_bytes())
    assert ct.params == params
    assert hc.Params.from_bytes(ct.to_bytes()) == params
    assert hc.EvaluationKeys.from_bytes(client.evaluation_keys().to_bytes()).params == params


@pytest.mark.parametrize("kind", KINDS)
def test_insecure_parameters_are_not_taken_from_bytes(samples, kind, params, tmp_path):
    """Whatever this process has allowed, made or loaded before: permission is given by each call."""
    data, read = samples[kind]
    (tmp_path / "data").write_bytes(data)
    load = read.__self__.load
    for attempt in range(2):
        with pytest.raises(hc.InsecureParameters, match="12 bits of security"):
            read(data)
        with pytest.raises(hc.InsecureParameters, match="12 bits of security"):
            load(tmp_path / "data")
        assert read(data, allow_insecure=True).params == params, attempt
        assert load(tmp_path / "data", allow_insecure=True).params == params, attempt
        assert read(data, params).params == params, attempt


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_and_parameters_are_refused(samples, kind, params, deep_params):
    data, read = samples[kind]
    with pytest.raises(hc.InvalidArgument, match="parameters"):
        read(data, deep_params)
    for other in KINDS:
        if other != kind:
            with pytest.raises(hc.InvalidArgument, match="expected"):
                samples[other][1](data, params)
    with pytest.raises(hc.WrongType, match="bytes"):
        read("text", params)
    assert read(bytearray(data), params).params == params
    assert read(memoryview(data), params).params == params


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncation_is_refused(samples, kind, params):
    data, read = samples[kind]
    lengths = {*range(0, 200), *range(200, len(data), 997), len(data) - 1}
    for length in sorted(lengths):
        with pytest.raises(hc.CorruptData):
            read(data[:length], params)
    with pytest.raises(hc.CorruptData):
        read(data + b"\0", params)
    for foreign in (b"", b"PK\x03\x04", b"{}", b"\x93NUMPY" * 1000, b"\0" * 8192):
        with pytest.raises(hc.CorruptData):
            read(foreign, params)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_every_flipped_bit_is_noticed(samples, kind, params, position, bit):
    data, read = samples[kind]
    damaged = bytearray(data)
    damaged[int(position * len(data))] ^= 1 << bit
    with pytest.raises(hc.Error):
        read(bytes(damaged), params)


def test_missing_and_unwritable_files(client, params, tmp_path):
    with pytest.raises(hc.IoError) as caught:
        hc.Ciphertext.load(tmp_path / "no.hlc", params)
    assert isinstance(caught.value, OSError)
    with pytest.raises(hc.IoError):
        hc.Params.load(tmp_path)
    with pytest.raises(hc.IoError):
        client.encrypt([1.0]).save(tmp_path / "no" / "x.hlc")
    with pytest.raises(hc.WrongType, match="path"):
        client.encrypt([1.0]).save(5)


def test_full_disk_keeps_the_old_file(client, params, tmp_path, x):
    path = tmp_path / "x.hlc"
    old = client.encrypt(x, level=0)
    old.save(path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
        with pytest.raises(hc.IoError):
            client.encrypt(x).save(path)
        with pytest.raises(hc.IoError, match="nothing was replaced"):
            hc.Trace.from_csv(_long_trace()).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["x.hlc"]


def _long_trace():
    header = "step,op,action,object,class,bytes,offset,stream,time_ns,tag\n"
    return header + "".join(f"{i},-,allocate,{i + 1},scratch,64,0,0,{i},tag\n" for i in range(2000))


def test_ghost_ciphertexts_have_no_contents(params):
    ghost = hc.Engine(params, device="ghost")
    with pytest.raises(hc.InvalidArgument):
        ghost.ghost_input().to_bytes()
