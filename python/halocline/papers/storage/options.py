# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline paper storage`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ... import _core
from ...base.option_values import Choice, Count, Flag, Number, PathName, Several, Size
from ...base.options import Options, option
from .sequence import WORKLOADS

LEAST_KEY_MEMORY = 10**9
"""Less would hold few of TensorFHE's keys, of some 230 MB each."""


@dataclasses.dataclass(frozen=True)
class StorageOptions(Options):
    """The study: closed form, simulations of our own traces, SimGrid if asked for."""

    subject: ClassVar[str] = "paper storage"

    workloads: Sequence[str] = option(
        WORKLOADS, "Programs whose traces are simulated, none twice.", Several(Choice(WORKLOADS, "WORKLOAD"))
    )
    sequences: Path | None = option(
        None,
        "Folder that keeps the key sequences of the traces; recorded where they are missing.",
        PathName("DIR", made=True),
    )
    key_memory: str = option(
        "30GB",
        "Keys that TensorFHE keeps on its card of 40 GB; SHARP has 180 MB on its chip.",
        Size(share=False),
    )
    host_memory: str = option(
        "128GB",
        "Keys that stay in host memory, where they come over two links: from a network, then over PCIe.",
        Size(share=False),
    )
    hosts: int = option(8, "Hosts that serve requests of many users.", Count(1, 1024))
    slots: int = option(8, "Users whose keys each of them holds.", Count(1, 1_000_000))
    users: int = option(64, "Users in all.", Count(1, 1_000_000))
    exponent: float = option(1.0, "Exponent of Zipf's law of their requests.", Number(0, 10))
    requests: int = option(10_000, "Requests.", Count(1, 10_000_000))
    outstanding: int = option(8, "Requests under way for each host.", Count(1, 1024))
    seed: int = option(17, "Seed of the order of requests.", Count(0, 2**63 - 1, "SEED"))
    simgrid: bool = option(
        False, "Run the same scenarios in SimGrid too (package python3-simgrid, or extra simgrid).", Flag()
    )

    def _check(self) -> None:
        if len(set(self.workloads)) < len(self.workloads):
            raise self.refuse("{workloads}: the same workload twice; expected each once")
        if int(_core.parse_bytes(self.key_memory)) < LEAST_KEY_MEMORY:
            raise self.refuse(f"{{key_memory}}: got {self.key_memory!r}, expected at least 1GB")
        if int(_core.parse_bytes(self.host_memory)) < LEAST_KEY_MEMORY:
            raise self.refuse(f"{{host_memory}}: got {self.host_memory!r}, expected at least 1GB")
        if self.requests <= self.outstanding * self.hosts:
            raise self.refuse(
                "{requests}: expected more than are under way at a time, {outstanding} times {hosts}: "
                f"{self.outstanding * self.hosts}"
            )
