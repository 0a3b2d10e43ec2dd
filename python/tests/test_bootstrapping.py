# SPDX-License-Identifier: Apache-2.0
"""Bootstrapping from Python: the class, engines, key plans, budgets, and the workload of the command line."""

import json

import halocline as hc
import numpy as np
import pytest
from halocline.cli.app import app
from halocline.plots.bootstraps import error_figure
from halocline.workloads.bootstrap.messages import disc
from halocline.workloads.bootstrap.run import BootstrapRun, BootstrapRunOptions
from halocline.workloads.settings import parse_settings
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("test-n11-boot", allow_insecure=True)


@pytest.fixture(scope="module")
def client(params):
    return hc.Client(params, threads=1)


@pytest.fixture(scope="module")
def sparse(params):
    return hc.Bootstrapper(params, slots=16)


@pytest.fixture(scope="module")
def engine(params, client, sparse):
    return hc.Engine(params, client.evaluation_keys(plan=sparse.key_plan), threads=1)


def error(client, ct, expected):
    return np.abs(client.decrypt(ct) - expected).max()


def bound(bootstrapper):
    """Two bits below the forecast, for messages that are not random."""
    return 2.0 ** (2 - bootstrapper.describe()["worst_bits"])


def test_gives_levels_back(client, engine, sparse):
    x = disc(16, 1)
    y = engine.run(sparse, client.encrypt(x, level=0))
    assert y.level == sparse.output_level == 4
    assert sparse.input_level == 0
    assert error(client, y, x) < bound(sparse)
    assert error(client, y * y, x * x) < 4 * bound(sparse)


def test_real_messages_stay_real(client, engine, sparse):
    y = engine.run(sparse, client.encrypt(np.linspace(-1, 1, 16), level=1))
    assert y.is_real
    assert client.decrypt(y).dtype == np.float64


def test_several_at_once(client, engine, sparse):
    xs = [disc(16, seed) for seed in range(3)]
    ys = engine.run(sparse, [client.encrypt(x, level=0) for x in xs])
    assert all(error(client, y, x) < bound(sparse) for y, x in zip(ys, xs, strict=True))


def test_of_an_engine_is_the_same(client, engine, sparse):
    ct = client.encrypt(disc(16, 2), level=0).to(engine)
    first = client.decrypt(engine.bootstrap(ct))
    assert np.array_equal(first, client.decrypt(sparse(ct)))
    assert len(engine._bootstrappers) == 1
    engine.bootstrap(ct)
    assert len(engine._bootstrappers) == 1


def test_key_plans_include_its_keys(params, sparse):
    plan = hc.key_plan(params, sparse, np.zeros(16))
    assert plan == sparse.key_plan
    assert plan.encapsulation
    assert plan.conjugation


# 64 copies of 16 slots: by doubling one key of the sum each time, by fours three keys for two doublings.
@pytest.mark.parametrize(("radix", "keys"), [(2, 0), (4, 3), (8, 8)])
def test_radix_of_the_sum(params, client, sparse, radix, keys):
    boots = hc.Bootstrapper(params, slots=16, sum_radix=radix)
    few = hc.Bootstrapper(params, slots=16, sum_radix=2).key_plan
    assert boots.describe()["sum_radix"] == radix and "sum_radix" in repr(boots)
    assert len(boots.key_plan.requests()) == len(few.requests()) + keys
    assert hc.key_plan(params, boots, np.zeros(16)) == boots.key_plan
    assert sparse.describe()["sum_radix"] == 4
    assert hc.Bootstrapper(params, slots=16, cts_mode="small_key").describe()["sum_radix"] == 2
    x = disc(16, radix)
    engine = hc.Engine(params, client.evaluation_keys(plan=boots.key_plan), threads=1)
    assert error(client, engine.run(boots, client.encrypt(x, level=0)), x) < bound(boots)
    with pytest.raises(hc.InvalidArgument, match=r"sum_radix 3.*power of two"):
        hc.Bootstrapper(params, slots=16, sum_radix=3).describe()


def test_runs_under_a_plan(params, client, sparse):
    keys = client.evaluation_keys(plan=sparse.key_plan)
    engine = hc.Engine(params, keys, memory="24MiB", policy="planned", threads=1)
    x = disc(16, 3)
    ct = client.encrypt(x, level=0)
    for program in (sparse, lambda x: x.engine.bootstrap(x)):
        y = engine.run(program, ct)
        assert engine.last_run.followed_plan
        assert error(client, y, x) < bound(sparse)


def test_states_what_it_does(params):
    boots = hc.Bootstrapper(params, slots=64, order="stc_first", iterations=2)
    facts = boots.describe()
    assert facts["input_level"] == 2
    assert facts["output_level"] == params.max_level - 1
    assert facts["log2_failure_probability"] <= -32
    assert boots.log2_failure_probability == facts["log2_failure_probability"]
    assert "order='stc_first'" in repr(boots)


