# SPDX-License-Identifier: Apache-2.0
"""What an encrypted network will need, from a ghost run: keys, operations, bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..base.names import Policy
from ..base.tables import Table, short_seconds
from ..ckks.keys import KeyPlan
from ..engine.engine import Engine
from ..engine.footprint import encoder_bytes
from ..memory.trace import Trace
from ..tracing.replay import DeviceModel, ReplayReport, device_model, replay
from .layer_table import layer_rows, layer_table, save_picture, size_text
from .network import Network, Phase
from .step_costs import StepCost, StepWatch
from .steps import Activate, AddUp, Placed, Refresh, Step


@dataclasses.dataclass(frozen=True)
class Forecast:
    """One evaluation on an engine that computes nothing."""

    compiled: Network
    """The network."""
    images: int
    """Evaluated at once."""
    key_plan: KeyPlan
    """The evaluation keys that it needs, each with its level."""
    key_uses: dict[int, int]
    """Galois element -> how often the network uses that key."""
    stats: dict[str, Any]
    """Counters of the ghost's memory runtime; peaks are those of one run with weights and keys in place."""
    weight_bytes: int
    """Of encoded weights."""
    steps: int
    """Backend operations of one run."""
    step_bytes: int
    """Of its largest step, with all operands: enough for a run under policies that move bytes."""
    device: str
    """Name of the simulated device that times are of."""
    costs: Mapping[str, StepCost] = dataclasses.field(repr=False)
    """By the name of the step: a layer, or its bootstrap."""
    trace: Trace = dataclasses.field(repr=False, compare=False)
    """Of one run with weights and keys in place: 56 bytes for each event, 120 MB for ResNet-18."""

    @property
    def seconds(self) -> float:
        """Of one evaluation of all `images` on the device, where everything is in its memory."""
        return sum(each.seconds for each in self.costs.values())

    def within(
        self, memory: int | str | None, policy: Policy = "planned", *, first: bool = False
    ) -> ReplayReport:
        """Time and bytes of one evaluation on the device within a budget: see `halocline.replay`.

        memory: bytes, "40GiB", or a share of the most bytes that are live at once; None: what the device has.
        first: of the first evaluation, which finds all keys and weights on the host; otherwise of later ones,
            which find what the one before left on the device.
        Raises OutOfMemory where the policy cannot place an operation in the budget.
        """
        return replay(self.trace, self.device, policy, memory, steady=not first)

    @property
    def peak_bytes(self) -> int:
        """Largest sum of live bytes on the engine: tables, keys, ciphertexts, plaintexts, scratch."""
        return int(self.stats["peak_bytes"])

    @property
    def footprint(self) -> dict[str, int]:
        """Bytes by object class: the peak of each, which need not coincide."""
        made = {name: int(count) for name, count in self.stats["peak_by_class"].items()}
        made["table"] += encoder_bytes(self.compiled.params)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for reports and files."""
        footprint = self.footprint
        schedule = self.compiled.program.schedule
        return {
            "params": self.compiled.params.name,
            "levels": {"fresh": schedule.fresh_level}
            | {name: dataclasses.asdict(each) for name, each in schedule.steps.items()},
            "images": self.images,
            "slots": {each.name: each.stage.layout.slots for each in self.compiled.program.placed},
            "ciphertexts": {
                each.name: each.stage.layout.ciphertexts(self.images) for each in self.compiled.program.placed
            },
            "operations": self.operations(),
            "distinct_keys": len(self.key_plan),
            "key_bytes": self.key_plan.nbytes(),
            "key_sent_bytes": self.key_plan.nbytes(seeded=True),
            "weight_bytes": self.weight_bytes,
            "peak_bytes": self.peak_bytes,
            "device": self.device,
            "seconds": self.seconds,
            "layers": [row.to_dict() for row in layer_rows(self.compiled, self.costs, self.images)],
            "footprint": footprint,
            "footprint_bytes": sum(footprint.values()),
        }

    def table(self) -> Table:
        """A row for each layer: levels, bootstraps, keys, memory and time."""
        compiled, plan = self.compiled, self.key_plan
        kept, sent = size_text(plan.nbytes()), size_text(plan.nbytes(seeded=True))
        notes = (
            f"{compiled.program.schedule.bootstraps} bootstraps; {len(plan)} keys, {kept} in memory, {sent} "
            f"to send; weights {size_text(self.weight_bytes)}",
            f"peak memory {size_text(self.peak_bytes)}; {short_seconds(self.seconds)} for {self.images} "
            f"input{'s' * (self.images > 1)}, forecast for {self.device} with everything in its memory",
        )
        title = f"{len(compiled.model.nodes)} layers on {compiled.params.name}"
        return layer_table(compiled, self.costs, title, notes, self.images)

    def plot(self, path: str | Path) -> None:
        """Writes a picture of the layers with levels, bootstraps and times, as PNG.

        Raises MissingExtra without matplotlib.
        """
        save_picture(self.compiled, self.costs, self.images, self.device, path)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def operations(self) -> dict[str, int]:
        """Counts by kind: for each ciphertext, but of linear maps and diagonals those that are encoded."""
        steps = self.compiled.steps
        sums = [step.placed for step in steps if isinstance(step, AddUp)]
        maps = [term.map for each in sums for term in each.terms if term.map is not None]

        def ciphertexts(kind: type[Step], factor: Callable[[Placed], int] = lambda _: 1) -> int:
            placed = [step.placed for step in steps if isinstance(step, kind)]
            return sum(each.stage.layout.ciphertexts(self.images) * factor(each) for each in placed)

        return {
            "bootstraps": ciphertexts(Refresh),
            "activations": ciphertexts(Activate),
            "linear_maps": len(maps),
            "diagonals": sum(each.products for each in maps),
            "constant_products": ciphertexts(AddUp, lambda each: sum(t.map is None for t in each.terms)),
            "additions": ciphertexts(AddUp, lambda each: len(each.terms) - 1),
            "biases": ciphertexts(AddUp, lambda each: any(bias is not None for bias in each.biases)),
            "key_switches": sum(self.key_uses.values()),
            "backend_steps": self.steps,
        }


def forecast(compiled: Network, images: int = 1, device: str | DeviceModel = "h200") -> Forecast:
    """Runs a network twice on a ghost: to find its keys and encode its weights, and with those in place.

    images: so many at once. device: the simulated device whose times of steps are forecast.
    """
    engine = Engine(compiled.params, device="ghost")
    layout, level = compiled.program.input_layout, compiled.program.schedule.fresh_level

    watch, count = StepWatch(engine), layout.ciphertexts(images)

    def once(phase: Phase) -> None:
        compiled([engine.ghost_input(level=level, slots=layout.slots) for _ in range(count)], phase)

    once(watch.weights)
    plan = engine.key_plan
    engine._core.prepare_keys(plan.requests())
    engine._core.take_key_uses()
    engine.reset_peak()
    before = engine.stats()
    with engine.record() as trace:
        once(watch.step)
    after = watch.stats()
    watch.time(trace, device)
    uses: dict[int, int] = {}
    for cost in watch.costs.values():
        for element, switches in cost.key_uses.items():
            uses[element] = uses.get(element, 0) + switches
    weights = before["live_by_class"]["plaintext"]
    largest = max(trace._core.minimum_budget())
    steps, name = after["steps"] - before["steps"], device_model(device).name
    return Forecast(compiled, images, plan, uses, after, weights, steps, largest, name, watch.costs, trace)
