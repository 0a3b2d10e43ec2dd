# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run helr`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

from ...base.option_values import Count, Number, PathName
from ...base.options import option
from ...ckks.params import Params
from ..options import WorkloadOptions, bootstrap_option, params_option, seed_option


@dataclasses.dataclass(frozen=True)
class HelrOptions(WorkloadOptions):
    """What is trained, and how."""

    subject: ClassVar[str] = "helr"

    data: str | Path | None = option(
        None,
        "Folder with MNIST's test set as IDX files (t10k-...); scikit-learn's digits unless given.",
        PathName("DIR"),
    )
    batch: int | None = option(
        None,
        "Samples to train with; all others are held out. 1024 of MNIST and 256 digits unless given.",
        Count(),
    )
    iterations: int = option(32, "Steps of gradient descent.", Count())
    rate: float = option(1.0, "Learning rate.", Number(0, above=True))
    interval: float = option(
        16.0,
        "The sigmoid is replaced by the best polynomial of degree 3 from minus this to this.",
        Number(0, above=True),
    )
    seed: int = seed_option("the choice of samples that are held out")
    repeat: int = option(1, "Trainings with the same data; times are those of the last one.", Count())
    per_bootstrap: int | None = option(
        None, "Iterations between two bootstraps; as many as the levels allow unless given.", Count()
    )
    bootstrap: dict[str, Any] = bootstrap_option(("slots", "real"))
    params: str | Params = params_option("n16-boot")
