# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run resnet20`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

from ...base.option_values import Choice, Count, Number, PathName
from ...base.options import option
from ...ckks.params import Params
from ...nn.options import MAX_BATCH
from ..options import WorkloadOptions, bootstrap_option, key_memory_option, params_option, seeded_option


@dataclasses.dataclass(frozen=True)
class NetworkOptions(WorkloadOptions):
    """What `Resnet20Run` asks for: which network, which images, and how they are run."""

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
    calibration: str | Path | None = option(
        None,
        "Images that tell the ranges of the activations, or a JSON file with the ranges.",
        PathName("FILE|DIR"),
    )
    images: int | None = option(
        None, "At most so many of the images; all of a folder, one digit unless given.", Count()
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


@dataclasses.dataclass(frozen=True)
class Resnet20Options(NetworkOptions):
    """Which network, which images, and how they are run."""

    subject: ClassVar[str] = "resnet20"

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
