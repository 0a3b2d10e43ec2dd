# SPDX-License-Identifier: Apache-2.0
"""Servers of private retrieval: threads and batches, clients' keys, replaced records, forks, ends."""

import contextlib
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import pytest
from halocline import pir
from halocline.pir.key_cache import KeyCache
from small_retrieval import fetch, random_records, run_threads, small_params

COUNT, LENGTH = 24, 900
RECORDS = random_records(COUNT, LENGTH)


@pytest.fixture(scope="module")
def database() -> pir.Database:
    return pir.Database.build(RECORDS, small_params())


@pytest.fixture
def server(database: pir.Database) -> Iterator[pir.Server]:
    with pir.Server(database, batch=8, deadline=0.02, threads=1) as made:
        yield made


def test_threads_share_batches(database: pir.Database, server: pir.Server) -> None:
    clients = [pir.Client(database.info) for _ in range(3)]
    for each in clients:
        server.add_client(each.server_keys())
    got: dict[int, bytes] = {}

    def ask(number: int) -> None:
        got[number] = fetch(server, clients[number % 3], number)

    run_threads(16, ask)
    assert got == {i: RECORDS[i].tobytes() for i in range(16)}
    stats = server.stats()
    assert stats.queries == 16
    assert stats.batches < 16  # the deadline gathered some
    assert 1 < stats.largest_batch <= 8
    assert set(stats.stage_seconds) == {"expansion", "completion", "rows", "columns", "answers"}
    assert (stats.clients, stats.key_misses) == (3, 3)
    assert stats.key_hits == 13


def test_a_full_batch_does_not_wait(database: pir.Database) -> None:
    client = pir.Client(database.info)
    with pir.Server(database, batch=4, deadline=3600) as server:
        server.add_client(client.server_keys())
        queries = [client.query(i) for i in range(8)]
        answers = server.answer_many([each.to_bytes() for each in queries])
        assert server.stats().batches == 2
    for i, (query, answer) in enumerate(zip(queries, answers, strict=True)):
        assert client.decode(query, answer) == RECORDS[i].tobytes()


def test_a_query_waits_for_others_until_the_deadline(database: pir.Database) -> None:
    client = pir.Client(database.info)
    with pir.Server(database, batch=2, deadline=3600) as server:
        server.add_client(client.server_keys())

        def ask(number: int) -> None:
            time.sleep(0.3 * number)  # the first one waits alone for a while
            assert fetch(server, client, number) == RECORDS[number].tobytes()

        run_threads(2, ask)
        assert server.stats().batches == 1
    with pir.Server(database, batch=2, deadline=0.1) as server:
        server.add_client(client.server_keys())
        query = client.query(0).to_bytes()
        begin = time.monotonic()
        server.answer(query)
        assert time.monotonic() - begin >= 0.1  # no other one came


@pytest.mark.parametrize("storage", ["transformed", "raw"])
def test_storage_and_budgets(database: pir.Database, storage: str) -> None:
    client = pir.Client(database.info)
    with pir.Server(database, storage=storage, memory="64MiB", policy="lru", threads=1) as server:
        server.add_client(client.server_keys())
        assert fetch(server, client, 5) == RECORDS[5].tobytes()
        assert server.memory()["peak_fast_bytes"] <= 64 << 20


@pytest.mark.parametrize("spread", ["columns", "replicas"])
def test_several_devices(database: pir.Database, spread: str) -> None:
    client = pir.Client(database.info)
    with pir.Server(database, ["cpu", "cpu"], spread=spread, threads=1, batch=5) as server:
        server.add_client(client.server_keys())
        queries = [client.query(i) for i in range(5)]
        answers = server.answer_many([each.to_bytes() for each in queries])
        for i, (query, answer) in enumerate(zip(queries, answers, strict=True)):
            assert client.decode(query, answer) == RECORDS[i].tobytes()
        database.replace(1, bytes(LENGTH))
        assert fetch(server, client, 1) == bytes(LENGTH)
        database.replace(1, RECORDS[1].tobytes())
        assert server.stats().expanded_bytes > 0
    with pytest.raises(hc.InvalidArgument):
        pir.Server(database, ["cpu"] * 3)


