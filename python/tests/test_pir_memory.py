# SPDX-License-Identifier: Apache-2.0
"""Servers of private retrieval whose memory is short: keys are dropped for batches, and jobs fail alone."""

import re
from concurrent.futures import Future
from typing import Any

import halocline as hc
import pytest
from halocline import pir
from halocline.pir.answering import Answering
from halocline.pir.batching import Job
from small_retrieval import fetch, random_records, small_params

RECORDS = random_records(24, 900)


@pytest.fixture(scope="module")
def database() -> pir.Database:
    return pir.Database.build(RECORDS, small_params())


@pytest.fixture
def clients(database: pir.Database) -> list[pir.Client]:
    return [pir.Client(database.info) for _ in range(4)]


def peak_of_one(database: pir.Database, client: pir.Client) -> int:
    """Bytes that a query takes at most with the keys of its client and the database."""
    with pir.Server(database, threads=1) as server:
        server.add_client(client.server_keys())
        fetch(server, client, 0)
        return server.memory()["peak_fast_bytes"]


def test_keys_of_other_clients_are_dropped_for_a_batch(
    database: pir.Database, clients: list[pir.Client]
) -> None:
    """Under `resident` nothing moves: expanded keys that stay take the room that batches need."""
    budget = peak_of_one(database, clients[0])
    with pir.Server(database, memory=budget, threads=1, batch=1) as server:
        for each in clients:
            server.add_client(each.server_keys())
        for turn in range(2):
            for i, each in enumerate(clients):
                assert fetch(server, each, i + turn) == RECORDS[i + turn].tobytes()
        assert server.stats().key_evictions >= 7


def test_a_group_is_divided_until_its_keys_have_room(
    database: pir.Database, clients: list[pir.Client]
) -> None:
    budget = peak_of_one(database, clients[0])
    with pir.Server(database, memory=budget, threads=1, batch=4, deadline=3600) as server:
        for each in clients:
            server.add_client(each.server_keys())
        queries = [each.query(i) for i, each in enumerate(clients)]
        answers = server.answer_many([each.to_bytes() for each in queries])
        for i, (each, query) in enumerate(zip(clients, queries, strict=True)):
            assert each.decode(query, answers[i]) == RECORDS[i].tobytes()
        assert server.stats().largest_batch == 1


PLACES = [(policy, storage) for policy in ("resident", "lru") for storage in ("transformed", "raw")]


@pytest.mark.parametrize("shape", [(300, 900), (20, 9000), (900, 300)])
def test_budgets_that_are_enough_are_named(shape: tuple[int, int]) -> None:
    records = random_records(*shape)
    database = pir.Database.build(records, small_params())
    client = pir.Client(database.info)
    for policy, storage in PLACES:
        where: dict[str, Any] = {"policy": policy, "storage": storage, "threads": 1}
        with pytest.raises(hc.OutOfMemory) as refused:
            pir.Server(database, memory=100_000, progress=no_progress, **where)
        said = refused.value.args[0]
        named = [(int(found[1]), *found.groups()[1:]) for found in NAMED.finditer(said)]
        assert named[0][1:] == (policy, storage)
        assert [each[0] for each in named] == sorted({each[0] for each in named}, reverse=True)
        for budget, at, kept in named:
            there: dict[str, Any] = {"policy": at, "storage": kept, "threads": 1}
            with pir.Server(database, memory=budget, **there) as server:
                server.add_client(client.server_keys())
                assert fetch(server, client, 7) == records[7].tobytes()
        budget = named[0][0] * 13 // 16  # the forecast is no excuse for much more than what is needed
        with pytest.raises(hc.OutOfMemory), pir.Server(database, memory=budget, **where) as server:
            server.add_client(client.server_keys())
            fetch(server, client, 7)


