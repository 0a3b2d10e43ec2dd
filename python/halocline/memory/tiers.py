# SPDX-License-Identifier: Apache-2.0
"""Chains of tiers: what stands behind the fast tier, and what plans assume of remote reads."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from .. import _core
from ..base.errors import InvalidArgument, WrongType
from ..base.values import byte_count, expect, integer, kind_of, path_text, positive

_LEAST_FILE = 4 << 20


@dataclasses.dataclass(frozen=True)
class Tiers:
    """The tiers behind the memory that kernels use, nearest first: host memory, a file, remote key stores.

    memory: host memory that objects take before they go to the file: bytes, or text such as "4GiB". None:
        none on the CPU; on a GPU half of the machine's memory, pinned.
    file: folder of the file; None: HALOCLINE_TIER_DIR, or the system's folder for temporary files.
    file_limit: bytes that the file may take, at least 4 MiB; None: as the disk allows. Copies of keys of a
        store are dropped for others when it is full.
    requests: reads from a key store in flight at once, 1 to 64; each reads half a digit of a key.
    bandwidth, latency: bytes per second, and seconds until the first byte, that plans assume of a key store
        until 4 MiB were read from it; None: 100 MB/s and 1 ms.
    """

    memory: int | str | None = None
    file: str | Path | None = None
    file_limit: int | str | None = None
    requests: int = 8
    bandwidth: int | str | None = None
    latency: float | None = None

    @classmethod
    def parse(cls, text: str) -> Tiers:
        """The value of a text such as "memory=4GiB,file=/srv/tier,file_limit=32GiB,requests=16".

        The names are those of the fields. Raises InvalidArgument for another name, or one that is repeated.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        found: dict[str, Any] = {}
        for part in expect(text, str, "tiers").split(","):
            name, sign, value = (each.strip() for each in part.partition("="))
            if not sign or not value or name not in names or name in found:
                raise InvalidArgument(
                    f"tiers: got {part.strip()!r}; expected name=value, each name once, of {', '.join(names)}"
                )
            found[name] = value
        for name, convert in (("requests", int), ("latency", float)):
            try:
                found |= {name: convert(found[name])} if name in found else {}
            except ValueError:
                raise InvalidArgument(f"tiers: {name} is {found[name]!r}; expected a number") from None
        made = cls(**found)
        made._apply(_core.MemoryOptions())
        return made

    @classmethod
    def of(cls, value: Tiers | str | None) -> Tiers:
        """The value itself, that of a text, or the default. Raises WrongType for anything else."""
        if value is None:
            return cls()
        if isinstance(value, str):
            return cls.parse(value)
        if not isinstance(value, cls):
            raise WrongType(f"tiers: got {kind_of(value)}, expected Tiers, or text such as 'memory=4GiB'")
        return value

    def _apply(self, to: Any) -> None:
        """Writes everything that is given into options of the extension module."""
        if self.memory is not None:
            to.tier_memory_bytes = to.pinned_bytes = byte_count(self.memory, "tiers: memory")
        if self.file is not None:
            to.tier_folder = path_text(self.file, "tiers: file")
        if self.file_limit is not None:
            limit = byte_count(self.file_limit, "tiers: file_limit")
            if limit < _LEAST_FILE:
                raise InvalidArgument(
                    f"tiers: file_limit is {limit} bytes; expected at least {_LEAST_FILE}, which engines "
                    "write to measure the file"
                )
            to.tier_limit_bytes = limit
        to.remote_requests = integer(self.requests, "tiers: requests", 1, 64)
        if self.bandwidth is not None:
            bandwidth = byte_count(self.bandwidth, "tiers: bandwidth")
            if bandwidth == 0:
                raise InvalidArgument("tiers: bandwidth is 0; expected bytes per second, such as '100MiB'")
            to.remote_bytes_per_second = float(bandwidth)
        if self.latency is not None:
            to.remote_latency_seconds = positive(self.latency, "tiers: latency")
