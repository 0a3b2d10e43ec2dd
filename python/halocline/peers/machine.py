# SPDX-License-Identifier: Apache-2.0
"""Where a comparison ran."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from ..engine import Engine
from ..params import Params


def processor() -> str:
    """Name of the processor, as Linux tells it where it does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def usable_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> float | None:
    """Processes that ran or waited in the last minute, on average."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def describe(load_before: float | None) -> dict[str, Any]:
    """Processor, cores, SIMD level of our kernels, system; how busy it was before and is now."""
    return {
        "cpu": processor(),
        "cores": usable_cores(),
        "simd": Engine(Params.preset("n13-d3")).describe()["simd"],
        "os": platform.platform(),
        "python": platform.python_version(),
        "load_before": load_before,
        "load_after": load_average(),
    }
