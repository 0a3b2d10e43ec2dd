# SPDX-License-Identifier: Apache-2.0
"""The soak of key stores: a short run finds nothing, and it notices what it is there for."""

from __future__ import annotations

import json
from pathlib import Path

import halocline as hc
import pytest
import soak_key_store as soak
import store_rig as rig
import users_results


def test_a_short_soak_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if rig.NGINX is None:
        pytest.skip("nginx is not installed (tools/bootstrap.sh test)")
    report = tmp_path / "soak.json"
    options = ["--requests", "200", "--users", "6", "--seed", "3", "--faults", "0.05", "--json", str(report)]
    assert soak.main(options) == 0, capsys.readouterr().out
    assert "soak: nothing found" in capsys.readouterr().out
    found = json.loads(report.read_text())
    assert found["counts"]["right"] + found["counts"].get("failed", 0) == 200
    assert found["counts"]["right"] > 100 and found["misses"] > 0 and found["evictions"] > 0
    assert found["store"]["retries"] > 0, "there were faults"
    assert "no findings" in "\n".join(users_results.soak_lines(found))


def test_a_wrong_result_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if rig.NGINX is None:
        pytest.skip("nginx is not installed (tools/bootstrap.sh test)")
    right = hc.UserEngine.run

    def wrong(self, user, program, *args, **options):
        return right(self, user, program, *args, **options) + 1

    monkeypatch.setattr(hc.UserEngine, "run", wrong)
    assert soak.main(["--requests", "20", "--users", "2", "--seed", "3", "--faults", "0"]) == 1
    assert "FOUND a wrong result of" in capsys.readouterr().out


def test_growth_is_a_finding() -> None:
    run = soak.Soak.__new__(soak.Soak)
    run.samples = [(i, 100_000_000 + (i // 10) * 10_000_000, 10 + i // 10) for i in range(40)]
    assert run.grown() == (10_000_000, 1)
    assert soak.MOST_GROWTH < 10_000_000
    run.samples = run.samples[:3]
    assert run.grown() == (0, 0)


@pytest.mark.parametrize("bad", [["--users", "1"], ["--requests", "0"], ["--faults", "1"]])
def test_options_are_checked(bad: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        soak.main(bad)
    assert bad[0] in capsys.readouterr().err
