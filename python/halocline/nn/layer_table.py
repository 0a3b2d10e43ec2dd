# SPDX-License-Identifier: Apache-2.0
"""Compiled networks as tables of layers and as pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _core
from ..base.extras import needs
from ..base.tables import Table, short_seconds
from ..base.values import path_text
from .network import Network
from .step_costs import StepCost

_ACTIVATION, _BOOTSTRAP = " (activation)", ": bootstrap"


@dataclasses.dataclass(frozen=True)
class LayerRow:
    """A stage of the program: the linear layers before an activation, and the activation."""

    name: str
    """Of the activation, or of the last linear layer where there is none."""
    linear: str
    """Name of the last linear layer."""
    kind: str
    """Class of the activation; "" where there is none."""
    shape: tuple[int, ...]
    """Of its result."""
    slots: int
    """Of each of the ciphertexts that hold it."""
    ciphertexts: int
    """That hold the results of all inputs."""
    sources: tuple[str, ...]
    """Stages that it takes, or "input"."""
    level_in: int
    """At which its linear maps are applied."""
    level_bootstrapped: int | None
    """To which the sum is bootstrapped; None where it is not."""
    level_out: int
    """Of its result."""
    bootstraps: int
    """How many are done."""
    key_switches: int
    """Of one evaluation. This and what follows is 0 where no report was made yet."""
    keys: int
    """Different keys among them."""
    weight_bytes: int
    """Of its encoded weights."""
    peak_bytes: int
    """Largest sum of live bytes while it is evaluated, with all keys and weights."""
    linear_seconds: float
    """Forecast time of the linear maps, in seconds."""
    bootstrap_seconds: float
    """That of bootstraps."""
    activation_seconds: float
    """That of the activation."""

    @property
    def seconds(self) -> float:
        """Forecast time of all of it."""
        return self.linear_seconds + self.bootstrap_seconds + self.activation_seconds

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self) | {"seconds": self.seconds}


def layer_rows(compiled: Network, costs: Mapping[str, StepCost], images: int = 1) -> list[LayerRow]:
    """A row for each stage, in order, for so many inputs; `costs` by the names of steps may be empty."""
    return [_row(compiled, number, costs, images) for number in range(len(compiled.program.placed))]


def _row(compiled: Network, number: int, costs: Mapping[str, StepCost], images: int) -> LayerRow:
    placed = compiled.program.placed[number]
    stage, levels = placed.stage, placed.placement
    none = StepCost("")
    refresh = costs.get(f"{placed.name}{_BOOTSTRAP}", none)
    linear = costs.get(stage.linear, none)
    activation = none if stage.activation is None else costs.get(placed.name, none)
    parts = (linear, refresh, activation)
    return LayerRow(
        name=placed.name,
        linear=stage.linear,
        kind="" if stage.activation is None else type(stage.activation).__name__,
        shape=tuple(compiled.model.shapes[placed.name]),
        slots=stage.layout.slots,
        ciphertexts=stage.layout.ciphertexts(images),
        sources=tuple(stage.terms),
        level_in=levels.linear_level,
        level_bootstrapped=levels.activation_level if levels.refreshed else None,
        level_out=levels.output_level,
        bootstraps=stage.layout.ciphertexts(images) * levels.refreshed,
        key_switches=sum(each.key_switches for each in parts),
        keys=len(set().union(*(each.key_uses for each in parts))),
        weight_bytes=sum(each.weight_bytes for each in parts),
        peak_bytes=max(each.peak_bytes for each in parts),
        linear_seconds=linear.seconds,
        bootstrap_seconds=refresh.seconds,
        activation_seconds=activation.seconds,
    )


def size_text(count: int) -> str:
    """Bytes with a unit."""
    return str(_core.format_bytes(count))


def _held(row: LayerRow) -> str:
    """Slots, of several ciphertexts with their number in front."""
    return str(row.slots) if row.ciphertexts == 1 else f"{row.ciphertexts} x {row.slots}"


def _cells(row: LayerRow) -> list[str]:
    """Of a row of the table."""
    layers = row.name if row.linear == row.name else f"{row.linear}, {row.name}"
    levels = f"{row.level_in} > {row.level_out}"
    if row.level_bootstrapped is not None:
        levels = f"{row.level_in} > boot {row.level_bootstrapped} > {row.level_out}"
    shape = " x ".join(str(each) for each in row.shape)
    return [layers, row.kind or "-", shape, _held(row), levels, str(row.bootstraps)]


def _cost_cells(row: LayerRow) -> list[str]:
    sizes = [size_text(row.weight_bytes), size_text(row.peak_bytes)]
    return [str(row.key_switches), str(row.keys), *sizes, short_seconds(row.seconds)]


_COLUMNS = ("layers", "activation", ">shape", ">slots", ">levels", ">bootstraps")
_COST_COLUMNS = (">key switches", ">keys", ">weights", ">memory", ">time")


def layer_table(
    compiled: Network,
    costs: Mapping[str, StepCost],
    title: str,
    notes: Sequence[str] = (),
    images: int = 1,
) -> Table:
    """A row for each stage; with costs, where there are some."""
    rows = layer_rows(compiled, costs, images)
    if not costs:
        return Table(title, _COLUMNS, [_cells(row) for row in rows], notes)
    return Table(title, _COLUMNS + _COST_COLUMNS, [_cells(row) + _cost_cells(row) for row in rows], notes)


def save_picture(
    compiled: Network, costs: Mapping[str, StepCost], images: int, device: str, path: str | Path
) -> None:
    """Writes a picture of the layers as PNG. Raises MissingExtra without matplotlib."""
    name = path_text(path, "plot")
    with needs("lab", "plot"):
        from ..plots.networks import save_network
    rows = [each.to_dict() for each in layer_rows(compiled, costs, images)]
    inputs = "one input" if images == 1 else f"{images} inputs at once"
    about = f"{len(rows)} stages on {compiled.params.name}, {inputs}, forecast for {device}"
    save_network(rows, compiled.program.schedule.fresh_level, about, name)
