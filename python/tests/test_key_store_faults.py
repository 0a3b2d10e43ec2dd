# SPDX-License-Identifier: Apache-2.0
"""Key stores whose server gives damaged answers, or stops: named errors in time, no wrong key."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import pytest
import store_rig as rig

PARAMS = hc.Params.preset("n13-d3")
DEADLINE = 6.0
SLACK = 4.0
"""For a loaded machine: a deadline is kept up to this many seconds. A call without one takes a minute."""


@pytest.fixture(scope="module")
def keys() -> hc.EvaluationKeys:
    return hc.Client(PARAMS).evaluation_keys(rotations=[1, 2])


@pytest.fixture
def proxy(tmp_path: Path, keys: hc.EvaluationKeys) -> Iterator[rig.FaultProxy]:
    with rig.nginx(tmp_path) as url:
        hc.KeyStore(url).put("alice", keys)
        with rig.faulty(url) as proxy:
            yield proxy


def open_store(proxy: rig.FaultProxy, deadline: float = DEADLINE) -> hc.KeyStore:
    return hc.KeyStore(proxy.url, connections=3, deadline=deadline, stall_timeout=1)


PASSING = {
    "cut": rig.cut,
    "stall": rig.stall,
    "500": rig.error_500,
    "corrupt": rig.corrupt,
    "truncated": rig.truncated,
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_is_survived(proxy: rig.FaultProxy, keys: hc.EvaluationKeys, name: str) -> None:
    store = open_store(proxy, deadline=60)
    stored = store.user("alice")
    count = 1 if name == "corrupt" else 2  # a block that is wrong twice counts as corrupt
    proxy.faults = [PASSING[name]] * count
    loaded = hc.EvaluationKeys(stored._core.load(PARAMS._core))
    assert not proxy.faults
    assert loaded.to_bytes() == keys.to_bytes()
    counts = store.counts()
    assert counts["retries"] == (0 if name == "corrupt" else 2)
    assert (counts["resumed"] > 0) == (name in ("cut", "stall", "truncated"))


LASTING = {
    "cut at once": (lambda head, body: (b"", False), hc.IoError, "times in a row"),
    "stall": (lambda head, body: (head, True), hc.IoError, "deadline|times in a row"),
    "500": (rig.error_500, hc.IoError, "answered 500"),
    "corrupt": (rig.corrupt, hc.CorruptData, "do not match the manifest"),
    "wrong length": (rig.wrong_length, hc.CorruptData, "more than the"),
    "no ranges": (rig.ignores_range, hc.IoError, "ignores byte ranges"),
    "416": (rig.unsatisfiable, hc.CorruptData, "shorter than its manifest says"),
}


@pytest.mark.parametrize("name", LASTING)
def test_a_fault_that_lasts_is_named_in_time(proxy: rig.FaultProxy, name: str) -> None:
    fault, error, message = LASTING[name]
    stored = open_store(proxy).user("alice")
    engine = hc.Engine(PARAMS, stored, threads=1)
    client_side = engine._core.key_bytes
    proxy.every = fault
    begin = time.monotonic()
    with pytest.raises(error, match=message):
        engine._core.load_key(1)
    assert time.monotonic() - begin < DEADLINE + SLACK
    assert engine._core.key_bytes == client_side == 0, "nothing of a key that could not be loaded is used"
    proxy.every = None
    engine._core.load_key(1)  # the engine is as before
    assert engine._core.key_bytes > 0


def test_a_server_that_is_killed_is_reported_in_time(tmp_path: Path, keys: hc.EvaluationKeys) -> None:
    with rig.nginx(tmp_path) as url:
        store = hc.KeyStore(url, deadline=3, attempts=1000)
        store.put("alice", keys)
        engine = hc.Engine(PARAMS, store.user("alice"), threads=1)
    begin = time.monotonic()
    with pytest.raises(hc.IoError, match="deadline of 3 s"):
        engine._core.load_key(1)
    assert time.monotonic() - begin < 3 + SLACK
    with pytest.raises(hc.IoError, match="4 times in a row; is the server running"):
        hc.KeyStore(url, deadline=60, attempts=4, connect_timeout=1).put("alice", keys)


def test_answers_that_do_not_pass_end_at_once(tmp_path: Path, keys: hc.EvaluationKeys) -> None:
    with rig.nginx(tmp_path) as url:
        plain = tmp_path / "www" / "keys" / "page.html"
        plain.write_text("no store")
        with pytest.raises(hc.UnknownUser, match="no keys of 'alice'"):
            hc.KeyStore(url).user("alice")
        (tmp_path / "www" / "keys" / "alice").mkdir()
        for content in (b"", b"\x89HLM\r\n\x1a\n", b"x" * 1000):
            (tmp_path / "www" / "keys" / "alice" / "manifest.hlm").write_bytes(content)
            with pytest.raises(hc.CorruptData):
                hc.KeyStore(url).user("alice")
        with (tmp_path / "www" / "keys" / "alice" / "manifest.hlm").open("wb") as huge:
            huge.truncate(1 << 34)
        begin = time.monotonic()
        with pytest.raises(hc.CorruptData, match="more than"):
            hc.KeyStore(url).user("alice")
        assert time.monotonic() - begin < 20  # 16 GiB would be read until the deadline of 120 s


def test_threads_share_a_store_with_faults(proxy: rig.FaultProxy, keys: hc.EvaluationKeys) -> None:
    store = open_store(proxy, deadline=60)
    expected = keys.to_bytes()
    wrong: list[object] = []
    kinds = [rig.cut, rig.error_500, rig.corrupt, rig.truncated]
    proxy.faults = [
        kinds[i % 4] if i % 3 == 0 else (lambda head, body: (head + body, False)) for i in range(60)
    ]

    def work() -> None:
        for _ in range(3):
            try:
                if store.get("alice").to_bytes() != expected:
                    wrong.append("contents")
            except (hc.IoError, hc.CorruptData):
                pass  # two faults in a row may hit one block
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert store.get("alice").to_bytes() == expected
