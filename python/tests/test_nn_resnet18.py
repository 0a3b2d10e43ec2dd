# SPDX-License-Identifier: Apache-2.0
"""ResNet-18: its graph, weights by name, and how its tensors are spread over ciphertexts."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn.resnet18 import random_weights
from halocline.nn.tensors import write_tensors


@pytest.fixture(scope="module")
def tensors():
    return random_weights(3, classes=7)


def test_shapes_and_names(tensors):
    model = nn.resnet18(tensors)
    assert (model.input_shape, model.output_shape) == ((3, 64, 64), (7,))
    sizes = [node.layer.weight.size for node in model.nodes if hasattr(node.layer, "weight")]
    assert sum(sizes) == 11_159_232 + 512 * 7
    assert [model.shapes[f"layer{k}.1.relu2"] for k in (1, 2, 3, 4)] == [
        (64, 64, 64),
        (128, 32, 32),
        (256, 16, 16),
        (512, 8, 8),
    ]
    assert nn.resnet18(side=32, classes=10).input_shape == (3, 32, 32)


def test_the_first_blocks_are_those_of_the_paper(tensors, rng):
    model = nn.resnet18(tensors, side=8)
    x = rng.normal(size=(2, 3, 8, 8))
    values = {}
    model.forward(x, {node.name: _kept(values, node.name) for node in model.activation_nodes})
    named = {node.name: node.layer for node in model.nodes}
    first = np.maximum(named["conv1"].forward(x), 0)
    inner = np.maximum(named["layer1.0.conv1"].forward(first), 0)
    np.testing.assert_allclose(values["layer1.0.relu2"], named["layer1.0.conv2"].forward(inner) + first)
    before = np.maximum(values["layer1.1.relu2"], 0)
    inner = np.maximum(named["layer2.0.conv1"].forward(before), 0)
    short = np.einsum(
        "oi,niyx->noyx", tensors["layer2.0.downsample.0.weight"][:, :, 0, 0], before[:, :, ::2, ::2]
    )
    expected = named["layer2.0.conv2"].forward(inner) + short / np.sqrt(1 + 1e-5)
    np.testing.assert_allclose(values["layer2.0.relu2"], expected, atol=1e-9)


def _kept(values, name):
    def relu(x):
        values[name] = x
        return np.maximum(x, 0)

    return relu


def test_random_weights_keep_values_in_bounds(rng):
    model = nn.resnet18(classes=5, side=16)
    ranges = nn.calibrate(model, rng.normal(size=(1, 3, 16, 16)), margin=1.0)
    assert min(ranges.values()) > 1
    assert max(ranges.values()) < 40
    first, again, other = (random_weights(seed)["conv1.weight"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_names_of_other_trainers(tensors, tmp_path):
    other = {
        "module." + name.replace("downsample", "shortcut").replace("fc.", "linear."): each
        for name, each in tensors.items()
    }
    other["module.bn1.num_batches_tracked"] = np.array(3)
    write_tensors(other, tmp_path / "weights.safetensors", {"source": "here"})
    model = nn.resnet18(tmp_path / "weights.safetensors")
    expected = nn.resnet18(tensors)
    assert model.metadata == {"source": "here"}
    assert np.array_equal(model.nodes[-1].layer.weight, expected.nodes[-1].layer.weight)


def test_wrong_weights(tensors):
    for given, match in (
        ({}, "tensors missing: .* and "),
        (tensors | {"layer5.0.conv1.weight": np.ones(3)}, "no layer uses: 'layer5.0.conv1.weight'"),
        (
            tensors | {"conv1.weight": np.ones((64, 3, 7, 7))},
            r"expected \(64, 3, 3, 3\) for ResNet-18 on small",
        ),
        (tensors | {"fc.weight": np.full((7, 512), np.nan)}, "finite"),
    ):
        with pytest.raises(hc.CorruptData, match=match):
            nn.resnet18(given)
    with pytest.raises(hc.InvalidArgument, match="side"):
        nn.resnet18(tensors, side=4)


def test_its_tensors_take_up_to_eight_ciphertexts(tensors):
    model = nn.resnet18(tensors)
    ranges = nn.Ranges({node.name: 10.0 for node in model.activation_nodes})
    compiled = nn.compile(model, hc.Params.preset("n16-boot"), ranges)
    layouts = {each.name: each.stage.layout for each in compiled.program.placed}
    assert [layouts[f"layer{k}.0.relu1"].parts for k in (1, 2, 3, 4)] == [8, 4, 2, 1]
    assert all(each.is_full for name, each in layouts.items() if "relu" in name)
    assert layouts["fc"].slots == 8
    schedule = compiled.program.schedule
    assert schedule.bootstraps == 17
    assert schedule.fresh_level == 3
