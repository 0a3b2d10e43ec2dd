# SPDX-License-Identifier: Apache-2.0
"""Workload "wide-rotations": a network whose layers use more rotation keys than a small memory holds.

Every layer computes on two ciphertexts ("channels") of the same level and costs that level. It sums signed
rotations of them into two or three accumulators, in one of two ways chosen at random for each rotation:

    tap    a <- a +- channel.rotate(k)
    walk   a <- a.rotate(k) +- channel

Two of three layers then multiply each accumulator by a vector of weights; each third one, and the last,
multiplies two accumulators with each other.

As in a convolution that goes through its offsets for one output after another, a layer visits its steps in
rounds: in an order of its own, with neighbours swapped at random in each round. One step of the layer is hot
and comes in between at random places. The width of layers, in steps, grows from a fifth to two thirds of all
steps, because keys shrink with the level; half of the steps of a layer are those of the one before. So the
keys of one layer take about a quarter of the bytes of all keys, whatever the layer. A cache of that size that
evicts the least recently used key evicts the one that is used next; a cache with look-ahead does not.

Weights are scaled so that the outputs of all layers stay below 1 for inputs uniform in [-1, 1].
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import InvalidArgument
from ...ckks.ciphertext import Ciphertext

Vector = npt.NDArray[np.float64]

Channel = Any
"""A ciphertext, or the vector of its slots: both have + - *, and `_rotate`."""

Phase = Callable[[str], AbstractContextManager[None]]
"""Called with a layer's name; the layer is evaluated inside the context."""

PRODUCT_EVERY = 3
"""Each third layer multiplies ciphertexts."""
FIRST_WIDTH, LAST_WIDTH = 0.18, 0.7
"""Steps of the first and last layer as shares of all; geometric in between."""
KEPT = 0.5
"""Share of a layer's steps that the layer before has, too."""
HOT = 0.3
"""Share of a layer's rotations by its hot step."""
SWAPPED = 0.3
"""Probability that a step and the next one change places in a round."""
_TARGET_RMS = 0.04


def _no_phase(_: str) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


def _rotate(channel: Channel, step: int) -> Channel:
    return np.roll(channel, -step) if isinstance(channel, np.ndarray) else channel.rotate(step)


@dataclasses.dataclass(frozen=True)
class Term:
    """One rotation of a layer, and the signed channel that is added with it."""

    accumulator: int
    channel: int
    step: int
    walk: bool
    """Rotate the accumulator before the channel is added, instead of the channel."""
    minus: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Layer:
    """Rotations in their order, and what turns accumulators into channels."""

    terms: tuple[Term, ...]
    weights: tuple[Vector | None, ...]
    """One for each accumulator; None for the two that are multiplied with each other."""

    @property
    def product(self) -> bool:
        """Whether it multiplies ciphertexts."""
        return any(weight is None for weight in self.weights)

    def accumulate(self, channels: Sequence[Channel]) -> list[Channel]:
        """All accumulators: signed sums of rotations."""
        sums: list[Channel] = [None] * len(self.weights)
        for term in self.terms:
            value, held = channels[term.channel], sums[term.accumulator]
            if held is None:
                sums[term.accumulator] = _rotate(value, term.step)
                continue
            if term.walk:
                held = _rotate(held, term.step)
            else:
                value = _rotate(value, term.step)
            sums[term.accumulator] = held - value if term.minus else held + value
        return sums

    def finish(self, sums: Sequence[Channel]) -> list[Channel]:
        """Channels one level lower."""
        pair = [each for each, weight in zip(sums, self.weights, strict=True) if weight is None]
        outputs = [pair[0] * pair[1]] if pair else []
        return outputs + [s * w for s, w in zip(sums, self.weights, strict=True) if w is not None]


