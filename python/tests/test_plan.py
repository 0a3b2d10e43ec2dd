# SPDX-License-Identifier: Apache-2.0
"""Plans from traces: made, saved, loaded, summarised."""

import json
import math

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def trace():
    params = hc.Params.preset("test-n11-d8", allow_insecure=True)

    def program(x):
        for _ in range(3):
            x = sum((x.rotate(k) for k in range(1, 9)), start=x)
        return x

    return hc.trace_program(params, program, np.zeros(params.slots)).trace


def test_plan_and_summary(trace):
    plan = hc.plan_trace(trace, "40%", parameters="test")
    s = plan.summary
    assert plan.parameters == "test"
    assert s.capacity_bytes == math.ceil(trace.peak_bytes * 0.4)
    assert s.minimum_bytes <= s.peak_bytes <= s.capacity_bytes
    brought = s.loaded_bytes + s.expanded_bytes + s.encoded_bytes
    assert brought >= s.lower_bound_bytes > 0
    assert s.gap == pytest.approx(brought / s.lower_bound_bytes - 1)
    assert s.slowdown >= 1
    assert s.total_seconds >= s.resident_seconds > 0
    assert plan.steps > 0
    assert plan.directives()["load"] > 0
    assert len(plan.columns()["before"]) == sum(plan.directives().values())
    assert "resident" in repr(plan)
    assert json.loads(json.dumps(s.to_dict()))["loaded_bytes"] == s.loaded_bytes


def test_tighter_budgets_bring_more(trace):
    """Of bytes that are loaded or expanded: which of the two is a matter of time."""
    summaries = [hc.plan_trace(trace, share).summary for share in ("40%", "70%", "100%")]
    brought = [each.loaded_bytes + each.expanded_bytes + each.encoded_bytes for each in summaries]
    assert brought == sorted(brought, reverse=True)
    assert [each.total_seconds for each in summaries] == sorted(
        (each.total_seconds for each in summaries), reverse=True
    )


def test_device_decides_the_times(trace):
    fast = hc.plan_trace(trace, "50%", "h200").summary
    slow = hc.plan_trace(trace, "50%", hc.device_models()["gtx1050"]).summary
    assert slow.resident_seconds > fast.resident_seconds
    scaled = hc.plan_trace(trace, "50%", "h200", kernel_scale=3).summary
    assert scaled.resident_seconds == pytest.approx(3 * fast.resident_seconds)


def test_round_trip(trace, tmp_path):
    plan = hc.plan_trace(trace, "50%")
    plan.save(tmp_path / "a.hcplan")
    read = hc.Plan.load(tmp_path / "a.hcplan")
    assert read.to_bytes() == plan.to_bytes() == hc.Plan.from_bytes(plan.to_bytes()).to_bytes()
    assert read.summary == plan.summary
    (tmp_path / "a.hcplan").write_bytes(plan.to_bytes()[:-1])
    with pytest.raises(hc.CorruptData):
        hc.Plan.load(tmp_path / "a.hcplan")
    with pytest.raises(hc.IoError):
        hc.Plan.load(tmp_path / "none.hcplan")


def test_errors(trace):
    with pytest.raises(hc.OutOfMemory, match="bytes"):
        hc.plan_trace(trace, 4096)
    with pytest.raises(hc.InvalidArgument, match="budget"):
        hc.plan_trace(trace, None)
    with pytest.raises(hc.InvalidArgument):
        hc.plan_trace(trace, "50%", kernel_scale=-1)
    with pytest.raises(hc.WrongType):
        hc.plan_trace("trace.csv", "50%")
    with pytest.raises(hc.WrongType):
        hc.Plan("plan")


def test_plan_command(trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace.save("run.csv")

    def call(*args, status=0):
        result = CliRunner().invoke(app, ["trace", "plan", *map(str, args)])
        assert result.exit_code == status, result.output + repr(result.exception)
        return result

    output = call("run.csv", "--memory", "40%", "-o", "p.hcplan", "--json", "p.json").stdout
    assert "lower bound" in output
    assert "p.hcplan" in output
    made = hc.Plan.load("p.hcplan")
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["loaded_bytes"] == made.summary.loaded_bytes
    assert content["slowdown"] == made.summary.slowdown
    assert content["directives"]["load"] > 0
    assert made.to_bytes() == hc.plan_trace(trace, "40%").to_bytes()
    slow = json.loads(call("run.csv", "--memory", "40%", "--device-model", "gtx1050", "--json", "-").stdout)
    assert slow["resident_seconds"] > content["resident_seconds"]
    text = call("run.csv", "--memory", "1%", status=1).stderr
    assert str(made.summary.minimum_bytes) in text
    call("run.csv", status=2)
    call("run.csv", "--memory", "many", status=2)
    assert not (tmp_path / "none.hcplan").exists()
