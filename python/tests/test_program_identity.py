# SPDX-License-Identifier: Apache-2.0
"""Which runs share a plan: what of a program counts."""

from __future__ import annotations

import abc
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import logging
import pathlib
import random
import re
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import halocline as hc
import numpy as np
import pytest
from halocline.engine.captured import Tokens
from halocline.engine.captured import Walk as ValueWalk
from halocline.engine.program_identity import ProgramIdentities
from planned_programs import (
    STEPS,
    Walk,
    make,
    make_engine,
    make_rig,
    passes_of,
    settled,
    spread,
)

GLOBAL_STEP = 1
GLOBAL_TABLE = {"steps": [1, 2]}


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


# Programs that are made anew


def test_a_lambda_in_a_loop_is_planned_like_one_function(engine, rig):
    passes = [passes_of(engine, rig, lambda x: spread(x) * 0.5) for _ in range(5)]
    assert passes == [1, 1, 0, 0, 0]


def test_another_place_of_equal_code_is_the_same_program(engine, rig):
    settled(engine, rig, lambda x: spread(x) * 0.5)
    other = lambda x: spread(x) * 0.5  # noqa: E731
    assert passes_of(engine, rig, other) == 0


def test_other_code_is_another_program(engine, rig):
    settled(engine, rig, lambda x: spread(x) * 0.5)
    for other in (
        lambda x: spread(x) * 0.25,
        lambda x: spread(x) - 0.5,
        lambda x: -spread(x),
        spread,
    ):
        assert passes_of(engine, rig, other) == 1


@pytest.mark.parametrize("kind", [int, float, np.int64, np.float32, str])
def test_captured_numbers_decide(engine, rig, kind):
    settled(engine, rig, make(kind(1)))
    assert passes_of(engine, rig, make(kind(1))) == 0
    assert passes_of(engine, rig, make(kind(2))) == 1
    assert passes_of(engine, rig, make(kind(1))) == 0


def test_numbers_of_other_types_are_other_values():
    identities = ProgramIdentities()
    made = [
        identities.identify(make(each), ((), {}))
        for each in (1, 1.0, True, "1", b"1", np.int64(1), (1,), [1])
    ]
    assert len(set(made)) == len(made)


def test_defaults_and_keyword_defaults_decide(engine, rig):
    def with_default(last: int) -> Callable[..., Any]:
        return lambda x, last=last: spread(x, last)

    def with_keyword(last: int) -> Callable[..., Any]:
        return lambda x, *, last=last: spread(x, last)

    for each in (with_default, with_keyword):
        settled(engine, rig, each(1))
        assert passes_of(engine, rig, each(1)) == 0
        assert passes_of(engine, rig, each(2)) == 1


# Values that change


def test_contents_of_captured_containers_decide(engine, rig):
    steps: list[int] = [1]
    table: dict[str, Any] = {"more": {"last": 1}}
    chosen = {1}
    program = lambda x: spread(x, steps[0] + table["more"]["last"] + sum(chosen))  # noqa: E731
    settled(engine, rig, program)
    steps[0] = 2
    assert passes_of(engine, rig, program) == 1
    table["more"]["last"] = 2
    assert passes_of(engine, rig, program) == 1
    chosen.add(2)
    assert passes_of(engine, rig, program) == 1
    steps[0], table["more"]["last"] = 1, 1
    chosen.discard(2)
    assert passes_of(engine, rig, program) == 0


@pytest.mark.parametrize("dtype", [np.int64, np.float64, object])
def test_contents_of_captured_arrays_decide(engine, rig, dtype):
    steps = np.array([1, 2, 3], dtype=dtype)
    program = lambda x: spread(x, int(steps[1]))  # noqa: E731
    settled(engine, rig, program)
    steps[1] = 3
    settled(engine, rig, program)
    steps = np.array([1, 3, 3], dtype=dtype)
    assert passes_of(engine, rig, program) == 0  # another array with the same numbers
    steps = np.array([[1, 4], [3, 4], [3, 4]], dtype=dtype)[:, 0]
    assert passes_of(engine, rig, program) == 0  # a view
    steps = np.array([1, 3, 3], dtype=np.int8)
    assert passes_of(engine, rig, program) == 1


