# SPDX-License-Identifier: Apache-2.0
"""What is run with cold keys: a program, the keys that it needs, an input and a check of the result."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import nn
from ...base.errors import CorruptData
from ...ckks.ciphertext import Ciphertext
from ...ckks.client import Client
from ...ckks.keys import KeyPlan
from ...ckks.params import Params
from ...workloads.bootstrap.messages import bits, largest_part, make_bootstrapper, random_message
from ...workloads.resnet20.digits import digits_model, held_out_pictures

LEAST_BITS = 8
"""A result with less is wrong."""


@dataclasses.dataclass
class Task(ABC):
    """One program."""

    params: Params
    plan: KeyPlan = dataclasses.field(init=False)
    """The keys that it needs."""
    program: Any = dataclasses.field(init=False)
    keep_seeds: bool = dataclasses.field(default=False, kw_only=True)
    """Whether the engine expands keys at each use."""

    @abstractmethod
    def encrypt(self, client: Client) -> Ciphertext:
        """Its input."""

    @abstractmethod
    def check(self, client: Client, result: Ciphertext) -> dict[str, Any]:
        """How good a result is. Raises CorruptData for a wrong one."""


@dataclasses.dataclass
class BootstrapTask(Task):
    """One bootstrap of random messages with all slots."""

    chosen: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of `BootstrapOptions`."""

    def __post_init__(self) -> None:
        self.program = make_bootstrapper(self.params, {"memory": 0} | dict(self.chosen))
        self._message = random_message(self.program, 1)
        self.plan = self.program.key_plan

    def encrypt(self, client: Client) -> Ciphertext:
        """Random messages at the level that it begins with."""
        return client.encrypt(self._message, level=self.program.input_level)

    def check(self, client: Client, result: Ciphertext) -> dict[str, Any]:
        """Bits of the worst slot."""
        found = bits(float(largest_part(client.decrypt(result) - self._message).max()))
        if found < LEAST_BITS:
            raise CorruptData(f"bench cold-keys: a bootstrap has {found:.1f} bits; expected {LEAST_BITS}")
        return {"precision_worst_bits": found}


@dataclasses.dataclass
class ImageTask(Task):
    """One image through the ResNet-20 that comes with the package."""

    first_bootstraps: int = 0
    """So many bootstraps at the beginning use few keys, so that others may come meanwhile."""
    first_bootstrap: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """How these are organised: fields of `BootstrapOptions`."""

    def __post_init__(self) -> None:
        model = digits_model()
        ranges = nn.Ranges.stored_in(model)
        assert ranges is not None  # the shipped weights carry theirs
        self.program = nn.compile(
            model,
            self.params,
            ranges,
            first_bootstraps=self.first_bootstraps,
            first_bootstrap=self.first_bootstrap,
        )
        self.plan = self.program.key_plan
        self._image = held_out_pictures(model).images[0]
        self._expected = model.forward(model.prepare(self._image[None]))[0]

    def encrypt(self, client: Client) -> Ciphertext:
        """A picture of a digit."""
        made: Ciphertext = self.program.encrypt(client, self._image)
        return made

    def check(self, client: Client, result: Ciphertext) -> dict[str, Any]:
        """How far logits are from those of the network in the clear; the class must be the same."""
        found = self.program.decrypt(client, result)
        if int(np.argmax(found)) != int(np.argmax(self._expected)):
            raise CorruptData("bench cold-keys: the encrypted network says another class than the clear one")
        return {"logit_error": float(np.abs(found - self._expected).max())}


def union_of(params: Params, plans: Sequence[KeyPlan]) -> KeyPlan:
    """The keys of several programs, each for the highest level that one of them needs."""
    levels: dict[int, int] = {}
    for element, level in (each for plan in plans for each in plan.requests()):
        levels[element] = max(level, levels.get(element, 0))
    return KeyPlan(params, sorted(levels.items()))
