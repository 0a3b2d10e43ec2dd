# SPDX-License-Identifier: Apache-2.0
"""What a program would move over a link within a budget, and how long that would take."""

from __future__ import annotations

import dataclasses

from .. import _core
from ..base.values import expect, positive
from ..memory.plan import Plan
from ..memory.trace import Trace
from .links import Link
from .replay import DeviceModel


@dataclasses.dataclass(frozen=True)
class Forecast:
    """A simulated run that follows a plan, and begins with nothing in the device's memory unless asked."""

    loaded_bytes: int
    """Over the link into the device's memory, with the coefficients of weights that are encoded again."""
    written_bytes: int
    """Over the link out of it."""
    regenerated_bytes: int
    """Made on the device from seeds and coefficients instead."""
    requests: int
    """Transfers in both directions."""
    encodings: int
    """Weights that are encoded again."""
    seconds: float
    compute_seconds: float
    """Operations alone, with what is regenerated."""
    link_seconds: float
    """That the link into the device is busy."""
    lower_bound_bytes: int
    """No plan brings in, or regenerates, fewer bytes."""
    plan: Plan = dataclasses.field(repr=False, compare=False)
    """What the run followed."""

    @property
    def moved_bytes(self) -> int:
        """Over the link in both directions."""
        return self.loaded_bytes + self.written_bytes


def forecast(
    trace: Trace,
    device: DeviceModel,
    memory: int,
    link: Link | None = None,
    *,
    regenerate: bool = True,
    prefixes: bool = True,
    kernel_scale: float = 1.0,
    coefficient_bytes: int = 0,
    parameters: str = "",
    only_keys_cold: bool = False,
) -> Forecast:
    """Plans a trace for a budget in bytes, and simulates the run on the device with the link.

    link: instead of the one of the device model. regenerate: expand seeds and encode plaintexts where that is
    faster than loading them. prefixes: load and evict parts of keys, as levels need them; otherwise whole
    objects. coefficient_bytes: that a run reads for each weight that it encodes again: 8 N, or fewer where
    values repeat themselves; plans do not schedule these reads, so the run waits for them. parameters: stored
    in the plan, see `Plan.parameters`. only_keys_cold: weights and tables are in the device's memory when the
    program begins, as far as they have room.

    Raises OutOfMemory where not even the largest step fits, InvalidArgument for a budget above what programs
    on the device may use.
    """
    options = _core.ReplayOptions()
    options.budget_bytes = memory
    options.kernel_scale = positive(kernel_scale, "forecast: kernel_scale")
    options.allow_regenerate, options.allow_prefixes = bool(regenerate), bool(prefixes)
    options.only_keys_cold = bool(only_keys_cold)
    model = device if link is None else link.on(device)
    recorded = expect(trace, Trace, "forecast")._core
    report, core = _core.replay_planned(recorded, model._core, options, parameters)
    found, plan = report.numbers(), Plan(core)
    directives = plan.directives()
    encodings = directives["encode"]
    begin = 0.0 if link is None or not found["loaded_bytes"] else link.first_seconds
    reading = encodings * _transfer_seconds(model, coefficient_bytes)
    return Forecast(
        loaded_bytes=found["loaded_bytes"] + encodings * coefficient_bytes,
        written_bytes=found["stored_bytes"],
        regenerated_bytes=found["regenerated_bytes"],
        requests=directives["load"] + directives["write_back"] + encodings * bool(coefficient_bytes),
        encodings=encodings,
        seconds=found["total_s"] + begin + reading,
        compute_seconds=found["compute_s"],
        link_seconds=found["load_busy_s"] + reading,
        lower_bound_bytes=plan.summary.lower_bound_bytes,
        plan=plan,
    )


def _transfer_seconds(model: DeviceModel, count: int) -> float:
    """That a transfer of so many bytes occupies the link of a device; of none, nothing."""
    constants = model.constants
    fixed = constants["copy_us"].value / 1e6
    return fixed + count / constants["load_bytes_per_s"].value if count else 0.0
