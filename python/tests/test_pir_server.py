# SPDX-License-Identifier: Apache-2.0
"""Servers of private retrieval: threads and batches, clients' keys, replaced records, forks, ends."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import halocline as hc
import pytest
from halocline import pir
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
    query = client.query(6).to_bytes()
    for call in (lambda: server.add_client(client.server_keys()), lambda: server.answer(query)):
        with pytest.raises(hc.InvalidArgument, match="it is closed"):
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
