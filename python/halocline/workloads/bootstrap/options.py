# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run bootstrap`."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from ...base.option_values import Count
from ...base.options import option
from ...ckks.params import Params
from ..options import (
    WorkloadOptions,
    bootstrap_option,
    key_memory_option,
    params_option,
    seed_option,
    seeded_option,
)


@dataclasses.dataclass(frozen=True)
class BootstrapRunOptions(WorkloadOptions):
    """What is bootstrapped, and how: see `halocline.BootstrapOptions`."""

    subject: ClassVar[str] = "bootstrap"

    seed: int = seed_option("the messages, random complex slots in the unit disc")
    batches: int = option(1, "Ciphertexts in one call.", Count())
    repeat: int = option(
        1, "Calls, each of the results of the one before times numbers of magnitude 1.", Count()
    )
    seeded: bool = seeded_option()
    key_memory: int | str | None = key_memory_option()
    bootstrap: dict[str, Any] = bootstrap_option(what="the bootstrap")
    params: str | Params = params_option("n16-boot")
