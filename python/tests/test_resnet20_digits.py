# SPDX-License-Identifier: Apache-2.0
"""The shipped ResNet-20 for digits: tensors, accuracy, ranges, and what polynomial ReLUs leave of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import halocline.nn as nn
import numpy as np
import pytest
from halocline.circuits.minimax import minimax_relu
from halocline.workloads.digits.pictures import bilinear_matrix, digit_pictures
from safetensors import safe_open
from sklearn.datasets import load_digits

FILE = Path(__file__).resolve().parents[1] / "halocline/data/resnet20_digits.safetensors"


@pytest.fixture(scope="module")
def stored():
    with safe_open(str(FILE), framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


@pytest.fixture(scope="module")
def model():
    return nn.resnet20(FILE)


@pytest.fixture(scope="module")
def held_out(model):
    """Inputs of the network, and labels."""
    pixels, labels = load_digits(return_X_y=True)
    chosen = json.loads(model.metadata["held_out_indices"])
    pictures = digit_pictures(pixels[chosen].reshape(-1, 8, 8) / 16.0)
    return model.prepare(pictures), labels[chosen]


def test_tensors(stored):
    tensors, metadata = stored
    assert len(tensors) == 19 * 5 + 2
    assert {each.dtype for each in tensors.values()} == {np.dtype(np.float16)}
    assert tensors["conv1.weight"].shape == (16, 3, 3, 3)
    assert tensors["layer3.0.conv1.weight"].shape == (64, 32, 3, 3)
    assert tensors["linear.weight"].shape == (10, 64)
    assert all((tensors[name] > 0).all() for name in tensors if name.endswith("running_var"))
    assert all(np.isfinite(each).all() for each in tensors.values())
    assert FILE.stat().st_size < 600_000
    state = hashlib.sha256()
    for name in sorted(tensors):
        state.update(f"{name}:{list(tensors[name].shape)}:".encode())
        state.update(tensors[name].astype("<f4").tobytes())
    assert state.hexdigest() == metadata["sha256"]


def test_pictures():
    matrix = bilinear_matrix(8, 32)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_allclose(matrix[1:6] @ np.arange(8), [0, 0.125, 0.375, 0.625, 0.875], atol=1e-12)
    image = np.random.default_rng(0).uniform(0, 1, (8, 8))
    picture = digit_pictures(image)
    assert picture.shape == (1, 3, 32, 32)
    assert np.array_equal(picture[0, 0], picture[0, 2])
    assert picture.mean() == pytest.approx(image.mean())
    np.testing.assert_allclose(digit_pictures(np.ones((2, 8, 8))), 1)


def test_accuracy_and_ranges(model, held_out, stored):
    inputs, labels = held_out
    some = slice(0, 120)
    logits = model.forward(inputs[some])
    assert float(stored[1]["accuracy_held_out"]) >= 0.98
    assert (logits.argmax(axis=1) == labels[some]).mean() >= 0.98
    ranges = nn.Ranges(json.loads(model.metadata["ranges"])).expect_for(model)
    assert max(ranges.values()) < 15
    assert nn.check(model, ranges, inputs[some]) == []


def test_polynomial_relus_keep_the_classes(model, held_out):
    inputs = held_out[0][:60]
    ranges = json.loads(model.metadata["ranges"])
    relus = {name: lambda x, b=bound: minimax_relu(x, 13, b) for name, bound in ranges.items()}
    exact, found = model.forward(inputs), model.forward(inputs, relus)
    assert np.abs(found - exact).max() < 2.0**-8
    assert np.array_equal(found.argmax(axis=1), exact.argmax(axis=1))
