# SPDX-License-Identifier: Apache-2.0
"""What each step of an encrypted network takes: keys, weights, memory and time, from a ghost run."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from ..engine.engine import Engine
from ..memory.trace import Trace
from ..tracing.replay import DeviceModel, device_model, replay


@dataclasses.dataclass
class StepCost:
    """One step of one evaluation."""

    name: str
    """Of the step: a layer, or its bootstrap."""
    key_uses: dict[int, int] = dataclasses.field(default_factory=dict)
    """Galois element -> how often the step uses that key."""
    weight_bytes: int = 0
    """Of weights that it is the first to use, encoded."""
    peak_bytes: int = 0
    """Largest sum of live bytes during the step, with all keys and weights in place."""
    seconds: float = 0.0
    """On the device of the forecast, where everything is in its memory."""

    @property
    def key_switches(self) -> int:
        """Rotations, conjugations and relinearizations, each with a key."""
        return sum(self.key_uses.values())


class StepWatch:
    """Collects the costs of steps while a network runs on a ghost: `with watch.step(name)`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.costs: dict[str, StepCost] = {}
        self._peaks: dict[str, Any] = {}

    @contextlib.contextmanager
    def weights(self, name: str) -> Iterator[None]:
        """Around a step of the first run, which encodes weights."""
        before = self._engine.stats()["live_by_class"]["plaintext"]
        yield
        cost = self.costs.setdefault(name, StepCost(name))
        cost.weight_bytes += self._engine.stats()["live_by_class"]["plaintext"] - before

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Around a step of a later run: counts uses of keys, and the peak of the step alone."""
        core = self._engine._core
        self._note_peaks()
        self._engine.reset_peak()
        core.take_key_uses()
        with self._engine.phase(name):
            yield
        cost = self.costs.setdefault(name, StepCost(name))
        for element, (switches, _) in core.take_key_uses().items():
            cost.key_uses[element] = cost.key_uses.get(element, 0) + switches
        cost.peak_bytes = max(cost.peak_bytes, int(self._engine.stats()["peak_bytes"]))

    def _note_peaks(self) -> None:
        """Keeps the peaks so far, which the next step resets."""
        found = self._engine.stats()
        by_class = self._peaks.setdefault("peak_by_class", {})
        for name, count in found["peak_by_class"].items():
            by_class[name] = max(by_class.get(name, 0), count)
        self._peaks["peak_bytes"] = max(self._peaks.get("peak_bytes", 0), found["peak_bytes"])

    def stats(self) -> dict[str, Any]:
        """Counters of the engine; peaks are those of all steps since the watch began."""
        self._note_peaks()
        return self._engine.stats() | self._peaks

    def time(self, trace: Trace, device: str | DeviceModel) -> None:
        """Times of the steps on a simulated device that has room for everything."""
        model = device_model(device)
        if 2 * trace.peak_bytes > model.usable_bytes:
            model = model.with_memory(2 * trace.peak_bytes)
        for phase in replay(trace, model, "resident").phases:
            if phase.phase in self.costs:
                self.costs[phase.phase].seconds += phase.seconds
