# SPDX-License-Identifier: Apache-2.0
"""`halocline bench peers`: the same CKKS operations in Halocline, SEAL and OpenFHE, in one run.

    from halocline.bench.peers.run import run_peers
    result = run_peers(sets=["n14-d6"], json_path="peers.json")

Halocline and its peers take turns, call by call and with one thread each, so that a slow moment of the
machine hits all of them; ratios are those of medians. Every result is decrypted and compared with numpy
before anything is timed.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ... import _core
from ...base.errors import Error
from ...base.files import write_file
from ...base.values import integer
from .. import machine
from ..keeping import SILENT, Keep, Watcher, forget
from . import reference, report
from . import sets as peer_sets
from .halocline_side import HaloclineSide
from .openfhe_side import OpenfheSide, import_openfhe, openfhe_version
from .options import DEFAULT_REPETITIONS, PeersOptions
from .seal_side import SealSide, import_seal, seal_version
from .side import Side, Values, expected_values, operands, verify
from .timing import MIN_REPETITIONS, Timing, time_interleaved

Json = dict[str, Any]
Step = Callable[[str], None]
"""Called with what is done next."""
Timer = Callable[..., dict[str, Timing]]

SCHEMA = 1


def run_peers(
    sets: Iterable[str] | None = None,
    threads: int = 1,
    repetitions: int = DEFAULT_REPETITIONS,
    json_path: str | Path | None = None,
    console: Console | None = None,
    timer: Timer = time_interleaved,
    keep: Keep = forget,
) -> Json:
    """Runs the comparison and returns what goes into JSON; docs/guides/benchmarks.md describes the fields.

    sets: names of parameter sets (`halocline.bench.peers.sets.SETS`), all unless given.
    threads: threads of Halocline; the peers have one. Targets hold for one.
    repetitions: timed calls of each operation, at least 11.
    json_path: file to write, as a whole or not at all.
    console: where progress and tables go; nowhere unless given.
    timer: times a dictionary of calls; tests pass their own.
    keep: gets the result so far after each operation.

    Raises PeerNotInstalled (an `Error`) when seal-python is missing, InvalidArgument for unknown sets and too
    few repetitions, Error when a library computes something wrong.
    """
    chosen = peer_sets.select_sets(sets)
    threads = integer(threads, "bench peers: threads", 1, 1024)
    repetitions = integer(repetitions, "bench peers: repetitions", MIN_REPETITIONS)
    import_seal()
    openfhe, reason = import_openfhe()
    load_before = machine.load_average()
    content = _about(load_before, threads, repetitions, openfhe, reason)
    comparison = _Comparison(content, chosen, threads, openfhe, repetitions, timer, keep)
    with _progress(console, len(chosen) * (2 + len(peer_sets.OPERATIONS)) + 1) as step:
        for each in chosen:
            comparison.add(each, step)
        step(f"{chosen[-1].name}: two threads")
        if machine.usable_cores() > 1:
            content["two_threads"] = _two_threads(chosen[-1], repetitions, timer)
    content["machine"] = machine.describe(load_before)
    if console is not None:
        report.print_report(console, content)
    if json_path is not None:
        write_file(json_path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())
    return content


def run(options: PeersOptions | None = None, watcher: Watcher = SILENT) -> Json:
    """The comparison with its options, as `--json` writes it."""
    o = options or PeersOptions()
    return run_peers(o.sets, o.threads, o.repetitions, keep=functools.partial(watcher.row, "comparing"))


def _about(load_before: float | None, threads: int, repetitions: int, openfhe: Any, reason: str) -> Json:
    """What is known before the first row."""
    return {
        "schema": SCHEMA,
        "command": "halocline bench peers",
        "version": _core.version,
        "commit": _core.commit,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine.describe(load_before),
        "threads": threads,
        "repetitions": repetitions,
        "peers": {
            "seal": {"version": seal_version()},
            "openfhe": {"version": openfhe_version() if openfhe else None, "reason": reason or None},
        },
        "references": reference.provenance(),
        "sets": [],
        "two_threads": None,
    }


class _Comparison:
    """Adds parameter sets to a result, row by row."""

    def __init__(
        self,
        content: Json,
        chosen: Sequence[peer_sets.PeerSet],
        threads: int,
        openfhe: Any,
        repetitions: int,
        timer: Timer,
        keep: Keep,
    ) -> None:
        self._content, self._threads, self._openfhe = content, threads, openfhe
        self._repetitions, self._timer, self._keep = repetitions, timer, keep
        self._done, self._total = 0, len(chosen) * len(peer_sets.OPERATIONS)

    def add(self, peer_set: peer_sets.PeerSet, step: Step) -> None:
        """One parameter set, as in JSON."""
        step(f"{peer_set.name}: keys")
        x, y = operands(peer_set.slots)
        sides = _make_sides(peer_set, x, y, self._threads, self._openfhe)
        step(f"{peer_set.name}: checking results")
        expected = expected_values(x, y)
        errors = {name: verify(side, expected) for name, side in sides.items()}
        made = _head(peer_set, sides, errors)
        self._content["sets"].append(made)
        for operation in peer_sets.OPERATIONS:
            step(f"{peer_set.name}: {operation.name}")
            able = {name: side for name, side in sides.items() if operation.name in side.calls}
            calls = {name: side.calls[operation.name] for name, side in able.items()}
            made["rows"].append(_row(peer_set.name, operation, self._timer(calls, self._repetitions)))
            self._done += 1
            self._keep(self._content, self._done, self._total)


def _head(peer_set: peer_sets.PeerSet, sides: dict[str, Side], errors: dict[str, float]) -> Json:
    """What is known of a parameter set before its first row."""
    own = sides["halocline"]
    peers = {
        name: {
            "library": side.label,
            "log_q": side.log_q,
            "log_pq": None if math.isnan(side.log_pq) else side.log_pq,
            "max_error": errors[name],
        }
        for name, side in sides.items()
        if side is not own
    }
    return {
        "name": peer_set.name,
        "n": peer_set.n,
        "levels": peer_set.levels,
        "log_q": own.log_q,
        "log_pq": own.log_pq,
        "max_error": errors["halocline"],
        **peers,
        "rows": [],
    }


def _make_sides(
    peer_set: peer_sets.PeerSet, x: Values, y: Values, threads: int, openfhe: Any
) -> dict[str, Side]:
    """The libraries in the order of their turns. Raises Error when ours has the smaller modulus."""
    sides: dict[str, Side] = {"halocline": HaloclineSide(peer_set, x, y, threads)}
    sides["seal"] = SealSide(peer_set, x, y)
    if openfhe is not None:
        sides["openfhe"] = OpenfheSide(openfhe, peer_set, x, y)
    own = sides["halocline"].log_q
    for side in sides.values():
        if side.log_q > own:
            raise Error(
                f"bench peers: set {peer_set.name}: {side.label} has log Q {side.log_q:.2f}, Halocline only "
                f"{own:.2f}; the comparison would favour Halocline"
            )
    return sides


def _row(peer_set: str, operation: peer_sets.Operation, timings: dict[str, Timing]) -> Json:
    """One operation, as in JSON; None stands for what was not measured."""
    row: Json = {"operation": operation.name}
    for name in ("halocline", "seal", "openfhe"):
        timing = timings.get(name)
        row[f"{name}_ms"] = timing.median if timing else None
        row[f"{name}_min_ms"] = timing.minimum if timing else None
        row[f"{name}_max_ms"] = timing.maximum if timing else None
    row["ratio"] = timings["seal"].median / timings["halocline"].median
    row["target"] = operation.target
    for each in reference.REFERENCES:
        row[f"{each.key}_reference_ms"] = each.lookup(peer_set, operation.name)
    return row


def _two_threads(peer_set: peer_sets.PeerSet, repetitions: int, timer: Timer) -> Json:
    """Our multiplication with one and with two threads, in turn, as in JSON."""
    x, y = operands(peer_set.slots)
    name = peer_sets.MULTIPLY_FULL
    calls = {str(threads): HaloclineSide(peer_set, x, y, threads).calls[name] for threads in (1, 2)}
    timings = timer(calls, repetitions, own_caches=True)
    return {
        "set": peer_set.name,
        "operation": name,
        "one_thread_ms": timings["1"].median,
        "one_thread_min_ms": timings["1"].minimum,
        "two_threads_ms": timings["2"].median,
        "two_threads_min_ms": timings["2"].minimum,
        "scaling": timings["1"].median / timings["2"].median,
        "target": peer_sets.TWO_THREADS_TARGET,
    }


@contextmanager
def _progress(console: Console | None, total: int) -> Iterator[Step]:
    """A bar that is redrawn between measurements only: no thread of it runs during one."""
    if console is None:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=total)

        def step(what: str) -> None:
            progress.update(task, advance=1, description=what, refresh=True)

        yield step
