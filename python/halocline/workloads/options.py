# SPDX-License-Identifier: Apache-2.0
"""Options that all workloads share. Those of one workload are in `options.py` of its folder.

`halocline run WORKLOAD` takes its options, their help and their limits from these dataclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..base.option_values import Checked, Choice, Count, Flag, PathName, Settings, Size, Value
from ..base.options import Options, option
from ..ckks.params import Params
from ..memory.budget import MemoryOptions
from ..memory.tiers import Tiers
from .settings import check_settings, parse_settings

ENGINE = "Engine and memory"
"""Heading of the options of `RunOptions` in help texts."""


class ParamsName(Value):
    """A parameter set, or its name: a preset, or a file."""

    def __init__(self) -> None:
        super().__init__("PRESET|FILE")

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        return None if isinstance(value, Params) else super().problem(value)

    def text(self, value: Any) -> str:
        """See `Value`."""
        return value.name if isinstance(value, Params) else str(value)


def params_option(default: str) -> Any:
    """The field for a workload's parameters."""
    return option(default, "A preset, or a file with parameters.", ParamsName())


def bootstrap_option(fixed: Sequence[str] = (), what: str = "all bootstraps") -> Any:
    """The field for fields of `BootstrapOptions`. fixed: those that the workload decides itself."""
    return option(
        {},
        f"Option of {what}, such as compact=true or cts_mode=small_key; again for others. Names and values "
        "are those of halocline.BootstrapOptions"
        + (f"; {', '.join(fixed)} follow from the workload." if fixed else "."),
        Settings(parse_settings, lambda given: check_settings(given, fixed)),
        flag="--set",
    )


def seed_option(what: str) -> Any:
    """The field for a seed of pseudorandom inputs, not of keys."""
    return option(0, f"Seed of {what}.", Count(0, metavar="SEED"))


def seeded_option() -> Any:
    """The field for seeded keys."""
    return option(False, "Keys stay seeded in the engine: half the bytes, expanded at each use.", Flag())


def key_memory_option() -> Any:
    """The field for what keys may take."""
    text = "What keys may take; a share is one of all of them expanded. Those used least stay seeded."
    return option(None, text, Size())


@dataclasses.dataclass(frozen=True)
class RunOptions(Options):
    """Where and how a workload is run."""

    device: str = option(
        "cpu",
        "Where to compute: cpu, cuda:0, ... (`halocline info` lists them).",
        Value("DEVICE"),
        group=ENGINE,
    )
    memory: int | str | None = option(
        None, "Budget of the engine; a share is one of what the program touches. Unlimited unless given.",
        Size(), group=ENGINE,
    )  # fmt: skip
    policy: str = option(
        "resident", "How memory is managed (`halocline info` lists the policies).",
        Choice(_core.policy_names, "POLICY"), group=ENGINE,
    )  # fmt: skip
    threads: int | None = option(
        None, "Worker threads; all processors unless given.", Count(1, 1024), group=ENGINE
    )
    record_trace: bool = option(
        False,
        "Record what happens to every buffer of the engine while it evaluates.",
        Flag(),
        given_by="trace",
    )
    oversubscribe_managed: bool = option(
        False, "Let unified memory exceed what the GPU has. This can hang the GPU, for all who use it, until "
        "the machine is restarted; without it such allocations are refused.", Flag(), group=ENGINE,
    )  # fmt: skip
    blocking_copies: bool = option(
        False,
        "Policy lru on a GPU: wait for each copy, as programs do that swap by hand.",
        Flag(),
        group=ENGINE,
    )
    allow_insecure: bool = option(
        False, "Accept parameters below 128 bits of security (tests only).", Flag(), group=ENGINE
    )

    def _check(self) -> None:
        if self.blocking_copies and self.policy != "lru":
            raise self.refuse(f"{{blocking_copies}} is for {{policy}} lru, got {{policy}} {self.policy}")

    def refuse_ghost(self) -> None:
        """Raises OptionError for the device that computes nothing."""
        if self.device == "ghost":
            raise self.refuse(
                "{device}: the ghost device computes nothing, so results could not be checked; use "
                "`halocline trace record`"
            )

    def memory_options(
        self, managed_cap: int | None = None, decisions: str | Path | bytes | None = None
    ) -> MemoryOptions:
        """Options of the engine besides budget and policy. See `MemoryOptions`."""
        return MemoryOptions(
            oversubscribe_managed=self.oversubscribe_managed,
            decisions=decisions,
            managed_cap=managed_cap,
            blocking_copies=self.blocking_copies,
        )


@dataclasses.dataclass(frozen=True)
class WorkloadOptions(RunOptions):
    """Those of a run on one engine, whose results are checked."""

    decisions: str | Path | bytes | None = option(
        None, "Policy profiled: what `halocline trace decide` wrote.", PathName(or_bytes=True), group=ENGINE
    )
    tiers: str | None = option(
        None, "Policies lru and planned: what stands behind the memory of the engine, nearest first, such as "
        "memory=4GiB,file=/srv/tier,file_limit=32GiB.", Checked("TIERS", Tiers.parse), group=ENGINE
    )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        self.refuse_ghost()
        if self.tiers is not None and self.policy not in ("lru", "planned"):
            raise self.refuse(f"{{tiers}} are for {{policy}} lru or planned, got {{policy}} {self.policy}")
        if self.decisions is not None and self.policy != "profiled":
            raise self.refuse(f"{{decisions}} is for {{policy}} profiled, got {{policy}} {self.policy}")
        if self.policy == "profiled" and self.decisions is None:
            raise self.refuse("{policy} profiled needs {decisions}: what `halocline trace decide` wrote")

    def memory_options(
        self, managed_cap: int | None = None, decisions: str | Path | bytes | None = None
    ) -> MemoryOptions:
        """See `RunOptions`; its own tiers, and its own decisions unless others are given."""
        made = super().memory_options(managed_cap, self.decisions if decisions is None else decisions)
        return dataclasses.replace(made, tiers=self.tiers)
