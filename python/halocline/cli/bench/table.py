# SPDX-License-Identifier: Apache-2.0
"""The suites of `halocline bench`: what they are, and where their options and runs are.

Modules of suites load engines and workloads, so each is imported when it is used.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ...bench.keeping import Json, Watcher
from ...bench.micro import MICRO_SUITES

Run = Callable[[Any, Watcher], Json]


@dataclasses.dataclass(frozen=True)
class Suite:
    """One suite."""

    line: str
    """What it measures, in a line of help."""
    options: str
    """Module and class of its options, in `halocline`."""
    run: str
    """Module with its function `run`."""
    pictures: str = ""
    """Module of `plots` whose `save_plots` draws its results; empty where there are none."""
    profiled: bool = False
    """Whether it has `--profile`."""
    resumable: bool = False
    """Whether it goes on from the rows of an interrupted run."""
    tables: str = ""
    """Suite whose tables it has, unless its own."""

    def options_class(self) -> type[Any]:
        """The dataclass of its options."""
        module, _, name = self.options.partition(":")
        found: type[Any] = getattr(import_module(f"...{module}", __package__), name)
        return found

    def runner(self, name: str) -> Run:
        """What runs it."""
        run: Any = import_module(f"...{self.run}", __package__).run
        found: Run = functools.partial(run, suite=name) if self.tables == "micro" else run
        return found

    def draw(self, content: Json, folder: Path) -> None:
        """Writes the pictures of a result."""
        import_module(f"...plots.{self.pictures}", __package__).save_plots(content, folder)


_MICRO_LINES = {
    "micro": "All C++ micro benchmarks (`make bench` builds them).",
    "ntt": "Micro benchmarks of transforms.",
    "base_convert": "Micro benchmarks of base conversion.",
    "key_switch": "Micro benchmarks of key switching.",
    "evaluator": "Micro benchmarks of every evaluator operation.",
    "encode": "Micro benchmarks of encoding.",
    "encrypt": "Micro benchmarks of encryption and decryption.",
}

SUITES = {
    **{
        name: Suite(_MICRO_LINES[name], "bench.options:MicroOptions", "bench.micro", tables="micro")
        for name in MICRO_SUITES
    },
    "arrays": Suite(
        "Products and statistics of encrypted arrays: times, levels, keys.",
        "bench.arrays:ArrayOptions",
        "bench.arrays",
    ),
    "peers": Suite(
        "The same operations in SEAL and OpenFHE.", "bench.peers.options:PeersOptions", "bench.peers.run"
    ),
    "seal": Suite(
        "Operations with SEAL's integers on one thread, beside SEAL.",
        "bench.seal_suite:SealOptions",
        "bench.seal_suite",
    ),
    "wide-rotations": Suite(
        "A network of many rotation keys: slowdown by budget and policy.",
        "bench.budgets.options:WideBenchOptions",
        "bench.budgets.wide_rotations",
        resumable=True,
    ),
    "bootstrap-budget": Suite(
        "Bootstrapping: slowdown by budget and policy.",
        "bench.budgets.options:BootstrapBudgetOptions",
        "bench.budgets.bootstrap",
        "budgets",
        resumable=True,
    ),
    "resnet20-budget": Suite(
        "One image through ResNet-20: slowdown by budget and policy.",
        "bench.budgets.options:Resnet20BudgetOptions",
        "bench.budgets.resnet20",
        "budgets",
        resumable=True,
    ),
    "bm-operations": Suite(
        "Single operations within budgets, by policy.",
        "papers.hybrid.options:OperationsOptions",
        "papers.hybrid.operations",
        "budgets",
        resumable=True,
    ),
    "bm-bootstrap": Suite(
        "All kinds of bootstrapping within budgets, by policy.",
        "papers.hybrid.options:BmBenchOptions",
        "papers.hybrid.bootstrap_bench",
        "budgets",
        resumable=True,
    ),
    "hybrid-paper": Suite(
        "Workloads of a paper, replayed on device models.",
        "papers.hybrid.options:HybridOptions",
        "papers.hybrid.replay",
    ),
    "pir": Suite(
        "Private retrieval: queries per second, stages, bytes on the wire.",
        "bench.retrieval_options:RetrievalOptions",
        "bench.retrieval",
    ),
    "key-nodes": Suite(
        "Key nodes: bytes of ciphertexts against bytes of fetched keys, over a throttled link.",
        "bench.key_node_options:KeyNodeOptions",
        "bench.key_nodes",
    ),
    "cold-keys": Suite(
        "Runs whose keys are in host memory, in a file or another user's when they begin.",
        "bench.cold.options:ColdKeyOptions",
        "bench.cold.run",
    ),
    "operations": Suite(
        "Single operations on a GPU, beside what bounds them.",
        "bench.options:OperationOptions",
        "bench.operations",
        profiled=True,
    ),
    "ratio": Suite(
        "Ways to allocate the memory of a GPU.", "bench.options:RatioOptions", "bench.ratio", "ratio"
    ),
    "ntt-family": Suite(
        "Variants of transforms on a GPU, beside what bounds them.",
        "bench.options:NttFamilyOptions",
        "bench.ntt_family",
        "roofline",
    ),
}

MODELS = ("bootstrap-budget", "resnet20-budget")
"""Suites that take a device model as device."""
