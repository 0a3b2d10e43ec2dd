# SPDX-License-Identifier: Apache-2.0
"""Ranges of activations, and image files as inputs."""

import json
import warnings

import halocline as hc
import halocline.nn as nn
import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def model():
    """Activations get x and then 3 relu(x) - 1."""
    eye = np.eye(2)
    layers = (nn.Linear(eye), nn.ReLU(), nn.Linear(3 * eye, [-1, -1]), nn.ReLU())
    names = ("input", "first", "relu1", "second", "relu2")
    return nn.Model(
        (2,),
        tuple(nn.Node(n, each, (b,)) for b, n, each in zip(names, names[1:], layers, strict=False)),
    )


def test_calibration(model):
    samples = np.zeros((100, 2))
    samples[70] = [-2.0, 1.5]
    ranges = nn.calibrate(model, samples, margin=2.0, provenance={"source": "test"})
    assert dict(ranges) == {"relu1": 4.0, "relu2": 7.0}
    assert (ranges["relu1"], len(ranges), ranges.margin) == (4.0, 2, 2.0)
    assert ranges.provenance == {"samples": "100", "source": "test"}
    assert ranges.expect_for(model) is ranges
    dead = nn.calibrate(model, np.zeros((1, 2)))
    assert dead["relu2"] == 1.5
    assert 0 < dead["relu1"] < 1e-2  # nothing there, but still a bound to divide by
    far = nn.calibrate(model, np.array([[-2e6, 1.5e6]]), margin=1.0)
    assert dict(far) == {"relu1": 2e6, "relu2": 4.5e6 - 1}


def test_small_values_are_bounded_by_what_comes_before_them():
    layers = (nn.Affine(2.0**-30), nn.ReLU(), nn.Affine(2.0**50), nn.ReLU(), nn.Affine(2.0**-40), nn.ReLU())
    names = ("input", "a", "relu1", "b", "relu2", "c", "relu3")
    pairs = zip(names[1:], layers, names, strict=False)
    model = nn.Model((1,), tuple(nn.Node(name, layer, (before,)) for name, layer, before in pairs))
    # relu1 gets 2^-30 of the input, which noise would fill; nothing follows from relu2 behind it.
    assert dict(nn.calibrate(model, [[1.0]], margin=1.0)) == {
        "relu1": 2.0**-20,
        "relu2": 2.0**20,
        "relu3": 2.0**10,
    }


