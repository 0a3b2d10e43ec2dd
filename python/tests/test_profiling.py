# SPDX-License-Identifier: Apache-2.0
import csv
import json

import halocline as hc
import numpy as np
import pytest
from halocline import _core
from halocline.cli.profile_option import profiling
from halocline.engine.profiling import Profile, profile_runs, save_profiles
from halocline.engine.program_identity import ProgramIdentities


def square_and_rotate(x):
    return (x * x).rotate(1)


@pytest.fixture(scope="module")
def profile(client, engine, params):
    ct = client.encrypt(np.linspace(-1, 1, params.slots)).to(engine)
    with engine.profile() as p:
        with engine.phase("layer 1"):
            square_and_rotate(ct)
        square_and_rotate(ct)
    return p


def test_rows_are_grouped_by_operation(profile):
    assert profile.device == "cpu"
    assert 0 < profile.busy_seconds <= profile.seconds
    assert 0 < profile.ntt_share < 1
    assert profile.timer_us == 0  # the host times
    assert profile.spans_left_out == 0
    assert set(profile.driver_calls.values()) == {0}
    assert {row.operation.split("/")[0] for row in profile.rows} == {"layer 1", "multiply", "rotate"}
    inside = {"/".join(row.operation.split("/")[:2]) for row in profile.rows}
    assert {"layer 1/multiply", "layer 1/rotate"} <= inside
    assert sum(row.share for row in profile.rows) == pytest.approx(1)
    assert sum(row.total_ms for row in profile.rows) == pytest.approx(1e3 * profile.busy_seconds)
    for row in profile.rows:
        assert row.kernel == ""
        assert row.shortest_us <= row.mean_us * 1.000001
        assert row.mean_us <= row.longest_us * 1.000001
    totals = [row.total_ms for row in profile.rows]
    assert totals == sorted(totals, reverse=True)


def test_groups_keep_the_sums(profile):
    for by in ("operation", "op", "kernel"):
        groups = profile.grouped(by)
        assert sum(row.calls for row in groups) == sum(row.calls for row in profile.rows)
        assert sum(row.total_ms for row in groups) == pytest.approx(1e3 * profile.busy_seconds)
    assert {row.operation for row in profile.grouped()} == {"layer 1", "multiply", "rotate"}
    tensor = next(row for row in profile.grouped("op") if row.op == "tensor")
    assert tensor.calls == 2
    with pytest.raises(hc.InvalidArgument, match="group"):
        profile.grouped("colour")


def test_table_shows_rows_and_sums_the_rest(profile):
    text = profile.table()
    assert "key_multiply_accumulate" in text
    assert "transforms" in text
    assert "kernel" not in text.splitlines()[2]
    assert f"{len(profile.rows) - 2} more" in profile.table(limit=2)
    assert "multiply" in profile.table(by="operation")


def test_files(profile, tmp_path):
    profile.save(tmp_path / "p.json")
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["device"] == "cpu"
    assert len(content["rows"]) == len(profile.rows)
    profile.save(tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["op"] for row in rows] == [row.op for row in profile.rows]
    profile.save_as(tmp_path / "p.pftrace")
    events = json.loads((tmp_path / "p.pftrace").read_text())["traceEvents"]
    assert {"layer 1/multiply", "ntt"} <= {event["name"] for event in events}
    with pytest.raises(hc.InvalidArgument, match="format"):
        profile.save(tmp_path / "p.txt")
    with pytest.raises(hc.IoError, match="cannot write"):
        profile.save(tmp_path / "none" / "p.json")


def test_one_at_a_time_and_only_when_it_ended(engine):
    with engine.profile() as p:
        assert "being made" in repr(p)
        with pytest.raises(hc.InvalidArgument, match="with"):
            _ = p.rows
        with pytest.raises(hc.InvalidArgument, match="already"), engine.profile():
            pass
    assert p.rows == []
    assert p.ntt_share == 0
    assert "0 rows" in repr(p)
    with pytest.raises(hc.InvalidArgument, match="with"):
        _ = Profile().device  # no block at all


def test_an_exception_ends_the_profile(client, engine, x):
    ct = client.encrypt(x).to(engine)
    with pytest.raises(RuntimeError, match="stop"), engine.profile() as p:
        _ = ct + ct
        raise RuntimeError("stop")
    assert [row.operation for row in p.rows] == ["add"]
    with engine.profile() as p:
        _ = ct + ct + ct
    assert [(row.operation, row.calls) for row in p.rows] == [("add", 2)]


def test_runs_of_any_engine_can_be_profiled(client, engine, params, keys, x, tmp_path):
    other = hc.Engine(params, keys, threads=1)
    for each in (engine, other):
        each.run(square_and_rotate, client.encrypt(x))  # makes tables, which happens once
    with profile_runs() as profiles:
        for each in (engine, engine, other):
            each.run(square_and_rotate, client.encrypt(x))
        with pytest.raises(hc.InvalidArgument, match="already"), profile_runs():
            pass
    assert len(profiles) == 2
    twice, once = ({row.op: row.calls for row in each.grouped("op")} for each in profiles)
    assert once["tensor"] == 1
    assert twice.pop("upload") == 2  # the second input of `engine`; the first one came before its first run
    assert twice == {op: 2 * calls for op, calls in once.items()}
    saved = save_profiles(profiles, tmp_path / "run.json")
    assert [each.name for each in saved] == ["run.json", "run-2.json"]
    assert all(each.exists() for each in saved)
    engine.run(square_and_rotate, client.encrypt(x))
    assert len(profiles) == 2


