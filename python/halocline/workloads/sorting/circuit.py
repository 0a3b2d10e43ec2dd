# SPDX-License-Identifier: Apache-2.0
"""The sorting network on a ciphertext: a bootstrap, one rotation each way and a ReLU for each stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.errors import InvalidArgument
from ...circuits.bootstrapping import Bootstrapper
from ...circuits.methods import sign_levels
from ...circuits.transforms import LinearTransform
from ...ckks.ciphertext import Ciphertext
from ...ckks.params import Params
from ...engine.engine import Engine
from .network import Stage, check_count, lowers, scale, stages, turns


def start_level(alpha: int, low_level: int) -> int:
    """Level that a stage needs to end at `low_level`: one for the difference, the others for ReLU."""
    return low_level + 1 + sign_levels(alpha) + 1


STC_LEVELS = (2, 3)
"""Levels of SlotToCoeff, fewest and most: three take fewer rotations where ReLU leaves as many."""


class SortingStage:
    """One stage as a program: `y = stage(x)`. The same object serves all phases, so that its plans do.

    It takes what a bootstrap gives, or a fresh ciphertext. With l = `low_level` and r levels of ReLU:

    * differences of pairs at the lower slots, 0 at the others: one rotation and a mask, from l + r + 1 to
      l + r; a transform, whose mask holds the signs that turn as well;
    * ReLU, from l + r to l: 0 stays 0;
    * the result taken from the lower slots and, rotated back, given to the upper ones, at level l, at which
      bootstraps take ciphertexts.
    """

    def __init__(self, stage: Stage, count: int, alpha: int, low_level: int) -> None:
        self.stage, self.alpha, self.low_level = stage, alpha, low_level
        self.start_level = start_level(alpha, low_level)
        lower = lowers(count, stage.bit)
        signs = turns(count, stage.phase) if stage.turns else np.ones(count)
        upper_signs = np.roll(signs, -stage.distance)
        self._difference = LinearTransform({0: lower * signs, stage.distance: -lower * upper_signs})
        self._turn = LinearTransform({0: signs}) if stage.turns else None

    @property
    def turns(self) -> bool:
        """Whether numbers change sign."""
        return self._turn is not None

    def encode(self, engine: Engine) -> None:
        """Encodes masks and signs for an engine now."""
        self._difference.encode(engine, self.start_level)
        if self._turn is not None:
            self._turn.encode(engine, self.low_level + 1)

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """The numbers after the stage."""
        u = self._difference(x.drop_level(self.start_level))
        w = u.engine.relu(u, alpha=self.alpha)  # type: ignore[union-attr]
        if self._turn is None:
            kept = x.drop_level(self.low_level)
        else:
            kept = self._turn(x.drop_level(self.low_level + 1))
        return kept - w + w.rotate(-self.stage.distance)


class SortingCircuit:
    """All stages for one number of numbers and one precision; makes nothing on an engine by itself.

    bootstrap: fields of `BootstrapOptions` other than those that the network needs as they are.
    """

    def __init__(
        self, params: Params, count: int, alpha: int, bootstrap: dict[str, Any] | None = None
    ) -> None:
        self.params, self.count, self.alpha = params, check_count(count), alpha
        if count > params.slots:
            raise InvalidArgument(
                f"sorting: {count} numbers; '{params.name}' has {params.slots} slots in a ciphertext"
            )
        scale(count, alpha)  # refuses what would be too coarse
        self.bootstrapper = self._bootstrapper(dict(bootstrap or {}))
        self.low_level = self.bootstrapper.input_level
        self._check_levels()
        self._programs: dict[tuple[int, bool], SortingStage] = {}
        self.program = [self._stage(each) for each in stages(count)]
        """The stages in order; equal ones are one object. A bootstrap stands between any two."""

    def _bootstrapper(self, given: dict[str, Any]) -> Bootstrapper:
        fixed = {"slots": self.count, "order": "stc_first", "real": True}
        if clash := sorted(fixed.keys() & given.keys()):
            raise InvalidArgument(f"sorting: {', '.join(clash)} of the bootstrap follow from the network")
        most = min(STC_LEVELS[-1], self.count.bit_length() - 1)
        made = Bootstrapper(self.params, **({"stc_levels": most} | given | fixed))
        left = made.output_level - start_level(self.alpha, 0)
        if "stc_levels" not in given and left < most:
            levels = max(left, min(STC_LEVELS[0], most))
            made = Bootstrapper(self.params, **(given | fixed), stc_levels=levels)
        return made.lowered(start_level(self.alpha, made.input_level))

    def _check_levels(self) -> None:
        needed, there = start_level(self.alpha, self.low_level), self.bootstrapper.output_level
        if needed > there:
            raise InvalidArgument(
                f"sorting: a stage begins at level {needed} (ReLU with alpha {self.alpha} takes "
                f"{sign_levels(self.alpha) + 1}), bootstraps with '{self.params.name}' end at {there}; "
                f"{needed - there} more are needed: take a smaller alpha or parameters with more levels"
            )

    def _stage(self, stage: Stage) -> SortingStage:
        key = (stage.bit, stage.turns)
        if key not in self._programs:
            self._programs[key] = SortingStage(stage, self.count, self.alpha, self.low_level)
        return self._programs[key]

    @property
    def input_level(self) -> int:
        """Level at which numbers are encrypted."""
        return self.program[0].start_level

    @property
    def distinct(self) -> Iterator[SortingStage]:
        """The programs, each once."""
        return iter(self._programs.values())

    def encode(self, engine: Engine) -> None:
        """Encodes bootstraps and masks for an engine now."""
        self.bootstrapper.encode(engine)
        for each in self.distinct:
            each.encode(engine)

    def operations(self) -> dict[str, int]:
        """How many operations of each kind a sort takes."""
        return {
            "bootstraps": len(self.program) - 1,
            "relus": len(self.program),
            "transforms": len(self.program),
            "sign_changes": sum(each.turns for each in self.program),
            "rotations": len(self.program),
            "additions": 2 * len(self.program),
        }

    def __call__(self, x: Ciphertext) -> Ciphertext:
        """All stages."""
        for done, stage in enumerate(self.program):
            x = stage(self.bootstrapper(x) if done else x)
        return x
