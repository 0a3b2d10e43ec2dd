# SPDX-License-Identifier: Apache-2.0
"""Layers beyond convolution and ReLU: in the clear against their definitions, as matrices, and encrypted."""

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.nn.approximation import approximate
from halocline.nn.lowering import matrix_of
from hypothesis import given
from hypothesis import strategies as st

NOISE = 2.0**-12
"""What encryption may add to numbers in [-1, 1] at the scales of the test presets, over few levels."""


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def chain(shape, *layers):
    """A model of layers in a row."""
    names = ["input", *(f"layer{i}" for i in range(len(layers)))]
    nodes = [nn.Node(names[i + 1], each, (names[i],)) for i, each in enumerate(layers)]
    return nn.Model(shape, tuple(nodes))


def encrypted(model, samples, preset, margin=1.1):
    """Encrypted and clear result of the first sample, and the result with polynomials but without noise."""
    params = hc.Params.preset(preset, allow_insecure=True)
    compiled = nn.compile(model, params, nn.calibrate(model, samples, margin))
    client = hc.Client(params)
    engine = hc.Engine(params, client.evaluation_keys(plan=compiled.key_plan))
    result = compiled.decrypt(client, compiled.run(engine, compiled.encrypt(client, samples[0])))
    return result, model.forward(samples[:1])[0], compiled.simulate(samples[:1])[0]


def loops(weight, bias, x, stride, padding, dilation, groups):
    """A convolution by its definition; padding (top, bottom, left, right)."""
    outputs, per_group, rows, columns = weight.shape
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right)))
    down = (x.shape[1] - (rows - 1) * dilation[0] - 1) // stride[0] + 1
    across = (x.shape[2] - (columns - 1) * dilation[1] - 1) // stride[1] + 1
    made = np.zeros((outputs, down, across))
    for o, y, z in np.ndindex(*made.shape):
        first = o // (outputs // groups) * per_group
        for i, dy, dx in np.ndindex(per_group, rows, columns):
            at = x[first + i, y * stride[0] + dy * dilation[0], z * stride[1] + dx * dilation[1]]
            made[o, y, z] += weight[o, i, dy, dx] * at
    return made + bias[:, None, None]


