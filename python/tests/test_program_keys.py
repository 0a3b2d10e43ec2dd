# SPDX-License-Identifier: Apache-2.0
"""Plans: what of arguments counts, what is refused, keys that stand for programs, runs that leave their plan,
and what is kept alive."""

from __future__ import annotations

import functools
import gc
import itertools
import random
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import halocline as hc
import numpy as np
import pytest
from halocline.engine.captured import TOKENS_KEPT, Tokens
from halocline.engine.planned_run import PLANS_KEPT
from halocline.engine.program_identity import ProgramIdentities
from planned_programs import (
    PASSES,
    Walk,
    make,
    make_engine,
    make_rig,
    passes_of,
    settled,
    spread,
)

GLOBAL_RANDOM = random.Random(1)


@pytest.fixture(scope="module")
def rig() -> dict[str, Any]:
    return make_rig()


@pytest.fixture
def engine(rig: dict[str, Any]) -> hc.Engine:
    return make_engine(rig)


@pytest.fixture(autouse=True)
def no_divergence() -> Iterator[None]:
    """A plan that does not fit its program is a failure, unless a test expects it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", hc.PlanDivergence)
        yield


# Arguments


def test_arguments_count_by_shape_and_plain_values(engine, rig):
    program = lambda x, weights, last=0: spread(x, last) * weights  # noqa: E731
    assert passes_of(engine, rig, program, np.array([1.0, 2.0])) == 1
    assert passes_of(engine, rig, program, np.array([3.0, 4.0])) == 1
    assert passes_of(engine, rig, program, np.array([5.0, 6.0])) == 0
    assert passes_of(engine, rig, program, np.array([5.0, 6.0, 7.0])) == 1
    assert passes_of(engine, rig, program, np.array([5.0, 6.0]), last=1) == 1
    assert passes_of(engine, rig, program, np.array([5.0, 6.0]), last=np.int64(2)) == 1
    assert passes_of(engine, rig, program, np.array([5.0, 6.0]), last=np.int64(2)) == 1
    assert passes_of(engine, rig, program, np.array([5.0, 6.0]), last=np.int64(2)) == 0


def test_functions_as_arguments_count_by_what_they_do(engine, rig):
    program = lambda x, function: function(x)  # noqa: E731
    assert [passes_of(engine, rig, program, make(1)) for _ in range(3)] == [1, 1, 0]
    assert passes_of(engine, rig, program, make(2)) == 1


def test_arguments_that_cannot_be_compared_count_by_themselves(engine, rig):
    program = lambda x, rng: spread(x)  # noqa: E731
    one, other = random.Random(1), random.Random(1)
    assert [passes_of(engine, rig, program, one) for _ in range(3)] == [1, 1, 0]
    assert passes_of(engine, rig, program, other) == 1


# Refusals


def captured(value: Any) -> Callable[[hc.Ciphertext], hc.Ciphertext]:
    return lambda x: spread(x, 1 if value else 2)


@pytest.mark.parametrize(
    "value",
    [
        random.Random(1),
        np.random.default_rng(1),
        iter([1, 2]),
        itertools.count(),
        (each for each in [1, 2]),
        weakref.ref(Walk),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_compared_is_refused_by_name(engine, rig, value):
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    with pytest.raises(hc.InvalidArgument) as refused:
        engine.run(captured(value), rig["x"])
    assert f"captured variable 'value', of type {kind}" in str(refused.value)
    assert "key=" in str(refused.value) and "argument" in str(refused.value)
    rig["resident"].run(captured(value), rig["x"])  # nothing is planned there


class Holder:
    def __init__(self, value: Any) -> None:
        self.value = value

    def run(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(x, 1 if self.value else 2)


@pytest.mark.parametrize(
    ("program", "place"),
    [
        (lambda x: spread(x, GLOBAL_RANDOM.randrange(3)), "global variable 'GLOBAL_RANDOM'"),
        (captured({"a": [0, iter([])]}), "captured variable 'value['a'][1]'"),
        (captured(Holder(iter([])).run), "captured variable 'value.self.value'"),
        (Holder(iter([])).run, "object of the method 'self.value'"),
        (lambda x, each=iter([]): spread(x), "default of the parameter 'each'"),  # noqa: B008
        (functools.partial(spread, last=iter([])), "argument of the partial 'last'"),
    ],
)
def test_the_place_of_what_is_refused(engine, rig, program, place):
    with pytest.raises(hc.InvalidArgument) as refused:
        engine.run(program, rig["x"])
    assert place in str(refused.value)


def test_values_that_are_nested_too_deeply(engine, rig):
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(hc.InvalidArgument, match="nested"):
        engine.run(captured(deep), rig["x"])
    assert passes_of(engine, rig, captured(deep), key="deep") == 1


def test_a_refusal_comes_before_any_work(engine, rig):
    called = []
    rng = random.Random(1)

    def program(x: hc.Ciphertext) -> hc.Ciphertext:
        called.append(rng.random())
        return spread(x)

    with pytest.raises(hc.InvalidArgument, match="'rng'"):
        engine.run(program, rig["x"])
    assert called == [] and engine.last_run is None
    assert passes_of(engine, rig, spread) == 1


# Keys


def test_key_stands_for_the_program(engine, rig):
    counted = itertools.count()

    def made() -> Callable[[hc.Ciphertext], hc.Ciphertext]:
        return lambda x: spread(x) * (1 if next(counted) < 0 else 0.5)

    for key in ("scored", 7, ("scored", 1.5), Walk(1)):
        assert [passes_of(engine, rig, made(), key=key) for _ in range(4)] == [1, 1, 0, 0]
    assert passes_of(engine, rig, made(), key="other") == 1
    assert passes_of(engine, rig, lambda x: spread(x) * 0.5, key="scored") == 0


def test_key_does_not_stand_for_shapes(engine, rig):
    settled(engine, rig, spread, key="k")
    low = dict(rig, x=rig["client"].encrypt([0.5], level=1))
    assert passes_of(engine, low, spread, key="k") == 1


def test_keys_of_decorated_functions(engine, rig):
    counted = itertools.count()
    passes = []
    for _ in range(3):

        @engine.program(key="score")
        def score(x: hc.Ciphertext) -> hc.Ciphertext:
            return spread(x) * (1 if next(counted) < 0 else 0.5)

        score(rig["x"])
        assert engine.last_run is not None and score.__name__ == "score"
        passes.append(engine.last_run.ghost_passes)
    assert passes == [1, 1, 0]


def test_a_key_that_names_two_programs_is_noticed(engine, rig):
    settled(engine, rig, lambda x: spread(x, 1), key="k")
    with pytest.warns(hc.PlanDivergence, match="left its plan"):
        found = engine.run(lambda x: spread(x, 2), rig["x"], key="k")
    expected = rig["resident"].run(lambda x: spread(x, 2), rig["x"])
    assert found.to_bytes() == expected.to_bytes()
    assert engine.last_run is not None and not engine.last_run.followed_plan


@pytest.mark.parametrize("which", ["planned", "resident"])
def test_keys_that_cannot_be_compared(engine, rig, which):
    one = iter([1])  # allows no weak reference
    with pytest.raises(hc.InvalidArgument, match="key is a list_iterator"):
        (engine if which == "planned" else rig["resident"]).run(spread, rig["x"], key=one)
    assert [passes_of(engine, rig, spread, key=GLOBAL_RANDOM) for _ in range(3)] == [1, 1, 0]


# Programs that do something else than their ghost pass


def test_random_rotations_are_reported_and_right(engine, rig):
    rng = random.Random(20)
    drawn: list[int] = []

    def program(x: hc.Ciphertext) -> hc.Ciphertext:
        drawn.append(rng.randrange(1, 9))
        return x.rotate(drawn[-1])

    for _ in range(8):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = engine.run(program, rig["x"], key="random")
        report = engine.last_run
        assert report is not None
        assert found.to_bytes() == rig["resident"].run(lambda x: x.rotate(drawn[-1]), rig["x"]).to_bytes()
        same = drawn[-1] == drawn[-2]  # the ghost pass before it may have drawn the same
        if report.ghost_passes:
            assert report.followed_plan == same
        if not report.followed_plan:
            assert report.divergence is not None and "key_multiply_accumulate" in report.divergence
            assert [each.category for each in caught] == [hc.PlanDivergence]
            assert caught[0].filename == __file__
    assert len(set(drawn)) > 2


def leaving(kind: str) -> Callable[[hc.Ciphertext], hc.Ciphertext]:
    """A program that does something else on the engine than on its ghost."""

    def program(x: hc.Ciphertext) -> hc.Ciphertext:
        ghost = x.engine.is_ghost
        y, z = x.rotate(1), x.rotate(2)
        if kind == "operand":
            return y + y if ghost else z + z
        if kind == "argument":
            return (y if ghost else x) + z
        if kind == "shorter":
            return (y + z) * 0.5 if ghost else y + z
        if kind == "longer":
            return y + z if ghost else (y + z) * 0.5
        return (y + z).rotate(3 if ghost else 4)

    return program


@pytest.mark.parametrize("kind", ["operand", "argument", "shorter", "longer", "key"])
def test_every_way_to_leave_a_plan_is_reported(engine, rig, kind):
    with pytest.warns(hc.PlanDivergence, match="left its plan"):
        found = engine.run(leaving(kind), rig["x"])
    assert found.to_bytes() == rig["resident"].run(leaving(kind), rig["x"]).to_bytes()
    report = engine.last_run
    assert report is not None and not report.followed_plan
    assert report.divergence is not None and ("step" in report.divergence or "allocates" in report.divergence)


def test_a_program_that_cannot_be_planned_says_why(engine, rig):
    bound = rig["x"].to(engine)
    with pytest.warns(hc.PlanDivergence, match="could not be planned"):
        engine.run(lambda x: spread(bound), rig["x"])
    report = engine.last_run
    assert report is not None and not report.followed_plan
    assert report.divergence is not None and "not among its arguments" in report.divergence
    assert passes_of(engine, rig, spread) == 1


# What is kept


def test_plans_keep_no_captured_array_and_no_circuit_alive(engine, rig):
    def run_once() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        weights = np.linspace(0, 1, rig["params"].slots)
        transform = hc.LinearTransform({0: weights, 1: weights}, mode="naive")
        for _ in range(2):
            engine.run(lambda x: transform(spread(x)) * weights, rig["x"])
            engine.run(lambda x: transform(spread(x)), rig["x"], key=transform)
        return weakref.ref(weights), weakref.ref(transform)

    kept = run_once()
    gc.collect()
    assert [each() for each in kept] == [None, None]


def test_plans_and_tokens_are_bounded(engine, rig):
    for last in range(PLANS_KEPT + 3):
        engine.run(lambda x, last=last: x + last, rig["x"])
    planner = engine._planner
    assert planner is not None and len(planner._plans) == PLANS_KEPT
    tokens = Tokens()
    walks = [Walk(each) for each in range(TOKENS_KEPT + 10)]
    assert len({tokens.of(each) for each in walks}) == len(walks)
    assert len(tokens) == TOKENS_KEPT
    assert tokens.of(walks[-1]) == len(walks)


def test_addresses_that_are_used_again_are_other_objects():
    tokens = Tokens()
    found = set()
    for _ in range(100):
        walk = Walk(1)
        found.add(tokens.of(walk))
        del walk
    assert len(found) == 100


def test_plans_belong_to_their_engine(engine, rig):
    settled(engine, rig, spread)
    other = hc.Engine(rig["params"], rig["keys"], memory=rig["memory"], policy="planned", threads=1)
    settled(other, rig, spread)


def test_threads_share_plans_and_no_callback(engine, rig):
    passes: list[int] = []
    failed: list[BaseException] = []

    def work(last: int) -> None:
        try:
            for _ in range(4):
                engine.run(make(last), rig["x"])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(last,)) for last in (1, 2, 3, 1, 2, 3)]
    before = engine._planner.ghost_passes
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    passes.append(engine._planner.ghost_passes - before)
    assert failed == []
    assert passes == [3 * PASSES]


def test_graphs_of_equal_code_share_a_number(rig):
    identities = ProgramIdentities()
    arguments = ((rig["x"],), {})

    def number(program: Any, **options: Any) -> int:
        return identities.graph_number(program, arguments, **options)

    assert number(make(1)) == number(make(2)) != number(spread)  # constants of kernels may change
    assert number(functools.partial(spread, last=1)) != number(spread)
    walk = Walk(1)
    assert number(walk) == number(walk) != number(Walk(1))
    assert number(walk.run) == number(walk.run) != number(Walk(1).run)
    assert number(make(1), key="a") == number(spread, key="a") != number(spread, key="b")
    lower = ((rig["client"].encrypt([1.0], level=1),), {})
    assert identities.graph_number(spread, lower) != number(spread)
