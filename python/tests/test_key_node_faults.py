# SPDX-License-Identifier: Apache-2.0
"""Key nodes and clients that are killed, stopped or cut off: the other side reports in time and goes on.

Deadlines are kept up to SLACK seconds of a loaded machine; what has no deadline here would take minutes.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.bench.relay import Relay
from halocline.remote.wire import Channel, Frame, Kind, pack
from key_node_rig import in_thread, key_node

PARAMS = hc.Params.preset("n13-d3")
STEPS = [1, 2, 3, 4, 5, 6, 7, 8]
SLACK = 8.0
LONG = [1 + i % 8 for i in range(2400)]
"""Steps of a request that computes for seconds."""


@pytest.fixture(scope="module")
def client() -> hc.Client:
    return hc.Client(PARAMS)


@pytest.fixture(scope="module")
def folder(client: hc.Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys")
    hc.KeyStore(path).put("alice", client.evaluation_keys(rotations=STEPS))
    return path


@pytest.fixture(scope="module")
def x(client: hc.Client) -> hc.Ciphertext:
    return client.encrypt(np.linspace(-1, 1, PARAMS.slots))


@pytest.fixture(scope="module")
def expected(folder: Path, x: hc.Ciphertext) -> dict[int, bytes]:
    near = hc.Engine(PARAMS, hc.KeyStore(folder).user("alice"), threads=1)
    return {step: x.to(near).rotate(step).to_bytes() for step in STEPS}


@pytest.fixture
def server(folder: Path) -> Iterator[hc.KeyNodeServer]:
    with hc.KeyNodeServer(hc.KeyStore(folder), threads=1) as node:
        yield node


def engine_of(folder: Path, url: str, **options) -> hc.Engine:
    options = {"use": "always", **options}
    return hc.Engine(
        PARAMS, hc.KeyStore(folder).user("alice"), threads=1, key_nodes=hc.KeyNode(url, **options)
    )


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def circuit(count: int = 16) -> hc.LinearTransform:
    rng = np.random.default_rng(1)
    return hc.LinearTransform({d: rng.standard_normal(PARAMS.slots) for d in range(count)}, baby_count=4)


# The node fails


def test_killed_nodes_are_survived(folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]) -> None:
    seed = 11
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(4):
        with key_node(folder) as (process, url):
            engine = engine_of(folder, url, deadline=20.0)
            y = x.to(engine)
            assert y.rotate(1).to_bytes() == expected[1]

            def program(y=y) -> list[bytes]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", hc.KeyNodeFailure)
                    return [y.rotate(1 + i % 8).to_bytes() for i in range(400)]

            thread, results = in_thread(program)
            time.sleep(rng.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
            killed = time.monotonic()
            counts = engine._elsewhere.counts
            wait_until(lambda counts=counts: counts()["failures"] > 0, "it reports")
            assert time.monotonic() - killed < 20.0 + SLACK
            thread.join()
            assert results[0] == [expected[1 + i % 8] for i in range(400)]
            counts = engine.stats()["key_nodes"]
            assert counts["failures"] == 1 and "key node" in counts["last_failure"]
            assert len(engine._core.held_keys()) == 8, "it fetched the keys itself"


def test_a_node_killed_while_it_gets_a_map(folder: Path, x: hc.Ciphertext) -> None:
    near = hc.Engine(PARAMS, hc.KeyStore(folder).user("alice"), threads=1)
    wanted = circuit()(x.to(near)).to_bytes()
    with (
        key_node(folder) as (process, url),
        Relay(port_of(url), 400e3) as link,
    ):  # the map takes over a second
        engine = engine_of(folder, f"tcp://127.0.0.1:{link.port}", deadline=30.0)
        thread, results = in_thread(lambda: circuit()(x.to(engine)).to_bytes())
        wait_until(lambda: link.sent > 100_000, "a part of the map is there")
        process.send_signal(signal.SIGKILL)
        with pytest.warns(hc.KeyNodeFailure):
            thread.join()
            warnings.warn("joined", hc.KeyNodeFailure, stacklevel=1)
        assert results == [wanted]
        assert engine.stats()["key_nodes"]["failures"] == 1


def test_a_node_killed_while_it_answers(folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]) -> None:
    with key_node(folder) as (process, url), Relay(port_of(url), 4e6) as link:
        engine = engine_of(folder, f"tcp://127.0.0.1:{link.port}", deadline=60.0)
        thread, results = in_thread(lambda: engine.rotate_many(x.to(engine), STEPS * 6))  # 18 MiB
        wait_until(lambda: link.received > 200_000, "a part of the answer is there")
        process.send_signal(signal.SIGKILL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hc.KeyNodeFailure)
            thread.join()
        assert [each.to_bytes() for each in results[0]] == [expected[step] for step in STEPS * 6]
        assert engine.stats()["key_nodes"]["failures"] == 1, "half an answer is none"


def test_a_node_that_stops_is_given_up_at_the_deadline(
    folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]
) -> None:
    with key_node(folder) as (process, url):
        strict = engine_of(folder, url, deadline=2.0, on_failure="raise", retry_after=0.0)
        lenient = engine_of(folder, url, deadline=2.0, retry_after=1000.0)
        for each in (strict, lenient):
            assert x.to(each).rotate(1).to_bytes() == expected[1]
        process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        with pytest.raises(hc.IoError, match="deadline"):
            x.to(strict).rotate(2)
        assert time.monotonic() - begin < 2.0 + SLACK
        assert strict.stats()["key_nodes"]["failures"] == 1
        begin = time.monotonic()
        with pytest.warns(hc.KeyNodeFailure, match="deadline"):
            assert x.to(lenient).rotate(2).to_bytes() == expected[2]
        for step in STEPS[2:]:  # it is not asked again for a while: these would take 2 s each
            assert x.to(lenient).rotate(step).to_bytes() == expected[step]
        assert time.monotonic() - begin < 2.0 + SLACK
        assert lenient.stats()["key_nodes"]["failures"] == 1
        process.send_signal(signal.SIGCONT)
        assert x.to(strict).rotate(3).to_bytes() == expected[3], "it goes on with the node"


def test_a_node_that_was_restarted_is_used_again(
    folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]
) -> None:
    first = hc.KeyNodeServer(hc.KeyStore(folder), threads=1).start()
    engine = engine_of(folder, first.url, on_failure="raise", retry_after=0.0)
    wanted = circuit()(x.to(engine)).to_bytes()
    first.close()
    second = hc.KeyNodeServer(hc.KeyStore(folder), first.url.removeprefix("tcp://"), threads=1)
    with second:
        # The idle connection has ended, which is no failure: requests are sent again on a new one.
        assert x.to(engine).rotate(1).to_bytes() == expected[1]
        assert circuit()(x.to(engine)).to_bytes() == wanted
        assert second.status()["maps"] == 1 and engine.stats()["key_nodes"]["failures"] == 0


def test_cut_connections(server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext, expected) -> None:
    with Relay(port_of(server.url), 2e6) as link:
        engine = engine_of(
            folder, f"tcp://127.0.0.1:{link.port}", deadline=30.0, on_failure="raise", retry_after=0.0
        )
        for begun in (200_000, 600_000):  # within the request, within the answer
            thread, results = in_thread(lambda: x.to(engine).rotate(1).to_bytes())
            before = link.moved
            wait_until(lambda: link.moved - before > begun, "some bytes passed")  # noqa: B023
            link.cut()
            thread.join()
            assert isinstance(results[0], hc.IoError) or results[0] == expected[1]
        assert x.to(engine).rotate(2).to_bytes() == expected[2]
    wait_until(lambda: server.status()["waiting"] == 0 and server._shared.jobs._reserved == 0, "given up")


def test_several_nodes_take_over(folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]) -> None:
    servers = [hc.KeyNodeServer(hc.KeyStore(folder), threads=1).start() for _ in range(2)]
    nodes = [hc.KeyNode(each.url, use="always", retry_after=1000.0) for each in servers]
    engine = hc.Engine(PARAMS, hc.KeyStore(folder).user("alice"), threads=1, key_nodes=nodes)
    assert x.to(engine).rotate(1).to_bytes() == expected[1]
    servers[0].close()
    with pytest.warns(hc.KeyNodeFailure):
        assert x.to(engine).rotate(2).to_bytes() == expected[2]
    assert engine._core.held_keys() == [] and servers[1].status()["finished"] == 1
    servers[1].close()


def test_a_refusal_does_not_rest_the_node(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext, expected: dict[int, bytes], tmp_path: Path
) -> None:
    kept = hc.KeyStore(tmp_path / "other")  # the node does not have this user
    other = hc.Client(PARAMS)
    kept.put("bob", other.evaluation_keys(rotations=[1]))
    node = hc.KeyNode(server.url, use="always", retry_after=1000.0)
    bob = hc.Engine(PARAMS, kept.user("bob"), threads=1, key_nodes=node)
    with pytest.warns(hc.KeyNodeFailure, match="bob"):
        other.encrypt([1.0, 2.0]).to(bob).rotate(1)
    assert bob._core.held_keys() != [] and not node.is_resting
    alice = hc.Engine(PARAMS, hc.KeyStore(folder).user("alice"), threads=1, key_nodes=node)
    assert x.to(alice).rotate(1).to_bytes() == expected[1] and alice._core.held_keys() == []


# The client fails, or gives up

CLIENT = """
import sys, numpy as np, halocline as hc
url, folder, data, what = sys.argv[1:]
x = hc.Ciphertext.from_bytes(open(data, "rb").read())
node = hc.KeyNode(url, use="always", on_failure="raise")
engine = hc.Engine(x.params, hc.KeyStore(folder).user("alice"), threads=1, key_nodes=node)
print("ready", flush=True)
if what == "map":
    rng = np.random.default_rng(1)
    hc.LinearTransform({d: rng.standard_normal(x.slots) for d in range(512)}, baby_count=4)(x.to(engine))
