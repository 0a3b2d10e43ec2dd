# SPDX-License-Identifier: Apache-2.0
"""Servers whose database is larger than their budget, under plans."""

import halocline as hc
import numpy as np
import pytest
from halocline import pir
from small_retrieval import random_records, small_params

RECORDS = random_records(1260, 2560, seed=11)
"""20 MiB of points with N = 2048 and 16 rows."""
BUDGET = 16 << 20


@pytest.fixture(scope="module")
def client() -> pir.Client:
    return pir.Client(make().info)


def make() -> pir.Database:
    return pir.Database.build(RECORDS, "pir-n2048", rows=16, identity=bytes(16))


def ask(server: pir.Server, client: pir.Client, numbers: list[int]) -> list[bytes]:
    queries = [client.query(i) for i in numbers]
    answers = server.answer_many([each.to_bytes() for each in queries])
    return [client.decode(query, answer) for query, answer in zip(queries, answers, strict=True)]


@pytest.mark.parametrize("storage", ["transformed", "raw"])
def test_batches_follow_their_plans(client: pir.Client, storage: str) -> None:
    database = make()
    assert database.info.describe()["transformed_bytes"] > BUDGET
    place = {"storage": storage, "memory": BUDGET, "policy": "planned", "threads": 1}
    with pir.Server(database, deadline=0.2, batch=3, **place) as server:
        server.add_client(client.server_keys())
        assert server.last_plan is None
        for numbers in ([0], [1259, 3, 700], [1258], [5, 6], [1, 2, 1257]):
            assert ask(server, client, numbers) == [RECORDS[i].tobytes() for i in numbers]
            plan = server.last_plan
            assert plan is not None
            assert plan.followed, plan.reason
            assert plan.reason is None
            assert plan.seconds > 0
            assert plan.minimum_bytes <= BUDGET
        changed = np.full(2560, 7, dtype=np.uint8).tobytes()
        database.replace(700, changed)
        assert ask(server, client, [700, 701, 3]) == [changed, RECORDS[701].tobytes(), RECORDS[3].tobytes()]
        stats = server.stats()
        # Three queries do not fit at once: they pass over the database in parts, under one plan.
        assert (stats.batches, stats.splits) == (6, 0)
        assert (stats.planned_batches, stats.left_plans) == (6, 0)
        assert server.memory()["peak_fast_bytes"] <= BUDGET
        if storage == "transformed":  # bytes of records fit into the budget
            assert stats.bytes_moved["loaded"] + stats.bytes_moved["encoded"] > 0
            assert server.last_plan.loaded_bytes + server.last_plan.encoded_bytes > 0


def test_there_are_no_plans_without_need(client: pir.Client) -> None:
    with pir.Server(make(), policy="planned", threads=1) as server:  # all of it is in memory
        server.add_client(client.server_keys())
        assert ask(server, client, [4]) == [RECORDS[4].tobytes()]
        assert server.last_plan is None
        assert server.stats().planned_batches == 0
    with pytest.raises(hc.InvalidArgument, match="several devices"):
        pir.Server(make(), ["cpu", "cpu"], memory=BUDGET, policy="planned")


def test_a_budget_that_is_too_small_says_what_would_do(client: pir.Client) -> None:
    place = {"policy": "planned", "threads": 1, "deadline": 0.2, "batch": 3}
    with pytest.raises(hc.OutOfMemory, match=r"\((\d+) bytes\) are enough with policy='planned'") as refused:
        pir.Server(make(), memory=5 << 20, **place)
    enough = int(refused.value.args[0].split(" bytes) are enough")[0].rsplit("(")[-1])
    with pir.Server(make(), memory=enough, **place) as server:
        server.add_client(client.server_keys())
        assert ask(server, client, [1, 2, 3]) == [RECORDS[i].tobytes() for i in (1, 2, 3)]
    with pir.Server(make(), memory=enough - (enough >> 5), **place) as server:  # which may be enough, or not
        server.add_client(client.server_keys())
        with pytest.raises(hc.OutOfMemory, match="at least"):
            ask(server, client, [1, 2, 3])


def test_scratch_memory() -> None:
    records = random_records(400, 900)
    database = pir.Database.build(records, small_params(), rows=16)
    client = pir.Client(database.info)
    peaks = []
    for scratch in (None, 1):  # in parts of one query and one group of columns
        with pir.Server(database, scratch_memory=scratch, batch=8, deadline=5.0, threads=1) as server:
            server.add_client(client.server_keys())
            assert ask(server, client, list(range(8))) == [records[i].tobytes() for i in range(8)]
            peaks.append(server.memory()["peak_fast_bytes"])
    assert peaks[1] < peaks[0]
