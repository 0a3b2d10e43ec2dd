# SPDX-License-Identifier: Apache-2.0
"""tools/train_digits.py: gradients against finite differences, calibration keeps decisions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("safetensors")

import train_digits as tool


def test_gradients_match_finite_differences() -> None:
    rng = np.random.default_rng(1)
    p = tool.initial_parameters(rng)
    images = rng.random((4, 8, 8))
    targets = np.eye(10)[[3, 1, 4, 1]]
    keep = (rng.random((4, tool.HIDDEN)) >= 0.2) / 0.8
    _, gradients = tool.loss_and_gradients(p, images, targets, keep)
    for name, values in p.items():
        index = tuple(rng.integers(0, size) for size in values.shape)
        losses = []
        for change in (1e-5, -2e-5):
            values[index] += change
            losses.append(tool.loss_and_gradients(p, images, targets, keep)[0])
        values[index] += 1e-5
        assert gradients[name][index] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-5, abs=1e-8)


def test_calibration_scales_logits_only() -> None:
    rng = np.random.default_rng(2)
    p = tool.initial_parameters(rng)
    p["output_bias"] = rng.normal(size=10)
    images = rng.random((20, 8, 8))
    calibrated = tool.calibrate(p, images)
    before, after = tool.forward(p, images)[2], tool.forward(calibrated, images)[2]
    ratio = np.abs(after).max() / np.abs(before).max()
    np.testing.assert_allclose(after, before * ratio, atol=1e-10)
    z1, z2, logits = tool.forward(calibrated, tool.all_shifts(images))
    assert np.abs(z1).max() <= tool.PRE_ACTIVATION_LIMIT + 1e-12
    assert np.abs(z2).max() == pytest.approx(tool.PRE_ACTIVATION_LIMIT)
    assert np.abs(logits).max() == pytest.approx(tool.LOGIT_LIMIT)


def test_training_repeats_and_learns() -> None:
    images, labels = tool.load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)[:640] / 16.0
    settings = tool.Settings(seed=11, epochs=40)
    first = tool.train(images, labels[:640], settings)
    again = tool.train(images, labels[:640], settings)
    for name, values in first.items():
        np.testing.assert_array_equal(values, again[name])
    assert tool.accuracy(first, images, labels[:640]) > 0.8


def test_split_is_disjoint_and_stratified() -> None:
    _, labels = tool.load_digits(return_X_y=True)
    train_part, held_out = tool.split(labels)
    assert len(held_out) == tool.HELD_OUT
    assert len(np.union1d(train_part, held_out)) == len(labels)
    assert np.bincount(labels[held_out], minlength=10).min() >= 30
