# SPDX-License-Identifier: Apache-2.0
"""The budget of `halocline eval`: shares of what the program holds, and refusals that say what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import OutOfMemory
from ..base.names import Device, Policy
from ..base.progress import Progress
from ..base.values import byte_count
from ..ckks.ciphertext import Ciphertext
from ..ckks.keys import EvaluationKeys
from ..ckks.params import Params
from ..engine.engine import Engine, RunReport
from ..engine.program import ProgramTrace, trace_program
from ..engine.refusals import refusal
from ..memory.budget import MemoryOptions
from .common import size


class EvalBudget:
    """What --memory and --policy say, for one program on its inputs and keys."""

    def __init__(
        self,
        memory: str | None,
        policy: Policy,
        program: Callable[..., Any],
        inputs: Sequence[Ciphertext],
        keys: EvaluationKeys,
    ) -> None:
        self._policy = policy
        self._params: Params = keys.params
        self._program, self._inputs, self._keys = program, inputs, keys
        share = memory is not None and memory.rstrip().endswith("%")
        self.bytes: int | None = None
        """None: unlimited."""
        if memory is not None:
            self.bytes = self._trace().budget(memory) if share else byte_count(memory, "eval: --memory")

    def _trace(self) -> ProgramTrace:
        return trace_program(self._params, self._program, *self._inputs, keys=self._keys)

    def make_engine(
        self, device: Device, threads: int | None, options: MemoryOptions, progress: Progress
    ) -> Engine:
        """The engine with its keys. A budget that is too small for them says what the program needs too."""
        try:
            return Engine(
                self._params,
                self._keys,
                device,
                self.bytes,
                self._policy,
                threads=threads,
                memory_options=options,
                progress=progress,
            )
        except OutOfMemory:
            found = None if self.bytes is None else self._trace().minimum_budget
            needed = None if found is None else found.at_least(self._policy)
            if found is None or self.bytes is None or needed is None or needed <= self.bytes:
                raise  # for another reason than the size of the budget
            raise refusal(found, self.bytes, self._policy) from None


def memory_text(report: RunReport, budget_bytes: int) -> str:
    """What a run held in the memory that a budget limits, and, where bytes moved, what was live in all."""
    of_budget = f" of a budget of {size(budget_bytes)}" if budget_bytes else ""
    text = f"peak {size(report.peak_fast_bytes)}{of_budget}"
    if not report.bytes_moved:
        return text
    moved = sum(report.bytes_moved[kind] for kind in ("loaded", "written"))
    return f"{text} in memory; {size(report.peak_bytes)} live in all, {size(moved)} moved"
