# SPDX-License-Identifier: Apache-2.0
"""Options of the benchmark of key nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from ..base.option_values import Count, Flag, Number, Several, Value
from ..base.options import Options, option


@dataclasses.dataclass(frozen=True)
class KeyNodeOptions(Options):
    """Key switches at a node against keys that are fetched, both over throttled links on loopback."""

    subject: ClassVar[str] = "bench key-nodes"

    device: str = option(
        "cpu", "Where the engine computes: cpu, cuda:0, ... (`halocline info` lists them).", Value("DEVICE")
    )
    node_device: str = option("cpu", "Where the key node computes.", Value("DEVICE"))
    params: str = option("n14-d7", "Parameters: a preset, or a file.", Value("PRESET|FILE"))
    diagonals: Sequence[int] = option(
        (16, 64, 256), "Diagonals of the linear maps.", Several(Count(1, 1 << 16))
    )
    hoisted: int = option(8, "Rotations of a hoisted set.", Count(1, 4096))
    rate: float = option(125e6, "Bytes a second of either link.", Number(low=1e3, high=1e12))
    threads: int | None = option(None, "Worker threads; all processors by default.", Count(1, 1024))
    seed: int = option(1, "Of the weights.", Count(0, metavar="SEED"))
    allow_insecure: bool = option(False, "Accept parameters below 128 bits of security (tests only).", Flag())
