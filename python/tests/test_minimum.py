# SPDX-License-Identifier: Apache-2.0
"""The minimum of a budget: stated once, before the run and by every refusal, and true to the page."""

import dataclasses
import gc
import json
import re

import halocline as hc
import numpy as np
import pytest
from halocline.base.values import byte_count, size_to_type
from halocline.cli.app import app
from halocline.workloads.helr.run import HelrOptions, HelrRun
from halocline.workloads.sorting.run import SortingOptions, SortingRun
from typer.testing import CliRunner

PAGE = 4096
MATRIX = np.random.default_rng(3).uniform(-1, 1, (16, 16))
TRANSFORM = hc.LinearTransform(MATRIX, compact=True)
PROGRAMS = {
    "increment": lambda x: x + 1,
    "square": lambda x: x * x + 0.5,
    "rotate": lambda x: (x * x + 0.5).rotate(1) * x,
    "low": lambda x: x.drop_level(1).rotate(1),
    "vector": lambda x: x * np.arange(16.0) + x.rotate(3),
    "polynomial": lambda x: x.engine.polynomial(x, [1, 2, 3, 4.0]),
    "matrix": lambda x: MATRIX @ x,
    "encoded": lambda x: TRANSFORM(x) * x,
}
POLICIES = ("resident", "async", "planned", "lru", "managed")


def run_twice(engine, program, x):
    """Later runs find the tables of the first one in memory, which can take some bytes more."""
    engine.run(program, x)
    engine.run(program, x)


@pytest.mark.parametrize("policy", ["lru", "planned", "managed"])
def test_minimum_of_a_program_that_uses_each_key_once(policy):
    params = hc.Params.preset("n13-d3")
    client = hc.Client(params)

    def program(x):
        return x + x.rotate(1) + x.rotate(3)

    traced = hc.trace_program(params, program)
    keys, x = client.evaluation_keys(plan=traced.key_plan), client.encrypt(np.zeros(params.slots))
    minimum = traced.minimum_budget.bytes(policy)
    run_twice(hc.Engine(params, keys, memory=minimum, policy=policy), program, x)
    with pytest.raises(hc.OutOfMemory, match=rf"\({minimum} bytes\) under '{policy}'"):
        hc.Engine(params, keys, memory=minimum - PAGE, policy=policy).run(program, x)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("policy", POLICIES)
def test_minimum_runs_and_less_is_refused_with_the_same_number(params, client, name, policy):
    program = PROGRAMS[name]
    traced = hc.trace_program(params, program, np.zeros(16))
    keys = client.evaluation_keys(plan=traced.key_plan)
    x = client.encrypt(np.linspace(-1, 1, 16))
    minimum = traced.minimum_budget.bytes(policy)
    expected = client.decrypt(hc.Engine(params, keys, threads=1).run(program, x))
    engine = hc.Engine(params, keys, memory=minimum, policy=policy, threads=1)
    for _ in range(2):  # the second plan begins with what the first run left
        assert np.array_equal(client.decrypt(engine.run(program, x)), expected)
        assert engine.last_run.peak_fast_bytes <= minimum
        assert engine.last_run.followed_plan == (policy == "planned")
    less = minimum - (1 if policy in ("resident", "async") else PAGE)
    with pytest.raises(hc.OutOfMemory, match=rf"\({minimum} bytes\) under '{policy}'"):
        run_twice(hc.Engine(params, keys, memory=less, policy=policy, threads=1), program, x)


@pytest.mark.parametrize("policy", ["resident", "planned"])
def test_refusals_state_one_number_whatever_the_budget(params, client, policy):
    program = PROGRAMS["rotate"]
    traced = hc.trace_program(params, program, np.zeros(16))
    keys, x = client.evaluation_keys(plan=traced.key_plan), client.encrypt(np.zeros(16))
    first = 700 * 1024 if policy == "resident" else 200 * 1024
    said = set()
    for budget in range(first, traced.minimum_budget.bytes(policy), 100_000):
        try:
            hc.Engine(params, keys, memory=budget, policy=policy, threads=1).run(program, x)
        except hc.OutOfMemory as error:
            said.add(re.search(rf"\((\d+) bytes\) under '{policy}'", str(error))[1])
            # What it says to type is enough.
            typed = re.findall(r"memory='([^']+)'", str(error))[-1]
    assert said <= {str(traced.minimum_budget.bytes(policy)), _alone(params, keys, policy)}
    engine = hc.Engine(params, keys, memory=typed, policy=policy, threads=1)
    engine.run(program, x)


