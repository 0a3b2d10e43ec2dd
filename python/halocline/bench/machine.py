# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark ran."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from ..ckks.params import Params
from ..engine.engine import Engine


def processor() -> str:
    """Name of the processor, as Linux tells it where it does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def system() -> str:
    """Distribution, C library and architecture; elsewhere than on Linux, name and release of the system."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = f"{platform.system()} {platform.release()}"
    return ", ".join(
        part for part in (name, " ".join(platform.libc_ver()).strip(), platform.machine()) if part
    )


def usable_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> float | None:
    """Processes that ran or waited in the last minute, on average."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def scheduler() -> str:
    """Scheduling class of this process: "normal" unless it was changed."""
    if not hasattr(os, "sched_getscheduler"):
        return "normal"
    names = {
        os.SCHED_OTHER: "normal",
        os.SCHED_FIFO: "fifo",
        os.SCHED_RR: "round robin",
        os.SCHED_BATCH: "batch",
    }
    policy = os.sched_getscheduler(0)
    return names.get(policy, f"policy {policy}")


def describe(load_before: float | None) -> dict[str, Any]:
    """Processor, cores, SIMD level of our kernels, system, thread settings; how busy it was and is."""
    settings = {name: value for name, value in os.environ.items() if name.startswith(("OMP_", "GOMP_"))}
    return {
        "cpu": processor(),
        "cores": usable_cores(),
        "simd": Engine(Params.preset("n13-d3")).describe()["simd"],
        "os": system(),
        "python": platform.python_version(),
        "scheduler": scheduler(),
        "environment": settings,
        "load_before": load_before,
        "load_after": load_average(),
    }
