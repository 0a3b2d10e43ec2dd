# SPDX-License-Identifier: Apache-2.0
"""The digits network: shipped file, plain forward pass, a packed program on a mock ciphertext."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from digits_packed import BlockMatrices, PackedDigits
from halocline.workloads.digits import model as digits_model
from halocline.workloads.digits.model import forward_plain, pack_images, unpack_logits


class MockCiphertext:
    """Slots in the clear with the operators of a ciphertext; notes the rotations it was asked for."""

    def __init__(self, values: np.ndarray, steps: set[int] | None = None) -> None:
        self.values = values
        self.steps = set() if steps is None else steps

    def _of(self, values: np.ndarray) -> MockCiphertext:
        assert np.isfinite(values).all()
        return MockCiphertext(values, self.steps)

    @staticmethod
    def _plain(other: MockCiphertext | np.ndarray | float) -> np.ndarray | float:
        return other.values if isinstance(other, MockCiphertext) else other

    def __add__(self, other: MockCiphertext | np.ndarray | float) -> MockCiphertext:
        return self._of(self.values + self._plain(other))

    def __mul__(self, other: MockCiphertext | np.ndarray) -> MockCiphertext:
        return self._of(self.values * self._plain(other))

    def rotate(self, step: int) -> MockCiphertext:
        self.steps.add(step)
        return self._of(np.roll(self.values, -step))


@pytest.fixture(scope="module")
def packed() -> PackedDigits:
    return PackedDigits()


def random_images(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((count, 8, 8))


def loop_forward(image: np.ndarray, model: digits_model.DigitsModel) -> np.ndarray:
    """The network written as loops from its definition, one image."""
    activations = []
    for channel in range(model.channels):
        for y in range(8):
            for x in range(8):
                z = model.conv_bias[channel]
                for i in range(3):
                    for j in range(3):
                        if 0 <= y + i - 1 < 8 and 0 <= x + j - 1 < 8:
                            z += model.conv_weight[channel, i, j] * image[y + i - 1, x + j - 1]
                activations.append(z * z)
    z = model.hidden_weight @ np.array(activations) + model.hidden_bias
    return model.output_weight @ (z * z) + model.output_bias


def test_plain_forward_equals_its_definition() -> None:
    model = digits_model.default_model()
    images = random_images(3, seed=1)
    expected = np.stack([loop_forward(image, model) for image in images])
    np.testing.assert_allclose(forward_plain(images), expected, atol=1e-12)


@pytest.mark.parametrize(("slots", "count"), [(8192, 128), (8192, 5), (8192, 1), (16384, 256), (64, 1)])
def test_packed_equals_plain(slots: int, count: int) -> None:
    images = random_images(count, seed=count)
    program = PackedDigits(slots=slots)
    result = program(MockCiphertext(pack_images(images, slots)))
    np.testing.assert_allclose(unpack_logits(result.values, count), forward_plain(images), atol=1e-10)


def test_packed_needs_exactly_the_stated_rotations(packed: PackedDigits) -> None:
    ciphertext = MockCiphertext(pack_images(random_images(1, seed=2)))
    packed(ciphertext)
    assert sorted(ciphertext.steps) == packed.rotations()
    assert packed.rotations() == [-9, -8, -7, -3, -1, 1, 3, 7, 8, 9, 32]


def test_operation_counts(packed: PackedDigits) -> None:
    assert packed.depth() == 5
    counts = packed.count_operations()
    assert counts["ciphertext_multiplications"] == 5
    assert counts["plaintext_multiplications"] == 9 * 4 + 63 * 4 + 41
    assert counts["rotations"] == 8 + (4 * 2 + 20) + 1 + (2 + 13)
    assert counts["distinct_rotations"] == 11


def test_images_do_not_influence_each_other(packed: PackedDigits) -> None:
    images = random_images(128, seed=3)
    before = packed(MockCiphertext(pack_images(images))).values.reshape(128, 64)
    images[64] = 1.0 - images[64]
    after = packed(MockCiphertext(pack_images(images))).values.reshape(128, 64)
    others = np.arange(128) != 64
    np.testing.assert_allclose(after[others], before[others], atol=1e-12)
    assert np.abs(after[64] - before[64]).max() > 1e-3
    assert not after[:, 10:].any()


def test_progress_names_every_layer(packed: PackedDigits) -> None:
    layers: list[str] = []
    packed(MockCiphertext(pack_images(random_images(1, seed=4))), progress=layers.append)
    assert layers == ["convolution", "square", "hidden layer", "square", "output layer"]


@pytest.mark.parametrize("diagonals", [[0], [1, 2], [-5], [-63, 63], list(range(-63, 64))])
def test_block_matrices(diagonals: list[int]) -> None:
    rng = np.random.default_rng(5)
    matrices = rng.normal(size=(2, 64, 64))
    offset = np.subtract.outer(np.arange(64), np.arange(64))
    matrices[:, ~np.isin(-offset, diagonals)] = 0.0
    x = rng.normal(size=(2, 192))
    result = BlockMatrices(list(matrices), 192)([MockCiphertext(v) for v in x])
    expected = np.einsum("cij,cbj->bi", matrices, x.reshape(2, 3, 64))
    np.testing.assert_allclose(result.values.reshape(3, 64), expected, atol=1e-12)


def test_operands_are_made_once_and_read_only(packed: PackedDigits) -> None:
    seen: list[list[int]] = []
    for seed in (6, 7):
        operands: list[int] = []

        class Recording(MockCiphertext):
            def _of(self, values: np.ndarray) -> MockCiphertext:
                return Recording(values, self.steps)

            def __mul__(self, other: MockCiphertext | np.ndarray) -> MockCiphertext:
                if isinstance(other, np.ndarray):
                    assert not other.flags.writeable
                    operands.append(id(other))  # noqa: B023
                return super().__mul__(other)

        packed(Recording(pack_images(random_images(1, seed))))
        seen.append(operands)
    assert seen[0] == seen[1]


def test_file_is_the_one_its_metadata_describes() -> None:
    load_file = pytest.importorskip("safetensors.numpy").load_file
    assert digits_model.SHIPPED_FILE.stat().st_size < 300 * 1024
    tensors = load_file(digits_model.SHIPPED_FILE)
    state = hashlib.sha256()
    for name in sorted(tensors):
        assert tensors[name].dtype == np.float32
        state.update(f"{name}:{list(tensors[name].shape)}:".encode())
        state.update(tensors[name].astype("<f4").tobytes())
    metadata = digits_model.default_model().metadata
    assert metadata["sha256"] == state.hexdigest()


def test_held_out_accuracy_and_ranges() -> None:
    pytest.importorskip("sklearn")
    model = digits_model.default_model()
    images, labels = digits_model.held_out_digits()
    assert len(images) >= 300
    assert len(np.unique(model.held_out_indices())) == len(images)
    logits = forward_plain(images)
    accuracy = float((logits.argmax(axis=1) == labels).mean())
    assert accuracy >= 0.96
    assert accuracy == pytest.approx(float(model.metadata["accuracy_held_out"]), abs=1e-6)
    for key in ("ranges_training_all_shifts", "ranges_held_out"):
        assert all(0.0 < value <= 8.0 for value in json.loads(model.metadata[key]).values())
    stated = json.loads(model.metadata["ranges_held_out"])["logits"]
    assert np.abs(logits).max() == pytest.approx(stated, abs=1e-4)
    ordered = np.sort(logits, axis=1)
    margin = (ordered[:, -1] - ordered[:, -2]).min()
    assert margin == pytest.approx(float(model.metadata["smallest_margin_held_out"]), abs=1e-5)


def test_packed_values_stay_moderate(packed: PackedDigits) -> None:
    """Every slot of every intermediate ciphertext, unused ones included, stays within 8."""
    pytest.importorskip("sklearn")
    largest = 0.0

    class Watching(MockCiphertext):
        def _of(self, values: np.ndarray) -> MockCiphertext:
            nonlocal largest
            largest = max(largest, float(np.abs(values).max()))
            return Watching(values, self.steps)

    images, _ = digits_model.held_out_digits()
    packed(Watching(pack_images(images[:128])))
    assert largest <= 8.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: pack_images(np.zeros((129, 8, 8))),
        lambda: pack_images(np.zeros((0, 8, 8))),
        lambda: pack_images(np.zeros((2, 8, 9))),
        lambda: pack_images(np.full((1, 8, 8), np.nan)),
        lambda: pack_images(np.zeros((1, 8, 8)), slots=100),
        lambda: unpack_logits(np.zeros(8192), 129),
        lambda: PackedDigits(slots=32),
        lambda: BlockMatrices([np.zeros((64, 64))], 64),
    ],
)
def test_wrong_input_is_refused(call) -> None:
    with pytest.raises(ValueError, match=r"\d|zero|NaN"):
        call()


def test_foreign_file_is_refused(tmp_path) -> None:
    save_file = pytest.importorskip("safetensors.numpy").save_file
    path = tmp_path / "other.safetensors"
    save_file({"x": np.zeros(3, dtype=np.float32)}, path)
    with pytest.raises(ValueError, match="train_digits"):
        digits_model.load_model(path)