class WideRotations:
    """The network for vectors of `slots` values; equal arguments make equal networks on every machine.

    seed: of everything that is drawn. batches: input ciphertexts. layers: each costs a level.
    rotations_per_layer: key switches of a layer besides its product.
    keys: rotation steps to draw from; all of them are used when there are layers enough.
    """

    def __init__(
        self,
        seed: int = 0,
        batches: int = 2,
        layers: int = 12,
        rotations_per_layer: int = 88,
        keys: int = 64,
        *,
        slots: int = 16384,
    ) -> None:
        if batches < 1 or layers < 2:
            raise InvalidArgument(
                f"wide-rotations: {batches} batches of {layers} layers, expected at least 1 of at least 2"
            )
        if not 2 <= keys < slots:
            raise InvalidArgument(
                f"wide-rotations: {keys} distinct rotations, expected 2 to {slots - 1} for {slots} slots"
            )
        widest = max(2, round(LAST_WIDTH * keys))
        if rotations_per_layer < widest:
            raise InvalidArgument(
                f"wide-rotations: {rotations_per_layer} rotations per layer, expected at least {widest}, one "
                "for each distinct step of the last layer"
            )
        self.seed, self.batches, self.slots = seed, batches, slots
        self._rotations = rotations_per_layer
        rng = np.random.Generator(np.random.PCG64(seed))
        self._steps = [int(k) for k in rng.choice(np.arange(1, slots), keys, replace=False)]
        self._layers = self._draw(rng, layers)

    @property
    def depth(self) -> int:
        """Levels from input to output."""
        return len(self._layers)

    @property
    def layers(self) -> Sequence[Layer]:
        """The network, first layer first."""
        return self._layers

    @property
    def key_switches(self) -> int:
        """Rotations and relinearizations of all batches."""
        products = sum(layer.product for layer in self._layers)
        return self.batches * (products + sum(len(layer.terms) for layer in self._layers))

    def steps(self) -> list[int]:
        """The rotation steps of one batch in the order of their use."""
        return [term.step for layer in self._layers for term in layer.terms]

    def inputs(self) -> list[Vector]:
        """One vector for each batch, uniform in [-1, 1]."""
        rng = np.random.Generator(np.random.PCG64([self.seed, 1]))
        return [rng.uniform(-1, 1, self.slots) for _ in range(self.batches)]

    def program(self, *inputs: Ciphertext) -> list[Ciphertext]:
        """The network applied to each input, one after another. Marks layers as phases of the trace."""
        return [self._network(x, x.engine.phase if x.engine is not None else _no_phase) for x in inputs]

    def reference(self, *vectors: npt.ArrayLike) -> list[Vector]:
        """What `program` computes, in the clear."""
        return [self._network(np.asarray(each, dtype=np.float64), _no_phase) for each in vectors]

    def _network(self, x: Channel, phase: Phase) -> Channel:
        channels = [x, x]
        for number, layer in enumerate(self._layers, start=1):
            with phase(f"layer {number}"):
                channels = layer.finish(layer.accumulate(channels))
        return channels[0]

    # Drawing the network

    def _draw(self, rng: np.random.Generator, count: int) -> list[Layer]:
        """Layers with weights that keep a sample of inputs at the target size."""
        sample = np.random.Generator(np.random.PCG64([self.seed, 2])).uniform(-1, 1, self.slots)
        channels: list[Channel] = [sample, sample]
        deck: list[int] = []
        steps: list[int] = []
        made = []
        for number in range(count):
            last = number == count - 1
            product = last or number % PRODUCT_EVERY == PRODUCT_EVERY - 1
            accumulators = 2 if last or not product else 3
            width = FIRST_WIDTH * (LAST_WIDTH / FIRST_WIDTH) ** (number / (count - 1))
            steps = self._subset(rng, deck, steps, max(2, round(width * len(self._steps))))
            terms = self._terms(rng, self._order(rng, steps), accumulators)
            bare = Layer(terms, (None,) * accumulators)
            sums = bare.accumulate(channels)
            weights = [
                None if product and which < 2 else self._weight(rng, total)
                for which, total in enumerate(sums)
            ]
            made.append(Layer(terms, tuple(weights)))
            channels = made[-1].finish(sums)
        return made

    def _subset(self, rng: np.random.Generator, deck: list[int], before: list[int], width: int) -> list[int]:
        """Distinct steps of a layer in random order: some of the layer before, the rest from the deck."""
        kept = min(int(KEPT * width), len(before))
        chosen = [int(k) for k in rng.choice(before, kept, replace=False)] if kept else []
        held_back: list[int] = []
        while len(chosen) < width:
            if not deck:
                deck.extend(int(k) for k in rng.permutation(self._steps))
            step = deck.pop()
            (held_back if step in chosen else chosen).append(step)
        deck.extend(held_back)
        return [int(k) for k in rng.permutation(chosen)]

    def _order(self, rng: np.random.Generator, steps: list[int]) -> list[int]:
        """The rotations of a layer: rounds through its steps, with the first of them in between."""
        hot, *ring = steps
        hot_count = max(1, min(round(HOT * self._rotations), self._rotations - len(ring)))
        rounds: list[int] = []
        while len(rounds) < self._rotations - hot_count:
            turn = list(ring)
            for place in np.flatnonzero(rng.random(len(ring) - 1) < SWAPPED):
                turn[place], turn[place + 1] = turn[place + 1], turn[place]
            rounds += turn
        order = np.full(self._rotations, hot)
        places = np.sort(rng.choice(self._rotations, self._rotations - hot_count, replace=False))
        order[places] = rounds[: len(places)]
        return [int(k) for k in order]

    def _terms(self, rng: np.random.Generator, order: list[int], accumulators: int) -> tuple[Term, ...]:
        """What each rotation does; all accumulators get about as many."""
        accumulator = rng.permutation(np.arange(len(order)) % accumulators)
        channel = rng.integers(0, 2, len(order))
        walk, minus = rng.integers(0, 2, (2, len(order))).astype(bool)
        columns = (accumulator, channel, order, walk, minus)
        return tuple(
            Term(int(a), int(c), k, bool(w), bool(m)) for a, c, k, w, m in zip(*columns, strict=True)
        )

    def _weight(self, rng: np.random.Generator, total: Vector) -> Vector:
        """Signs times magnitudes in [0.5, 1], scaled so that the product has the target size."""
        raw = rng.choice([-1.0, 1.0], self.slots) * rng.uniform(0.5, 1.0, self.slots)
        raw *= _TARGET_RMS / np.sqrt(np.mean((total * raw) ** 2))
        raw.flags.writeable = False
        return raw
