# SPDX-License-Identifier: Apache-2.0
"""Where the keys of an engine wait, and what bounds its last run."""

from __future__ import annotations

import dataclasses

from .. import _core
from ..ckks.params import Params
from ..memory.plan import Plan, PlanSummary
from .automatic_runs import BootstrapPoint
from .host import PlannedHost
from .run_report import RunReport


@dataclasses.dataclass(frozen=True)
class KeyPlace:
    """Where the contents of one key are."""

    element: int
    """Its Galois element."""
    name: str
    """Such as "rotation key for step 5"."""
    nbytes: int
    """Of all its buffers."""
    fast_bytes: int
    """Of these, in the memory that kernels use."""
    copies: dict[str, int]
    """Of a key of a store: bytes that each tier behind the fast one has, by its name, nearest first. Of other
    keys, what is not fast is in the slow tier, and nothing is said here."""
    made_bytes: int
    """Bytes that are made of seeds whenever they are needed, and are copied nowhere."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Where each key waits, and what bounded the last run. `str()` is a table."""

    keys: tuple[KeyPlace, ...]
    plan: PlanSummary | None
    """What was expected of the last run; None where it had no plan."""
    run: RunReport | None
    """What was measured; None before the first run."""
    bootstraps: tuple[BootstrapPoint, ...] = ()
    """Where the last program that was run is bootstrapped by itself, and why."""

    def __str__(self) -> str:
        rows = [*_key_rows(self.keys), *_run_rows(self.plan, self.run), *map(str, self.bootstraps)]
        return "\n".join(rows)


def explain(
    engine: PlannedHost,
    params: Params,
    plan: _core.Plan | None,
    run: RunReport | None,
    bootstraps: tuple[BootstrapPoint, ...] = (),
) -> Explanation:
    """What is known of an engine's keys now, and of its last run."""
    keys = tuple(
        KeyPlace(name=_core.describe_key(params._core, row["element"]), **row)
        for row in engine._core.key_places()
    )
    return Explanation(keys, None if plan is None else Plan(plan).summary, run, bootstraps)


def _size(count: float) -> str:
    return _core.format_bytes(int(count))


def _key_rows(keys: tuple[KeyPlace, ...]) -> list[str]:
    rows = []
    for key in keys:
        places = {"fast": key.fast_bytes, **key.copies, "made of seeds": key.made_bytes}
        said = ", ".join(f"{name} {_size(count)}" for name, count in places.items() if count)
        rows.append(f"{key.name}: {_size(key.nbytes)}; {said or 'nothing yet'}")
    return rows


def _run_rows(plan: PlanSummary | None, run: RunReport | None) -> list[str]:
    rows = []
    if plan is not None:
        rows.append(
            f"lower bound {plan.bound_seconds:.4g} s ({plan.bound_by}), computing "
            f"{plan.resident_seconds:.4g} s, forecast {plan.total_seconds:.4g} s"
            + ("" if run is None else f", measured {run.seconds:.4g} s")
        )
    measured = {} if run is None else run.link_bytes
    expected = {} if plan is None else {each.name: each for each in plan.links}
    for name in {**measured, **expected}:
        forecast = expected.get(name)
        row = f"from {name}:"
        if forecast is not None:
            row += (
                f" at least {_size(forecast.least_bytes)}, planned {_size(forecast.loaded_bytes)} in "
                f"{forecast.busy_seconds:.4g} s,"
            )
        rows.append(f"{row} measured {_size(measured.get(name, 0))}")
    return rows
