# SPDX-License-Identifier: Apache-2.0
"""How much memory this process has, as the operating system counts it."""

from __future__ import annotations

import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def _status_bytes(field: str) -> int | None:
    """A size of /proc/self/status in bytes; None where there is no such file."""
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) << 10
    return None


def peak_resident_bytes() -> int:
    """Largest resident size since the process began."""
    found = _status_bytes("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 if found is None else found


def resident_bytes() -> int:
    """Present resident size; the largest so far where the system does not report the present one."""
    found = _status_bytes("VmRSS")
    return peak_resident_bytes() if found is None else found