def test_plain_globals_decide(engine, rig, monkeypatch):
    program = lambda x: spread(x, GLOBAL_STEP + GLOBAL_TABLE["steps"][0])  # noqa: E731
    settled(engine, rig, program)
    monkeypatch.setitem(globals(), "GLOBAL_STEP", 2)
    assert passes_of(engine, rig, program) == 1
    monkeypatch.setitem(GLOBAL_TABLE, "steps", [2])
    assert passes_of(engine, rig, program) == 1
    monkeypatch.undo()
    assert passes_of(engine, rig, program) == 0


def test_functions_that_a_program_calls_decide(engine, rig, monkeypatch):
    program = lambda x: helper(x)  # noqa: E731, PLW0108
    settled(engine, rig, program)
    monkeypatch.setitem(globals(), "helper", lambda x: spread(x, 2))
    assert passes_of(engine, rig, program) == 1
    monkeypatch.setitem(globals(), "helper", lambda x: spread(x, GLOBAL_STEP))
    settled(engine, rig, program)
    monkeypatch.setitem(globals(), "GLOBAL_STEP", 2)  # two functions away
    assert passes_of(engine, rig, program) == 1


def helper(x: hc.Ciphertext) -> hc.Ciphertext:
    return spread(x, 1)


def test_modules_of_the_user_decide_by_the_names_that_are_read(engine, rig):
    config = types.ModuleType("settings_of_a_user")
    config.last, config.unused = 1, 1
    program = lambda x: spread(x, config.last)  # noqa: E731
    settled(engine, rig, program)
    config.unused = random.Random(1)
    assert passes_of(engine, rig, program) == 0
    config.last = 2
    assert passes_of(engine, rig, program) == 1


# Objects