def test_client_can_check_messages(params):
    boots = hc.Bootstrapper(params, slots=16, message_bound=0.5)
    assert boots.largest_coefficient(np.ones(16)) == pytest.approx(1)
    x = disc(16, 5)
    powers = np.array([pow(5, k, 64) for k in range(16)])
    w = np.array([(x * np.exp(-2j * np.pi * powers * j / 64)).mean() for j in range(16)])
    assert boots.largest_coefficient(x) == pytest.approx(max(abs(w.real).max(), abs(w.imag).max()))
    boots.check_message(x)
    with pytest.raises(hc.InvalidArgument, match="scale the message down"):
        boots.check_message(np.ones(16))
    slots_first = hc.Bootstrapper(params, slots=16, order="stc_first")
    assert slots_first.largest_coefficient(x) == pytest.approx(max(abs(x.real).max(), abs(x.imag).max()))


def test_bad_input(params, client, engine, sparse):
    with pytest.raises(hc.InvalidArgument, match="power of two"):
        hc.Bootstrapper(params, slots=100).describe()
    with pytest.raises(hc.InvalidArgument, match="unknown options slot"):
        hc.Bootstrapper(params, slot=8)
    with pytest.raises(hc.InvalidArgument, match="order"):
        hc.Bootstrapper(params, order="sideways")
    with pytest.raises(hc.InvalidArgument, match="leaves the range"):
        hc.Bootstrapper(params, range=6).describe()
    with pytest.raises(hc.LevelExhausted, match="more are needed"):
        hc.Bootstrapper(params, cts_levels=5).describe()
    with pytest.raises(hc.InvalidArgument, match="no levels for bootstrapping"):
        hc.Bootstrapper(hc.Params.preset("test-n10-d3", allow_insecure=True)).describe()
    with pytest.raises(hc.MissingKey, match="rotation key for step"):
        hc.Engine(params, threads=1).run(sparse, client.encrypt(disc(16, 1), level=0))
    with pytest.raises(hc.InvalidArgument, match="slots"):
        engine.run(sparse, client.encrypt(disc(8, 1), level=0))


@pytest.mark.parametrize(("policy", "memory", "calls"), [("resident", None, 50), ("planned", "50%", 20)])
def test_chain_of_the_workload_stays_bounded(params, policy, memory, calls):
    """Bootstraps of one ciphertext, one after another: errors add, nothing is left behind in memory."""
    options = BootstrapRunOptions(
        threads=1, repeat=calls, policy=policy, memory=memory, bootstrap={"slots": 8, "compact": True}
    )
    report = BootstrapRun(params, options).run()
    forecast = report["bootstrap"]["worst_bits"]
    assert report["precision_worst_bits"] > forecast - 2
    for number, found in enumerate(report["precision_worst_bits_by_call"], start=1):
        assert found > forecast - 2 - np.log2(number)
    series = report["memory_by_call"]
    assert all(len(each) == calls for each in series.values())
    assert len(set(series["live_bytes"][1:])) == 1
    # Tables come with the first calls, and the second is planned anew.
    # What is in memory at the same time depends a little on when loads end, but nothing grows.
    later = series["peak_bytes"][2:]
    assert max(later[len(later) // 2 :]) <= 1.05 * max(later[: len(later) // 2])
    # The plan of the second call is for calls that begin with what it leaves, as those from the fourth on do.
    # The third begins with what the second leaves, whose beginning was another one. How much more or less it
    # loads depends on the plan, which depends on the links that were measured in this process.
    assert len(set(series["loaded_bytes"][3:])) == 1
    assert series["resident_bytes"][-1] < series["resident_bytes"][2] + (8 << 20)


def test_batches_of_the_workload(params):
    options = BootstrapRunOptions(threads=1, batches=2, repeat=2, bootstrap={"slots": 8})
    report = BootstrapRun(params, options).run()
    assert report["precision_worst_bits_by_call"][-1] > report["bootstrap"]["worst_bits"] - 3
    assert report["ms_per_bootstrap"] < 1e3 * min(report["program_seconds"])


@pytest.mark.parametrize(("policy", "memory"), [("resident", None), ("planned", "60%"), ("lru", "70%")])
def test_keys_used_least_stay_seeded_where_memory_is_short(params, policy, memory):
    settings = {"baby_count": 3, "compact": True}  # with diagonals that are expanded at each use
    options = BootstrapRunOptions(
        threads=1, policy=policy, memory=memory, key_memory="75%", bootstrap=settings, repeat=2
    )
    report = BootstrapRun(params, options).run()
    full = BootstrapRun(params, BootstrapRunOptions(threads=1, bootstrap=settings)).run()
    assert 0 < report["seeded_keys"] < report["distinct_keys"] == full["distinct_keys"]
    assert 0.6 * full["key_bytes"] < report["key_bytes"] <= 0.75 * full["key_bytes"]
    assert report["followed_plan"] == (policy == "planned")
    assert report["precision_worst_bits"] > full["precision_worst_bits"] - 2  # other messages, other noise


def test_transforms_are_chosen_for_a_memory(params):
    assert parse_settings(["memory=2GiB"]) == {"memory": "2GiB"}
    fast, small = (hc.Bootstrapper(params, slots=16, memory=each) for each in ("8GiB", 1))
    assert fast.describe()["cts_matrices"] == ["double_hoisted"]
    assert fast.describe()["seeded_keys"] == 0
    assert small.key_plan.nbytes() < fast.key_plan.nbytes()
    assert small.describe()["seeded_keys"] > 0
    assert parse_settings(["cts_matrices=8, 4 compact"]) == {"cts_matrices": ("8", "4 compact")}
    with pytest.raises(hc.InvalidArgument):
        hc.Bootstrapper(params, memory="much").describe()


def test_which_keys_stay_seeded(params, sparse, client):
    plan = sparse.key_plan
    uses = hc.trace_program(params, sparse, client.encrypt(disc(16, 3), level=0)).key_uses
    assert set(uses) == {element for element, _ in plan.requests()}
    assert plan.seeded_within(plan.nbytes(), uses) == frozenset()
    assert plan.seeded_within(plan.nbytes(seeded=True), uses) == set(uses)
    few = plan.seeded_within(plan.nbytes() - 1, uses)
    assert len(few) == 1 and uses[next(iter(few))] == min(uses.values())
    with pytest.raises(hc.InvalidArgument, match="even if all"):
        plan.seeded_within(plan.nbytes(seeded=True) - 1, uses)
    with pytest.raises(hc.WrongType, match="keep_seeds"):
        hc.Engine(params, keep_seeds="all")
    x = disc(16, 5)
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), threads=1, keep_seeds=few)
    assert error(client, engine.run(sparse, client.encrypt(x, level=0)), x) < bound(sparse)


