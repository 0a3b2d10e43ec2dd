# SPDX-License-Identifier: Apache-2.0
"""Which Galois key each key switch of an encrypted ResNet-20 uses, from the public description.

Lee, Lee, Lee, Kim, Kim, No, Choi: "Low-complexity deep convolutional neural networks on fully homomorphic
encryption using multiplexed parallel convolutions", ICML 2022. One CIFAR-10 image, 2^15 slots. A plane with
gap k holds k^2 channels, interleaved in cells of k x k slots; every plane is a block of 1024 slots. A
parallel convolution computes as many output channels at a time as there are copies of its input.

The code of the authors was not used. Where the description leaves freedom, known counts of rotations of each
phase decide; docs/papers/hybrid_unified_memory.md says how, and how well the sequence fits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

SLOTS = 1 << 15
"""Slots of a ciphertext; rotation steps lie in 1 .. SLOTS - 1."""
CONJUGATION = 0
"""Marks the conjugation key in a sequence; no key switch rotates by 0."""
BLOCK = 1024
"""Slots of one image plane, the same for all layers: 32 x 32 pixels, or four times fewer with gap 2."""
_FILTER = 3
_CLASSES, _FEATURES = 10, 64
_CELL = 32  # slots of one row of pixels of a block
_COMPOSED = (*range(34, 56), *range(57, 62))
_COMPOSER = 33


@dataclasses.dataclass(frozen=True)
class Packing:
    """How `channels` planes lie in a ciphertext."""

    channels: int
    gap: int
    copies: int

    @property
    def blocks(self) -> int:
        """Blocks of one copy."""
        return -(-self.channels // self.gap**2)

    def position(self, channel: int) -> int:
        """First slot of a channel."""
        cell = channel % self.gap**2
        return BLOCK * (channel // self.gap**2) + _CELL * (cell // self.gap) + cell % self.gap


_IMAGE = Packing(3, 1, 8)
_STAGES = (Packing(16, 1, 2), Packing(32, 2, 4), Packing(64, 4, 8))
_BLOCKS_PER_STAGE = 3
_BOOTSTRAP_LOG_SLOTS = (14, 13, 12)
_RADICES = {14: (5, 5, 4), 13: (4, 4, 5), 12: (4, 4, 4)}
"""log2 radix of the three factors of the homomorphic Fourier transform, from the largest stride down."""

_FEW_DIAGONALS = 32
"""Up to this many diagonals of a factor have 4 baby steps, more of them 8."""


def resnet20_phases() -> Iterator[tuple[str, list[int]]]:
    """(name of a phase, its keys) from the first convolution to the logits.

    Names: convolution, downsampling, bootstrapping, pooling, classifier. A key is a rotation step to the left
    in 1 .. SLOTS - 1, or CONJUGATION.
    """
    yield "convolution", convolution(_IMAGE, _STAGES[0])
    before = _STAGES[0]
    for stage, log_slots in zip(_STAGES, _BOOTSTRAP_LOG_SLOTS, strict=True):
        for _ in range(_BLOCKS_PER_STAGE):
            yield "convolution", convolution(before, stage)
            yield "bootstrapping", bootstrapping(log_slots)
            yield "convolution", convolution(stage, stage)
            if before != stage:
                yield "downsampling", downsampling(before, stage)
            yield "bootstrapping", bootstrapping(log_slots)
            before = stage
    yield "pooling", average_pooling(before)
    yield "classifier", classifier()


def resnet20_key_sequence() -> list[int]:
    """The keys of all 3,072 Galois key switches of one inference, in order; see `resnet20_phases`."""
    return [key for _, keys in resnet20_phases() for key in keys]


def _left(steps: Sequence[int]) -> list[int]:
    """Steps to the left in 1 .. SLOTS - 1; those that rotate by nothing are left out."""
    return [step % SLOTS for step in steps if step % SLOTS]


def _sum_slots(count: int, stride: int) -> list[int]:
    """Sum of `count` values `stride` apart by doubling; a set bit of the count costs one more rotation."""
    doublings = count.bit_length() - 1
    steps = [stride << j for j in range(doublings)]
    return steps + [(count >> (j + 1) << (j + 1)) * stride for j in range(doublings) if count >> j & 1]


def convolution(source: Packing, target: Packing) -> list[int]:
    """A 3x3 convolution: shared shifts of the input, then for each group of output channels the sum over
    input channels, every channel moved to its place, and at last the copies."""
    row = source.gap * _CELL
    reach = range(-(_FILTER // 2), _FILTER // 2 + 1)
    steps = [row * y + source.gap * x for y in reach for x in reach]
    apart = SLOTS // source.copies
    for first in range(0, target.channels, source.copies):
        steps += _sum_slots(source.gap, 1) + _sum_slots(source.gap, _CELL)
        steps += _sum_slots(source.blocks, BLOCK)
        group = range(min(source.copies, target.channels - first))
        steps += [apart * copy - target.position(first + copy) for copy in group]
    return _left(steps + _copies(target))


def _copies(packing: Packing) -> list[int]:
    """All copies from the first one, each with a rotation of its own."""
    return [-(SLOTS // packing.copies) * copy for copy in range(1, packing.copies)]


def downsampling(source: Packing, target: Packing) -> list[int]:
    """Every second pixel of the shortcut, packed with twice the gap, in the middle of the output channels."""
    steps = []
    for row in range(source.gap):
        for block in range(source.blocks):
            channel = source.gap * (source.gap * block + row)
            steps.append(source.position(channel) - target.position(channel))
    padding = (target.channels - source.channels) // 2
    return _left([*steps, -target.position(padding), *_copies(target)])


def average_pooling(source: Packing) -> list[int]:
    """Sum over the pixels, then the channels side by side."""
    pixels = _CELL // source.gap
    steps = _sum_slots(pixels, source.gap) + _sum_slots(pixels, source.gap * _CELL)
    for row in range(source.gap):
        for block in range(source.blocks):
            channel = source.gap * (source.gap * block + row)
            steps.append(source.position(channel) - channel)
    return _left(steps)


def classifier() -> list[int]:
    """All 73 diagonals of a 10 x 64 matrix; steps without a key of their own are composed."""
    steps: list[int] = []
    for step in range(1 - _CLASSES, _FEATURES):
        steps += [_COMPOSER, step - _COMPOSER] if step in _COMPOSED else [step]
    return _left(steps)


def bootstrapping(log_slots: int) -> list[int]:
    """Bootstrapping of 2^log_slots real values: sum over the sparse copies, coefficients to slots, the real
    part, both halves together, slots to coefficients, and the real part again."""
    trace = [1 << j for j in range(log_slots, SLOTS.bit_length() - 1)]
    factors = _fourier_factors(log_slots)
    to_slots = [step for factor in factors for step in factor]
    to_coefficients = [step for factor in reversed(factors) for step in factor]
    packed = [*to_slots, CONJUGATION, 1 << log_slots, *to_coefficients]
    return [*trace, *packed, CONJUGATION]


def _fourier_factors(log_slots: int) -> list[list[int]]:
    """Rotations of each factor, by baby steps and giant steps."""
    factors = []
    stride = 1 << log_slots
    for number, log_radix in enumerate(_RADICES[log_slots]):
        radix = 1 << log_radix
        stride >>= log_radix
        if number == 0:  # offsets wrap around: as many diagonals as the radix
            shift, count = 0, radix
        else:  # offsets from 1 - radix to radix - 1, made positive by one rotation
            shift, count = (1 - radix) * stride, 2 * radix - 1
        babies = 8 if count > _FEW_DIAGONALS else 4
        steps = [shift, *(stride * j for j in range(1, babies))]
        steps += [stride * babies * j for j in range(1, -(-count // babies))]
        factors.append(_left(steps))
    return factors
