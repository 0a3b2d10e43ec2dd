# SPDX-License-Identifier: Apache-2.0
"""Keys of clients on servers of private retrieval: whose they are, how long they stay."""

import struct
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import pytest
import xxhash
from halocline import pir
from halocline.pir.key_cache import KeyCache
from small_retrieval import fetch, random_records, small_params

COUNT, LENGTH = 24, 900
RECORDS = random_records(COUNT, LENGTH)


@pytest.fixture(scope="module")
def database() -> pir.Database:
    return pir.Database.build(RECORDS, small_params())


@pytest.fixture
def server(database: pir.Database) -> Iterator[pir.Server]:
    with pir.Server(database, batch=8, deadline=0.02, threads=1) as made:
        yield made


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


def test_keys_of_a_known_client_are_replaced_on_request_only(
    database: pir.Database, server: pir.Server
) -> None:
    client = pir.Client(database.info)
    keys, others = client.server_keys(), client.server_keys()
    name = server.add_client(keys)
    assert server.add_client(keys) == name  # the same ones
    with pytest.raises(hc.InvalidArgument, match="replace=True"):
        server.add_client(others)
    assert fetch(server, client, 1) == RECORDS[1].tobytes()
    assert server.add_client(others, replace=True) == name
    assert fetch(server, client, 2) == RECORDS[2].tobytes()
    server.remove_client(name)
    assert server.add_client(keys) == name  # nothing is known of the client any more


def under_the_name_of(victim: bytes, keys: bytes) -> bytes:
    """Keys of another client with the identifier and the seal of the victim's, and a right checksum."""
    body = keys[:32] + victim[32:48] + keys[48:-24] + victim[-24:-8]
    return body + struct.pack("<Q", xxhash.xxh64(body).intdigest())


@pytest.mark.parametrize("devices", [["cpu"], ["cpu", "cpu"]])
def test_a_client_notices_keys_of_another_party(
    database: pir.Database, devices: list[str], tmp_path: Path
) -> None:
    client, eve = pir.Client(database.info), pir.Client(database.info)
    client.save(tmp_path / "secret")
    keys = client.server_keys()
    with pir.Server(database, devices, threads=1) as server:
        server.add_client(under_the_name_of(keys, eve.server_keys()))  # before the client itself
        query = client.query(5)
        answer = server.answer(query.to_bytes())
        for each in (client, pir.Client.load(tmp_path / "secret", database.info)):
            with pytest.raises(hc.KeyMismatch, match="another party"):
                each.decode(query, answer)
        with pytest.raises(hc.InvalidArgument, match="other keys of client"):
            server.add_client(keys)
        server.add_client(keys, replace=True)
        answer = server.answer(query.to_bytes())
        for each in (client, pir.Client.load(tmp_path / "secret", database.info)):
            assert each.decode(query, answer) == RECORDS[5].tobytes()


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
