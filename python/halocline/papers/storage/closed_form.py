# SPDX-License-Identifier: Apache-2.0
"""The paper's model in closed form: keys are fetched for each use, and the accelerator waits meanwhile.

All times are in runs of the accelerator alone, so slowdowns. B is the rate at which it needs keys, W what the
tier delivers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...base.errors import InvalidArgument
from .inputs import NETWORKS, TIERS, Case


@dataclasses.dataclass(frozen=True)
class Parts:
    """A run in its parts."""

    compute: float
    io: float
    communication: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.compute + self.io + self.communication

    def shares(self) -> tuple[float, float, float]:
        """Each part of the total."""
        return self.compute / self.total, self.io / self.total, self.communication / self.total


def slowdown(rate: float, bandwidth: float, hit_ratio: float = 0.0) -> float:
    """1 + (1 - h) B / W: nothing overlaps (figures 4 and 5)."""
    if not 0 <= hit_ratio <= 1:
        raise InvalidArgument(f"paper storage: hit ratio {hit_ratio}, expected 0 to 1")
    return 1 + (1 - hit_ratio) * rate / bandwidth


def overlapped(rate: float, bandwidth: float, hit_ratio: float = 0.0) -> float:
    """max(1, (1 - h) B / W): the bound where loads and arithmetic overlap wholly."""
    return max(1.0, slowdown(rate, bandwidth, hit_ratio) - 1)


def needed_hit_ratio(rate: float, bandwidth: float, performance: float = 0.8) -> float:
    """Hits that leave this share of the full performance: 1 - (1/p - 1) W / B, at least 0 (figure 5)."""
    if not 0 < performance <= 1:
        raise InvalidArgument(f"paper storage: performance {performance}, expected above 0, at most 1")
    return max(0.0, 1 - (1 / performance - 1) * bandwidth / rate)


def on_hosts(case: Case, tier: str, network: str, hosts: int) -> Parts:
    """A run on several hosts that share the limbs of each polynomial (figures 6 and 7)."""
    if tier not in TIERS or network not in NETWORKS or hosts < 1:
        raise InvalidArgument(
            f"paper storage: tier '{tier}', network '{network}', {hosts} hosts; expected a tier of "
            f"{', '.join(TIERS)}, a network of {', '.join(NETWORKS)}, at least 1 host"
        )
    s = case.scaling
    return Parts(
        1 / s.gain(s.compute, hosts),
        case.rate / TIERS[tier] / s.gain(s.io, hosts),
        s.communication(network, hosts),
    )


def speedup(case: Case, tier: str, network: str, hosts: int) -> float:
    """One host over several."""
    return on_hosts(case, tier, network, 1).total / on_hosts(case, tier, network, hosts).total


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, as the paper averages."""
    return sum(values) / len(values)
