# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run digits`."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from ...base.option_values import Count
from ...base.options import option
from ...ckks.params import Params
from ..options import WorkloadOptions, params_option


@dataclasses.dataclass(frozen=True)
class DigitsOptions(WorkloadOptions):
    """How the network is run."""

    subject: ClassVar[str] = "digits"

    params: str | Params = params_option("n14-d7")
    images: int | None = option(None, "Number of held-out images; all unless given.", Count())
