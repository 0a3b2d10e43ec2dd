# SPDX-License-Identifier: Apache-2.0
"""What `halocline trace plot` draws, by name. A module of its own, because matplotlib is slow to load."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING

from ...plots import replays as replay_plots
from ...plots import traces as trace_plots
from ...plots.report import HtmlTable, Section
from ...tracing.plan_trace import plan_trace
from ..common import size
from .common import REPLAY_HEADER, replay_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Pictures:
    """Everything that the pictures are made from."""

    setup: replay_plots.Setup
    thresholds: list[float]
    split: float | None
    capacity_bytes: int
    budget: int
    budgets: list[int]
    policies: list[str]

    def draw(self, name: str) -> Figure:
        """The figure of one name in `plot.PLOTS`."""
        return getattr(self, "_" + name.replace("-", "_"))()

    def _live(self) -> Figure:
        return trace_plots.draw_live_bytes(self.setup.trace, self.setup.name)

    def _scatter(self) -> Figure:
        return trace_plots.draw_scatter(self.setup.trace, self.setup.name)

    def _lifetimes(self) -> Figure:
        return trace_plots.draw_lifetimes(self.setup.trace, self.setup.name, self.split)

    def _thresholds(self) -> Figure:
        return trace_plots.draw_thresholds(
            self.setup.trace, self.setup.name, self.thresholds, self.capacity_bytes
        )

    def _residency(self) -> Figure:
        return replay_plots.draw_residency(self.setup, self.policies, self.budget)

    def _plan(self) -> Figure:
        s = self.setup
        plan = plan_trace(
            s.trace, self.budget, s.device, kernel_scale=s.kernel_scale, recorded_times=s.recorded_times
        )
        return replay_plots.draw_plan(s, plan)

    def _latency(self) -> Figure:
        return replay_plots.draw_latency(self.setup, self.policies, self.budget)

    def _async_ratio(self) -> Figure:
        return replay_plots.draw_async_ratio(self.setup, self.policies, self.budget)

    @cached_property
    def _curves(self) -> list[replay_plots.BudgetCurve]:
        return replay_plots.budget_curves(self.setup, self.policies, self.budgets)

    def _bytes(self) -> Figure:
        return replay_plots.draw_bytes_by_budget(self.setup, self._curves)

    def _slowdown(self) -> Figure:
        return replay_plots.draw_slowdown_by_budget(self.setup, self._curves)

    def replay_section(self) -> Section:
        """A table with one row per policy."""
        base = self.setup.resident_seconds()
        rows = [replay_row(each, self.setup.run(each, self.budget), base) for each in self.policies]
        text = f"On {self.setup.device.name}, simulated, in {size(self.budget)}."
        return Section("Replays", text, [HtmlTable(REPLAY_HEADER, rows)])
