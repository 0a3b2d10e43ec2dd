#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train the small network of `halocline run digits` and write it as safetensors.

The network is made for encrypted evaluation: 3x3 convolution (zero padding, stride 1, 4 channels),
square, dense 256 -> 32, square, dense 32 -> 10. Squares are the only non-linearities, so it costs
five levels, and every value it can produce is kept small because CKKS has few bits above the scale
at the lowest level.

Data: scikit-learn's bundled digits (1797 images of 8x8 pixels, divided by 16). A stratified 360 of
them are held out: they are neither trained on nor looked at for choosing anything; the settings
below were chosen by 4-fold cross-validation inside the other 1437. The file's metadata states the
split, the seed, the accuracy and the range of every intermediate value.

    python tools/train_digits.py [--output FILE] [--seed N] [--epochs N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from halocline.base.files import write_file
from safetensors.numpy import save
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SIDE = 8
PIXELS = SIDE * SIDE
CHANNELS = 4
HIDDEN = 32
CLASSES = 10
HELD_OUT = 360
SPLIT_SEED = 20261120

# Targets of `calibrate`: the largest pre-activation (its square is the activation) and logit.
PRE_ACTIVATION_LIMIT = 2.0
LOGIT_LIMIT = 6.0

DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "python/halocline/data/digits_cnn.safetensors"


@dataclass(frozen=True)
class Settings:
    """Optimisation settings; `augmentation` is the share of images shifted by up to one pixel."""

    seed: int = 7
    epochs: int = 300
    batch: int = 64
    learning_rate: float = 5e-3
    weight_decay: float = 0.05
    dropout: float = 0.2
    augmentation: float = 0.5
    label_smoothing: float = 0.05


def patches(images: np.ndarray) -> np.ndarray:
    """(n, 8, 8) -> (n, 8, 8, 9): the zero-padded 3x3 neighbourhood of each pixel, row-major."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    shifted = [padded[:, i : i + SIDE, j : j + SIDE] for i in range(3) for j in range(3)]
    return np.stack(shifted, axis=-1)


def shift(images: np.ndarray, dy: int, dx: int) -> np.ndarray:
    """Images moved by (dy, dx) in {-1, 0, 1}, zeros moving in."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    return padded[:, 1 - dy : 1 - dy + SIDE, 1 - dx : 1 - dx + SIDE]


def augment(images: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """A random `share` of the images shifted by at most one pixel in each direction."""
    result = images.copy()
    moves = rng.integers(-1, 2, size=(len(images), 2))
    moves[rng.random(len(images)) >= share] = 0
    for dy, dx in np.unique(moves, axis=0):
        chosen = (moves[:, 0] == dy) & (moves[:, 1] == dx)
        result[chosen] = shift(images[chosen], dy, dx)
    return result


def initial_parameters(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random start; column order of `hidden` is pixel-major (8 y + x) * CHANNELS + channel."""
    return {
        "conv": rng.normal(0.0, 0.3, (9, CHANNELS)),
        "conv_bias": np.full(CHANNELS, 0.1),
        "hidden": rng.normal(0.0, 0.08, (PIXELS * CHANNELS, HIDDEN)),
        "hidden_bias": np.zeros(HIDDEN),
        "output": rng.normal(0.0, 0.15, (HIDDEN, CLASSES)),
        "output_bias": np.zeros(CLASSES),
    }


def forward(p: dict[str, np.ndarray], images: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pre-activations of the convolution (n, 8, 8, 4) and the hidden layer (n, 32), and the logits."""
    z1 = patches(images) @ p["conv"] + p["conv_bias"]
    z2 = (z1 * z1).reshape(len(images), -1) @ p["hidden"] + p["hidden_bias"]
    return z1, z2, (z2 * z2) @ p["output"] + p["output_bias"]


def loss_and_gradients(
    p: dict[str, np.ndarray],
    images: np.ndarray,
    targets: np.ndarray,
    keep: np.ndarray | float = 1.0,
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean cross-entropy against `targets` (n, 10) and its gradient; `keep` scales hidden units."""
    count = len(images)
    columns = patches(images)
    z1 = columns @ p["conv"] + p["conv_bias"]
    a1 = (z1 * z1).reshape(count, -1)
    z2 = a1 @ p["hidden"] + p["hidden_bias"]
    a2 = z2 * z2 * keep
    logits = a2 @ p["output"] + p["output_bias"]
    logits = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(logits).sum(axis=1, keepdims=True))
    loss = -float((targets * (logits - log_sum)).sum()) / count

    d_logits = (np.exp(logits - log_sum) - targets) / count
    d_z2 = 2.0 * z2 * keep * (d_logits @ p["output"].T)
    d_z1 = 2.0 * z1 * (d_z2 @ p["hidden"].T).reshape(z1.shape)
    return loss, {
        "conv": np.tensordot(columns, d_z1, axes=((0, 1, 2), (0, 1, 2))),
        "conv_bias": d_z1.sum(axis=(0, 1, 2)),
        "hidden": a1.T @ d_z2,
        "hidden_bias": d_z2.sum(axis=0),
        "output": a2.T @ d_logits,
        "output_bias": d_logits.sum(axis=0),
    }


class Adam:
    """Adam with decoupled weight decay on matrices (Loshchilov and Hutter, AdamW)."""

    def __init__(self, parameters: dict[str, np.ndarray], weight_decay: float) -> None:
        self.weight_decay = weight_decay
        self.first = {k: np.zeros_like(v) for k, v in parameters.items()}
        self.second = {k: np.zeros_like(v) for k, v in parameters.items()}
        self.steps = 0

    def step(self, p: dict[str, np.ndarray], g: dict[str, np.ndarray], rate: float) -> None:
        """One update of `p` in place."""
        self.steps += 1
        for name, gradient in g.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * gradient
            self.second[name] = 0.999 * self.second[name] + 0.001 * gradient**2
            mean = self.first[name] / (1.0 - 0.9**self.steps)
            root = np.sqrt(self.second[name] / (1.0 - 0.999**self.steps)) + 1e-8
            decay = self.weight_decay * p[name] if p[name].ndim > 1 else 0.0
            p[name] -= rate * (mean / root + decay)


def train(images: np.ndarray, labels: np.ndarray, s: Settings) -> dict[str, np.ndarray]:
    """Parameters after `s.epochs` passes: warm-up, then a cosine down to zero; no early stopping."""
    rng = np.random.default_rng(s.seed)
    p = initial_parameters(rng)
    optimiser = Adam(p, s.weight_decay)
    smooth = s.label_smoothing
    one_hot = np.eye(CLASSES)[labels] * (1.0 - smooth) + smooth / CLASSES
    per_epoch = len(images) // s.batch
    total = s.epochs * per_epoch
    for _ in range(s.epochs):
        order = rng.permutation(len(images))
        for chosen in order[: per_epoch * s.batch].reshape(per_epoch, s.batch):
            batch = augment(images[chosen], s.augmentation, rng)
            keep = (rng.random((s.batch, HIDDEN)) >= s.dropout) / (1.0 - s.dropout)
            _, gradients = loss_and_gradients(p, batch, one_hot[chosen], keep)
            done = optimiser.steps / total
            rate = s.learning_rate * min(1.0, (optimiser.steps + 1) / 200)
            optimiser.step(p, gradients, rate * 0.5 * (1.0 + np.cos(np.pi * done)))
    return p


def all_shifts(images: np.ndarray) -> np.ndarray:
    """The images in all nine positions of a +-1 pixel shift."""
    return np.concatenate([shift(images, dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)])


def calibrate(p: dict[str, np.ndarray], images: np.ndarray) -> dict[str, np.ndarray]:
    """Rescale without changing any decision so that values stay in a moderate range.

    A square layer z -> z^2 lets a unit be scaled by t when its outgoing weights are divided by t^2.
    Channels get the bound PRE_ACTIVATION_LIMIT for *every* image with pixels in [0, 1]; hidden units
    and logits get their limit on `images` in all shifts. Scaling all logits keeps their order.
    """
    p = {k: v.copy() for k, v in p.items()}
    low = p["conv_bias"] + np.minimum(p["conv"], 0.0).sum(axis=0)
    high = p["conv_bias"] + np.maximum(p["conv"], 0.0).sum(axis=0)
    t = PRE_ACTIVATION_LIMIT / np.maximum(np.abs(high), np.abs(low))
    p["conv"] *= t
    p["conv_bias"] *= t
    p["hidden"] /= np.tile(t**2, PIXELS)[:, None]

    everywhere = all_shifts(images)
    _, z2, _ = forward(p, everywhere)
    t = PRE_ACTIVATION_LIMIT / np.abs(z2).max(axis=0)
    p["hidden"] *= t
    p["hidden_bias"] *= t
    p["output"] /= (t**2)[:, None]

    _, _, logits = forward(p, everywhere)
    t = LOGIT_LIMIT / np.abs(logits).max()
    p["output"] *= t
    p["output_bias"] *= t
    return p


def export(p: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Tensors as stored: float32, output-major, hidden columns channel-major (64 c + 8 y + x)."""
    hidden = p["hidden"].T.reshape(HIDDEN, PIXELS, CHANNELS).transpose(0, 2, 1)
    tensors = {
        "conv.weight": p["conv"].T.reshape(CHANNELS, 3, 3),
        "conv.bias": p["conv_bias"],
        "hidden.weight": hidden.reshape(HIDDEN, CHANNELS * PIXELS),
        "hidden.bias": p["hidden_bias"],
        "output.weight": p["output"].T,
        "output.bias": p["output_bias"],
    }
    return {k: np.ascontiguousarray(v, dtype=np.float32) for k, v in tensors.items()}


def as_stored(p: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same parameters after rounding to float32, for figures that describe the file."""
    return {k: v.astype(np.float32).astype(np.float64) for k, v in p.items()}


def digest(tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 over names, shapes and little-endian bytes of the tensors in name order."""
    state = hashlib.sha256()
    for name in sorted(tensors):
        state.update(f"{name}:{list(tensors[name].shape)}:".encode())
        state.update(tensors[name].astype("<f4").tobytes())
    return state.hexdigest()


def ranges(p: dict[str, np.ndarray], images: np.ndarray) -> dict[str, float]:
    """Largest magnitude of each intermediate value, with the half sums that packing produces."""
    z1, z2, logits = forward(p, images)
    upper_pixel = (np.arange(PIXELS * CHANNELS) // CHANNELS) >= PIXELS // 2
    a1 = (z1 * z1).reshape(len(images), -1)
    halves = [a1[:, part] @ p["hidden"][part] for part in (~upper_pixel, upper_pixel)]
    values = {
        "conv_pre_activation": z1,
        "conv_activation": z1 * z1,
        "hidden_half_sum": np.stack(halves),
        "hidden_pre_activation": z2,
        "hidden_activation": z2 * z2,
        "logits": logits,
    }
    return {k: round(float(np.abs(v).max()), 4) for k, v in values.items()}


def accuracy(p: dict[str, np.ndarray], images: np.ndarray, labels: np.ndarray) -> float:
    """Share of images whose largest logit is the label's."""
    return float((forward(p, images)[2].argmax(axis=1) == labels).mean())


def smallest_margin(p: dict[str, np.ndarray], images: np.ndarray) -> float:
    """Smallest gap between the two largest logits: noise below half of it changes no decision."""
    ordered = np.sort(forward(p, images)[2], axis=1)
    return float((ordered[:, -1] - ordered[:, -2]).min())


def split(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted indices (training, held out) of the stratified split."""
    train_part, held_out = train_test_split(
        np.arange(len(labels)), test_size=HELD_OUT, stratify=labels, random_state=SPLIT_SEED
    )
    return np.sort(train_part), np.sort(held_out)


def main() -> None:
    """Train, calibrate, write the file and print what it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--epochs", type=int, default=Settings.epochs)
    arguments = parser.parse_args()
    settings = Settings(seed=arguments.seed, epochs=arguments.epochs)
    print(f"seed {settings.seed}, {settings.epochs} epochs")

    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, SIDE, SIDE) / 16.0
    train_part, held_out = split(labels)
    p = train(images[train_part], labels[train_part], settings)
    p = as_stored(calibrate(p, images[train_part]))
    tensors = export(p)
    metadata = {
        "format": "halocline.digits_cnn.v1",
        "architecture": "conv3x3(1->4, zero padding) square dense(256->32) square dense(32->10)",
        "data": "scikit-learn load_digits, pixels / 16",
        "split": f"train_test_split(test_size={HELD_OUT}, stratify, random_state={SPLIT_SEED})",
        "held_out_indices": json.dumps(held_out.tolist()),
        "settings": json.dumps(settings.__dict__),
        "accuracy_training": f"{accuracy(p, images[train_part], labels[train_part]):.6f}",
        "accuracy_held_out": f"{accuracy(p, images[held_out], labels[held_out]):.6f}",
        "ranges_training_all_shifts": json.dumps(ranges(p, all_shifts(images[train_part]))),
        "ranges_held_out": json.dumps(ranges(p, images[held_out])),
        "smallest_margin_held_out": f"{smallest_margin(p, images[held_out]):.6f}",
        "sha256": digest(tensors),
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    write_file(arguments.output, save(tensors, metadata))
    for key, value in metadata.items():
        print(f"{key}: {value if len(value) < 300 else value[:60] + ' ...'}")
    print(f"wrote {arguments.output} ({arguments.output.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