def test_unknown_clients(database: pir.Database, server: pir.Server) -> None:
    client = pir.Client(database.info)
    with pytest.raises(hc.MissingKey, match=r"send client\.server_keys\(\)"):
        server.answer(client.query(1).to_bytes())
    name = server.add_client(client.server_keys())
    assert fetch(server, client, 1) == RECORDS[1].tobytes()
    assert server.remove_client(name)
    assert not server.remove_client(name)
    with pytest.raises(hc.MissingKey):
        server.answer(client.query(1).to_bytes())
    with pytest.raises(hc.InvalidArgument, match="no identifier"):
        server.remove_client("name")


def test_malformed_messages(database: pir.Database, server: pir.Server) -> None:
    client = pir.Client(database.info)
    keys, query = client.server_keys(), client.query(1).to_bytes()
    server.add_client(keys)
    for good, take in ((keys, server.add_client), (query, server.answer)):
        for bad in (b"", good[:40], good[:-1], good + b"\0", good[:100] + b"\xff" * 8 + good[108:]):
            with pytest.raises(hc.CorruptData):
                take(bad)
        with pytest.raises(hc.WrongType):
            take("text")
    with pytest.raises(hc.CorruptData):
        server.add_client(query)
    with pytest.raises(hc.CorruptData):
        server.answer(keys)
    other = pir.Client(pir.Database.build(RECORDS[:5], small_params()).info)
    with pytest.raises(hc.InvalidArgument, match="database"):
        server.answer(other.query(1).to_bytes())
    assert fetch(server, client, 2) == RECORDS[2].tobytes()  # nothing of it harmed the server


def test_one_bad_query_of_many_refuses_all(database: pir.Database, server: pir.Server) -> None:
    client = pir.Client(database.info)
    server.add_client(client.server_keys())
    with pytest.raises(hc.CorruptData):
        server.answer_many([client.query(1).to_bytes(), b"x"])
    assert server.answer_many([]) == []
    assert server.stats().queries == 0


def test_expanded_keys_are_evicted(database: pir.Database) -> None:
    clients = [pir.Client(database.info) for _ in range(3)]
    with pir.Server(database, batch=3, deadline=1.0, key_memory=1) as server:
        for each in clients:
            server.add_client(each.server_keys())
        queries = [each.query(i) for i, each in enumerate(clients)]
        answers = server.answer_many([each.to_bytes() for each in queries])
        for i, (client, query) in enumerate(zip(clients, queries, strict=True)):
            assert client.decode(query, answers[i]) == RECORDS[i].tobytes()
        stats = server.stats()
        assert (stats.clients, stats.expanded_clients) == (3, 1)  # those of the last one stay
        assert (stats.key_misses, stats.key_evictions, stats.batches) == (3, 2, 3)
        assert fetch(server, clients[0], 7) == RECORDS[7].tobytes()  # made again of what was sent


def test_host_memory_of_keys(database: pir.Database) -> None:
    clients = [pir.Client(database.info) for _ in range(3)]
    keys = [each.server_keys() for each in clients]
    with pir.Server(database, key_host_memory=2 * len(keys[0])) as server:
        for each in keys:
            server.add_client(each)
        assert (server.stats().clients, server.stats().key_removals) == (2, 1)
        with pytest.raises(hc.MissingKey):
            server.answer(clients[0].query(0).to_bytes())
        assert fetch(server, clients[2], 0) == RECORDS[0].tobytes()
    with (
        pir.Server(database, key_host_memory=100) as server,
        pytest.raises(hc.InvalidArgument, match="at most 100"),
    ):
        server.add_client(keys[0])


