# SPDX-License-Identifier: Apache-2.0
"""Programs on encrypted arrays with as many levels as they like: insecure parameters, exact keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import halocline as hc
import numpy as np


class DeepArrayRig:
    """Runs programs: N = 2^10, 512 slots, and `depth` levels of 40 bits."""

    def __init__(self, depth: int) -> None:
        self.params = hc.Params(
            log_n=10,
            depth=depth,
            scale_bits=40,
            base_bits=60,
            special_primes=4,
            digit_size=4,
            allow_insecure=True,
        )
        self.client = hc.Client(self.params, seed=bytes(range(32)), threads=1)

    def run(self, program: Callable[..., Any], *arrays: Any, packing: Any = None) -> Any:
        """The encrypted result of a program on arrays in the clear."""
        encrypted = [self.client.encrypt_array(each, packing) for each in arrays]
        plan = hc.key_plan(self.params, program, *encrypted)
        engine = hc.Engine(self.params, self.client.evaluation_keys(plan=plan), threads=1)
        return engine.run(program, *encrypted)

    def decrypted(self, program: Callable[..., Any], *arrays: Any, packing: Any = None) -> Any:
        """The result in the clear."""
        return self.client.decrypt(self.run(program, *arrays, packing=packing))

    def unused(self, array: Any) -> float:
        """Largest magnitude in slots that hold no element."""
        used = array.packing.pack(np.ones(array.shape))
        return max(
            float(np.abs(self.client.decrypt(ct) * (1 - mask)).max())
            for ct, mask in zip(array.parts, used, strict=True)
        )
