# SPDX-License-Identifier: Apache-2.0
import json
import sys
from pathlib import Path

import halocline as hc
import key_store_cold
import pytest
import store_rig

needs_nginx = pytest.mark.skipif(store_rig.NGINX is None, reason="nginx is not installed")


@needs_nginx
def test_the_first_results_of_cold_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.json"
    small = "--params n13-d3 --diagonals 4 --rounds 1 --threads 1 --rate 50e6 --limit 1e9 --json"
    monkeypatch.setattr(sys, "argv", ["key_store_cold.py", *small.split(), str(path)])
    assert key_store_cold.main() == 0
    params = hc.Params.preset("n13-d3")
    key = params._request_bytes(5, params.top_level, True)
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == 8 == len(capsys.readouterr().out.splitlines()) - 1
    for row in rows:
        # Every key came over the link in this run, and little else: blocks, the manifest, HTTP.
        assert row["needed_bytes"] <= row["keys"] * key
        assert row["needed_bytes"] < row["moved_bytes"] < row["keys"] * (key + 300_000) + 800_000
        assert row["first_seconds"] > row["moved_bytes"] / 50e6 - 0.01, "the link has its rate"
        assert row["bound_seconds"] == pytest.approx(row["needed_bytes"] / 50e6 + row["compute_seconds"])
    assert [row["keys"] for row in rows[:4]] == [1, 3, 4, 8]
    late = key_store_cold.Row(**rows[0] | {"first_seconds": 9.0})
    monkeypatch.setattr(key_store_cold, "rows", lambda options: [late])
    monkeypatch.setattr(sys, "argv", ["key_store_cold.py"])
    assert key_store_cold.main() == 1, "a row beyond the limit"
