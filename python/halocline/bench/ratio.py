# SPDX-License-Identifier: Apache-2.0
"""Stream-ordered and managed memory side by side on a GPU: an experiment of the hybrid paper (III-B).

A program of its own (`halocline_bench_ratio`, cpp/bench/cuda) makes the managed memory: at most 4 GiB, and
never more than the card has free, so that a large card imitates a small one without being oversubscribed.
Managed pages beyond the budget are pushed out with prefetches to the host in the order of their allocation.
"""

from __future__ import annotations

import datetime
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..base.errors import CorruptData, InvalidArgument
from ..ckks.client import Client
from ..engine.engine import Engine
from ..memory.budget import MemoryOptions
from .keeping import SILENT, Watcher
from .operation_sets import DEFAULT_SAMPLES
from .operations import clocks, operation_params
from .options import RatioOptions
from .programs import find_program, run_program

SCHEMA = 1
PROGRAM = "halocline_bench_ratio"
POLICIES = {
    "resident": ("resident", MemoryOptions()),
    "async": ("async", MemoryOptions()),
    "managed": ("managed", MemoryOptions()),
    "managed, from a pool": ("managed", MemoryOptions(managed_pool=True)),
    "static": ("static", MemoryOptions()),
}
"""Label -> policy and options whose multiplication is timed: the paper compares all asynchronous with all
managed."""

DEFAULT_BUDGET_MIB = 128


def run_ratio(
    device: str = "cuda:0",
    budget_mib: int = DEFAULT_BUDGET_MIB,
    repetitions: int = 2,
    *,
    oversubscribe: bool = False,
    binary: Path | None = None,
    multiplications: bool = True,
    watcher: Watcher = SILENT,
) -> dict[str, Any]:
    """Sweep, allocations and multiplications; what `--json` writes. Takes less than a minute.

    oversubscribe: let managed memory exceed the memory that is left on the card. This can hang a GPU.
    """
    if device not in ("cuda", "cuda:0"):
        raise InvalidArgument(f"bench ratio: device '{device}'; the experiment runs on 'cuda:0' only")
    content = {
        "schema": SCHEMA,
        "suite": "ratio",
        "device": "cuda:0",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "report": _core.report_device("cuda:0", True),
        "multiplication": [],
    }
    program = find_program("ratio", PROGRAM, binary)
    labels = tuple(POLICIES) if multiplications else ()
    content |= _measure(program, budget_mib, repetitions, oversubscribe)
    watcher.row("timing multiplications", content, 1, 1 + len(labels))

    def kept(rows: list[dict[str, Any]]) -> None:
        content["multiplication"] = rows
        watcher.row("timing multiplications", content, 1 + len(rows), 1 + len(labels))

    content["multiplication"] = time_multiplications(labels=labels, kept=kept)
    return content | {"clocks": {"after": clocks()}}


def run(options: RatioOptions | None = None, watcher: Watcher = SILENT) -> dict[str, Any]:
    """The suite with its options, as `--json` writes it."""
    o = options or RatioOptions()
    return run_ratio(
        o.device,
        repetitions=o.repetitions,
        oversubscribe=o.oversubscribe_managed,
        binary=None if o.binary is None else Path(o.binary),
        watcher=watcher,
    )


def _measure(program: Path, budget_mib: int, repetitions: int, oversubscribe: bool) -> dict[str, Any]:
    arguments = ["--budget-mib", str(budget_mib), "--repetitions", str(repetitions)]
    arguments += ["--oversubscribe-managed"] if oversubscribe else []
    text = run_program("ratio", program, arguments)
    try:
        content: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise CorruptData(f"bench ratio: '{program}' wrote no JSON ({error})") from None
    return content


def time_multiplications(
    device: str = "cuda:0",
    labels: Sequence[str] = tuple(POLICIES),
    name: str = "w64-28",
    kept: Callable[[list[dict[str, Any]]], None] = lambda rows: None,
) -> list[dict[str, Any]]:
    """Microseconds of a multiplication with relinearization and rescale at the highest level, per policy.

    The paper's library has 64-bit words. No budget: what is compared is how temporaries are allocated.
    kept: called with the rows so far after each of them.
    """
    params = operation_params(name)
    keys = Client(params).evaluation_keys()
    rows = []
    for label in labels:
        policy, options = POLICIES[label]
        engine = Engine(params, keys, device, policy=policy, memory_options=options)
        taken = _core.time_operation(
            engine._core, "multiply", params.max_level, DEFAULT_SAMPLES, 0, 1, False, 0.02
        )
        times = sorted(1e6 * each for each in taken["seconds"])
        row = {"policy": label, "params": name, "us": statistics.median(times)}
        rows.append(row | {"min_us": times[0], "max_us": times[-1]})
        kept(rows)
        del engine
    return rows
