# SPDX-License-Identifier: Apache-2.0
"""`halocline bench --resume`: interrupted runs go on from their rows, and from no others."""

import json
from pathlib import Path

import halocline as hc
import pytest
from bench_rig import CURVE, BenchRunner, read, stop_at
from halocline.bench.budgets import wide_rotations
from halocline.bench.budgets.curve import BudgetCurve
from halocline.bench.keeping import Watcher
from halocline.papers.hybrid import bootstrap_bench
from halocline.papers.hybrid.operations import _Sessions


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Runs `halocline bench` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return BenchRunner()


def calls_of(monkeypatch, owner, name):
    """Counts the calls of a function, which it still does."""
    calls, original = [], getattr(owner, name)

    def counting(*arguments, **given):
        calls.append(arguments)
        return original(*arguments, **given)

    monkeypatch.setattr(owner, name, counting)
    return calls


def test_a_run_goes_on_from_the_rows_that_are_there(bench, monkeypatch):
    run = [*CURVE, "--budgets", "100%,50%", "--json", "r.json", "--resume"]
    with monkeypatch.context() as patch:
        stop_at(3, patch, BudgetCurve, "_times", hc.DeviceError("the device has gone"))
        bench(*run, status=1)  # there was no file: it began
    before = read("r.json")
    calls = calls_of(monkeypatch, BudgetCurve, "_times")
    bench(*run)
    whole = read("r.json")
    assert [each[1].policy for each in calls] == ["lru", "planned", "planned"]
    assert whole["rows"][:2] == before["rows"] and len(whole["rows"]) == 5
    assert [row["policy"] for row in whole["rows"]] == ["resident", "lru", "lru", "planned", "planned"]
    base = before["rows"][0]["seconds"]
    assert whole["rows"][4]["slowdown"] == whole["rows"][4]["seconds"] / base
    assert "partial" not in whole and "options" not in whole
    assert whole["date"] == before["date"] and len(whole["resumed"]) == 1
    bench("--from", "r.json")


def test_a_run_that_is_interrupted_again_keeps_what_it_had(bench, monkeypatch):
    run = [*CURVE, "--budgets", "100%,50%", "--json", "r.json", "--resume"]
    for wanted in (3, 1, 2):
        with monkeypatch.context() as patch:
            stop_at(wanted, patch, BudgetCurve, "_times", hc.DeviceError("the device has gone"))
            bench(*run, status=1)
    content = read("r.json")
    assert content["partial"] == {"done": 3, "total": 5} and len(content["resumed"]) == 1


def test_processes_go_on(bench, monkeypatch):
    """Runs of kinds that take turns, and rows with their reports."""
    for suite, owner in (("wide-rotations", wide_rotations), ("bm-bootstrap", bootstrap_bench)):
        made = []

        def report(workload, arguments, may_fail=False, made=made):
            policy = arguments[arguments.index("--policy") + 1]
            made.append(policy)
            row = {"seconds": 1.0, "precision_worst_bits": 20.0}
            return REPORT | {"policy": policy, "rows": [row], "program_seconds": float(len(made))}

        monkeypatch.setattr(owner, "run_in_process", report)
        run = [
            suite,
            "--policies",
            "planned,lru",
            "--budgets",
            "50%,25%",
            "--json",
            f"{suite}.json",
            "--resume",
        ]
        with monkeypatch.context() as patch:
            stop_at(4, patch, owner, "run_in_process", hc.DeviceError("the device has gone"))
            bench(*run, status=1)
        first, before = len(made), read(f"{suite}.json")
        bench(*run)
        whole = read(f"{suite}.json")
        assert first == 3 and len(made) == len(whole["runs"])  # none was done twice
        for each in before["runs"]:
            assert each in whole["runs"]


REPORT = {
    "device": "cpu",
    "params": "n15-d14",
    "async_peak": None,
    "budget_bytes": 0,
    "stall_seconds": 0.0,
    "bytes_moved": {},
    "peak_bytes": 1,
    "failed": None,
    "peak_rss_bytes": 1,
    "first_run_seconds": 1.0,
    "plan_seconds": 0.0,
    "precision_bits": 20.0,
}


