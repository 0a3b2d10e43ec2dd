# SPDX-License-Identifier: Apache-2.0
"""Times of single operations on a device beside those of other GPU libraries, targets, and floors.

Two parameter sets, the ones that the other libraries were measured with or as near to them as ours come:

* `w32-47`: N 2^16, 32-bit words. The highest level (33) has 47 primes: 45 mains just below 2^29.64 and both
  terminals, 786433 and 1179649; log Q 1371.8. Level 15 has 23 of them: 21 mains and both terminals. A rescale
  of either drops the terminals. 12 special primes just below 2^30, digits of 12 primes, so 4 digits; log PQ
  1731.6, below the bound of 1747 for 128 bits. Scale 2^39.5.
* `w64-28`: N 2^16, 64-bit words, 28 primes (52 bits, then 49 bits each) and 7 special ones of 50 bits, digits
  of 7 primes, 4 digits; log PQ 1725.
"""

from __future__ import annotations

import datetime
import shutil
import statistics
import subprocess
from collections.abc import Callable
from typing import Any

from .. import _core
from ..base.errors import InvalidArgument
from ..base.names import device_name
from ..ckks.client import Client
from ..ckks.params import Params
from ..engine.engine import Engine
from ..engine.profiling import note_engine
from .floors import H200_CEILINGS, work_of
from .keeping import SILENT, Keep, Watcher, forget
from .operation_sets import DEFAULT_SAMPLES, FIELDS
from .options import OperationOptions

SCHEMA = 1
OPERAND_SETS = 4
"""Sets that take turns in the second kind of measurement: more than a cache holds."""

ALL = ("multiply", "rotate", "rescale", "multiply_plain", "add", "ntt", "ntt_batch")

MEASURED: dict[str, dict[int, tuple[str, ...]]] = {
    "w32-47": {33: ALL, 15: ALL},
    "w64-28": {27: ("multiply", "rotate")},
}
"""Set -> level -> operations."""

# Microseconds on one H200, back to back, of an earlier run: Cheddar 8df8b26 (32-bit words), Phantom (64-bit).
PEERS: dict[tuple[str, int], dict[str, float]] = {
    ("w32-47", 33): {
        "multiply": 425,
        "rotate": 408,
        "rescale": 93,
        "multiply_plain": 16.6,
        "add": 18.8,
        "ntt": 23.1,
    },
    ("w32-47", 15): {
        "multiply": 234,
        "rotate": 225,
        "rescale": 59,
        "multiply_plain": 8.8,
        "add": 9.9,
        "ntt": 14.5,
    },
    ("w64-28", 27): {"multiply": 972, "rotate": 756},
}
TARGETS: dict[tuple[str, int], dict[str, float]] = {
    ("w32-47", 33): {
        "multiply": 300,
        "rotate": 290,
        "rescale": 50,
        "multiply_plain": 15,
        "add": 15,
        "ntt": 15,
        "ntt_batch": 13,
    },
    ("w32-47", 15): {
        "multiply": 165,
        "rotate": 155,
        "rescale": 32,
        "multiply_plain": 8,
        "add": 8.5,
        "ntt": 9,
        "ntt_batch": 6.5,
    },
    ("w64-28", 27): {"multiply": 972, "rotate": 756},
}
MODES = (
    ("eager", False, 1),
    ("graph", True, 1),
    ("eager_turns", False, OPERAND_SETS),
    ("graph_turns", True, OPERAND_SETS),
)
"""Name, as a program that may become a graph, sets of operands."""

Progress = Callable[[int, int], None]


def operation_params(name: str) -> Params:
    """A parameter set of this benchmark; at least 128 bits, as all without `allow_insecure`."""
    if name not in FIELDS:
        raise InvalidArgument(f"bench operations: unknown set '{name}'; expected {', '.join(FIELDS)}")
    return Params(name=name, **FIELDS[name])


def small_fields(name: str, log_n: int) -> dict[str, Any]:
    """Fields of the same chain at a smaller ring degree: insecure, for tests and for looks on a CPU."""
    return FIELDS[name] | {"log_n": log_n, "allow_insecure": True, "name": f"{name}-n{log_n}"}


