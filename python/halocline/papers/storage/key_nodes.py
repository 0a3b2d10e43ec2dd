# SPDX-License-Identifier: Apache-2.0
"""Key switches done where the keys are: a ciphertext travels there and back instead of the keys."""

from __future__ import annotations

from typing import Any

from .clock import Clock, Link, Process
from .sequence import KeySequence

WHOLE = 8
"""Key switches from which on a linear map counts as a large one."""


def map_rows(sequence: KeySequence, bandwidth: float, seconds: float) -> list[dict[str, Any]]:
    """Bytes and seconds of the linear maps of a program: single switches, small and large maps.

    seconds: of all arithmetic of the program; a map takes its share by key bytes, on either side.
    """
    rows = []
    rate = seconds / sequence.read_bytes
    for name, low, high in (
        ("1 key switch", 1, 1),
        (f"2 to {WHOLE - 1}", 2, WHOLE - 1),
        (f"{WHOLE} and more", WHOLE, 1 << 30),
    ):
        chosen = [each for each in sequence.maps.tolist() if low <= each[0] <= high]
        keys, moved = sum(each[1] for each in chosen), sum(each[2] for each in chosen)
        if not chosen:
            continue
        rows.append(
            {
                "workload": sequence.name,
                "maps": name,
                "count": len(chosen),
                "key_switches": sum(each[0] for each in chosen),
                "fetched_bytes": keys,
                "moved_bytes": moved,
                "fewer": keys / moved,
                "fetched_seconds": _serial([(each[1], each[1] * rate, 0) for each in chosen], bandwidth),
                "moved_seconds": _serial(
                    [(each[2] / 2, each[1] * rate, each[2] / 2) for each in chosen], bandwidth
                ),
            }
        )
    return rows


def _serial(maps: list[tuple[float, float, float]], bandwidth: float) -> float:
    """Seconds of transfers there, arithmetic and transfers back, one after another."""
    clock = Clock()
    link = Link(clock, bandwidth)

    def run() -> Process:
        for there, seconds, back in maps:
            yield link.transfer(there)
            yield seconds
            if back:
                yield link.transfer(back)

    clock.start(run())
    return clock.run()