def test_expiry_by_a_clock() -> None:
    class Keys:
        nbytes = 10

    now = [0.0]
    cache = KeyCache(lambda message: Keys(), 1000, 1000, expiry=5.0, clock=lambda: now[0])
    cache.add(b"a", b"keys")
    cache.add(b"b", b"keys")
    now[0] = 4.0
    cache.get(b"a")
    now[0] = 8.0
    assert cache.sizes() == {"clients": 1, "uploaded_bytes": 4, "expanded_clients": 1, "expanded_bytes": 10}
    cache.expect(b"a")
    with pytest.raises(hc.MissingKey):
        cache.get(b"b")
    now[0] = 14.0
    with pytest.raises(hc.MissingKey):
        cache.expect(b"a")
    assert cache.counts["expiries"] == 2
    assert cache.sizes()["expanded_bytes"] == 0


def test_replaced_records_are_whole() -> None:
    """Each answer is to the old record or to the new one, of several plaintexts each."""
    records = random_records(4, 3000)
    database = pir.Database.build(records, small_params())
    client = pir.Client(database.info)
    versions = [bytes([i]) * 3000 for i in range(30)]
    allowed = {records[2].tobytes(), *versions}
    with pir.Server(database, batch=2, deadline=0.0, threads=1) as server:
        server.add_client(client.server_keys())
        stop = threading.Event()
        seen: list[bytes] = []

        def read(number: int) -> None:
            if number == 0:
                for each in versions:
                    database.replace(2, each)
                    time.sleep(0.002)
                stop.set()
                return
            while not stop.is_set():
                seen.append(fetch(server, client, 2))

        run_threads(3, read)
        assert seen
        assert set(seen) <= allowed
        assert fetch(server, client, 2) == versions[-1] == database.record(2)
        assert fetch(server, client, 1) == records[1].tobytes()
        assert server.stats().replaced_records == 30
    with pytest.raises(hc.InvalidArgument, match="one length"):
        database.replace(2, b"short")


class Faulty:
    """A server whose device fails."""

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        yield

    def refresh(self, record: int) -> None:
        raise hc.DeviceError("the device is gone")


def test_a_server_that_fails_is_reported_and_others_have_the_record() -> None:
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    faulty = Faulty()
    with pir.Server(made) as one, pir.Server(made, storage="raw") as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        made._holders.add(faulty)
        with pytest.raises(hc.DeviceError, match=r"record 3 .* in 2 of its 3 servers; .* device is gone"):
            made.replace(3, bytes(LENGTH))
        assert fetch(one, client, 3) == fetch(two, client, 3) == made.record(3) == bytes(LENGTH)


def test_a_store_that_refuses_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "db.hlr"
    made = pir.Database.build(RECORDS, small_params(), path=path)
    client = pir.Client(made.info)
    other = pir.Database.open(path, allow_insecure=True)  # which keeps records from being replaced
    with pir.Server(made) as one, pir.Server(made) as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        with pytest.raises(hc.IoError):
            made.replace(3, bytes(LENGTH))
        assert fetch(one, client, 3) == fetch(two, client, 3) == other.record(3) == RECORDS[3].tobytes()
        del other
        gc.collect()
        made.replace(3, bytes(LENGTH))
        assert fetch(one, client, 3) == fetch(two, client, 3) == bytes(LENGTH)


def test_servers_change_together() -> None:
    """Who has got a new record from one server gets no older one from another."""
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    with pir.Server(made, batch=1, threads=1) as one, pir.Server(made, batch=1, threads=1) as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        stop = threading.Event()
        made.replace(3, bytes(LENGTH))
        pairs = []

        def work(number: int) -> None:
            if number == 0:
                for version in range(1, 120):
                    made.replace(3, bytes([version]) * LENGTH)
                stop.set()
                return
            order = (one, two) if number == 1 else (two, one)
            while not stop.is_set():
                pairs.append([fetch(each, client, 3)[0] for each in order])

        run_threads(3, work)
        assert pairs
        assert all(first <= second for first, second in pairs)


