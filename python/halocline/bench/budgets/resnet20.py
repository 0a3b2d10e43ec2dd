# SPDX-License-Identifier: Apache-2.0
"""One image through ResNet-20 within memory budgets: `halocline bench resnet20-budget`."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import ActivationRange, InvalidArgument
from ...ckks.ciphertext import Ciphertext
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine
from ...nn.compiler import compile
from ...nn.layers import Array
from ...nn.model import Model
from ...nn.ranges import Ranges
from ...workloads.resnet20.options import Resnet20Options
from ...workloads.resnet20.run import Resnet20Run
from ..keeping import SILENT, Watcher
from .curve import BudgetCurve, Row
from .options import BudgetOptions, Resnet20BudgetOptions
from .rig import PolicyRig, Rehearsal, Shape

SCHEMA = 1
SUITE = "resnet20-budget"


@dataclasses.dataclass(frozen=True)
class Network:
    """Which weights, which image, which bootstraps; the shipped network and a held-out digit unless given."""

    weights: str | Path | None = None
    image: str | Path | None = None
    """A file, or a folder of which the first image is taken; all of them calibrate weights without ranges."""
    bootstrap: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of `BootstrapOptions` for all bootstraps."""


def run_resnet20_budget(
    params: Params,
    options: BudgetOptions | None = None,
    network: Network | None = None,
    watcher: Watcher = SILENT,
) -> Row:
    """A row for each policy and budget, as `--json` writes it."""
    given = network or Network()
    calibration = given.image if given.weights is not None else None
    what = Resnet20Options(image=given.image, weights=given.weights, calibration=calibration, images=1)
    made = Resnet20Run(params, what)
    name = "digits" if given.weights is None else Path(given.weights).name
    chosen = options or Resnet20BudgetOptions()
    about = {"network": name, "image": made.images.names[0]}

    def keep(content: Row, done: int, total: int) -> None:
        watcher.keep(content | about, done, total)

    told = Watcher(watcher.progress, keep)
    curve = NetworkCurve(params, chosen, made.model, made.ranges, made.images.images[0], given, told)
    return curve.run() | about


def run(options: Resnet20BudgetOptions | None = None, watcher: Watcher = SILENT) -> Row:
    """The suite with its options, as `--json` writes it."""
    o = options or Resnet20BudgetOptions()
    network = Network(o.weights, o.image, o.bootstrap)
    return run_resnet20_budget(named_params(o.params, o.allow_insecure), o, network, watcher)


class NetworkCurve(BudgetCurve):
    """One input of a network per call."""

    def __init__(
        self,
        params: Params,
        options: BudgetOptions,
        model: Model,
        ranges: Ranges,
        image: Array,
        network: Network,
        watcher: Watcher,
    ) -> None:
        super().__init__(SUITE, "image", options, watcher)
        if tuple(options.batch_sizes()) != (1,):
            sizes = tuple(options.batch_sizes())
            raise InvalidArgument(f"{SUITE}: batches of {sizes}; expected one image a call")
        self.params, self._image = params, image
        self._exact = model.forward(model.prepare(image[np.newaxis]))[0]
        self._compiled = compile(model, params, ranges, bootstrap=network.bootstrap)
        self._forecast = self._compiled.report()
        self._encode_first = True
        run = self._run_options()
        plan = self._forecast.key_plan
        rig = PolicyRig(params, plan, self._prepare, run, seeded=options.seeded, progress=watcher.progress)
        self._begin(rig, self._evaluate)

    def _evaluate(self, inputs: list[Ciphertext]) -> Ciphertext:
        return self._compiled(inputs[0])

    def _prepare(self, engine: Engine) -> None:
        """Weights are encoded in the first call, so a ghost whose recording begins behind it makes one."""
        if engine.is_ghost and self._encode_first:
            shape = self.shapes(1)[0]
            self._compiled(engine.ghost_input(level=shape.level, slots=shape.slots, real=shape.real))

    def _rehearse(self, batch: int, *, setup: bool = False, calls: int = 2) -> Rehearsal:
        self._encode_first = not setup
        return super()._rehearse(batch, setup=setup, calls=calls)

    def shapes(self, batch: int) -> list[Shape]:
        """One image."""
        program = self._compiled.program
        return [Shape(program.schedule.fresh_level, program.input_layout.slots, real=True)]

    def inputs(self, engine: Engine, batch: int) -> list[Ciphertext]:
        """The image, encrypted."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ActivationRange)  # rows say how far results are off
            return [self._compiled.encrypt(self._rig.client, self._image).to(engine)]

    def quality(self, results: Ciphertext, batch: int) -> Row:
        """How far logits are from those of the network in the clear with exact ReLU."""
        logits = self._compiled.decrypt(self._rig.client, results)
        error = float(np.abs(logits - self._exact).max())
        return {"logit_error": error, "same_class": bool(logits.argmax() == self._exact.argmax())}

    def facts(self) -> Row:
        """Operations, keys, sizes, bootstraps."""
        found = self._forecast.to_dict()
        names = ("operations", "distinct_keys", "key_bytes", "weight_bytes", "footprint")
        options = {each.slots: each.options for each in self._compiled.program.bootstrappers.values()}
        return {
            "schema": SCHEMA,
            "params": self.params.name,
            "network_report": {name: found[name] for name in names},
            "bootstrap": {str(slots): dataclasses.asdict(each) for slots, each in options.items()},
        }
