# SPDX-License-Identifier: Apache-2.0
"""Hostile frames: key nodes and their clients take them or refuse them by name, and go on."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.base import limits
from halocline.keynode.work import Call
from halocline.remote import maps, wire
from halocline.remote.wire import Channel, Frame, Kind, pack, parse_head, unpack

PARAMS = hc.Params.preset("test-n10-d3", allow_insecure=True)
ALL = frozenset(Kind)
CASES = 3000
SEED = 20261123


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS)


@pytest.fixture(scope="module")
def stored(client: hc.Client, tmp_path_factory: pytest.TempPathFactory) -> hc.StoredKeys:
    kept = hc.KeyStore(tmp_path_factory.mktemp("keys"))
    kept.put("alice", client.evaluation_keys(rotations=[1, 2, 3, 4], conjugation=True))
    return kept.user("alice", PARAMS)


@pytest.fixture
def server(stored: hc.StoredKeys) -> Iterator[hc.KeyNodeServer]:
    with hc.KeyNodeServer(stored.store, threads=1, memory="256MiB", allow_insecure=True) as node:
        yield node


def circuit() -> hc.LinearTransform:
    rng = np.random.default_rng(2)
    return hc.LinearTransform({d: rng.standard_normal(PARAMS.slots) for d in range(3)}, mode="naive")


def sealed(kind: int, request: int, payload: bytes, deadline: int = 5000, length: int | None = None) -> bytes:
    """A frame with a digest that fits, whatever it says."""
    length = len(payload) if length is None else length
    start = wire._HEAD.pack(wire.MAGIC, wire.VERSION, kind, request, deadline, 0, length)
    return start + wire._digest(start, payload) + payload


def samples(stored: hc.StoredKeys, x: hc.Ciphertext) -> list[tuple[Kind, bytes]]:
    data = maps.to_bytes(circuit())
    assert data is not None
    about = {"user": "alice", "digest": stored.digest, "key_id": stored.key_id, "steps": [1]}
    calls: list[dict] = [
        {"operation": "rotate"},
        {"operation": "rotate_many", "steps": [1, 2]},
        {"operation": "inner_sum", "steps": [1, 4]},
        {"operation": "inner_sum", "steps": [1, 4, 4]},
        {"operation": "sum_rotations", "steps": [0, 1, 2]},
        {"operation": "conjugate", "steps": []},
        {"operation": "map", "steps": [], "map": maps.digest_of(data)},
    ]
    made = [(Kind.CALL, pack(about | each, [x.to_bytes()])) for each in calls]
    made += [(Kind.MAP, pack({"digest": maps.digest_of(data)}, [data]))]
    return [*made, (Kind.CANCEL, b""), (Kind.STATUS, b""), (Kind.HELLO, pack({"token": "x" * 20}))]


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to three changes; the beginning, where lengths and descriptions are, as often as the rest."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not out:
            return rng.randbytes(rng.randrange(64))
        at = rng.choice((rng.randrange(min(len(out), 300)), rng.randrange(len(out))))
        change = rng.randrange(6)
        if change == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            value = rng.choice((0, 1, 255, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(out)))
            out[at : at + 8] = struct.pack("<Q", value)
        elif change == 2:
            del out[at:]
        elif change == 3:
            out[at:at] = rng.randbytes(rng.choice((1, 8, 3000)))
        elif change == 4:
            word = rng.choice(
                (b"-1", b"1e999", b"NaN", b"null", b"[" * 200, b'"', b"{}", b"99999999999999999999")
            )
            out[at : at + rng.choice((0, len(word)))] = word
        else:
            del out[at : at + rng.choice((1, 4, 100))]
    return bytes(out)


def exchange(port: int, data: bytes) -> bytes:
    """What a node answers to bytes behind a greeting, until it closes."""
    hello = sealed(Kind.HELLO, 0, pack({}))
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        with contextlib.suppress(OSError):
            sock.sendall(hello + data)
            sock.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(1 << 16):
                answer += piece
    return answer


def test_mutated_requests(
    server: hc.KeyNodeServer,
    stored: hc.StoredKeys,
    client: hc.Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    print("seed", SEED)
    failed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    x = client.encrypt(np.linspace(-1, 1, PARAMS.slots))
    frames, port = samples(stored, x), int(server.url.rpartition(":")[2])
    kinds: dict[int, int] = {}
    for case in range(CASES):
        rng = random.Random(f"{SEED}/{case}")
        kind, payload = rng.choice(frames)
        if rng.random() < 0.6:
            data = sealed(kind, rng.randrange(4), mutated(rng, payload))
        else:
            data = mutated(rng, sealed(kind, 1, payload))
        answer = exchange(port, data)
        assert not failed and b"internal error" not in answer, f"case {case}: {failed}"
        while answer:
            head = parse_head(answer[: wire.HEAD_BYTES], ALL)
            kinds[head.kind] = kinds.get(head.kind, 0) + 1
            answer = answer[wire.HEAD_BYTES + head.length :]
    assert kinds[Kind.ERROR] > CASES // 4, "hostile frames reach the checks"
    until = time.monotonic() + 30
    jobs = server._shared.jobs
    while jobs.count or jobs._reserved or server._sessions:
        assert time.monotonic() < until, "something of the hostile frames is left"
        time.sleep(0.01)
    near = hc.Engine(PARAMS, stored, threads=1)
    far = hc.Engine(
        PARAMS, stored, threads=1, key_nodes=hc.KeyNode(server.url, use="always", on_failure="raise")
    )
    assert circuit()(x.to(far)).to_bytes() == circuit()(x.to(near)).to_bytes()


def test_mutated_bytes_of_the_parsers(stored: hc.StoredKeys, client: hc.Client) -> None:
    print("seed", SEED)
    ghost = hc.Engine(PARAMS, device="ghost")
    data = maps.to_bytes(circuit())
    assert data is not None
    frames = samples(stored, client.encrypt([1.0, 2.0]))
    taken = 0
    for case in range(CASES):
        rng = random.Random(f"{SEED}/parsers/{case}")
        with contextlib.suppress(hc.Error):
            parse_head(mutated(rng, sealed(Kind.CALL, 1, b"12"))[: wire.HEAD_BYTES], ALL)
            taken += 1
        with contextlib.suppress(hc.Error):
            Call.parse(*unpack(mutated(rng, rng.choice(frames)[1]), "call"))
            taken += 1
        with contextlib.suppress(hc.Error):
            maps.from_bytes(mutated(rng, data))._on(ghost, 2)
            taken += 1
    assert taken > CASES // 10, "some mutations are harmless, or nothing was tested"


def test_forged_maps() -> None:
    data = maps.to_bytes(circuit())
    assert data is not None
    about, blobs = unpack(data, "map")
    about.pop("blobs")
    many = [[d, 0] for d in range(PARAMS.slots)]
    for change, message in (
        ({"kind": "other"}, "KeyError"),
        ({"slots": 1 << 60}, "slots"),
        ({"slots": True}, "truth value"),
        ({"mode": "fast"}, "unknown mode"),
        ({"compact": 1}, "truth value"),
        ({"cells": []}, "IndexError"),
        ({"cells": [[[[0, 99]]]]}, "number of an array"),
        ({"cells": [[[[0, 0], [0, 1]]]]}, "twice"),
        ({"cells": [[many] * 9], "slots": 1 << 16}, "diagonals of 65536 slots, expected at most"),
        ({"cells": 7}, "TypeError"),
        ({"kind": "matrix", "shape": [1 << 20, 1 << 20], "weights": 0}, "numbers for an array"),
        ({"kind": "matrix", "shape": [PARAMS.slots], "weights": 0}, "numbers for an array"),
        (
            {"kind": "blocks", "matrices": [[[0, 1, PARAMS.slots]]] * 99999, "block": 1 << 17, "fold": 1},
            "at most",
        ),
        (
            {"kind": "convolution", "shape": [1, 1, 1, 512], "weights": 0, "layout": [1], "bias": []},
            "circuit|conv",
        ),
    ):
        with pytest.raises(hc.Error, match=message):
            maps.from_bytes(pack(about | change, blobs))
    for blob in (b"", b"f", b"f1234567", b"x12345678", b"f" + struct.pack("<d", float("nan"))):
        with pytest.raises(hc.CorruptData):
            maps.from_bytes(pack(about, [blob, *blobs[1:]]))


def test_announced_bytes_take_no_memory(server: hc.KeyNodeServer) -> None:
    port = int(server.url.rpartition(":")[2])
    size = limits.KEY_NODE_MESSAGE
    for data, message in (
        (sealed(Kind.CALL, 1, b"", length=size + 1), b"expected at most"),
        (sealed(Kind.CALL, 1, b"", deadline=2**32 - 1), b"deadline"),
        (sealed(Kind.RESULT, 1, b""), b"kind 66"),
        (sealed(Kind.HELLO, 1, pack({})), b"kind 1"),
        (b"GET / HTTP/1.1\r\n\r\n" + bytes(64), b"no frame"),
    ):
        assert message in exchange(port, data)
    open_ones = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
    for each in open_ones:  # three of 1 GiB are announced; room is reserved for two, memory taken for none
        each.sendall(sealed(Kind.HELLO, 0, pack({})) + sealed(Kind.CALL, 1, b"", length=size))
    until = time.monotonic() + 30
    while server._shared.jobs._reserved != 2 * size:
        assert time.monotonic() < until
        time.sleep(0.01)
    answers = b""
    for each in open_ones:
        each.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            while piece := each.recv(4096):
                answers += piece
        each.close()
    assert b"ask again later" in answers
    while server._shared.jobs._reserved:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_before_the_greeting(stored: hc.StoredKeys, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef")
    with hc.KeyNodeServer(stored.store, token_file=tmp_path / "token", allow_insecure=True) as node:
        port = int(node.url.rpartition(":")[2])

        def said(data: bytes) -> bytes:
            with socket.create_connection(("127.0.0.1", port), 30) as sock:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: sock.recv(4096), b""))

        assert b"kind 3" in said(sealed(Kind.CALL, 1, b"1234"))
        assert b"expected at most 4096" in said(sealed(Kind.HELLO, 0, bytes(5000)))
        for token in (None, "", 7, ["0123456789abcdef"], "0123456789abcdeF", "\ud800" * 16, "x" * 3000):
            assert b"missing or wrong" in said(sealed(Kind.HELLO, 0, pack({"token": token})))
        assert b"instance" in said(sealed(Kind.HELLO, 0, pack({"token": "0123456789abcdef"})))


class FakeNode:
    """Greets, and answers each request with what `answer` makes of it."""

    def __init__(self, answer: Callable[[Frame], bytes]) -> None:
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.url = f"tcp://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                sock = self._socket.accept()[0]
            except OSError:
                return
            channel = Channel(sock)
            with contextlib.suppress(hc.Error):
                until = time.monotonic() + 60
                frame = channel.receive(ALL, until)
                channel.send(Frame(Kind.WELCOME, frame.request, pack({"instance": "1"})), until)
                while True:
                    data = memoryview(self._answer(channel.receive(ALL, until)))
                    while data:
                        data = data[channel._try(lambda: sock.send(data), 4, until, None) :]  # noqa: B023
                    with contextlib.suppress(OSError):
                        sock.shutdown(socket.SHUT_WR)
            channel.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def test_mutated_answers(stored: hc.StoredKeys, client: hc.Client) -> None:
    print("seed", SEED)
    x = client.encrypt(np.linspace(-1, 1, PARAMS.slots))
    near = hc.Engine(PARAMS, stored, threads=1)
    right = x.to(near).rotate(1).to_bytes()
    lower = x.to(near).rotate(1).drop_level(1).to_bytes()
    foreign = hc.Client(PARAMS).encrypt([1.0]).to_bytes()
    meta = {"seconds": 0.1, "switches": 1}
    wrong = [[lower], [foreign], [], [right, right], [right[:-1]], [b""]]
    case = 0

    def answer(frame: Frame) -> bytes:
        rng = random.Random(f"{SEED}/answers/{case}")
        if case < len(wrong):
            return sealed(Kind.RESULT, frame.request, pack(meta, wrong[case]), 0)
        good = pack(meta, [right])
        if rng.random() < 0.6:
            return sealed(rng.choice((65, 66, 66, 66, 67)), frame.request, mutated(rng, good), 0)
        return mutated(rng, sealed(Kind.RESULT, frame.request, good, 0))

    node = FakeNode(answer)
    try:
        taken = 0
        for case in range(600):
            fake = hc.KeyNode(node.url, use="always", on_failure="raise", retry_after=0.0, deadline=30.0)
            engine = hc.Engine(PARAMS, stored, threads=1, key_nodes=fake)
            try:
                x.to(engine).rotate(1)
                taken += 1
                assert case >= len(wrong), f"case {case}: a wrong answer was taken"
            except hc.Error as error:
                assert str(error)
            fake.close()
        assert taken < 300
    finally:
        node.close()


def test_a_wrong_node_does_not_stop_an_engine(stored: hc.StoredKeys, client: hc.Client) -> None:
    node = FakeNode(lambda frame: json.dumps("no frame at all" * 9).encode())
    x = client.encrypt(np.linspace(-1, 1, PARAMS.slots))
    engine = hc.Engine(PARAMS, stored, threads=1, key_nodes=hc.KeyNode(node.url, use="always"))
    with pytest.warns(hc.KeyNodeFailure, match="no frame of a key node"):
        there = x.to(engine).rotate(1).to_bytes()
    assert there == x.to(hc.Engine(PARAMS, stored, threads=1)).rotate(1).to_bytes()
    node.close()
