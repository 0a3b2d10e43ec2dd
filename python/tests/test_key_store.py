# SPDX-License-Identifier: Apache-2.0
"""Key stores in folders, on a real nginx and on a real S3 server: contents, pins, quotas, pickles, kills."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from store_rig import moto, nginx

PARAMS = hc.Params.preset("n13-d3")
BUCKET = "keys"


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS)


@pytest.fixture(scope="module")
def keys(client: hc.Client) -> hc.EvaluationKeys:
    return client.evaluation_keys(rotations=[1, 2, 5])


@pytest.fixture(scope="module")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto(tmp_path_factory.mktemp("moto")) as url:
        yield url


@pytest.fixture(params=["file", "http", "s3"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[hc.KeyStore]:
    if request.param == "file":
        yield hc.KeyStore(tmp_path / "keys", quota="64MiB")
    elif request.param == "http":
        with nginx(tmp_path) as url:
            yield hc.KeyStore(url, quota="64MiB", connections=3, deadline=20)
    else:
        url = request.getfixturevalue("s3_server")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        boto3 = pytest.importorskip("boto3")
        bucket = f"{BUCKET}-{os.getpid()}-{time.monotonic_ns()}"
        boto3.client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket=bucket)
        yield hc.KeyStore(f"s3://{bucket}/some/prefix", quota="64MiB", endpoint=url, deadline=30)


def rotated(engine: hc.Engine, client: hc.Client, step: int) -> float:
    """Largest error of a product and rotation."""
    values = np.linspace(-1, 1, PARAMS.slots)
    result = engine.run(lambda x: (x * x).rotate(step), client.encrypt(values))
    return float(np.max(np.abs(client.decrypt(result) - np.roll(values * values, -step))))


def test_round_trip_and_lazy_engine(store: hc.KeyStore, client: hc.Client, keys: hc.EvaluationKeys) -> None:
    assert store.users() == []
    assert not store.delete("alice")
    digest = store.put("alice", keys)
    store.put("bob@example.org", keys)
    assert store.users() == ["alice", "bob@example.org"]
    assert store.nbytes("alice") > keys.nbytes
    stored = store.user("alice", key_id=client.key_id, digest=digest)
    assert stored.requests() == keys.requests() and stored.key_id == keys.key_id and len(stored) == len(keys)
    before = store.counts()["read_bytes"]
    engine = hc.Engine(PARAMS, stored, threads=1)
    assert store.counts()["read_bytes"] - before < 300_000  # header, list: no key
    assert engine._core.key_bytes == 0
    # 2^-20 is far above the noise at these scales; a wrong key would give noise of the modulus' size.
    assert rotated(engine, client, 1) < 2**-20
    loaded = store.counts()["read_bytes"]
    assert rotated(engine, client, 1) < 2**-20
    assert store.counts()["read_bytes"] == loaded, "keys that are held are not read again"
    with pytest.raises(hc.MissingKey, match="rotation key for step 3"):
        rotated(engine, client, 3)
    assert store.get("alice").to_bytes() == keys.to_bytes()
    assert store.delete("alice") and store.users() == ["bob@example.org"] and store.nbytes("alice") == 0
    with pytest.raises(hc.UnknownUser, match="no keys of 'alice'"):
        store.user("alice")


def test_plan_limits_what_is_read(store: hc.KeyStore, client: hc.Client, keys: hc.EvaluationKeys) -> None:
    store.put("alice", keys)
    ghost = hc.Engine(PARAMS, device="ghost")
    ghost.ghost_input(level=1).rotate(2)
    plan = ghost.key_plan
    stored = store.user("alice", plan=plan)
    assert stored.requests() == plan.requests()
    counts = store.counts()["read_bytes"]
    engine = hc.Engine(PARAMS, stored, threads=1)
    values = np.linspace(-1, 1, PARAMS.slots)
    result = engine.run(lambda x: x.rotate(2), client.encrypt(values, level=1))
    assert np.max(np.abs(client.decrypt(result) - np.roll(values, -2))) < 2**-20
    # Every digit's prefix is rounded to whole blocks of 64 KiB, one more on either side; header and list too.
    digits = 1 + PARAMS.top_level
    assert store.counts()["read_bytes"] - counts <= plan.nbytes(seeded=True) + (2 * digits + 6) * 65536
    full = PARAMS._request_bytes(plan.requests()[0][0], PARAMS.top_level, True)
    assert plan.nbytes(seeded=True) < full
    x = client.encrypt(values)
    with pytest.raises(hc.MissingKey):
        engine.run(lambda x: x.rotate(2), x)


def test_eager_engines(store: hc.KeyStore, client: hc.Client, keys: hc.EvaluationKeys) -> None:
    store.put("alice", keys)
    done: list[tuple[int, int]] = []
    engine = hc.Engine(
        PARAMS, store.user("alice"), policy="lru", memory="1GiB", progress=lambda a, b: done.append((a, b))
    )
    assert done[-1] == (len(keys), len(keys))
    assert rotated(engine, client, 5) < 2**-20
    assert hc.Engine(PARAMS, store.user("alice"), device="ghost").key_id == client.key_id


def test_replaced_keys(store: hc.KeyStore, client: hc.Client, keys: hc.EvaluationKeys) -> None:
    digest = store.put("alice", keys)
    old = store.user("alice", digest=digest)
    other = hc.Client(PARAMS)
    newer = store.put("alice", other.evaluation_keys(rotations=[1]))
    assert newer != digest
    with pytest.raises(hc.KeyMismatch, match="are for the secret key"):
        store.user("alice", key_id=client.key_id)
    with pytest.raises(hc.CorruptData, match="replaced or forged"):
        store.user("alice", digest=digest)
    with pytest.raises((hc.IoError, hc.CorruptData)):
        rotated(hc.Engine(PARAMS, old), client, 1)
    assert rotated(hc.Engine(PARAMS, store.user("alice")), other, 1) < 2**-20


def test_refusals(store: hc.KeyStore, keys: hc.EvaluationKeys, client: hc.Client, tmp_path: Path) -> None:
    for name in ("", ".", "..", "../bob", "a/b", "a" * 129, "ä", "a b", "a\0b", ".hidden"):
        with pytest.raises(hc.InvalidArgument, match="no name of a user"):
            store.put(name, keys)
        with pytest.raises(hc.InvalidArgument, match="no name of a user"):
            store.user(name)
    secret = tmp_path / "secret.hlc"
    client.save_secret_key(secret)
    with pytest.raises(hc.InvalidArgument, match="secret key"):
        store.put("alice", secret)
    with pytest.raises(hc.WrongType):
        store.put("alice", 7)  # type: ignore[arg-type]
    damaged = bytearray(keys.to_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.hlc").write_bytes(damaged)
    with pytest.raises(hc.CorruptData, match="checksum"):
        store.put("alice", tmp_path / "damaged.hlc")
    small = pickle.loads(pickle.dumps(store))
    small._core = hc.KeyStore(*store._arguments[:1], quota=1000, endpoint=store._s3[0])._core
    with pytest.raises(hc.IoError, match="quota"):
        small.put("alice", keys)
    assert store.users() == []


def test_pickles(store: hc.KeyStore, client: hc.Client, keys: hc.EvaluationKeys) -> None:
    store.put("alice", keys)
    again = pickle.loads(pickle.dumps(store.user("alice")))
    assert rotated(hc.Engine(PARAMS, again), client, 2) < 2**-20
    data = pickle.dumps(store)
    assert b"EXAMPLEKEY" not in data and b"AKIDEXAMPLE" not in data
    assert "EXAMPLE" not in repr(store)
    frozen = pickle.dumps(again)
    store.put("alice", hc.Client(PARAMS).evaluation_keys(rotations=[1]))
    with pytest.raises(hc.CorruptData, match="replaced or forged"):
        pickle.loads(frozen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_children(store: hc.KeyStore, keys: hc.EvaluationKeys) -> None:
    store.put("alice", keys)
    expected = keys.to_bytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if store.get("alice").to_bytes() == expected else 1)
    assert store.get("alice").to_bytes() == expected
    assert os.waitpid(child, 0)[1] == 0


PUT_FOR_EVER = """
import sys, halocline as hc
store = hc.KeyStore(sys.argv[1], deadline=20)
print("ready", flush=True)
while True:
    for path in sys.argv[2:]:
        store.put("alice", path)
