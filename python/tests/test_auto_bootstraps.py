# SPDX-License-Identifier: Apache-2.0
"""Engines that bootstrap by themselves: results, policies, programs that change, and errors."""

import random

import halocline as hc
import numpy as np
import pytest
from halocline.ckks.client import ENCAPSULATION
from halocline.engine.recorded_graph import record_graph
from halocline.engine.shared_engine import SharedEngine

SLOTS = 16
VALUES = np.linspace(0.1, 0.9, SLOTS)


def recurrence(x, steps=9):
    for _ in range(steps):
        x = 2.5 * (x * (1 - x))
    return x


def three_at_once(xs):
    for _ in range(7):
        xs = [x * x - 0.5 for x in xs]
    return xs


@pytest.fixture(scope="module")
def params():
    return hc.Params.preset("test-n11-boot", allow_insecure=True)


@pytest.fixture(scope="module")
def client(params):
    return hc.Client(params, threads=1)


@pytest.fixture(scope="module")
def ct(client):
    return client.encrypt(VALUES)


@pytest.fixture(scope="module")
def keys(params, client, ct):
    """Of all bootstraps of these slots, and rotations by one."""
    plan = hc.key_plan(params, recurrence, ct, bootstrap="auto")
    rotated = hc.key_plan(params, lambda x: x.rotate(1), ct)
    return client.evaluation_keys(plan=rotated, extend=client.evaluation_keys(plan=plan))


@pytest.fixture
def engine(params, keys):
    return hc.Engine(params, keys, bootstrap="auto", threads=1)


def bound(params, bootstraps, gain=1.0):
    """The errors of all bootstraps, two bits below the forecast, as far as they are enlarged behind."""
    bits = hc.Bootstrapper(params, slots=SLOTS).describe()["worst_bits"]
    return bootstraps * gain * 2.0 ** (2 - bits)


def error(client, result, expected):
    return np.abs(client.decrypt(result) - expected).max()


def test_a_recurrence_never_names_a_level(params, client, engine, ct):
    y = engine.run(recurrence, ct)
    points = engine.explain().bootstraps
    # 18 levels from level 5, and 4 with each bootstrap of 16 slots; the map contracts to its fixed point 0.6.
    assert len(points) == 4
    assert error(client, y, recurrence(VALUES)) < bound(params, 4)
    assert y.is_real
    assert engine.last_run.bootstraps == 4
    assert ct.level == 5  # the caller's ciphertext is as it was


def test_integers_are_those_of_bootstraps_by_hand(params, client, keys, engine, ct):
    """The same program with bootstraps where the engine placed them, and lowered as it lowers."""
    y = engine.run(recurrence, ct)
    placed = engine._automatic.current.placement
    plain = hc.Engine(params, keys, threads=1)
    boots = hc.Bootstrapper(params, slots=SLOTS, real=True)

    def by_hand(x):
        made = [x]

        def note(value):
            number = len(made)
            if number in placed.refreshed:
                value = boots(value)
            level = placed.lowered.get(number, value.level)
            made.append(value if level == value.level else value.drop_level(level))
            return made[-1]

        x = x if 0 not in placed.lowered else x.drop_level(placed.lowered[0])
        for _ in range(9):
            x = note(2.5 * note(x * note(1 + note(-x))))
        return x

    assert np.array_equal(client.decrypt(y), client.decrypt(plain.run(by_hand, ct)))


def test_several_ciphertexts_share_calls(params, client, engine):
    xs = [VALUES, -VALUES, VALUES / 2]
    ys = engine.run(three_at_once, [client.encrypt(x) for x in xs])
    placed = engine._automatic.current.placement
    assert [len(group) for group in placed.groups] == [3]
    assert engine._automatic.last.done == 3
    assert engine._automatic.last.extra == 0
    for y, expected in zip(ys, three_at_once(xs), strict=True):
        assert error(client, y, expected) < bound(params, 1, 4.0)  # squares at most double it, then shrink


def test_runs_are_the_same_under_a_plan(params, client, keys, engine, ct):
    same = {"memory": 0}  # matrices are done as without a budget
    planned = hc.Engine(params, keys, bootstrap=same, memory="24MiB", policy="planned", threads=1)
    expected = client.decrypt(engine.run(recurrence, ct))
    for _ in range(2):
        y = planned.run(recurrence, ct)
        assert planned.last_run.followed_plan, planned.last_run.divergence
        assert np.array_equal(client.decrypt(y), expected)
    assert planned._automatic.last.extra == 0


