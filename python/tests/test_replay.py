# SPDX-License-Identifier: Apache-2.0
"""Replays of traces on simulated devices, and what is made of them."""

import json
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.plots import replays as replay_plots
from halocline.plots.traces import render
from halocline.tracing.replay import POLICIES, budget_bytes, resident_seconds
from typer.testing import CliRunner

MIB = 1 << 20


@pytest.fixture(scope="module")
def trace():
    """Eight rotation keys used in turn, three rounds, each a phase."""
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)

    def program(x):
        for round_ in range(3):
            with x.engine.phase(f"round {round_ + 1}"):
                x = sum((x.rotate(k) for k in range(1, 9)), start=x)
        return x

    engine = hc.Engine(params, device="ghost")
    program(engine.ghost_input())
    engine._core.prepare_keys(engine.key_plan.requests())
    with engine.record() as recorded:
        program(engine.ghost_input())
    return recorded


def test_the_rate_of_seeds_is_the_measured_one():
    """The model of the H200 and the file of measurements in this repository."""
    file = Path(__file__).resolve().parents[2] / "cpp/bench/results/h200/kernels.json"
    rows = json.loads(file.read_text())["rows"]
    row = next(r for r in rows if (r["op"], r["variant"], r["limbs"]) == ("sample_uniform", "", 47))
    rate = hc.device_models()["h200"].constants["expand_bytes_per_s"]
    assert rate.value == pytest.approx(row["bytes"] / (1e-6 * row["median_us"]), rel=0.005)
    assert "kernels.json" in rate.source


def test_device_models():
    models = hc.device_models()
    assert list(models) == ["gtx1050", "gtx1660ti", "rtx4090", "a40", "h200"]
    assert [round(each.capacity_bytes / 1e9) for each in models.values()][-1] > 130
    for each in models.values():
        assert each.usable_bytes < each.capacity_bytes
        assert all(constant.source for constant in each.constants.values())
    assert "GiB" in repr(models["a40"])


def test_device_models_in_files(tmp_path):
    model = hc.device_models()["a40"]
    model.save(tmp_path / "mine.json")
    content = json.loads((tmp_path / "mine.json").read_text())
    content["name"] = "mine"
    (tmp_path / "mine.json").write_text(json.dumps(content))
    read = hc.DeviceModel.load(tmp_path / "mine.json")
    assert read.name == "mine"
    assert read.constants == model.constants
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(hc.CorruptData):
        hc.DeviceModel.load(tmp_path / "bad.json")
    with pytest.raises(hc.IoError):
        hc.DeviceModel.load(tmp_path / "none.json")


@pytest.mark.parametrize("text", ["\x1b[2Jmine", "two\nlines", "a" * 201])
def test_device_models_with_texts_that_terminals_do_not_show(tmp_path, text):
    model, path = hc.device_models()["a40"], tmp_path / "mine.json"
    model.save(path)
    plain = path.read_text()
    for old in (model.name, next(iter(model.constants.values())).source):
        path.write_text(plain.replace(json.dumps(old), json.dumps(text)))
        with pytest.raises(hc.CorruptData, match="at most 200 printable") as raised:
            hc.DeviceModel.load(path)
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 300
    assert model.with_memory("1GiB").usable_bytes == 1 << 30


def test_every_policy(trace):
    for policy in POLICIES:
        report = hc.replay(trace, "h200", policy)
        assert (report.policy, report.device) == (policy, "h200")
        assert report.total_seconds >= report.compute_seconds > 0
        assert report.stall_seconds == pytest.approx(report.total_seconds - report.compute_seconds)
        assert report.peak_resident_bytes > 0
        assert policy in repr(report)
        assert len(report.phases) == 3
        assert json.loads(json.dumps(report.to_dict()))["policy"] == policy


