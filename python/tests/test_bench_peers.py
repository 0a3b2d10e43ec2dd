# SPDX-License-Identifier: Apache-2.0
"""The comparison with other libraries: arithmetic, JSON, tables. No timing decides anything."""

import importlib.util
import io
import itertools
import json
import subprocess
import sys
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.bench import machine
from halocline.bench.peers import openfhe_side, reference, report, seal_side, sets
from halocline.bench.peers import run as bench_peers
from halocline.bench.peers import side as peer_side
from halocline.bench.peers.halocline_side import HaloclineSide
from halocline.bench.peers.timing import Timing, time_interleaved
from rich.console import Console

SMALL = "n14-d6"
NAMES = [each.name for each in sets.OPERATIONS]
HAS_SEAL, HAS_OPENFHE = (importlib.util.find_spec(name) is not None for name in ("seal", "openfhe"))
needs_seal = pytest.mark.skipif(not HAS_SEAL, reason="seal-python is not installed")
needs_openfhe = pytest.mark.skipif(not HAS_OPENFHE, reason="openfhe is not installed")


class FakeSide:
    """A library whose results are right without any work."""

    def __init__(self, label, log_q, log_pq, names, x, y):
        expected = peer_side.expected_values(x, y)
        self.label, self.log_q, self.log_pq = label, log_q, log_pq
        self.calls = {name: (lambda name=name: expected[name]) for name in names}

    def reveal(self, result):
        return result


def fake_timer(calls, repetitions, own_caches=False):
    """Halocline takes 1 to 3 ms, SEAL ten and OpenFHE twenty times as long; two threads halve a time."""
    factor = {"halocline": 1.0, "seal": 10.0, "openfhe": 20.0, "1": 1.0, "2": 0.5}
    return {name: Timing(2.0 * factor[name], 1.0 * factor[name], 3.0 * factor[name]) for name in calls}


@pytest.fixture
def fakes(monkeypatch):
    """Replaces the peers, and what there is of them can be changed by the test."""
    state = {"openfhe": None, "reason": "No module named 'openfhe'", "seal_log_q": 299.9}

    def seal(peer_set, x, y):
        return FakeSide("SEAL (fake)", state["seal_log_q"], 360.0, NAMES, x, y)

    def openfhe(module, peer_set, x, y):
        names = [name for name in NAMES if name not in (sets.DECRYPT, sets.DECODE)]
        return FakeSide("OpenFHE (fake)", 299.9, float("nan"), names, x, y)

    monkeypatch.setattr(bench_peers, "import_seal", object)
    monkeypatch.setattr(bench_peers, "seal_version", lambda: "4.4.0")
    monkeypatch.setattr(bench_peers, "SealSide", seal)
    monkeypatch.setattr(bench_peers, "import_openfhe", lambda: (state["openfhe"], state["reason"]))
    monkeypatch.setattr(bench_peers, "openfhe_version", lambda: "1.6.1")
    monkeypatch.setattr(bench_peers, "OpenfheSide", openfhe)
    return state


def printed(content, width=200):
    console = Console(file=io.StringIO(), width=width)
    report.print_report(console, content)
    return console.file.getvalue()


def test_json_has_the_documented_fields(fakes, tmp_path):
    path = tmp_path / "peers.json"
    content = bench_peers.run_peers([SMALL], json_path=path, timer=fake_timer)
    assert json.loads(path.read_text()) == content
    assert content["schema"] == 1 and content["commit"] == hc.__commit__
    machine_fields = {"cpu", "cores", "simd", "os", "python", "scheduler", "environment", "load_before"}
    assert machine_fields <= content["machine"].keys()
    assert content["peers"]["openfhe"] == {"version": None, "reason": "No module named 'openfhe'"}
    assert content["references"]["of_this_run"] is False
    (only,) = content["sets"]
    assert (only["name"], only["n"], only["levels"]) == (SMALL, 1 << 14, 6)
    assert only["log_q"] >= only["seal"]["log_q"]
    assert only["max_error"] < peer_side.TOLERANCE
    assert [row["operation"] for row in only["rows"]] == NAMES
    for row in only["rows"]:
        assert (row["halocline_ms"], row["halocline_min_ms"], row["halocline_max_ms"]) == (2.0, 1.0, 3.0)
        assert row["ratio"] == 10.0
        assert row["openfhe_ms"] is None, "a library that is not there has no figures"


def test_targets_are_those_of_the_comparison():
    targets = {each.name: each.target for each in sets.OPERATIONS if each.target}
    assert targets == {
        "encode": 2.5,
        "encrypt": 2.5,
        "decrypt": 2.5,
        "rescale": 2.5,
        "multiply, relinearize, rescale": 4.3,
        "rotate by 1": 4.3,
    }