def _alone(params, keys, policy):
    with pytest.raises(hc.OutOfMemory) as refused:
        hc.Engine(params, keys, memory="1KiB", policy=policy, threads=1)
    assert "tables and evaluation keys alone need" in str(refused.value)
    return re.search(rf"\((\d+) bytes\) under '{policy}'", str(refused.value))[1]


def test_refusals_suggest_planned(params, client):
    program = PROGRAMS["matrix"]
    traced = hc.trace_program(params, program, np.zeros(16))
    keys, x = client.evaluation_keys(plan=traced.key_plan), client.encrypt(np.zeros(16))
    minimum = traced.minimum_budget
    engine = hc.Engine(params, keys, memory=minimum.resident - PAGE, threads=1)
    suffices = re.escape(f"Give policy='planned', or memory='{minimum.text('resident')}'")
    with pytest.raises(hc.OutOfMemory, match=suffices):
        run_twice(engine, program, x)
    # One that only decides while it runs, and where neither fits.
    engine = hc.Engine(params, keys, memory="448KiB", policy="static", threads=1)
    with pytest.raises(hc.OutOfMemory, match="'static' decides by what is free") as refused:
        engine.run(program, x)
    assert f"memory='{minimum.text('planned')}' with policy='planned'" in str(refused.value)
    assert "under 'planned'" in str(minimum)
    with pytest.raises(hc.InvalidArgument, match="known for"):
        minimum.text("static")


def test_keys_that_the_engine_has_beyond_the_program_count(params, client, keys):
    program = PROGRAMS["square"]
    few = hc.trace_program(params, program, np.zeros(16))
    many = hc.trace_program(params, program, np.zeros(16), keys=keys)
    needed = many.minimum_budget.resident
    assert needed > few.minimum_budget.resident
    x = client.encrypt(np.zeros(16))
    run_twice(hc.Engine(params, keys, memory=needed, threads=1), program, x)
    with pytest.raises(hc.OutOfMemory, match=rf"\({needed} bytes\)"):
        run_twice(hc.Engine(params, keys, memory=needed - 1, threads=1), program, x)
    with pytest.raises(hc.MissingKey, match=r"rotations \[7\]"):
        hc.trace_program(params, lambda x: x.rotate(7), keys=keys)


def test_seeded_keys_and_other_ciphertexts_on_the_engine_count(params, client):
    program = PROGRAMS["rotate"]
    traced = hc.trace_program(params, program, np.zeros(16), keep_seeds=True)
    keys = client.evaluation_keys(plan=traced.key_plan)
    assert traced.minimum_budget.resident < hc.trace_program(params, program).minimum_budget.resident
    needed = traced.minimum_budget.resident
    engine = hc.Engine(params, keys, memory=needed, keep_seeds=True, threads=1)
    x = client.encrypt(np.zeros(16))
    engine.run(program, x)
    other = x.to(engine)
    with pytest.raises(hc.OutOfMemory, match=rf"\({needed + other.nbytes} bytes\) under 'resident'"):
        run_twice(engine, program, x)
    gc.collect()  # the traceback held what the refused run had made
    engine.set_budget(needed + other.nbytes)
    run_twice(engine, program, x)


def test_what_is_no_whole_program_says_that_more_may_be_needed(params, client, keys):
    engine = hc.Engine(params, client.evaluation_keys([1]), memory="900KiB", threads=1)
    x = client.encrypt(np.zeros(16)).to(engine)
    with pytest.raises(hc.OutOfMemory, match="to get past this point, perhaps more after it"):
        kept = [x.rotate(1) for _ in range(100)]
    kept = x * 2.0

    def reaches_out(y):
        return [y + kept for _ in range(100)]

    with pytest.raises(hc.OutOfMemory, match="perhaps more after it"):
        engine.run(reaches_out, x)


def test_parts_of_a_refused_run_count(params, client):
    traced = hc.trace_program(params, PROGRAMS["rotate"], np.zeros(16))
    keys, x = client.evaluation_keys(plan=traced.key_plan), client.encrypt(np.zeros(16))
    needed = traced.minimum_budget.resident
    engine = hc.Engine(params, keys, memory=needed - 1, threads=1)
    with pytest.raises(hc.OutOfMemory, match=rf"\({needed} bytes\) under 'resident'"):
        run_twice(engine, lambda x: engine.run(PROGRAMS["rotate"], x), x)


