# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run sorting`."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from ...base.option_values import Count
from ...base.options import option
from ...ckks.params import Params
from ..options import WorkloadOptions, bootstrap_option, params_option, seed_option
from .network import MAX_COUNT

DEFAULT_COUNT = 1 << 14
DEFAULT_ALPHA = 11
"""The least with which 2^14 numbers come out right to 2^-7."""


class _PowerOfTwo(Count):
    """A count that a sorting network has."""

    def problem(self, value: Any) -> str | None:
        """See `Value`."""
        if super().problem(value) is None and not value & (value - 1):
            return None
        return f"got {value!r}, expected a power of two from {self.low} to {self.high} (fill up with ones)"


@dataclasses.dataclass(frozen=True)
class SortingOptions(WorkloadOptions):
    """What is sorted, and how precisely."""

    subject: ClassVar[str] = "sorting"

    count: int = option(
        DEFAULT_COUNT, "Numbers: a power of two, at most one for each slot.", _PowerOfTwo(2, MAX_COUNT)
    )
    seed: int = seed_option("the numbers, random ones between 0 and 1")
    alpha: int = option(
        DEFAULT_ALPHA, "Precision of comparisons in bits; see Engine.sign.", Count(6, 13, metavar="BITS")
    )
    bootstrap: dict[str, Any] = bootstrap_option(("slots", "order", "real"))
    params: str | Params = params_option("n16-boot")
