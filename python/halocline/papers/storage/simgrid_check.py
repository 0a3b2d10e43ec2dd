# SPDX-License-Identifier: Apache-2.0
"""Our simulator against SimGrid, in the process of an interpreter that has it."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ...base.errors import DeviceError, MissingExtra
from ...base.extras import install
from .cluster import Step, simulate_cluster

SIDE = Path(__file__).parent / "simgrid_side.py"
INTERPRETERS = (sys.executable, "/usr/bin/python3")
"""Where it is looked for: Debian installs it for the system's Python."""
ROOM = 4
"""Steps whose keys fit into the key memory, in scenarios that load ahead."""
_LIMIT_SECONDS = 300


@functools.cache
def interpreter() -> str | None:
    """One that can import SimGrid, or None."""
    for each in INTERPRETERS:
        try:
            tried = subprocess.run(
                [each, "-c", "import simgrid"], capture_output=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if tried.returncode == 0:
            return each
    return None


def expect_simgrid() -> None:
    """Raises MissingExtra where no interpreter has it."""
    if interpreter() is None:
        raise MissingExtra(
            "paper storage: SimGrid is not installed; apt-get install python3-simgrid, or "
            f"{install('simgrid')}"
        )


def in_simgrid(steps: list[Step], hosts: int, tier: float, network: float, *, ahead: bool) -> float:
    """Seconds of a scenario as SimGrid has them. Raises MissingExtra without it, DeviceError if it fails."""
    expect_simgrid()
    scenario = {
        "hosts": hosts,
        "tier": tier,
        "network": network,
        "ahead": ahead,
        "room": ROOM,
        "steps": [(each.bytes, each.seconds, each.exchanged if hosts > 1 else 0) for each in steps],
    }
    command = [interpreter() or sys.executable, str(SIDE)]
    done = subprocess.run(
        command,
        input=json.dumps(scenario),
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise DeviceError(f"paper storage: SimGrid ended with {done.returncode}: {done.stderr[-500:]}")
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def alike(steps: list[Step]) -> list[Step]:
    """The steps with the key bytes of the largest, so that a memory of `ROOM` steps is one of bytes."""
    most = max(each.bytes for each in steps)
    return [Step(most, each.seconds, each.exchanged) for each in steps]


def compare(
    name: str, steps: list[Step], hosts: int, tier: float, network: float, ahead: bool
) -> dict[str, Any]:
    """One row: the same scenario in both."""
    chosen = alike(steps) if ahead else steps
    room = ROOM * max(each.bytes for each in chosen)
    ours = simulate_cluster(chosen, hosts, tier, network, ahead=ahead, key_memory=room)
    theirs = in_simgrid(chosen, hosts, tier, network, ahead=ahead)
    return {
        "scenario": name,
        "hosts": hosts,
        "policy": "prefetch" if ahead else "none",
        "ours_seconds": ours,
        "simgrid_seconds": theirs,
        "difference": ours / theirs - 1,
    }
