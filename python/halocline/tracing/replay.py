# SPDX-License-Identifier: Apache-2.0
"""Simulated devices: replay a trace under any memory policy on any device model, in milliseconds."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base import limits
from ..base.errors import CorruptData, InvalidArgument
from ..base.files import read_text, write_file
from ..base.names import Policy
from ..base.values import byte_count, expect, integer, positive, shown
from ..memory.budget import budget_of
from ..memory.trace import Trace

POLICIES = ("resident", "async", "cached", "managed", "static", "profiled", "dynamic", "lru", "planned")
"""Memory policies in the order of reports: everything in fast memory, unified memory, explicit copies."""
DEFAULT_ASYNC_RATIO = 0.5
"""Share of the budget that `profiled` gives to the pool; the hybrid paper's best ratios are 0.4 to 0.65."""

MAX_TEXT = 200
"""Characters of the name of a device model, and of the source of a constant, in a file."""


@dataclasses.dataclass(frozen=True)
class Constant:
    """One number of a device model."""

    value: float
    source: str
    """Whether it was measured, taken from a data sheet, or estimated."""


class DeviceModel:
    """A device as a replay models it: capacity, links, latencies, page faults, operations.

    `device_models()` has those that come with the library; a JSON file can hold another one.
    """

    def __init__(self, core: _core.DeviceModel) -> None:
        self._core = expect(core, _core.DeviceModel, "DeviceModel", "use device_models() or DeviceModel.load")

    @classmethod
    def load(cls, path: str | Path) -> DeviceModel:
        """A model from the JSON file that `save` writes. Raises CorruptData naming what is wrong with it."""
        return _model_from_json(read_text(path, "DeviceModel.load", limits.DEVICE_MODEL))

    def save(self, path: str | Path) -> None:
        """Writes the model as JSON, to be changed and loaded again."""
        write_file(path, self._core.to_json().encode())

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_from_json, (self._core.to_json(),)

    @property
    def name(self) -> str:
        """Such as "h200"."""
        return self._core.name

    @property
    def capacity_bytes(self) -> int:
        """Memory of the device."""
        return self._core.capacity_bytes

    @property
    def usable_bytes(self) -> int:
        """Of that, what its driver leaves to programs."""
        return self._core.usable_bytes

    @property
    def constants(self) -> dict[str, Constant]:
        """All numbers by name, with their sources; units are part of the names."""
        return {name: Constant(value, source) for name, (value, source) in self._core.constants.items()}

    def with_memory(self, memory: int | str) -> DeviceModel:
        """The same device with another amount of memory for programs."""
        return DeviceModel(self._core.with_capacity(byte_count(memory, "with_memory")))

    def __repr__(self) -> str:
        return f"DeviceModel({self.name!r}, {_core.format_bytes(self.capacity_bytes)})"


def _model_from_json(text: str) -> DeviceModel:
    """What files and pickles call; its texts are shown on terminals."""
    core = _core.DeviceModel.from_json(text)
    texts = {"name": core.name} | {f"source of {key}": source for key, (_, source) in core.constants.items()}
    for what, each in texts.items():
        if not each.isprintable() or len(each) > MAX_TEXT:
            raise CorruptData(
                f"DeviceModel: {shown(what)}: got {shown(each)}, {len(each)} characters; expected at most "
                f"{MAX_TEXT} printable ones. Correct the file"
            )
    return DeviceModel(core)


def device_models() -> dict[str, DeviceModel]:
    """The device models that come with the library, by name."""
    return {name: DeviceModel(_core.DeviceModel.by_name(name)) for name in _core.device_names()}


def device_model(device: str | DeviceModel) -> DeviceModel:
    """A device model by name, from a file ending in .json, or as it is."""
    if isinstance(device, DeviceModel):
        return device
    name = expect(device, str, "device model")
    return DeviceModel.load(name) if name.endswith(".json") else DeviceModel(_core.DeviceModel.by_name(name))


@dataclasses.dataclass(frozen=True)
class PhaseTime:
    """A stretch of steps with the same phase (`engine.phase(name)` while the trace was recorded)."""

    phase: str
    begin: float
    """Seconds since the program began."""
    seconds: float
    """How long it takes."""


