# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline bench` with workloads within budgets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from ... import _core
from ...base.errors import InvalidArgument
from ...base.option_values import Checked, Choice, Count, Flag, PathName, Several, Size, Value
from ...base.options import Options, option
from ...ckks.params import Params
from ...tracing.replay import DEFAULT_ASYNC_RATIO
from ...workloads.options import bootstrap_option, params_option, seeded_option
from ..options import oversubscribe_option

POLICIES = ("planned", "lru", "profiled", "dynamic", "managed")
MINIMUM = "minimum"
BUDGETS = ("100%", "75%", "50%", "35%", "25%", "15%", "10%", MINIMUM)
RUNS = 3
"""Timed runs of each kind, after those that are not timed."""
BLOCKING = "lru@blocking"
"""`lru` with blocking copies, as objects are swapped by hand; on device models its loads block anyway."""
BATCHES = (1, 8)
PEAKS = ("40%", "50%", "60%", "65%", "70%", "80%", "90%", "95%")
"""Async peak thresholds of the hybrid paper."""
RESNET_POLICIES = ("planned", "lru", *(f"profiled@{peak}" for peak in PEAKS), "dynamic", "static", "managed")
RESNET_BUDGETS = ("60%", "25%", "4GiB", "2GiB")
WIDE_POLICIES = ("planned", "lru")
WIDE_BUDGETS = ("25%", "10%")


def async_peak_of(policy: str) -> float:
    """Share of the budget that the pool of `profiled` may take: 0.65 of "profiled@65%".

    Raises InvalidArgument for what is no policy of these benchmarks.
    """
    known = _core.policy_names()
    if policy in known or policy == BLOCKING:
        return DEFAULT_ASYNC_RATIO
    name, _, share = policy.partition("@")
    try:
        found = float(share.removesuffix("%")) / 100
    except ValueError:
        found = 0.0
    if name != "profiled" or not 0 < found <= 1 or not share.endswith("%"):
        raise InvalidArgument(
            f"policy '{policy}'; expected one of {', '.join(known)}, {BLOCKING}, or profiled@65% with a "
            "share of up to 100%"
        )
    return found


def device_option(models: bool = False) -> Any:
    """The field for a device. models: it may be a device model as well."""
    text = "Where to compute: cpu, cuda:0, ... (`halocline info` lists them)"
    more = ", or a device model (`halocline trace replay --list`), on which everything is replayed"
    return option("cpu", f"{text}{more * models}.", Checked("DEVICE", _refuse_ghost))


def _refuse_ghost(device: str) -> None:
    if device == "ghost":
        raise InvalidArgument("the ghost device computes nothing, so there is nothing to time")


def policies_option(default: Sequence[str]) -> Any:
    """The field for policies of memory."""
    names = "Memory policies (`halocline info` lists them)."
    return option(default, names, Several(Choice(_core.policy_names, "POLICY")))


def curve_policies_option(default: Sequence[str]) -> Any:
    """The field for policies, with variants of two of them."""
    text = f"Memory policies; profiled@65%: a pool of that share of the budget; {BLOCKING}: blocking copies."
    return option(default, text, Several(Checked("POLICY", async_peak_of)))


def budgets_option(default: Sequence[str], words: Sequence[str] = ()) -> Any:
    """The field for budgets. words: others than sizes and shares."""
    least = f"; {MINIMUM} is the least that a plan can do with" if MINIMUM in words else ""
    return option(default, f"Budgets; a share is one of what a call touches{least}.", Several(Size(words)))


def repetitions_option(default: int | None, what: str) -> Any:
    """The field for how often something is measured."""
    return option(default, what, Count(), flag="--repetitions")


def threads_option(default: int | None = None) -> Any:
    """The field for worker threads."""
    unless = "" if default else "; all processors unless given"
    return option(default, f"Worker threads{unless}.", Count(1, 1024))


def insecure_option() -> Any:
    """The field that allows parameters for tests."""
    return option(False, "Accept parameters below 128 bits of security (tests only).", Flag())


@dataclasses.dataclass(frozen=True)
class BudgetOptions(Options):
    """What is measured, one call at a time."""

    device: str = device_option(models=True)
    policies: Sequence[str] = curve_policies_option(POLICIES)
    budgets: Sequence[str] = budgets_option(BUDGETS, (MINIMUM,))
    runs: int = repetitions_option(RUNS, "Timed runs of each kind, after those that are not timed.")
    threads: int | None = threads_option()
    seeded: bool = seeded_option()

    def batch_sizes(self) -> Sequence[int]:
        """Ciphertexts in one call."""
        return (1,)


@dataclasses.dataclass(frozen=True)
class CurveOptions(BudgetOptions):
    """What is measured, with several inputs at once."""

    batches: Sequence[int] = option((1,), "Ciphertexts in one call.", Several(Count()))

    def batch_sizes(self) -> Sequence[int]:
        """Ciphertexts in one call."""
        return self.batches


@dataclasses.dataclass(frozen=True)
class BootstrapBudgetOptions(CurveOptions):
    """Bootstraps within budgets."""

    subject: ClassVar[str] = "bootstrap-budget"

    batches: Sequence[int] = option(BATCHES, "Ciphertexts in one call.", Several(Count()))
    bootstrap: dict[str, Any] = bootstrap_option(what="the bootstrap")
    params: str | Params = params_option("n16-boot")
    allow_insecure: bool = insecure_option()


@dataclasses.dataclass(frozen=True)
class Resnet20BudgetOptions(BudgetOptions):
    """One image through ResNet-20 within budgets."""

    subject: ClassVar[str] = "resnet20-budget"

    policies: Sequence[str] = curve_policies_option(RESNET_POLICIES)
    budgets: Sequence[str] = budgets_option(RESNET_BUDGETS, (MINIMUM,))
    weights: str | Path | None = option(
        None,
        "safetensors with the names of the usual state dictionary; the shipped network unless given.",
        PathName(),
    )
    image: str | Path | None = option(
        None,
        "An image, or a folder of which the first one is taken; a held-out digit unless given. All of the "
        "folder calibrate weights without ranges.",
        PathName("FILE|DIR"),
    )
    bootstrap: dict[str, Any] = bootstrap_option(("slots",))
    params: str | Params = params_option("n16-boot")
    allow_insecure: bool = insecure_option()

    def _check(self) -> None:
        super()._check()
        if self.image is None and self.weights is not None:
            raise self.refuse("{weights} of your own need images: give {image}")


@dataclasses.dataclass(frozen=True)
class WideBenchOptions(Options):
    """The network of many rotation keys within budgets, each run in a process of its own."""

    subject: ClassVar[str] = "bench wide-rotations"

    device: str = device_option()
    policies: Sequence[str] = policies_option(WIDE_POLICIES)
    budgets: Sequence[str] = budgets_option(WIDE_BUDGETS)
    repetitions: int | None = repetitions_option(
        None, "Runs of each kind; 3 on the CPU, 1 of four evaluations on a GPU, unless given."
    )
    threads: int = threads_option(1)
    params: str = option("n15-d14", "A preset, or a file with parameters.", Value("PRESET|FILE"))
    allow_insecure: bool = insecure_option()
    oversubscribe_managed: bool = oversubscribe_option()
