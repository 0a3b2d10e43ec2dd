# SPDX-License-Identifier: Apache-2.0
"""The benchmark of many users: it checks results, and its file makes the table of the guide."""

from __future__ import annotations

import json
from pathlib import Path

import bench_users
import halocline as hc
import pytest
import users_results
from halocline.engine import shared_engine


def test_it_writes_what_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    monkeypatch.setattr(hc.Params, "preset", lambda name: params)
    path = tmp_path / "users.json"
    assert bench_users.main(["--users", "8", "--rounds", "1", "--threads", "1", "--json", str(path)]) == 0
    data = json.loads(path.read_text())
    assert [row["case"] for row in data["rows"]][:2] == ["one user, resident", "all in the engine"]
    assert len(data["rows"]) == 6 and all(row["seconds"] > 0 for row in data["rows"])
    by_case = {row["case"]: row["store_bytes"] for row in data["rows"]}
    assert by_case["1 in the engine, 8 in host memory"] == 0, "all users are in host memory"
    assert by_case["1 in the engine, 2 in host memory"] > data["stored_bytes"] // 2
    table = "\n".join(users_results.users_lines(data))
    assert table in capsys.readouterr().out and table.count("\n") == 9


def test_a_wrong_result_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    monkeypatch.setattr(hc.Params, "preset", lambda name: params)
    run = shared_engine.SharedEngine.run
    monkeypatch.setattr(shared_engine.SharedEngine, "run", lambda *args, **options: run(*args, **options) + 1)
    with pytest.raises(SystemExit, match="a wrong result for user0"):
        bench_users.main(["--users", "8", "--rounds", "1", "--threads", "1"])
