# SPDX-License-Identifier: Apache-2.0
"""Models as JSON and safetensors: round trips, and files that are wrong in every way."""

import copy
import json
import math
import re
from pathlib import Path

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from halocline.base.files import parse_json
from halocline.nn.tensors import read_tensors, write_tensors
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

DESCRIPTION = {
    "format": "halocline-model",
    "version": 1,
    "input": [2, 6, 6],
    "metadata": {"normalize_mean": "0.5,0.5", "normalize_std": "0.25,0.5"},
    "layers": [
        {"name": "stem", "type": "conv2d", "bias": None, "batch_norm": "bn", "eps": 1e-3},
        {"name": "relu", "type": "relu", "alpha": 10},
        {"name": "conv", "type": "conv2d", "weight": "w", "stride": 2, "padding": 1},
        {"name": "short", "type": "shortcut", "inputs": ["relu"], "stride": 2, "channels": 5},
        {"name": "add", "type": "add", "inputs": ["conv", "short"]},
        {"name": "poly", "type": "polynomial", "coefficients": [0, 0.5, 0.25], "domain": [-3, 3]},
        {"name": "pool", "type": "avg_pool", "kernel": 2, "stride": 1},
        {"name": "all", "type": "avg_pool", "kernel": None},
        {"name": "flat", "type": "flatten"},
        {"name": "out", "type": "linear"},
    ],
    "output": "out",
}


def tensors():
    rng = np.random.default_rng(3)
    made = {
        "stem.weight": rng.normal(size=(3, 2, 3, 3)),
        "w": rng.normal(size=(5, 3, 3, 3)),
        "conv.bias": rng.normal(size=5),
        "out.weight": rng.normal(size=(4, 5)),
        "out.bias": rng.normal(size=4),
        "bn.num_batches_tracked": np.array(7),
    }
    made |= {f"bn.{name}": rng.random(3) for name in ("weight", "bias", "running_mean", "running_var")}
    return made


def test_description(rng):
    model, weights = nn.from_description(DESCRIPTION, tensors()), tensors()
    batch = rng.normal(size=(3, 2, 6, 6))
    norm = (weights[f"bn.{name}"] for name in ("weight", "bias", "running_mean", "running_var"))
    stem = nn.Conv2d(*nn.fold_batch_norm(weights["stem.weight"], None, *norm, 1e-3))
    values = model.activations(batch)
    assert np.allclose(values["stem"], stem.forward(batch))
    relu = np.maximum(values["stem"], 0)
    conv = nn.Conv2d(weights["w"], weights["conv.bias"], stride=2).forward(relu)
    total = conv + nn.Shortcut(2, 5).forward(relu)
    assert np.allclose(values["poly"], 0.5 * total + 0.25 * total**2)
    assert model.output_shape == (4,)
    assert model.node("relu").layer.alpha == 10
    assert np.allclose(model.prepare(batch)[:, 0], (batch[:, 0] - 0.5) / 0.25)


def test_files(rng, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(DESCRIPTION))
    write_tensors(tensors(), tmp_path / "model.safetensors", {})
    model = nn.load(path)
    batch = rng.normal(size=(3, 2, 6, 6))
    nn.save(model, tmp_path / "saved.json", tmp_path / "weights.bin")
    again = nn.load(str(tmp_path / "saved.json"), tmp_path / "weights.bin")
    assert np.array_equal(again.forward(batch), model.forward(batch))
    assert again.metadata == model.metadata
    assert nn.to_description(again)[0] == nn.to_description(model)[0]
    with pytest.raises(hc.IoError, match=r"saved\.safetensors"):
        nn.load(tmp_path / "saved.json")
    with pytest.raises(hc.IoError, match=r"nothing\.json"):
        nn.load(tmp_path / "nothing.json")
    with pytest.raises(hc.IoError, match="cannot write"):
        nn.save(model, tmp_path / "no" / "folder.json")
    for name in ("saved.json", "weights.bin"):  # truncated
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: len(data) // 2])
        with pytest.raises(hc.CorruptData, match=name):
            nn.load(tmp_path / "saved.json", tmp_path / "weights.bin")
        (tmp_path / name).write_bytes(data)
    (tmp_path / "saved.json").write_bytes(b"[" * (16 << 20) + b"[")
    with pytest.raises(hc.CorruptData, match="expected at most"):
        nn.load(tmp_path / "saved.json", tmp_path / "weights.bin")