def test_keys_that_are_added_are_refused_with_their_sum(params, client, keys):
    minimum = _alone(params, keys, "resident")
    engine = hc.Engine(params, memory="350KiB", threads=1)
    with pytest.raises(hc.OutOfMemory, match=rf"evaluation keys alone need .*\({minimum} bytes\)"):
        engine.add_keys(keys)
    engine.set_budget(int(minimum))
    engine.add_keys(keys)
    # Those that it has already count.
    few, more = client.evaluation_keys([1]), client.evaluation_keys([2])
    wanted = _alone(params, client.evaluation_keys([1, 2]), "resident")
    engine = hc.Engine(params, few, memory=int(wanted) - 1, threads=1)
    with pytest.raises(hc.OutOfMemory, match=rf"\({wanted} bytes\) under 'resident'"):
        engine.add_keys(more)


def test_advice_counts_the_keys_of_the_engine(params, client):
    keys = client.evaluation_keys([1, 2])
    with pytest.raises(hc.OutOfMemory, match=r"trace_program\(params, program, keys=keys\)\.minimum_budget"):
        hc.Engine(params, keys, memory="20KiB", threads=1)
    needed = hc.trace_program(params, lambda x: x.rotate(1), keys=keys).minimum_budget.resident
    engine = hc.Engine(params, keys, memory=needed, threads=1)
    run_twice(engine, lambda x: x.rotate(1), client.encrypt(np.zeros(params.slots)))
    with pytest.raises(hc.OutOfMemory, match=r"Engine: tables alone need .*\(params, program\)\.minimum"):
        hc.Engine(params, memory="1KiB", threads=1)


def test_cached_is_told_that_it_needs_more_than_resident(params, client):
    traced = hc.trace_program(params, PROGRAMS["rotate"], np.zeros(16))
    keys, x = client.evaluation_keys(plan=traced.key_plan), client.encrypt(np.zeros(16))
    resident = traced.minimum_budget.resident
    assert traced.minimum_budget.bytes("cached") is None
    with pytest.raises(hc.OutOfMemory, match="evaluation keys alone need at least"):
        hc.Engine(params, keys, memory="1KiB", policy="cached", threads=1)
    engine = hc.Engine(params, keys, memory=resident - 1, policy="cached", threads=1)
    with pytest.raises(hc.OutOfMemory, match="'cached' needs more, for freed blocks") as refused:
        run_twice(engine, PROGRAMS["rotate"], x)
    assert f"({resident} bytes) under 'resident'" in str(refused.value)
    assert f"memory='{size_to_type(resident)}' with policy='resident'" in str(refused.value)


def test_profiled_says_where_decisions_go(params):
    with pytest.raises(hc.InvalidArgument, match=r"memory_options=MemoryOptions\(decisions=\.\.\.\)"):
        hc.Engine(params, memory="1MiB", policy="profiled")


def test_sizes_to_type_are_enough_and_short():
    rng = np.random.default_rng(5)
    for count in [*range(1, 5000), *(int(2**power) for power in rng.uniform(10, 45, 3000))]:
        text = size_to_type(count)
        assert count <= byte_count(text, "size") <= count * 1.012, (count, text)
        assert re.fullmatch(r"\d+|\d{1,4}(\.\d\d?)?[KMGT]iB", text), text
    assert size_to_type(17 << 20) == "17MiB"
    assert size_to_type((17 << 20) + 1) == "17.1MiB"