def test_every_server_of_a_database_has_new_records(database: pir.Database) -> None:
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    with pir.Server(made) as one, pir.Server(made, storage="raw") as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        one.replace(3, bytes(LENGTH))
        assert fetch(one, client, 3) == fetch(two, client, 3) == bytes(LENGTH)
    made.replace(3, RECORDS[3].tobytes())
    assert made.record(3) == RECORDS[3].tobytes()


def test_close_answers_what_waits(database: pir.Database) -> None:
    client = pir.Client(database.info)
    server = pir.Server(database, batch=1000, deadline=3600)
    server.add_client(client.server_keys())
    got: list[bytes] = []
    asking = threading.Thread(target=lambda: got.append(fetch(server, client, 6)))
    asking.start()
    while not server._queue._waiting:
        time.sleep(0.001)
    server.close()
    asking.join(60)
    assert got == [RECORDS[6].tobytes()]
    server.close()
    for call in (lambda: server.add_client(client.server_keys()), lambda: server.answer(b"")):
        with pytest.raises(hc.Error):
            call()


def test_servers_that_are_dropped_end_their_thread(database: pir.Database) -> None:
    client = pir.Client(database.info)
    server = pir.Server(database, deadline=0.0)
    server.add_client(client.server_keys())
    fetch(server, client, 0)
    thread = server._queue._thread
    assert thread is not None
    del server
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def run_program(text: str) -> str:
    """Runs a program with a server and a client of it; what it wrote to standard output."""
    start = (
        "import threading, time\nimport halocline as hc\nfrom halocline import pir\n"
        "database = pir.Database.build(bytes(64), 'pir-n2048', record_bytes=8)\n"
        "client = pir.Client(database.info)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", start + text], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


ASKING = """
def ask():
    try:
        while True:
            server.answer(client.query(1).to_bytes())
    except hc.Cancelled as error:
        print(error, flush=True)
threads = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
[each.start() for each in threads]
"""


def test_a_program_may_end_with_queries_under_way() -> None:
    told = run_program(
        "server = pir.Server(database)\nserver.add_client(client.server_keys())\n"
        + ASKING
        + "server.answer(client.query(1).to_bytes())\n"
    )
    assert told.count("the program ends") == 3


def test_queries_that_wait_at_the_end_of_a_program_are_told() -> None:
    told = run_program(
        "server = pir.Server(database, batch=100, deadline=3600)\nserver.add_client(client.server_keys())\n"
        + ASKING
        + "while len(server._queue._waiting) < 3: time.sleep(0.001)\n"
    )
    assert told.count("the program ends") == 3


def _child(server: pir.Server, client: pir.Client, results) -> None:
    try:
        results.put(fetch(server, client, 9))
    except BaseException as error:
        results.put(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_children_have_servers_of_their_own(database: pir.Database, server: pir.Server) -> None:
    client = pir.Client(database.info)
    server.add_client(client.server_keys())
    fetch(server, client, 9)  # its thread exists
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_child, args=(server, client, results))
    child.start()
    got = results.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert got == RECORDS[9].tobytes()
    assert fetch(server, client, 10) == RECORDS[10].tobytes()


def test_options_are_checked(database: pir.Database) -> None:
    for options in (
        {"batch": 0},
        {"deadline": -1},
        {"deadline": "1"},
        {"key_expiry": float("nan")},
        {"storage": "disk"},
        {"device": "ghost"},
        {"policy": "best"},
        {"threads": 0},
        {"key_memory": "x"},
    ):
        with pytest.raises(hc.InvalidArgument):
            pir.Server(database, **options)
    with pytest.raises(hc.OutOfMemory):
        pir.Server(database, memory="64KiB")
    with pytest.raises(hc.WrongType):
        pir.Server(b"records")
