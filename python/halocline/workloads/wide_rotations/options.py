# SPDX-License-Identifier: Apache-2.0
"""Options of `halocline run wide-rotations`."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from ...base.option_values import Count
from ...base.options import option
from ...ckks.params import Params
from ..options import WorkloadOptions, params_option, seed_option


@dataclasses.dataclass(frozen=True)
class WideOptions(WorkloadOptions):
    """How the network is run, and which one: see `WideRotations`."""

    subject: ClassVar[str] = "wide-rotations"

    seed: int = seed_option("the network and its inputs")
    batches: int = option(2, "Input ciphertexts.", Count())
    layers: int = option(12, "Layers of the network, each of which takes a level.", Count())
    rotations_per_layer: int = option(88, "Rotations of each layer.", Count())
    keys: int = option(64, "Different rotation keys.", Count())
    repeat: int = option(
        1, "Evaluations on the same engine: on a GPU the first one is slower than the others.", Count()
    )
    params: str | Params = params_option("n15-d14")