def test_command(tmp_path):
    result = CliRunner().invoke(
        app,
        ["run", "bootstrap", "--params", "test-n11-boot", "--allow-insecure", "--set", "slots=8", "--threads",
         "1", "--policy", "planned", "--memory", "50%", "--plot", str(tmp_path / "p.png"), "--json",
         str(tmp_path / "r.json")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["workload"] == "bootstrap"
    assert report["followed_plan"]
    assert report["peak_bytes"] <= report["budget_bytes"]
    assert report["log2_modulus_left"] > 100
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_settings_of_the_command():
    parsed = parse_settings(["slots=8", "cts_mode=small_key", "compact=true", "fraction=0.5", "range=12"])
    assert parsed == {"slots": 8, "cts_mode": "small_key", "compact": True, "fraction": 0.5, "range": 12.0}
    with pytest.raises(hc.InvalidArgument, match="unknown name 'slot'"):
        parse_settings(["slot=8"])
    with pytest.raises(hc.InvalidArgument, match="expected an integer behind slots="):
        parse_settings(["slots=many"])
    assert parse_settings(["cts_stages=5,4,4,2"]) == {"cts_stages": (5, 4, 4, 2)}
    with pytest.raises(hc.InvalidArgument, match="integers with commas"):
        parse_settings(["cts_stages=5,,4"])


def test_the_picture_says_what_it_shows():
    """A title with parameters, device and policy, and units on every axis."""
    report = {"bootstrap": {"slots": 8}, "params": "n16-boot", "device": "cpu", "policy": "lru"}
    call = dict.fromkeys(
        ("mean_bits", "worst_bits", "live_bytes", "peak_bytes", "loaded_bytes", "resident_bytes"), 1.0
    )
    figure = error_figure(report | {"batches": 2, "repeat": 3}, np.full(8, 2.0**-20), [call] * 3)
    title = figure.get_suptitle()
    assert title == "Bootstraps of 8 slots with n16-boot on cpu, policy lru: 2 at once, 3 times"
    for panel in figure.axes:
        assert panel.get_title()
        assert panel.get_xlabel() and "," in panel.get_ylabel()


@pytest.mark.parametrize(("slots", "order"), [(16, "cts_first"), (None, "stc_first")])
def test_from_the_sparse_secret(tmp_path, slots, order):
    """Raised rotation keys from a file and from a store: fewer bytes of keys, the same precision."""
    params = hc.Params.preset("test-n12-boot", allow_insecure=True)
    client = hc.Client(params, threads=1)
    boots = hc.Bootstrapper(params, slots=slots, order=order, from_sparse=True)
    assert boots.describe()["from_sparse"] is True
    count = slots or params.slots
    x = disc(count, 3)
    keys = client.evaluation_keys(plan=boots.key_plan)
    keys.save(tmp_path / "keys.hl")
    store = hc.KeyStore(f"file:{tmp_path}/store")
    store.put("alice", keys)
    ct = client.encrypt(x, level=boots.input_level)
    for source in (hc.EvaluationKeys.load(tmp_path / "keys.hl", params), store.user("alice")):
        y = hc.Engine(params, source, threads=1).run(boots, ct)
        assert y.level == boots.output_level
        assert error(client, y, x) < bound(boots)
    plain = hc.Bootstrapper(params, slots=slots, order=order)
    assert boots.key_plan.nbytes() < plain.key_plan.nbytes()
