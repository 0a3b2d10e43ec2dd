# SPDX-License-Identifier: Apache-2.0
"""Queries per second of a retrieval server, stage by stage, beside the bytes on the wire."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import time
from typing import Any

import numpy as np

from ..base.errors import Error
from ..base.names import device_name, policy_name
from ..base.values import byte_count
from ..pir import Client, Database, Params, Server
from ..pir.engines import Spread
from .keeping import SILENT, Json, Watcher
from .operations import clocks
from .retrieval_options import RetrievalOptions

SCHEMA = 1
LONG = 3600.0
"""Seconds that a server waits for its batch to be complete: longer than asking takes."""


@dataclasses.dataclass(frozen=True)
class _Case:
    """What the rows of several batch sizes share."""

    set: str
    size: int
    storage: str


def run(options: RetrievalOptions | None = None, watcher: Watcher = SILENT) -> Json:
    """The suite with its options, as `--json` writes it."""
    o = options or RetrievalOptions()
    sizes = [byte_count(each, "bench pir: --size") for each in o.sizes]
    cases = [_Case(*each) for each in itertools.product(o.sets, sizes, o.storages)]
    params = {name: Params(name, allow_insecure=o.allow_insecure) for name in o.sets}  # refused at once
    content: Json = {"schema": SCHEMA, "suite": "pir", "device": o.device, "seed": o.seed}
    content |= {
        "spread": o.spread,
        "threads": o.threads,
        "clients": o.clients,
        "memory": o.memory,
        "policy": o.policy,
    }
    content |= {"repetitions": o.repetitions, "clocks": {"before": clocks()}, "rows": []}
    total = len(cases) * len(o.batches)
    watcher.progress("making databases", 0, total)
    for case in cases:
        _measure(case, params[case.set], o, content, watcher, total)
    content["clocks"]["after"] = clocks()
    return content


def _measure(
    case: _Case, params: Params, o: RetrievalOptions, content: Json, watcher: Watcher, total: int
) -> None:
    """All batch sizes of a database."""
    generator = np.random.default_rng([o.seed, case.size])
    length = o.record_bytes or params.plaintext_bytes
    records = max(1, case.size // length)
    data = generator.integers(0, 256, size=(records, length), dtype=np.uint8)
    for batch in o.batches:
        layout_device = "cpu" if "cuda" not in o.device else "cuda:0"
        begin = time.perf_counter()
        database = Database.build(data, params, device=layout_device, batch=batch, memory=_budget(o))
        built = time.perf_counter() - begin
        row = {"set": case.set, "records": records, "record_bytes": length, "storage": case.storage}
        row |= {"batch": batch, "clients": min(batch, o.clients), "build_seconds": built}
        row |= _row(database, data, batch, case, o, generator)
        content["rows"].append(row)
        watcher.row(f"{case.set}, batch of {batch}", content, len(content["rows"]), total)


def _budget(o: RetrievalOptions) -> int | None:
    """Of all devices that have part of the database, or of one that has all of it."""
    if o.memory is None:
        return None
    shares = o.device.count(",") + 1 if o.spread == "columns" else 1
    return shares * byte_count(o.memory, "bench pir: --memory")


def _row(
    database: Database,
    data: Any,
    batch: int,
    case: _Case,
    o: RetrievalOptions,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """One row: answers of the first batch are decoded and compared, the others timed."""
    devices = [device_name(each) for each in o.device.split(",")]
    spread: Spread = "replicas" if o.spread == "replicas" else "columns"
    clients = [Client(database.info) for _ in range(min(batch, o.clients))]
    wanted = generator.integers(0, len(data), size=batch)
    asked = [clients[i % len(clients)].query(int(each)) for i, each in enumerate(wanted)]
    begin = time.perf_counter()
    with Server(
        database,
        devices if len(devices) > 1 else devices[0],
        threads=o.threads,
        memory=o.memory,
        policy=policy_name(o.policy),
        storage="raw" if case.storage == "raw" else "transformed",
        spread=spread,
        batch=batch,
        deadline=LONG,
    ) as server:
        ready = time.perf_counter() - begin
        for each in clients:
            server.add_client(each.server_keys())
        sent = [each.to_bytes() for each in asked]
        answers = server.answer_many(sent)
        for i, answer in enumerate(answers):
            if clients[i % len(clients)].decode(asked[i], answer) != data[wanted[i]].tobytes():
                raise Error(f"bench pir: record {wanted[i]} came back wrong from {o.device}")
        whole = _repeat(server, sent, o.repetitions)
        stages = _stages(server, sent) if len(devices) == 1 else {}
        peak = server.memory()["peak_fast_bytes"]
    row, rate = _facts(database), batch / whole
    row |= {"load_seconds": ready, "seconds": whole, "queries_per_second": rate, "stage_seconds": stages}
    return row | {"database_gb_per_second": rate * data.nbytes / 1e9, "peak_fast_bytes": peak}


def _facts(database: Database) -> dict[str, Any]:
    """What the description of the database says."""
    about = database.info.describe()
    names = ("query_bytes", "answer_bytes", "server_keys_bytes", "log2_failure")
    return {name: about[name] for name in (*names, "rows", "columns", "planes", "transformed_bytes")}


def _repeat(server: Server, sent: list[bytes], repetitions: int) -> float:
    """Median seconds of a batch."""
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        server.answer_many(sent)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _stages(server: Server, sent: list[bytes]) -> dict[str, float]:
    """Seconds of the stages of one batch, each of them waited for."""
    server.time_stages()
    before = server.stats().stage_seconds
    server.answer_many(sent)
    return {name: value - before.get(name, 0.0) for name, value in server.stats().stage_seconds.items()}
