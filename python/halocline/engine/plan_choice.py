# SPDX-License-Identifier: Apache-2.0
"""The choice among plans of one program: `Engine.run(..., optimize="io")`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

from .. import _core
from ..base.errors import InvalidArgument
from ..memory.plan import Plan
from .host import PlannedHost

Optimize = Literal["io"]
"""What `Engine.run` can optimize: the bytes that a program reads."""

COEFFICIENT_BYTES = 8
"""Of each of the N integer coefficients from which a weight is encoded again."""
COMPOSED_USES = (1, 3, 7)
"""Rotations are composed of others where a run uses them at most so often; 8 uses make a key a part."""

Routes = dict[int, list[int]]
"""Galois elements of rotations -> those that they are made of."""


@dataclasses.dataclass(frozen=True)
class PlanCandidate:
    """One way to run a program, with what its plan expects."""

    name: str
    forecast_seconds: float
    loaded_bytes: int
    written_bytes: int
    regenerated_bytes: int
    """Expanded from seeds and encoded from coefficients."""
    requests: int
    """Transfers in both directions."""
    compositions: int
    """Rotations made of others, which changes the integers of results; only where the engine allows it."""

    @property
    def moved_bytes(self) -> int:
        """Over the link in both directions."""
        return self.loaded_bytes + self.written_bytes

    def __str__(self) -> str:
        moved = _core.format_bytes(self.moved_bytes)
        return f"{self.name}: {self.forecast_seconds:.4g} s, {moved} in {self.requests} requests"


@dataclasses.dataclass(frozen=True)
class PlanChoice:
    """What `optimize="io"` took, and what else there was."""

    taken: PlanCandidate
    """The plan that the run followed."""
    others: tuple[PlanCandidate, ...]
    """By forecast time, then by bytes."""

    @property
    def reason(self) -> str:
        """Why that was taken, in a sentence."""
        if not self.others:
            return f"took {self.taken}; nothing else applies to the program"
        return f"took {self.taken}; forecast of the next one, {self.others[0]}"


def rounded(value: float) -> float:
    """Three significant digits: forecasts that agree in them count as equal."""
    return float(f"{value:.3g}")


def check_optimize(optimize: str | None, has_plan: bool, planned: bool) -> None:
    """Raises InvalidArgument for an unknown name, beside a plan, or where no plans are made."""
    if optimize is None:
        return
    if optimize != "io":
        raise InvalidArgument(f"run: optimize={optimize!r}; expected None or 'io'")
    if has_plan:
        raise InvalidArgument("run: a plan and optimize='io', which makes one; give one of them")
    if not planned:
        raise InvalidArgument(
            "run: optimize='io' chooses among plans, and this engine makes none; use policy='planned'"
        )


def candidate(name: str, plan: _core.Plan, coefficients: int) -> PlanCandidate:
    """A plan as a candidate. coefficients: bytes that are read for each weight that is encoded again."""
    counts = Plan(plan).directives()
    return PlanCandidate(
        name=name,
        forecast_seconds=plan.total_ns / 1e9,
        loaded_bytes=plan.loaded_bytes + counts["encode"] * coefficients,
        written_bytes=plan.written_bytes,
        regenerated_bytes=plan.expanded_bytes + plan.encoded_bytes,
        requests=counts["load"] + counts["write_back"] + counts["encode"],
        compositions=len(plan.compositions),
    )


def routes_of(engine: PlannedHost, uses: Mapping[int, tuple[int, int]], most: int) -> Routes:
    """Rotations that `engine`, which has the keys, could compose of often used ones.

    uses: Galois element -> (key switches, of those lone rotations). most: uses of a rotation to compose.
    """
    all_routes: Routes = engine._core.suggest_routes(dict(uses), 0.0, 1.0)
    return {element: parts for element, parts in all_routes.items() if uses[element][0] <= most}


def best_of(plans: Sequence[tuple[str, _core.Plan]], degree: int) -> tuple[_core.Plan, PlanChoice]:
    """The plan with the shortest forecast; of equally long ones the one that moves least, then the first.

    Times and bytes that agree in three digits count as equal. degree: of the ring, N.
    """
    tried = [(candidate(name, plan, COEFFICIENT_BYTES * degree), plan) for name, plan in plans]
    tried.sort(key=lambda each: (rounded(each[0].forecast_seconds), rounded(each[0].moved_bytes)))
    (taken, plan), *rest = tried
    return plan, PlanChoice(taken, tuple(each for each, _ in rest))
