# SPDX-License-Identifier: Apache-2.0
"""Bootstraps that an engine does by itself: at the points of a placement, and where levels are missing.

A ciphertext at a point of a placement waits until it is used; then all that wait and can share a call are
bootstrapped together. Python objects of ciphertexts are given the bootstrapped contents in place, so that a
value is bootstrapped once however often it is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._core import Ciphertext as NativeCiphertext
from .._core import Engine as NativeEngine
from ..base.errors import InvalidArgument, LevelExhausted
from ..circuits.bootstrapping import Bootstrapper
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.host import Host
from .bootstrap_placement import Placement
from .graph_recorder import GraphRecorder
from .program_graph import INPUT, ProgramGraph
from .program_identity import Arguments
from .watched_core import Operation, ciphertexts_in, replaced, results_of

Kind = tuple[int, bool]
"""What can share a call: slots, and whether these are real."""

LEAST = "least"
"""As `output_level`: bootstraps of a program give no more levels than as many of them need."""


@dataclasses.dataclass
class Waiting:
    """A ciphertext that will be bootstrapped when it is used."""

    native: NativeCiphertext
    number: int
    """Of its node."""
    lowered: int | None
    """Level to which the result is lowered."""
    seen: list[weakref.ref[Ciphertext]] = dataclasses.field(default_factory=list)
    """Python's objects of it."""


@dataclasses.dataclass
class Course:
    """A run along a placement."""

    graph: ProgramGraph
    placement: Placement
    refreshed: frozenset[int]
    next_node: int = 0
    done: int = 0
    """Bootstraps at points of the placement."""
    extra: int = 0
    """Bootstraps that were needed beyond it."""
    departure: str | None = None
    """Where the program did something else than when it was recorded."""
    outputs: Mapping[Kind, int] = dataclasses.field(default_factory=dict)
    """Level that bootstraps of a kind give; the most for those that are not there."""