def test_operations_outside_of_runs_bootstrap_what_they_lack(params, client, engine, ct):
    x = ct.to(engine)
    y = recurrence(x)
    assert error(client, y, recurrence(VALUES)) < bound(params, 6)
    low = client.encrypt(VALUES, level=0).to(engine)
    square = low * low
    assert low.level == 4  # bootstrapped in place, for all uses that follow
    assert square.level == 3
    shifted = hc.LinearTransform({1: np.ones(SLOTS)})(client.encrypt(VALUES, level=0).to(engine))
    assert error(client, shifted, np.roll(VALUES, -1)) < bound(params, 1)
    raised = client.encrypt(VALUES, level=1).to(engine).drop_level(3)
    assert raised.level == 3


def test_linear_combinations_bootstrap_what_they_lack(params, client, engine, ct):
    low, high = client.encrypt(VALUES, level=0).to(engine), ct.to(engine)
    weights = np.array([[0.3, 0.1], [1.0, 1e-14]])  # whole numbers take no level, the last one rounds to 0
    made = engine.combine([low, high], weights)
    assert made[0].level == made[1].level > 0
    for each, expected in zip(made, weights @ [VALUES, VALUES], strict=True):
        assert np.abs(client.decrypt(each) - expected).max() < bound(params, 2)
    (lowered,) = engine.combine([low, high], [[0.5, 0.5]], level=1)
    assert lowered.level == 1


def test_arguments_without_levels_are_bootstrapped(params, client, engine):
    low = client.encrypt(VALUES, level=0)
    y = engine.run(lambda x: x * x * x, low)
    assert [each.operation for each in engine.explain().bootstraps] == ["input"]
    assert error(client, y, VALUES**3) < bound(params, 1, 3.0)


def test_programs_that_need_none_are_left_alone(params, client, keys, engine, ct):
    plain = hc.Engine(params, keys, threads=1)
    both = [each.run(recurrence, ct, 2) for each in (engine, plain)]
    assert engine.explain().bootstraps == ()
    assert np.array_equal(*map(client.decrypt, both))
    assert both[0].level == both[1].level


def test_a_program_that_changes_is_noticed_and_recorded_again(params, client, engine, ct):
    calls = []

    def changing(x):
        calls.append(x.engine.is_ghost)
        if len(calls) <= 2:  # the recording, and the run that follows it
            return recurrence(x)
        y = recurrence(x.rotate(1))
        return y * y

    engine.run(changing, ct, key="changing")
    assert engine._automatic.last.departure is None
    y = engine.run(changing, ct, key="changing")
    assert "operation 1 was rotate" in engine._automatic.last.departure
    expected = recurrence(np.roll(VALUES, -1)) ** 2
    assert error(client, y, expected) < bound(params, 8, 2.0)
    assert calls == [True, False, False]
    y = engine.run(changing, ct, key="changing")
    assert calls == [True, False, False, True, False]
    assert engine._automatic.last.departure is None
    assert error(client, y, expected) < bound(params, 8, 2.0)


def test_parts_of_programs_and_threads_of_levels(params, client, engine, ct):
    """A run inside a run, the same value used at several depths, and arguments that appear twice."""

    def program(x, same, rest):
        y = x.engine.run(recurrence, x)
        return y * same + rest["x"] * recurrence(y, 3)

    y = engine.run(program, ct, ct, {"x": ct})
    once = recurrence(VALUES)
    assert error(client, y, once * VALUES + VALUES * recurrence(once, 3)) < bound(params, 9, 2.0)
    assert engine._automatic.last.extra == 0


def test_two_threads_may_bootstrap_one_argument(client, engine, monkeypatch):
    """Where another thread bootstraps both while this one looks for what can share its call."""
    refresher = engine._automatic.refresher
    kind_of, raised = refresher._kind, []

    def program(xs):
        waiting = list(refresher._waiting.values())  # none while it is recorded
        if waiting:
            first, second = waiting

            def meanwhile(native):
                monkeypatch.undo()
                raised.append(refresher._settle(second, kind_of(native)))
                return kind_of(native)

            monkeypatch.setattr(refresher, "_kind", meanwhile)
            assert refresher._settle(first, kind_of(first.native)) is first.native
        return xs[0] * xs[1] * xs[0]

    low = [client.encrypt(VALUES, level=0) for _ in range(2)]
    y = engine.run(program, low, key="two threads")
    assert [each.level > 0 for each in raised] == [True]
    assert error(client, y, VALUES**3) < bound(engine.params, 2, 3.0)


