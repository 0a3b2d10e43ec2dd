# SPDX-License-Identifier: Apache-2.0
"""Servers and clients of key stores that are killed in the middle, and writers at the same time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import halocline as hc
import pytest
import store_rig as rig

PARAMS = hc.Params.preset("n13-d3")
DEADLINE = 3.0
SLACK = 6.0
"""For a loaded machine: a call without a deadline takes two minutes."""


@pytest.fixture(scope="module")
def bundles() -> list[hc.EvaluationKeys]:
    """Keys of two secret keys."""
    return [hc.Client(PARAMS).evaluation_keys(rotations=steps) for steps in ([1, 2, 3, 4], [1])]


def outcome_of(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """A thread that notes what a call returns or raises, and how long it took."""
    found: list[object] = []

    def run() -> None:
        begin = time.monotonic()
        try:
            found.append(work())
        except Exception as error:
            found.append(error)
        found.append(time.monotonic() - begin)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def test_a_server_that_is_killed_during_get(tmp_path: Path, bundles: list[hc.EvaluationKeys]) -> None:
    with rig.Nginx(tmp_path) as server:
        hc.KeyStore(server.url).put("alice", bundles[0])
        server.kill()
        # The keys take far longer than the deadline: the kill is in the middle.
        server.set_rate("50k")
        server.start()
        store = hc.KeyStore(server.url, deadline=DEADLINE, attempts=1000)
        stored = store.user("alice")
        engine = hc.Engine(PARAMS, stored, threads=1)
        thread, found = outcome_of(lambda: engine._core.load_key(1))
        time.sleep(0.3)
        server.kill()
        thread.join()
        assert isinstance(found[0], hc.IoError) and "deadline of 3 s" in str(found[0])
        assert isinstance(found[1], float) and found[1] < DEADLINE + SLACK
        assert engine._core.key_bytes == 0
        server.set_rate("0")
        server.start()
        engine._core.load_key(1)  # the same engine and store go on
        assert engine._core.key_bytes > 0
        assert stored.load().to_bytes() == bundles[0].to_bytes()


def test_a_server_that_is_killed_during_put(tmp_path: Path, bundles: list[hc.EvaluationKeys]) -> None:
    with rig.Nginx(tmp_path) as server:
        store = hc.KeyStore(server.url, deadline=DEADLINE, attempts=1000)
        old = store.put("alice", bundles[0])
        server.signal(signal.SIGSTOP)  # accepts and answers nothing: the request stays in the middle
        thread, found = outcome_of(lambda: store.put("alice", bundles[1]))
        time.sleep(0.3)
        server.kill()
        thread.join()
        assert isinstance(found[0], hc.IoError)
        assert isinstance(found[1], float) and found[1] < DEADLINE + SLACK
        server.start()
        assert store.check("alice") == old, "nothing half-written is seen"
        new = store.put("alice", bundles[1])
        assert store.check("alice") == new
        assert store.get("alice").to_bytes() == bundles[1].to_bytes()
        assert len(list((tmp_path / "www" / "keys" / "alice").iterdir())) == 2


def test_a_put_goes_on_when_the_server_comes_back(tmp_path: Path, bundles: list[hc.EvaluationKeys]) -> None:
    with rig.Nginx(tmp_path) as server:
        store = hc.KeyStore(server.url, deadline=60, attempts=1000)
        server.signal(signal.SIGSTOP)
        thread, found = outcome_of(lambda: store.put("alice", bundles[1]))
        time.sleep(0.3)
        server.kill()
        server.start()
        thread.join()
        assert found[0] == store.check("alice")
        assert store.counts()["retries"] > 0


LEFT = "keys-" + "0" * 32 + ".hlc"


@pytest.mark.parametrize("kind", ["file", "http"])
@pytest.mark.parametrize("cleaner", ["put", "clean"])
def test_leftovers_of_killed_writers_go(
    kind: str, cleaner: str, tmp_path: Path, bundles: list[hc.EvaluationKeys]
) -> None:
    with rig.nginx(tmp_path) as served:
        folder = tmp_path / "www" / "keys"
        store = hc.KeyStore(served if kind == "http" else folder)
        digest = store.put("alice", bundles[0])
        kept = {each.name for each in (folder / "alice").iterdir()}
        # What a writer leaves that is killed between container and manifest, and one in the middle of a file.
        (folder / "alice" / LEFT).write_bytes(b"keys that no manifest names")
        partial = folder / "alice" / f".{LEFT}.partial-abc123"
        if kind == "file":
            partial.write_bytes(b"half")
        (folder / "alice" / "notes.txt").write_bytes(b"another program's")
        assert store.check("alice") == digest
        if cleaner == "clean":
            assert store.clean("alice") == (2 if kind == "file" else 1)
            assert store.clean("alice") == store.clean("bob") == 0
            assert (folder / "alice" / "notes.txt").exists()
        else:
            store.put("alice", bundles[0])
        assert {each.name for each in (folder / "alice").iterdir()} - {"notes.txt"} == kept
        assert store.check("alice") == digest
        assert store.users() == ["alice"]


def test_clean_keeps_everything_when_the_manifest_is_damaged(
    tmp_path: Path, bundles: list[hc.EvaluationKeys]
) -> None:
    store = hc.KeyStore(tmp_path)
    store.put("alice", bundles[1])
    manifest = tmp_path / "alice" / "manifest.hlm"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with pytest.raises(hc.CorruptData):
        store.clean("alice")
    assert len(list((tmp_path / "alice").glob("*.hlc"))) == 1


PUT_OFTEN = """
import sys, halocline as hc
store = hc.KeyStore(sys.argv[1], deadline=100)
print("ready", flush=True)
for _ in range(15):
    store.put("alice", sys.argv[2])
