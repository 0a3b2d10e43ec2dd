# SPDX-License-Identifier: Apache-2.0
"""A small residual network compiled for bootstrapping, its client and its keys, made once."""

import types

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn import INPUT, Add, AvgPool, Conv2d, Flatten, Linear, Model, Node, ReLU, Shortcut

SHAPE = (1, 8, 8)


def weights(rng, *shape):
    return rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))


def residual_model(seed=1, alpha=13):
    """Two shortcuts, one of them plain; a stride; 128, 64 and 4 slots."""
    rng = np.random.default_rng(seed)
    return Model(
        SHAPE,
        (
            Node("conv1", Conv2d(weights(rng, 2, 1, 3, 3), 0.1 * rng.normal(size=2)), (INPUT,)),
            Node("relu1", ReLU(alpha), ("conv1",)),
            Node("conv2", Conv2d(weights(rng, 4, 2, 3, 3), 0.1 * rng.normal(size=4), 2), ("relu1",)),
            Node("short", Shortcut(2, 4), ("relu1",)),
            Node("add2", Add(), ("conv2", "short")),
            Node("relu2", ReLU(alpha), ("add2",)),
            Node("conv3", Conv2d(weights(rng, 4, 4, 3, 3)), ("relu2",)),
            Node("relu3", ReLU(alpha), ("conv3",)),
            Node("conv4", Conv2d(weights(rng, 4, 4, 3, 3)), ("relu3",)),
            Node("add4", Add(), ("conv4", "relu2")),
            Node("relu4", ReLU(alpha), ("add4",)),
            Node("pool", AvgPool(), ("relu4",)),
            Node("flat", Flatten(), ("pool",)),
            Node("dense", Linear(weights(rng, 3, 4), rng.normal(size=3)), ("flat",)),
        ),
        metadata={"normalize_mean": "0.5", "normalize_std": "0.25"},
    )


def uniform_images(count, seed=2):
    return np.random.default_rng(seed).uniform(0, 1, (count, *SHAPE))


@pytest.fixture(scope="session")
def residual():
    """`residual_model`, a function of seed and alpha."""
    return residual_model


@pytest.fixture(scope="session")
def images():
    """`uniform_images`, a function of their number and a seed."""
    return uniform_images


@pytest.fixture(scope="session")
def boot_params():
    """The levels of n16-boot in a ring of 2^12."""
    return hc.Params.preset("test-n12-boot", allow_insecure=True)


@pytest.fixture(scope="session")
def network(boot_params):
    """model, ranges, compiled, client, keys."""
    model = residual_model()
    ranges = nn.calibrate(model, model.prepare(uniform_images(50)))
    compiled = nn.compile(model, boot_params, ranges)
    client = hc.Client(boot_params, seed=bytes(32), threads=2)
    keys = client.evaluation_keys(plan=compiled.key_plan)
    return types.SimpleNamespace(model=model, ranges=ranges, compiled=compiled, client=client, keys=keys)