@dataclasses.dataclass(frozen=True)
class ReplayReport:
    """What a replay found; times in seconds of the simulated device."""

    device: str
    """Name of the simulated device."""
    policy: str
    """That memory was managed by."""
    budget_bytes: int
    """Of the device's memory."""
    steps: int
    """Operations of the trace."""
    total_seconds: float
    """From the first operation to the end of the last one."""
    compute_seconds: float
    """Kernels alone, with what was regenerated."""
    fault_seconds: float
    """Kernels standing still for page faults."""
    transfer_wait_seconds: float
    """The device waiting for copies."""
    host_wait_seconds: float
    """The device waiting for the host: launches, allocations, synchronizations."""
    regenerate_seconds: float
    """Part of compute: expanding seeds and encoding plaintexts."""
    stall_seconds: float
    """Total without compute."""
    allocate_seconds: float
    """Host time in allocations."""
    free_seconds: float
    """Host time in frees, without waiting."""
    synchronize_seconds: float
    """Host time waiting for the device in frees and in copies that block."""
    load_busy_seconds: float
    """Link into the device."""
    store_busy_seconds: float
    """Link out of it."""
    loaded_bytes: int
    """Into the device: copies, migrations of page faults, accesses over the link."""
    stored_bytes: int
    """Copied out of it: write-backs, and evictions that copy."""
    regenerated_bytes: int
    """Expanded from seeds or encoded again, instead of being copied."""
    faults: int
    """Page faults."""
    fault_batches: int
    """Groups of faults that the driver served together."""
    allocations: int
    """Of buffers on the device."""
    frees: int
    """Of such buffers."""
    peak_resident_bytes: int
    """Most bytes on the device at once."""
    peak_pool_bytes: int
    """Most bytes in the stream-ordered pool at once."""
    peak_managed_bytes: int
    """Most bytes of managed memory at once."""
    phases: tuple[PhaseTime, ...] = dataclasses.field(repr=False)
    """Stretches of steps with one phase, in order."""
    timeline: dict[str, npt.NDArray[np.float64]] = dataclasses.field(repr=False, compare=False)
    """Samples as arrays: seconds, resident_bytes, pool_bytes, managed_bytes."""

    @property
    def moved_bytes(self) -> int:
        """Bytes over both links."""
        return self.loaded_bytes + self.stored_bytes

    def operations(self) -> dict[str, npt.NDArray[np.float64]]:
        """Seconds of each operation, in order of their first run: phases with a trailing number taken off."""
        found: dict[str, list[float]] = {}
        for each in self.phases:
            found.setdefault(re.sub(r"[ _.#-]*\d+$", "", each.phase) or each.phase, []).append(each.seconds)
        return {name: np.array(values) for name, values in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """For JSON: everything but the timeline."""
        rows = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        rows.pop("timeline")
        return rows | {"phases": [dataclasses.asdict(each) for each in self.phases]}

    def __repr__(self) -> str:
        moved = _core.format_bytes(self.moved_bytes)
        return (
            f"ReplayReport({self.policy} on {self.device}, {_core.format_bytes(self.budget_bytes)}: "
            f"{self.total_seconds:.4g} s, {self.stall_seconds:.3g} s of it stalls, {moved} moved)"
        )


def _report(core: _core.ReplayReport) -> ReplayReport:
    numbers = {re.sub("_s$", "_seconds", name): value for name, value in core.numbers().items()}
    phases = tuple(PhaseTime(*each) for each in core.phases())
    return ReplayReport(
        device=core.device, policy=core.policy, phases=phases, timeline=core.timeline(), **numbers
    )


def budget_bytes(trace: Trace, memory: int | str | None) -> int:
    """Bytes of a budget: a number, "2GiB", or "25%" of the most bytes that are live at once; None is 0."""
    return byte_count(budget_of(memory, trace.peak_bytes), "memory")


def decide(trace: Trace, *, lifetime: float = math.inf, pool_bytes: int | str | None = None) -> bytes:
    """Decisions of the profiling scheme, one byte per allocation of the trace in its order.

    1, the stream-ordered pool, in ascending order of lifetime, for each allocation that lives shorter than
    `lifetime` seconds (N in the hybrid paper) and does not raise the pool's peak above `pool_bytes`; 0,
    managed memory, for all others.
    """
    expect(trace, Trace, "decide")
    room = byte_count(pool_bytes, "decide: pool_bytes") if pool_bytes is not None else 2**64 - 1
    return _core.make_decisions(trace._core, lifetime, room)


def replay(
    trace: Trace,
    device: str | DeviceModel = "h200",
    policy: Policy = "planned",
    memory: int | str | None = None,
    *,
    kernel_scale: float = 1.0,
    recorded_times: bool = False,
    decisions: bytes | None = None,
    async_ratio: float = DEFAULT_ASYNC_RATIO,
    lifetime: float = math.inf,
    range_limit: int | None = None,
    steady: bool = False,
) -> ReplayReport:
    """Runs a trace on a simulated device.

    memory: budget of the device's memory: bytes, "2GiB", or "25%" of the most bytes that are live at once;
        None is all that its driver leaves.
    kernel_scale: factor on the times of operations.
    recorded_times: operations take as long as they did in the trace, instead of what the model says.
    decisions: of policy `profiled`, from `decide`; by default made from this trace with `lifetime` and
        `async_ratio`, the share of the budget that the pool may take.
    range_limit: X of policy `dynamic`: the pool is used while the last live counts of a size differ by less.
    steady: the program runs repeatedly, and the report is of a run that finds what another one left in the
        device's memory; otherwise policies that move bytes begin with all of them on the host.

    Raises OutOfMemory when the policy cannot place something in the budget; the message says what would do.
    """
    model = device_model(device)
    constants = _Constants(
        kernel_scale, recorded_times, decisions, async_ratio, lifetime, range_limit, steady
    )
    options = constants.options(expect(trace, Trace, "replay"), model, policy, memory)
    return _report(_core.replay(trace._core, model._core, options))


def replay_timeline(
    trace: Trace,
    device: str | DeviceModel = "h200",
    policy: Policy = "planned",
    memory: int | str | None = None,
    **constants: Any,
) -> str:
    """A replay as JSON for https://ui.perfetto.dev: operations, page faults, loads, write-backs and stalls.

    Arguments are those of `replay`.
    """
    model = device_model(device)
    options = _Constants(**constants).options(expect(trace, Trace, "replay"), model, policy, memory)
    return _core.replay_perfetto(trace._core, model._core, options)


@dataclasses.dataclass(frozen=True)
class _Constants:
    """The keyword arguments of `replay`."""

    kernel_scale: float = 1.0
    recorded_times: bool = False
    decisions: bytes | None = None
    async_ratio: float = DEFAULT_ASYNC_RATIO
    lifetime: float = math.inf
    range_limit: int | None = None
    steady: bool = False

    def options(
        self, trace: Trace, model: DeviceModel, policy: str, memory: int | str | None
    ) -> _core.ReplayOptions:
        """Checked, for the extension module."""
        options = _core.ReplayOptions()
        options.policy = expect(policy, str, "replay: policy")
        options.budget_bytes = budget_bytes(trace, memory)
        options.kernel_scale = positive(self.kernel_scale, "replay: kernel_scale")
        options.recorded_times = bool(self.recorded_times)
        options.steady = bool(self.steady)
        if self.range_limit is not None:
            options.range_limit = integer(self.range_limit, "replay: range_limit", 0)
        if not 0 <= self.async_ratio <= 1:
            raise InvalidArgument(f"replay: async_ratio is {self.async_ratio}, expected 0 to 1")
        if policy == "profiled":
            room = int(self.async_ratio * (options.budget_bytes or model.usable_bytes))
            made = self.decisions
            if made is None:
                made = _core.make_decisions(trace._core, self.lifetime, room)
            options.set_decisions(made)
        return options


def resident_seconds(trace: Trace, device: str | DeviceModel = "h200", *, kernel_scale: float = 1.0,
                     recorded_times: bool = False) -> float:  # fmt: skip
    """Time of the program if the device had room for everything: what slowdowns are measured against."""
    model = device_model(device)
    needed = 2 * trace.peak_bytes
    if needed > model.usable_bytes:
        model = model.with_memory(needed)
    found = replay(trace, model, "resident", kernel_scale=kernel_scale, recorded_times=recorded_times)
    return found.total_seconds
