# SPDX-License-Identifier: Apache-2.0
"""Pictures of traces: the numbers behind them, the files, and the HTML page."""

import re

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.plots import traces as trace_plots
from halocline.plots.report import HtmlTable, Section, page
from typer.testing import CliRunner

HEADER = "step,op,action,object,class,bytes,offset,stream,time_ns,tag\n"
SECOND = 1_000_000_000
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


def make_trace(lives, existing=()):
    """A trace of ciphertexts given as (bytes, begin, end or None) in seconds."""
    rows = [(0, f"0,-,exists,{900 + k},table,{size},0,0,0,t") for k, size in enumerate(existing)]
    for number, (size, begin, end) in enumerate(lives):
        for when, action in ((begin, "allocate"), (begin, "write"), (end, "free")):
            if when is not None:
                row = f"{int(when)},op,{action},{number},ciphertext,{size},0,0,{int(when * SECOND)},x"
                rows.append((when, row))
    rows.sort(key=lambda each: each[0])
    return hc.Trace.from_csv(HEADER + "".join(f"{text}\n" for _, text in rows))


@pytest.fixture
def trace():
    return make_trace(
        [(100, 1, 1.25), (200, 2, 2.5), (400, 3, 33), (800, 4, None), (50, 5, 6), (10, 6, 6)], existing=[1000]
    )


def test_allocation_points(trace):
    points = trace_plots.allocation_points(trace.lifetimes)
    assert list(points.allocated) == [0, 1, 2, 3, 4, 5]
    assert list(points.allocated_seconds) == [1, 2, 3, 4, 5, 6]
    assert list(points.freed) == [0, 1, 2, 4, 5]
    assert list(points.freed_seconds) == [1.25, 2.5, 33, 6, 6]
    zoomed = trace_plots.allocation_points(trace.lifetimes, 2)
    assert list(zoomed.allocated) == [0, 1]
    assert list(zoomed.freed_seconds) == [1.25, 2.5]


def test_lifetime_histogram(trace):
    h = trace_plots.lifetime_histogram(trace, bins=10)
    assert h.split == 1  # the longest life has 30 s
    assert list(h.below) == [1, 0, 1, 0, 0, 1, 0, 0, 0, 0]
    assert (h.below.sum(), h.beyond.sum(), h.never_freed) == (3, 2, 1)
    assert (h.beyond_edges[0], h.beyond_edges[-1]) == (1, 30)
    assert h.share_below == pytest.approx(0.6)
    assert trace_plots.lifetime_histogram(trace, 0.4).below.sum() == 2
    short = trace_plots.lifetime_histogram(make_trace([(1, 0, 0.25), (1, 0, 0.001)]))
    assert short.split == pytest.approx(0.02)
    assert (short.below.sum(), short.beyond.sum()) == (1, 1)
    with pytest.raises(hc.InvalidArgument):
        trace_plots.lifetime_histogram(trace, 0.0)


def test_memory_by_threshold(trace):
    memory = trace_plots.memory_by_threshold(trace, 1.5)
    at = np.searchsorted(memory.seconds, [1.1, 2.2, 3.5, 5.5, 32], side="right") - 1
    assert list(memory.pool_bytes[at]) == [100, 200, 0, 50, 0]
    assert list(memory.managed_bytes[at]) == [1000, 1000, 1400, 2200, 2200]
    everything = trace_plots.memory_by_threshold(trace, 1e9)
    assert everything.managed_bytes.max() == 1800  # never freed, or there before
    assert everything.pool_bytes.max() == 460
    nothing = trace_plots.memory_by_threshold(trace, 0)
    assert nothing.pool_bytes.max() == 0


def test_memory_by_threshold_agrees_with_decisions(trace):
    lives = trace.lifetimes.allocations()
    for threshold in (0.3, 0.6, 1.5, 100):
        quick = lives.freed & (lives.seconds < threshold)
        peak = max(
            sum(lives.bytes[quick & (lives.begin <= now) & (lives.end > now)]) for now in lives.begin.tolist()
        )
        assert trace_plots.memory_by_threshold(trace, threshold).pool_bytes.max() in (peak, peak + 10)


@pytest.mark.parametrize(("value", "expected"), [(0.0, 0.0), (1.0, 1.0), (0.49, 0.2), (7e-6, 5e-6), (99, 50)])
def test_rounded(value, expected):
    assert trace_plots.rounded(value) == pytest.approx(expected)


def test_thresholds_follow_the_duration(trace):
    assert trace_plots.default_thresholds(make_trace([(1, 0, 600)])) == [1, 64, 256, 512]
    assert trace_plots.default_thresholds(trace) == pytest.approx([0.02, 0.2, 2, 10])


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_every_plot_in_every_format(trace, kind):
    draw = (
        trace_plots.draw_live_bytes,
        trace_plots.draw_scatter,
        trace_plots.draw_lifetimes,
        lambda t, name: trace_plots.draw_thresholds(t, name, [0.5, 1, 2], 1500),
    )
    for each in draw:
        content = trace_plots.render(each(trace, "a trace"), kind)
        assert content.startswith(MAGIC[kind])
        assert len(content) > 5000


