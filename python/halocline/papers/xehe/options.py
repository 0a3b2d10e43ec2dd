# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline paper xehe`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ...base.option_values import Choice, Count, OutputName, Several, Value
from ...base.options import Options, option

PARTS = ("routines", "matrices", "transforms")
ALL_PARTS = (*PARTS, "processes")
"""Processes need seal-python, and take minutes."""


@dataclasses.dataclass(frozen=True)
class XeheOptions(Options):
    """Routines and matrix products on one device."""

    subject: ClassVar[str] = "paper xehe"

    device: str = option("cpu", "Where to compute: cpu, cuda:0, ...", Value("DEVICE"))
    parts: Sequence[str] = option(
        PARTS, "What to measure; processes need seal-python.", Several(Choice(ALL_PARTS, "PART"))
    )
    repetitions: int = option(20, "Timed samples of each row; the median counts.", Count())
    process_repetitions: int = option(3, "Whole processes of each row; the median counts.", Count())
    batch: int = option(16, "Ciphertexts of a batch.", Count(1, 1024))
    queues: int = option(2, "Queues of the step with several: engines, each with a thread.", Count(1, 64))
    log_n: int = option(15, "log2 of the ring degree of the routines; the paper's is 15.", Count(12, 16))
    matrix_log_n: int = option(13, "log2 of that of the matrices; the paper's is 13.", Count(12, 16))
    rows: Path | None = option(
        None, "Write the result so far to this file after each row.", OutputName(standard=False), flag="--out"
    )