def test_inputs_out_of_range_are_warned_of(model):
    ranges = nn.Ranges({"relu1": 2.0, "relu2": 4.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.check(model, ranges, np.array([1.0, -2.0])) == []
    with pytest.warns(hc.ActivationRange, match=r"relu2 \(5, bound 4\)"):
        found = nn.check(model, ranges, np.array([[0.0, 0.0], [2.0, 0.5]]))
    assert found == [("relu2", 5.0, 4.0)]
    with pytest.warns(hc.ActivationRange, match="relu2 .*, relu1 "):
        found = nn.check(model, ranges, np.array([3.0, 0.0]))
    assert [each.layer for each in found] == ["relu2", "relu1"]


def test_ranges_as_files(model, tmp_path):
    ranges = nn.Ranges({"relu1": 2.0, "relu2": 4.0}, 1.5, {"source": "test"})
    path = tmp_path / "ranges.json"
    ranges.save(path)
    again = nn.Ranges.load(path)
    assert (dict(again), again.margin, again.provenance) == (dict(ranges), 1.5, ranges.provenance)
    assert dict(nn.Ranges.from_json(json.dumps(ranges.to_json()))) == dict(ranges)
    good = ranges.to_json()
    for change in (
        {"format": "other"},
        {"version": 2},
        {"margin": "much"},
        {"margin": None},
        {"bounds": [1]},
        {"bounds": {"relu1": 0}},
        {"bounds": {"relu1": 1e999}},
        {"bounds": {"relu1": [1]}},
        {"bounds": {"relu1": 10**400}},
        {"provenance": {"a": 1}},
        {"extra": 1},
    ):
        with pytest.raises(hc.CorruptData, match="ranges"):
            nn.Ranges.from_json(good | change)
    path.write_text('{"format": "halocline-ranges"}')
    with pytest.raises(hc.CorruptData, match=r"ranges\.json"):
        nn.Ranges.load(path)
    with pytest.raises(hc.IoError, match="nothing"):
        nn.Ranges.load(tmp_path / "nothing")


def test_bad_ranges(model):
    with pytest.raises(hc.InvalidArgument, match="no bound for 'relu2'"):
        nn.check(model, nn.Ranges({"relu1": 1.0}), np.zeros(2))
    with pytest.raises(hc.InvalidArgument, match="no activation 'relu3'"):
        nn.Ranges({"relu1": 1.0, "relu2": 1.0, "relu3": 1.0}).expect_for(model)
    with pytest.raises(hc.InvalidArgument, match="margin"):
        nn.calibrate(model, np.zeros((1, 2)), margin=0.5)
    with pytest.raises(hc.InvalidArgument, match="at least one"):
        nn.calibrate(model, np.zeros((0, 2)))
    with pytest.raises(hc.InvalidArgument, match="newaxis"):
        nn.calibrate(model, np.zeros(2))
    with pytest.raises(hc.WrongType, match="Ranges"):
        nn.check(model, {"relu1": 1.0, "relu2": 1.0}, np.zeros(2))


def picture(path, size=(32, 32), mode="RGB", value=128):
    path.parent.mkdir(exist_ok=True)
    Image.new(mode, size, (value,) * len(Image.new(mode, (1, 1)).getbands())).save(path)


def test_images_of_a_folder(tmp_path):
    picture(tmp_path / "dog" / "1.png", value=255)
    picture(tmp_path / "cat" / "2.png", value=0)
    picture(tmp_path / "cat" / "1.PNG", value=51)
    found = nn.load_images(tmp_path)
    assert found.names == ("cat/1.PNG", "cat/2.png", "dog/1.png")
    assert found.labels.tolist() == [0, 0, 1]
    assert found.classes == ("cat", "dog")
    assert np.allclose(found.images[:, 2, 31, 31], [0.2, 0, 1])
    assert found.notices == ()
    assert nn.load_images(tmp_path, classes=nn.CIFAR10_CLASSES).labels.tolist() == [3, 3, 5]
    one = nn.load_images(tmp_path / "dog" / "1.png", classes=nn.CIFAR10_CLASSES)
    assert (one.names, one.labels.tolist()) == (("1.png",), [5])
    assert nn.load_images(tmp_path / "dog").labels is None
    (tmp_path / "dog" / "notes.txt").write_text("a dog")
    picture(tmp_path / "mouse" / "1.png")
    found = nn.load_images(tmp_path, classes=nn.CIFAR10_CLASSES)
    assert found.labels is None
    assert found.notices == ("dog/notes.txt: left out, no image", "no labels: folders mouse name no class")


def test_images_are_made_to_fit_with_a_notice(tmp_path):
    for name, size, mode in (("a", (64, 48), "RGB"), ("b", (32, 32), "L"), ("c", (8, 9), "RGBA")):
        picture(tmp_path / f"{name}.png", size, mode)
    found = nn.load_images(tmp_path)
    assert found.images.shape == (3, 3, 32, 32)
    assert np.allclose(found.images, 128 / 255)
    assert found.notices == (
        "a.png: resized from 64 x 48 to 32 x 32",
        "b.png: converted from mode L to RGB",
        "c.png: converted from mode RGBA to RGB, resized from 8 x 9 to 32 x 32",
    )
    grey = nn.load_images(tmp_path / "b.png", (1, 8, 8))
    assert (grey.images.shape, len(grey.notices)) == ((1, 1, 8, 8), 1)
    lying = Image.new("RGB", (32, 32))
    lying.putpixel((0, 0), (255, 255, 255))
    exif = lying.getexif()
    exif[0x0112] = 3  # taken upside down
    lying.save(tmp_path / "turned.png", exif=exif)
    assert nn.load_images(tmp_path / "turned.png").images[0, 0, 31, 31] == 1


def test_bad_images(tmp_path, monkeypatch):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(hc.CorruptData, match=r"text\.png"):
        nn.load_images(tmp_path)
    picture(tmp_path / "cut.png", (200, 200))
    data = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(hc.CorruptData, match=r"cut\.png"):
        nn.load_images(tmp_path / "cut.png")
    Image.new("I;16", (32, 32)).save(tmp_path / "deep.png")
    with pytest.raises(hc.CorruptData, match=r"deep\.png: an image of mode I;16; supported"):
        nn.load_images(tmp_path / "deep.png")
    with pytest.raises(hc.IoError, match="no such file or folder"):
        nn.load_images(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(hc.InvalidArgument, match="0 images"):
        nn.load_images(tmp_path / "empty")
    with pytest.raises(hc.InvalidArgument, match="shape"):
        nn.load_images(tmp_path, (2, 32, 32))
    picture(tmp_path / "large.png")
    monkeypatch.setattr("halocline.nn.images.MAX_PIXELS", 1000)
    with pytest.raises(hc.CorruptData, match=r"large\.png: 32 x 32 pixels"):
        nn.load_images(tmp_path / "large.png")


def test_ranges_in_metadata(model):
    """They come from files of weights, so anything may be in them."""

    def with_metadata(**texts):
        return nn.Model(model.input_shape, model.nodes, model.output, texts)

    assert nn.Ranges.stored_in(with_metadata()) is None
    names = [node.name for node in model.activation_nodes]
    good = json.dumps(dict.fromkeys(names, 2.5))
    found = nn.Ranges.stored_in(with_metadata(ranges=good, ranges_margin="1.5"))
    assert dict(found) == dict.fromkeys(names, 2.5) and found.margin == 1.5
    for bad in (
        "",
        "[1]",
        "{",
        '{"other": 1}',
        json.dumps(dict.fromkeys(names, -1)),
        '{"a": NaN}',
        "[" * 9999,
    ):
        with pytest.raises(hc.CorruptData, match="metadata of the weights"):
            nn.Ranges.stored_in(with_metadata(ranges=bad))
    for bad in ("x", "-1", "[1]", "null"):
        with pytest.raises(hc.CorruptData, match="metadata of the weights"):
            nn.Ranges.stored_in(with_metadata(ranges=good, ranges_margin=bad))
