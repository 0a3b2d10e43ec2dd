#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train the ResNet-20 that `halocline run resnet20` uses when no weights are given.

The network is that of He et al. (2015, section 4.2) for CIFAR-10 with option A shortcuts, with the tensor
names of akamaster/pytorch_resnet_cifar10. Data: scikit-learn's bundled digits, pixels / 16, interpolated to
32x32 in three equal channels; trained on the 1437 images that tools/train_digits.py trains on, with the same
360 held out. What decides how precise an encrypted ReLU is is the largest pre-activation of its layer, so
pre-activations beyond PENALTY_START are penalised.

Needs PyTorch, which nothing else in this repository does (`pip install torch`); runs on one core of a CPU for
some minutes, with fixed seeds: the same machine and version of PyTorch write the same file.

    python tools/train_resnet20.py [--output FILE] [--seed N] [--epochs N]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from halocline.base.files import write_file
from halocline.workloads.digits.pictures import digit_pictures
from safetensors.numpy import save
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from train_digits import HELD_OUT, SPLIT_SEED, digest, split

DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "python/halocline/data/resnet20_digits.safetensors"
PENALTY_START = 4.0
"""Magnitude beyond which pre-activations are penalised."""
MARGIN = 1.5
"""By how much bounds of activations exceed what the training pictures reach."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How it is trained; `shift` is the largest move of a training picture in pixels."""

    seed: int = 20
    epochs: int = 20
    batch: int = 64
    learning_rate: float = 0.1
    weight_decay: float = 1e-3
    penalty: float = 1.0
    shift: int = 4
    label_smoothing: float = 0.05


