# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run bm-bootstrap` and of the suites of `halocline bench` about the hybrid paper."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...base.option_values import Choice, Count, Number, Several, Value
from ...base.options import Options, option
from ...bench.budgets.options import (
    budgets_option,
    device_option,
    insecure_option,
    policies_option,
    repetitions_option,
    threads_option,
)
from ...bench.options import oversubscribe_option
from ...ckks.params import Params
from ...tracing.replay import DEFAULT_ASYNC_RATIO
from ...workloads.options import (
    ParamsName,
    RunOptions,
    bootstrap_option,
    seed_option,
    seeded_option,
)
from .kinds import KINDS
from .traces import REPEATS

SCHEMES = ("managed", "static", "profiled", "dynamic")
"""Policies of the paper; the first one is its baseline."""
POLICIES = (*SCHEMES, "lru", "planned")
BM_BUDGETS = ("60%",)
"""The paper's A40 has 48 GB for a workload of some 80."""
RATIOS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95)
OPERATION_BUDGETS = ("50%",)
OPERATION_PRESETS = ("FGa-boot", "FGb-boot", "FVb-boot")

BOOT_PRESETS = ("FVa-boot", "FVb-boot", "FVc-boot", "FGa-boot", "FGb-boot", "FTa-boot", "FTb-boot")
"""Bootstrappable sets with the sizes of the paper's Table I, in its order."""


def kinds_option() -> Any:
    """The field for kinds of bootstrapping."""
    names = f"Kinds of bootstrapping: {', '.join(KINDS)}."
    return option(tuple(KINDS), names, Several(Choice(tuple(KINDS), "KIND")))


def async_peak_option() -> Any:
    """The field for the share of the pool of policy `profiled`."""
    text = "Policy profiled: share of the budget that its pool may take."
    return option(DEFAULT_ASYNC_RATIO, text, Number(0, 1))


def presets_option() -> Any:
    """The field for parameter sets."""
    return option(BOOT_PRESETS, "Parameter sets, none twice, one after the other.", Several(ParamsName()))


@dataclasses.dataclass(frozen=True)
class BmOptions(RunOptions):
    """What is bootstrapped, and how."""

    subject: ClassVar[str] = "bm-bootstrap"

    seed: int = seed_option("the messages, random complex slots in the unit disc")
    kinds: Sequence[str] = kinds_option()
    repeat: int = option(1, "Rounds through all sets; in later ones keys may have to come back.", Count())
    seeded: bool = seeded_option()
    async_peak: float = async_peak_option()
    bootstrap: dict[str, Any] = bootstrap_option(what="all kinds")
    presets: Sequence[str | Params] = presets_option()

    def _check(self) -> None:
        super()._check()
        self.refuse_ghost()
        names = [each for each in self.presets if isinstance(each, str)]
        if len(set(names)) < len(names):
            raise self.refuse("{presets}: the same set twice; expected each once")


@dataclasses.dataclass(frozen=True)
class HybridOptions(Options):
    """Replays of the paper's workloads."""

    subject: ClassVar[str] = "hybrid-paper"

    repetitions: int = repetitions_option(REPEATS, "Runs of each operation of a session.")


@dataclasses.dataclass(frozen=True)
class OperationsOptions(Options):
    """Single operations within budgets. A share is one of what a session of all operations touches."""

    subject: ClassVar[str] = "bm-operations"

    device: str = device_option()
    policies: Sequence[str] = policies_option(POLICIES)
    budgets: Sequence[str] = budgets_option(OPERATION_BUDGETS)
    repeats: int = repetitions_option(REPEATS, "Calls of each operation, one after another.")
    threads: int | None = threads_option()
    seeded: bool = seeded_option()
    async_peak: float = async_peak_option()
    bootstrap: Mapping[str, Any] = bootstrap_option(what="the bootstrap")
    params: Sequence[str | Params] = option(
        OPERATION_PRESETS, "Parameter sets, one after the other.", Several(ParamsName())
    )
    allow_insecure: bool = insecure_option()


@dataclasses.dataclass(frozen=True)
class BmBenchOptions(Options):
    """`halocline run bm-bootstrap` under several policies, each run in a process of its own."""

    subject: ClassVar[str] = "bench bm-bootstrap"

    device: str = device_option()
    policies: Sequence[str] = policies_option(POLICIES)
    budgets: Sequence[str] = budgets_option(BM_BUDGETS)
    async_peaks: Sequence[float] = option(
        RATIOS, "Policy profiled: shares of the budget that its pool may take.", Several(Number(0, 1))
    )
    kinds: Sequence[str] = kinds_option()
    threads: int | None = threads_option()
    seeded: bool = seeded_option()
    bootstrap: dict[str, Any] = bootstrap_option(what="all kinds")
    presets: Sequence[str] = option(
        BOOT_PRESETS, "Parameter sets, none twice.", Several(Value("PRESET|FILE")), flag="--params"
    )
    allow_insecure: bool = insecure_option()
    oversubscribe_managed: bool = oversubscribe_option()