elif what == "answer":
    engine.rotate_many(x.to(engine), [1 + i % 8 for i in range(48)])
else:
    engine.rotate_many(x.to(engine), [1 + i % 8 for i in range(2400)])
"""


def started(folder: Path, x: hc.Ciphertext, path: Path, url: str, what: str) -> subprocess.Popen[bytes]:
    (path / "x.hlc").write_bytes(x.to_bytes())
    command = [sys.executable, "-c", CLIENT, url, f"file:{folder}", str(path / "x.hlc"), what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.stdout.close()
    return process


def idle_again(server: hc.KeyNodeServer) -> None:
    """A node has nothing left of a client that is gone."""
    jobs = server._shared.jobs
    wait_until(lambda: jobs.count == 0 and jobs._reserved == 0 and not server._sessions, "the node is idle")


def test_a_client_killed_while_it_sends(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext, tmp_path: Path, expected: dict[int, bytes]
) -> None:
    # 16 MiB: more than buffers of the kernel pass on for a process that is gone.
    with Relay(port_of(server.url), 4e6) as link:
        process = started(folder, x, tmp_path, f"tcp://127.0.0.1:{link.port}", "map")
        wait_until(lambda: link.sent > 100_000, "a part of the map is there")
        process.send_signal(signal.SIGKILL)
        process.wait()
        idle_again(server)
    assert server.status()["maps"] == 0, "nothing of a map that came in part"
    engine = engine_of(folder, server.url, on_failure="raise")
    assert x.to(engine).rotate(1).to_bytes() == expected[1]


def test_a_client_killed_while_it_receives(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext, tmp_path: Path, expected: dict[int, bytes]
) -> None:
    with Relay(port_of(server.url), 4e6) as link:
        process = started(folder, x, tmp_path, f"tcp://127.0.0.1:{link.port}", "answer")
        wait_until(lambda: link.received > 200_000, "a part of the answer is there")
        process.send_signal(signal.SIGKILL)
        process.wait()
        idle_again(server)
    engine = engine_of(folder, server.url, on_failure="raise")
    assert x.to(engine).rotate(1).to_bytes() == expected[1]


def test_a_client_killed_while_the_node_computes(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext, tmp_path: Path, expected: dict[int, bytes]
) -> None:
    process = started(folder, x, tmp_path, server.url, "rotations")
    wait_until(lambda: steps_of(server) > 0, "the node computes")
    process.send_signal(signal.SIGKILL)
    process.wait()
    idle_again(server)
    gave_up(server, folder, x)
    engine = engine_of(folder, server.url, on_failure="raise")
    assert x.to(engine).rotate(1).to_bytes() == expected[1]


def steps_of(server: hc.KeyNodeServer) -> int:
    """Operations that the node's engine has done."""
    kept = list(server._shared.worker.users._kept.values())
    return kept[0].engine.stats()["steps"] if kept else 0


