# SPDX-License-Identifier: Apache-2.0
"""Which runs share a plan: values that code reaches without their names, objects with code of their own."""

from __future__ import annotations

import enum
import importlib
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import halocline as hc
import numpy as np
import pytest
from halocline.engine.program_identity import ProgramIdentities
from planned_programs import make_engine, make_rig, passes_of, settled, spread

TABLE = {0: 1}
IDENTITIES = ProgramIdentities()


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


def identity(program: Any) -> bytes:
    return IDENTITIES.identify(program, ((), {}))


class AttrDict(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        return self[name]


class Hidden:
    def __init__(self) -> None:
        self._held = {"last": 1}

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, "_held")[name]


class Permissive(type):
    def __getattr__(cls, name: str) -> int:
        return TABLE[0]


class Raising:
    @property
    def __module__(self) -> str:  # type: ignore[override]
        raise RuntimeError(TABLE)


class Slot:
    __slots__ = ("_last",)

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


HELD = AttrDict(last=1)


@pytest.mark.parametrize("made", [Hidden, Permissive("Made", (), {}), Raising, Slot])
def test_objects_with_attribute_code_of_their_own(made):
    value = made()
    program = lambda x: x.rotate(value.last)  # noqa: E731
    assert identity(program) == identity(program)
    IDENTITIES.identify(spread, (([value, {"a": value}],), {"more": value}))
    IDENTITIES.graph_number(value, ((), {}))


def test_a_dictionary_with_attributes(engine, rig, monkeypatch):
    program = lambda x: spread(x, HELD.last)  # noqa: E731
    settled(engine, rig, program)
    monkeypatch.setitem(HELD, "last", 2)
    assert passes_of(engine, rig, program) == 1


def test_code_that_raises_while_values_are_compared(engine, rig):
    class Wrong:
        def __program_identity__(self) -> Any:
            raise ValueError("not today")

    wrong = [0, Wrong()]
    with pytest.raises(
        hc.InvalidArgument, match=r"captured variable 'wrong\[1\]', of type .*key="
    ) as refused:
        engine.run(lambda x: spread(x, wrong[0]), rig["x"])
    assert isinstance(refused.value.__cause__, ValueError)


def test_arguments_that_contain_themselves():
    ring: list[Any] = []
    ring.append(ring)
    for key in (None, "ring"):
        for find in (IDENTITIES.identify, IDENTITIES.graph_number):
            with pytest.raises(hc.InvalidArgument, match="contains itself"):
                find(spread, ((ring,), {}), key=key)


class Mode(enum.Enum):
    ONE = 1

    def steps(self) -> int:
        return TABLE[0]

    @property
    def more(self) -> int:
        return self._more  # type: ignore[attr-defined]


class Meta(type):
    @property
    def last(cls) -> int:
        return TABLE[0]


class Made(metaclass=Meta):
    pass


class Shown:
    def __str__(self) -> str:
        return str(TABLE[0])

    def __format__(self, how: str) -> str:
        return str(TABLE[0])


class Matched:
    __match_args__ = ("last",)

    def __init__(self) -> None:
        self.last = 1


MODE, SHOWN, MATCHED, VIEW = Mode.ONE, Shown(), Matched(), memoryview(bytes(8))


def by_name(x: Any) -> Any:
    match MATCHED:
        case Matched(last=last):
            return x.rotate(last)


def by_place(x: Any) -> Any:
    match MATCHED:
        case Matched(last):
            return x.rotate(last)