def test_programs_with_the_same_code_and_shapes_share_a_number(client, engine, x):
    ct = client.encrypt(x).to(engine)
    lower = ct.drop_level(ct.level - 1)
    number = ProgramIdentities().graph_number
    numbers = [number(lambda a: a + 1, ((each,), {})) for each in (ct, ct, lower)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert number(square_and_rotate, ((ct,), {})) != numbers[0]

    class Program:
        __hash__ = None

        def __call__(self, a):
            return a

    one, other = Program(), Program()
    numbers = [number(each, ((ct,), {})) for each in (one, one, other)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert all(0 <= each < 2**64 for each in numbers)


def test_numbers_of_programs_reach_the_device_where_there_are_graphs(params, keys, client, x, monkeypatch):
    """The CPU makes no graphs, so the calls to it are watched."""
    engine = hc.Engine(params, keys, threads=1)
    calls = []
    monkeypatch.setattr(_core, "begin_program", lambda core, number: calls.append(number))
    monkeypatch.setattr(_core, "end_program", lambda core: calls.append("end"))
    engine.run(square_and_rotate, client.encrypt(x))
    assert calls == []
    monkeypatch.setattr(_core, "makes_graphs", lambda core: True)
    for _ in range(2):
        engine.run(lambda a: square_and_rotate(a), client.encrypt(x))  # noqa: PLW0108
    first, second = calls[0], calls[2]
    assert calls == [first, "end", second, "end"] and first == second
    with pytest.raises(ZeroDivisionError):
        engine.run(lambda a: a * (1 / 0), client.encrypt(x))
    assert calls[4] != first and calls[5:] == ["end"]
    engine.run(square_and_rotate, client.encrypt(x), key="square")
    engine.run(lambda a: a + a, client.encrypt(x), key="square")
    assert calls[6] == calls[8] not in (first, calls[4])


def test_there_are_no_graphs_on_the_cpu(params, keys, client, x):
    engine = hc.Engine(params, keys, threads=1)  # with graphs allowed
    assert not _core.makes_graphs(engine._core)
    for _ in range(4):
        engine.run(square_and_rotate, client.encrypt(x))
    counters = engine.graph_statistics()
    assert {"graphs_built", "replays", "failed_builds"} <= counters.keys()
    assert set(counters.values()) == {0}
    assert set(engine.driver_calls().values()) == {0}


def test_ghosts_can_be_profiled(params):
    ghost = hc.Engine(params, device="ghost")
    with ghost.profile() as p:
        square_and_rotate(ghost.ghost_input())
    assert {row.operation for row in p.grouped()} == {"multiply", "rotate"}
    assert next(row for row in p.grouped("op") if row.op == "tensor").calls == 1


def test_option_of_commands(client, engine, x, tmp_path, capsys):
    with profiling(None, None):
        pass
    with profiling(tmp_path / "p.csv", None):
        engine.run(square_and_rotate, client.encrypt(x))
    assert "multiply" in capsys.readouterr().out
    assert (tmp_path / "p.csv").read_text().startswith("operation,op,kernel,calls")
    with pytest.raises(hc.InvalidArgument, match="suffix"), profiling(tmp_path / "p.txt", None):
        pass
    with pytest.raises(hc.InvalidArgument, match="no engine ran"), profiling(tmp_path / "p.json", None):
        pass


@pytest.mark.gpu
@pytest.mark.skipif("cuda:0" not in _core.available_devices(), reason="no GPU")
def test_programs_on_a_gpu_become_graphs(params, keys, client, engine, rng, tmp_path):
    gpu = hc.Engine(params, keys, device="cuda:0", graphs=True)
    eager = hc.Engine(params, keys, device="cuda:0", graphs=False)
    for run in range(4):
        factor = 0.25 + 0.25 * (run % 2)  # a closure that changes
        ct = client.encrypt(rng.uniform(-1, 1, params.slots))

        def program(x, factor=factor):
            return (x * x + factor).rotate(1) * factor

        results = [each.run(program, ct).to_bytes() for each in (gpu, eager, engine)]
        assert results[0] == results[1]
        assert results[0] == results[2]
    counts = gpu.graph_statistics()
    assert counts["graphs_built"] > 0
    assert counts["replays"] > counts["graphs_built"]
    assert counts["failed_builds"] == 0
    assert set(eager.graph_statistics().values()) == {0}

    with gpu.profile() as p:
        gpu.run(program, ct)
    assert all(row.kernel for row in p.rows)
    assert p.driver_calls["device_waits"] == 0
    assert p.driver_calls["allocations"] == 0
    p.save(tmp_path / "gpu.json")
    p.save_perfetto(tmp_path / "gpu.pftrace")
    assert "ntt" in p.table(by="kernel")
