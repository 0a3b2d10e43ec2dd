# SPDX-License-Identifier: Apache-2.0
"""Where `halocline run` and `halocline bench` write what they found."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

from ..base.option_values import Flag, OutputName, PathName
from ..base.options import Options, option
from .profile_option import SUFFIXES

RESULTS = "Results"
"""Heading of these options in help texts."""


def profile_option() -> Any:
    """The field for a profile."""
    text = "Time kernels; write the table as .json or .csv, or the timeline as .pftrace."
    return option(None, text, OutputName(standard=False, endings=SUFFIXES), group=RESULTS)


@dataclasses.dataclass(frozen=True)
class RunOutputs(Options):
    """Files of any workload."""

    subject: ClassVar[str] = "run"

    json: Path | None = option(
        None, "Write the results as JSON; - is standard output.", OutputName(), group=RESULTS
    )
    trace: Path | None = option(
        None, "Write the engine's trace as CSV; .csv.xz: compressed.", OutputName(), group=RESULTS
    )
    profile: Path | None = profile_option()


@dataclasses.dataclass(frozen=True)
class PictureOutputs(RunOutputs):
    """Those of a workload with a picture."""

    plot: Path | None = option(
        None, "Draw what was found, as PNG.", OutputName(endings=(".png",)), group=RESULTS
    )


def source_option() -> Any:
    """The field for a stored result."""
    text = "Show a result that --json wrote, instead of measuring; - is standard input."
    return option(None, text, PathName(standard=True), flag="--from", group=RESULTS)


def folder_option() -> Any:
    """The field for a folder of pictures."""
    value = OutputName("DIR", standard=False, folder=True)
    return option(None, "Folder for pictures; made where it is missing.", value, group=RESULTS)


@dataclasses.dataclass(frozen=True)
class BenchOutputs(Options):
    """Files of any suite."""

    subject: ClassVar[str] = "bench"

    json: Path | None = option(
        None, "Write the results as JSON, row by row; - is standard output.", OutputName(), group=RESULTS
    )
    source: Path | None = source_option()


@dataclasses.dataclass(frozen=True)
class PictureBenchOutputs(BenchOutputs):
    """Those of a suite with pictures."""

    plot: Path | None = folder_option()


def resume_option() -> Any:
    """The field for going on."""
    text = (
        "Go on from the rows that the file of --json has, where a run with the same options was interrupted; "
        "begin where there is no such file."
    )
    return option(False, text, Flag(), group=RESULTS)


@dataclasses.dataclass(frozen=True)
class ResumableBenchOutputs(BenchOutputs):
    """Those of a suite that goes on from the rows of an interrupted run."""

    resume: bool = resume_option()


@dataclasses.dataclass(frozen=True)
class ResumablePictureBenchOutputs(PictureBenchOutputs):
    """Likewise, with pictures."""

    resume: bool = resume_option()


@dataclasses.dataclass(frozen=True)
class ProfileBenchOutputs(BenchOutputs):
    """Those of a suite whose kernels can be timed one by one."""

    profile: Path | None = profile_option()


@dataclasses.dataclass(frozen=True)
class PaperOutputs(Options):
    """Files of a study of a paper."""

    subject: ClassVar[str] = "paper"

    json: Path | None = option(
        None, "Write the results as JSON; - is standard output.", OutputName(), group=RESULTS
    )
    csv: Path | None = option(
        None,
        "Folder for the tables as CSV files; made where it is missing.",
        OutputName("DIR", standard=False, folder=True),
        group=RESULTS,
    )
    plot: Path | None = folder_option()
    source: Path | None = source_option()