class Refresher:
    """Sees the operations of one engine and bootstraps what they take, or have made."""

    def __init__(self, engine: Any, native: NativeEngine, options: dict[str, Any]) -> None:
        self._engine_ref = weakref.ref(engine)
        self._native = native
        self.options = options
        self.leaves_out_bootstraps = False
        """Whether bootstraps of the program itself are left out: in recordings."""
        self.count = 0
        """Ciphertexts bootstrapped so far."""
        self._refuses: tuple[int, str] | None = None
        self._recorder: GraphRecorder | None = None
        self._course: Course | None = None
        self._thread: int | None = None
        self._waiting: dict[int, Waiting] = {}
        self._objects: weakref.WeakValueDictionary[int, Ciphertext] = weakref.WeakValueDictionary()
        self._levels: dict[Kind, tuple[int, int]] = {}

    @property
    def engine(self) -> Host:
        """Whose operations it sees."""
        found = self._engine_ref()
        assert found is not None  # it lives as long as its engine
        host: Host = found
        return host

    # Bootstraps

    def bootstrapper(self, kind: Kind, output_level: int = 0) -> Bootstrapper:
        """How ciphertexts of a kind are bootstrapped, to a level or to the highest that there is."""
        slots, real = kind
        host: Any = self.engine
        options = self.options | ({"output_level": output_level} if output_level else {})
        if options.get("output_level") == LEAST:
            del options["output_level"]
        made: Bootstrapper = host._bootstrapper(slots, {"real": real} | options)
        return made

    def _ways(self, kind: Kind) -> list[Bootstrapper]:
        """To the level of the placement, and where that is too low to the highest."""
        level = 0 if self._course is None else self._course.outputs.get(kind, 0)
        highest = self.bootstrapper(kind)
        return [self.bootstrapper(kind, level), highest] if level else [highest]

    def levels_of(self, kind: Kind) -> tuple[int, int]:
        """Least level that a bootstrap takes, and the level that it gives."""
        if kind not in self._levels:
            made = self.bootstrapper(kind)
            self._levels[kind] = made.input_level, made.output_level
        return self._levels[kind]

    def _kind(self, native: NativeCiphertext) -> Kind:
        known = self._objects.get(id(native))
        return native.slots, known is not None and known._native is native and known._real

    def _refresh(
        self, natives: Sequence[NativeCiphertext], bootstrapper: Bootstrapper
    ) -> list[NativeCiphertext]:
        """All of one kind, bootstrapped together."""
        made = self._native.bootstrap(bootstrapper._on(self.engine), list(natives))
        self.count += len(made)
        if self._recorder is not None:
            for before, after in zip(natives, made, strict=True):
                self._recorder.same(before, after)
            self._native.take_key_uses()  # not of the operation that comes
        return made

    # What ciphertexts ask

    def adopt(self, ciphertext: Ciphertext) -> bool:
        """Notes Python's object of a native ciphertext; whether that waits for its bootstrap."""
        native = ciphertext._native
        self._objects[id(native)] = ciphertext
        if self._recorder is not None and ciphertext._real:
            self._recorder.real(native)
        entry = self._waiting.get(id(native))
        if entry is None:
            return False
        entry.seen.append(weakref.ref(ciphertext))
        return True

    def settle(self, ciphertext: Ciphertext) -> None:
        """Bootstraps a ciphertext that waits, and all that can share the call."""
        entry = self._waiting.get(id(ciphertext._native))
        if entry is None:
            ciphertext._waits = False
        else:
            self._settle(entry, (ciphertext.slots, ciphertext._real))

    def _settle(self, first: Waiting, kind: Kind) -> NativeCiphertext:
        waiting = list(self._waiting.values())
        group = [each for each in waiting if each is first or self._kind(each.native) == kind]
        # Other threads may use an argument of the program: each takes out what it bootstraps, in one step.
        group = [each for each in group if self._waiting.pop(id(each.native), None) is not None]
        group.sort(key=lambda each: each.number)
        found = first.native
        if not group:
            return found
        results = self._refresh([each.native for each in group], self._ways(kind)[0])
        for each, raised in zip(group, results, strict=True):
            lowers = each.lowered is not None and each.lowered < raised.level
            made = self._native.drop_level(raised, each.lowered or 0) if lowers else raised
            for reference in each.seen:
                self._exchange(reference(), made)
            if each is first:
                found = made
        if self._course is not None:
            self._course.done += len(group)
        return found

    def _exchange(self, known: Ciphertext | None, native: NativeCiphertext) -> None:
        """Gives Python's object other contents, of the same value."""
        if known is not None:
            known._native, known._waits = native, False
            self._objects[id(native)] = known

    def ready(self, ciphertexts: Sequence[Ciphertext], levels: int) -> None:
        """Bootstraps those that have fewer levels than what comes costs, where that helps."""
        for each in ciphertexts:
            if self._lacks(each._core, levels):
                self._raise([each._core])

    def _lacks(self, native: NativeCiphertext, levels: int) -> bool:
        least, given = self.levels_of(self._kind(native))
        return native.level < levels or (native.level < levels + least <= given)

    def _raise(self, natives: Sequence[NativeCiphertext]) -> dict[int, NativeCiphertext]:
        """Bootstraps what can be, beyond all placements; results by the identity of what they replace."""
        made: dict[int, NativeCiphertext] = {}
        for each in natives:
            ways = [w for w in self._ways(self._kind(each)) if w.input_level <= each.level < w.output_level]
            if id(each) in made or each.parts != 2 or not ways:
                continue
            (made[id(each)],) = self._refresh([each], ways[0])
            known = self._objects.get(id(each))
            if known is not None and known._native is each:
                self._exchange(known, made[id(each)])
            if self._course is not None:
                self._course.extra += 1
        return made

    # Operations

    def operate(self, name: str, native: Operation, arguments: tuple[Any, ...]) -> Any:
        """An operation, with bootstraps before it where levels are missing."""
        if self._refuses is not None and self._refuses[0] == threading.get_ident():
            raise InvalidArgument(self._refuses[1])
        watched = self._thread == threading.get_ident()
        operands = ciphertexts_in(arguments)
        if self._waiting and any(id(each) in self._waiting for each in operands):
            arguments = tuple(replaced(arguments, self._settled))
            operands = ciphertexts_in(arguments)
        recorder = self._recorder if watched else None
        if name == "bootstrap" and recorder is not None and self.leaves_out_bootstraps:
            for each in operands:
                recorder.by_hand(each)
            return operands
        result, arguments = self._attempt(name, native, arguments)
        if recorder is not None:
            recorder.operation(name, arguments, ciphertexts_in(arguments), results_of(result))
        if self._course is not None and watched and self._course.departure is None:
            self._follow(self._course, name, results_of(result))
        return result

    def _settled(self, native: NativeCiphertext) -> NativeCiphertext:
        entry = self._waiting.get(id(native))
        return native if entry is None else self._settle(entry, self._kind(native))

    def _attempt(
        self, name: str, native: Operation, arguments: tuple[Any, ...]
    ) -> tuple[Any, tuple[Any, ...]]:
        """The result, and the arguments that it was made of."""
        while True:
            result, error = None, None
            try:
                result = native(*arguments)
            except LevelExhausted as exhausted:
                error = exhausted
            if error is None and not self._too_low(name, results_of(result)):
                return result, arguments
            operands = ciphertexts_in(arguments)
            lowest = min((each.level for each in operands), default=0)
            raised = {} if self._native.manual else self._raise([e for e in operands if e.level == lowest])
            if not raised:
                if error is None:
                    return result, arguments
                if name == "drop_level":
                    return operands[0], arguments  # as high as it can be, which is lower than that
                raise LevelExhausted(self._lack(error)) from None
            arguments = tuple(replaced(arguments, functools.partial(_instead, raised)))

    def _too_low(self, name: str, results: Sequence[NativeCiphertext]) -> bool:
        """Whether a result is at a level from which no bootstrap is possible any more."""
        if name in ("load", "bootstrap", "drop_level") or self._native.manual:
            return False
        return any(each.level < self.levels_of(self._kind(each))[0] for each in results)

    def _lack(self, error: LevelExhausted) -> str:
        manual = " in manual mode, where nothing is bootstrapped" if self._native.manual else ""
        return (
            f"{error}{manual}. Automatic bootstraps do not help: a bootstrapped ciphertext has too few "
            "levels for this operation, or one of its operands cannot be bootstrapped. Take operations of "
            "fewer levels, or parameters with more"
        )

    def _follow(self, course: Course, name: str, results: Sequence[NativeCiphertext]) -> None:
        """Notes results that stand at points of the placement."""
        nodes, name = course.graph.nodes, INPUT if name == "load" else name
        for result in results:
            number = course.next_node
            known = nodes[number] if number < len(nodes) else None
            if known is None or known.operation != name or known.slots != result.slots:
                expected = "its end" if known is None else f"{known.operation} ({known.slots} slots)"
                course.departure = (
                    f"operation {number} was {name} ({result.slots} slots), expected {expected}; bootstraps "
                    "were done where levels were missing"
                )
                self._give_up()
                return
            course.next_node += 1
            if number in course.refreshed:
                self._wait(result, number, course.placement)

    def _wait(self, native: NativeCiphertext, number: int, placement: Placement) -> None:
        least, given = self.levels_of((native.slots, False))
        if least <= native.level < given:
            self._waiting[id(native)] = Waiting(native, number, placement.lowered.get(number))

    def _give_up(self) -> None:
        """What waits goes on as it is."""
        for entry in list(self._waiting.values()):
            for reference in entry.seen:
                known = reference()
                if known is not None:
                    known._waits = False
        self._waiting = {}
        if self._course is not None and self._course.departure is not None:
            self._course = dataclasses.replace(self._course, refreshed=frozenset())

    # Runs

    @property
    def is_busy(self) -> bool:
        """Whether this thread is being recorded, or follows a placement."""
        return self._thread == threading.get_ident()

    @contextlib.contextmanager
    def refusing(self, reason: str) -> Iterator[None]:
        """Operations of this thread on this engine raise InvalidArgument inside the block."""
        before, self._refuses = self._refuses, (threading.get_ident(), reason)
        try:
            yield
        finally:
            self._refuses = before

    def record(self, recorder: GraphRecorder, arguments: Arguments) -> None:
        """Writes down what this thread does from now on; `stop` ends it."""
        self._recorder, self._thread = recorder, threading.get_ident()
        for each in distinct(arguments):
            recorder.input(each._core, each._real)

    def follow(self, course: Course, arguments: Arguments) -> Arguments:
        """Bootstraps along a placement what this thread does from now on; `stop` ends it.

        The arguments come back as other objects, so that those of the caller stay as they are.
        """
        self._course, self._thread = course, threading.get_ident()
        made: dict[int, Ciphertext] = {}
        for number, each in enumerate(distinct(arguments)):
            native, lowered = each._core, course.placement.lowered.get(number)
            if number in course.refreshed:
                self._wait(native, number, course.placement)
            elif lowered is not None and lowered < native.level:
                native = self._native.drop_level(native, lowered)
            made[id(each._core)] = Ciphertext(native, each._engine, each._real)
        course.next_node = len(made)
        positional, named = arguments

        def new(ct: Ciphertext) -> Ciphertext:
            return made[id(ct._core)]

        return bind_all(positional, new), {name: bind_all(each, new) for name, each in named.items()}

    def stop(self) -> Course | None:
        """Ends a recording, or a run along a placement, which it returns."""
        course = self._course
        self._give_up()
        self._recorder, self._course, self._thread = None, None, None
        return course


def _instead(raised: dict[int, NativeCiphertext], native: NativeCiphertext) -> NativeCiphertext:
    return raised.get(id(native), native)


def distinct(arguments: Arguments) -> list[Ciphertext]:
    """The ciphertexts among the arguments in their order, each once."""
    found: dict[int, Ciphertext] = {}

    def note(ct: Ciphertext) -> Ciphertext:
        found.setdefault(id(ct._core), ct)
        return ct

    positional, named = arguments
    for each in (*positional, *named.values()):
        bind_all(each, note)
    return list(found.values())
