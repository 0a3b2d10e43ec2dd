# SPDX-License-Identifier: Apache-2.0
"""What a server of private retrieval counts."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class BatchPlan:
    """What a plan did for a batch, under the policy `planned`."""

    followed: bool
    """To the end. A batch that left its plan was finished under `lru`, and has the same answers."""
    reason: str | None
    """Why it was left."""
    seconds: float
    """Forecast: the whole batch. The first plan of a batch size uses modelled times, later ones measured."""
    stall_seconds: float
    """Forecast: of it, waiting for transfers."""
    loaded_bytes: int
    """Forecast: into the memory of the device."""
    written_bytes: int
    """Forecast: temporaries that are moved out of the memory of the device."""
    encoded_bytes: int
    """Forecast: parts of the database that are made again of records."""
    minimum_bytes: int
    """Smallest budget that would do for such a batch."""


@dataclasses.dataclass(frozen=True)
class ServerStats:
    """Numbers since the server was made."""

    queries: int = 0
    """Answered."""
    batches: int = 0
    """Answered."""
    largest_batch: int = 0
    """Queries in the largest one."""
    splits: int = 0
    """Batches that did not fit into the memory and were answered in two halves."""
    seconds: float = 0.0
    """Time spent on batches."""
    stage_seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    """Of it: expansion, completion, rows, columns, answers."""
    bytes_moved: dict[str, int] = dataclasses.field(default_factory=dict)
    """By batches: loaded and written, into and out of the memory of the device, and encoded, made again of
    records; zeros where nothing moves."""
    planned_batches: int = 0
    """Batches that followed a plan to its end."""
    left_plans: int = 0
    """Batches that left their plan: see `Server.last_plan`."""
    replaced_records: int = 0
    """Records that were replaced while the server ran."""
    clients: int = 0
    """Whose keys are here now."""
    uploaded_bytes: int = 0
    """Of these keys, in host memory."""
    expanded_clients: int = 0
    """Of these, in the memory of the device now."""
    expanded_bytes: int = 0
    """Of expanded keys, in the memory of the device."""
    key_hits: int = 0
    """Queries whose client's keys were in the memory of the device."""
    key_misses: int = 0
    """Queries whose client's keys had to be expanded first."""
    key_evictions: int = 0
    """Expanded keys that made room for others."""
    key_expiries: int = 0
    """Uploaded keys that were removed because they had not been used for so long."""
    key_removals: int = 0
    """Uploaded keys that were removed for lack of room or by the caller."""

    @property
    def mean_batch(self) -> float:
        """Queries of a batch."""
        return self.queries / self.batches if self.batches else 0.0
