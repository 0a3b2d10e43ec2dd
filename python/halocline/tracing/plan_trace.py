# SPDX-License-Identifier: Apache-2.0
"""Plans of traces."""

from __future__ import annotations

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import expect, positive
from ..memory.plan import Plan, _parameters_text
from ..memory.trace import Trace
from .replay import DeviceModel, budget_bytes, device_model


def plan_trace(
    trace: Trace,
    memory: int | str,
    device: str | DeviceModel = "h200",
    *,
    kernel_scale: float = 1.0,
    recorded_times: bool = False,
    parameters: str = "",
) -> Plan:
    """A plan for running the program of a trace within a budget.

    memory: bytes, "2GiB", or "25%" of the most bytes that are live at once.
    device: the model whose speeds the schedule assumes; `kernel_scale` and `recorded_times` as for `replay`.
    parameters: stored in the plan, see `Plan.parameters`.

    Raises OutOfMemory that states the smallest possible budget when `memory` is below it.
    """
    expect(trace, Trace, "plan_trace")
    capacity = budget_bytes(trace, memory)
    if capacity == 0:
        raise InvalidArgument('plan_trace: no budget; give memory such as "2GiB" or "25%"')
    made = _core.plan_trace(
        trace._core,
        device_model(device)._core,
        capacity,
        positive(kernel_scale, "plan_trace: kernel_scale"),
        bool(recorded_times),
        _parameters_text(parameters),
    )
    return Plan(made)
