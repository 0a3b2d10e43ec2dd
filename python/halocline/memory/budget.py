# SPDX-License-Identifier: Apache-2.0
"""How an engine may use memory: budgets that engines share, the slow tier, constants of policies."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Any, NoReturn

from .. import _core
from ..base import limits
from ..base.errors import InvalidArgument, NotPicklable, WrongType
from ..base.files import read_text
from ..base.values import byte_count, integer, kind_of, path_text, utf8_text
from .tiers import Tiers

SMALLEST_CALLS = 1
"""As `joining_budget` of a ghost: its calls of several keys are as small as under the least budget, so that
what is traced can be planned for any."""

MAX_WAIT = 86_400
"""Longest time in seconds that allocations may wait for others."""


class MemoryBudget:
    """Bytes of the fast tier that several engines use together: `Engine(..., memory=budget)`.

    An engine that needs memory takes free frames first, then those of idle engines, then evicts its own, and
    at last requests frames of the others that none of their steps is using.

    wait: seconds that an allocation or step which does not fit waits for others to release bytes; then, and
        at once without it, OutOfMemory names what they hold. Ctrl-C and `Engine.cancel` end the wait. Engines
        that wait for each other fail after that time.
    """

    def __init__(self, memory: int | str, *, wait: float = 0.0) -> None:
        size = byte_count(memory, "MemoryBudget")
        if size == 0:
            raise InvalidArgument('MemoryBudget: 0 bytes; give a size such as "2GiB"')
        if isinstance(wait, bool) or not isinstance(wait, int | float):
            raise WrongType(f"MemoryBudget: wait is {kind_of(wait)}; expected seconds")
        if not 0 <= wait <= MAX_WAIT:
            raise InvalidArgument(f"MemoryBudget: wait is {wait} s; expected 0 to {MAX_WAIT}")
        self._core = _core.MemoryBudget(size, float(wait))

    @property
    def capacity(self) -> int:
        """Bytes in total."""
        return self._core.capacity

    @property
    def used(self) -> int:
        """Bytes that engines hold now."""
        return self._core.used

    @property
    def peak(self) -> int:
        """Most bytes that engines ever held at once."""
        return self._core.peak

    def holders(self) -> list[tuple[str, int]]:
        """(name, bytes) of every engine or client that holds bytes now, the largest first."""
        return self._core.holders()

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a MemoryBudget counts bytes of this process and cannot be pickled or copied; make one "
            "in each process: MemoryBudget(budget.capacity)"
        )

    def __repr__(self) -> str:
        used, all_ = (_core.format_bytes(each) for each in (self.used, self.capacity))
        return f"MemoryBudget({used} of {all_} used)"


@dataclasses.dataclass(frozen=True)
class MemoryOptions:
    """What an engine's memory runtime does besides its policy and budget.

    tier_folder: where the file of the slow tier is made; it has no name there and is gone with the engine.
        None: the environment variable HALOCLINE_TIER_DIR, or the system's folder for temporary files.
    tier_limit: bytes that the file may take, or text such as "20GiB"; None: as the disk allows.
    tiers: the chain of tiers behind the fast one, in place of `tier_folder`, `tier_limit` and `pinned`:
        `Tiers`, or text as `Tiers.parse` reads it.
    history_length, history_needed, range_limit: of policy `dynamic`: live counts kept per size, how many must
        be there before the pool is used, and X, the range below which it is.
    decisions: of policy `profiled`: the file that `halocline trace decide` wrote, or the bytes that
        `halocline.decide` returned.
    name: what messages of other engines that share its budget call the engine; None: its parameters and
    device. blocking_copies: of policy `lru` on a GPU: the host waits for the operations before each copy or
    eviction,
        and for each copy, as programs do that swap objects by hand. On the CPU `lru` waits anyway.
    pinned: host memory that the slow tier of a GPU may take; None: half of the machine's.
    freed: freed host memory that is kept for re-use where nothing moves, within the budget; None: 64 MiB.
    managed_cap: unified memory of a GPU that may be allocated; None: half of what the card has free at the
        start. The environment variable HALOCLINE_MANAGED_CAP lowers it.
    managed_pool: take unified memory from a stream-ordered pool instead of one allocation per buffer.
    oversubscribe_managed: lift `managed_cap`. Unified memory beyond what a card has can hang it.
    """

    tier_folder: str | Path | None = None
    tier_limit: int | str | None = None
    history_length: int = 10
    history_needed: int = 10
    range_limit: int = 4
    decisions: str | Path | bytes | None = None
    pinned: int | str | None = None
    freed: int | str | None = None
    managed_cap: int | str | None = None
    managed_pool: bool = False
    oversubscribe_managed: bool = False
    blocking_copies: bool = False
    name: str | None = None
    tiers: Tiers | str | None = None

    def expect_decisions(self, policy: str) -> None:
        """Raises InvalidArgument where policy `profiled` has nothing to follow."""
        if policy == "profiled" and self.decisions is None:
            raise InvalidArgument(
                "Engine: policy 'profiled' needs memory_options=MemoryOptions(decisions=...): the file that "
                "`halocline trace decide` wrote, or the bytes that halocline.decide returned"
            )

    def _bind(self, keep_sources: bool, shared: MemoryBudget | None, owner: str) -> _core.MemoryOptions:
        """The same for the extension module. `owner` is the name unless there is another one."""
        made: Any = _core.MemoryOptions()
        made.owner = owner if self.name is None else utf8_text(self.name, "MemoryOptions: name")
        made.keep_sources = keep_sources
        made.shared_budget = None if shared is None else shared._core
        if self.tier_folder is not None:
            made.tier_folder = os.fspath(path_text(self.tier_folder, "MemoryOptions: tier_folder"))
        made.tier_limit_bytes = byte_count(self.tier_limit, "MemoryOptions: tier_limit")
        made.pinned_bytes = byte_count(self.pinned, "MemoryOptions: pinned")
        if self.freed is not None:
            made.cache_bytes = byte_count(self.freed, "MemoryOptions: freed")
        made.managed_cap_bytes = byte_count(self.managed_cap, "MemoryOptions: managed_cap")
        made.blocking_copies = bool(self.blocking_copies)
        made.managed_pool = bool(self.managed_pool)
        made.oversubscribe_managed = bool(self.oversubscribe_managed)
        made.history_length = integer(self.history_length, "MemoryOptions: history_length", 1)
        made.history_needed = integer(self.history_needed, "MemoryOptions: history_needed", 1)
        made.range_limit = integer(self.range_limit, "MemoryOptions: range_limit", 0)
        if self.tiers is not None:
            if (self.tier_folder, self.tier_limit, self.pinned) != (None, None, None):
                raise InvalidArgument(
                    "MemoryOptions: tiers beside tier_folder, tier_limit or pinned; state all in tiers"
                )
            Tiers.of(self.tiers)._apply(made)
        if self.decisions is not None:
            made.set_decisions(self._decisions_text(self.decisions))
        return made

    @staticmethod
    def _decisions_text(path: str | Path | bytes) -> str:
        if isinstance(path, bytes):
            return _core.decisions_to_text(path)
        return read_text(path, "MemoryOptions: decisions", limits.DECISIONS)


def engine_budget(memory: int | str | MemoryBudget | None, what: str) -> tuple[int, MemoryBudget | None]:
    """(bytes, shared budget) of what an engine's `memory` was given as."""
    if isinstance(memory, MemoryBudget):
        return memory.capacity, memory
    return byte_count(memory, what), None


def budget_of(memory: int | str | None, footprint: int) -> int | str | None:
    """`memory` with a share such as "25%" turned into bytes of `footprint`, rounded up; the rest as it is.

    Raises InvalidArgument when the share is not a positive number.
    """
    if not isinstance(memory, str) or not memory.rstrip().endswith("%"):
        return memory
    try:
        share = float(memory.rstrip()[:-1])
    except ValueError:
        share = math.nan
    if not (math.isfinite(share) and share > 0):
        raise InvalidArgument(f"memory: got {memory!r}, expected a positive share such as '25%'")
    return math.ceil(footprint * share / 100)
