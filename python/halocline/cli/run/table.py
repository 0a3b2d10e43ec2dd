# SPDX-License-Identifier: Apache-2.0
"""The workloads of `halocline run`: their parameters, which options they take, how runs of them are made.

Modules of workloads load numpy, scikit-learn and data, so each is imported when it is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from ...base.errors import InvalidArgument
from ...base.extras import require
from ...ckks.params import Params
from ...memory.trace import Trace
from ..common import load_params

Update = Callable[[str, int, int], None]


class WorkloadRun(Protocol):
    """What a workload's run looks like from here."""

    trace: Trace | None

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""


@dataclasses.dataclass(frozen=True)
class Workload:
    """How one workload is made from the command line."""

    params: str
    """What it runs on unless told otherwise; several with commas between, one after the other."""
    module: str
    """In `halocline`: has the classes of the options and of the run."""
    classes: tuple[str, str]
    takes: tuple[str, ...]
    """Its own options: fields of the first class, what `prepare` makes fields of, and "plot"."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """Turns options of the command line that are given into fields."""

    @property
    def several(self) -> bool:
        """Whether it takes several parameter sets."""
        return "," in self.params

    def make(
        self, params: Sequence[Params], shared: Mapping[str, Any], given: dict[str, Any], update: Update
    ) -> WorkloadRun:
        """A run. shared: fields of `RunOptions`; given: its own options, without those that are None."""
        module = import_module(f"...{self.module}", __package__)
        options_class, run_class = (getattr(module, name) for name in self.classes)
        fields = {name: value for name, value in given.items() if name != "plot"}
        options = options_class(**shared, **self.prepare(fields))
        made: WorkloadRun = run_class(list(params) if self.several else params[0], options, update)
        return made


def _with_settings(given: dict[str, Any]) -> dict[str, Any]:
    """`--set name=value` as fields of BootstrapOptions."""
    from ...workloads.bootstrap.messages import parse_settings

    return {name: value for name, value in given.items() if name != "set"} | {
        "bootstrap": parse_settings(given.get("set", []))
    }


def _with_kinds(given: dict[str, Any]) -> dict[str, Any]:
    """Kinds of bootstrapping with commas between, besides settings."""
    made = _with_settings(given)
    return made | {"kinds": made["kinds"].split(",")} if "kinds" in made else made


WORKLOADS = {
    "digits": Workload("n14-d7", "workloads.digits.run", ("DigitsOptions", "DigitsRun"), ("images",)),
    "wide-rotations": Workload(
        "n15-d14", "workloads.wide_rotations.run", ("WideOptions", "WideRun"), ("seed", "batches", "repeat")
    ),
    "bootstrap": Workload(
        "n16-boot",
        "workloads.bootstrap.run",
        ("BootstrapRunOptions", "BootstrapRun"),
        ("seed", "batches", "repeat", "set", "seeded", "key_memory", "plot"),
        _with_settings,
    ),
    "bm-bootstrap": Workload(
        "FVa-boot,FVb-boot,FVc-boot,FGa-boot,FGb-boot,FTa-boot,FTb-boot",
        "papers.hybrid.bootstrap_run",
        ("BmOptions", "BmBootstrapRun"),
        ("seed", "repeat", "set", "kinds", "async_peak", "seeded", "plot"),
        _with_kinds,
    ),
    "resnet20": Workload(
        "n16-boot",
        "workloads.resnet20.run",
        ("Resnet20Options", "Resnet20Run"),
        (
            "image",
            "weights",
            "calibration",
            "margin",
            "images",
            "checkpoint",
            "encode",
            "alpha",
            "set",
            "seeded",
            "key_memory",
        ),
        _with_settings,
    ),
    "helr": Workload(
        "n16-boot",
        "workloads.helr.run",
        ("HelrOptions", "HelrRun"),
        ("data", "batch", "iterations", "rate", "interval", "seed", "repeat", "per_bootstrap", "set"),
        _with_settings,
    ),
    "sorting": Workload(
        "n16-boot",
        "workloads.sorting.run",
        ("SortingOptions", "SortingRun"),
        ("count", "seed", "alpha", "set"),
        _with_settings,
    ),
}


OWN_OPTIONS = sorted({option for each in WORKLOADS.values() for option in each.takes})
"""Every option that some workload takes and others do not."""


def workload_named(name: str, command: str) -> Workload:
    """The workload, or InvalidArgument that lists all of them."""
    if name not in WORKLOADS:
        known = ", ".join(WORKLOADS)
        raise InvalidArgument(f"{command}: unknown workload '{name}'; expected one of: {known}")
    return WORKLOADS[name]


def own_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the workload that are given. Raises InvalidArgument, MissingExtra."""
    takes = WORKLOADS[name].takes
    given = {key: value for key, value in options.items() if value is not None and value is not False}
    wrong = [f"--{key.replace('_', '-')}" for key in given if key not in takes]
    if wrong:
        known = ", ".join(f"--{each.replace('_', '-')}" for each in takes)
        raise InvalidArgument(f"run: {name} does not take {', '.join(wrong)}; its own options are {known}")
    if "plot" in given:  # before the run, not after it
        require("matplotlib", "lab", "run: --plot")
    return given


def params_of(name: str, params: str | None, presets: str | None, allow_insecure: bool) -> list[Params]:
    """The parameters of a workload: those that are given, or its own."""
    workload = workload_named(name, "run")
    if (params if workload.several else presets) is not None:
        several = "several parameter sets; use --presets A,B"
        raise InvalidArgument(
            f"run: {name} takes {several if workload.several else 'one parameter set; use --params'}"
        )
    chosen = presets or params or workload.params
    names = chosen.split(",") if workload.several else [chosen]
    return [load_params(each, allow_insecure) for each in names]


def takers(option: str) -> str:
    """The workloads that take an option, for help texts."""
    return ", ".join(name for name, each in WORKLOADS.items() if option in each.takes)
