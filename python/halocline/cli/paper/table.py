# SPDX-License-Identifier: Apache-2.0
"""The studies of `halocline paper`; their modules are imported when they are used."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any

from ...bench.keeping import Json, Watcher


@dataclasses.dataclass(frozen=True)
class Study:
    """One study."""

    line: str
    """What it is, in a line of help."""
    folder: str
    """Below `papers`: has `options.py`, and `study.py` with the function `run`."""
    options: str
    """Class of its options."""
    suite: str
    """What a result says it is."""
    pictures: str
    """Module of `plots` whose `save_plots` draws its results."""

    def options_class(self) -> type[Any]:
        """The dataclass of its options."""
        module = import_module(f"...papers.{self.folder}.options", __package__)
        found: type[Any] = getattr(module, self.options)
        return found

    def run(self, options: Any, watcher: Watcher) -> Json:
        """Its result."""
        found: Json = import_module(f"...papers.{self.folder}.study", __package__).run(options, watcher)
        return found

    def draw(self, content: Json, folder: Path) -> None:
        """Writes the pictures of a result."""
        import_module(f"...plots.{self.pictures}", __package__).save_plots(content, folder)


STUDIES = {
    "storage": Study(
        "Keys on tiers from HBM to the network: figures of a paper in closed form and simulated.",
        "storage",
        "StorageOptions",
        "storage-paper",
        "storage",
    ),
    "xehe": Study(
        "SEAL's routines on one device, step by step, beside XeHE's figures.",
        "xehe",
        "XeheOptions",
        "xehe-paper",
        "xehe",
    ),
}