class Block(nn.Module):
    """Two 3x3 convolutions with batch norm; option A shortcut: every second pixel, zero channels around."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.stride, self.extra = stride, (after - before) // 2

    def forward(self, x: torch.Tensor, seen: list[torch.Tensor]) -> torch.Tensor:
        """The block; inputs of both ReLUs are appended to `seen`."""
        seen.append(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(functional.relu(seen[-1])))
        short = x[:, :, :: self.stride, :: self.stride]
        seen.append(y + functional.pad(short, (0, 0, 0, 0, self.extra, self.extra)))
        return functional.relu(seen[-1])


class ResNet20(nn.Module):
    """The network; `forward` returns logits and the inputs of the 19 ReLUs."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1, self.layer2, self.layer3 = (
            nn.Sequential(
                *(
                    Block(before if k == 0 else after, after, 2 if k == 0 and after > before else 1)
                    for k in range(3)
                )
            )
            for before, after in ((16, 16), (16, 32), (32, 64))
        )
        self.linear = nn.Linear(64, 10)
        for each in self.modules():
            if isinstance(each, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(each.weight)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """(n, 3, 32, 32) -> (n, 10)."""
        seen = [self.bn1(self.conv1(x))]
        y = functional.relu(seen[0])
        for stage in (self.layer1, self.layer2, self.layer3):
            for block in stage:
                y = block(y, seen)
        return self.linear(y.mean((2, 3))), seen


def shifted(batch: torch.Tensor, most: int, random: np.random.Generator) -> torch.Tensor:
    """Each picture moved by up to `most` pixels each way, its edge colours moving in."""
    side = batch.shape[-1]
    padded = functional.pad(batch, (most,) * 4, mode="replicate")
    moves = random.integers(0, 2 * most + 1, (len(batch), 2))
    return torch.stack(
        [each[:, y : y + side, x : x + side] for each, (y, x) in zip(padded, moves, strict=True)]
    )


def train(pictures: torch.Tensor, labels: torch.Tensor, s: Settings) -> ResNet20:
    """The network after `s.epochs` passes: warm-up, then a cosine down to zero."""
    torch.manual_seed(s.seed)
    random = np.random.default_rng(s.seed)
    net = ResNet20()
    optimiser = torch.optim.SGD(
        net.parameters(), lr=s.learning_rate, momentum=0.9, nesterov=True, weight_decay=s.weight_decay
    )
    total = s.epochs * (len(pictures) // s.batch)
    done = 0
    for epoch in range(s.epochs):
        order = random.permutation(len(pictures))
        worst, loss_sum = 0.0, 0.0
        for start in range(0, len(pictures) - s.batch + 1, s.batch):
            rate = s.learning_rate * min(1.0, (done + 1) / 40) * 0.5 * (1 + math.cos(math.pi * done / total))
            for group in optimiser.param_groups:
                group["lr"] = rate
            chosen = torch.from_numpy(order[start : start + s.batch])
            logits, seen = net(shifted(pictures[chosen], s.shift, random))
            loss = functional.cross_entropy(logits, labels[chosen], label_smoothing=s.label_smoothing)
            beyond = [functional.relu(each.abs() - PENALTY_START).square().mean() for each in seen]
            optimiser.zero_grad()
            (loss + s.penalty * torch.stack(beyond).sum()).backward()
            optimiser.step()
            done += 1
            loss_sum += loss.item()
            worst = max(worst, *(each.detach().abs().max().item() for each in seen))
        print(f"epoch {epoch + 1}: loss {loss_sum * s.epochs / total:.4f}, largest {worst:.2f}", flush=True)
    return net.eval()


def rounded(net: ResNet20) -> dict[str, np.ndarray]:
    """Tensors as stored, float16; the network gets the same values."""
    state = net.state_dict()
    stored = {
        name: each.numpy().astype(np.float16)
        for name, each in state.items()
        if not name.endswith("num_batches_tracked")
    }
    net.load_state_dict(
        {
            name: torch.from_numpy(stored[name].astype(np.float32)) if name in stored else state[name]
            for name in state
        }
    )
    return stored


@torch.no_grad()
def evaluate(net: ResNet20, pictures: torch.Tensor) -> tuple[np.ndarray, list[float]]:
    """Logits, and the largest magnitude in each ReLU's input."""
    parts = [net(part) for part in pictures.split(100)]
    largest = [
        max(float(each.abs().max()) for each in layer)
        for layer in zip(*(seen for _, seen in parts), strict=True)
    ]
    return torch.cat([logits for logits, _ in parts]).numpy(), largest


def names() -> list[str]:
    """Of the ReLUs, in the order of `evaluate`."""
    blocks = [f"layer{stage}.{block}" for stage in (1, 2, 3) for block in range(3)]
    return ["relu", *(f"{block}.relu{k}" for block in blocks for k in (1, 2))]


def main() -> None:
    """Train, write the file and print what it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    parser.add_argument("--epochs", type=int, default=Settings.epochs)
    arguments = parser.parse_args()
    settings = Settings(seed=arguments.seed, epochs=arguments.epochs)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    images, labels = load_digits(return_X_y=True)
    parts = dict(zip(("training", "held_out"), split(labels), strict=True))
    pictures = digit_pictures(images.reshape(-1, 8, 8) / 16.0)
    mean, std = (round(float(f(pictures[parts["training"]])), 4) for f in (np.mean, np.std))
    inputs = torch.from_numpy(((pictures - mean) / std).astype(np.float32))
    net = train(inputs[parts["training"]], torch.from_numpy(labels[parts["training"]]), settings)
    tensors = rounded(net)
    metadata: dict[str, Any] = {
        "arch": "resnet20 (He et al. 2015, option A shortcuts)",
        "normalize_mean": ",".join([str(mean)] * 3),
        "normalize_std": ",".join([str(std)] * 3),
        "source": "tools/train_resnet20.py: scikit-learn load_digits, pixels / 16, bilinear to 32x32",
        "torch": torch.__version__,
        "split": f"train_test_split(test_size={HELD_OUT}, stratify, random_state={SPLIT_SEED})",
        "held_out_indices": json.dumps(parts["held_out"].tolist()),
        "settings": json.dumps(dataclasses.asdict(settings)),
        "sha256": digest(tensors),
    }
    for name, part in parts.items():
        logits, largest = evaluate(net, inputs[part])
        metadata[f"accuracy_{name}"] = f"{(logits.argmax(axis=1) == labels[part]).mean():.6f}"
        found = dict(zip(names(), largest, strict=True))
        metadata[f"largest_{name}"] = json.dumps({each: round(value, 4) for each, value in found.items()})
        if name == "training":
            metadata["ranges"] = json.dumps({each: round(MARGIN * value, 4) for each, value in found.items()})
            metadata["ranges_margin"] = str(MARGIN)
    write_file(arguments.output, save(tensors, metadata))
    for key, value in metadata.items():
        print(f"{key}: {value if len(value) < 900 else value[:60] + ' ...'}")
    print(f"wrote {arguments.output} ({arguments.output.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