def test_types_of_tensors(tmp_path, monkeypatch):
    path = tmp_path / "weights.safetensors"
    save_file({"a": np.ones(3, np.float16), "b": np.arange(2), "c": np.ones((), np.float32)}, path)
    found, metadata = read_tensors(path)
    assert {name: array.shape for name, array in found.items()} == {"a": (3,), "b": (2,), "c": ()}
    assert all(array.dtype == np.float64 for array in found.values())
    assert metadata == {}
    monkeypatch.setattr("halocline.nn.tensors.MAX_VALUES", 5)
    with pytest.raises(hc.CorruptData, match="more than 5 numbers"):
        read_tensors(path)
    save_file({"a": np.ones(3, bool)}, path)
    with pytest.raises(hc.CorruptData, match="'a' has type BOOL, supported are F16"):
        read_tensors(path)


@pytest.mark.parametrize("shape", [[0, 2**62], [0] + [1] * 64, [0] * 100, [0, 2**63 - 1, 2]])
def test_weights_of_shapes_that_no_array_has(tmp_path, shape):
    """Refused by their descriptions; an array of such a shape cannot be made."""
    text = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    (tmp_path / "w.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(hc.CorruptData, match=r"dimensions of up to|no safetensors file") as raised:
        read_tensors(tmp_path / "w.safetensors")
    assert len(str(raised.value)) < 400 + len(str(tmp_path))


def changed(change):
    made = copy.deepcopy(DESCRIPTION)
    change(made)
    return made


def layer(index, **fields):
    return lambda d: d["layers"][index].update(fields)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d.update(format="onnx"), "format 'onnx' 1, expected 'halocline-model' 1"),
        (lambda d: d.update(version=3), "expected 'halocline-model' 1 to 2"),
        (lambda d: d.update(version=True), "'version': got True, expected a whole number"),
        (lambda d: d.update(extra=1), "unknown keys 'extra'"),
        (lambda d: d.pop("layers"), "no 'layers'"),
        (lambda d: d.update(layers=[]), "0 layers"),
        (lambda d: d.update(layers={}), "'layers': got dict, expected a list"),
        (lambda d: d.update(input=[2, 6]), "input shape"),
        (lambda d: d.update(input=[2, 6, "6"]), "input shape"),
        (lambda d: d.update(input=[3, 6, 6]), "layer 'stem': Conv2d: input of 3 channels"),
        (lambda d: d.update(output="nothing"), "'nothing' is no layer"),
        (lambda d: d.update(metadata={"a": 1}), "metadata 'a'"),
        (lambda d: d["layers"].append(3), "layer 10: got 3, expected an object"),
        (lambda d: d["layers"].append({"type": "relu"}), "layer 10: no 'name'"),
        (
            lambda d: d["layers"].append({"name": "x", "type": "lstm"}),
            "'x': type 'lstm' is not supported.*conv2d",
        ),
        (layer(1, slope=0.1), "layer 'relu': .*unknown keys 'slope'"),
        (layer(1, alpha=10.0), "'alpha': got 10.0, expected a whole number"),
        (layer(1, alpha=99), "layer 'relu': ReLU: alpha"),
        (layer(2, stride=-1), "layer 'conv': Conv2d: stride"),
        (layer(2, stride=10**400), "layer 'conv': Conv2d: stride"),
        (layer(2, weight="out.weight"), "layer 'conv': Conv2d: weight: shape"),
        (layer(2, weight=7), "'weight': got 7, expected a text"),
        (layer(2, inputs=["later"]), "layer 'conv' takes 'later'"),
        (layer(2, inputs=[[]]), "layer 'conv'"),
        (layer(3, stride=1), "layer 'add': Add: inputs of shapes"),
        (layer(5, coefficients=[1]), "1 coefficients"),
        (layer(5, coefficients=[1, "2"]), "coefficient: got '2', expected a number"),
        (layer(5, coefficients=[1, 10**400]), "layer 'poly'"),
        (layer(5, domain=[1, 0]), "layer 'poly': polynomial: domain"),
        (layer(5, basis="legendre"), "layer 'poly': polynomial: basis"),
        (layer(6, kernel=7), "layer 'pool': AvgPool: a window of 7"),
        (layer(9, bias=None), "no layer uses: 'out.bias'"),
        (layer(9, weight="other"), "missing: 'other'; .*no layer uses: 'out.weight'"),
        (layer(9, batch_norm="bn2"), "missing: 'bn2.bias', .*'bn2.weight'"),
        (layer(0, eps=0), "layer 'stem': batch norm: eps"),
        (layer(0, name="input"), "name 'input'"),
    ],
)
def test_wrong_descriptions(change, match):
    with pytest.raises(hc.CorruptData, match=match):
        nn.from_description(changed(change), tensors())


