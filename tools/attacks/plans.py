# SPDX-License-Identifier: Apache-2.0
"""Forged plans: whatever a plan file says, the result is the one of the program."""

from __future__ import annotations

import warnings

import halocline as hc
import numpy as np
from attacks.case import Case, Finding, outcome
from attacks.forgeries import forge
from attacks.samples import PROGRAMS, World
from attacks.seals import mutate, seal_plan

SHARES = (0.4, 0.6, 0.9)
BOUND = 2.0**-10
"""Difference of decoded values: rotations that a plan composes of others have a little more noise."""


class Plans:
    """Plans of all programs at several budgets, made by engines."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.made: list[tuple[int, float, bytes]] = []
        self.engines = {share: world.engine("planned", share) for share in SHARES}
        for share, engine in self.engines.items():
            for number, program in enumerate(PROGRAMS):
                engine.run(program, world.x)
                if engine.last_plan is not None:
                    self.made.append((number, share, engine.last_plan.to_bytes()))
        self.values = [
            world.client.decrypt(hc.Ciphertext.from_bytes(each, world.params)) for each in world.expected
        ]

    def attack(self, case: Case) -> None:
        """One forged plan, followed by the program that it was made for or by another one."""
        world, rng = self.world, case.rng
        number, share, data = rng.choice(self.made)
        if rng.random() < 0.1:
            number = rng.randrange(len(PROGRAMS))
        forged = self._forged(case, data)
        (case.folder / "forged.plan").write_bytes(forged)
        plan = outcome(lambda: hc.Plan.from_bytes(forged), "Plan.from_bytes")
        if isinstance(plan, hc.Error):
            return
        engine = self.engines[share]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hc.PlanDivergence)
            result = outcome(lambda: engine.run(PROGRAMS[number], world.x, plan=plan), "run(plan=)")
            if isinstance(result, hc.Error):
                result = engine.run(PROGRAMS[number], world.x)  # what a plan broke must not stay broken
        error = np.abs(world.client.decrypt(result) - self.values[number]).max()
        if not error < BOUND:
            raise Finding(f"a forged plan changed the result of program {number} by {error}")

    def _forged(self, case: Case, data: bytes) -> bytes:
        """Other compositions, any other bytes, or bytes forged in the right format."""
        kind = case.rng.choice((self._composed, self._mutated, self._rewritten))
        return kind(case, data)

    @staticmethod
    def _mutated(case: Case, data: bytes) -> bytes:
        return seal_plan(mutate(case.rng, data))

    @staticmethod
    def _rewritten(case: Case, data: bytes) -> bytes:
        return forge(case.rng, data)[0]

    def _composed(self, case: Case, data: bytes) -> bytes:
        """The plan with rotations made of others, most of them not the ones that they are said to be."""
        rng, n = case.rng, self.world.params.n
        elements = [*(element for element, _ in self.world.keys.requests()), 0, 1, 2, 2 * n - 1, 2 * n + 1]
        plan = hc.Plan.from_bytes(data)
        wanted = rng.choice(elements)
        parts = [rng.choice(elements) for _ in range(rng.choice((0, 1, 2, 3, 9)))]
        if rng.random() < 0.5:  # right but for what else it says
            parts = [wanted, *rng.choice(([1], [2 * n + 1], [wanted + 2 * n]))]
        try:
            plan._core.set_compositions({wanted: parts})
        except (hc.Error, ValueError, TypeError):
            return data  # refused where a program asks for it; files are forged below that
        return plan.to_bytes()