@pytest.mark.parametrize(
    ("kernel", "groups", "stride", "padding", "dilation"),
    [
        ((2, 2), 1, 2, 0, 1),
        ((4, 4), 2, (1, 2), (1, 2, 0, 3), 1),
        ((3, 3), 4, 1, 2, 2),
        ((1, 3), 1, (2, 1), (0, 1), (1, 2)),
        ((2, 3), 2, 1, (0, 1), 1),
    ],
)
def test_convolutions_of_every_kind(rng, kernel, groups, stride, padding, dilation):
    weight, bias = rng.normal(size=(8, 4 // groups, *kernel)), rng.normal(size=8)
    conv = nn.Conv2d(weight, bias, stride, padding, dilation, groups)
    x = rng.normal(size=(3, 4, 7, 9))
    around = (conv.pads[0][0], conv.pads[0][1], conv.pads[1][0], conv.pads[1][1])
    found = conv.forward(x)
    expected = [loops(weight, bias, each, conv.strides, around, conv.dilations, groups) for each in x]
    assert np.allclose(found, expected)
    matrix = matrix_of(conv, x.shape[1:]).dense()
    assert np.allclose(matrix @ x[0].ravel(), (found[0] - bias[:, None, None]).ravel())


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.Affine(2.0, 1.0), lambda x: 2 * x + 1),
        (nn.Affine(np.array([1.0, 0, 3]).reshape(3, 1, 1)), lambda x: x * [[[1]], [[0]], [[3]]]),
        (nn.Reshape((2, 3, 10)), lambda x: x.reshape(2, 3, 10)),
        (nn.Reshape((60,)), lambda x: x.reshape(60)),
        (nn.Permute((2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
        (nn.Slice((0, 1, 0), (2, 4, 5), (1, 2, 3)), lambda x: x[:2, 1:4:2, ::3]),
        (nn.Pad((1, 0, 2), (0, 1, 0)), lambda x: np.pad(x, ((1, 0), (0, 1), (2, 0)))),
        (nn.Pad((0, 1, 1), (0, 1, 1), "edge"), lambda x: np.pad(x, ((0, 0), (1, 1), (1, 1)), "edge")),
        (nn.Pad((0, 2, 2), (0, 2, 2), "reflect"), lambda x: np.pad(x, ((0, 0), (2, 2), (2, 2)), "reflect")),
        (nn.Upsample((2, 3)), lambda x: x.repeat(2, axis=1).repeat(3, axis=2)),
    ],
)
def test_linear_maps_and_their_matrices(rng, layer, expected):
    x = rng.normal(size=(2, 3, 4, 5))
    found = layer.forward(x)
    assert np.allclose(found, [expected(each) for each in x])
    assert layer.output_shape([(3, 4, 5)]) == found.shape[1:]
    constant = layer.forward(np.zeros((1, 3, 4, 5)))[0]
    assert np.allclose(matrix_of(layer, (3, 4, 5)).dense() @ x[0].ravel(), (found[0] - constant).ravel())


def test_bilinear_interpolation_keeps_straight_lines(rng):
    line = np.arange(6.0).reshape(1, 1, 6, 1) @ np.ones((1, 4))
    corners = nn.Upsample((2, 1), "bilinear", align_corners=True).forward(line)
    assert np.allclose(corners[0, 0, :, 0], np.linspace(0, 5, 12))
    centres = nn.Upsample(2, "bilinear").forward(line)[0, 0, :, 0]
    assert np.allclose(centres[1:-1], np.arange(10) / 2 + 0.25) and centres[0] == 0 and centres[-1] == 5
    layer = nn.Upsample(2, "bilinear")
    x = rng.normal(size=(1, 2, 3, 4))
    assert np.allclose(matrix_of(layer, (2, 3, 4)).dense() @ x.ravel(), layer.forward(x).ravel())


COMPOSITES = [
    (nn.MaxPool(2), lambda x: x.reshape(3, 2, 2, 3, 2).max(axis=(2, 4))),
    (nn.MaxPool(), lambda x: x.max(axis=(1, 2), keepdims=True)),
    (nn.MaxPool((1, 3), 1), lambda x: np.stack([x[:, :, i : i + 3].max(axis=2) for i in range(4)], axis=2)),
    (nn.PiecewiseLinear([0.0], [0.9], 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    (nn.PiecewiseLinear([-0.5, 0.5], [1.0, -1.0], 0.0, -0.5), lambda x: np.clip(x, -0.5, 0.5)),
    (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.ELU(0.7, 1.3, 1.1), lambda x: 1.1 * np.where(x > 0, x, 0.7 * np.expm1(1.3 * x))),
]


@pytest.mark.parametrize(("layer", "expected"), COMPOSITES)
def test_composite_layers_equal_what_they_become(rng, layer, expected):
    model = chain((3, 4, 6), layer)
    x = rng.normal(size=(4, 3, 4, 6)) * 3
    assert np.allclose(model.forward(x), [expected(each) for each in x])
    assert np.allclose(model.expanded.forward(x), model.forward(x), atol=1e-12)
    assert model.expanded.output == model.output and model.expanded.expanded is model.expanded
    ranges = nn.calibrate(model, x)
    assert set(ranges) == {node.name for node in model.expanded.activation_nodes}


def test_padding_of_maximum_pooling_is_never_the_largest(rng):
    x = rng.normal(size=(2, 2, 5, 5)) - 10
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    expected = [
        [padded[:, :, 2 * y : 2 * y + 3, 2 * z : 2 * z + 3].max((2, 3)) for z in range(3)] for y in range(3)
    ]
    model = chain((2, 5, 5), nn.MaxPool(3, 2, 1))
    assert np.array_equal(model.forward(x), np.array(expected).transpose(2, 3, 0, 1))
    assert np.allclose(model.expanded.forward(x), model.forward(x), atol=1e-12)


def two_inputs(layer):
    """A model that applies a layer to its input and to three times its input plus 1."""
    nodes = [nn.Node("other", nn.Affine(3.0, 1.0), ("input",)), nn.Node("out", layer, ("input", "other"))]
    return nn.Model((6,), tuple(nodes))


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.Multiply(), np.multiply),
        (nn.Multiply(balance=0.25), np.multiply),
        (nn.Maximum(), np.maximum),
    ],
)
def test_layers_of_two_inputs(rng, layer, expected):
    model, x = two_inputs(layer), rng.normal(size=(5, 6))
    assert np.allclose(model.forward(x), expected(x, 3 * x + 1))
    assert np.allclose(model.expanded.forward(x), model.forward(x), atol=1e-12)


SMOOTH = [
    nn.Sigmoid(),
    nn.Tanh(precision=16),
    nn.GELU(),
    nn.GELU("tanh", precision=20),
    nn.SiLU(),
    nn.Mish(),
    nn.Softplus(2.0),
    nn.Erf(),
    nn.Decay(),
    nn.Softsign(precision=8),
]


@pytest.mark.parametrize("layer", SMOOTH, ids=lambda each: type(each).__name__)
def test_smooth_activations_reach_their_precision(layer):
    for bound in (0.5, 6.0):
        made = approximate(layer, bound, "f")
        x = np.linspace(0 if layer.non_negative else -bound, bound, 10001)
        found = np.abs(made.clear(x) - layer.forward(x)).max()
        assert found <= 1.001 * made.error  # the error is looked for at other points
        assert made.error <= 2.0**-layer.precision * made.scale
        assert np.abs(made.clear(x)).max() <= 1.001 * made.scale


def test_smooth_functions_are_what_they_are_called():
    x = np.array([-2.0, 0.0, 1.5])
    assert np.allclose(nn.Sigmoid().forward(x), 1 / (1 + np.exp(-x)))
    assert np.allclose(nn.Softplus(2.0).forward(x), np.log1p(np.exp(2 * x)) / 2)
    assert np.allclose(nn.SiLU().forward(x), x / (1 + np.exp(-x)))
    assert np.allclose(nn.GELU().forward(x), [-0.04550026, 0, 1.39978920])
    assert np.allclose(nn.GELU().forward(x), nn.GELU("tanh").forward(x), atol=1e-3)
    assert np.allclose(nn.Mish().forward(x), x * np.tanh(np.log1p(np.exp(x))))
    assert nn.Step().forward(x).tolist() == [0, 0, 1]


def test_precision_that_no_degree_reaches_is_refused():
    with pytest.raises(hc.InvalidArgument, match=r"'f': Softsign to 25 bits .* reaches [0-9.]+"):
        approximate(nn.Softsign(precision=25), 50.0, "f")
    for make in (lambda: nn.Tanh(precision=0), lambda: nn.GELU("fast"), lambda: nn.Softplus(-1.0)):
        with pytest.raises(hc.InvalidArgument):
            make()


def test_arguments_are_checked():
    shape = [(3, 4, 5)]
    for make, match in (
        (lambda: nn.MaxPool(2, padding=2), "padding"),
        (lambda: nn.MaxPool(None, 2), "global"),
        (lambda: nn.MaxPool(5).output_shape(shape), "window of"),
        (lambda: nn.MaxPool(alpha=3), "alpha"),
        (lambda: nn.Affine(np.ones((2, 2))), "shape"),
        (lambda: nn.Affine(np.ones(5)).output_shape(shape), "Affine: scale"),
        (lambda: nn.Reshape((7,)).output_shape(shape), "60 values"),
        (lambda: nn.Permute((0, 0, 1)), "axes"),
        (lambda: nn.Slice((0,), (1,), (1,)).output_shape(shape), "axes"),
        (lambda: nn.Pad((0, 0, 9), (0, 0, 0), "reflect").output_shape(shape), "mirror"),
        (lambda: nn.Upsample(2, "cubic"), "bilinear"),
        (lambda: nn.Expand((3, 4, 6)).output_shape(shape), "become longer"),
        (lambda: nn.Multiply().output_shape([(3,), (4,)]), "equal shapes"),
        (lambda: nn.PiecewiseLinear([0.0], [1.0, 2.0]), "equally many"),
    ):
        with pytest.raises(hc.InvalidArgument, match=match):
            make()


def test_convolution_gelu_and_product_encrypted(rng):
    """Groups, dilation, a GELU, and the product of its result with a part of it, on nine levels."""
    model = nn.Model(
        (2, 6, 6),
        (
            nn.Node(
                "conv", nn.Conv2d(rng.normal(size=(4, 1, 2, 2)) / 2, None, 1, 0, 2, groups=2), ("input",)
            ),
            nn.Node("gelu", nn.GELU(precision=10), ("conv",)),
            nn.Node("gate", nn.Permute((0, 2, 1)), ("gelu",)),
            nn.Node("product", nn.Multiply(), ("gelu", "gate")),
            nn.Node("up", nn.Upsample(2), ("product",)),
            nn.Node("scaled", nn.Affine(2.0, 1.0), ("up",)),
        ),
    )
    found, clear, simulated = encrypted(model, rng.normal(size=(20, 2, 6, 6)), "test-n12-d14")
    assert found.shape == (4, 8, 8)
    # GELU is off by 2^-10 of its largest value, about 3, which products with values up to 3 double; times 2.
    assert np.abs(found - clear).max() < 2 * 2 * 3 * 3 * 2.0**-10 + 40 * NOISE
    assert np.abs(found - simulated).max() < 40 * NOISE  # results reach 20


def test_maximum_pooling_encrypted(rng):
    """One window of two rows and columns: two comparisons on bootstrapped levels."""
    model = chain((1, 4, 4), nn.MaxPool(2, alpha=8))
    found, clear, simulated = encrypted(model, rng.normal(size=(20, 1, 4, 4)), "test-n12-boot")
    # Each of two comparisons is off by the bound (about 6) times 2^-8 at most.
    assert np.abs(found - clear).max() < 2 * 6 * 2.0**-8
    assert np.abs(found - simulated).max() < 2.0**-6  # two bootstraps, whose precision is 2^-10 of the bound


LINEAR = [
    nn.Affine(2.0, np.ones((3, 1, 1))),
    nn.Expand((3, 4, 6)),
    nn.Pad((0, 1, 1), (0, 0, 2), "edge"),
    nn.Permute((1, 2, 0)),
    nn.Resample(np.ones((2, 4)), np.eye(6)),
    nn.Reshape((72,)),
    nn.Slice((0, 1, 0), (3, 4, 6), (1, 1, 2)),
    nn.Upsample((1, 2), "bilinear", True),
    nn.Conv2d(np.ones((3, 1, 2, 3)), None, (1, 2), (0, 1, 2, 0), (1, 2), 3),
    nn.Step(alpha=9),
    nn.Multiply(balance=2.0),
    nn.Maximum(alpha=7),
]


@pytest.mark.parametrize(
    "layer", [*LINEAR, *SMOOTH, *(each for each, _ in COMPOSITES)], ids=lambda each: type(each).__name__
)
def test_every_layer_survives_a_file(rng, tmp_path, layer):
    node = nn.Node("f", layer, ("input",) * layer.inputs)
    model = nn.Model((3, 4, 6), (node,))
    nn.save(model, tmp_path / "model.json")
    copy, x = nn.load(tmp_path / "model.json"), rng.normal(size=(2, 3, 4, 6))
    assert type(copy.node("f").layer) is type(layer)
    assert np.array_equal(copy.forward(x), model.forward(x))
    description, tensors = nn.to_description(model)
    assert description["version"] == 2
    with pytest.raises(hc.CorruptData, match=r"needs version 2|groups|padding|dilation|stride|unknown keys"):
        nn.from_description(description | {"version": 1}, tensors)


def test_layers_of_version_1_are_written_as_such():
    model = chain((3, 4, 6), nn.Conv2d(np.ones((2, 3, 3, 3)), stride=2), nn.ReLU(), nn.AvgPool())
    description, _ = nn.to_description(model)
    assert description["version"] == 1
    with pytest.raises(hc.CorruptData, match="expected 'halocline-model' 1 to 2"):
        nn.from_description(description | {"version": 3}, {})


def all_newer_layers():
    """A description with every type of version 2, and its tensors."""
    layers = [*LINEAR[:5], *LINEAR[6:9], *SMOOTH, *(each for each, _ in COMPOSITES), nn.Reshape((3, 4, 6))]
    nodes = [nn.Node(f"{index}", each, ("input",)) for index, each in enumerate(layers)]
    made, tensors = [], {}
    for node in nodes:
        description, arrays = nn.to_description(nn.Model((3, 4, 6), (node,)))
        made += description["layers"]
        tensors[node.name] = arrays
    return made, tensors


NEWER, TENSORS = all_newer_layers()
WRONG = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3),
    st.lists(st.one_of(st.integers(-3, 9), st.integers(), st.floats(), st.none()), max_size=5),
)  # fmt: skip


@given(st.sampled_from([(i, key) for i, each in enumerate(NEWER) for key in each]), WRONG, st.booleans())
def test_wrong_values_of_newer_layers_are_refused_or_make_a_model(place, value, remove):
    index, key = place
    layer = dict(NEWER[index])
    if remove:
        del layer[key]
    else:
        layer[key] = value
    description = {"format": "halocline-model", "version": 2, "input": [3, 4, 6], "layers": [layer]}
    try:
        model = nn.from_description(description, TENSORS[NEWER[index]["name"]])
    except hc.Error:
        return
    assert model.expanded.output_shape == model.output_shape
