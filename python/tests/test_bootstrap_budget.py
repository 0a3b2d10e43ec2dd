# SPDX-License-Identifier: Apache-2.0
"""Bootstraps of an engine with a budget: how matrices are done, and which keys stay seeded."""

import halocline as hc
import numpy as np
import pytest
from halocline.circuits.matrix_ways import read_ways, way_text
from halocline.workloads.bootstrap.messages import disc
from halocline.workloads.bootstrap.run import BootstrapRun, BootstrapRunOptions


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


@pytest.fixture(scope="module")
def client(params):
    return hc.Client(params, threads=1)


@pytest.fixture(scope="module")
def keys(params, client):
    return client.evaluation_keys(plan=hc.Bootstrapper(params).key_plan)


@pytest.fixture(scope="module")
def tight(keys):
    """A third of the keys, expanded."""
    return 2 * keys.nbytes // 3 >> 12 << 12


def planned(params, keys, memory, **how):
    return hc.Engine(params, keys, memory=memory, policy="planned", threads=1, **how)


def seeded(engine):
    return engine._keep_seeds


def test_a_plain_engine_chooses_within_its_budget(params, client, keys, tight):
    boots = hc.Bootstrapper(params, message_bound=1 / 4)
    engine = planned(params, keys, tight)
    values = disc(params.slots, 1)
    x = client.encrypt(values, level=0)
    for _ in range(2):
        y = engine.run(boots, x)
        assert engine.last_run.followed_plan
        assert engine.last_run.peak_fast_bytes <= tight
        assert np.abs(client.decrypt(y) - values).max() < 2.0 ** (2 - boots.describe()["worst_bits"])
    here, written = boots.describe(engine), boots.describe()
    assert here["cts_matrices"] != written["cts_matrices"]
    assert written["seeded_keys"] == 0 < here["seeded_keys"] == len(seeded(engine))
    assert len(boots.key_plan) == len(keys.requests())  # as options say
    again = planned(params, keys, tight)
    assert again.run(boots, x).level == boots.output_level
    assert boots.describe(again) == here
    assert seeded(again) == seeded(engine)


def test_a_plan_moves_less_than_without_the_choice(params, client, keys, tight):
    x = client.encrypt(disc(params.slots, 1), level=0)
    loaded = []
    for memory in (0, None):
        boots, engine = hc.Bootstrapper(params, memory=memory), planned(params, keys, tight)
        for _ in range(2):
            engine.run(boots, x)
        loaded.append(engine.last_run.bytes_moved["loaded"])
    assert loaded[1] < loaded[0]


def test_with_room_for_everything_nothing_changes(params, client, keys):
    boots = hc.Bootstrapper(params)
    x = client.encrypt(disc(params.slots, 1), level=0)
    roomy, plain = planned(params, keys, "8GiB"), hc.Engine(params, keys, threads=1)
    assert np.array_equal(client.decrypt(roomy.run(boots, x)), client.decrypt(plain.run(boots, x)))
    assert seeded(roomy) is False


@pytest.mark.parametrize(
    "options",
    [{"memory": 0}, {"memory": "0"}, {"baby_count": 4}, {"compact": True}, {"stc_matrices": ("4", "4", "4")}],
)
def test_explicit_options_win(params, client, keys, tight, options):
    boots, engine = hc.Bootstrapper(params, **options), planned(params, keys, tight)
    here, written = boots.describe(engine), boots.describe()
    assert (here["cts_matrices"], here["stc_matrices"]) == (written["cts_matrices"], written["stc_matrices"])
    assert seeded(engine) is False


@pytest.mark.parametrize("keep", [False, True, [5]])
def test_explicit_seeds_win(params, keys, tight, keep):
    engine = planned(params, keys, tight, keep_seeds=keep)
    boots = hc.Bootstrapper(params)
    assert boots.describe(engine)["cts_matrices"] != boots.describe()["cts_matrices"]
    assert seeded(engine) == (frozenset(keep) if isinstance(keep, list) else keep)


def test_a_circuit_choice_wins(params, keys, tight):
    engine = planned(params, keys, tight, circuits=hc.CircuitChoice(bootstrap_baby_count=4))
    facts = hc.Bootstrapper(params).describe(engine)
    assert {*facts["cts_matrices"], *facts["stc_matrices"]} == {"4"}


