# SPDX-License-Identifier: Apache-2.0
"""A compiled network as a value: its parts, and the interface for checkpoints and forecasts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..circuits.bootstrapping import Bootstrapper
from ..ckks.params import Params
from .model import Model
from .options import CompileOptions
from .ranges import Ranges
from .schedule import Schedule
from .steps import Placed, Step
from .tensor_layout import TensorLayout


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """What a model becomes."""

    schedule: Schedule
    placed: Sequence[Placed]
    """Stages in order."""
    bootstrappers: Mapping[int, Bootstrapper]
    """By slots."""
    input_layout: TensorLayout
    output_scale: float
    """Results are this times the encrypted ones."""
    output_limit: float
    """Larger results wrap around; infinite where ranges exclude that."""
    first_bootstrappers: Sequence[Bootstrapper] = ()
    """Of the first bootstraps, in order, where they are organised in another way."""

    @property
    def output_layout(self) -> TensorLayout:
        """Where the values of results are."""
        return self.placed[-1].stage.layout

    @property
    def is_single(self) -> bool:
        """Whether one image is one ciphertext, and its result too, with no place for further images."""
        return all(each.batch == each.parts == 1 for each in (self.input_layout, self.output_layout))


Phase = Callable[[str], AbstractContextManager[None]]
"""Called with the name of a layer, which is evaluated inside the context."""


class Network(Protocol):
    """A compiled network as its checkpoints and forecasts see it: `CompiledModel` is one."""

    model: Model
    params: Params
    ranges: Ranges
    options: CompileOptions
    program: Program
    steps: tuple[Step, ...]

    @property
    def fingerprint(self) -> str:
        """Names the network, its weights, ranges, parameters and schedule."""

    def live_values(self, position: int) -> set[str]:
        """Names of the values after that many segments."""

    def layout_of(self, name: str) -> TensorLayout:
        """Where a value of that name is."""

    def __call__(self, inputs: Any, phase: Phase = ...) -> Any:
        """The encrypted results."""
