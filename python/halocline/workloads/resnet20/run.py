# SPDX-License-Identifier: Apache-2.0
"""`halocline run resnet20`: encrypted images through ResNet-20, compared with the network in the clear."""

from __future__ import annotations

from typing import Any

from ...ckks.named_params import named_params
from ...nn.images import Images, load_images
from ...nn.model import Model
from ...nn.resnet20 import CIFAR10_CLASSES, resnet20
from ..images.run import ImageRun
from ..running import Progress
from .digits import DIGITS, digits_model, held_out_pictures
from .options import Resnet20Options


class Resnet20Run(ImageRun):
    """One run of the workload. `report` is complete after `run`."""

    workload = "resnet20"

    def _load_model(self) -> Model:
        if self.options.weights is None:
            return digits_model(self.options.alpha)
        return resnet20(self.options.weights, alpha=self.options.alpha)

    def _pictures(self) -> tuple[Images, int]:
        options, shape = self.options, self.model.input_shape
        if options.image is None:
            return held_out_pictures(self.model), 1
        found = load_images(options.image, shape, DIGITS if options.weights is None else CIFAR10_CLASSES)
        return found, len(found.names)

    def _class_names(self) -> tuple[str, ...]:
        names = DIGITS if self.options.weights is None else CIFAR10_CLASSES
        count = self.model.output_shape[0]
        return names if len(names) == count else tuple(str(each) for each in range(count))


def run(
    options: Resnet20Options | None = None, progress: Progress = lambda what, done, total: None
) -> dict[str, Any]:
    """Runs the workload with the parameters that the options name; returns what `--json` writes."""
    o = options or Resnet20Options()
    return Resnet20Run(named_params(o.params, o.allow_insecure), o, progress).run()
