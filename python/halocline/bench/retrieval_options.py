# SPDX-License-Identifier: Apache-2.0
"""Options of the benchmark of private retrieval."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from ..base.option_values import Choice, Count, Flag, Several, Size, Value
from ..base.options import Options, option
from ..pir import preset_names

STORAGES = ("transformed", "raw")


@dataclasses.dataclass(frozen=True)
class RetrievalOptions(Options):
    """Databases of random records, and batches of queries to them."""

    subject: ClassVar[str] = "bench pir"

    device: str = option(
        "cpu",
        "Where to answer: cpu, cuda:0, ... (`halocline info` lists them), or two, four or eight of them, "
        "separated by commas.",
        Value("DEVICE,..."),
    )
    spread: str = option(
        "columns",
        "How several devices share the database: each has part of its columns, or all of it.",
        Choice(("columns", "replicas")),
    )
    sets: Sequence[str] = option(
        ("pir-n4096",), "Parameter sets.", Several(Choice(preset_names()), "SET,..."), flag="--set"
    )
    sizes: Sequence[str] = option(
        ("64MiB",), "Bytes of all records.", Several(Size(share=False)), flag="--size"
    )
    record_bytes: int = option(
        0, "Bytes of a record; 0: as many as a plaintext holds.", Count(0, 1 << 30, metavar="BYTES")
    )
    batches: Sequence[int] = option(
        (1, 8), "Queries that are answered together.", Several(Count(1, 1 << 16)), flag="--batch"
    )
    clients: int = option(1, "Clients that ask, in turns, each with keys of its own.", Count(1, 1 << 16))
    storages: Sequence[str] = option(
        ("transformed",),
        "How the database is kept.",
        Several(Choice(STORAGES), "STORAGE,..."),
        flag="--storage",
    )
    memory: str | None = option(None, "Budget of the device's memory.", Size(share=False))
    policy: str = option("resident", "How memory is managed.", Value("POLICY"))
    threads: int | None = option(None, "Worker threads; all processors by default.", Count(1, 1024))
    repetitions: int = option(3, "Timed batches of each row; the median counts.", Count())
    seed: int = option(1, "Of the records and the numbers that are asked for.", Count(0, metavar="SEED"))
    allow_insecure: bool = option(False, "Allow the set `paper`.", Flag())