@pytest.mark.parametrize("lives", [[(1, 0, None)], [(1, 0, 0)], [(1, 0, 5)]])
def test_plots_of_tiny_traces(lives, recwarn):
    tiny = make_trace(lives)
    trace_plots.render(trace_plots.draw_live_bytes(tiny, "t"), "png")
    trace_plots.render(trace_plots.draw_scatter(tiny, "t"), "png")
    trace_plots.render(trace_plots.draw_lifetimes(tiny, "t"), "png")
    trace_plots.render(trace_plots.draw_thresholds(tiny, "t"), "png")
    assert [str(each.message) for each in recwarn] == []


def test_pictures_have_titles_units_and_legends(trace):
    figure = trace_plots.draw_scatter(trace, "run.csv")
    left, right = figure.axes
    assert "run.csv" in figure.get_suptitle()
    assert left.get_xlabel() == "time, s"
    assert "6 objects" in left.get_title()
    assert [each.get_text() for each in right.get_legend().get_texts()] == ["allocate", "free"]
    markers = [line.get_marker() for line in left.lines]
    assert markers == ["^", "v"]
    thresholds = trace_plots.draw_thresholds(trace, "run.csv", [1.0, 2.0], 1500)
    assert [each.get_title().split(",")[0] for each in thresholds.axes[:2]] == ["N = 1 s", "N = 2 s"]
    assert [each.get_text() for each in thresholds.legends[0].get_texts()] == [
        "asynchronous",
        "managed",
        "capacity",
    ]


def assert_self_contained(text):
    """No address, and nothing that a browser would load or run."""
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)
    assert set(re.findall(r'(?:src|href)="([^"]{0,22})', text)) <= {"data:image/png;base64,"}


def test_html_escapes_what_it_is_given(trace):
    table = HtmlTable(["name", "<i>"], [["a&b", "<script>"]])
    text = page("<x>", [Section("t<", "1 < 2", [table, trace_plots.draw_scatter(trace, "a")])], "end & all")
    assert_self_contained(text)
    assert "<td>a&amp;b</td><td>&lt;script&gt;</td>" in text
    assert text.count("<img") == 1


@pytest.fixture
def call(tmp_path, monkeypatch, trace):
    """Runs a command in a folder with run.csv; returns its result."""
    monkeypatch.chdir(tmp_path)
    trace.save("run.csv")

    def run(*args, status=0):
        result = CliRunner().invoke(app, ["trace", *map(str, args)])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    return run


def test_plot_command(call, tmp_path):
    assert "run.png" in call("plot", "run.csv", "-o", "run.png").stdout
    call("plot", "run.csv", "-o", "s.svg", "--plot", "scatter", "--plot", "scatter")
    call(
        "plot", "run.csv", "-o", "m.pdf", "--plot", "lifetimes", "--plot", "thresholds", "--threshold", "0.5"
    )
    names = {"run.png": "png", "s.svg": "svg", "m-lifetimes.pdf": "pdf", "m-thresholds.pdf": "pdf"}
    for name, kind in names.items():
        assert (tmp_path / name).read_bytes().startswith(MAGIC[kind])
    assert {each.name for each in tmp_path.iterdir()} == {"run.csv", *names}


def test_html_report(call, tmp_path):
    call("plot", "run.csv", "--html", "r.html", "--capacity", "50%")
    text = (tmp_path / "r.html").read_text()
    assert_self_contained(text)
    assert text.count("<img") == 4
    assert "evaluation_key" in text
    assert "Lifetimes" in text


def test_plot_errors(call, tmp_path):
    assert "nothing to write" in call("plot", "run.csv", status=1).stderr
    assert "'--plot': got 'pie'" in call("plot", "run.csv", "-o", "a.png", "--plot", "pie", status=2).stderr
    assert ".pdf" in call("plot", "run.csv", "-o", "a.jpg", status=1).stderr
    call("plot", "run.csv", "-o", "a.png", "--plot", "lifetimes", "--split", "-1", status=1)
    call("plot", "run.csv", "-o", "a.png", "--capacity", "x%", status=2)
    call("plot", "none.csv", "-o", "a.png", status=1)
    (tmp_path / "empty.csv").write_text(HEADER)
    assert "no events" in call("plot", "empty.csv", "-o", "a.png", status=1).stderr
    assert not (tmp_path / "a.png").exists()


def test_convert_command(call, tmp_path):
    assert "log of RMM" in call("convert", "run.csv", "run.rmm.csv").stdout
    assert (tmp_path / "run.rmm.csv").read_text().startswith("Thread,Time")
    call("convert", "run.rmm.csv", "back.csv")
    back = hc.Trace.load("back.csv")
    assert sorted(back.lifetimes.bytes) == [10, 50, 100, 200, 400, 800, 1000]
    call("convert", "run.csv", "run.perfetto.json")
    assert (tmp_path / "run.perfetto.json").read_text().startswith("{")
    assert ".perfetto.json" in call("convert", "run.csv", "run.xml", status=1).stderr
    (tmp_path / "bad.csv").write_text("Thread,Time,Action,Pointer,Size,Stream\n1\n")
    assert "line 2" in call("convert", "bad.csv", "x.csv", status=1).stderr


def test_stats_command(call):
    output = call("stats", "run.csv").stdout
    assert "existing" in output
    assert "1 KiB" in output or "1000 B" in output
    call("convert", "run.csv", "log.rmm.csv")
    assert "7" in call("stats", "log.rmm.csv").stdout
