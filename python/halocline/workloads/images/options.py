# SPDX-License-Identifier: Apache-2.0
"""Options that runs of encrypted images share."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ...base.option_values import Choice, Count, Number, PathName
from ...base.options import option
from ...ckks.params import Params
from ..options import WorkloadOptions, bootstrap_option, params_option, seeded_option


@dataclasses.dataclass(frozen=True)
class ImageOptions(WorkloadOptions):
    """What `ImageRun` asks for: which network, which images, and how they are run."""

    image: str | Path | None = option(
        None,
        "An image, or a folder of them, whose subfolders may name classes; the workload's unless given.",
        PathName("FILE|DIR"),
    )
    weights: str | Path | None = option(
        None,
        "safetensors with the names of the usual state dictionary; the network of the workload unless given.",
        PathName(),
    )
    calibration: str | Path | None = option(
        None,
        "Images that tell the ranges of the activations, or a JSON file with the ranges.",
        PathName("FILE|DIR"),
    )
    images: int | None = option(
        None, "At most so many of the images; all of a folder, one unless given.", Count()
    )
    margin: float | None = option(
        None,
        "Bounds of activations are so many times what they are on the images of the calibration; 1.5 unless "
        "given. Ranges from a file or from the weights have theirs.",
        Number(1),
    )
    seeded: bool = seeded_option()
    bootstrap: dict[str, Any] = bootstrap_option(("slots",))
    encode: str = option(
        "keep",
        "keep: encoded weights stay with the engine; fly: they are encoded at each use.",
        Choice(("keep", "fly")),
    )
    alpha: int = option(13, "Precision of ReLU in bits; see Engine.relu.", Count(6, 13, metavar="BITS"))
    params: str | Params = params_option("n16-boot")

    @property
    def checkpoint(self) -> str | Path | None:
        """Folder for the state of the run."""
        return None

    @property
    def batch(self) -> int:
        """Images that are evaluated at once."""
        return 1

    @property
    def key_memory(self) -> int | str | None:
        """Bytes that keys may take."""
        return None
