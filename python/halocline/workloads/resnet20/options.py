# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run resnet20`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import ClassVar

from ...base.option_values import Count, PathName
from ...base.options import option
from ...nn.options import MAX_BATCH
from ..images.options import ImageOptions
from ..options import key_memory_option


@dataclasses.dataclass(frozen=True)
class Resnet20Options(ImageOptions):
    """Which network, which images, and how they are run."""

    subject: ClassVar[str] = "resnet20"

    image: str | Path | None = option(
        None,
        "An image, or a folder of them, whose subfolders may name classes; held-out digits unless given.",
        PathName("FILE|DIR"),
    )
    weights: str | Path | None = option(
        None,
        "safetensors with the names of the usual state dictionary; the shipped network unless given.",
        PathName(),
    )
    images: int | None = option(
        None, "At most so many of the images; all of a folder, one digit unless given.", Count()
    )
    checkpoint: str | Path | None = option(
        None,
        "Folder for the state of the run at its bootstraps, from which an interrupted run goes on. It holds "
        "the client's secret key too, until the run is done.",
        PathName("DIR", made=True),
    )
    batch: int = option(
        1,
        "Images that are evaluated at once; from 2 on as many of them share a ciphertext as fit.",
        Count(1, MAX_BATCH),
    )
    key_memory: int | str | None = key_memory_option()

    def _check(self) -> None:
        super()._check()
        if self.image is None and self.weights is not None:
            raise self.refuse("{weights} of your own need images: give {image}")
        if self.batch > 1 and self.checkpoint is not None:
            raise self.refuse("{checkpoint} keeps single images: leave it out, or {batch}")
