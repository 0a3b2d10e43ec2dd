# SPDX-License-Identifier: Apache-2.0
"""How an engine organises linear maps and bootstraps, where that is decided for all of them at once."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from ..base.errors import InvalidArgument
from ..base.names import Mode
from ..base.values import integer

MODES = get_args(Mode)
"""How the rotations of a linear map are organised: a key for each diagonal; least memory; fastest; two or
three rotation keys for any number of diagonals at the price of more key switches."""


@dataclasses.dataclass(frozen=True)
class CircuitChoice:
    """What an engine uses in place of the options of linear maps and bootstraps: `Engine(circuits=...)`.

    None leaves it to each circuit. Other choices need other keys (`halocline.key_plan(..., circuits=...)`)
    and another number of key switches, so results are other integers with noise of the same kind; levels,
    scales and messages stay.
    """

    mode: Mode | None = None
    """Of linear maps, convolutions and layers."""
    baby_count: int | None = None
    """Baby steps of each giant step of these; 0 lets a cost model choose."""
    compact: bool | None = None
    """Whether these keep weights as integer coefficients, which are expanded at each use."""
    bootstrap_mode: Mode | None = None
    """Of the transforms of bootstraps."""
    bootstrap_baby_count: int | None = None
    """See `baby_count`."""
    bootstrap_compact: bool | None = None
    """See `compact`."""
    bootstrap_stc_mode: Mode | None = None
    """Of SlotToCoeff, where it is another one than that of CoeffToSlot."""
    bootstrap_memory: int | str | None = None
    """See `BootstrapOptions.memory`: 0 leaves bootstraps as their options say, whatever the budget."""

    def __post_init__(self) -> None:
        for name in ("mode", "bootstrap_mode", "bootstrap_stc_mode"):
            mode = getattr(self, name)
            if mode is not None and mode not in MODES:
                raise InvalidArgument(
                    f"CircuitChoice: {name} {mode!r}; expected None or one of: {', '.join(MODES)}"
                )
        for name in ("baby_count", "bootstrap_baby_count"):
            if getattr(self, name) is not None:
                integer(getattr(self, name), f"CircuitChoice: {name}", 0)

    @property
    def bootstrap_settings(self) -> dict[str, Any]:
        """Fields of `BootstrapOptions` that it decides."""
        decided = {
            "cts_mode": self.bootstrap_mode,
            "stc_mode": self.bootstrap_stc_mode or self.bootstrap_mode,
            "baby_count": self.bootstrap_baby_count,
            "compact": self.bootstrap_compact,
            "memory": self.bootstrap_memory,
        }
        return {name: value for name, value in decided.items() if value is not None}

    def __str__(self) -> str:
        """What it decides in words, such as "bootstraps small_key, 4 baby steps"."""
        maps = _words(self.mode, self.baby_count, self.compact)
        bootstraps = _words(self.bootstrap_mode, self.bootstrap_baby_count, self.bootstrap_compact)
        parts = [f"{name} {said}" for name, said in (("maps", maps), ("bootstraps", bootstraps)) if said]
        parts += [f"SlotToCoeff {self.bootstrap_stc_mode}"] if self.bootstrap_stc_mode else []
        parts += [f"bootstraps in {self.bootstrap_memory}"] if self.bootstrap_memory else []
        return "; ".join(parts)


def _words(mode: str | None, baby_count: int | None, compact: bool | None) -> str:
    parts = [] if mode is None else [mode]
    parts += [] if baby_count is None else [f"{baby_count} baby steps"]
    parts += [] if compact is None else ["compact" if compact else "weights encoded"]
    return ", ".join(parts)