def test_shares_need_a_program(params, keys):
    traced = hc.trace_program(params, PROGRAMS["square"])
    assert traced.budget("50%") == -(-traced.peak_bytes // 2)
    assert traced.budget("1MiB") == 1 << 20
    engine = hc.Engine(params, keys, threads=1)
    for call in (
        lambda: hc.Engine(params, keys, memory="50%"),
        lambda: engine.set_budget("50%"),
        lambda: hc.MemoryBudget(" 50% "),
    ):
        with pytest.raises(hc.InvalidArgument, match=r"no program is known here.*\.budget\('50%'\)"):
            call()
    for bad in ("-5%", "nan%", "%", "x%"):
        with pytest.raises(hc.InvalidArgument, match="positive share"):
            traced.budget(bad)


# The command line


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """`halocline eval` of one program on files that are there; returns the result of the command."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    program = ("--expr", "(x*x + 0.5).rotate(1) * x")
    (tmp_path / "v.txt").write_text("1,2,3,4")
    for line in (
        ["keygen", "k", "--params", "test-n10-d3", *program],
        ["encrypt", "v.txt", "--key", "k/secret.hlc", "--out", "x.hlc"],
    ):
        assert runner.invoke(app, [*line, "--allow-insecure"]).exit_code == 0

    def run(*options, status=0):
        files = ["--keys", "k/keys.hlc", "--input", "x.hlc", "--out", "y.hlc", "--allow-insecure"]
        found = runner.invoke(app, ["eval", *files, *program, *options])
        assert found.exit_code == status, found.output
        return found

    return run


@pytest.mark.parametrize("budget", ["1KiB", "200KiB", "400KiB"])
def test_eval_states_the_minimum_once(evaluate, budget):
    for policy in ("resident", "planned"):
        said = evaluate("--memory", budget, "--policy", policy, status=1).stderr
        stated = re.findall(r"--memory (\S+)", " ".join(said.replace(",", "").split()))
        assert stated, said
        evaluate("--memory", stated[-1], "--policy", policy)
        assert "perhaps" not in said
    said = " ".join(evaluate("--memory", budget, status=1).stderr.split())
    offered = re.search(r"Give --memory (\S+) with --policy planned", said)[1]
    evaluate("--memory", offered, "--policy", "planned")


def test_eval_tells_the_peak_in_memory_from_what_was_live(evaluate, tmp_path):
    output = evaluate("--memory", "600KiB", "--policy", "planned", "--json", "r.json").stdout
    assert re.search(r"peak 600\.0 KiB of a budget of 600\.0 KiB in memory; 985\.0 KiB live in all", output)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["peak_bytes"] <= report["budget_bytes"] == 600 * 1024 < report["live_peak_bytes"]
    assert "live in all" not in evaluate().stdout


def test_eval_takes_a_share(evaluate, tmp_path):
    evaluate("--json", "all.json")
    evaluate("--memory", "60%", "--policy", "planned", "--json", "share.json")
    whole = json.loads((tmp_path / "all.json").read_text())["live_peak_bytes"]
    assert json.loads((tmp_path / "share.json").read_text())["budget_bytes"] == -(-whole * 6 // 10)
    assert "positive share" in evaluate("--memory", "-5%", status=1).stderr


def test_eval_takes_decisions(evaluate, tmp_path):
    assert "needs --decisions" in " ".join(evaluate("--policy", "profiled", status=1).stderr.split())
    assert "for --policy profiled" in evaluate("--decisions", "d.txt", status=1).stderr
    (tmp_path / "d.txt").write_bytes(hc._core.decisions_to_text(bytes([1] * 64)).encode())
    decided = evaluate("--policy", "profiled", "--decisions", "d.txt", "--memory", "4MiB").stdout
    assert "y.hlc" in decided


# Workloads


WORKLOADS = {
    "sorting": (SortingRun, SortingOptions(count=4, alpha=7, threads=1, bootstrap={"compact": True})),
    "helr": (HelrRun, HelrOptions(batch=32, iterations=6, threads=1)),
}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("policy", ["resident", "planned", "lru", "cached"])
def test_workloads_are_refused_before_keys_with_what_suffices(name, policy):
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    make, options = WORKLOADS[name]
    told = []

    def played(memory, policy):
        chosen = dataclasses.replace(options, memory=memory, policy=policy)
        return make(params, chosen, lambda *each: told.append(each[0])).run()

    with pytest.raises(hc.OutOfMemory, match="the whole program needs") as refused:
        played("100KiB", policy)
    assert "generating keys" not in told
    known = "resident" if policy == "cached" else policy
    needed = int(re.search(rf"\((\d+) bytes\) under '{known}'", str(refused.value))[1])
    assert played(needed, known)["peak_bytes"] <= needed
    told.clear()
    with pytest.raises(hc.OutOfMemory, match=rf"\({needed} bytes\) under '{known}'"):
        played(needed - PAGE, known)
    assert "generating keys" not in told