"""


@pytest.mark.parametrize("kind", ["file", "http"])
def test_killed_writers_leave_whole_keys(kind: str, tmp_path: Path, client: hc.Client) -> None:
    paths = []
    for number, rotations in enumerate(([1], [1, 2])):
        paths.append(str(tmp_path / f"{number}.hlc"))
        client.evaluation_keys(rotations=rotations).save(paths[-1])
    contents = {Path(path).read_bytes() for path in paths}
    with nginx(tmp_path) as served:
        url = served if kind == "http" else f"file:{tmp_path / 'folder'}"
        store = hc.KeyStore(url, deadline=20)
        store.put("alice", paths[0])
        rng = np.random.default_rng(7)
        for _ in range(12):
            command = [sys.executable, "-c", PUT_FOR_EVER, url, *paths]
            writer = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
            time.sleep(float(rng.uniform(0.0, 0.15)))
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
            assert store.get("alice").to_bytes() in contents
        store.put("alice", paths[1])  # removes what the killed ones left
        assert store.get("alice").to_bytes() == Path(paths[1]).read_bytes()
        if kind == "file":
            left = sorted(
                p.name for p in (tmp_path / "folder" / "alice").iterdir() if p.suffix in (".hlc", ".hlm")
            )
            assert len(left) == 2
        assert store.delete("alice") and store.users() == []


class SignatureChecker:
    """Passes requests on to a server and compares each signature with that of botocore."""

    def __init__(self, upstream: str, key: str, secret: str) -> None:
        from store_rig import FaultProxy

        self.checked = 0
        self.wrong: list[str] = []
        self.key, self.secret = key, secret
        self.proxy = FaultProxy(upstream)
        passing = self.proxy.pass_on

        def pass_on(client: socket.socket) -> None:
            # MSG_PEEK: the proxy reads the same head again.
            head = b""
            while b"\r\n\r\n" not in head:
                head = client.recv(1 << 16, socket.MSG_PEEK)
                if not head:
                    return
            self.check(head.partition(b"\r\n\r\n")[0].decode())
            passing(client)

        self.proxy.pass_on = pass_on  # type: ignore[method-assign]

    def check(self, head: str) -> None:
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
        request = AWSRequest(method, f"http://{headers['host']}{target}", {k: headers[k] for k in signed})
        auth = S3SigV4Auth(Credentials(self.key, self.secret), "s3", "us-east-1")
        request.context["timestamp"] = headers["x-amz-date"]
        canonical = auth.canonical_request(request)
        text = auth.string_to_sign(request, canonical)
        self.checked += 1
        if f"Signature={auth.signature(text, request)}" not in headers["authorization"]:
            self.wrong.append(first)


def test_s3_signatures(s3_server: str, keys: hc.EvaluationKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    key, secret = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    boto3 = pytest.importorskip("boto3")
    boto3.client("s3", endpoint_url=s3_server, region_name="us-east-1").create_bucket(Bucket="signed")
    checker = SignatureChecker(s3_server, key, secret)
    try:
        store = hc.KeyStore("s3://signed/a/b", endpoint=checker.proxy.url.rstrip("/"))
        store.put("bob@example.org", keys)
        assert store.users() == ["bob@example.org"]
        assert store.get("bob@example.org").to_bytes() == keys.to_bytes()
        assert store.delete("bob@example.org")
    finally:
        checker.proxy.close()
    assert checker.checked > 10 and not checker.wrong


def test_s3_needs_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    with pytest.raises(hc.InvalidArgument, match="AWS_ACCESS_KEY_ID") as caught:
        hc.KeyStore("s3://bucket")
    assert "wJalr" not in str(caught.value)


def test_pins_that_are_none_are_refused(tmp_path: Path, keys: hc.EvaluationKeys) -> None:
    store = hc.KeyStore(tmp_path)
    digest = store.put("alice", keys)
    assert store.user("alice", digest=digest.upper()).digest == digest
    calls = (store.user, store.check, hc.KeyCache(store, "64MiB").user)
    for call in calls:
        for bad in ({"digest": "00"}, {"digest": digest + "0"}, {"key_id": "g" * 32}, {"key_id": digest}):
            with pytest.raises(hc.InvalidArgument, match="hexadecimal digits"):
                call("alice", **bad)
        with pytest.raises(hc.CorruptData):
            call("alice", digest="0" * 64)
