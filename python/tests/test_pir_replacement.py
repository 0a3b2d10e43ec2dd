# SPDX-License-Identifier: Apache-2.0
"""Records of private retrieval are replaced while servers answer: whole, in all servers, in one order."""

import contextlib
import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import pytest
from halocline import pir
from small_retrieval import fetch, random_records, run_threads, small_params

COUNT, LENGTH = 24, 900
RECORDS = random_records(COUNT, LENGTH)


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
    """A server whose device fails, or is interrupted."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error or hc.DeviceError("the device is gone")

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        yield

    def refresh(self, record: int) -> None:
        raise self.error


class InOrder(list):
    """Holders in a known order."""

    add = list.append
    discard = list.remove


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


def test_an_interrupt_leaves_no_server_behind() -> None:
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    with pir.Server(made) as one, pir.Server(made, storage="raw") as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        made._holders = InOrder([Faulty(KeyboardInterrupt()), one, two])
        with pytest.raises(KeyboardInterrupt):
            made.replace(3, bytes(LENGTH))
        assert fetch(one, client, 3) == fetch(two, client, 3) == made.record(3) == bytes(LENGTH)


class FailingStore:
    """Records whose device fails when it has written."""

    def __init__(self, records) -> None:
        self._records = records

    def write(self, offset: int, data: bytes) -> None:
        self._records.write(offset, data)
        raise hc.IoError("the disk failed afterwards")


def test_servers_have_what_a_store_has_that_failed() -> None:
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    with pir.Server(made) as one, pir.Server(made, storage="raw", memory="64MiB", policy="lru") as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        store, made._records = made._records, FailingStore(made._records)
        with pytest.raises(hc.IoError, match="afterwards"):
            made.replace(3, bytes(LENGTH))
        made._records = store
        assert fetch(one, client, 3) == fetch(two, client, 3) == made.record(3)


class Watched:
    """A lock that says when a thread has to wait for it."""

    def __init__(self, lock, settled: threading.Event) -> None:
        self._lock, self._settled = lock, settled

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._settled.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_server_that_is_made_during_a_replacement_has_the_new_record() -> None:
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    settled = threading.Event()  # the other thread waits, or is done
    made._lock = Watched(made._lock, settled)
    others = []

    def replace() -> None:
        made.replace(3, bytes(LENGTH))
        settled.set()

    def loaded(done: int, total: int) -> None:  # the old record has been read
        if not others:
            others.append(threading.Thread(target=replace))
            others[0].start()
            assert settled.wait(60)

    with pir.Server(made, progress=loaded) as server:
        others[0].join(60)
        assert not others[0].is_alive()
        server.add_client(client.server_keys())
        assert fetch(server, client, 3) == made.record(3) == bytes(LENGTH)


def test_nothing_is_replaced_by_what_watches_a_server_being_made() -> None:
    made = pir.Database.build(RECORDS, small_params())
    with pytest.raises(hc.InvalidArgument, match="being made"):
        pir.Server(made, progress=lambda done, total: made.replace(3, bytes(LENGTH)))
    made.replace(3, bytes(LENGTH))
    assert made.record(3) == bytes(LENGTH)


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
        stop, reading = threading.Event(), threading.Barrier(3)
        made.replace(3, bytes(LENGTH))
        pairs = []

        def work(number: int) -> None:
            if number == 0:
                reading.wait(60)
                for version in range(1, 120):
                    made.replace(3, bytes([version]) * LENGTH)
                stop.set()
                return
            order = (one, two) if number == 1 else (two, one)
            pairs.append([fetch(each, client, 3)[0] for each in order])
            reading.wait(60)
            while not stop.is_set():
                pairs.append([fetch(each, client, 3)[0] for each in order])

        run_threads(3, work)
        assert pairs
        assert all(first <= second for first, second in pairs)


def test_every_server_of_a_database_has_new_records() -> None:
    made = pir.Database.build(RECORDS, small_params())
    client = pir.Client(made.info)
    with pir.Server(made) as one, pir.Server(made, storage="raw") as two:
        for each in (one, two):
            each.add_client(client.server_keys())
        one.replace(3, bytes(LENGTH))
        assert fetch(one, client, 3) == fetch(two, client, 3) == bytes(LENGTH)
    made.replace(3, RECORDS[3].tobytes())
    assert made.record(3) == RECORDS[3].tobytes()