class Slotted:
    __slots__ = ("last", "more")

    def __init__(self, last: int) -> None:
        self.last = last

    def __call__(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(x, self.last)


@dataclasses.dataclass
class Record:
    last: int

    def __call__(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(x, self.last)


@pytest.mark.parametrize(
    "made", [Walk, Slotted, Record, lambda last: Walk(last).run], ids=["Walk", "Slotted", "Record", "bound"]
)
def test_state_of_callables_and_bound_objects_decides(engine, rig, made):
    settled(engine, rig, made(1))
    assert passes_of(engine, rig, made(1)) == 0
    assert passes_of(engine, rig, made(2)) == 1
    program = made(1)
    getattr(program, "__self__", program).last = 3
    assert passes_of(engine, rig, program) == 1


def test_attributes_that_no_code_reads_do_not_decide(engine, rig):
    settled(engine, rig, Walk(1))
    assert passes_of(engine, rig, Walk(1, more=random.Random(1))) == 0


def test_code_and_attributes_of_classes_decide(engine, rig, monkeypatch):
    program = Walk(1)
    settled(engine, rig, program)
    monkeypatch.setattr(Walk, "kept", 1)
    assert passes_of(engine, rig, program) == 1
    monkeypatch.undo()
    assert passes_of(engine, rig, program) == 0
    monkeypatch.setattr(Walk, "_apply", lambda self, x: spread(x, 5))
    assert passes_of(engine, rig, program) == 1


def test_attributes_read_by_a_computed_name_decide(engine, rig):
    state = types.SimpleNamespace(last=1)
    walk = Walk(1)
    program = lambda x: spread(x, getattr(walk, "la" + "st") + state.last)  # noqa: E731
    settled(engine, rig, program)
    walk.last = 2
    assert passes_of(engine, rig, program) == 1
    state.last = 2
    assert passes_of(engine, rig, program) == 1


def test_elements_of_sets_count_with_all_they_have(engine, rig):
    walk = Walk(1)
    chosen = {walk}
    program = lambda x: spread(x, *(each.last for each in chosen))  # noqa: E731
    settled(engine, rig, program)
    walk.last = 2
    assert passes_of(engine, rig, program) == 1


class Declared:
    """Says itself what of it decides."""

    def __init__(self, last: int, *, fixed: bool = False) -> None:
        self.last, self.fixed, self.opened = last, fixed, iter([])

    def __call__(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(x, self.last) if self.opened else x

    def __program_identity__(self) -> object:
        return self if self.fixed else self.last


def test_objects_that_say_what_decides(engine, rig):
    settled(engine, rig, Declared(1))
    assert passes_of(engine, rig, Declared(1)) == 0
    assert passes_of(engine, rig, Declared(2)) == 1
    fixed = Declared(3, fixed=True)
    settled(engine, rig, fixed)
    assert passes_of(engine, rig, Declared(3, fixed=True)) == 1  # another object


def test_partials(engine, rig):
    settled(engine, rig, functools.partial(spread, last=1))
    assert passes_of(engine, rig, functools.partial(spread, last=1)) == 0
    assert passes_of(engine, rig, functools.partial(functools.partial(spread, last=1))) == 0
    assert passes_of(engine, rig, functools.partial(spread, last=2)) == 1
    taking = lambda steps, x: spread(x, steps[0])  # noqa: E731
    settled(engine, rig, functools.partial(taking, [1]))
    assert passes_of(engine, rig, functools.partial(taking, [2])) == 1


def test_nested_functions_and_recursion(engine, rig):
    def nested(last: int) -> Callable[[hc.Ciphertext], hc.Ciphertext]:
        def outer(x: hc.Ciphertext) -> hc.Ciphertext:
            def inner(y: hc.Ciphertext) -> hc.Ciphertext:
                return spread(y, last)

            return inner(x)

        return outer

    def recursive(last: int) -> Callable[..., hc.Ciphertext]:
        def again(x: hc.Ciphertext, depth: int = 2) -> hc.Ciphertext:
            return spread(x, last) if depth == 0 else again(x, depth - 1)

        return again

    for made in (nested, recursive):
        settled(engine, rig, made(1))
        assert passes_of(engine, rig, made(1)) == 0
        assert passes_of(engine, rig, made(2)) == 1


def test_values_that_contain_themselves(engine, rig):
    def made(last: int) -> Callable[[hc.Ciphertext], hc.Ciphertext]:
        ring: list[Any] = [last]
        ring.append(ring)
        return lambda x: spread(x, ring[1][1][0])

    settled(engine, rig, made(1))
    assert passes_of(engine, rig, made(1)) == 0
    assert passes_of(engine, rig, made(2)) == 1


def test_enumerations_and_cached_functions(engine, rig):
    class Step(enum.Enum):
        ONE = 1
        TWO = 2

    @functools.lru_cache
    def twice(step: Step) -> int:
        return 2 * int(step.value)

    def made(step: Step) -> Callable[[hc.Ciphertext], hc.Ciphertext]:
        return lambda x: spread(x, twice(step))

    settled(engine, rig, made(Step.ONE))
    assert passes_of(engine, rig, made(Step.ONE)) == 0
    assert passes_of(engine, rig, made(Step.TWO)) == 1


@pytest.mark.parametrize(
    "value",
    [
        np.roll, np.linalg.norm, np.random.uniform, random.randrange, len, "a".upper, np.add, np.dtype("f8"),
        np, list[int], int | str, hc.Params, hc.key_plan, threading.Lock(), logging.getLogger("a"),
        pathlib.Path("a"), re.compile("a"), decimal.Decimal("0.1"), datetime.timedelta(1), object(),
        collections.Counter("ab"), collections.deque([1]), collections.OrderedDict(a=1),
        collections.defaultdict(list, {1: [2]}), collections.namedtuple("Pair", "a b")(1, 2), range(3),
        slice(1, 2), bytearray(b"a"), memoryview(b"a"), types.MappingProxyType({1: 2}), np.float32(1.5),
        np.ma.array([1, 2], mask=[0, 1]), np.array([]), np.zeros(2, dtype=[]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        hc.Polynomial([1, 2]), hc.MemoryOptions(), functools.singledispatch(len), abc.ABC,
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, '__name__', '')}",
)  # fmt: skip
@pytest.mark.parametrize("everything", [False, True])
def test_common_values_can_be_compared(value, everything):
    tokens = Tokens()
    found = {ValueWalk(tokens, everything=everything).digest(lambda x: value) for _ in range(2)}
    assert len(found) == 1
    assert found != {ValueWalk(tokens, everything=everything).digest(lambda x: x)}


@pytest.mark.parametrize(
    "made",
    [
        lambda last: {1: last},
        lambda last: collections.deque([last]),
        lambda last: collections.OrderedDict([(last, 1), (9, 1)]),
        lambda last: {last, 10},
        range,
        slice,
        lambda last: bytearray([last]),
        lambda last: memoryview(bytes([last])),
        np.float32,
        lambda last: np.full(3, last)[::2],
        lambda last: np.ma.array([1, 2], mask=[0, last - 1]),
        lambda last: np.array([(1, [last])], dtype=[("a", "i4"), ("b", "O")]),
        lambda last: types.MappingProxyType({1: last}),
        lambda last: types.SimpleNamespace(last=last),
        lambda last: pathlib.Path(str(last)),
        lambda last: re.compile("a" * last),
        decimal.Decimal,
        lambda last: hc.Polynomial([1, last]),
        lambda last: hc.MemoryOptions(tier_limit=last << 20),
        lambda last: functools.partial(np.roll, shift=last),
        lambda last: np.full(3, last).sum,
        lambda last: Record(Record(last)),
        lambda last: type("Named", (), {"run": lambda self: last})(),
        lambda last: -0.0 if last == 1 else 0.0,
    ],
)
def test_contents_of_common_values_count(made):
    tokens = Tokens()

    def digest(value: Any) -> bytes:
        return ValueWalk(tokens, everything=True).digest(lambda x: value)

    assert digest(made(1)) == digest(made(1)) != digest(made(2))


def test_decorated_functions_and_programs_of_the_engine(engine, rig):
    def made(last: int) -> Callable[..., Any]:
        @engine.program
        def inside(x: hc.Ciphertext) -> hc.Ciphertext:
            return spread(x, last)

        return inside

    passes = []
    for last in (1, 1, 1, 2):
        made(last)(rig["x"])
        assert engine.last_run is not None and engine.last_run.followed_plan
        passes.append(engine.last_run.ghost_passes)
    assert passes == [1, 1, 0, 1]


# Objects of this library


def test_transforms_decide_by_themselves_and_own_their_weights(engine, rig):
    weights = np.ones(rig["params"].slots, dtype=np.complex128)
    transform = hc.LinearTransform({0: weights, 1: weights}, mode="naive")
    program = lambda x: transform(spread(x))  # noqa: E731
    first = engine.run(program, rig["x"]).to_bytes()
    weights[:] = 0  # the transform has a copy
    assert engine.run(program, rig["x"]).to_bytes() == first
    assert engine.run(program, rig["x"]).to_bytes() == first
    report = engine.last_run
    assert report is not None and report.followed_plan and report.ghost_passes == 0
    transform = hc.LinearTransform({0: weights + 2, 3: weights + 1}, mode="naive")
    assert engine.run(program, rig["x"]).to_bytes() != first
    assert engine.last_run.ghost_passes > 0


@pytest.mark.parametrize(
    ("made", "shape", "dtype"),
    [
        (hc.MatrixVector, (512, 512), complex),
        (hc.LinearTransform, (512, 512), complex),
        (lambda values: hc.TransformGrid([[{0: values, 1: values}]]), (512,), complex),
        (lambda values: hc.BlockMatmul([[values]], 4, 512), (4, 4), complex),
        (lambda values: hc.Convolution2d(values, hc.ImageLayout(4, 4, 16), 512), (1, 1, 3, 3), float),
    ],
    ids=["matrix", "transform", "grid", "blocks", "convolution"],
)
def test_circuits_do_not_share_their_weights(made, shape, dtype):
    values = np.zeros(shape, dtype)
    values.flat[0] = 1
    circuit = made(values)
    values[:] = 1  # many more diagonals
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    engine = hc.Engine(params, device="ghost")
    values = np.zeros(shape, dtype)
    values.flat[0] = 1
    assert circuit.cost(engine) == made(values).cost(engine)
    assert circuit.nbytes(engine) == made(values).nbytes(engine)


def test_parameters_and_captured_ciphertexts(engine, rig):
    params = rig["params"]
    y = rig["client"].encrypt([0.5], level=2)
    program = lambda x: spread(x, params.max_level + y.level)  # noqa: E731
    settled(engine, rig, program)
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    y = rig["client"].encrypt([0.25], level=2)
    assert passes_of(engine, rig, program) == 0  # as far as layouts go, the same
    y = rig["client"].encrypt([0.25], level=1)
    assert passes_of(engine, rig, program) == 1


def test_expressions(engine, rig):
    from halocline.cli.expression import Expression

    text = " + ".join(f"x.rotate({step})" for step in STEPS)
    settled(engine, rig, Expression(text))
    assert passes_of(engine, rig, Expression(text)) == 0
    assert passes_of(engine, rig, Expression(text + " + x.rotate(1)")) == 1


def test_keys_that_are_added_plan_anew(engine, rig):
    settled(engine, rig, spread)
    engine.add_keys(rig["client"].evaluation_keys(rotations=[9]))
    assert passes_of(engine, rig, spread) == 1