"""


def test_two_writers_of_a_folder_wait_for_each_other(
    tmp_path: Path, bundles: list[hc.EvaluationKeys]
) -> None:
    folder = tmp_path / "store"
    paths = [tmp_path / f"{number}.hlc" for number in range(2)]
    writers = []
    for path, keys in zip(paths, bundles, strict=True):
        keys.save(path)
        command = [sys.executable, "-c", PUT_OFTEN, f"file:{folder}", str(path)]
        writers.append(subprocess.Popen(command, stdout=subprocess.PIPE))
    for each in writers:
        assert each.stdout is not None and each.stdout.readline() == b"ready\n"
    for each in writers:
        assert each.wait() == 0
        each.stdout.close()  # type: ignore[union-attr]
    store = hc.KeyStore(folder)
    assert store.get("alice").to_bytes() in {path.read_bytes() for path in paths}
    assert len(list((folder / "alice").iterdir())) == 2


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path, bundles: list[hc.EvaluationKeys]) -> None:
    fcntl = pytest.importorskip("fcntl")
    store = hc.KeyStore(tmp_path, deadline=0.2)
    digest = store.put("alice", bundles[1])
    other = os.open(tmp_path / "alice", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    try:
        with pytest.raises(hc.IoError, match="another writer is at work"):
            store.put("alice", bundles[0])
        with pytest.raises(hc.IoError, match="another writer is at work"):
            store.delete("alice")
        assert store.check("alice") == digest, "readers do not wait"
    finally:
        os.close(other)
    assert store.put("alice", bundles[0]) != digest


class OvertakingProxy(rig.FaultProxy):
    """Lets another writer finish before the first manifest of one that comes through here is passed on."""

    def __init__(self, upstream: str, other: Callable[[], object]) -> None:
        super().__init__(upstream)
        self.other: Callable[[], object] | None = other

    def pass_on(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:  # MSG_PEEK: it is read again
            head = client.recv(1 << 16, socket.MSG_PEEK)
            if not head:
                return
        if head.startswith(b"PUT ") and b"manifest.hlm" in head.partition(b"\r\n")[0] and self.other:
            other, self.other = self.other, None
            other()
        super().pass_on(client)


def test_an_overtaken_writer_of_s3_fails(
    tmp_path: Path, bundles: list[hc.EvaluationKeys], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    boto3 = pytest.importorskip("boto3")
    with rig.moto(tmp_path) as url:
        boto3.client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket="keys")
        direct = hc.KeyStore("s3://keys/a", endpoint=url)
        won: list[str] = []
        for first in (True, False):  # with nothing there (If-None-Match), and with old keys (If-Match)
            if first:
                assert direct.users() == []
            proxy = OvertakingProxy(url, lambda: won.append(direct.put("alice", bundles[1])))
            try:
                slow = hc.KeyStore("s3://keys/a", endpoint=proxy.url.rstrip("/"), deadline=30)
                with pytest.raises(hc.IoError, match="by another writer at the same time"):
                    slow.put("alice", bundles[0])
                assert direct.check("alice") == won[-1]
                assert direct.get("alice").to_bytes() == bundles[1].to_bytes()
                slow.put("alice", bundles[0])  # no other writer overtakes it now
                assert direct.get("alice").to_bytes() == bundles[0].to_bytes()
            finally:
                proxy.close()


@pytest.mark.parametrize("kind", ["file", "http"])
@pytest.mark.parametrize("policy", ["lru", "planned"])
def test_engines_with_budgets_take_keys_of_stores(kind: str, policy: str, tmp_path: Path) -> None:
    client = hc.Client(PARAMS)
    steps = [1, 2, 3, 5]
    keys = client.evaluation_keys(rotations=steps)
    x = client.encrypt([0.5, -0.25, 0.125])

    def program(x: hc.Ciphertext) -> hc.Ciphertext:
        y = x
        for step in [*steps, *reversed(steps)]:
            y = y + x.rotate(step)
        return 0.1 * y * x

    resident = hc.Engine(PARAMS, keys, threads=1)
    expected = resident.run(program, x).to_bytes()
    budget = resident.stats()["peak_bytes"] // 2
    with rig.nginx(tmp_path) as served:
        store = hc.KeyStore(served if kind == "http" else tmp_path / "folder")
        store.put("alice", keys)
        engine = hc.Engine(PARAMS, store.user("alice"), memory=budget, policy=policy, threads=1)
        for _ in range(2):
            assert engine.run(program, x).to_bytes() == expected
        assert engine.stats()["peak_fast_bytes"] <= engine.budget_bytes
        assert engine.stats()["peak_fast_bytes"] < resident.stats()["peak_bytes"]
        if policy == "planned":
            assert engine.last_run is not None and engine.last_run.followed_plan
            assert engine.last_run.bytes_moved["loaded"] > 0
