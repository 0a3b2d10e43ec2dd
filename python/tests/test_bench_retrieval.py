# SPDX-License-Identifier: Apache-2.0
"""The benchmark of private retrieval on one device, on two, and within a budget."""

import dataclasses
from pathlib import Path

import halocline as hc
import pytest
from halocline import pir
from halocline.bench.retrieval import run
from halocline.bench.retrieval_options import RetrievalOptions
from halocline.cli.app import app
from typer.testing import CliRunner

SMALL = RetrievalOptions(
    sets=("pir-n2048",), sizes=("1MiB",), batches=(4,), clients=2, repetitions=1, threads=1
)


@pytest.mark.parametrize("spread", ["columns", "replicas"])
def test_two_devices(spread: str) -> None:
    found = run(dataclasses.replace(SMALL, device="cpu,cpu", spread=spread))
    (row,) = found["rows"]  # answers of its first batch were decoded and compared
    assert found["spread"] == spread
    assert row["queries_per_second"] > 0
    assert row["stage_seconds"] == {}  # stages of several devices overlap


def test_one_device_has_stages() -> None:
    (row,) = run(SMALL)["rows"]
    assert set(row["stage_seconds"]) >= {"expansion", "rows", "columns"}


def test_devices_are_checked_before_the_work() -> None:
    with pytest.raises(hc.InvalidArgument, match="3 devices; expected 1, 2, 4 or 8"):
        run(dataclasses.replace(SMALL, device="cpu,cpu,cpu"))
    with pytest.raises(hc.InvalidArgument, match="tpu"):
        run(dataclasses.replace(SMALL, device="cpu,tpu"))


def test_layouts_know_the_budget() -> None:
    params = pir.Params("pir-n4096")
    records = (32 << 30) // params.plaintext_bytes
    place = {"device": "cuda:0", "batch": 256}
    free = params.describe(records, params.plaintext_bytes, **place)
    within = params.describe(records, params.plaintext_bytes, memory="16GiB", **place)
    enough = params.describe(
        records, params.plaintext_bytes, memory=free["transformed_bytes"] * 5 // 4, **place
    )
    assert within["rows"] < free["rows"] == enough["rows"]  # fewer passes over what does not fit
    with pytest.raises(hc.InvalidArgument, match="memory"):
        params.describe(records, params.plaintext_bytes, memory="much")


def test_a_database_is_built_for_a_budget(tmp_path: Path) -> None:
    source, out = tmp_path / "records.bin", tmp_path / "records.hlr"
    source.write_bytes(bytes(range(256)) * 64)
    options = ["--record-bytes", "16", "--params", "pir-n2048", "--memory", "1MiB", "--out", str(out)]
    done = CliRunner().invoke(app, ["pir", "build", str(source), *options])
    assert done.exit_code == 0, done.output
    with pir.Server(pir.Database.open(out), threads=1, deadline=0.1) as server:
        client = pir.Client(server.info)
        server.add_client(client.server_keys())
        query = client.query(17)
        assert client.decode(query, server.answer(query.to_bytes())) == bytes(range(16, 32))
