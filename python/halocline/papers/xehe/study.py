# SPDX-License-Identifier: Apache-2.0
"""`halocline paper xehe`: correctness on the device, then transforms, routines and matrix products."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ... import _core
from ...base.errors import CorruptData, Error
from ...bench.keeping import SILENT, Watcher
from ...bench.operations import clocks
from . import matrices, processes, published, routines, transforms
from .options import XeheOptions
from .rigs import Row, Step, steps_of

SCHEMA = 1
SUITE = "xehe-paper"
TARGETS = {"one": 80.0, "batch": 45.0}
"""Microseconds of MulLinRS at N = 32K, L = 8 on an H200: one ciphertext, and each of a batch of 16."""


def run(options: XeheOptions, watcher: Watcher = SILENT) -> Row:
    """The study, as `--json` writes it. Raises CorruptData where the device computes other integers."""
    o = options
    content: Row = {
        "schema": SCHEMA,
        "suite": SUITE,
        "version": _core.version,
        "commit": _core.commit,
        "device": o.device,
        "report": _core.report_device(o.device, True),
        "clocks": {"before": clocks()},
        "options": {"repetitions": o.repetitions, "batch": o.batch, "log_n": o.log_n},
        "published": {"transforms_ms": published.TRANSFORMS_MS, "text": published.TEXT},
        "targets_us": TARGETS,
        "transforms": [],
        "routines": [],
        "matrices": [],
        "processes": [],
        "refused": [],
        "routine_work": routines.floors(o.log_n),
    }
    work = _work(o)
    _check(o)
    content["equal_integers"] = True
    for done, (table, measure) in enumerate(work):
        try:
            content[table].append(measure())
        except Error as error:  # other steps may do, and what is measured is kept
            content["refused"].append({"table": table, "number": done, "error": str(error)})
        _speed_ups(content)
        if o.rows is not None:
            o.rows.write_text(json.dumps(content | {"partial": done + 1 < len(work)}, indent=1))
        watcher.row("measuring", content, done + 1, len(work))
    content["clocks"]["after"] = clocks()
    return content


def _check(o: XeheOptions) -> None:
    """Equal integers on the device and the scalar kernels, at the sizes that are measured."""
    for batch in (1, 3):
        found = routines.differing(o.device, Step("check", batch=batch), o.log_n)
        if found:
            raise CorruptData(
                f"paper xehe: {o.device} and the scalar kernels compute different integers in "
                f"{', '.join(found)}, {batch} at a time; run the conformance suite on the device"
            )
    if not matrices.is_correct(o.device, o.matrix_log_n):
        raise CorruptData(
            f"paper xehe: {o.device} and the scalar kernels compute different matrix products; run the "
            "conformance suite on the device"
        )


def _work(o: XeheOptions) -> list[tuple[str, Callable[[], Row]]]:
    """All measurements: the table of the row, and what makes it. Routines come first."""
    found: list[tuple[str, Callable[[], Row]]] = []
    steps = steps_of(o.device, o.batch, o.queues)
    if "routines" in o.parts:
        for step in steps:
            found += [("routines", each) for each in _routine_rows(o, step)]
    if "matrices" in o.parts:
        for name in matrices.SHAPES:
            rows = matrices.time_steps(o.device, o.matrix_log_n, name, o.repetitions)
            found += [("matrices", each) for each in rows]
    if "transforms" in o.parts:
        for step in (each for each in steps if each.batch == each.queues == 1 and not each.graph):
            if step.policy == "cached":
                continue
            for log_n in transforms.LOG_SIZES:
                for limbs in transforms.BATCHES:
                    found.append(("transforms", _transform_row(o, step, log_n, limbs)))
    if "processes" in o.parts:
        processes.seal_python()
        for name in reversed(matrices.SHAPES):
            found += [("processes", _process_row(o, step, name)) for step in processes.STEPS]
    return found


def _process_row(o: XeheOptions, step: Step, name: str) -> Callable[[], Row]:
    count = o.process_repetitions
    return lambda: processes.time_process(o.device, step, o.matrix_log_n, name, count)


def _routine_rows(o: XeheOptions, step: Step) -> list[Callable[[], Row]]:
    """One engine for all routines of a step, made when the first one is timed and dropped after the last."""
    kept: list[routines.Rig] = []

    def row(name: str, last: bool) -> Row:
        if not kept:
            kept.append(routines.Rig(o.device, step, o.log_n))
        made = kept[0].time(name, o.repetitions)
        if last:
            kept.clear()
        return made

    names = list(routines.ROUTINES)
    return [lambda name=name: row(name, name == names[-1]) for name in names]  # type: ignore[misc]


def _transform_row(o: XeheOptions, step: Step, log_n: int, limbs: int) -> Callable[[], Row]:
    return lambda: transforms.time_transforms(o.device, step, log_n, limbs, o.repetitions)


def _speed_ups(content: dict[str, Any]) -> None:
    """How much faster each row is than the first step of the same thing."""
    for table, keys in (
        ("routines", ("routine",)),
        ("matrices", ("product",)),
        ("processes", ("product",)),
        ("transforms", ("log_n", "limbs")),
    ):
        first: dict[tuple[Any, ...], float] = {}
        for row in content[table]:
            name = tuple(row[key] for key in keys)
            row["speed_up"] = first.setdefault(name, row["us"]) / row["us"]
