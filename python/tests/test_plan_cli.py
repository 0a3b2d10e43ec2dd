# SPDX-License-Identifier: Apache-2.0
"""`halocline plan advise`: tables, JSON, and commands that can be typed as they are printed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import halocline as hc
import pytest
from halocline.circuits.choice import CircuitChoice
from halocline.cli.app import app
from halocline.engine.advice import Variant, advise_subject
from halocline.engine.planned_run import ProgramPlanner
from halocline.workloads.advice import ADVISED, run_options, workload_subject
from typer.testing import CliRunner

BOOT = ("--params", "test-n11-boot", "--allow-insecure")

Call = Callable[..., Any]


@pytest.fixture()
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, status: int = 0) -> Any:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == status, result.output
        return result

    return run


def words(text: str) -> str:
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def test_a_program_is_advised_and_told_how_to_run(call: Call) -> None:
    line = ("--expr", "(x*x + 0.5*y).rotate(1)", "--params", "n13-d3", "--memory", "60%", "--link", "http")
    said = call("plan", "advise", *line, "--json", "a.json").stdout
    content = json.loads(Path("a.json").read_text())
    best = content["rows"][0]
    assert content["link"]["name"] == "http" and content["program"] == "(x*x + 0.5*y).rotate(1)"
    assert best["fits"] and best["dropped_levels"] == 2 and best["seeds"] == "kept"
    assert "as written" in said and "inputs: encrypt at level 1" in said
    assert f"halocline.Engine(params, keys, memory={content['budget_bytes']}, policy='planned'" in said
    kept = call(
        "plan", "advise", *line, "--keep-levels", "--batches", "2", "--top", "1", "--json", "-"
    ).stdout
    rows = json.loads(kept[kept.index("{") :])["rows"]
    assert not any(each["dropped_levels"] for each in rows) and {each["batch"] for each in rows} == {1, 2}


def test_the_command_for_the_best_variant_runs_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Budget and options are enough; it reads less than the workload as it is written.

    Nothing is expanded or encoded again: how much pays instead of a load depends on measured times.
    """
    make_plan = ProgramPlanner._plan

    def without_regeneration(self: ProgramPlanner, trace: hc.Trace, steady: bool) -> Any:
        return make_plan(self, trace, steady, regenerate=False)

    monkeypatch.setattr(ProgramPlanner, "_plan", without_regeneration)
    line = ("plan", "advise", "bootstrap", *BOOT, "--memory", "35%", "--link", "rdma", "--json", "a.json")
    said = call(*line).stdout
    command = next(each for each in said.splitlines() if each.startswith("halocline run"))
    content = json.loads(Path("a.json").read_text())
    rows = content["rows"]
    assert "--set" in command and f"--memory {content['budget_bytes']}" in command
    call(*shlex.split(command)[1:], "--repeat", "2", "--json", "best.json")
    plain = ["--policy", "planned", "--memory", str(content["budget_bytes"]), "--repeat", "2"]
    plain += ["--set", "memory=0"]
    call("run", "bootstrap", *BOOT, *plain, "--json", "plain.json")
    best, written = (json.loads(Path(name).read_text()) for name in ("best.json", "plain.json"))
    assert best["followed_plan"] and written["followed_plan"]
    assert best["bytes_moved"]["loaded"] < written["bytes_moved"]["loaded"]
    as_written = next(each for each in rows if each["variant"] == "seeds planned")
    assert rows[0]["loaded_bytes"] < as_written["loaded_bytes"]
    assert best["key_bytes"] == rows[0]["key_bytes"] < written["key_bytes"] == as_written["key_bytes"]


def test_a_budget_that_nothing_fits_in_is_told(call: Call) -> None:
    result = call("plan", "advise", "--expr", "x*x", "--params", "n13-d3", "--memory", "64KiB", status=1)
    assert "no variant fits in 64.0 KiB" in words(result.stderr) and "needs" in result.stdout


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("nothing", 1, "unknown workload 'nothing'"),
        ("bm-bootstrap", 1, "no advice for 'bm-bootstrap'"),
        ("bootstrap --expr x", 1, "give a workload or a program, not both"),
        ("", 1, f"give a workload ({', '.join(ADVISED)}), or --expr or --script"),
        ("digits --batches 2", 1, "digits takes one input at a time"),
        ("bootstrap --link 12GB", 2, "'--link': link: got '12GB'"),
        ("bootstrap --batches 0", 2, "'--batches': got 0, expected 1 to 1024"),
        ("bootstrap --batches a", 2, "'--batches': got 'a', expected 1 to 1024"),
        ("bootstrap --memory x", 2, "'--memory': got 'x'"),
        ("bootstrap --device-model abacus", 2, "'--device-model': "),
        ("bootstrap --json none/a.json", 1, "there is no folder 'none'"),
    ],
)
def test_wrong_uses_are_refused(call: Call, line: str, status: int, message: str) -> None:
    assert message in words(call("plan", "advise", *line.split(), status=status).stderr)


def test_workloads_are_programs() -> None:
    """Rows differ in what they read."""
    params = {"wide-rotations": "n15-d14", "digits": "n14-d7", "helr": "n16-boot"}
    for name, each in params.items():
        found = advise_subject(workload_subject(name, hc.Params.preset(each)), "30%", "rdma")
        assert found.best.seconds_each <= found.written.seconds_each
        assert len({row.moved_each for row in found.rows}) > 1
        assert all(row.variant.circuits.mode is None for row in found.rows)
    assert set(ADVISED) == {*params, "bootstrap", "resnet20", "sorting"}


def test_options_of_commands() -> None:
    small = CircuitChoice(bootstrap_mode="small_key", bootstrap_compact=True)
    options = "--set cts_mode=small_key --set stc_mode=small_key --set compact=true"
    assert run_options("helr", Variant(small)) == options
    assert run_options("resnet20", Variant(small, seeds="kept")) == f"{options} --seeded"
    assert run_options("bootstrap", Variant(batch=4)) == "--batches 4"
    assert run_options("helr", Variant(seeds="kept")) is None
    assert run_options("wide-rotations", Variant(small)) is None
    assert run_options("bootstrap", Variant(CircuitChoice(mode="bsgs"))) is None
