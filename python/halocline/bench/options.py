# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline bench` with suites of single operations; other suites have theirs beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..base.option_values import Choice, Count, Flag, PathName, Repeated, Value
from ..base.options import Options, option
from .operation_sets import DEFAULT_SAMPLES, FIELDS


def binary_option(builds: str) -> Any:
    """The field for a compiled program. builds: what makes it."""
    return option(None, f"The program, if `{builds}` did not put it into build/.", PathName())


def oversubscribe_option() -> Any:
    """The field that allows unified memory beyond what a GPU has."""
    text = (
        "Let unified memory exceed what the GPU has. This can hang the GPU, for all who use it, until the "
        "machine is restarted."
    )
    return option(False, text, Flag())


@dataclasses.dataclass(frozen=True)
class MicroOptions(Options):
    """The C++ micro benchmarks."""

    subject: ClassVar[str] = "bench"

    quick: bool = option(False, "Short runs, for a look.", Flag())
    binary: str | Path | None = binary_option("make bench")


@dataclasses.dataclass(frozen=True)
class NttFamilyOptions(Options):
    """Transforms on a GPU."""

    subject: ClassVar[str] = "bench ntt-family"

    quick: bool = option(False, "Batches of 1, 32 and 1024 only, and no shapes.", Flag())
    binary: str | Path | None = binary_option("make cuda")


@dataclasses.dataclass(frozen=True)
class RatioOptions(Options):
    """Ways to allocate the memory of a GPU."""

    subject: ClassVar[str] = "bench ratio"

    device: str = option("cuda:0", "The GPU; the experiment runs on cuda:0 only.", Choice(("cuda:0", "cuda")))
    repetitions: int = option(2, "Runs of each sweep.", Count())
    binary: str | Path | None = binary_option("make cuda")
    oversubscribe_managed: bool = oversubscribe_option()


@dataclasses.dataclass(frozen=True)
class OperationOptions(Options):
    """Single operations on one device."""

    subject: ClassVar[str] = "bench operations"

    device: str = option(
        "cuda:0", "Where to compute: cpu, cuda:0, ... (`halocline info` lists them).", Value("DEVICE")
    )
    sets: Sequence[str] | None = option(
        None,
        "A parameter set; again for others, all unless given.",
        Repeated(Choice(tuple(FIELDS))),
        flag="--set",
    )
    repetitions: int = option(DEFAULT_SAMPLES, "Timed samples of each operation.", Count())
    log_n: int | None = option(
        None, "log2 of a smaller ring degree, for a look; not secure.", Count(10, 16, metavar="LOG2")
    )
