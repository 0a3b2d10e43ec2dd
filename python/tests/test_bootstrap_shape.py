# SPDX-License-Identifier: Apache-2.0
"""Traces that stand for bootstrapping and for the workloads of the hybrid unified-memory paper."""

from collections import Counter

import halocline as hc
import numpy as np
import pytest
from halocline.papers.hybrid.bootstrap_shape import BootstrapShape, fourier_factors
from halocline.papers.hybrid.resnet20_keys import resnet20_key_sequence
from halocline.papers.hybrid.traces import (
    OPERATIONS,
    PRESETS,
    bm_bootstrap_trace,
    concatenate,
    operation_trace,
    oversubscribed_trace,
    resnet_trace,
)


def phases(trace):
    """Names of the phases in order."""
    return list(dict.fromkeys(tag.split("/")[0] for tag in trace.columns["tag"]))


def test_factors_compose_a_full_transform():
    """Every pair of slots is connected, and the factors are as sparse as butterflies allow."""
    for log_slots in (6, 8, 11):
        slots = 1 << log_slots
        reached = np.zeros(slots, dtype=bool)
        reached[0] = True
        for steps in fourier_factors(log_slots):
            reached = np.any([np.roll(reached, step) for step in steps], axis=0)
        assert reached.all()
    assert [len(steps) for steps in fourier_factors(15)] == [32, 63, 63]


@pytest.mark.parametrize("preset", ["FTb", "FGa"])
def test_depth_and_keys(preset):
    params = hc.Params.preset(preset)
    shape = BootstrapShape(params)
    traced = hc.trace_program(params, lambda x: shape(x.drop_level(0)))
    assert shape.depth == 3 + 6 + 2 + 3
    assert traced.result.level == params.max_level - shape.depth
    assert traced.key_plan.conjugation
    assert traced.key_plan.relinearization
    assert 35 <= len(traced.key_plan) <= 60


def test_refuses_what_it_cannot_do():
    with pytest.raises(hc.InvalidArgument, match="levels"):
        BootstrapShape(hc.Params.preset("n14-d7"))
    params = hc.Params.preset("test-n12-d14", allow_insecure=True)
    client = hc.Client(params, threads=1)
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        BootstrapShape(params)(client.encrypt(np.zeros(4)).to(hc.Engine(params, threads=1)))


def test_keys_of_all_presets_have_the_size_of_the_benchmark():
    """The paper says about 80 GB for bootstrapping with all parameter sets; most of that is keys."""
    total = 0
    for preset in PRESETS:
        params = hc.Params.preset(preset)
        total += hc.key_plan(params, BootstrapShape(params)).nbytes()
    assert 60e9 < total < 80e9


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_are_repeated_alike(operation):
    trace = operation_trace("FTb", operation, 3)
    names = [f"{operation} {k}" for k in (1, 2, 3)]
    assert [each for each in phases(trace) if each.startswith(operation)] == names
    c = trace.columns
    rows = Counter(
        tag.split("/")[0] for tag, action in zip(c["tag"], c["action"], strict=True) if action == "read"
    )
    assert rows[names[1]] == rows[names[2]] > 0
    with pytest.raises(hc.InvalidArgument, match="operation"):
        operation_trace("FTb", "divide")


def events(trace, action):
    return int((trace.columns["action"] == action).sum())


def check_consistent(trace):
    """Every buffer is allocated once, then used, then freed once; steps and times never run back."""
    c = trace.columns
    assert (np.diff(c["step"].astype(np.int64)) >= 0).all()
    assert (np.diff(c["time_ns"].astype(np.int64)) >= 0).all()
    live: set[int] = set()
    for action, buffer in zip(c["action"].tolist(), c["object"].tolist(), strict=True):
        assert (buffer in live) == (action != "allocate")
        if action == "allocate":
            live.add(buffer)
        elif action == "free":
            live.remove(buffer)
    assert not live


def test_concatenation_keeps_the_parts():
    parts = [operation_trace("FTb", name, 2) for name in ("mult", "rotate")]
    whole = concatenate([("a", parts[0]), ("b", parts[1])])
    check_consistent(whole)
    assert events(whole, "read") == sum(events(part, "read") for part in parts)
    loaded = sum(events(part, "exists") for part in parts)
    assert events(whole, "allocate") == loaded + sum(events(part, "allocate") for part in parts)
    assert phases(whole) == ["a", "b", "end"]
    assert whole.peak_bytes >= max(part.peak_bytes for part in parts)
    with pytest.raises(hc.InvalidArgument, match="at least one"):
        concatenate([])


def test_rounds_take_turns():
    part = operation_trace("FTb", "mult", 3)
    whole = concatenate([("a", part), ("b", part)], rounds=3)
    check_consistent(whole)
    tags = dict.fromkeys(tag.rpartition("/")[0] for tag in whole.columns["tag"])
    runs = [tag for tag in tags if "mult" in tag]
    assert runs == [f"{name}/mult {number}" for number in (1, 2, 3) for name in "ab"]


def test_bm_bootstrap_keeps_the_keys_of_all_sets():
    one, both = bm_bootstrap_trace(["FTb"], 1), bm_bootstrap_trace(["FTb", "FTa"], 2)
    keys = both.live_bytes()["evaluation_key"]
    assert keys.max() > 2 * one.live_bytes()["evaluation_key"].max()
    assert keys[-1] == 0


def test_oversubscribed_trace_touches_everything_in_each_sweep():
    trace = oversubscribed_trace(32 << 20, sweeps=3, seed=1)
    check_consistent(trace)
    assert trace.peak_bytes == 32 << 20
    c = trace.columns
    orders = [c["object"][(c["action"] == "read") & (c["tag"] == f"sweep {k}/add")] for k in (1, 2, 3)]
    assert all(sorted(order) == list(range(16)) for order in orders)
    assert orders[0].tolist() != orders[1].tolist()


def test_resnet_trace_has_the_key_switches_in_order():
    trace = resnet_trace("FGa", level=2)
    c = trace.columns
    products = {step for step, op in zip(c["step"], c["op"], strict=True) if "key_multiply" in op}
    assert len(products) == len(resnet20_key_sequence())
    with pytest.raises(hc.InvalidArgument, match="slots"):
        resnet_trace("FTb")
