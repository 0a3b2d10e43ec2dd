# SPDX-License-Identifier: Apache-2.0
"""ResNet-20 from tensors of the usual names: structure, wrong files, and the accuracy on real images."""

from pathlib import Path

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn.resnet20 import convolutions
from halocline.nn.tensors import write_tensors

CIFAR10 = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "cifar10"


@pytest.fixture(scope="module")
def weights():
    """Random weights of the right shapes."""
    rng = np.random.default_rng(5)
    made = {"linear.weight": rng.normal(size=(10, 64)), "linear.bias": rng.normal(size=10)}
    for conv, norm, inputs, outputs, _ in convolutions():
        made[f"{conv}.weight"] = rng.normal(size=(outputs, inputs or 3, 3, 3)) / np.sqrt(9 * (inputs or 3))
        for name in ("weight", "bias", "running_mean", "running_var"):
            made[f"{norm}.{name}"] = rng.random(outputs)
    return made


def test_structure(weights):
    model = nn.resnet20(weights, {"normalize_mean": "0,0,0", "normalize_std": "1,1,1"}, alpha=12)
    kinds = [type(node.layer) for node in model.nodes]
    assert kinds.count(nn.Conv2d) == 19
    assert kinds.count(nn.ReLU) == len(model.activation_nodes) == 19
    assert kinds.count(nn.Shortcut) == 2
    assert kinds.count(nn.Add) == 9
    assert model.input_shape == (3, 32, 32)
    assert model.shapes["layer2.0.add"] == (32, 16, 16)
    assert model.shapes["layer3.2.relu2"] == (64, 8, 8)
    assert model.output_shape == (10,)
    assert model.node("layer3.0.add").inputs == ("layer3.0.conv2", "layer3.0.shortcut")
    assert model.node("layer3.1.add").inputs == ("layer3.1.conv2", "layer3.0.relu2")
    assert model.node("relu").layer.alpha == 12


def test_batch_norm_and_shortcut(weights):
    """One block by hand."""
    model = nn.resnet20(weights)
    values = model.activations(np.random.default_rng(1).normal(size=(1, 3, 32, 32)))

    def norm(x, name):
        gamma, beta, mean, variance = (
            weights[f"{name}.{each}"].reshape(-1, 1, 1)
            for each in ("weight", "bias", "running_mean", "running_var")
        )
        return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta

    x = values["layer1.2.relu2"]
    first = nn.Conv2d(weights["layer2.0.conv1.weight"], stride=2).forward(x)
    first = np.maximum(norm(first, "layer2.0.bn1"), 0)
    second = norm(nn.Conv2d(weights["layer2.0.conv2.weight"]).forward(first), "layer2.0.bn2")
    second[:, 8:24] += x[:, :, ::2, ::2]
    assert np.allclose(values["layer2.0.relu2"], np.maximum(second, 0))


def test_names_of_other_trainers(weights, tmp_path):
    expected = nn.resnet20(weights).nodes[0].layer.weight
    parallel = {f"module.{name}": each for name, each in weights.items()}
    parallel["module.bn1.num_batches_tracked"] = np.array(3)
    write_tensors(parallel, tmp_path / "weights.safetensors", {"source": "here"})
    model = nn.resnet20(tmp_path / "weights.safetensors")
    assert np.array_equal(model.nodes[0].layer.weight, expected)
    assert model.metadata == {"source": "here"}
    grey = weights | {"conv1.weight": np.ones((16, 1, 3, 3)), "linear.weight": np.ones((7, 64))}
    model = nn.resnet20(grey | {"linear.bias": np.ones(7)})
    assert (model.input_shape, model.output_shape) == ((1, 32, 32), (7,))


def test_wrong_weights(weights, tmp_path):
    for tensors, match in (
        ({}, "tensors missing: .* and "),
        ({k: v for k, v in weights.items() if k != "layer2.1.bn2.bias"}, "missing: 'layer2.1.bn2.bias'"),
        (weights | {"layer4.0.conv1.weight": np.ones(3)}, "no layer uses: 'layer4.0.conv1.weight'"),
        (
            weights | {"layer1.0.bn1.bias": np.ones(17)},
            r"'layer1.0.bn1.bias' has shape \(17,\), expected \(16,\)",
        ),
        (weights | {"conv1.weight": np.ones((16, 3, 5, 5))}, r"expected \(16, 3, 3, 3\)"),
        (weights | {"linear.weight": np.ones(10)}, "'linear.weight' has shape"),
        (weights | {"bn1.running_var": np.full(16, -1.0)}, "running_var"),
        (weights | {"conv1.weight": np.full((16, 3, 3, 3), np.nan)}, "finite"),
    ):
        with pytest.raises(hc.CorruptData, match=match):
            nn.resnet20(tensors)
    with pytest.raises(hc.IoError, match="No such file"):
        nn.resnet20(tmp_path / "nothing.safetensors")
    (tmp_path / "text.safetensors").write_text("no weights")
    with pytest.raises(hc.CorruptData, match=r"text\.safetensors"):
        nn.resnet20(tmp_path / "text.safetensors")


@pytest.mark.skipif(not CIFAR10.is_dir(), reason="no CIFAR-10 weights and images")
def test_accuracy_on_cifar10():
    model = nn.resnet20(CIFAR10 / "resnet20.safetensors")
    found = nn.load_images(CIFAR10 / "test", model.input_shape, nn.CIFAR10_CLASSES)
    assert found.images.shape == (100, 3, 32, 32)
    assert found.notices == ()
    inputs = model.prepare(found.images)
    assert (model.forward(inputs).argmax(axis=1) == found.labels).sum() == 82
    largest = nn.calibrate(model, inputs[:50], margin=1.0)
    assert 15 < max(largest.values()) < 18
    assert nn.check(model, nn.calibrate(model, inputs[:50]), inputs[0]) == []