def gave_up(server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext) -> None:
    """The node's engine did not do all of the long request."""
    near = hc.Engine(PARAMS, hc.KeyStore(folder).user("alice"), threads=1)
    near.rotate_many(x.to(near), LONG[:8])
    before = near.stats()["steps"]
    near.rotate_many(x.to(near), LONG[:8])
    assert steps_of(server) < (near.stats()["steps"] - before) * (len(LONG) // 8) * 0.9


def test_cancelled_requests_are_given_up(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]
) -> None:
    engine = engine_of(folder, server.url, on_failure="raise")
    thread, results = in_thread(lambda: engine.rotate_many(x.to(engine), LONG))
    wait_until(lambda: steps_of(server) > 0, "the node computes")
    engine.cancel()
    thread.join()
    assert isinstance(results[0], hc.Cancelled)
    wait_until(lambda: server._shared.jobs.count == 0, "the node gave it up")
    gave_up(server, folder, x)
    assert x.to(engine).rotate(1).to_bytes() == expected[1], "the cancellation hit one request only"
    assert engine.stats()["key_nodes"]["failures"] == 0


def test_requests_end_by_their_deadline_at_the_node(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext
) -> None:
    engine = engine_of(folder, server.url, on_failure="raise", deadline=0.25)
    with pytest.raises(hc.IoError, match="deadline"):
        engine.rotate_many(x.to(engine), LONG)
    wait_until(lambda: server._shared.jobs.count == 0, "the node gave it up")
    gave_up(server, folder, x)


