# SPDX-License-Identifier: Apache-2.0
"""`halocline run resnet18`: encrypted images through ResNet-18, with the forecast of its time and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.names import Policy
from ...ckks.named_params import named_params
from ...nn.images import Images, load_images
from ...nn.model import Model
from ...nn.ranges import Ranges, calibrate
from ...nn.resnet18 import resnet18
from ..images.run import MARGIN, ImageRun
from ..running import Progress
from .options import Resnet18Options

CALIBRATION_IMAGES = 16
"""Random images, other than those that are run, whose activations bound those of random images."""
FORECAST_DEVICE = "h200"
"""The simulated device of the forecast."""


def random_images(count: int, side: int, seed: int) -> npt.NDArray[np.float64]:
    """(count, 3, side, side) numbers from 0 to 1: noise of 8 x 8 points, larger by bilinear interpolation."""
    coarse = np.random.default_rng(seed).random((count, 3, 9, 9))
    at = np.arange(side) * 8 / side
    low, part = at.astype(int), at % 1
    rows = coarse[:, :, low] * (1 - part)[:, None] + coarse[:, :, low + 1] * part[:, None]
    return np.asarray(rows[..., low] * (1 - part) + rows[..., low + 1] * part)


class Resnet18Run(ImageRun):
    """One run of the workload. `report` is complete after `run`."""

    workload = "resnet18"
    options: Resnet18Options

    def _load_model(self) -> Model:
        o = self.options
        return resnet18(o.weights, classes=o.classes, side=o.side, alpha=o.alpha, seed=o.seed)

    def _pictures(self) -> tuple[Images, int]:
        o = self.options
        if o.image is not None:
            found = load_images(o.image, self.model.input_shape)
            return found, len(found.names)
        count = o.images or 1
        names = tuple(f"random image {index}" for index in range(count))
        return Images(random_images(count, o.side, o.seed), None, names, (), ()), 1

    def _ranges(self) -> Ranges:
        o = self.options
        if o.image is not None or o.calibration is not None or Ranges.stored_in(self.model) is not None:
            return super()._ranges()
        images = random_images(CALIBRATION_IMAGES, o.side, o.seed + 1)
        margin = MARGIN if o.margin is None else o.margin
        source = f"{CALIBRATION_IMAGES} random images"
        return calibrate(self.model, self.model.prepare(images), margin, {"source": source})

    def run(self) -> dict[str, Any]:
        """Executes all phases and returns the report."""
        report = super().run()
        assert self.forecast is not None  # it just ran
        planned = report["policy"] == "planned"
        policy: Policy = "planned" if planned else "resident"
        budget = report["budget_bytes"] if planned else None
        later = self.forecast.within(budget, policy)
        report["forecast"] = {
            "device": FORECAST_DEVICE,
            "policy": policy,
            "seconds": later.total_seconds,
            "loaded_bytes": later.loaded_bytes,
            "first_loaded_bytes": self.forecast.within(budget, policy, first=True).loaded_bytes,
        }
        report["measured"] = [
            {"seconds": each.seconds, "loaded_bytes": each.bytes_moved.get("loaded", 0)} for each in self.runs
        ]
        return report

    def _class_names(self) -> tuple[str, ...]:
        return tuple(str(each) for each in range(self.model.output_shape[0]))


def run(
    options: Resnet18Options | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or Resnet18Options()
    return Resnet18Run(named_params(o.params, o.allow_insecure), o, progress).run()
