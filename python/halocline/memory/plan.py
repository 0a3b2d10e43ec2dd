# SPDX-License-Identifier: Apache-2.0
"""Plans: what to move when, so that a program runs within a budget."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base import limits
from ..base.errors import InvalidArgument
from ..base.files import read_file, write_file
from ..base.values import byte_string, expect, utf8_text

VERBS = ("load", "expand", "encode", "drop", "write_back", "shrink")
"""What directives of a plan do, by number."""


@dataclasses.dataclass(frozen=True)
class LinkForecast:
    """What the planner expects of the link from one tier to the fast one."""

    name: str
    """Of the tier: "memory", "file", "remote"."""
    loads: int
    """Transfers from there."""
    loaded_bytes: int
    """Brought from there."""
    least_bytes: int
    """No schedule takes fewer bytes from there."""
    busy_seconds: float
    """That the link is busy."""
    bytes_per_second: float
    """What was assumed, or measured before."""


@dataclasses.dataclass(frozen=True)
class PlanSummary:
    """What the planner expects of a run; times in seconds of the device that it planned for."""

    capacity_bytes: int
    """Budget that it was made for."""
    footprint_bytes: int
    """All objects that some step touches, also those that never live at the same time."""
    minimum_bytes: int
    """Smallest budget for which a plan exists."""
    peak_bytes: int
    """Most bytes in the fast memory at once."""
    loaded_bytes: int
    """Into the fast memory, from slower ones."""
    written_bytes: int
    """Out of the fast memory."""
    expanded_bytes: int
    """Made again from seeds instead of being loaded."""
    encoded_bytes: int
    """Of plaintexts that are encoded again."""
    lower_bound_bytes: int
    """No schedule brings fewer bytes back."""
    gap: float
    """Loaded, expanded and encoded bytes over the lower bound, minus 1; infinite if only that is 0."""
    resident_seconds: float
    """Compute time alone."""
    total_seconds: float
    """The whole run."""
    stall_seconds: float
    """Waiting for transfers."""
    load_busy_seconds: float
    """That the link into the fast memory is busy."""
    store_busy_seconds: float
    """That the link out of it is busy."""
    bound_seconds: float = 0.0
    """No schedule takes less time: computing alone, or the least bytes of a link at its speed."""
    bound_by: str = "compute"
    """What sets it: "compute", the name of a link, or "links" for all of them together."""
    links: tuple[LinkForecast, ...] = ()
    """Of a chain of tiers, nearest first; empty where there is one tier behind the fast one."""

    @property
    def slowdown(self) -> float:
        """Total over compute time alone."""
        return self.total_seconds / self.resident_seconds if self.resident_seconds else 1.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity: `gap` is null then."""
        rows = dataclasses.asdict(self) | {"slowdown": self.slowdown}
        return rows | {"gap": self.gap if np.isfinite(self.gap) else None}


class Plan:
    """How to run one program within a budget: `plan_trace` makes one, `engine.run(..., plan=)` follows it."""

    def __init__(self, core: _core.Plan) -> None:
        self._core = expect(core, _core.Plan, "Plan", "use plan_trace(trace, memory) or Plan.load(path)")

    @classmethod
    def from_bytes(cls, data: bytes) -> Plan:
        """A plan from `to_bytes`. Raises CorruptData for anything else."""
        return cls(_core.Plan.from_bytes(byte_string(data, "Plan.from_bytes")))

    def to_bytes(self) -> bytes:
        """The plan in its file format."""
        return self._core.to_bytes()

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """A plan from a file."""
        return cls.from_bytes(read_file(path, "Plan.load", limits.PLAN))

    def save(self, path: str | Path) -> None:
        """Writes a file: as a whole or not at all."""
        write_file(path, self.to_bytes())

    @property
    def parameters(self) -> str:
        """What the program ran with; an engine with another text refuses the plan."""
        return self._core.parameters

    @property
    def steps(self) -> int:
        """Operations of the program."""
        return self._core.steps

    @property
    def summary(self) -> PlanSummary:
        """What the planner expects."""
        core = self._core
        times = {f"{name}_seconds": getattr(core, f"{name}_ns") / 1e9 for name in _TIMES}
        bound_ns, bound_by = core.bound
        return PlanSummary(
            **{name: getattr(core, name) for name in _SIZES},
            gap=core.gap,
            **times,
            bound_seconds=bound_ns / 1e9,
            bound_by=bound_by,
            links=tuple(LinkForecast(**row) for row in core.links),
        )

    def directives(self) -> dict[str, int]:
        """Number of directives by what they do."""
        return dict(json.loads(self._core.to_json())["directives"])

    def columns(self) -> dict[str, npt.NDArray[np.uint64]]:
        """Directives as arrays before, target, pages, action; objects as object_bytes, _class, _dead.

        `before` and `dead` are steps, `target` is the number of an object, `action` one into VERBS.
        """
        return self._core.columns()

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        s = self.summary
        size = _core.format_bytes
        return (
            f"Plan({self.steps} steps in {size(s.capacity_bytes)}: {size(s.loaded_bytes)} loaded, "
            f"predicted {s.slowdown:.3f} times resident)"
        )


MAX_PARAMETERS_BYTES = 1 << 20
"""Longest `parameters` of a plan, in UTF-8."""


def _parameters_text(text: str) -> str:
    size = len(utf8_text(text, "plan_trace: parameters").encode())
    if size > MAX_PARAMETERS_BYTES:
        raise InvalidArgument(
            f"plan_trace: parameters of {size} bytes; expected at most {MAX_PARAMETERS_BYTES}"
        )
    return text


_SIZES = (
    "capacity_bytes",
    "footprint_bytes",
    "minimum_bytes",
    "peak_bytes",
    "loaded_bytes",
    "written_bytes",
    "expanded_bytes",
    "encoded_bytes",
    "lower_bound_bytes",
)
_TIMES = ("resident", "total", "stall", "load_busy", "store_busy")
