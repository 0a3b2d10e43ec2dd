# SPDX-License-Identifier: Apache-2.0
"""Bootstrapping within memory budgets: `halocline bench bootstrap-budget`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ckks.ciphertext import Ciphertext
from ...ckks.named_params import named_params
from ...ckks.params import Params
from ...engine.engine import Engine
from ...workloads.bootstrap.messages import bits, largest_part, make_bootstrapper, random_message
from ..keeping import SILENT, Watcher
from .curve import BudgetCurve, Row
from .options import BATCHES, BootstrapBudgetOptions, CurveOptions
from .rig import PolicyRig, Shape

SCHEMA = 1
SUITE = "bootstrap-budget"


def run_bootstrap_budget(
    params: Params,
    options: CurveOptions | None = None,
    bootstrap: Mapping[str, Any] | None = None,
    watcher: Watcher = SILENT,
) -> Row:
    """A row for each policy, batch and budget, as `--json` writes it.

    bootstrap: fields of `BootstrapOptions`.
    """
    return _BootstrapCurve(params, options or CurveOptions(batches=BATCHES), bootstrap or {}, watcher).run()


def run(options: BootstrapBudgetOptions | None = None, watcher: Watcher = SILENT) -> Row:
    """The suite with its options, as `--json` writes it."""
    o = options or BootstrapBudgetOptions()
    return run_bootstrap_budget(named_params(o.params, o.allow_insecure), o, o.bootstrap, watcher)


class _BootstrapCurve(BudgetCurve):
    """Random messages, one call for all of a batch."""

    def __init__(
        self, params: Params, options: CurveOptions, bootstrap: Mapping[str, Any], watcher: Watcher
    ) -> None:
        super().__init__(SUITE, "bootstrap", options, watcher)
        # All policies and budgets do the same steps.
        self.params, self.bootstrapper = params, make_bootstrapper(params, {"memory": 0} | dict(bootstrap))
        plan, encode = self.bootstrapper.key_plan, self.bootstrapper.encode
        run = self._run_options()
        rig = PolicyRig(params, plan, encode, run, seeded=options.seeded, progress=watcher.progress)
        self._messages = [random_message(self.bootstrapper, seed) for seed in range(max(options.batches))]
        self._begin(rig, self.bootstrapper)

    def shapes(self, batch: int) -> list[Shape]:
        return [Shape(self.bootstrapper.input_level, self.bootstrapper.slots)] * batch

    def inputs(self, engine: Engine, batch: int) -> list[Ciphertext]:
        client, level = self._rig.client, self.bootstrapper.input_level
        return [client.encrypt(each, level=level).to(engine) for each in self._messages[:batch]]

    def quality(self, results: list[Ciphertext], batch: int) -> Row:
        pairs = zip(results, self._messages[:batch], strict=True)
        errors = [largest_part(self._rig.client.decrypt(each) - wanted).max() for each, wanted in pairs]
        return {"precision_worst_bits": bits(float(np.max(errors)))}

    def facts(self) -> Row:
        return {
            "schema": SCHEMA,
            "params": self.params.name,
            "bootstrap": dataclasses.asdict(self.bootstrapper.options),
            "forecast_worst_bits": self.bootstrapper.describe()["worst_bits"],
        }
