# SPDX-License-Identifier: Apache-2.0
"""Databases that are looked up by key."""

import sys
from pathlib import Path

import halocline as hc
import pytest
from halocline import pir
from small_retrieval import run_threads, small_params

PAIRS = {f"name{i}": f"value {i}" * (i % 4) for i in range(200)}


def look_up(server: pir.Server, client: pir.Client, key: str | bytes) -> bytes | None:
    lookup = client.lookup_queries(key)
    return client.decode_lookup(lookup, server.answer_many(lookup.to_bytes()))


@pytest.mark.parametrize("in_file", [False, True])
def test_lookups(tmp_path: Path, in_file: bool) -> None:
    path = tmp_path / "names.hlr" if in_file else None
    database = pir.KeywordDatabase.build(PAIRS, small_params(), path=path, spare=0.2, max_value_bytes=40)
    if in_file:
        database = pir.KeywordDatabase.open(tmp_path / "names.hlr", allow_insecure=True)
    info = pir.DatabaseInfo.from_json(database.info.to_json(), allow_insecure=True)
    client = pir.Client(info)
    assert info.table is not None
    with pir.Server(database, batch=4, deadline=0.0) as server:
        server.add_client(client.server_keys())
        for key in ("name1", "name3", b"name199", "name0"):
            text = key if isinstance(key, str) else key.decode()
            assert look_up(server, client, key) == PAIRS[text].encode()
        for key in ("name200", "", b"\0"):
            assert look_up(server, client, key) is None
            assert len(client.lookup_queries(key)) == info.table.queries
        database.set("name3", "new")
        database.set("another", "added")
        assert database.remove("name1")
        assert not database.remove("name1")
        assert look_up(server, client, "name3") == b"new"
        assert look_up(server, client, "another") == b"added"
        assert look_up(server, client, "name1") is None
    assert all(database.get(key) == PAIRS[key].encode() for key in PAIRS if key not in ("name1", "name3"))


def test_what_is_refused(tmp_path: Path) -> None:
    params = small_params()
    for source, options, why in (
        ({}, {}, "no keys"),
        ([("a", "1"), (b"a", "2")], {}, "a"),
        ({"a": "long"}, {"max_value_bytes": 3}, "3"),
        ({"a": 1}, {}, "int"),
        ([("a",)], {}, "pair"),
        ("text", {}, "pairs"),
        ({"\ud800": "x"}, {}, "text"),
    ):
        with pytest.raises(hc.InvalidArgument, match=why):
            pir.KeywordDatabase.build(source, params, **options)
    plain = tmp_path / "plain.hlr"
    pir.Database.build(bytes(10), params, record_bytes=5, path=plain)
    with pytest.raises(hc.CorruptData, match="without keys"):
        pir.KeywordDatabase.open(plain, allow_insecure=True)
    keyed = tmp_path / "keyed.hlr"
    database = pir.KeywordDatabase.build({"a": "b"}, params, path=keyed)
    with pytest.raises(hc.InvalidArgument, match=r"open it with KeywordDatabase\.open"):
        pir.Database.open(keyed, allow_insecure=True)
    client = pir.Client(database.info)
    with pytest.raises(hc.InvalidArgument, match=r"use lookup_queries\(key\)"):
        client.query(0)
    with pytest.raises(hc.InvalidArgument, match="answers; expected"):
        client.decode_lookup(client.lookup_queries("a"), [])
    with pytest.raises(hc.InvalidArgument):
        database.set("a", "longer than one byte")


def test_threads_lose_no_update() -> None:
    """Keys of one bucket, changed by several threads: each update reads the bucket and writes it whole."""
    pairs = {f"k{i}": "0" for i in range(40)}
    database = pir.KeywordDatabase.build(pairs, small_params(), spare=3.0, max_value_bytes=8)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:

        def change(number: int) -> None:
            for turn in range(1, 26):
                for i in range(number, 40, 4):
                    database.set(f"k{i}", str(turn))
                database.set(f"new{number}.{turn}", "x")
                assert database.remove(f"new{number}.{turn}") == (turn > 0)
            assert database.remove(f"k{number}")

        run_threads(4, change)
    finally:
        sys.setswitchinterval(interval)
    for i in range(40):
        assert database.get(f"k{i}") == (None if i < 4 else b"25")


def test_progress_of_a_build(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    database = pir.KeywordDatabase.build(
        {f"k{i}": bytes(1000) for i in range(9000)},
        small_params(),
        path=tmp_path / "k.hlr",
        progress=lambda done, total: told.append((done, total)),
    )
    size = database.info.records * database.info.record_bytes
    written = [done for done, total in told if total == size]
    assert len(written) > 1  # in pieces, as they are made
    assert written == sorted(written)
    assert written[-1] == size
    assert any(total == 9000 for _, total in told)

    def stop(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pir.KeywordDatabase.build({"a": "b"}, small_params(), path=tmp_path / "x.hlr", progress=stop)
    assert not (tmp_path / "x.hlr").exists()
