# SPDX-License-Identifier: Apache-2.0
"""Private retrieval: parameters, databases from every source, the whole way to a record."""

import copy
import functools
import pickle
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline import pir
from small_retrieval import fetch, random_records, small_params


@pytest.mark.parametrize("preset", ["pir-n4096", "pir-n2048"])
def test_round_trip_with_both_sets(preset: str) -> None:
    records = random_records(5, 300)
    database = pir.Database.build(records, preset)
    assert len(database) == 5
    client = pir.Client(database.info)
    with pir.Server(database) as server:
        assert server.add_client(client.server_keys()) == client.id
        for index in (0, 4):
            query = client.query(index)
            answer = server.answer(query.to_bytes())
            assert client.decode(query, answer) == records[index].tobytes()
    about = database.info.describe()
    assert about["security_bits"] >= 128
    assert about["log2_failure"] <= -40
    assert about["query_bytes"] == len(query.to_bytes())
    assert about["answer_bytes"] == len(answer)
    assert about["server_keys_bytes"] == len(client.server_keys())


@pytest.mark.parametrize(("count", "length"), [(7, 100), (40, 1000), (13, 1500), (3, 5000)])
def test_every_index(count: int, length: int) -> None:
    """Records that share a plaintext, and such as are split over several."""
    records = random_records(count, length, seed=count)
    database = pir.Database.build(records, small_params(), rows=4)
    client = pir.Client(database.info)
    with pir.Server(database, batch=count) as server:
        server.add_client(client.server_keys())
        queries = [client.query(index) for index in range(count)]
        answers = server.answer_many([each.to_bytes() for each in queries])
    for index, (query, answer) in enumerate(zip(queries, answers, strict=True)):
        assert client.decode(query, answer) == records[index].tobytes(), index


def test_sources_give_equal_databases(tmp_path: Path) -> None:
    records = random_records(9, 64)
    raw, params = records.tobytes(), small_params()
    build = functools.partial(pir.Database.build, identity=bytes(16))
    (tmp_path / "records.bin").write_bytes(raw)
    halves = [raw[:100], np.frombuffer(raw[100:], dtype=np.uint8)]
    done: list[tuple[int, int]] = []
    built = [
        build(records.view(np.uint32), params),  # 16 numbers a record
        build(raw, params, record_bytes=64),
        build(bytearray(raw), params, record_bytes=64),
        build(tmp_path / "records.bin", params, record_bytes=64),
        build((row.tobytes() for row in records), params),
        build(iter(halves), params, record_bytes=64),
        build(iter(records), params, records=9, path=tmp_path / "a.hlr"),
        build(records, params, path=tmp_path / "b.hlr", progress=lambda at, total: done.append((at, total))),
    ]
    assert len({each.info.fingerprint for each in built}) == 1
    for each in built:
        assert [each.record(i) for i in range(9)] == [row.tobytes() for row in records]
    assert done[-1] == (576, 576)
    assert (tmp_path / "a.hlr").read_bytes() == (tmp_path / "b.hlr").read_bytes()


def test_sources_that_are_refused(tmp_path: Path) -> None:
    params = small_params()
    (tmp_path / "odd.bin").write_bytes(b"12345")
    cases = [
        (b"12345", {"record_bytes": 2}, "whole records"),
        (b"1234", {}, "record_bytes="),
        (b"", {"record_bytes": 2}, "whole records"),
        (tmp_path / "odd.bin", {"record_bytes": 2}, "whole records"),
        ([b"ab", b"c"], {}, "record 1 has 1 bytes"),
        ([], {}, "no records"),
        ([b""], {}, "empty"),
        (["text"], {}, "str among the records"),
        (np.zeros(()), {}, "first axis"),
        (np.array([object()]), {}, "first axis"),
        (17, {}, "got int"),
        ([b"ab", b"cd"], {"records": 3}, "expected 3 records"),
        ([b"ab", b"cd"], {"records": 1}, "more than 1 records"),
    ]
    for source, options, why in cases:
        with pytest.raises(hc.InvalidArgument, match=why):
            pir.Database.build(source, params, **options)
    with pytest.raises(hc.IoError, match="missing"):
        pir.Database.build(tmp_path / "missing", params, record_bytes=2)


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing():
        yield b"ab"
        raise RuntimeError("source")

    (tmp_path / "kept.hlr").write_bytes(b"old")
    for options in ({}, {"records": 3}):
        with pytest.raises(RuntimeError, match="source"):
            pir.Database.build(failing(), small_params(), path=tmp_path / "kept.hlr", **options)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.hlr"]
    assert (tmp_path / "kept.hlr").read_bytes() == b"old"


