# SPDX-License-Identifier: Apache-2.0
"""BM-bootstrap: all kinds of bootstrapping on several parameter sets that share a budget."""

import json

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.papers.hybrid.bootstrap import KINDS, Stage, decide_for_all, footprint_of
from halocline.papers.hybrid.bootstrap_run import BmBootstrapRun, BmOptions
from halocline.papers.hybrid.options import BOOT_PRESETS as PRESETS
from halocline.tracing.replay import POLICIES
from typer.testing import CliRunner

NAMES = ("test-n11-boot", "test-n11-boot64")
FEW = ("sparse", "small-key")
KEEP_EVERYTHING = ("resident", "async", "cached")


@pytest.fixture(scope="module")
def sets():
    return [hc.Params.preset(name, allow_insecure=True) for name in NAMES]


def play(sets, **options):
    made = BmBootstrapRun(sets, BmOptions(**({"threads": 1, "kinds": FEW} | options)))
    made.run()
    return made


def test_presets_are_those_of_the_paper():
    assert all(hc.Params.preset(name).security_bits >= 128 for name in PRESETS)
    assert [name.removesuffix("-boot") for name in PRESETS] == [
        "FVa",
        "FVb",
        "FVc",
        "FGa",
        "FGb",
        "FTa",
        "FTb",
    ]


def test_every_kind_is_as_precise_as_it_says(sets):
    report = play(sets, kinds=tuple(KINDS)).report
    assert report["failed"] is None
    assert [row["params"] for row in report["rows"]] == [name for name in NAMES for _ in KINDS]
    assert [row["kind"] for row in report["rows"]] == [*KINDS] * 2
    for row in report["rows"]:
        assert row["precision_worst_bits"] > row["forecast_worst_bits"] - 2
        assert row["precision_bits"] >= row["precision_worst_bits"]
    keys = {row["kind"]: row["keys"] for row in report["rows"]}
    assert keys["small-key"] < keys["sparse"] < keys["full"] <= report["presets"][0]["keys"]
    assert report["peak_bytes"] == report["live_peak_bytes"] == report["footprint_bytes"]
    assert report["presets"][1]["live_bytes"] > report["presets"][1]["key_bytes"]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_completes_or_says_what_would_do(sets, policy):
    """In 45 % of what all sets touch, the keys of the first set have to go when those of the second come."""
    report = play(sets, policy=policy, memory="45%", repeat=2).report
    assert report["peak_bytes"] <= report["budget_bytes"] < report["footprint_bytes"]
    if policy in KEEP_EVERYTHING:
        assert "budget of at least" in report["failed"]["message"]
        assert report["failed"]["params"] == NAMES[len(report["rows"]) > 0]
        return
    assert report["failed"] is None
    assert len(report["rows"]) == 2 * len(FEW) * len(NAMES)
    assert report["bytes_moved"]["loaded"] > 0
    assert all(row["precision_worst_bits"] > row["forecast_worst_bits"] - 2 for row in report["rows"])
    assert report["followed_plan"] == (policy == "planned")


def test_keys_of_a_set_stay_until_others_need_the_room(sets):
    """With room for everything nothing comes back in the second round; with half of it something does."""
    loaded = {}
    for memory in ("110%", "50%"):
        rows = play(sets, policy="lru", memory=memory, repeat=2).report["rows"]
        loaded[memory] = sum(row["bytes_moved"]["loaded"] for row in rows if row["round"] == 2)
    assert loaded["110%"] == 0
    assert loaded["50%"] > 10 << 20


@pytest.mark.parametrize("policy", ["lru", "managed", "planned"])
def test_sets_take_turns_with_the_memory(sets, policy):
    """The set that is bootstrapping has most of the budget; the memory of the others is reclaimed."""
    report = play(sets, policy=policy, memory="50%", kinds=("full",), repeat=2).report
    assert all(row["peak_bytes"] > 0.6 * report["budget_bytes"] for row in report["rows"])


def test_async_peak_sets_the_share_of_the_pool(sets):
    stages = [Stage(each, FEW, {}) for each in sets]
    rehearsals = [stage.rehearse(2, record=True) for stage in stages]
    memory = footprint_of(rehearsals)
    shares = []
    for peak in (0.0, 0.1, 0.5, 1.0):
        made = decide_for_all(stages, rehearsals, 2, int(peak * memory))
        counts = [int(np.count_nonzero(each.columns["action"] == "allocate"))
                  for each in (rehearsal.trace for rehearsal in rehearsals)]  # fmt: skip
        assert [len(each) for each in made] == counts
        shares.append(sum(map(sum, made)) / sum(map(len, made)))
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] > 0.99


