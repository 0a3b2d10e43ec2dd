# SPDX-License-Identifier: Apache-2.0
"""The workloads of `halocline run`: what they are, and where their options and runs are.

Modules of workloads load numpy, scikit-learn and data, so each is imported when it is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from ...base.errors import InvalidArgument
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...memory.trace import Trace

Update = Callable[[str, int, int], None]


class WorkloadRun(Protocol):
    """What a workload's run looks like from here."""

    trace: Trace | None

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""


@dataclasses.dataclass(frozen=True)
class Workload:
    """One workload."""

    line: str
    """What it is, in a line of help."""
    folder: str
    """In `halocline`: has `options.py`, and the module with the run."""
    options: str
    """Class of its options."""
    run: str
    """Module and class of its run."""
    pictures: bool = False
    """Whether it has `--plot`."""
    several: bool = False
    """Whether it takes several parameter sets, as `presets` instead of `params`."""

    def options_class(self) -> type[Any]:
        """The dataclass of its options."""
        found: type[Any] = getattr(import_module(f"...{self.folder}.options", __package__), self.options)
        return found

    def make(self, options: Any, update: Update) -> WorkloadRun:
        """A run with options of its class."""
        module, _, name = self.run.partition(":")
        run_class = getattr(import_module(f"...{self.folder}.{module}", __package__), name)
        params = self.params(options.presets if self.several else options.params, options.allow_insecure)
        made: WorkloadRun = run_class(params if self.several else params[0], options, update)
        return made

    def params(self, names: Any, allow_insecure: bool) -> list[Params]:
        """The parameter sets of these names: one, or several where it takes several."""
        several = list(names) if self.several else [names]
        return [named_params(each, allow_insecure) for each in several]

    def default_params(self) -> Any:
        """What it runs on unless told otherwise."""
        made = self.options_class()()
        return made.presets if self.several else made.params


WORKLOADS = {
    "digits": Workload(
        "A small network that tells handwritten digits apart.",
        "workloads.digits",
        "DigitsOptions",
        "run:DigitsRun",
    ),
    "wide-rotations": Workload(
        "A network of many rotation keys, which need more memory than all else.",
        "workloads.wide_rotations",
        "WideOptions",
        "run:WideRun",
    ),
    "bootstrap": Workload(
        "Bootstraps of random messages, several at once or one after another.",
        "workloads.bootstrap",
        "BootstrapRunOptions",
        "run:BootstrapRun",
        pictures=True,
    ),
    "bm-bootstrap": Workload(
        "Every kind of bootstrapping on one parameter set after another.",
        "papers.hybrid",
        "BmOptions",
        "bootstrap_run:BmBootstrapRun",
        pictures=True,
        several=True,
    ),
    "resnet20": Workload(
        "Images through ResNet-20, compared with the network in the clear.",
        "workloads.resnet20",
        "Resnet20Options",
        "run:Resnet20Run",
    ),
    "resnet18": Workload(
        "Images of 64 x 64 pixels through ResNet-18, with the forecast of its time and bytes.",
        "workloads.resnet18",
        "Resnet18Options",
        "run:Resnet18Run",
    ),
    "helr": Workload(
        "Logistic regression trained on encrypted data.",
        "workloads.helr",
        "HelrOptions",
        "run:HelrRun",
    ),
    "sorting": Workload(
        "Numbers sorted by a network of encrypted comparisons.",
        "workloads.sorting",
        "SortingOptions",
        "run:SortingRun",
    ),
}


def workload_named(name: str, command: str) -> Workload:
    """The workload, or InvalidArgument that lists all of them."""
    if name not in WORKLOADS:
        known = ", ".join(WORKLOADS)
        raise InvalidArgument(f"{command}: unknown workload '{name}'; expected one of: {known}")
    return WORKLOADS[name]


def params_of(name: str, params: str | None, allow_insecure: bool) -> list[Params]:
    """The parameters of a workload: those that are given, with commas where it takes several, or its own."""
    workload = WORKLOADS[name]
    if params is None:
        chosen = workload.default_params()
    else:
        chosen = params.split(",") if workload.several else params
    return workload.params(chosen, allow_insecure)
