# SPDX-License-Identifier: Apache-2.0
"""What a client does with the specification of a network that a stranger wrote."""

from __future__ import annotations

import contextlib
import warnings

import halocline as hc
import halocline.nn as nn
import numpy as np
from attacks.case import Finding
from attacks.samples import World
from attacks.seals import seal_client_spec
from attacks.target import Target

MOST_SLOTS = 1 << 12
"""Inputs of specifications with larger rings are packed, not encrypted: making tables takes long."""
MOST_KEYS = 1 << 24
"""Bytes of keys that the client makes for a specification."""


def _compiled(params: hc.Params) -> nn.CompiledModel:
    """A convolution with a stride and a dense layer."""
    rng = np.random.default_rng(5)
    model = nn.Model(
        (1, 4, 4),
        (
            nn.Node("conv", nn.Conv2d(rng.normal(size=(2, 1, 3, 3)), stride=2), ("input",)),
            nn.Node("flat", nn.Flatten(), ("conv",)),
            nn.Node("out", nn.Linear(rng.normal(size=(3, 8))), ("flat",)),
        ),
        metadata={"normalize_mean": "0.5", "normalize_std": "0.25"},
    )
    return nn.compile(model, params, nn.calibrate(model, rng.random((4, 1, 4, 4))))


def client_spec_targets(world: World) -> dict[str, Target]:
    """The loader, and what a client makes of what it accepts."""
    data = _compiled(world.params).client_spec(name="sample", classes=["a", "b", "c"]).to_bytes()

    def refuses_insecure(data: bytes) -> None:
        spec = nn.ClientSpec.from_bytes(data)
        if spec.params.security_bits < 128:
            raise Finding(f"insecure parameters were accepted: {spec.params!r}")

    def use(data: bytes) -> None:
        with contextlib.suppress(hc.Error):
            refuses_insecure(data)
        spec = nn.ClientSpec.from_bytes(data, allow_insecure=True)
        given = spec.input
        packed = given.places.pack(np.ones((1, *given.shape)))
        if sum(int(each.sum()) for each in packed) != np.prod(given.places.shape):
            raise Finding("two values in one slot")
        str(spec)
        if spec.params.slots > MOST_SLOTS or spec.params.word_bits == 64:
            return
        owner = world.client if spec.params == world.params else None
        client = nn.Client(spec, owner, threads=1)
        client.evaluation_keys(limit=MOST_KEYS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hc.ActivationRange)  # a mutated range does not hold the input
            cts = client.encrypt(np.full(given.shape, 0.5))
        for ct in cts if isinstance(cts, list) else [cts]:
            if (ct.slots, ct.level) != (given.places.slots, given.level):
                raise Finding(f"an input of {ct.slots} slots at level {ct.level}")

    return {"client spec": Target(data, use, seal_client_spec, text=True)}
