# SPDX-License-Identifier: Apache-2.0
"""Runs with automatic bootstraps: programs are recorded on a ghost, and placements are kept."""

from __future__ import annotations

import contextlib
import dataclasses
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Literal

from ..base.errors import InvalidArgument, LevelExhausted
from ..circuits.bootstrapping import BootstrapOptions
from ..ckks.ciphertext import Ciphertext, bind_all
from ..ckks.params import Params
from .bootstrap_placement import Placement, place
from .graph_recorder import GraphRecorder
from .placement_problem import Refresh
from .planned_run import PLANS_KEPT, shape_arguments
from .program_graph import Node, ProgramGraph
from .program_identity import Arguments
from .refreshing import LEAST, Course, Kind, Refresher
from .watched_core import WatchedCore

Bootstrap = Literal["auto"] | BootstrapOptions | Mapping[str, Any]
"""What `Engine(bootstrap=...)` takes."""

_LEAST_LEVELS = "output_level", LEAST

_ELSEWHERE = (
    "run: with automatic bootstraps a program is recorded on a ghost first, and it uses ciphertexts of this "
    "engine that are not among its arguments; pass them to run()"
)


def automatic_options(bootstrap: Any, params: Params) -> dict[str, Any] | None:
    """Fields of `BootstrapOptions` for `Engine(bootstrap=...)`; None where nothing is bootstrapped by itself.

    Raises InvalidArgument for anything but None, "auto", a BootstrapOptions and a mapping of its fields, and
    for parameters that cannot be bootstrapped.
    """
    if bootstrap is None:
        return None
    if isinstance(bootstrap, BootstrapOptions):
        fields = dataclasses.fields(BootstrapOptions)
        values = {each.name: getattr(bootstrap, each.name) for each in fields}
        options = {each.name: values[each.name] for each in fields if values[each.name] != each.default}
    elif isinstance(bootstrap, Mapping):
        options = dict(bootstrap)
    elif bootstrap == "auto":
        options = {}
    else:
        raise InvalidArgument(
            f'Engine: bootstrap is {bootstrap!r:.60}; expected "auto", a BootstrapOptions, a mapping of its '
            'fields such as {"message_bound": 4}, or None'
        )
    known = {each.name for each in dataclasses.fields(BootstrapOptions)} - {"slots"}
    if unknown := sorted(set(options) - known, key=str):
        raise InvalidArgument(
            f"Engine: bootstrap has the options {', '.join(map(str, unknown))}; expected fields of "
            "BootstrapOptions without slots, which are those of each ciphertext"
        )
    BootstrapOptions(**{name: value for name, value in options.items() if (name, value) != _LEAST_LEVELS})
    if params.bootstrapping is None:
        raise InvalidArgument(
            f"Engine: parameters '{params.name}' have no levels for bootstrapping; take a preset such as "
            "n16-boot, or leave bootstrap out"
        )
    return options


@dataclasses.dataclass(frozen=True)
class BootstrapPoint:
    """One bootstrap that a program gets by itself."""

    operation: str
    """What made the ciphertext; "input" for arguments."""
    where: str
    """File and line of the program that asked for that; empty for arguments."""
    slots: int
    level: int
    """Of the ciphertext before."""
    raised: int
    """And behind."""
    needed_by: str
    """The operation that lacks levels first if this bootstrap is left out, and its place."""
    call: int
    """Number of the call; those of one call are bootstrapped together."""

    def __str__(self) -> str:
        made = f"result of {self.operation}" if self.where else "argument"
        at = f" at {self.where}" if self.where else ""
        return (
            f"bootstrap {self.call + 1}: the {made}{at} ({self.slots} slots), level {self.level} to "
            f"{self.raised}; {self.needed_by} would lack levels"
        )


@dataclasses.dataclass(frozen=True)
class Placed:
    """A program's graph and where its ciphertexts are bootstrapped."""

    graph: ProgramGraph
    placement: Placement
    outputs: Mapping[Kind, int] = dataclasses.field(default_factory=dict)
    """Level that bootstraps of a kind give; the most for those that are not there."""

    def points(self) -> tuple[BootstrapPoint, ...]:
        """Each bootstrap in words."""
        graph, placement = self.graph, self.placement
        call_of = {number: call for call, group in enumerate(placement.groups) for number in group}
        found = []
        for number in placement.refreshed:
            node = graph.nodes[number]
            level = self._arrives(number)
            by = _first_lack(graph, placement, number, level)
            at = f"{by.operation} at {by.where}" if by.where else by.operation
            raised, call = placement.levels[number], call_of[number]
            found.append(BootstrapPoint(node.operation, node.where, node.slots, level, raised, at, call))
        return tuple(found)

    def _arrives(self, number: int) -> int:
        """The level of a node before its bootstrap."""
        node = self.graph.nodes[number]
        if node.fixed_level is not None:
            return node.fixed_level
        made = min(self.placement.levels[each] for each in node.operands) - node.levels
        return made if node.most is None else min(made, node.most)