def test_parameters() -> None:
    assert pir.Params() == pir.Params("pir-n4096")
    assert pir.preset_names() == ["pir-n4096", "pir-n2048", "paper"]
    with pytest.raises(hc.InsecureParameters):
        pir.Params("paper")
    paper = pir.Params("paper", allow_insecure=True)
    assert paper.security_bits == 0
    about = paper.describe(100, 100)
    assert about["security_bits"] is None
    assert about["security"] == "not rated by published tables, 117 bits by its authors"
    assert about["security"] in repr(paper)
    renamed = pir.Params("pir-n2048", name="paper", error_stddev=2.55, allow_insecure=True)
    assert renamed.describe(100, 100)["security"] == "not rated by published tables"
    with pytest.raises(hc.InsecureParameters):
        pir.Params("pir-n2048", log_n=10)
    with pytest.raises(hc.InvalidArgument, match="plain_bits"):
        pir.Params(plain_bits=40)
    with pytest.raises(hc.InvalidArgument, match="unknown field 'degree'"):
        pir.Params(degree=1)
    with pytest.raises(hc.WrongType):
        pir.Params(prime_bits="26")
    with pytest.raises(hc.InvalidArgument, match="unknown retrieval parameters"):
        pir.Params("n14-d7")
    assert pickle.loads(pickle.dumps(pir.Params())) == pir.Params()
    with pytest.raises(hc.InsecureParameters):
        pickle.loads(pickle.dumps(small_params()))


def test_sizes_on_the_wire() -> None:
    """The limits that were promised for 1 GiB, in KiB and MiB."""
    small = pir.Params("pir-n2048").describe(1 << 20, 1 << 10)
    assert small["query_bytes"] <= 16 << 10
    assert small["server_keys_bytes"] <= 1.6 * (1 << 20)
    large = pir.Params().describe(1 << 17, 1 << 13)
    assert large["query_bytes"] <= 56 << 10
    assert large["server_keys_bytes"] <= 3.2 * (1 << 20)
    assert max(small["log2_failure"], large["log2_failure"]) <= -40


def test_public_description(tmp_path: Path) -> None:
    info = pir.Database.build(random_records(3, 10), "pir-n2048").info
    info.save(tmp_path / "info.json")
    assert pir.DatabaseInfo.load(tmp_path / "info.json") == info
    assert pickle.loads(pickle.dumps(info)) == info
    text = info.to_json()
    for wrong, error in (
        (text[:-10], hc.CorruptData),
        ("[]", hc.CorruptData),
        (text.replace('"records": 3', '"records": 0'), hc.InvalidArgument),
        (text.replace('"log_n": 11', '"log_n": 10'), hc.InvalidArgument),
        (text.replace('"table": null', '"table": {}'), hc.InvalidArgument),
        (" " * 70000, hc.CorruptData),
    ):
        assert wrong != text
        with pytest.raises(error):
            pir.DatabaseInfo.from_json(wrong)
    insecure = pir.Database.build(random_records(3, 10), small_params()).info
    with pytest.raises(hc.InsecureParameters):
        pir.DatabaseInfo.from_json(insecure.to_json())
    assert pir.DatabaseInfo.from_json(insecure.to_json(), allow_insecure=True) == insecure


def test_secret_files(tmp_path: Path) -> None:
    database = pir.Database.build(random_records(6, 50), small_params())
    client = pir.Client(database.info)
    secret = tmp_path / "secret.hlr"
    client.save(secret)
    assert secret.stat().st_mode & 0o777 == 0o600
    with pytest.raises(hc.InvalidArgument, match="exists"):
        client.save(secret)
    again = pir.Client.load(secret, database.info)
    assert again.id == client.id
    with pir.Server(database) as server:
        server.add_client(client.server_keys())
        assert fetch(server, again, 3) == database.record(3)
    data = secret.read_bytes()
    secret.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(hc.CorruptData):
        pir.Client.load(secret, database.info)
    other = pir.Database.build(random_records(6, 50), "pir-n2048").info
    client.save(secret, overwrite=True)
    with pytest.raises((hc.InvalidArgument, hc.CorruptData)):
        pir.Client.load(secret, other)


def test_pickling_is_refused() -> None:
    database = pir.Database.build(random_records(2, 10), small_params())
    client = pir.Client(database.info)
    with pir.Server(database) as server:
        for each in (client, database, server, client.query(1)):
            with pytest.raises(hc.NotPicklable):
                pickle.dumps(each)
            with pytest.raises(hc.NotPicklable):
                copy.copy(each)
    assert "1" not in repr(client.query(1)).replace(str(len(client.query(1).to_bytes())), "")


def test_answers_and_queries_that_do_not_belong() -> None:
    records = random_records(8, 40)
    database = pir.Database.build(records, small_params())
    client, other = pir.Client(database.info), pir.Client(database.info)
    with pir.Server(database) as server:
        server.add_client(client.server_keys())
        query, second = client.query(1), client.query(2)
        answer = server.answer(query.to_bytes())
    with pytest.raises(hc.KeyMismatch):
        client.decode(second, answer)
    with pytest.raises(hc.KeyMismatch):
        other.decode(query, answer)
    for at in (0, 9, 20, 40, 60, len(answer) // 2, len(answer) - 1):
        forged = bytearray(answer)
        forged[at] ^= 1
        with pytest.raises(hc.Error):
            client.decode(query, bytes(forged))
    for cut in (b"", answer[:30], answer[:-1], answer + b"x"):
        with pytest.raises(hc.CorruptData):
            client.decode(query, cut)
    with pytest.raises(hc.InvalidArgument):
        client.query(8)
    with pytest.raises(hc.InvalidArgument):
        client.query(-1)
    with pytest.raises(hc.InvalidArgument, match="no keys"):
        client.lookup_queries("x")