def test_an_interrupt_before_the_program_leaves_nothing_behind(client, engine, ct, monkeypatch):
    refresher = engine._automatic.refresher
    engine.run(recurrence, ct)

    def interrupted(course, arguments):
        follow(course, arguments)
        raise KeyboardInterrupt

    follow = refresher.follow
    monkeypatch.setattr(refresher, "follow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.run(recurrence, ct)
    monkeypatch.undo()
    assert not refresher.is_busy
    assert error(client, engine.run(recurrence, ct), recurrence(VALUES)) < bound(engine.params, 4)
    assert engine.last_run.bootstraps == 4


def test_slots_first_keeps_levels_for_its_input(params, client):
    options = {"order": "stc_first", "stc_levels": 1}
    x = client.encrypt(VALUES)
    plan = hc.key_plan(params, recurrence, x, bootstrap=options)
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), bootstrap=options, threads=1)
    y = engine.run(recurrence, x)
    boots = hc.Bootstrapper(params, slots=SLOTS, real=True, **options)
    assert boots.input_level == 1
    assert all(each.level >= 1 for each in engine.explain().bootstraps)
    # Reduces the slots themselves, with the sine's error for values of magnitude 1.
    assert error(client, y, recurrence(VALUES)) < 8 * 2.0 ** (2 - boots.describe()["worst_bits"])
    assert recurrence(x.to(engine)).level >= 0


def test_bootstraps_from_the_sparse_secret(params, client):
    options = {"from_sparse": True}
    x = client.encrypt(VALUES)
    plan = hc.key_plan(params, recurrence, x, bootstrap=options)
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), bootstrap=options, threads=1)
    y = engine.run(recurrence, x)
    worst = hc.Bootstrapper(params, slots=SLOTS, real=True, **options).describe()["worst_bits"]
    count = engine.last_run.bootstraps
    assert count == len(engine.explain().bootstraps) > 0
    assert error(client, y, recurrence(VALUES)) < count * 2.0 ** (2 - worst)


def test_random_programs_of_depth_100_never_lack_levels(params):
    """On ghosts: programs of products, sums, rotations, polynomials and maps over several ciphertexts."""
    cosine = hc.Polynomial.fit(np.cos, degree=7)
    turn = hc.LinearTransform({0: np.ones(SLOTS), 1: np.ones(SLOTS)})
    steps = [
        lambda a, b: a * b,
        lambda a, b: a * b + 1,
        lambda a, b: a - b,
        lambda a, b: a.rotate(1) * np.ones(SLOTS) + b,
        lambda a, b: a.engine.polynomial(a, cosine) + b,
        lambda a, b: turn(a) + a.conj() * b,
        lambda a, b: a.engine.dot([a, b], [b, a]),
    ]
    for seed, width in enumerate((2, 3, 5)):
        draw = random.Random(seed)
        course = [
            (draw.randrange(width), draw.randrange(width), draw.choice(steps)) for _ in range(100 * width)
        ]

        def program(*xs, course=course):
            live = list(xs)
            for a, b, step in course:
                live[a] = step(live[a], live[b])
            return live

        ghost = hc.Engine(params, device="ghost", bootstrap="auto")
        xs = [ghost.ghost_input(slots=SLOTS) for _ in range(width)]
        results = ghost.run(program, *xs, key=seed)
        assert ghost._automatic.current.graph.depth >= 100
        assert ghost._automatic.last.extra == 0
        assert ghost._automatic.last.departure is None
        assert len(results) == width


def test_traces_have_the_bootstraps_and_their_keys(params, ct):
    traced = hc.trace_program(params, recurrence, ct, bootstrap="auto")
    assert traced.key_plan == hc.key_plan(params, recurrence, ct, bootstrap="auto")
    assert traced.key_plan.encapsulation
    assert traced.key_uses[ENCAPSULATION] == 4  # once in each bootstrap
    assert traced.result.level == 0