def test_wrong_tensors():
    def without(name):
        return {key: each for key, each in tensors().items() if key != name}

    for given_tensors, match in (
        (without("w"), "tensors missing: 'w'"),
        (without("bn.running_var"), "missing: 'bn.running_var'"),
        (tensors() | {"more": np.ones(1)}, "no layer uses: 'more'"),
        (tensors() | {f"x{i}": np.ones(1) for i in range(20)}, "and 12 more"),
        (tensors() | {"out.bias": np.ones(3)}, "layer 'out': Linear: bias: 3 values"),
        (tensors() | {"bn.running_var": -np.ones(3)}, "layer 'stem': .*running_var"),
        (tensors() | {"w": np.full((5, 3, 3, 3), np.inf)}, "layer 'conv': .*finite"),
        (tensors() | {"w": None}, "'conv'|layer"),
    ):
        with pytest.raises(hc.Error, match=match):
            nn.from_description(DESCRIPTION, given_tensors)
    with pytest.raises(hc.CorruptData, match="expected an object"):
        nn.from_description([], {})


def test_weights_may_be_shared_but_not_without_end(monkeypatch):
    shared = changed(layer(9, weight="out.weight"))
    shared["layers"] += [
        {"name": f"more{i}", "type": "linear", "weight": "m", "bias": None} for i in range(3)
    ]
    shared["output"] = "more2"
    model = nn.from_description(shared, tensors() | {"m": np.eye(4) * 2})
    assert np.allclose(model.node("more1").layer.weight, 2 * np.eye(4))
    monkeypatch.setattr("halocline.nn.tensors.MAX_VALUES", 270)
    with pytest.raises(hc.CorruptData, match="more than 270 numbers in all layers"):
        nn.from_description(shared, tensors() | {"m": np.eye(4) * 2})


def test_json_is_strict():
    for text, match in (
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "1e999 is no finite number"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ("[" * 100_000, "no valid JSON"),
        ("1" * 10_000, "no valid JSON"),
        ("{", "no valid JSON"),
        (b"\xff\xfe", "no valid JSON"),
    ):
        with pytest.raises(hc.CorruptData, match=match):
            parse_json(text, "file")
    with pytest.raises(hc.CorruptData, match="got inf"):
        nn.from_description(changed(lambda d: d["layers"][0].update({"eps": math.inf})), tensors())


@pytest.mark.parametrize(
    ("name", "match"), [("a.onnx", "from_onnx"), ("a.PT", "from_torch"), ("a.pkl", "from_sklearn")]
)
def test_files_of_other_kinds_name_their_import(tmp_path, name, match):
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04 and more \x80")
    with pytest.raises(hc.CorruptData, match=rf"no valid JSON .*{match}"):
        nn.load(path)
    with pytest.raises(hc.CorruptData, match="save_file"):
        nn.resnet18(path)


def test_guide(tmp_path, monkeypatch, capsys):
    """The page for users runs as it stands there, with the description that it shows."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "networks.md").read_text()
    blocks = re.findall(r"^```(json|python)\n(.*?)^```", page, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    Path("model.json").write_text(next(block for kind, block in blocks if kind == "json"))
    names = {}
    with pytest.warns(hc.ActivationRange, match="relu1"):
        exec("\n".join(block for kind, block in blocks if kind == "python"), names)
    assert "(4, 8, 8) (10,)" in capsys.readouterr().out
    x = np.ones((1, 3, 16, 16))
    assert np.array_equal(nn.load("copy.json").forward(x), names["model"].forward(x))
    assert names["ranges"].provenance["source"] == "random images"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """Every place in a description."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


@given(st.sampled_from([path for path in places(DESCRIPTION) if path]), JSON, st.booleans())
def test_any_change_gives_a_model_or_an_error_of_ours(path, value, remove):
    made = copy.deepcopy(DESCRIPTION)
    at = made
    for key in path[:-1]:
        at = at[key]
    if remove:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    try:
        model = nn.from_description(made, tensors())
    except hc.CorruptData as error:
        assert str(error)
    else:
        assert np.isfinite(model.forward(np.ones((1, *model.input_shape)))).all()


@given(JSON)
def test_anything_else_is_refused(value):
    with pytest.raises(hc.CorruptData):
        nn.from_description(value, {})


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8), st.integers(0, 400))
def test_damaged_weights_are_tensors_or_an_error_of_ours(tmp_path_factory, changes, cut):
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    save_file({"a": np.ones((3, 4)), "b": np.ones(2, np.float32)}, path, {"key": "value"})
    data = bytearray(path.read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    path.write_bytes(data[: len(data) - cut % 3 * cut])
    try:
        found, _ = read_tensors(path)
    except hc.CorruptData as error:
        assert "weights.safetensors" in str(error)
    else:
        assert all(array.dtype == np.float64 for array in found.values())


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_an_error_of_ours(data):
    try:
        parse_json(data, "file")
    except hc.CorruptData as error:
        assert "file" in str(error)
