# SPDX-License-Identifier: Apache-2.0
"""`halocline bench cold-keys`: what rows say of runs that begin without keys."""

from __future__ import annotations

import json

import pytest
from halocline.bench.cold.files import drop_cached, read_seconds
from halocline.bench.cold.options import FIRST, ColdKeyOptions, bootstrap_choice, first_choice
from halocline.bench.cold.run import run
from halocline.bench.keeping import Watcher
from halocline.cli.app import app
from typer.testing import CliRunner

SMALL = "cts_mode=small_key,stc_mode=double_hoisted"
LINE = (
    "bench cold-keys --params test-n11-boot --allow-insecure --program bootstrap --repetitions 2 --users 3 "
    "--turns 4 --image-runs 2 --memory 64MiB --room 256MiB --host-memory 256MiB --threads 1"
)


def test_rows_say_where_keys_were_and_what_was_compared(tmp_path) -> None:
    path = tmp_path / "cold.json"
    found = CliRunner().invoke(
        app, [*LINE.split(), "--workload", "bootstrap,users", "--variants", SMALL, "--json", str(path)]
    )
    assert found.exit_code == 0, found.output
    content = json.loads(path.read_text())
    rows = {(row["case"], row.get("variant")): row for row in content["rows"]}
    warm = rows["bootstrap warm", None]["seconds"]
    for variant in (SMALL, "as-written"):
        row = rows["bootstrap cold", variant]
        assert row["fast_key_bytes_before"] == 0 and row["pinned_key_bytes_before"] > 0
        assert row["link_bytes"]["remote"] == 0  # from host memory, not from the store
        assert row["bytes_moved"]["loaded"] >= 0.9 * row["sent_bytes"]
        assert row["slowdown"] == pytest.approx(row["seconds"] / warm) and row["followed_plan"]
    advised = next(row for row in content["rows"] if row["case"] == "bootstrap cold, advised")
    assert advised["forecast_seconds"] <= advised["written_forecast_seconds"]
    alone = rows["one user, resident", None]
    turns = rows["users in turn", None]
    assert turns["turns"] == 4 and turns["users"] == 3 and len(turns["turn_seconds"]) == 4
    assert turns["slowdown"] == pytest.approx(turns["seconds"] / alone["seconds"])
    again = CliRunner().invoke(app, ["bench", "cold-keys", "--from", str(path)])
    assert again.exit_code == 0 and "users in turn" in again.output


def test_nothing_is_begun_after_its_time() -> None:
    kept: list[int] = []
    options = ColdKeyOptions(
        params="test-n11-boot", allow_insecure=True, cases=("bootstrap", "users"), seconds=0.0
    )
    content = run(options, Watcher(keep=lambda content, done, total: kept.append(done)))
    assert content["rows"] == [] and kept == []
    assert content["skipped"] == ["bootstrap", "users"]


def test_variants_are_checked_before_the_work() -> None:
    assert bootstrap_choice("cts_mode=bsgs,baby_count=4,compact=true,seeds=kept") == {
        "cts_mode": "bsgs",
        "baby_count": 4,
        "compact": True,
        "keep_seeds": True,
    }
    found = CliRunner().invoke(app, [*LINE.split(), "--variants", "baby_count=many"])
    assert found.exit_code == 2 and "baby_count=many" in found.output
    assert first_choice(FIRST) == {"cts_mode": "small_key", "stc_mode": "small_key"}
    found = CliRunner().invoke(app, [*LINE.split(), "--first-bootstrap", "seeds=kept"])
    assert found.exit_code == 2 and "seeds=kept" in found.output


def test_the_rate_of_a_file_is_that_of_all_its_bytes(tmp_path) -> None:
    (tmp_path / "small").write_bytes(bytes(10))
    (tmp_path / "large").write_bytes(bytes((20 << 20) + 5))
    drop_cached(tmp_path)
    nbytes, seconds = read_seconds(tmp_path, 4)
    assert nbytes == (20 << 20) + 5 and seconds > 0
