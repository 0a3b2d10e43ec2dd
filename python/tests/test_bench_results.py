# SPDX-License-Identifier: Apache-2.0
"""Results of `halocline bench`: rows are kept when a run stops, and files are shown again."""

import copy
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import halocline as hc
import pytest
from bench_rig import CURVE, SMALL, BenchRunner, read, stop_at
from halocline.bench import micro, ntt_family, ratio
from halocline.bench import operations as bench_operations
from halocline.bench.budgets import wide_rotations
from halocline.bench.budgets.curve import BudgetCurve
from halocline.bench.keeping import Watcher
from halocline.bench.peers import run as peers
from halocline.bench.peers import sets as peer_sets
from halocline.bench.peers.timing import Timing
from halocline.cli.app import app
from halocline.cli.bench.results import stored, suite_of
from halocline.cli.bench.table import SUITES
from halocline.cli.bench.tables import print_result
from halocline.papers.hybrid import bootstrap_bench, replay
from halocline.papers.hybrid.operations import _Sessions
from rich.console import Console
from typer.testing import CliRunner

RESULTS = Path(__file__).parents[2] / "cpp" / "bench" / "results"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Runs `halocline bench` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return BenchRunner()


# A run that is stopped


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_the_rows(tmp_path, number, status):
    """Of some ten thousand rows, those that were measured when the signal came."""
    path = tmp_path / "r.json"
    budgets = ",".join(f"{share / 100}%" for share in range(4000, 9000))
    command = [sys.executable, "-m", "halocline", "bench", *CURVE, "--budgets", budgets, "--json", str(path)]
    # A shell makes its background jobs ignore the signal; a new process inherits that, but no handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    signal.signal(signal.SIGINT, before)
    while not path.exists() and process.poll() is None:  # made with the first row
        time.sleep(0.01)
    process.send_signal(number)
    shown, said = process.communicate(timeout=120)
    assert process.returncode == status, said
    content = read(path)
    done = content["partial"]["done"]
    assert 1 <= done == len(content["rows"]) < content["partial"]["total"] == 2 * 5000 + 1
    assert content["rows"][0]["policy"] == "resident" and content["rows"][0]["seconds"] > 0
    assert content["suite"] == "bootstrap-budget" and content["commit"]
    assert f"partial: {done} of 10001 rows" in shown and "resident" in shown
    assert "says that it is partial" in said and "Traceback" not in said
    assert [each.name for each in tmp_path.iterdir()] == ["r.json"]  # and no temporary file

    again = CliRunner().invoke(app, ["bench", "--from", str(path), "--plot", str(tmp_path / "plots")])
    assert again.exit_code == 0, again.output
    assert f"partial: {done} of 10001 rows" in again.stdout
    assert (tmp_path / "plots" / "bootstrap_budget.png").exists()