@pytest.mark.parametrize("policy", ["resident", "lru"])
def test_other_policies_leave_bootstraps_as_they_are(params, keys, policy):
    engine = hc.Engine(params, keys, memory="8GiB", policy=policy, threads=1)
    boots = hc.Bootstrapper(params)
    assert boots.describe(engine) == boots.describe()


def test_what_was_chosen_stays(params, client, keys, tight):
    boots, engine = hc.Bootstrapper(params), planned(params, keys, tight)
    x = client.encrypt(disc(params.slots, 1), level=0)
    engine.run(boots, x)
    before, kept = boots.describe(engine), seeded(engine)
    engine.set_budget("8GiB")
    another = hc.KeyPlan(params, [(pow(5, 11, 2 * params.n), 3)])
    engine.add_keys(client.evaluation_keys(plan=another))
    engine.run(boots, x)
    assert engine.last_run.followed_plan
    assert (boots.describe(engine), seeded(engine)) == (before, kept)


def test_a_memory_of_its_own_says_which_keys_it_needs(params, client, keys, tight):
    boots = hc.Bootstrapper(params, memory=tight)
    assert len(boots.key_plan) < len(keys.requests())
    own = client.evaluation_keys(plan=boots.key_plan)
    engine = planned(params, own, tight)
    values = disc(params.slots, 1)
    y = engine.run(boots, client.encrypt(values, level=0))
    assert np.abs(client.decrypt(y) - values).max() < 2.0 ** (2 - boots.describe()["worst_bits"])
    assert boots.describe(engine)["cts_matrices"] == boots.describe()["cts_matrices"]


def test_seeds_change_no_integers(params, client, keys, tight):
    """The same matrices with keys that are seeded later, at once, or not at all."""
    boots = hc.Bootstrapper(params, memory=tight)
    own = client.evaluation_keys(plan=boots.key_plan)
    x = client.encrypt(disc(params.slots, 1), level=0)
    engines = [hc.Engine(params, own, threads=1, keep_seeds=each) for each in (None, False, True)]
    results = [client.decrypt(each.run(boots, x)) for each in engines]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
    assert 0 < len(seeded(engines[0])) <= len(boots.key_plan)
    held = [each.stats()["live_by_class"]["evaluation_key"] for each in engines]
    assert held[2] <= held[0] < held[1]


@pytest.mark.parametrize(
    ("text", "row", "back"),
    [
        ("8", ("double_hoisted", 8, False), "8"),
        ("double_hoisted 8 compact", ("double_hoisted", 8, True), "8 compact"),
        ("compact", ("double_hoisted", 0, True), "double_hoisted compact"),
        ("small_key", ("small_key", 0, False), "small_key"),
        ("bsgs 4", ("bsgs", 4, False), "bsgs 4"),
    ],
)
def test_texts_of_matrices(text, row, back):
    assert read_ways([text], "it") == [row]
    assert way_text(row) == back
    assert read_ways([back], "it") == [row]


@pytest.mark.parametrize("text", ["", "fast", "8 8", "compact 8", "-1", "8 small_key", "1000000"])
def test_other_texts_are_refused(params, text):
    with pytest.raises(hc.InvalidArgument, match="cts_matrices"):
        hc.BootstrapOptions(cts_matrices=(text,))


def test_a_way_for_each_matrix(params):
    with pytest.raises(hc.InvalidArgument, match="ways of 1 matrices for"):
        hc.Bootstrapper(params, cts_matrices=("8",)).describe()


def test_traces_of_a_memory_of_its_own_begin_with_the_keys_that_stay_seeded(params, tight):
    boots = hc.Bootstrapper(params, message_bound=1 / 4, memory=tight)
    traced = hc.trace_program(params, boots, np.zeros(params.slots))
    assert boots.describe()["seeded_keys"] > 0
    assert traced.key_plan.requests() == boots.key_plan.requests()
    assert 0 < traced.minimum_budget.planned < traced.peak_bytes


@pytest.mark.parametrize("how", [{}, {"seeded": True}, {"bootstrap": {"memory": 0}}])
def test_the_workload_has_the_keys_that_suit_its_budget(params, keys, tight, how):
    options = BootstrapRunOptions(threads=1, policy="planned", memory=tight, **how)
    report = BootstrapRun(params, options).run()
    assert report["followed_plan"]
    assert (report["distinct_keys"] < len(keys.requests())) == (not how)