def test_operations_are_phases_without_numbers(trace):
    report = hc.replay(trace, "h200", "lru")
    assert [each.phase for each in report.phases] == ["round 1", "round 2", "round 3"]
    operations = report.operations()
    assert list(operations) == ["round"]
    assert operations["round"] == pytest.approx([each.seconds for each in report.phases])
    assert report.phases[1].begin == pytest.approx(report.phases[0].seconds)


def test_budgets(trace):
    assert budget_bytes(trace, None) == 0
    assert budget_bytes(trace, "50%") == -(-trace.peak_bytes // 2)
    assert budget_bytes(trace, "3MiB") == 3 * MIB
    for policy in ("lru", "planned", "managed"):
        tight, wide = (hc.replay(trace, "h200", policy, share) for share in ("40%", "120%"))
        assert tight.loaded_bytes >= wide.loaded_bytes
        assert tight.peak_resident_bytes <= tight.budget_bytes == budget_bytes(trace, "40%")
    with pytest.raises(hc.OutOfMemory, match="budget"):
        hc.replay(trace, "h200", "resident", "40%")
    with pytest.raises(hc.OutOfMemory):
        hc.replay(trace, "h200", "planned", 4096)
    with pytest.raises(hc.InvalidArgument, match="share"):
        hc.replay(trace, "h200", "lru", "-5%")


def test_repeated_runs(trace):
    """Later runs find what others left; policies that keep everything in its place have nothing to gain."""
    for policy in ("lru", "planned"):
        first, later = (hc.replay(trace, "h200", policy, "120%", steady=each) for each in (False, True))
        assert later.loaded_bytes < first.loaded_bytes and later.total_seconds < first.total_seconds
        kernels = [each.compute_seconds - each.regenerate_seconds for each in (first, later)]
        assert later.steps == first.steps and kernels[1] == pytest.approx(kernels[0])
    tight = hc.replay(trace, "h200", "planned", "40%", steady=True)
    assert 0 < tight.loaded_bytes < 1.05 * hc.replay(trace, "h200", "planned", "40%").loaded_bytes
    assert tight.peak_resident_bytes <= tight.budget_bytes
    first, later = (hc.replay(trace, "h200", "resident", steady=each) for each in (False, True))
    assert later.total_seconds == pytest.approx(first.total_seconds, rel=0.05)


def test_kernels_can_be_slower(trace):
    one = hc.replay(trace, "h200", "resident")
    two = hc.replay(trace, "h200", "resident", kernel_scale=2)
    assert two.compute_seconds == pytest.approx(2 * one.compute_seconds)
    recorded = hc.replay(trace, "h200", "resident", recorded_times=True)
    assert recorded.compute_seconds != one.compute_seconds
    assert resident_seconds(trace, "h200") == one.total_seconds
    assert resident_seconds(trace, hc.device_models()["h200"].with_memory(4096)) == one.total_seconds


def test_decisions(trace):
    allocations = len(trace.lifetimes.allocations())
    everything = hc.decide(trace)
    assert len(everything) == allocations
    assert sum(everything) == trace.lifetimes.allocations().freed.sum()
    assert sum(hc.decide(trace, lifetime=0)) == 0
    assert sum(hc.decide(trace, pool_bytes=1)) == 0
    none = hc.replay(trace, "a40", "profiled", decisions=bytes(allocations))
    managed = hc.replay(trace, "a40", "managed")
    assert none.total_seconds == pytest.approx(managed.total_seconds)
    assert hc.replay(trace, "a40", "profiled", async_ratio=0).peak_pool_bytes == 0
    assert hc.replay(trace, "a40", "profiled", decisions=everything).peak_pool_bytes > 0


def test_bad_arguments(trace):
    with pytest.raises(hc.InvalidArgument, match="h200"):
        hc.replay(trace, "h900")
    with pytest.raises(hc.InvalidArgument, match="planned"):
        hc.replay(trace, policy="magic")
    with pytest.raises(hc.InvalidArgument, match="async_ratio"):
        hc.replay(trace, policy="profiled", async_ratio=1.5)
    with pytest.raises(hc.InvalidArgument):
        hc.replay(trace, kernel_scale=0)
    with pytest.raises(hc.WrongType):
        hc.replay("trace.csv")


@pytest.fixture(scope="module")
def setup(trace):
    return replay_plots.Setup(trace, "a program", hc.device_models()["h200"])


def test_latencies(setup):
    reports = [hc.replay(setup.trace, setup.device, each) for each in ("lru", "managed")]
    found = replay_plots.latencies(reports)
    seconds = reports[0].operations()["round"]
    assert found["round"]["lru"] == pytest.approx((seconds.mean(), seconds.std(), 3))
    assert set(found["round"]) == {"lru", "managed"}


def test_budget_curves(setup):
    peak = setup.trace.peak_bytes
    curves = replay_plots.budget_curves(setup, ["resident", "planned"], [peak // 2, 2 * peak, 10**15])
    resident, planned = curves
    assert list(resident.budgets) == [2 * peak]  # half is too little, and no device has the largest one
    assert list(planned.budgets) == [peak // 2, 2 * peak]
    assert planned.moved_bytes[0] > 0
    report = hc.replay(setup.trace, setup.device, "planned", peak // 2)
    assert planned.seconds[0] == report.total_seconds


def test_ratio_curve(setup):
    budget = setup.trace.peak_bytes // 2
    ratios, seconds = replay_plots.ratio_curve(setup, budget, [0.0, 0.3, 0.6])
    assert list(ratios) == [0.0, 0.3, 0.6]
    expected = hc.replay(setup.trace, setup.device, "profiled", budget, async_ratio=0.3).total_seconds
    assert seconds[1] == expected


def test_plan_segments(setup):
    plan = hc.plan_trace(setup.trace, "40%")
    objects, spans = replay_plots.plan_segments(plan)
    c = plan.columns()
    arrivals = np.isin(c["action"], [0, 1, 2])
    assert set(objects.tolist()) == set(c["target"][arrivals].tolist())
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert spans.max() <= plan.steps


def test_pictures(setup):
    budget = setup.trace.peak_bytes // 2
    curves = replay_plots.budget_curves(setup, ["lru", "planned"], [budget])
    figures = (
        replay_plots.draw_residency(setup, POLICIES, budget),
        replay_plots.draw_latency(setup, POLICIES, budget),
        replay_plots.draw_async_ratio(setup, ["managed"], budget),
        replay_plots.draw_bytes_by_budget(setup, curves),
        replay_plots.draw_slowdown_by_budget(setup, curves),
        replay_plots.draw_plan(setup, hc.plan_trace(setup.trace, budget)),
    )
    for each in figures:
        assert "a program on h200" in each.get_suptitle()
        axes = each.axes[-1]
        assert axes.get_ylabel() or axes.get_xlabel()
        assert render(each, "png").startswith(b"\x89PNG")
    titles = [each.get_title().split(":")[0] for each in figures[0].axes if each.get_visible()]
    assert titles == [each for each in POLICIES if each not in ("resident", "async", "cached")]


def test_timelines(trace):
    text = hc.tracing.replay.replay_timeline(trace, "h200", "lru", "50%")
    events = json.loads(text)["traceEvents"]
    tracks = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert list(tracks.values()) == ["compute", "page faults", "load", "write-back", "stall"]
    seconds = dict.fromkeys(tracks.values(), 0.0)
    for each in events:
        if each["ph"] == "X":
            seconds[tracks[each["tid"]]] += each["dur"] / 1e6
    report = hc.replay(trace, "h200", "lru", "50%")
    assert seconds["compute"] == pytest.approx(report.compute_seconds, rel=1e-3)
    assert seconds["load"] == pytest.approx(report.load_busy_seconds, rel=1e-3)
    assert 0 < seconds["stall"] <= report.stall_seconds * 1.001
    names = {each["name"] for each in events if each["ph"] == "C"}
    assert names == {"resident bytes", "pool bytes", "live managed bytes"}
    with pytest.raises(TypeError):
        hc.tracing.replay.replay_timeline(trace, speed=2)


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


def test_replay_command(call, tmp_path):
    output = call("replay", "run.csv", "--memory", "50%", "--json", "r.json").stdout
    content = json.loads((tmp_path / "r.json").read_text())
    rows = {each["policy"]: each for each in content["replays"]}
    assert list(rows) == list(POLICIES)
    assert "does not fit" in output
    assert "budget" in rows["resident"]["out_of_memory"]
    assert rows["planned"]["slowdown"] >= 1
    assert rows["planned"]["total_seconds"] <= rows["managed"]["total_seconds"]
    assert rows["lru"]["phases"][0]["phase"] == "round 1"
    assert content["commit"]
    assert content["budget_bytes"] == rows["lru"]["budget_bytes"]
    assert content["steady"] is False
    call("replay", "run.csv", "--memory", "120%", "--policy", "lru", "--steady", "--json", "s.json")
    steady = json.loads((tmp_path / "s.json").read_text())
    assert steady["steady"] is True
    assert steady["replays"][0]["loaded_bytes"] < rows["lru"]["loaded_bytes"]


def test_replay_command_writes_timelines(call, tmp_path):
    options = ("--policy", "lru", "--policy", "planned", "--memory", "50%", "--device-model", "a40")
    call("replay", "run.csv", *options, "--perfetto", "t.json")
    for name in ("t-lru.json", "t-planned.json"):
        assert json.loads((tmp_path / name).read_text())["traceEvents"]
    call("replay", "run.csv", "--policy", "managed", "--perfetto", "one.json")
    assert (tmp_path / "one.json").is_file()


def test_replay_command_with_own_device(call):
    hc.device_models()["gtx1050"].save("small.json")
    assert "gtx1050" in call("replay", "run.csv", "--device-model", "small.json", "--policy", "lru").stdout


def test_list_of_devices(call):
    content = json.loads(call("replay", "--list", "--json", "-").stdout)
    assert set(content["devices"]) == set(hc.device_models())
    assert "estimate" in content["devices"]["gtx1050"]["copy_us"]["source"]
    assert "load_bytes_per_s" in call("replay", "--list").stdout


def test_replay_command_errors(call):
    assert "give a trace" in call("replay", status=1).stderr
    assert "'--policy': got 'best'" in call("replay", "run.csv", "--policy", "best", status=2).stderr
    assert "h200" in call("replay", "run.csv", "--device-model", "h900", status=2).stderr
    assert "share" in call("replay", "run.csv", "--memory", "x%", status=2).stderr
    call("replay", "none.csv", status=1)
    call("replay", "run.csv", "--kernel-scale", "0", status=2)
    call("replay", "run.csv", "--async-ratio", "2", "--policy", "profiled", status=2)


def test_decide_command(call, tmp_path, trace):
    call("decide", "run.csv", "-o", "d.txt", "--pool", "5%")
    text = (tmp_path / "d.txt").read_text()
    count = len(trace.lifetimes.allocations())
    assert text.splitlines()[0] == f"halocline decisions 1,{count}"
    options = hc.MemoryOptions(decisions="d.txt")
    assert options._bind(False, None, "tests") is not None
    assert "0.0% of them" in call("decide", "run.csv", "-o", "d.txt", "--lifetime", "0").stdout


def test_plots_of_replays(call, tmp_path):
    call("plot", "run.csv", "--html", "r.html", "--device-model", "a40", "--memory", "50%",
         "--policy", "lru", "--policy", "planned", "--budget", "50%", "--budget", "100%")  # fmt: skip
    text = (tmp_path / "r.html").read_text()
    assert text.count("<img") == 10
    assert "Slowdown by budget" in text
    assert "simulated" in text
    assert "http:" not in text
    assert "https:" not in text
    call("plot", "run.csv", "-o", "p.svg", "--plot", "plan", "--memory", "50%")
    assert (tmp_path / "p.svg").stat().st_size > 1000