def test_a_killed_run_leaves_its_rows(tmp_path):
    path = tmp_path / "r.json"
    budgets = ",".join(f"{share / 100}%" for share in range(4000, 9000))
    command = [sys.executable, "-m", "halocline", "bench", *CURVE, "--budgets", budgets, "--json", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not path.exists() and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    content = read(path)
    assert len(content["rows"]) == content["partial"]["done"] >= 1


def test_an_error_in_a_later_row_keeps_the_others(bench, monkeypatch):
    stop_at(3, monkeypatch, BudgetCurve, "_times", hc.DeviceError("the device has gone"))
    done = bench(*CURVE, "--budgets", "100%,50%", "--json", "r.json", status=1)
    assert "the device has gone" in done.stderr
    assert "partial: 2 of 5 rows" in done.stdout
    content = read("r.json")
    assert content["partial"] == {"done": 2, "total": 5}
    assert [row["policy"] for row in content["rows"]] == ["resident", "lru"]


def test_a_whole_result_is_not_partial(bench):
    bench(*CURVE, "--budgets", "50%", "--json", "r.json")
    assert "partial" not in read("r.json") and len(read("r.json")["rows"]) == 3


def test_standard_output_gets_what_there_is(bench, monkeypatch):
    stop_at(3, monkeypatch, BudgetCurve, "_times", KeyboardInterrupt())
    done = bench(*CURVE, "--budgets", "100%,50%", "--json", "-", status=130)
    assert json.loads(done.stdout)["partial"] == {"done": 2, "total": 5}


def test_rows_are_shown_without_a_file(bench, monkeypatch):
    stop_at(3, monkeypatch, BudgetCurve, "_times", KeyboardInterrupt())
    assert "partial: 2 of 5 rows" in bench(*CURVE, "--budgets", "100%,50%", status=130).stdout


def test_sessions_are_kept(bench, monkeypatch):
    stop_at(2, monkeypatch, _Sessions, "run", hc.DeviceError("gone"))
    options = ["--policies", "lru,planned", "--budgets", "60%", "--repetitions", "1", "--json", "r.json"]
    assert "lru" in bench("bm-operations", *SMALL, *options, status=1).stdout
    assert read("r.json")["partial"] == {"done": 1, "total": 2}
    assert [each["policy"] for each in read("r.json")["sessions"]] == ["lru"]


@pytest.mark.parametrize(
    ("suite", "module", "stored", "total"),
    [
        ("wide-rotations", wide_rotations, "cpu-zen5/wide_rotations.json", 15),
        ("bm-bootstrap", bootstrap_bench, "h200/run_bm_bootstrap_6GB.json", 13),
    ],
)
def test_runs_in_processes_are_kept(bench, monkeypatch, suite, module, stored, total):
    report = read(RESULTS / stored)
    report = report["runs"][0] if suite == "wide-rotations" else report
    monkeypatch.setattr(module, "run_in_process", lambda *arguments, **given: report)
    stop_at(3, monkeypatch, module, "run_in_process", hc.Error("the process failed"))
    bench(suite, "--json", "r.json", status=1)
    content = read("r.json")
    assert content["partial"] == {"done": 2, "total": total}
    assert len(content["rows"]) == len(content["runs"]) == 2
    assert "partial" in bench("--from", "r.json").stdout


def test_operations_are_kept(bench, monkeypatch):
    stop_at(4, monkeypatch, bench_operations, "_row", hc.DeviceError("gone"))
    options = ["--device", "cpu", "--log-n", "11", "--set", "w32-47", "--repetitions", "1"]
    assert "multiply" in bench("operations", *options, "--json", "r.json", status=1).stdout
    assert len(read("r.json")["rows"]) == 3
    assert read("r.json")["partial"] == {"done": 3, "total": 14}


def test_parts_of_the_paper_are_kept(bench, monkeypatch):
    """The first part is a multiplication; the second is interrupted."""
    monkeypatch.setattr(replay, "multiplication", dict)
    monkeypatch.setattr(replay, "sessions", lambda presets, repeats: 1 / 0)
    result = CliRunner().invoke(app, ["bench", "hybrid-paper", "--json", "r.json"])
    assert isinstance(result.exception, ZeroDivisionError)
    assert read("r.json")["partial"] == {"done": 1, "total": 6}


def test_multiplications_are_kept(monkeypatch):
    kept = []
    stop_at(3, monkeypatch, ratio, "Engine", hc.DeviceError("gone"))
    monkeypatch.setattr(
        ratio, "operation_params", lambda name: hc.Params.preset("test-n10-d3", allow_insecure=True)
    )
    with pytest.raises(hc.DeviceError):
        ratio.time_multiplications(
            "cpu", ("resident", "async", "static"), kept=lambda rows: kept.append(len(rows))
        )
    assert kept == [1, 2]


def test_the_sweep_is_kept(tmp_path, monkeypatch):
    """The program's result is there before the first multiplication."""
    monkeypatch.setattr(
        ratio, "_core", SimpleNamespace(report_device=lambda device, needed: {"name": "card"})
    )
    monkeypatch.setattr(ratio, "Client", lambda params: 1 / 0)
    text = '#!/bin/sh\necho \'{"budget_bytes": 1, "sweep": [1], "allocations": []}\' > $2\n'
    kept = []
    watcher = Watcher(keep=lambda content, done, total: kept.append((content["sweep"], done, total)))
    with pytest.raises(ZeroDivisionError):
        ratio.run_ratio(binary=program(tmp_path / "p", text), watcher=watcher)
    assert kept == [([1], 1, 1 + len(ratio.POLICIES))]


def test_comparisons_are_kept(monkeypatch):
    """Rows of a parameter set, whose libraries need not be installed."""
    own = SimpleNamespace(log_q=300.0, log_pq=360.0, calls=dict.fromkeys(peer_names(), lambda: None))
    seal = SimpleNamespace(log_q=299.0, log_pq=360.0, label="SEAL", calls=own.calls)
    monkeypatch.setattr(peers, "_make_sides", lambda *arguments: {"halocline": own, "seal": seal})
    monkeypatch.setattr(peers, "verify", lambda side, expected: 0.0)
    monkeypatch.setattr(peers, "import_seal", lambda: None)
    monkeypatch.setattr(peers, "seal_version", lambda: "4.4.0")
    monkeypatch.setattr(peers, "import_openfhe", lambda: (None, "not there"))
    calls, kept = [], []

    def timer(contenders, repetitions, own_caches=False):
        calls.append(None)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return {name: Timing(2.0, 1.0, 3.0) for name in contenders}

    with pytest.raises(KeyboardInterrupt):
        peers.run_peers(["n14-d6"], timer=timer, keep=lambda *what: kept.append(copy.deepcopy(what)))
    content, done, total = kept[-1]
    assert (done, total) == (3, len(peer_names()))
    assert [row["operation"] for row in content["sets"][0]["rows"]] == peer_names()[:3]
    console = Console(file=io.StringIO(), width=200)
    print_result(console, "peers", content | {"partial": {"done": done, "total": total}})
    assert peer_names()[2] in console.file.getvalue() and "partial: 3 of 13" in console.file.getvalue()


def peer_names():
    return [each.name for each in peer_sets.OPERATIONS]


GOOGLE = """#!{python}
import sys, time
given = dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each)
if "--benchmark_list_tests" in given:
    print("a\\nb\\nc")
    sys.exit()
row = '{{"name": "%s", "real_time": 1.5, "cpu_time": 1.0, "time_unit": "us", "iterations": 9}}'
with open(given["--benchmark_out"], "w") as out:
    out.write('{{"context": {{"host": "box"}},\\n"benchmarks": [\\n' + row % "a")
    out.flush()
    out.write(",\\n" + row % "b")
    out.flush()
    {end}
    out.write("\\n]\\n}}\\n")
"""


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_micro_benchmarks_are_kept(bench, tmp_path):
    fails = GOOGLE.format(python=sys.executable, end="sys.exit('broken')")
    done = bench("ntt", "--binary", program(tmp_path / "p", fails), "--json", "r.json", status=1)
    assert "failed with status 1: broken" in done.stderr
    assert [row["name"] for row in read("r.json")["benchmarks"]] == ["a", "b"]
    assert read("r.json")["partial"] == {"done": 2, "total": 3}
    assert "partial: 2 of 3 rows" in bench("ntt", "--from", "r.json").stdout
    works = GOOGLE.format(python=sys.executable, end="pass")
    bench("ntt", "--binary", program(tmp_path / "p", works), "--json", "r.json")
    assert "partial" not in read("r.json") and read("r.json")["suite"] == "ntt"


def test_micro_benchmarks_end_with_the_command(tmp_path):
    """The program would wait for ever; a signal ends both, and the rows are there."""
    path, alive = tmp_path / "r.json", tmp_path / "pid"
    end = f"open('{alive}', 'w').write(str(__import__('os').getpid())); time.sleep(3600)"
    binary = program(tmp_path / "p", GOOGLE.format(python=sys.executable, end=end))
    command = [
        sys.executable,
        "-m",
        "halocline",
        "bench",
        "ntt",
        "--binary",
        str(binary),
        "--json",
        str(path),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (path.exists() and read(path)["partial"]["done"] == 2 and alive.exists() and alive.read_text()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(alive.read_text()), 0)
    assert [row["name"] for row in read(path)["benchmarks"]] == ["a", "b"]


def test_transforms_are_kept(tmp_path, monkeypatch):
    """Whole lines of what the program has written."""
    card = {"kind": "card", "name": "some card", "copy_bytes_per_second": 4e12}
    row = {"kind": "family", "variant": "naive", "word_bits": 32, "log_n": 12, "batch": 1}
    lines = f"{json.dumps(card)}\n{json.dumps(row)}\n{json.dumps(row)[:20]}"
    text = f"#!/bin/sh\ncat > $2 <<'END'\n{lines}\nEND\ntruncate -s -1 $2\necho broken >&2\nexit 3\n"
    kept = []
    watcher = Watcher(keep=lambda content, done, total: kept.append((len(content["family"]), done)))
    with pytest.raises(hc.Error, match="broken"):
        ntt_family.run_ntt_family(program(tmp_path / "p", text), watcher=watcher)
    assert kept == [(1, 1)]


# Stored results


STORED = {
    "cpu-zen5/peers.json": ("peers", "rotate by 1"),
    "cpu-zen5/wide_rotations.json": ("wide-rotations", "planned"),
    "h200/bootstrap_budget_1.json": ("bootstrap-budget", "lru"),
    "h200/bm_operations.json": ("bm-operations", "conjugate"),
    "h200/operations.json": ("operations", "rescale"),
    "h200/ratio.json": ("ratio", "butterfly"),
    "h200/ntt_family.json": ("ntt-family", "naive"),
    "simulated/hybrid_paper.json": ("hybrid-paper", "gtx1050"),
    "simulated/resnet20_budget_a40.json": ("resnet20-budget", "profiled@65%"),
}


@pytest.mark.parametrize("file", STORED)
def test_stored_results_are_shown_with_and_without_their_suite(bench, tmp_path, file):
    suite, shown = STORED[file]
    alone = bench("--from", RESULTS / file, "--json", "copy.json")
    assert shown in alone.stdout
    assert read("copy.json") == read(RESULTS / file)
    assert bench(suite, "--from", RESULTS / file).stdout == alone.stdout
    plots = tmp_path / "plots"
    if SUITES[suite].pictures:
        for _ in range(2):  # the folder may be there
            bench("--from", RESULTS / file, "--plot", plots)
        assert any(each.suffix == ".png" for each in plots.iterdir())
    else:
        assert "have no pictures" in bench("--from", RESULTS / file, "--plot", plots, status=2).stderr
    other = "peers" if suite != "peers" else "ratio"
    said = bench(other, "--from", RESULTS / file, status=1).stderr
    assert f"holds a result of '{suite}'; expected what --json of {other} writes" in said


def test_what_contradicts_a_stored_result_is_refused(bench):
    file = RESULTS / "h200" / "bootstrap_budget_1.json"
    said = bench("bootstrap-budget", "--from", file, "--device", "cpu", "--seeded", status=2).stderr
    assert "--from shows a stored result, which --device and --seeded cannot change" in said
    operations = RESULTS / "h200" / "operations.json"
    assert (
        "--profile cannot change"
        in bench("operations", "--from", operations, "--profile", "p.csv", status=2).stderr
    )
    assert "--from stands behind the suite" in bench("--from", file, "ratio", status=2).stderr
    assert "No such option: --quick" in bench("--from", file, "--quick", status=2).stderr
    for option, name in (("--plot", "x"), ("--json", "x.json")):
        assert "with --from FILE" in bench(option, name, status=2).stderr
    assert bench(status=2).output.count("bootstrap-budget") == 1


def test_other_files_are_no_results(bench, tmp_path):
    for text in ("{}", "[1]", "no JSON", '{"suite": "nonsense"}', '{"suite": 3}'):
        Path("x.json").write_text(text)
        assert "holds no result of a suite" in bench("--from", "x.json", status=1).stderr
    assert "cannot read" in bench("--from", "none.json", status=1).stderr
    assert suite_of({"benchmarks": []}) == "micro"


def test_results_come_from_standard_input():
    text = (RESULTS / "h200" / "ratio.json").read_text()
    done = CliRunner().invoke(app, ["bench", "--from", "-"], input=text)
    assert done.exit_code == 0 and "butterfly" in done.stdout


def test_every_suite_of_micro_benchmarks_has_a_line():
    assert set(micro.MICRO_SUITES) < set(SUITES)


EVIL = "\x1b]0;title\x07\x1b[2J\u202e[red]x[/] [link=http://x]y[/link]"


def poisoned(value, key=""):
    """The same with an evil text for each text that is not looked up."""
    if isinstance(value, dict):
        return {name: poisoned(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, key) for each in value]
    return EVIL if isinstance(value, str) and key not in ("suite", "command") else value


@pytest.mark.parametrize("file", STORED)
def test_texts_of_a_file_do_not_reach_the_terminal_as_codes(bench, file):
    content = poisoned(read(RESULTS / file)) | {"partial": {"done": EVIL, "total": EVIL}}
    Path("x.json").write_text(json.dumps(content))
    stored_name, shown = stored("x.json")
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, color_system="truecolor", width=900)
    print_result(console, SUITES[stored_name].tables or stored_name, shown)
    got = text.getvalue()
    assert not any(each in got for each in ("\x1b]", "\x07", "\x1b[2J", "\u202e", "\x1b[31m"))
    assert got.count("\\x1b]0;title\\x07") == got.count("[red]x[/] [link=http://x]y[/link]") > 1
    bench("--from", "x.json", "--json", "copy.json")
    assert "\\x1b]0;title" in read("copy.json")["partial"]["done"]


@pytest.mark.parametrize("suite", SUITES)
def test_results_with_wrong_fields_are_refused(bench, suite):
    """With the file and what to do, and no traceback."""
    partial = {"suite": suite, "rows": [], "benchmarks": [], "sessions": [], "partial": []}
    wrong = {"suite": suite, "rows": [1], "benchmarks": [None], "sessions": 3, "sets": {}}
    for content in (partial, wrong):
        Path("x.json").write_text(json.dumps(content))
        said = " ".join(bench(suite, "--from", "x.json", status=1).stderr.split())
        assert f"'x.json' holds no whole result of {suite}" in said
        assert f"run halocline bench {suite} --json again" in said


def test_a_field_that_is_missing_is_named(bench):
    Path("x.json").write_text('{"suite": "micro"}')
    assert "there is no 'benchmarks'" in bench("--from", "x.json", status=1).stderr
    Path("x.json").write_text('{"suite": "micro", "x": ' + "[" * 50_000 + "]" * 50_000 + "}")
    assert "holds no result of a suite" in bench("--from", "x.json", status=1).stderr
    huge = {"name": "x", "real_time": 10**400, "cpu_time": 1, "iterations": 1}
    Path("x.json").write_text(json.dumps({"benchmarks": [huge]}))
    assert "a field holds something else" in bench("--from", "x.json", status=1).stderr


def test_texts_that_form_tags_together_are_refused(bench):
    content = read(RESULTS / "cpu-zen5/peers.json")
    two = {"operation": "[/", "set": "x]", "one_thread_ms": 1, "two_threads_ms": 1, "scaling": 1, "target": 1}
    Path("x.json").write_text(json.dumps(content | {"two_threads": two}))
    assert "a field holds something else" in bench("--from", "x.json", status=1).stderr