def _first_lack(graph: ProgramGraph, placement: Placement, number: int, level: int) -> Node:
    """The first operation that would lack levels, or reach a later bootstrap too low, without this one."""
    have = {number: level}
    last = graph.nodes[number]
    for each in range(number + 1, len(graph)):
        node = graph.nodes[each]
        own = [have[o] for o in node.operands if o in have]
        if not own or node.fixed_level is not None:
            continue
        left = min(own) - node.levels
        last = node
        if left < 0 or min(own) < node.needs:
            return node
        if each not in placement.refreshed:
            have[each] = left
    return last


@contextlib.contextmanager
def advising_bootstraps(params: Params) -> Iterator[None]:
    """Errors of missing levels, in an engine without automatic bootstraps, say that there are such."""
    try:
        yield
    except LevelExhausted as error:
        if params.bootstrapping is None or "bootstrap" in str(error):
            raise
        raise LevelExhausted(
            f'{error}. These parameters can be bootstrapped: give bootstrap="auto" to the Engine, and to '
            "what finds its keys (key_plan, client.keys_for)"
        ) from error


class AutomaticRuns:
    """The placements of one engine, by program; used by one run at a time."""

    def __init__(self, engine: Any, options: dict[str, Any]) -> None:
        self._engine_ref, self._identities = weakref.ref(engine), engine._identities
        self.options = options
        self.refresher = self._refresher = Refresher(engine, engine._native, options)
        self.core = WatchedCore(engine._native, self.refresher)
        self._kept: OrderedDict[Hashable, Placed] = OrderedDict()
        self._costs: dict[Kind, Refresh | None] = {}
        self.current: Placed | None = None
        """Of the run that comes, or was the last one."""
        self.last: Course | None = None
        """What the last run did; None where there was nothing to place."""

    @classmethod
    def of(cls, engine: Any, bootstrap: Bootstrap | None, has_key_nodes: bool) -> AutomaticRuns | None:
        """Those of an engine, whose operations are seen from now on; None where none were asked for."""
        options = automatic_options(bootstrap, engine.params)
        if options is None:
            return None
        if has_key_nodes:
            raise InvalidArgument(
                "Engine: automatic bootstraps with key_nodes, whose key switches they would not see; leave "
                "one of both out"
            )
        made = cls(engine, options)
        engine._core = made.core
        return made

    def stand_in(self, native: Any) -> None:
        """Lets what looks like a native engine do the operations of this one: numbers of a simulation."""
        self._refresher._native = native
        self.core = WatchedCore(native, self._refresher)
        self._engine._core = self.core

    @property
    def _engine(self) -> Any:
        return self._engine_ref()

    def points(self) -> tuple[BootstrapPoint, ...]:
        """The bootstraps of the last run in words."""
        return () if self.current is None else self.current.points()

    def prepare(self, program: Callable[..., Any], arguments: Arguments, name: Hashable) -> None:
        """Finds the bootstraps of a program for arguments of these shapes, and keeps them.

        Raises LevelExhausted where no bootstraps help, InvalidArgument where the program cannot be recorded
        or compared between runs.
        """
        if self._refresher.is_busy:
            return  # a part of a recording, or of a run that follows a placement
        key = (self._identities.identify(program, arguments, name), self._engine._core.manual)
        if key not in self._kept:
            self._kept[key] = self.placed(program, arguments)
        self._kept.move_to_end(key)
        while len(self._kept) > PLANS_KEPT:
            self._kept.popitem(last=False)
        self.current = self._kept[key]

    def call(self, program: Callable[..., Any], arguments: Arguments) -> Any:
        """The program, with the bootstraps that were prepared."""
        placed, refresher = self.current, self._refresher
        positional, named = arguments
        if placed is None or refresher.is_busy or not placed.placement.count:
            self.last = None
            return program(*positional, **named)
        refreshed = frozenset(placed.placement.refreshed)
        course = Course(placed.graph, placed.placement, refreshed, outputs=placed.outputs)
        try:
            positional, named = refresher.follow(course, arguments)
            return program(*positional, **named)
        finally:
            self.last = refresher.stop()
            if self.last is not None and self.last.departure is not None:
                for key in [key for key, each in self._kept.items() if each is placed]:
                    del self._kept[key]

    # Placements

    def placed(self, program: Callable[..., Any], arguments: Arguments) -> Placed:
        """The bootstraps of a program, which is called on ghosts."""
        with self._away() as ghost:
            graph = record(ghost, program, shape_arguments(arguments, ghost))
            graphs = [graph]
            if any(each.most is not None for each in graph.nodes):
                nodes = tuple(dataclasses.replace(each, most=None) for each in graph.nodes)
                graphs.append(dataclasses.replace(graph, nodes=nodes))
            best = self._best(graphs, ghost, program, arguments)
            return self._lowest(best) if _LEAST_LEVELS in self.options.items() else best

    def _lowest(self, placed: Placed) -> Placed:
        """The same number of bootstraps, each kind of which gives as few levels as that allows."""
        graph, count = placed.graph, placed.placement.count
        refreshes = {
            (each.slots, each.real): self.refresh_of(each)
            for each in map(graph.nodes.__getitem__, placed.placement.refreshed)
        }
        for kind, most in refreshes.items():
            assert most is not None  # it is bootstrapped
            full = self._refresher.bootstrapper(kind)
            low, high = most.input_level + 1, most.output_level
            while low < high:
                given = full.output_level_from((low + high) // 2)
                tried = refreshes | {kind: dataclasses.replace(most, output_level=given)}
                found = self._placed_with(graph, tried) if given < high else None
                if found is not None and found.placement.count <= count:
                    placed, refreshes, high = found, tried, given
                else:
                    low = (low + high) // 2 + 1
        return placed

    def _placed_with(self, graph: ProgramGraph, refreshes: Mapping[Kind, Refresh | None]) -> Placed | None:
        """The placement with bootstraps that give these levels; None where there is none."""
        try:
            placement = place(
                graph,
                lambda node: refreshes.get((node.slots, node.real)) or self.refresh_of(node),
                level_cost=self.level_cost,
            )
        except LevelExhausted:
            return None
        needed: dict[Kind, int] = {}
        for number in placement.refreshed:
            kind = graph.nodes[number].slots, graph.nodes[number].real
            needed[kind] = max(placement.levels[number], needed.get(kind, 0))
        boots = {kind: self._refresher.bootstrapper(kind) for kind in needed}
        return Placed(
            graph, placement, {kind: boots[kind].output_level_from(level) for kind, level in needed.items()}
        )

    def _best(
        self, graphs: list[ProgramGraph], ghost: Any, program: Callable[..., Any], arguments: Arguments
    ) -> Placed:
        """The placement with the fewest bootstraps in a run, with and without the levels asked for."""
        found: list[Placed] = []
        problem: LevelExhausted | None = None
        for graph in graphs:
            try:
                found.append(Placed(graph, place(graph, self.refresh_of, level_cost=self.level_cost)))
            except LevelExhausted as error:
                problem = problem or error
        if not found:
            assert problem is not None  # a graph has a placement or is refused
            raise problem
        if len(found) == 1:
            return found[0]
        return min(found, key=lambda each: self._tried(each, ghost, program, arguments))

    def _tried(self, placed: Placed, ghost: Any, program: Callable[..., Any], arguments: Arguments) -> int:
        """Bootstraps of a run of a placement."""
        ghost._automatic.current = placed
        ghost._automatic.call(program, shape_arguments(arguments, ghost))
        done = ghost._automatic.last
        return 0 if done is None else done.done + done.extra

    @contextlib.contextmanager
    def _away(self) -> Iterator[Any]:
        """A ghost, on which parts of the run go that the program asks the engine for."""
        engine, refresher = self._engine, self._refresher
        ghost = engine._bare_ghost()
        ghost._core.manual = engine._core.manual
        before, engine._explaining = engine._explaining, ghost
        try:
            with refresher.refusing(_ELSEWHERE):
                yield ghost
        finally:
            engine._explaining = before

    def refresh_of(self, node: Node) -> Refresh | None:
        """What a bootstrap does to a ciphertext, and its cost: bytes of keys that it works through."""
        kind = node.slots, node.real
        if kind not in self._costs:
            self._costs[kind] = self._measured(kind)
        return self._costs[kind]

    def _measured(self, kind: Kind) -> Refresh | None:
        """By a bootstrap on a ghost; None where ciphertexts of this kind cannot be bootstrapped."""
        try:
            least, given = self._refresher.levels_of(kind)
        except (InvalidArgument, LevelExhausted):
            return None
        if given <= least:
            return None
        ghost, boots = self._engine._bare_ghost(), self._refresher.bootstrapper(kind)
        boots.encode(ghost)
        ghost._native.take_key_uses()
        x = ghost.ghost_input(level=least, slots=kind[0], real=kind[1])
        ghost._native.bootstrap(boots._on(ghost), [x._core])
        level_of = dict(boots.key_plan.requests())
        uses = ghost._native.take_key_uses()
        size = self._engine.params.key_bytes
        bytes_read = sum(count * size(level_of.get(element)) for element, (count, _) in uses.items())
        return Refresh(least, given, float(bytes_read))

    def level_cost(self, level: int) -> float:
        """Bytes of a key at a level."""
        return float(self._engine.params.key_bytes(level))


def record(ghost: Any, program: Callable[..., Any], arguments: Arguments) -> ProgramGraph:
    """The graph of a program that runs on a ghost with automatic bootstraps."""
    recorder = GraphRecorder(ghost.params, ghost._native)
    positional, named = arguments
    try:
        ghost._refreshes.record(recorder, arguments)
        result = program(*positional, **named)
    finally:
        ghost._refreshes.stop()
    found: list[Any] = []

    def note(ct: Ciphertext) -> Ciphertext:
        found.append(ct._core)
        return ct

    bind_all(result, note)
    return recorder.graph(found)
