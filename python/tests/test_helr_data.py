"""Data of the HELR workload: IDX files are input from outside."""

import contextlib
import gzip
import struct
from pathlib import Path

import halocline as hc
import numpy as np
import pytest
from halocline.workloads.helr.data import load_data, read_idx
from halocline.workloads.helr.model import exact_sigmoid, fit_sigmoid, train
from hypothesis import given
from hypothesis import strategies as st

MNIST = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mnist"
IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(array, kind=8):
    """An IDX file of an array."""
    shape = b"".join(struct.pack(">I", each) for each in array.shape)
    return bytes((0, 0, kind, array.ndim)) + shape + array.tobytes()


@pytest.fixture
def folder(tmp_path):
    """40 images whose pixels are their number, labelled 3 and 8 in turn, two of other digits among them."""
    images = np.repeat(np.arange(40, dtype=np.uint8), 28 * 28).reshape(40, 28, 28)
    labels = np.where(np.arange(40) % 2, 8, 3).astype(np.uint8)
    labels[:2] = 5, 1
    (tmp_path / IMAGES).write_bytes(idx(images))
    (tmp_path / f"{LABELS}.gz").write_bytes(gzip.compress(idx(labels)))
    return tmp_path


def test_threes_and_eights_are_split(folder):
    data = load_data(folder, 30, seed=1)
    assert data.train.shape == (30, 197)
    assert data.held_out.shape == (8, 197)
    assert data.features == 196
    both = np.vstack([data.train, data.held_out])
    assert (both[:, -1] == 1).all()
    numbers = np.rint(both[:, :196] * 255)
    assert (numbers == numbers[:, :1]).all()  # means of equal pixels
    assert sorted(numbers[:, 0]) == list(range(2, 40))
    labels = np.concatenate([data.train_labels, data.held_out_labels])
    assert (labels == np.where(numbers[:, 0] % 2, 1, -1)).all()
    assert (load_data(folder, 30, seed=1).train == data.train).all()
    assert not (load_data(folder, 30, seed=2).train == data.train).all()
    assert (data.signed == data.train * data.train_labels[:, None]).all()


def test_means_of_four_pixels(folder):
    images = np.random.default_rng(3).integers(0, 256, (40, 28, 28), dtype=np.uint8)
    (folder / IMAGES).write_bytes(idx(images))
    data = load_data(folder, 37, seed=0)
    corner = images[:, :2, 26:].mean(axis=(1, 2)) / 255
    assert np.isin(np.round(data.train[:, 13], 12), np.round(corner, 12)).all()


@pytest.mark.parametrize("batch", [0, 38, -1])
def test_some_samples_must_be_held_out(folder, batch):
    with pytest.raises(hc.InvalidArgument, match=r"38 images of 3 and 8.*expected 1 to 37"):
        load_data(folder, batch, seed=0)


def test_default_batch_needs_more_images(folder):
    with pytest.raises(hc.InvalidArgument, match="1024 samples"):
        load_data(folder, None, seed=0)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(hc.IoError, match=f"no '{IMAGES}'"):
        load_data(tmp_path, None, seed=0)
    with pytest.raises(hc.IoError, match="cannot read"):
        read_idx(tmp_path, 1)


def test_bad_sets(folder):
    (folder / IMAGES).write_bytes(idx(np.zeros((40, 27, 28), np.uint8)))
    with pytest.raises(hc.CorruptData, match="27 by 28 pixels, expected 28 by 28"):
        load_data(folder, 3, seed=0)
    (folder / IMAGES).write_bytes(idx(np.zeros((39, 28, 28), np.uint8)))
    with pytest.raises(hc.CorruptData, match=r"39 images, but .* 40 labels"):
        load_data(folder, 3, seed=0)
    (folder / IMAGES).write_bytes(idx(np.zeros((40, 28, 28), np.uint8)))
    (folder / f"{LABELS}.gz").write_bytes(gzip.compress(idx(np.full(40, 11, np.uint8))))
    with pytest.raises(hc.CorruptData, match="label 11, expected 0 to 9"):
        load_data(folder, 3, seed=0)


GOOD = idx(np.arange(12, dtype=np.uint8).reshape(3, 4))
BAD = {
    "nothing": (b"", "begins with nothing"),
    "another kind": (idx(np.zeros((3, 4), np.float32), kind=13), "begins with 00000d02"),
    "other dimensions": (idx(np.zeros(3, np.uint8)), "expected 00000802"),
    "short header": (GOOD[:9], "ends within its header"),
    "too few bytes": (GOOD[:-1], "has 11 bytes"),
    "too many bytes": (GOOD + b"\0", "has more bytes"),
    "too large": (bytes((0, 0, 8, 2)) + struct.pack(">II", 2**31, 2**31), "expected at most"),
    "gzip cut off": (gzip.compress(GOOD)[:-9], "damaged gzip data"),
    "gzip checksum": (gzip.compress(GOOD)[:-6] + b"\0\0\0\0\0\0", "damaged gzip data"),
    "gzip content": (gzip.compress(GOOD[:-1]), "has 11 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(hc.CorruptData, match=message):
        read_idx(tmp_path / "f", 2)


def test_a_bomb_is_not_unpacked(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(GOOD + bytes(1 << 28)))
    with pytest.raises(hc.CorruptData, match="has more bytes"):
        read_idx(tmp_path / "f", 2)


@given(data=st.data())
def test_mutated_files_are_refused_or_read(tmp_path_factory, data):
    packed = data.draw(st.booleans())
    content = bytearray(gzip.compress(GOOD) if packed else GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    path = tmp_path_factory.mktemp("idx") / "f"
    path.write_bytes(content)
    with contextlib.suppress(hc.CorruptData):
        assert read_idx(path, 2).ndim == 2


def test_digits_when_none_are_given():
    data = load_data(None, None, seed=0)
    assert data.train.shape == (256, 65)
    assert data.held_out.shape == (101, 65)
    assert 0 <= data.train.min() <= data.train.max() <= 1


@pytest.mark.skipif(not MNIST.is_dir(), reason="no MNIST files")
def test_mnist_is_learned_in_the_clear():
    data = load_data(MNIST, None, seed=0)
    assert len(data.train) == 1024
    assert len(data.held_out) == 960
    plain = train(data.signed, 32, 1.0, fit_sigmoid(16.0))
    exact = train(data.signed, 32, 1.0, exact_sigmoid)
    found = [each.accuracy(data.held_out, data.held_out_labels) for each in (plain, exact)]
    assert found[0] > 0.95
    assert abs(found[0] - found[1]) < 0.005
    assert plain.largest_product < 16