def test_explain_says_where_and_why(engine, ct):
    engine.run(recurrence, ct)
    first, *_ = engine.explain().bootstraps
    assert first.operation in ("multiply", "multiply_constant")
    assert first.where.startswith("test_auto_bootstraps.py:")
    assert first.slots == SLOTS
    assert first.level < first.raised <= 4
    text = str(engine.explain())
    assert f"bootstrap 1: the result of {first.operation} at test_auto_bootstraps.py:" in text
    assert "would lack levels" in text


def test_recorded_graphs_say_what_operations_cost(params):
    def program(x, y):
        return (x * y).rotate(1) + x.engine.polynomial(x, [0.0, 1.0, 1.0, 1.0])

    graph = record_graph(params, program, VALUES, VALUES)
    found = [(each.operation, each.operands, each.levels) for each in graph.nodes]
    assert found == [
        ("input", (), 0),
        ("input", (), 0),
        ("multiply", (0, 1), 1),
        ("rotate", (2,), 0),
        ("polynomial", (0,), 2),
        ("add", (3, 4), 0),
    ]
    assert graph.results == (5,)
    assert all(each.slots == SLOTS and each.real for each in graph.nodes)
    kept = record_graph(params, lambda x: x.engine.bootstrap(x) * x, VALUES)
    assert [each.fixed_level for each in kept.nodes] == [5, 4, None]
    left = record_graph(params, lambda x: x.engine.bootstrap(x) * x, VALUES, leave_out_bootstraps=True)
    assert [each.operation for each in left.nodes] == ["input", "multiply"]
    assert left.by_hand == (0,)


def test_bad_options(params):
    with pytest.raises(hc.InvalidArgument, match='expected "auto", a BootstrapOptions'):
        hc.Engine(params, bootstrap="yes")
    with pytest.raises(hc.InvalidArgument, match="options slots"):
        hc.Engine(params, bootstrap={"slots": 8})
    with pytest.raises(hc.InvalidArgument, match="mode"):
        hc.Engine(params, bootstrap={"cts_mode": "fast"})
    with pytest.raises(hc.InvalidArgument, match="no levels for bootstrapping"):
        hc.Engine(hc.Params.preset("test-n10-d3", allow_insecure=True), bootstrap="auto")
    with pytest.raises(hc.InvalidArgument, match="key_nodes"):
        hc.Engine(params, bootstrap="auto", key_nodes=[])
    with pytest.raises(hc.InvalidArgument, match="UserEngine: bootstrap"):
        SharedEngine(params, bootstrap="auto")
    with pytest.raises(hc.InvalidArgument, match="record_graph: bootstrap is None"):
        record_graph(params, recurrence, VALUES, bootstrap=None)
    engine = hc.Engine(params, bootstrap=hc.BootstrapOptions(message_bound=4.0))
    assert engine._automatic.options == {"message_bound": 4.0}


def test_larger_messages_within_their_bound(params, client):
    """Values up to 4: what is beyond message_bound would be wrong without a sign of it."""
    options = {"message_bound": 4.0}

    def program(x):
        for _ in range(6):
            x = x * 0.5 + 1.9
        return x

    x = client.encrypt(4 * VALUES)
    plan = hc.key_plan(params, program, x, bootstrap=options)
    engine = hc.Engine(params, client.evaluation_keys(plan=plan), bootstrap=options, threads=1)
    y = engine.run(program, x)
    assert len(engine.explain().bootstraps) == 1
    # The sine's error for a coefficient at the bound, (2 pi fraction)^2 / 6 of it, and as much for noise.
    assert error(client, y, program(4 * VALUES)) < 2 * 4.0 * (2 * np.pi * 2.0**-10) ** 2 / 6


def test_what_bootstraps_cannot_help_is_said(params, client, engine, ct):
    deep = hc.Polynomial(np.ones(128) / 128)  # 7 levels, a fresh ciphertext has 5
    with pytest.raises(hc.LevelExhausted, match="Automatic bootstraps do not help"):
        engine.run(lambda x: x.engine.polynomial(x, deep), ct)
    with engine.manual(), pytest.raises(hc.LevelExhausted, match="in manual mode"):
        x = client.encrypt(VALUES, level=0).to(engine)
        (x * x).relinearize().rescale()
    bound_here = ct.to(engine)
    with pytest.raises(hc.InvalidArgument, match="not among its arguments"):
        engine.run(lambda x: bound_here * bound_here, ct)
    without = hc.Engine(params, bootstrap="auto", threads=1)
    with pytest.raises(hc.MissingKey):
        without.run(recurrence, ct)
