# SPDX-License-Identifier: Apache-2.0
"""What a compiled network does, step by step, on a dictionary of live ciphertexts."""

from __future__ import annotations

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from ..circuits.bootstrapping import Bootstrapper
from ..ckks.ciphertext import Ciphertext
from .approximation import Approximation
from .lowering import EncodedVector
from .schedule import Placement
from .stages import Stage
from .tensor_map import EncodedMap

Values = dict[str, list[Ciphertext]]
"""Live ciphertexts by the name of their stage, in the order of `TensorLayout`; with `SUM` behind it, what its
activation gets.
"""

SUM = " (sum)"
"""Behind the name of a stage: the sum of linear maps that its activation gets."""


@dataclasses.dataclass(frozen=True, eq=False)
class Term:
    """One summand: a map of a value; or a number times it, where layouts agree and nothing else is done."""

    source: str
    map: EncodedMap | None
    factor: float = 1.0

    def __call__(self, inputs: Sequence[Ciphertext]) -> Sequence[Ciphertext | None]:
        """The summand; None where it is 0."""
        return [x * self.factor for x in inputs] if self.map is None else self.map(inputs)


@dataclasses.dataclass(frozen=True, eq=False)
class Placed:
    """A stage with everything that it takes to evaluate it."""

    stage: Stage
    placement: Placement
    terms: tuple[Term, ...]
    biases: tuple[EncodedVector | None, ...]
    """Of the ciphertexts of an image; None where it is 0."""
    approximation: Approximation | None
    done: frozenset[str]
    """Values that no later stage takes."""

    @property
    def name(self) -> str:
        """Of the stage."""
        return self.stage.name

    @property
    def sum_name(self) -> str:
        """Of the sum of linear maps."""
        return self.name if self.approximation is None else self.name + SUM


class Step(ABC):
    """One step: changes the live values."""

    def __init__(self, placed: Placed) -> None:
        self.placed = placed

    @property
    @abstractmethod
    def name(self) -> str:
        """For phases: the layer, or what is done for it."""

    @abstractmethod
    def __call__(self, values: Values) -> None:
        """Does it."""

    def live_after(self, names: set[str]) -> set[str]:
        """Names of the values that are there after it, from those before."""
        return names


class AddUp(Step):
    """The sum of linear maps that a stage begins with, and its bias."""

    @property
    def name(self) -> str:
        """The last linear layer."""
        return self.placed.stage.linear

    def __call__(self, values: Values) -> None:
        """Takes the sources, gives the sum; drops values that are not needed any more."""
        level = self.placed.placement.linear_level
        total: list[Ciphertext | None] = []
        for term in self.placed.terms:
            given = [_lowered(x, level) for x in values[term.source]]
            total = _added(total, term(given))
        biases = itertools.cycle(self.placed.biases)
        found = [x if bias is None else bias(x) for x, bias in zip(_filled(total), biases, strict=False)]
        for name in self.placed.done:
            del values[name]
        values[self.placed.sum_name] = found

    def live_after(self, names: set[str]) -> set[str]:
        """Without those that are not needed any more, with the sum."""
        return (names - self.placed.done) | {self.placed.sum_name}


class Refresh(Step):
    """A bootstrap of a sum."""

    def __init__(self, placed: Placed, bootstrapper: Bootstrapper) -> None:
        super().__init__(placed)
        self.bootstrapper = bootstrapper

    @property
    def name(self) -> str:
        """The layer whose input is bootstrapped."""
        return f"{self.placed.name}: bootstrap"

    def __call__(self, values: Values) -> None:
        """Takes the sum, gives it back with levels."""
        given = values.pop(self.placed.sum_name)
        # All of them in one pass over the keys.
        values[self.placed.sum_name] = self.bootstrapper(given)


class Activate(Step):
    """An activation."""

    @property
    def name(self) -> str:
        """The activation."""
        return self.placed.name

    def __call__(self, values: Values) -> None:
        """Takes the sum, gives the value of the stage."""
        assert self.placed.approximation is not None
        evaluate, level = self.placed.approximation.evaluate, self.placed.placement.activation_level
        given = values.pop(self.placed.sum_name)
        values[self.placed.name] = [evaluate(_lowered(x, level)) for x in given]

    def live_after(self, names: set[str]) -> set[str]:
        """With the value instead of the sum."""
        return (names - {self.placed.sum_name}) | {self.placed.name}


def _added(total: Sequence[Ciphertext | None], more: Sequence[Ciphertext | None]) -> list[Ciphertext | None]:
    """Sums of ciphertexts, of which those that are 0 are None.

    Terms of more images in a ciphertext may have room for images that the others do not have.
    """
    if not total:
        return list(more)
    pairs = zip(total, more, strict=False)
    return [y if x is None else x if y is None else x + y for x, y in pairs]


def _filled(total: Sequence[Ciphertext | None]) -> list[Ciphertext]:
    """With an encrypted 0 for channels that no input has an effect on; there are others, see `stages_of`."""
    some = next(each for each in total if each is not None)
    return [some - some if each is None else each for each in total]


def _lowered(x: Ciphertext, level: int) -> Ciphertext:
    return x.drop_level(level) if x.level > level else x


def steps_of(
    placed: Sequence[Placed], bootstrappers: Mapping[int, Bootstrapper], first: Sequence[Bootstrapper] = ()
) -> list[Step]:
    """All steps in order; `bootstrappers` by number of slots, but `first` of the first ones."""
    steps: list[Step] = []
    ahead = list(first)
    for each in placed:
        steps.append(AddUp(each))
        if each.placement.refreshed:
            usual = bootstrappers[each.stage.layout.slots]
            steps.append(Refresh(each, ahead.pop(0) if ahead else usual))
        if each.approximation is not None:
            steps.append(Activate(each))
    return steps