def clocks() -> dict[str, Any]:
    """Driver and clocks as the driver's own tool reports them; empty where it is missing."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    names = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw", "temperature.gpu")
    command = [program, f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "--id=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    values = done.stdout.strip().split(", ")
    return dict(zip(names, values, strict=True)) if len(values) == len(names) else {}


def run_operations(
    device: str = "cuda:0",
    sets: list[str] | None = None,
    samples: int = DEFAULT_SAMPLES,
    *,
    log_n: int | None = None,
    sample_seconds: float = 0.01,
    progress: Progress | None = None,
    keep: Keep = forget,
) -> dict[str, Any]:
    """Times all operations of the sets, in all modes, and returns what `--json` writes.

    log_n: another ring degree than 2^16, without security; peers and targets are left out then.
    sample_seconds: how long one of the samples takes, at least.
    keep: gets the result so far after each row.
    """
    chosen = _chosen(sets)
    content = _about(device, samples) | {"sets": {}, "rows": []}
    rows: list[dict[str, Any]] = content["rows"]
    total = sum(len(operations) for name in chosen for operations in MEASURED[name].values())
    for name in chosen:
        params = operation_params(name) if log_n is None else Params(**small_fields(name, log_n))
        engine = _engine(params, device)
        content["sets"][name] = _describe(params)
        for level, operations in MEASURED[name].items():
            for operation in operations:
                row = _row(engine, (name, level), operation, samples, sample_seconds)
                rows.append(row | _references(name, level, operation, log_n is None))
                keep(content, len(rows), total)
                if progress is not None:
                    progress(len(rows), total)
        del engine
    content["clocks"]["after"] = clocks()
    return content


def run(options: OperationOptions | None = None, watcher: Watcher = SILENT) -> dict[str, Any]:
    """The suite with its options, as `--json` writes it."""
    o = options or OperationOptions()
    sets = None if o.sets is None else list(o.sets)
    return run_operations(
        o.device,
        sets,
        o.repetitions,
        log_n=o.log_n,
        progress=lambda done, total: watcher.progress("timing operations", done, total),
        keep=watcher.keep,
    )


def _about(device: str, samples: int) -> dict[str, Any]:
    """What is known before the first row."""
    return {
        "schema": SCHEMA,
        "suite": "operations",
        "device": device,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "report": _core.report_device(device, True),
        "clocks": {"before": clocks()},
        "samples": samples,
        "operand_sets": OPERAND_SETS,
        "ceilings": {str(bits): vars(each) for bits, each in H200_CEILINGS.items()},
    }


def _chosen(sets: list[str] | None) -> list[str]:
    unknown = [name for name in sets or [] if name not in FIELDS]
    if unknown:
        raise InvalidArgument(f"bench operations: unknown set '{unknown[0]}'; expected {', '.join(FIELDS)}")
    return list(sets or FIELDS)


def _engine(params: Params, device: str) -> Engine:
    """An engine with the keys that are timed; generated one after the other, the client's copies go."""
    client = Client(params)
    # Each sample of MODES is recorded or not, whatever would pay.
    engine = Engine(params, client.evaluation_keys([1]), device_name(device), graphs=True)
    note_engine(engine)  # `--profile`
    return engine


def _describe(params: Params) -> dict[str, Any]:
    return {
        "n": params.n,
        "word_bits": params.word_bits,
        "log_q": params.log2_q,
        "log_pq": params.log2_pq,
        "security_bits": params.security_bits,
        "digits": params.digit_count,
        "primes": params.primes,
    }


def _row(
    engine: Engine, where: tuple[str, int], operation: str, samples: int, sample_seconds: float
) -> dict[str, Any]:
    """Measured times, in microseconds, and floors."""
    params, (name, level) = engine.params, where
    row: dict[str, Any] = {"set": name, "level": level, "operation": operation}
    row["limbs"] = params.level(level).primes
    for mode, graph, operand_sets in MODES:
        if graph and not _core.makes_graphs(engine._core):
            row[f"{mode}_us"] = None
            continue
        taken = _core.time_operation(
            engine._core, operation, level, samples, 0, operand_sets, graph, sample_seconds
        )
        times = sorted(1e6 * each for each in taken["seconds"])
        row[f"{mode}_us"] = statistics.median(times)
        row[f"{mode}_min_us"], row[f"{mode}_max_us"] = times[0], times[-1]
        if graph:
            row[f"{mode}_replays"] = taken["replays"]
    row["us"] = min(row[mode] for mode in ("eager_us", "graph_us") if row[mode] is not None)
    work = work_of(operation, params, level)
    moved, computed = work.seconds(H200_CEILINGS[params.word_bits])
    row |= {"bytes": work.bytes, "butterflies": work.butterflies, "products": work.products}
    row |= {"bytes_floor_us": 1e6 * moved, "arithmetic_floor_us": 1e6 * computed}
    row["of_floor"] = row["us"] / (1e6 * max(moved, computed))
    return row


def _references(name: str, level: int, operation: str, full_size: bool) -> dict[str, float | None]:
    """Times of other libraries, and targets; None where there is no such figure."""
    tables = {"peer_us": PEERS, "target_us": TARGETS}
    return {
        key: table.get((name, level), {}).get(operation) if full_size else None
        for key, table in tables.items()
    }