def test_sets_equal_the_presets():
    for each in sets.SETS:
        params = hc.Params.preset(each.name)
        assert (params.n, params.max_level) == (each.n, each.levels)
        assert params.log2_q >= sum(each.seal_bits[:-1]), "ours must not be the smaller modulus"
        assert len(each.seal_bits) == each.levels + 2, (
            "one prime for each level, the lowest one and the special one"
        )


def test_two_threads_are_measured_where_there_are_two(fakes, monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    content = bench_peers.run_peers([SMALL], timer=fake_timer)
    assert content["two_threads"]["scaling"] == 2.0
    assert content["two_threads"]["set"] == SMALL
    monkeypatch.setattr(machine, "usable_cores", lambda: 1)
    assert bench_peers.run_peers([SMALL], timer=fake_timer)["two_threads"] is None


def test_openfhe_has_a_column_where_it_can_be_imported(fakes):
    fakes.update(openfhe=object(), reason="")
    content = bench_peers.run_peers([SMALL], timer=fake_timer)
    assert content["peers"]["openfhe"] == {"version": "1.6.1", "reason": None}
    (only,) = content["sets"]
    assert only["openfhe"]["log_pq"] is None
    figures = {row["operation"]: row["openfhe_ms"] for row in only["rows"]}
    assert figures["encode"] == 40.0
    assert figures["decrypt"] is None, "it cannot decrypt without decoding"
    text = printed(content)
    assert "OpenFHE: 1.6.1" in text and "40.0 (20.0)" in text


@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_figure_is_cut_off(fakes, width):
    fakes.update(openfhe=object(), reason="")
    content = bench_peers.run_peers(["n15-d16"], timer=fake_timer)
    text = printed(content, width)
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "81.1" in text and "not of this run" in text
    assert ("(1.00)" in text) == (width >= report.WIDE)


def test_table_names_targets_and_marks_other_runs(fakes):
    content = bench_peers.run_peers([SMALL], timer=fake_timer)
    text = printed(content)
    assert "N=2^14, log Q 309.7 (SEAL 299.9)" in text
    assert "2.00 (1.00)" in text and "20.0 (10.0)" in text and "10.00x" in text
    assert ">= 4.3x" in text and ">= 2.5x" in text
    assert "16.7" in text and "8.05" in text
    assert f"{report.MARK} not of this run" in text and text.count(report.MARK) >= 4
    assert "not in this run: No module named 'openfhe'" in text


def test_missed_target_stands_out():
    assert report.verdict(4.2, 4.3) == "[bold red]4.20x[/]"
    assert report.verdict(4.3, 4.3) == "[green]4.30x[/]"
    assert report.verdict(1.0, None) == "1.00x"
    assert report.verdict(None, 2.5) == "-"


def test_milliseconds_have_three_digits():
    assert [report.milliseconds(value) for value in (None, 0.04321, 1.234, 56.78, 321.9)] == [
        "-",
        "0.0432",
        "1.23",
        "56.8",
        "322",
    ]


def test_smaller_modulus_of_ours_is_refused(fakes):
    fakes["seal_log_q"] = 400.0
    with pytest.raises(hc.Error, match="would favour Halocline"):
        bench_peers.run_peers([SMALL], timer=fake_timer)


def test_wrong_results_are_not_timed(fakes, monkeypatch):
    def wrong(peer_set, x, y):
        side = FakeSide("SEAL (fake)", 299.9, 360.0, NAMES, x, y)
        side.calls[sets.ROTATE] = lambda: x
        return side

    def never(calls, repetitions):
        raise AssertionError("timed")

    monkeypatch.setattr(bench_peers, "SealSide", wrong)
    with pytest.raises(hc.Error, match=r"SEAL \(fake\): 'rotate by 1' is wrong by"):
        bench_peers.run_peers([SMALL], timer=never)


def test_not_a_number_is_wrong(fakes):
    x = np.zeros(4)
    side = FakeSide("broken", 1.0, 1.0, NAMES, x, x)
    side.calls[sets.ADD] = lambda: np.full(4, np.nan)
    with pytest.raises(hc.Error, match="'add' is wrong by nan"):
        peer_side.verify(side, peer_side.expected_values(x, x))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sets": ["n99"]}, "set n99; expected some of n14-d6, n15-d16"),
        ({"sets": []}, "none given"),
        ({"repetitions": 10}, "repetitions: got 10, expected at least 11"),
        ({"threads": 0}, "threads: got 0"),
    ],
)
def test_bad_arguments(fakes, arguments, message):
    with pytest.raises(hc.InvalidArgument, match=message):
        bench_peers.run_peers(**arguments, timer=fake_timer)


def test_missing_wheel_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "seal", None)
    with pytest.raises(hc.Error, match=r"pip install 'halocline\[peers\]'"):
        bench_peers.run_peers([SMALL], timer=fake_timer)


def test_another_module_of_the_name_is_told_apart(monkeypatch):
    monkeypatch.setitem(sys.modules, "seal", sys)
    with pytest.raises(seal_side.PeerNotInstalled, match="is not that of seal-python"):
        seal_side.import_seal()