def test_sessions_go_on(bench, monkeypatch):
    run = ["bm-operations", "--params", "test-n11-boot", "--allow-insecure", "--policies", "lru,planned"]
    run += ["--budgets", "100%,50%", "--repetitions", "1", "--json", "r.json", "--resume"]
    with monkeypatch.context() as patch:
        stop_at(3, patch, _Sessions, "run", hc.DeviceError("the device has gone"))
        bench(*run, status=1)
    before = read("r.json")["sessions"]
    bench(*run)
    whole = read("r.json")["sessions"]
    assert whole[:2] == before and len(whole) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["options"].update({"--repetitions": 7}), "measured with --repetitions 7 instead of 1"),
        (lambda c: c.update(commit="0123456789ab"), "was measured with commit 0123456789ab instead of"),
        (lambda c: c["computer"].update(processors=99), "was measured with processors 99 instead of"),
        (lambda c: c.pop("inputs"), "was measured with inputs None instead of"),
        (lambda c: c["rows"][0].pop("share"), "holds no whole result"),
        (lambda c: c["rows"][0].update(seconds=10**400), "holds no whole result"),
        (lambda c: c["rows"][0].update(seconds=5e-324), "the seconds of a row are 5e-324"),
        (lambda c: c["rows"][0].pop("seconds"), "the seconds of a row are None"),
        (lambda c: c["rows"].append(c["rows"][0]), "has 2 'rows' and says that 1 are done"),
        (lambda c: c.pop("options"), "was measured with options None instead of"),
        (lambda c: c.pop("partial"), "holds a whole result"),
        (lambda c: c["rows"][0].update(policy="lru"), "the policy of a row is 'lru'; expected 'resident'"),
        (lambda c: c["rows"][0].update(seconds="1"), "holds no whole result"),
        (lambda c: c.update(rows=[1]), "holds no whole result"),
        (lambda c: c.update(rows={}), "has no list of 'rows'"),
        (lambda c: c.update(suite="resnet20-budget"), "holds a result of 'resnet20-budget'"),
    ],
)
def test_only_rows_of_the_same_run_are_gone_on_from(bench, monkeypatch, change, said):
    """And the file stays as it was."""
    run = [*CURVE, "--budgets", "50%", "--json", "r.json"]
    with monkeypatch.context() as patch:
        stop_at(2, patch, BudgetCurve, "_times", hc.DeviceError("the device has gone"))
        bench(*run, status=1)
    content = read("r.json")
    change(content)
    Path("r.json").write_text(json.dumps(content))
    done = bench(*run, "--resume", status=1)
    assert said in " ".join(done.stderr.split())
    assert read("r.json") == content


def test_wrong_runs_of_processes_are_refused(monkeypatch):
    """What medians are made of, although no table shows it."""
    good = REPORT | {"policy": "resident", "program_seconds": 1.0}
    for change in ({"program_seconds": 0}, {"program_seconds": "1"}, {"bytes_moved": []}, {"policy": "lru"}):
        earlier = {"partial": {"done": 1, "total": 2}, "runs": [good | change]}
        with pytest.raises(hc.CorruptData, match="resume: "):
            wide_rotations.run_wide_bench(1, 1, kinds=[("resident", None)], watcher=Watcher(earlier=earlier))
    earlier = {"partial": {"done": 1, "total": 2}, "runs": [{"policy": "resident", "program_seconds": 1.0}]}
    with pytest.raises(hc.CorruptData, match="lacks a field"):
        wide_rotations.run_wide_bench(1, 1, kinds=[("resident", None)], watcher=Watcher(earlier=earlier))


def test_files_with_other_contents_are_other_conditions(bench, monkeypatch):
    """Parameters by the name of a file: the name is the same, what is in it is not."""
    for name in ("test-n11-boot", "test-n12-boot"):
        Path(f"{name}.json").write_text(hc.Params.preset(name, allow_insecure=True).to_json())
    here = Path("params.json")
    run = [str(here) if each == "test-n11-boot" else each for each in CURVE]
    run += ["--budgets", "40MiB,30MiB", "--json", "r.json", "--resume"]
    here.write_text(Path("test-n11-boot.json").read_text())
    with monkeypatch.context() as patch:
        stop_at(3, patch, BudgetCurve, "_times", hc.DeviceError("the device has gone"))
        bench(*run, status=1)
    here.write_text(Path("test-n12-boot.json").read_text())
    assert "other contents of 'params.json'" in bench(*run, status=1).stderr


def test_rows_are_not_lost_by_leaving_out_the_option(bench, monkeypatch):
    run = [*CURVE, "--budgets", "50%", "--json", "r.json"]
    with monkeypatch.context() as patch:
        stop_at(2, patch, BudgetCurve, "_times", hc.DeviceError("the device has gone"))
        assert "with --resume goes on" in bench(*run, status=1).stderr
    before = read("r.json")
    assert "add --resume" in bench(*run, status=1).stderr
    assert read("r.json") == before


def test_there_must_be_a_file_to_go_on_from(bench):
    for more in ([], ["--json", "-"]):
        assert "give the file" in bench(*CURVE, "--resume", *more, status=2).stderr
    bench(*CURVE, "--budgets", "50%", "--json", "r.json")
    assert "--resume" in bench("bootstrap-budget", "--from", "r.json", "--resume", status=2).stderr
