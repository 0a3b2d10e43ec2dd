# SPDX-License-Identifier: Apache-2.0
"""Where a server computes: one device, or several that share a database."""

from __future__ import annotations

import dataclasses
from typing import Literal

from .. import _core
from ..base.errors import InvalidArgument
from ..base.names import policy_name
from ..base.progress import Progress
from ..base.values import expect, integer
from ..memory.budget import MemoryBudget, MemoryOptions, engine_budget
from .budgets import Explain, budget_checked, explained, explaining
from .database import Database

Spread = Literal["columns", "replicas"]
"""How several devices share a database."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Devices, and how they use memory."""

    devices: list[str]
    threads: int | None
    memory: int | str | MemoryBudget | None
    policy: str
    options: MemoryOptions | None
    raw: bool
    spread: str
    scratch: int
    """Bytes for temporaries of a batch; 0: chosen."""


def explain_of(database: Database, place: Place) -> Explain | None:
    """What says which budgets are enough, where that is known: on one CPU with a budget of its own."""
    budget, shared = engine_budget(place.memory, "pir.Server: memory")
    known = budget and shared is None and place.devices == ["cpu"]
    return explaining(database.info._core, place.policy, place.raw) if known else None


def make_core(
    database: Database, place: Place, progress: Progress | None
) -> _core.RetrievalServer | _core.RetrievalGroup:
    """The server of the extension module. Raises InvalidArgument, OutOfMemory, DeviceError."""
    if "ghost" in place.devices:
        raise InvalidArgument("pir.Server: a ghost computes no answers; give 'cpu' or a GPU")
    if place.spread not in ("columns", "replicas"):
        raise InvalidArgument(f"pir.Server: spread {place.spread!r}; expected 'columns' or 'replicas'")
    workers = 0 if place.threads is None else integer(place.threads, "pir.Server: threads", 1, 1024)
    budget, shared = engine_budget(place.memory, "pir.Server: memory")
    chosen = expect(place.options or MemoryOptions(), MemoryOptions, "pir.Server: memory_options")
    bound = chosen._bind(False, shared, f"retrieval server on {', '.join(place.devices)}")
    if policy_name(place.policy, "pir.Server: policy") == "profiled":
        raise InvalidArgument(
            "pir.Server: policy 'profiled' needs decisions from a recorded run, which servers of private "
            "retrieval do not take; expected 'resident', 'lru' or 'planned', or another policy"
        )
    if len(place.devices) > 1 and place.policy == "planned":
        raise InvalidArgument(
            "pir.Server: policy 'planned' with several devices; plans are of one: use 'lru', or one device"
        )
    shape, records = database.info._core, database._records
    how = (workers, budget, place.policy, bound, place.raw, place.scratch)
    known = budget and shared is None and place.devices == ["cpu"]
    with budget_checked(shape, budget, place.policy, place.raw) if known else explained():
        if len(place.devices) == 1:
            return _core.RetrievalServer.make(shape, records, place.devices[0], *how, progress)
        return _core.RetrievalGroup.make(shape, records, place.devices, *how, place.spread == "columns")
