# SPDX-License-Identifier: Apache-2.0
"""Databases of one shape are distinguished: queries for another one are refused, keys serve all of them."""

import halocline as hc
import pytest
from halocline import pir
from small_retrieval import random_records


def test_queries_for_another_database_are_refused():
    first = pir.Database.build(random_records(20, 100), "pir-n2048")
    second = pir.Database.build(random_records(20, 100), "pir-n2048")
    assert first.info.fingerprint != second.info.fingerprint
    assert first.info.key_shape == second.info.key_shape
    client = pir.Client(first.info)
    with pir.Server(second) as server:
        server.add_client(client.server_keys())  # the shape of the keys is the same
        with pytest.raises(hc.InvalidArgument, match="belongs to the database"):
            server.answer(client.query(3).to_bytes())


def test_a_table_that_was_built_again_is_another_database():
    pairs = {f"key {i}": f"value {i}" for i in range(30)}
    old, new = (pir.KeywordDatabase.build(pairs, "pir-n2048") for _ in range(2))
    client = pir.Client(old.info)
    with pir.Server(new) as server:
        server.add_client(client.server_keys())
        with pytest.raises(hc.InvalidArgument, match="belongs to the database"):
            server.answer_many(client.lookup_queries("key 3").to_bytes())


def test_identities_can_be_given(tmp_path):
    records = random_records(20, 100)
    for name in ("a.hlr", "b.hlr"):
        pir.Database.build(records, "pir-n2048", path=tmp_path / name, identity=bytes(range(16)))
    assert (tmp_path / "a.hlr").read_bytes() == (tmp_path / "b.hlr").read_bytes()
    with pytest.raises(hc.InvalidArgument, match="expected 16"):
        pir.Database.build(records, "pir-n2048", identity=b"short")
