# SPDX-License-Identifier: Apache-2.0
"""What is attacked: one small set of keys, programs and files, made anew by each process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np

PRESET = "test-n10-d3"
STEPS = (1, 2, 3, 5)


def rotations(x: hc.Ciphertext) -> hc.Ciphertext:
    """Rotations in an irregular order, then a product."""
    y = x
    for step in (1, 2, 3, 5, 1, 5, 2, 3):
        y = y + x.rotate(step)
    return 0.1 * y * x


def powers(x: hc.Ciphertext) -> hc.Ciphertext:
    """Products only."""
    return (x * x + 0.25) * x


def mixed(x: hc.Ciphertext) -> hc.Ciphertext:
    """A conjugation, a product with numbers, rotations of a result."""
    y = x.conj() + 0.5 * x.rotate(2)
    return y * y + y.rotate(3)


PROGRAMS: tuple[Callable[[hc.Ciphertext], hc.Ciphertext], ...] = (rotations, powers, mixed)


@dataclasses.dataclass
class World:
    """Parameters, a client, its keys, and results of the programs under `resident`."""

    folder: Path

    @cached_property
    def params(self) -> hc.Params:
        """Insecure and small."""
        return hc.Params.preset(PRESET, allow_insecure=True)

    @cached_property
    def client(self) -> hc.Client:
        """Owner of the secret key."""
        return hc.Client(self.params, threads=1)

    @cached_property
    def keys(self) -> hc.EvaluationKeys:
        """Keys of all programs."""
        return self.client.evaluation_keys(STEPS, conjugation=True)

    @cached_property
    def x(self) -> hc.Ciphertext:
        """Input of the programs."""
        return self.client.encrypt(np.linspace(-1, 1, self.params.slots))

    @cached_property
    def resident(self) -> hc.Engine:
        """An engine without a budget."""
        return hc.Engine(self.params, self.keys, threads=1)

    @cached_property
    def expected(self) -> list[bytes]:
        """Bytes of the result of each program."""
        return [self.resident.run(program, self.x).to_bytes() for program in PROGRAMS]

    @cached_property
    def footprint(self) -> int:
        """Bytes that the programs need where nothing moves."""
        assert self.expected
        return int(self.resident.stats()["peak_bytes"])

    def engine(
        self, policy: str, share: float, shared: hc.MemoryBudget | None = None, **options: Any
    ) -> hc.Engine:
        """An engine under a policy with a share of the footprint, or with a shared budget."""
        budget = shared or int(share * self.footprint)
        return hc.Engine(self.params, self.keys, memory=budget, policy=policy, threads=1, **options)
