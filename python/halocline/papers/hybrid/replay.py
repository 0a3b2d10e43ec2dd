# SPDX-License-Identifier: Apache-2.0
"""Replays the workloads of the hybrid unified-memory paper on its devices: `halocline bench hybrid-paper`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...bench.keeping import SILENT, Watcher
from ...memory.trace import Trace
from ...tracing.replay import DeviceModel, ReplayReport, device_models, replay
from .options import POLICIES, HybridOptions
from .traces import (
    OPERATIONS,
    PRESETS,
    REPEATS,
    bm_bootstrap_trace,
    operation_trace,
    oversubscribed_trace,
    resnet_trace,
    session_trace,
)

SCHEMA = 1
SUITE = "hybrid-paper"
SMALL_DEVICES = ("gtx1050", "gtx1660ti")
LARGE_DEVICE, TEST_DEVICE = "a40", "rtx4090"
SESSION_PRESETS = ("FGa", "FGb", "FVb")
"""Parameters of the paper's figures 11 and 12."""
SESSION_RATIO = 0.68
"""Async peak threshold of its figure 12."""
RANGE_LIMIT = 8
"""X of the dynamic scheme, which the paper does not give. From 10 on, sizes that only grow would go to the
pool: ten live counts of a growing size differ by nine."""
RATIOS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95)
OVERSUBSCRIPTIONS = (1.0, 1.5, 2.0)
OVERSUBSCRIPTION = 2.0
"""Live bytes over budget in the comparison of all policies."""

Row = dict[str, Any]


def run_hybrid_paper(
    presets: tuple[str, ...] = SESSION_PRESETS,
    bootstraps: tuple[str, ...] = PRESETS,
    repeats: int = REPEATS,
    watcher: Watcher = SILENT,
) -> dict[str, Any]:
    """All replays, as `--json` writes them. Times are seconds of the simulated devices.

    presets: parameters of the sessions. bootstraps: parameters of BM-bootstrap, in its order. repeats: runs
    of each operation of a session.
    """
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("multiplication", multiplication),
        ("sessions", lambda: sessions(presets, repeats)),
        ("test_program", test_program),
        ("bm_bootstrap", lambda: bm_bootstrap(bootstraps)),
        ("resnet", resnet),
        ("oversubscribed", lambda: oversubscribed(presets)),
    ]
    found: dict[str, Any] = {"schema": SCHEMA, "suite": SUITE, "repeats": repeats, "range_limit": RANGE_LIMIT}
    watcher.progress("replaying", 0, len(parts))
    for done, (name, part) in enumerate(parts):
        found[name] = part()
        watcher.row("replaying", found, done + 1, len(parts))
    return found


def run(options: HybridOptions | None = None, watcher: Watcher = SILENT) -> dict[str, Any]:
    """The suite with its options, as `--json` writes it."""
    o = options or HybridOptions()
    return run_hybrid_paper(repeats=o.repetitions, watcher=watcher)


def _run(trace: Trace, device: str | DeviceModel, policy: str, ratio: float = SESSION_RATIO) -> ReplayReport:
    return replay(trace, device, policy, async_ratio=ratio, range_limit=RANGE_LIMIT)


def multiplication() -> Row:
    """Section III-A: a multiplication that fits, all from the pool and all managed."""
    trace = operation_trace("FGa", "mult")
    times = {name: _run(trace, LARGE_DEVICE, name).operations()["mult"] for name in ("async", "managed")}
    rows = {name: {"mean": float(each.mean()), "warm": float(each[-1])} for name, each in times.items()}
    return {"device": LARGE_DEVICE, "preset": "FGa", **rows}


def sessions(presets: tuple[str, ...], repeats: int) -> list[Row]:
    """Figures 3, 11 and 12: the benchmark of all operations on the small devices."""
    rows = []
    for preset in presets:
        trace = session_trace(preset, repeats)
        for device in SMALL_DEVICES:
            for policy in POLICIES:
                report = _run(trace, device, policy)
                times = report.operations()
                spread = {
                    name: {
                        "mean": float(times[name].mean()),
                        "deviation": float(times[name].std()),
                        "low": float(times[name].min()),
                        "high": float(times[name].max()),
                    }
                    for name in OPERATIONS
                }
                rows.append({"preset": preset, "device": device, "policy": policy, "operations": spread})
    return rows


def test_program() -> list[Row]:
    """Section III-B: oversubscription and share of asynchronous allocations, on a test program."""
    model = device_models()[TEST_DEVICE]
    rows = []
    for times in OVERSUBSCRIPTIONS:
        trace = oversubscribed_trace(int(times * model.usable_bytes))
        for ratio in (0.0, 0.25, 0.5, 0.75, 0.95):
            report = _run(trace, model, "profiled", ratio)
            rows.append({"oversubscription": times, "ratio": ratio, "seconds": report.total_seconds})
    return rows


def bm_bootstrap(presets: tuple[str, ...]) -> Row:
    """Figures 6, 8 and 10: bootstrapping with all parameter sets."""
    trace = bm_bootstrap_trace(presets)
    sweep = [{"ratio": ratio, **_time(_run(trace, LARGE_DEVICE, "profiled", ratio))} for ratio in RATIOS]
    others = {name: _time(_run(trace, LARGE_DEVICE, name)) for name in POLICIES if name != "profiled"}
    lives = trace.lifetimes.allocations()
    run = float(lives.end.max())
    managed = others["managed"]["seconds"]
    return {
        "device": LARGE_DEVICE,
        "usable_bytes": device_models()[LARGE_DEVICE].usable_bytes,
        "peak_bytes": trace.peak_bytes,
        "profiled": sweep,
        "policies": others,
        "share_below_1s": float((lives.seconds * managed / run < 1).mean()),
        "share_below_1_percent": float((lives.seconds < 0.01 * run).mean()),
        "pool_peaks": [
            {"lifetime": limit, "bytes": _pool_peak(trace, limit * run)}
            for limit in (0.01, 0.1, 0.25, 0.5, 0.75, 1.0)
        ],
    }


def _time(report: ReplayReport) -> Row:
    return {"seconds": report.total_seconds, "stall_seconds": report.stall_seconds}


def _pool_peak(trace: Trace, lifetime: float) -> int:
    """Largest sum of live bytes of the buffers that live at most so long."""
    lives = trace.lifetimes.allocations()
    chosen = lives.seconds <= lifetime
    change = np.zeros(len(trace) + 1, dtype=np.int64)
    np.add.at(change, lives.first[chosen], lives.bytes[chosen])
    np.add.at(change, lives.last[chosen], -lives.bytes[chosen])
    return int(np.cumsum(change).max())


def resnet() -> Row:
    """The key switches of ResNet-20 on the large device; `lru` stands for swapping by hand."""
    trace = resnet_trace("FGa")
    times = {policy: _time(_run(trace, LARGE_DEVICE, policy, 0.65)) for policy in POLICIES}
    return {"device": LARGE_DEVICE, "preset": "FGa", "peak_bytes": trace.peak_bytes, "policies": times}


def oversubscribed(presets: tuple[str, ...]) -> list[Row]:
    """All policies with half the memory that bootstrapping would need, on the large device."""
    rows = []
    for preset in presets:
        trace = operation_trace(preset, "bootstrap", 4)
        model = device_models()[LARGE_DEVICE].with_memory(int(trace.peak_bytes / OVERSUBSCRIPTION))
        times = {policy: _time(_run(trace, model, policy)) for policy in POLICIES}
        rows.append({"preset": preset, "budget_bytes": model.usable_bytes, "policies": times})
    return rows
