# SPDX-License-Identifier: Apache-2.0
"""How often an encoded circuit rotates its input for a diagonal before it multiplies.

Key switches after the product (giant steps) are divided with it, and their noise vanishes; those before it
(baby steps) count. The split is that of `circuits/transform_plan.cpp`; how many baby steps it chose shows in
the rotations whose keys the circuit asks for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def baby_switches(
    diagonals: Collection[int], slots: int, mode: str, rotations: Sequence[int], giants: float
) -> dict[int, int]:
    """Key switches before the product of each diagonal, in 0..slots-1.

    rotations: steps whose keys the circuit needs. giants: key switches of each output after the products,
    which decides between splits that need the same keys. Where none of the possible splits needs only these
    keys, each diagonal but 0 counts as rotated once.
    """
    rotated = {d: int(d != 0) for d in diagonals}
    if mode == "naive" or not diagonals:
        return rotated
    unwrapped = _unwrapped(diagonals, slots)
    stride = max(math.gcd(*unwrapped), 1)
    known = {_wrapped(each, slots) for each in rotations} | {0}
    best, least = None, math.inf
    for count in _counts(unwrapped, stride):
        if _needed(unwrapped, slots, stride, count, mode) <= known:
            distance = abs(len({d // stride // count for d in unwrapped} - {0}) - giants)
            if distance <= least:
                best, least = count, distance
    if best is None:
        return rotated
    switches = {d % slots: d // stride % best for d in unwrapped}
    return switches if mode == "small_key" else {d: int(each != 0) for d, each in switches.items()}


def _wrapped(step: int, slots: int) -> int:
    step %= slots
    return step - slots if step > slots // 2 else step


def _unwrapped(diagonals: Collection[int], slots: int) -> list[int]:
    """Shifted by multiples of `slots` so that they avoid their widest cyclic gap; ascending."""
    ordered = sorted(d % slots for d in diagonals)
    gaps = [ordered[0] + slots - ordered[-1]]
    gaps += [after - before for before, after in zip(ordered[:-1], ordered[1:], strict=True)]
    start = gaps.index(max(gaps))
    return [d - slots for d in ordered[start:]] + ordered[:start] if start else ordered


def _counts(unwrapped: list[int], stride: int) -> list[int]:
    """Numbers of baby steps that the cost model chooses from."""
    span = (unwrapped[-1] - unwrapped[0]) // stride + 1
    counts, n = [], 1
    while n < span:
        counts.append(n)
        n += max(1, n // 8)
    return [*counts, max(span, abs(unwrapped[-1]) // stride + 1)]


def _needed(unwrapped: list[int], slots: int, stride: int, count: int, mode: str) -> set[int]:
    """Rotations of a split, 0 among them."""
    steps = [d // stride for d in unwrapped]
    babies = {step % count for step in steps}
    giants = sorted({step // count for step in steps})
    if mode == "small_key":
        needed = {stride} if any(babies) else set()
    else:
        needed = {each * stride for each in babies}
    order = [g for g in reversed(giants) if g > 0] + [g for g in giants if g < 0]
    for at, giant in enumerate(order):
        after = order[at + 1] if at + 1 < len(order) and (giant > 0) == (order[at + 1] > 0) else 0
        turn = giant - (0 if mode == "bsgs" else after)
        if mode == "small_key" and after:  # one step after the other, but the last one at once
            turn = 1 if turn > 0 else -1
        needed.add(turn * count * stride)
    return {_wrapped(each, slots) for each in needed} | {0}