def test_the_first_answer_names_what_is_enough_too() -> None:
    """A budget a little below what is needed passes the check, which is no more exact than one part in 16."""
    records = random_records(300, 900)
    database = pir.Database.build(records, small_params())
    client = pir.Client(database.info)
    with pytest.raises(hc.OutOfMemory) as refused:
        pir.Server(database, memory=100_000, threads=1)
    enough = int(NAMED.findall(refused.value.args[0])[0][0])
    told = 0
    for part in range(1, 64):
        try:
            with pir.Server(database, memory=enough - enough * part // 256, threads=1) as server:
                server.add_client(client.server_keys())
                fetch(server, client, 7)
        except hc.OutOfMemory as error:
            said = str(error)
            ways = [each[1:] for each in NAMED.findall(said)]
            assert ways[0] == ("resident", "transformed") and len(ways) > 1
            assert said.count("are enough") == 1
            told += "is too small for this database" not in said
            if told:
                break
    assert told, "some budget passed the check and was too small for an answer"


def test_profiled_is_refused_in_words_of_servers(database: pir.Database) -> None:
    with pytest.raises(hc.InvalidArgument, match=r"pir.Server: policy 'profiled' needs decisions"):
        pir.Server(database, policy="profiled")


def test_servers_on_several_devices_say_what_takes_less(database: pir.Database) -> None:
    with pytest.raises(hc.OutOfMemory, match="storage='raw' takes less memory"):
        pir.Server(database, ["cpu", "cpu"], memory="64KiB")


NAMED = re.compile(r"\((\d+) bytes\) (?:are enough )?with policy='(\w+)' and storage='(\w+)'")


def no_progress(done: int, total: int) -> None:
    raise AssertionError("records were read before the budget was checked")


class Device:
    """Has room for the keys of `room` clients at once, and for none of those in `large`."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.alive = 0
        self.large: set[bytes] = set()
        self.answered: list[list[bytes]] = []

    def load_keys(self, message: bytes) -> "DeviceKeys":
        if message in self.large or self.alive == self.room:
            raise hc.OutOfMemory("no room for keys")
        return DeviceKeys(self)

    def answer(self, keys: list["DeviceKeys"], queries: list[bytes]) -> tuple[list[bytes], dict, dict, None]:
        if b"large" in queries or len(queries) > self.room:
            raise hc.OutOfMemory("no room for temporaries")
        self.answered.append(queries)
        return queries, {}, {}, None


class DeviceKeys:
    """Keys that give their room back when the last reference goes."""

    nbytes = 10

    def __init__(self, device: Device) -> None:
        self._device = device
        device.alive += 1

    def __del__(self) -> None:
        self._device.alive -= 1


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    monkeypatch.setattr("halocline.pir.answering.Keys", DeviceKeys)
    return Device(room=2)


def jobs_of(work: Answering, names: list[bytes]) -> list[Job]:
    """A query of a client of its own for each name."""
    for each in names:
        work.keys.add(each, each)
    return [Job(each, each, Future()) for each in names]


def test_only_the_job_that_does_not_fit_fails(device: Device) -> None:
    work = Answering(device, 1000, 1000, None)  # type: ignore[arg-type]
    names = [b"a", b"large", b"b", b"c"]
    jobs = jobs_of(work, names)
    work.run(jobs)
    for name, job in zip(names, jobs, strict=True):
        if name == b"large":
            with pytest.raises(hc.OutOfMemory, match="temporaries"):
                job.answer.result(0)
        else:
            assert job.answer.result(0) == name
    assert sorted(each for batch in device.answered for each in batch) == [b"a", b"b", b"c"]


def test_errors_keep_no_keys_alive(device: Device) -> None:
    device.large = {b"deep"}
    work = Answering(device, 1000, 1000, None)  # type: ignore[arg-type]
    jobs = jobs_of(work, [b"a", b"unknown", b"b", b"deep", b"large"])
    work.keys.remove(b"unknown")
    work.run(jobs)
    errors = [type(each.answer.exception(0)) for each in jobs]
    assert errors == [type(None), hc.MissingKey, type(None), hc.OutOfMemory, hc.OutOfMemory]
    work.keys.clear()
    assert device.alive == 0


def test_only_the_job_whose_keys_do_not_fit_fails(device: Device) -> None:
    device.large = {b"deep"}
    work = Answering(device, 1000, 1000, None)  # type: ignore[arg-type]
    jobs = jobs_of(work, [b"a", b"deep", b"b"])
    work.run(jobs)
    assert [each.answer.exception(0) is None for each in jobs] == [True, False, True]
    with pytest.raises(hc.OutOfMemory, match="room for keys"):
        jobs[1].answer.result(0)
    jobs = jobs_of(work, [b"c", b"d"])
    work.run(jobs)  # the error keeps no keys alive
    assert [each.answer.result(0) for each in jobs] == [b"c", b"d"]