@pytest.mark.parametrize(
    ("program", "change"),
    [
        (by_name, lambda patch: patch.setattr(MATCHED, "last", 2)),
        (by_place, lambda patch: patch.setattr(MATCHED, "last", 2)),
        (by_place, lambda patch: patch.setattr(Matched, "__match_args__", ("other",))),
        (lambda x: x.rotate(MODE.steps()), lambda patch: patch.setitem(TABLE, 0, 2)),
        (lambda x: x.rotate(Mode.ONE.steps()), lambda patch: patch.setitem(TABLE, 0, 2)),
        (lambda x: x.rotate(MODE.more), lambda patch: patch.setattr(MODE, "_more", 2, raising=False)),
        (lambda x: x.rotate(Made.last), lambda patch: patch.setitem(TABLE, 0, 2)),
        (lambda x: x.rotate(int(str(SHOWN))), lambda patch: patch.setitem(TABLE, 0, 2)),
        (lambda x: x.rotate(int(f"{SHOWN}")), lambda patch: patch.setitem(TABLE, 0, 2)),
        (lambda x: x.rotate(int("%s" % SHOWN)), lambda patch: patch.setitem(TABLE, 0, 2)),  # noqa: UP031
        (lambda x: x.rotate(VIEW[0]), lambda patch: patch.setitem(globals(), "VIEW", VIEW.cast("I"))),
    ],
)
def test_values_that_code_reaches_without_their_names(program, change, monkeypatch):
    before = identity(program)
    assert identity(program) == before
    change(monkeypatch)
    assert identity(program) != before
    monkeypatch.undo()
    assert identity(program) == before


def test_modules_that_a_program_imports(monkeypatch):
    whole, part = types.ModuleType("settings_a"), types.ModuleType("settings_a.inner")
    whole.inner, part.last, part.unused = part, 1, 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "settings_a", whole)
    monkeypatch.setitem(sys.modules, "settings_a.inner", part)
    imports = (
        "import settings_a.inner; last = settings_a.inner.last",
        "import settings_a.inner as inner; last = inner.last",
        "from settings_a.inner import last",
        "from .inner import last",
        "from . import inner; last = inner.last",
    )
    for text in imports:
        names: dict[str, Any] = {"__package__": "settings_a"}
        exec(f"def program(x):\n    {text}\n    return x.rotate(last)", names)
        found = []
        for part.last, part.unused in ((1, 1), (1, 2), (2, 2)):  # type: ignore[attr-defined]
            found.append(identity(names["program"]))
        assert found[0] == found[1] != found[2], text


UFUNC = np.frompyfunc(lambda each: each + TABLE[0], 1, 1)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (lambda x: x.rotate(globals()["TABLE"][0]), "globals"),
        (lambda x: x.rotate(len(locals())), "locals"),
        (lambda x: x.rotate(eval("TABLE")[0]), "eval"),
        (lambda x: x.rotate(__import__("settings").last), "__import__"),
        (lambda x: x.rotate(importlib.import_module("settings").last), "importlib.import_module"),
        (lambda x: x.rotate(sys.modules["settings"].last), "sys.modules"),
        (lambda x: x.rotate(int(UFUNC(1))), "UFUNC"),
    ],
)
def test_code_that_may_reach_anything_is_refused(program, name):
    with pytest.raises(hc.InvalidArgument, match=f"'{name}', of type .*key="):
        identity(program)
    IDENTITIES.identify(program, ((), {}), key=name)


@pytest.mark.parametrize(
    "made",
    [
        lambda last: [0.5] * 9 + [last],
        lambda last: [1, "a", None, last],
        lambda last: ((1, 2), (3, (4, last))),
        lambda last: {1: (2, 3), "a": last},
        lambda last: [10**5000, last],
        lambda last: [[1, 2], {3: last}],
    ],
)
@pytest.mark.parametrize("kinds", [(1.0, 2.0), (0.0, -0.0), (1, True), (1, 1.0), (1, "1"), (b"1", "1")])
def test_plain_values_in_containers_count_by_content(made, kinds):
    one, other = (made(each) for each in kinds)
    found = {IDENTITIES.identify(spread, ((each,), {})) for each in (one, made(kinds[0]), other)}
    assert len(found) == 2
    holder = lambda value: lambda x: value  # noqa: E731
    assert identity(holder(one)) == identity(holder(made(kinds[0]))) != identity(holder(other))


def test_an_argument_that_contains_itself_is_refused(engine, client):
    loop: list = [client.encrypt(np.ones(4))]
    loop.append(loop)
    with pytest.raises(hc.InvalidArgument, match="contains itself"):
        engine.run(lambda x: x[0] + 1.0, loop)
