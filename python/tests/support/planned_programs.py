# SPDX-License-Identifier: Apache-2.0
"""Programs for tests of plans, and what counts how often they are planned.

Planning is counted by ghost passes: a program is planned before its first run and once more before its second
one, so two passes plan it, however often it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import halocline as hc
import numpy as np

STEPS = [1, 2, 3, 4, 5, 6, 7, 8]
PASSES = 2
"""That plan one program."""


def spread(x: hc.Ciphertext, last: int = 0) -> hc.Ciphertext:
    """Uses all keys, so that they do not fit in the budget; then one of them again."""
    y = x
    for step in STEPS:
        y = y + x.rotate(step)
    return y.rotate(last) if last else y


def make_rig() -> dict[str, Any]:
    """A client, keys, an input, an engine without a budget, and half the memory that it needs."""
    params = hc.Params.preset("test-n10-d3", allow_insecure=True)
    client = hc.Client(params)
    keys = client.evaluation_keys(rotations=STEPS)
    x = client.encrypt(np.linspace(-1, 1, params.slots))
    resident = hc.Engine(params, keys, threads=1)
    resident.run(spread, x)
    return {
        "params": params, "client": client, "keys": keys, "x": x, "resident": resident,
        "memory": resident.stats()["peak_bytes"] // 2,
    }  # fmt: skip


def make_engine(rig: dict[str, Any]) -> hc.Engine:
    """One that follows plans, because the keys do not fit in its budget."""
    return hc.Engine(rig["params"], rig["keys"], memory=rig["memory"], policy="planned", threads=1)


def passes_of(
    engine: hc.Engine, rig: dict[str, Any], program: Callable[..., Any], *more: Any, **options: Any
) -> int:
    """Runs a program, checks its result, and says how many ghost passes that took."""
    found = engine.run(program, rig["x"], *more, **options)
    expected = rig["resident"].run(program, rig["x"], *more, **options)
    assert found.to_bytes() == expected.to_bytes()
    report = engine.last_run
    assert report is not None and report.followed_plan and report.divergence is None
    return report.ghost_passes


def settled(engine: hc.Engine, rig: dict[str, Any], program: Callable[..., Any], **options: Any) -> None:
    """Plans a program for good."""
    assert sum(passes_of(engine, rig, program, **options) for _ in range(3)) == PASSES


def make(step: Any) -> Callable[[hc.Ciphertext], hc.Ciphertext]:
    def inner(x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(x, int(step))

    return inner


class Walk:
    """A program with state."""

    kept: Any = 0

    def __init__(self, last: int, more: Any = None) -> None:
        self.last, self.more = last, more

    def run(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return self._apply(x)

    def _apply(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return spread(x, self.last + self.kept)

    def __call__(self, x: hc.Ciphertext) -> hc.Ciphertext:
        return self.run(x)