def test_ghosts_allocate_what_engines_do(sets):
    """Decisions go by the order of allocations, so that of the rehearsal must be the run's."""
    (stage,) = [Stage(sets[0], FEW, {})]
    made = play(sets[:1], record_trace=True, repeat=2)
    rehearsed = stage.rehearse(2, record=True).trace

    def sizes(trace, cls):
        columns = trace.columns
        chosen = (columns["action"] == "allocate") & (columns["class"] == cls)
        return columns["bytes"][chosen].tolist()

    for cls in ("ciphertext", "scratch", "plaintext"):
        assert sizes(made.trace, cls) == sizes(rehearsed, cls)
    assert sorted(sizes(made.trace, "evaluation_key")) == sorted(sizes(rehearsed, "evaluation_key"))


def test_trace_of_all_sets(sets):
    made = play(sets, record_trace=True, repeat=2)
    phases = list(dict.fromkeys(tag.rpartition("/")[0] for tag in made.trace.columns["tag"]))
    named = [each for each in phases if each.split("/")[-1].split(" ")[0] in FEW]
    wanted = [f"{name}/{kind} {number}" for number in (1, 2) for name in NAMES for kind in FEW]
    assert [each for each in dict.fromkeys(named) if each in wanted] == wanted
    assert made.trace.peak_bytes == made.report["live_peak_bytes"]


def test_bad_options(sets):
    with pytest.raises(hc.InvalidArgument, match="kinds: got 'empty', expected one of: full"):
        BmBootstrapRun(sets, BmOptions(kinds=("empty",)))
    with pytest.raises(hc.InvalidArgument, match="none twice"):
        BmBootstrapRun([sets[0], sets[0]])
    with pytest.raises(hc.InvalidArgument, match="async_peak"):
        BmBootstrapRun(sets, BmOptions(async_peak=1.5))
    with pytest.raises(hc.InvalidArgument, match="ghost"):
        BmBootstrapRun(sets, BmOptions(device="ghost"))


def test_kinds_that_do_not_apply_are_named(sets):
    stage = Stage(sets[0], ("full", "sparse"), {"cts_levels": 5})
    assert "full" in stage.skipped
    assert "levels" in stage.skipped["full"]


COMMAND = ["run", "bm-bootstrap", "--presets", ",".join(NAMES), "--allow-insecure", "--threads", "1"]


def test_command(tmp_path):
    outputs = {name: str(tmp_path / name) for name in ("r.json", "p.png", "t.csv")}
    options = ["--kinds", ",".join(FEW), "--policy", "profiled", "--memory", "50%", "--async-peak", "0.4"]
    files = ["--json", outputs["r.json"], "--plot", outputs["p.png"], "--trace", outputs["t.csv"]]
    done = CliRunner().invoke(app, [*COMMAND, *options, *files])
    assert done.exit_code == 0, done.output
    assert "small-key" in done.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["workload"] == "bm-bootstrap"
    assert report["async_peak"] == 0.4
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    assert len(hc.Trace.load(tmp_path / "t.csv")) > 1000


def test_command_that_runs_out_of_memory_keeps_what_was_done(tmp_path):
    path = tmp_path / "r.json"
    options = ["--kinds", "sparse", "--memory", "60%", "--json", str(path)]
    done = CliRunner().invoke(app, [*COMMAND, *options])
    assert done.exit_code == 1
    assert "budget of at least" in done.output
    report = json.loads(path.read_text())
    assert report["failed"]["params"] == NAMES[1]
    assert [row["params"] for row in report["rows"]] == [NAMES[0]]


def test_command_refuses_what_is_for_other_workloads():
    for arguments in (["bm-bootstrap", "--params", NAMES[0]], ["bootstrap", "--presets", NAMES[0]]):
        done = CliRunner().invoke(app, ["run", *arguments])
        assert done.exit_code == 2
        assert f"{arguments[0]} has no option {arguments[1]}" in done.output


def test_traces_of_workloads_that_bootstrap(tmp_path):
    for name, params in (("bootstrap", NAMES[0]), ("bm-bootstrap", ",".join(NAMES))):
        path = tmp_path / "t.csv"
        arguments = ["trace", "record", name, "--params", params, "--allow-insecure", "-o", str(path)]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        tags = {tag.split("/")[1] for tag in hc.Trace.load(path).columns["tag"] if "/" in tag}
        assert ("small-key 1" in tags) == (name == "bm-bootstrap")
