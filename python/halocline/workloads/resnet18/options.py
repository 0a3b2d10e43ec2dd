# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run resnet18`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import ClassVar

from ...base.option_values import Choice, Count, PathName
from ...base.options import option
from ..images.options import ImageOptions


@dataclasses.dataclass(frozen=True)
class Resnet18Options(ImageOptions):
    """Which network, which images, and how they are run."""

    subject: ClassVar[str] = "resnet18"

    image: str | Path | None = option(
        None,
        "An image, or a folder of them, whose subfolders may name classes; random ones unless given.",
        PathName("FILE|DIR"),
    )
    weights: str | Path | None = option(
        None,
        "safetensors with the names of the usual state dictionary; random weights unless given.",
        PathName(),
    )
    images: int | None = option(
        None, "At most so many of the images; all of a folder, one random image unless given.", Count()
    )
    side: int = option(64, "Rows and columns of an image.", Count(8, 128))
    classes: int = option(200, "Classes of random weights.", Count(1, 4096))
    seed: int = option(0, "Seed of random weights and images.", Count(0, metavar="SEED"))
    encode: str = option(
        "keep",
        "keep: encoded weights stay with the engine, 51 GiB for 64 x 64 pixels; fly: they are encoded at "
        "each use.",
        Choice(("keep", "fly")),
    )
