# SPDX-License-Identifier: Apache-2.0
"""Ghost runs: what they promise must be what a real run does."""

import halocline as hc
import numpy as np
import pytest


def program(a, b):
    return ((a * b) + a).rotate(1) * np.arange(8) + b.conj()


def test_ghost_trace_equals_the_real_one(params, client):
    values = np.linspace(-1, 1, 8)
    a, b = client.encrypt(values), client.encrypt(values)
    traced = hc.trace_program(params, program, a, b)
    engine = hc.Engine(params, client.evaluation_keys(plan=traced.key_plan), threads=1)
    bound = a.to(engine), b.to(engine)
    with engine.record() as trace:
        result = program(*bound)
    assert (traced.result.level, traced.result.scale) == (result.level, result.scale)
    for name in ("op", "action", "class", "bytes", "offset"):
        assert list(traced.trace.columns[name]) == list(trace.columns[name]), name


def test_ghost_stats_are_those_of_a_real_engine(params, client):
    values = np.linspace(-1, 1, 8)
    traced = hc.trace_program(params, program, values, values)
    engine = hc.Engine(params, client.evaluation_keys(plan=traced.key_plan), threads=1)
    engine.run(program, client.encrypt(values), client.encrypt(values))
    real, ghost = engine.stats()["peak_by_class"], traced.stats["peak_by_class"]
    assert real["evaluation_key"] == ghost["evaluation_key"] == traced.key_plan.nbytes()
    assert real["scratch"] == ghost["scratch"]
    assert traced.peak_bytes >= sum(traced.trace.live_bytes().values()).max() > 0


def test_arguments_stand_for_ciphertexts(params, client):
    seen = []

    def look(first, others, number):
        seen.append((first.slots, others["a"].slots, others["a"].is_real, number))
        return first

    hc.trace_program(params, look, np.ones(5), {"a": client.encrypt([1j, 2.0])}, 3)
    assert seen == [(8, 2, False, 3)] * 2  # called twice


def test_without_arguments_every_parameter_is_fresh(params):
    def two(a, b, factor=2):
        assert (a.level, a.slots) == (params.max_level, params.slots)
        return a * b * factor

    assert hc.key_plan(params, two).relinearization


def test_ghost_engine_by_hand(params):
    ghost = hc.Engine(params, device="ghost")
    assert ghost.is_ghost
    ct = ghost.ghost_input(level=1, slots=16)
    assert (ct.level, ct.slots, ct.device) == (1, 16, "ghost")
    ct.rotate(3)
    assert ghost.key_plan.rotations == [3]
    with pytest.raises(hc.InvalidArgument, match="power of two"):
        ghost.ghost_input(slots=3)
    with pytest.raises(hc.InvalidArgument, match="level"):
        ghost.ghost_input(level=99)


def test_real_engines_have_no_key_plan(engine):
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        _ = engine.key_plan
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        engine.ghost_input()


def test_errors_of_the_program_pass_through(params):
    with pytest.raises(ZeroDivisionError):
        hc.key_plan(params, lambda a: a * (1 / 0))
    with pytest.raises(hc.LevelExhausted):
        hc.trace_program(params, lambda a: a**1000)