def test_missing_openfhe_has_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "openfhe", None)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    module, reason = openfhe_side.import_openfhe()
    assert module is None and "openfhe" in reason
    assert openfhe_side.os.environ["OMP_NUM_THREADS"] == "3"


def test_refusal_of_openfhe_says_how_to_go_on(monkeypatch):
    monkeypatch.setattr(openfhe_side, "openfhe_version", lambda: "9.9")
    x, y = peer_side.operands(4)
    with pytest.raises(hc.Error, match=r"OpenFHE 9\.9 refuses set n14-d6: .*CCParamsCKKSRNS.*pip uninstall"):
        openfhe_side.OpenfheSide(json, sets.SETS[0], x, y)


def test_contenders_take_turns_and_warm_ups_do_not_count():
    order = []
    ticks = itertools.count(step=1_000_000)

    def call(name):
        order.append(name)

    timings = time_interleaved(
        {"a": lambda: call("a"), "b": lambda: call("b")}, repetitions=3, clock=lambda: next(ticks)
    )
    assert order == ["a", "b"] * 5
    assert timings == {"a": Timing(1.0, 1.0, 1.0), "b": Timing(1.0, 1.0, 1.0)}


def test_own_caches_are_warmed_by_an_untimed_call():
    order = []
    ticks = iter(range(100))

    def clock():
        order.append("clock")
        return next(ticks)

    time_interleaved({"a": lambda: order.append("a")}, repetitions=1, own_caches=True, clock=clock)
    assert order == ["a", "clock", "a", "clock"] * 3


def test_results_are_freed_after_the_clock_has_stopped():
    events = []

    class Result:
        def __del__(self):
            events.append("freed")

    def clock():
        events.append("clock")
        return len(events)

    time_interleaved({"a": Result}, repetitions=1, clock=clock)
    assert events == ["clock", "clock", "freed"] * 3


def test_our_side_computes_what_it_says():
    peer_set = sets.SETS[0]
    x, y = peer_side.operands(peer_set.slots)
    side = HaloclineSide(peer_set, x, y)
    assert list(side.calls) == NAMES
    assert peer_side.verify(side, peer_side.expected_values(x, y)) < 2.0**-17
    for name in (sets.ENCRYPT, sets.ADD, sets.MULTIPLY_PLAIN, sets.ROTATE):
        assert side.calls[name]().level == peer_set.levels, "timed at the highest level"
    assert side.calls[sets.MULTIPLY]().parts == 3
    assert side.calls[sets.MULTIPLY_FULL]().level == peer_set.levels - 1


@needs_seal
@pytest.mark.peers
def test_seal_computes_the_same():
    peer_set = sets.SETS[0]
    x, y = peer_side.operands(peer_set.slots)
    side = seal_side.SealSide(peer_set, x, y)
    assert list(side.calls) == NAMES
    assert side.log_q == pytest.approx(300.0, abs=0.1)
    assert peer_side.verify(side, peer_side.expected_values(x, y)) < peer_side.TOLERANCE


@needs_openfhe
@pytest.mark.peers
def test_openfhe_computes_the_same():
    module, reason = openfhe_side.import_openfhe()
    if module is None:
        pytest.skip(reason)
    peer_set = sets.SETS[0]
    x, y = peer_side.operands(peer_set.slots)
    side = openfhe_side.OpenfheSide(module, peer_set, x, y)
    assert set(side.calls) < set(NAMES)
    assert side.log_q == pytest.approx(300.0, abs=0.1)
    assert peer_side.verify(side, peer_side.expected_values(x, y)) < peer_side.TOLERANCE


def test_reference_figures_are_for_known_sets_and_operations():
    known = {each.name for each in sets.SETS}
    for each in reference.REFERENCES:
        assert set(each.milliseconds) == set(each.runs) <= known
        for figures in each.milliseconds.values():
            assert set(figures) <= set(NAMES)
    by_key = {each.key: each for each in reference.REFERENCES}
    assert by_key["openfhe"].lookup("n15-d16", sets.MULTIPLY_FULL) == 162
    assert by_key["seal_hexl"].lookup("n15-d16", sets.MULTIPLY_FULL) == 81.1
    assert by_key["openfhe"].lookup("n14-d6", sets.MULTIPLY_FULL) is None


def test_results_page_accepts_the_file(fakes, tmp_path):
    folder = tmp_path / "cpp" / "bench" / "results" / "machine"
    folder.mkdir(parents=True)
    bench_peers.run_peers([SMALL], json_path=folder / "peers.json", timer=fake_timer)
    page = tmp_path / "README.md"
    page.write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    tool = Path(__file__).resolve().parents[2] / "tools" / "update_results.py"
    subprocess.run([sys.executable, str(tool), "--root", str(tmp_path)], check=True)
    assert "multiply, relinearize, rescale" in page.read_text()
