# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline bench peers`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from ...base.option_values import Choice, Count, Repeated
from ...base.options import Options, option
from .sets import SETS
from .timing import MIN_REPETITIONS

DEFAULT_REPETITIONS = 21


@dataclasses.dataclass(frozen=True)
class PeersOptions(Options):
    """The same operations in other libraries."""

    subject: ClassVar[str] = "bench peers"

    sets: Sequence[str] | None = option(
        None,
        "A parameter set; again for others, all unless given.",
        Repeated(Choice(tuple(each.name for each in SETS))),
        flag="--set",
    )
    threads: int = option(
        1, "Threads of Halocline; the peers have one. Targets hold for one.", Count(1, 1024)
    )
    repetitions: int = option(DEFAULT_REPETITIONS, "Timed calls of each operation.", Count(MIN_REPETITIONS))