def test_a_cancel_frame_ends_one_of_two_requests(
    server: hc.KeyNodeServer, folder: Path, x: hc.Ciphertext
) -> None:
    stored = hc.KeyStore(folder).user("alice")
    node = hc.KeyNode(server.url)
    until = time.monotonic() + 120.0
    channel = node._connect(until)

    def call(number: int, steps: list[int]) -> None:
        about = {"user": "alice", "digest": stored.digest, "key_id": stored.key_id, "steps": steps}
        payload = pack(about | {"operation": "rotate_many"}, [x.to_bytes()])
        channel.send(Frame(Kind.CALL, number, payload, 60.0), until)

    call(1, LONG)
    call(2, [1])
    wait_until(lambda: steps_of(server) > 0, "the node computes")
    channel.send(Frame(Kind.CANCEL, 1), until)
    answers = [channel.receive(frozenset({Kind.RESULT, Kind.ERROR}), until) for _ in range(2)]
    assert [(each.request, each.kind) for each in answers] == [(1, Kind.ERROR), (2, Kind.RESULT)]
    assert b"Cancelled" in answers[0].payload
    channel.close()


def test_connections_beyond_the_limit_are_closed(folder: Path) -> None:
    with hc.KeyNodeServer(hc.KeyStore(folder), threads=1, connections=2) as node:
        clients = [hc.KeyNode(node.url) for _ in range(3)]
        kept: list[Channel] = [clients[0]._connect(time.monotonic() + 20) for _ in range(2)]
        with pytest.raises(hc.IoError):
            clients[2].status()
        kept[0].close()
        wait_until(lambda: len(node._channels) < 2, "a place is free")
        assert clients[2].status()["users"] == 0
        kept[1].close()


def test_the_command_ends_when_asked_to(folder: Path, x: hc.Ciphertext, expected: dict[int, bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with key_node(folder, env={"HALOCLINE_KEYNODE_TOKEN": "an-environment-token"}) as (process, url):
            os.environ["HALOCLINE_KEYNODE_TOKEN"] = "an-environment-token"
            try:
                engine = engine_of(folder, url, on_failure="raise")
                assert x.to(engine).rotate(1).to_bytes() == expected[1]
            finally:
                del os.environ["HALOCLINE_KEYNODE_TOKEN"]
            process.send_signal(number)
            assert process.wait(30) == 0
            assert process.stderr is not None and b"an-environment-token" not in process.stderr.read()


def test_all_addresses_of_a_name_share_the_deadline(
    server: hc.KeyNodeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Addresses that do not answer leave time for one that does, and a request its deadline."""
    silent = socket.create_server(("127.0.0.1", 0), backlog=0)
    full = [socket.socket() for _ in range(4)]
    for each in full:  # none is accepted: once the queue is full, further connections get no answer
        each.setblocking(False)
        each.connect_ex(silent.getsockname())
    known = socket.getaddrinfo("127.0.0.1", server.port, type=socket.SOCK_STREAM)
    lost = socket.getaddrinfo("127.0.0.1", silent.getsockname()[1], type=socket.SOCK_STREAM)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [*lost, *lost, *known])
    node = hc.KeyNode(server.url, deadline=3)
    assert node.status()["users"] >= 0
    node.close()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [*lost, *lost, *lost])
    with pytest.raises(hc.IoError, match="no connection to"):
        hc.KeyNode(server.url, deadline=0.6).status()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    with pytest.raises(hc.IoError, match="no address"):
        hc.KeyNode(server.url, deadline=0.6).status()
    for each in (*full, silent):
        each.close()
