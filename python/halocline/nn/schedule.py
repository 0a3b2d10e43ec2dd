# SPDX-License-Identifier: Apache-2.0
"""Levels of a network's values, and where ciphertexts are bootstrapped.

A network is a list of steps: each one takes values, adds up linear maps of them (one level) and applies an
activation (some levels) or none. Where levels run out, what an activation gets is bootstrapped: it is a
single ciphertext, of known range, with as few slots as the layer has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ..base.errors import LevelExhausted
from ..ckks.params import Params, preset_names
from .model import INPUT

LINEAR_LEVELS = 1
"""Levels of a linear map."""


@dataclasses.dataclass(frozen=True)
class Demand:
    """What a step needs."""

    name: str
    sources: tuple[str, ...]
    """Names of steps, or `INPUT`."""
    levels: int
    """Of the activation; 0 where there is none."""
    can_refresh: bool
    """Whether the sum may be bootstrapped: it has a known range."""


@dataclasses.dataclass(frozen=True)
class Refresh:
    """What a bootstrap does to levels."""

    input_level: int
    output_level: int


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a step runs."""

    linear_level: int
    """Of the sources when their maps are applied."""
    refreshed: bool
    """Whether their sum is bootstrapped."""
    activation_level: int
    """Of what the activation gets."""
    output_level: int
    """Of the result."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Levels of a network."""

    fresh_level: int
    """Of the encrypted input."""
    steps: Mapping[str, Placement]

    @property
    def bootstraps(self) -> int:
        """How many there are."""
        return sum(each.refreshed for each in self.steps.values())


def make_schedule(
    demands: Sequence[Demand], max_level: int, refresh: Refresh | None, fresh_level: int | None = None
) -> Schedule:
    """The schedule with the fewest bootstraps, and among these with the lowest levels.

    max_level: of fresh ciphertexts. refresh: None where nothing can be bootstrapped. fresh_level: of the
    input, where that is wanted.
    @throws LevelExhausted that names the layer, or the network, and says how many levels are missing
    """
    needs = _least_needs(demands, max_level, refresh)
    least = needs[INPUT]
    if least > max_level:
        reason = "bootstrapping helps no further" if refresh else "these parameters cannot be bootstrapped"
        raise LevelExhausted(
            f"network: needs {least} levels, a fresh ciphertext has {max_level}, and {reason}; "
            f"levels missing: {least - max_level}. Take {_enough(least)}parameters for bootstrapping "
            "('n16-boot'), activations of fewer levels (a smaller alpha of ReLU or of from_sklearn) or fewer "
            "layers"
        )
    if fresh_level is not None and not least <= fresh_level <= max_level:
        raise LevelExhausted(f"network: an input at level {fresh_level}, expected {least} to {max_level}")
    levels = range(least, max_level + 1) if fresh_level is None else [fresh_level]
    made = [_placed(demands, _refreshed(demands, level, refresh, needs), refresh) for level in levels]
    best = min(made, key=lambda each: (each.bootstraps, each.fresh_level))
    return best if fresh_level is None else dataclasses.replace(best, fresh_level=fresh_level)


def _enough(levels: int) -> str:
    """The smallest preset with so many levels, as the begin of a list of what to take."""
    for name in preset_names():
        if name.startswith("n") and "boot" not in name:
            found = Params.preset(name).max_level
            if found >= levels:
                return f"parameters of more levels ({name!r} has {found}), "
    return ""


def _least_needs(demands: Sequence[Demand], max_level: int, refresh: Refresh | None) -> dict[str, int]:
    """Levels that each value must have at least, with a bootstrap wherever one helps."""
    most = max(max_level, refresh.output_level) if refresh else max_level
    needs = {INPUT: 0} | {step.name: 0 for step in demands}
    for step in reversed(demands):
        own = step.levels + needs[step.name]
        if refresh and own > most and step.can_refresh:
            raise LevelExhausted(
                f"layer {step.name!r}: takes {step.levels} levels, and what follows it {needs[step.name]} "
                f"more, but a bootstrapped ciphertext has {most}; levels missing: {own - most}. Take an "
                "activation of fewer levels (a ReLU of smaller alpha), or parameters with more"
            )
        if refresh and step.can_refresh and own <= refresh.output_level:
            own = min(own, refresh.input_level)
        for source in step.sources:
            needs[source] = max(needs[source], own + LINEAR_LEVELS)
    return needs


def _refreshed(
    demands: Sequence[Demand], fresh_level: int, refresh: Refresh | None, needs: Mapping[str, int]
) -> set[str]:
    """Steps that are bootstrapped when it is done as late as possible."""
    levels = {INPUT: fresh_level}
    chosen = set()
    for step in demands:
        have = min(levels[source] for source in step.sources) - LINEAR_LEVELS
        if refresh and step.can_refresh and have < step.levels + needs[step.name]:
            chosen.add(step.name)
            have = refresh.output_level
        levels[step.name] = have - step.levels
    return chosen


def _placed(demands: Sequence[Demand], refreshed: set[str], refresh: Refresh | None) -> Schedule:
    """Every value at the lowest level that is enough for what follows: lower levels cost less."""
    levels = {INPUT: 0} | {step.name: 0 for step in demands}
    steps: dict[str, Placement] = {}
    for step in reversed(demands):
        own = step.levels + levels[step.name]
        is_refreshed = step.name in refreshed
        sum_level = refresh.input_level if refresh and is_refreshed else own
        steps[step.name] = Placement(sum_level + LINEAR_LEVELS, is_refreshed, own, levels[step.name])
        for source in step.sources:
            levels[source] = max(levels[source], sum_level + LINEAR_LEVELS)
    return Schedule(levels[INPUT], {step.name: steps[step.name] for step in demands})
