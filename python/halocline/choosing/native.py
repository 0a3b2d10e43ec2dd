# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the native engine: ghosts for levels, scales and keys, numbers with noise for contents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import _core
from ..base.errors import InvalidArgument
from ..base.values import ComplexVector
from ..circuits.bootstrapping import Bootstrapper
from ..circuits.polynomial import Polynomial
from .bootstraps import BootstrapNoise
from .ciphertext import SimulatedCiphertext
from .linear_maps import linear_map, output_of
from .noise import FACTOR_BITS, NoiseSource, Rows
from .polynomials import evaluate_chain, evaluate_polynomial

_INTEGER_RATIO = 2.0**30
"""From this ratio of scales on an addition lifts one operand by an integer instead of a division."""


class SimulatedCore:
    """What the native engine is to ciphertexts, on numbers.

    Each operation is done on a ghost engine, which decides about levels and scales and refuses what the real
    one refuses, and on rows of numbers, to which the noise of the operation is added.
    """

    is_ghost = False
    moves = False
    budget_bytes = 0

    def __init__(
        self,
        ghost: _core.Engine,
        noise: NoiseSource,
        encoded_by: Callable[[Any], Any],
        mode: str | None = None,
    ) -> None:
        self.ghost = ghost
        self.noise = noise
        self._encoded_by, self._mode = encoded_by, mode
        self.bootstraps = 0
        """Ciphertexts that were bootstrapped."""
        self.largest_message = 0.0
        """The largest coefficient of a message that was bootstrapped."""
        self.failures = 0.0
        """Bound on the probability that one of these bootstraps fails."""
        self.needs: dict[int, float] = {}
        """For each level, the bits that its modulus needs for the values that were seen there."""
        self.overflow = ""
        """The first result that the modulus of its level, or a bootstrap, cannot hold; empty without one."""
        self.lowest = ghost.params.top_level
        """Lowest level that was seen."""

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidArgument(
            f"simulate: a program on numbers cannot use '{name}' of the engine; leave it to real runs"
        )

    # What the ghost answers

    @property
    def params(self) -> _core.Params:
        """Parameters, like the ghost's."""
        return self.ghost.params

    @property
    def manual(self) -> bool:
        """Whether products stay as they are."""
        return self.ghost.manual

    @manual.setter
    def manual(self, wanted: bool) -> None:
        self.ghost.manual = wanted

    @property
    def key_id(self) -> str | None:
        """Simulations have no keys."""
        return None

    def list_keys(self) -> list[tuple[int, int]]:
        """None: nothing is encrypted."""
        return []

    def needed_keys(self) -> list[tuple[int, int]]:
        """The keys that a real run needs."""
        return self.ghost.needed_keys()

    def describe(self) -> dict[str, Any]:
        """What the ghost says."""
        return self.ghost.describe()

    def take_key_uses(self) -> dict[int, tuple[int, int]]:
        """Of the ghost."""
        return self.ghost.take_key_uses()

    def statistics(self) -> dict[str, Any]:
        """Memory of the ghost."""
        return self.ghost.statistics()

    def link_statistics(self) -> list[Any]:
        """None."""
        return []

    def plain_scale(self, a: Any) -> float:
        """Scale of a factor."""
        return self.ghost.plain_scale(a.ghost)

    # Contents

    def made(self, ghost: _core.Ciphertext, rows: Rows, what: str) -> SimulatedCiphertext:
        """A result: checked to fit in the modulus of its level."""
        largest = float(np.abs(rows[0]).max())
        if not math.isfinite(largest):
            raise InvalidArgument(f"simulate: {what} gives values that are not finite")
        self.lowest = min(self.lowest, ghost.level)
        modulus = ghost.params.level_row(ghost.level)["log2_modulus"]
        needed = math.log2(largest * ghost.scale) + 1.0 if largest > 0 else 0.0
        self.needs[ghost.level] = max(self.needs.get(ghost.level, 0.0), needed)
        if needed > modulus and not self.overflow:
            most = 2.0 ** (modulus - 1) / ghost.scale
            self.overflow = (
                f"{what} gives values up to {largest:.4g} at level {ghost.level}, where the modulus holds up "
                f"to {most:.4g}"
            )
        return SimulatedCiphertext.of(ghost, rows)

    def room_bits(self) -> float:
        """The modulus of the lowest level seen over its scale that the values need, as a number of bits."""
        rows = {level: self.params.level_row(level) for level in (*self.needs, self.lowest)}
        lowest = rows[self.lowest]
        above = (need - rows[level]["log2_modulus"] for level, need in self.needs.items())
        return float(max(above, default=0.0) + lowest["log2_modulus"] - math.log2(lowest["scale"]))

    def widened(self, a: Any, slots: int) -> Rows:
        """Rows of an operand where a result has `slots` slots, at least its own: its values repeat.

        The errors that the repeated slots have in the ring besides, and that its own decoding leaves out,
        become visible.
        """
        copies = slots // a.slots
        if copies <= 1:
            return a.rows  # type: ignore[no-any-return]
        rows: Rows = np.tile(a.rows, (1, copies))
        error = np.mean(np.abs(a.rows[1:] - a.rows[0]) ** 2, axis=1)
        variance = np.zeros((len(rows), slots))
        variance[1:] = ((copies - 1) * error)[:, np.newaxis]
        return rows + self.noise.shaped(variance)

    def _aligned(self, a: Any, level: int, scale: float, slots: int) -> Rows:
        """Rows of an operand that was brought to a level and scale, and to the slots of the result."""
        rows = self.widened(a, slots)
        if a.level == level and abs(a.scale - scale) <= 2.0**-30 * scale:
            return rows
        if a.level == level and scale >= a.scale * _INTEGER_RATIO:
            return rows  # multiplied by an integer, exactly as far as the scale's doubles go
        return rows * self.noise.factor(FACTOR_BITS) + self.noise.division(slots, scale)

    # Sums

    def add(self, a: Any, b: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.add(a.ghost, b.ghost)
        to = ghost.level, ghost.scale, ghost.slots
        return self.made(ghost, self._aligned(a, *to) + self._aligned(b, *to), "a sum")

    def sub(self, a: Any, b: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.sub(a.ghost, b.ghost)
        to = ghost.level, ghost.scale, ghost.slots
        return self.made(ghost, self._aligned(a, *to) - self._aligned(b, *to), "a difference")

    def negate(self, a: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        return SimulatedCiphertext.of(self.ghost.negate(a.ghost), -a.rows)

    def add_values(self, a: Any, values: ComplexVector) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.add_values(a.ghost, values)
        return self.made(ghost, a.rows + self.noise.encoded(values, ghost.slots, ghost.scale), "a sum")

    def add_constant(self, a: Any, constant: complex) -> SimulatedCiphertext:
        """See Ciphertext."""
        return self.made(self.ghost.add_constant(a.ghost, constant), a.rows + constant, "a sum")

    # Products

    def multiply(self, a: Any, b: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        return self.dot([a], [b])

    def unfinished_product(self, a: Any, b: Any) -> SimulatedCiphertext:
        """The product before its key switch and division."""
        return self.unfinished_dot([a], [b])

    def dot(self, a: Sequence[Any], b: Sequence[Any]) -> SimulatedCiphertext:
        """See Engine."""
        if self.manual:
            ghost = self.ghost.dot([each.ghost for each in a], [each.ghost for each in b])
            return self.made(ghost, self._products(a, b, ghost.slots), "a product")
        return self.finish_product(self.unfinished_dot(a, b))

    def unfinished_dot(self, a: Sequence[Any], b: Sequence[Any]) -> SimulatedCiphertext:
        """Sum of products before the key switch and the division."""
        ghost = self.ghost.unfinished_dot([each.ghost for each in a], [each.ghost for each in b])
        return SimulatedCiphertext.of(ghost, self._products(a, b, ghost.slots))

    def _products(self, a: Sequence[Any], b: Sequence[Any], slots: int) -> Rows:
        level = min(each.level for each in (*a, *b))
        canonical = self.params.level_row(level)["scale"]
        total = np.zeros((self.noise.rows, slots), dtype=np.complex128)
        for left, right in zip(a, b, strict=True):
            factors = []
            for each in (left, right):
                scale = each.scale if each.level == level else canonical
                factors.append(self._aligned(each, level, scale, slots))
            total += factors[0] * (factors[0] if left is right else factors[1])
        return total

    def finish_product(self, a: Any) -> SimulatedCiphertext:
        """Relinearized and divided in one step, whose key product is divided as well and vanishes."""
        ghost = self.ghost.finish_product(a.ghost)
        return self.made(ghost, a.rows + self.noise.division(ghost.slots, ghost.scale), "a product")

    def multiply_values(self, a: Any, values: ComplexVector) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.multiply_values(a.ghost, values)
        encoded = self.noise.encoded(values, ghost.slots, self.plain_scale(a))
        return self.made(ghost, self._divided(a, ghost, a.rows * encoded), "a product")

    def multiply_constant(self, a: Any, constant: complex) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.multiply_constant(a.ghost, constant)
        if ghost.level == a.level and ghost.scale == a.scale:  # a small integer, which is exact
            return self.made(ghost, a.rows * constant, "a product")
        exact = self.noise.factor(math.log2(self.plain_scale(a))) - 1.0
        return self.made(ghost, self._divided(a, ghost, a.rows * (constant + exact)), "a product")

    def _divided(self, a: Any, ghost: _core.Ciphertext, rows: Rows) -> Rows:
        """Rows of a product with a plain factor, which automatic mode divides by primes."""
        if ghost.level == a.level:
            return rows
        return rows + self.noise.division(ghost.slots, ghost.scale)

    def multiply_by_i(self, a: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        return SimulatedCiphertext.of(self.ghost.multiply_by_i(a.ghost), a.rows * 1j)

    # Maintenance

    def relinearize(self, a: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.relinearize(a.ghost)
        return SimulatedCiphertext.of(
            ghost, a.rows + self.noise.key_switch(ghost.level, ghost.slots, ghost.scale)
        )

    def rescale(self, a: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.rescale(a.ghost)
        return self.made(ghost, a.rows + self.noise.division(ghost.slots, ghost.scale), "a rescale")

    def drop_level(self, a: Any, level: int) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.drop_level(a.ghost, level)
        return self.made(ghost, self._aligned(a, ghost.level, ghost.scale, ghost.slots), "a change of level")

    def adjust(self, a: Any, level: int, scale: float) -> SimulatedCiphertext:
        """See Ciphertext."""
        ghost = self.ghost.adjust(a.ghost, level, scale)
        return self.made(ghost, self._aligned(a, ghost.level, ghost.scale, ghost.slots), "a change of level")

    def with_slots(self, a: Any, slots: int) -> SimulatedCiphertext:
        """See Ciphertext: more slots repeat the values, fewer are the means of those that fall together."""
        ghost = self.ghost.with_slots(a.ghost, slots)
        if slots >= a.slots:
            return self.made(ghost, self.widened(a, slots), "a change of slots")
        folded = a.rows.reshape(len(a.rows), a.slots // slots, slots).mean(axis=1)
        return self.made(ghost, folded, "a change of slots")

    # Rotations

    def rotate(self, a: Any, steps: int) -> SimulatedCiphertext:
        """See Ciphertext."""
        return self._switched(self.ghost.rotate(a.ghost, steps), np.roll(a.rows, -steps, axis=1))

    def _switched(self, ghost: _core.Ciphertext, rows: Rows) -> SimulatedCiphertext:
        return SimulatedCiphertext.of(
            ghost, rows + self.noise.key_switch(ghost.level, ghost.slots, ghost.scale)
        )

    def rotate_many(self, a: Any, steps: Sequence[int]) -> list[SimulatedCiphertext]:
        """See Engine."""
        ghosts = self.ghost.rotate_many(a.ghost, steps)
        made = []
        for ghost, step in zip(ghosts, steps, strict=True):
            moved = step % a.slots != 0
            rolled = np.roll(a.rows, -step, axis=1)
            made.append(self._switched(ghost, rolled) if moved else SimulatedCiphertext.of(ghost, a.rows))
        return made

    def conjugate(self, a: Any) -> SimulatedCiphertext:
        """See Ciphertext."""
        return self._switched(self.ghost.conjugate(a.ghost), a.rows.conj())

    def sum_rotations(self, a: Any, steps: Sequence[int]) -> SimulatedCiphertext:
        """See Engine: with the noise of lone rotations, which is more."""
        ghost = self.ghost.sum_rotations(a.ghost, steps)
        return self.made(ghost, self.added(a.rows, ghost, steps), "a sum")

    def added(self, rows: Rows, ghost: _core.Ciphertext, steps: Sequence[int]) -> Rows:
        """Sum of the rotations of rows, with a key switch for each."""
        total: Rows = np.zeros_like(rows)
        for step in steps:
            total = total + np.roll(rows, -step, axis=1)
            if step % ghost.slots != 0:
                total = total + self.noise.key_switch(ghost.level, ghost.slots, ghost.scale)
        return total

    def inner_sum(self, a: Any, stride: int, count: int, radix: int = 2) -> SimulatedCiphertext:
        """See Engine: by doubling or by stages, as the evaluator does it."""
        ghost = self.ghost.inner_sum(a.ghost, stride, count, radix)
        if radix == 2:
            return self.made(ghost, self.summed(a.rows, ghost, stride, count), "a sum")
        rows = a.rows
        for steps in _core.sum_stages(stride, count, radix):
            rows = self.added(rows, ghost, steps)
        return self.made(ghost, rows, "a sum")

    def summed(self, rows: Rows, ghost: _core.Ciphertext, stride: int, count: int) -> Rows:
        """Sum of `count` rotations of rows by multiples of a stride, with a key switch for each."""

        def rotated(values: Rows, steps: int) -> Rows:
            if steps % ghost.slots == 0:
                return values
            moved: Rows = np.roll(values, -steps, axis=1)
            return moved + self.noise.key_switch(ghost.level, ghost.slots, ghost.scale)

        block, length, done = rows, 1, 0
        total: Rows | None = None
        while count:
            if count & 1:
                shifted = block if done == 0 else rotated(block, done * stride)
                total = shifted if total is None else total + shifted
                done += length
            if count > 1:
                block = block + rotated(block, length * stride)
                length *= 2
            count >>= 1
        assert total is not None  # counts are positive
        return total

    # Circuits

    def load(self, ciphertext: Any) -> NoReturn:
        """Refused: what is loaded is encrypted."""
        raise InvalidArgument("simulate: a ciphertext of another engine; give numbers as inputs")

    def apply_circuit(self, circuit: _core.Circuit, inputs: Sequence[Any]) -> list[SimulatedCiphertext]:
        """Linear maps with plain weights."""
        source = self._encoded_by(circuit)
        made = linear_map(source)
        ghosts = self.ghost.apply_circuit(circuit, [each.ghost for each in inputs])
        level = min(each.level for each in inputs)
        canonical = self.params.level_row(level)["scale"]
        rows = [
            each.rows if each.level == level else self._aligned(each, level, canonical, each.slots)
            for each in inputs
        ]
        switches = made.switches(circuit, self._mode or source._mode, self.params, ghosts[0].slots)
        outputs = []
        for o, ghost in enumerate(ghosts):
            result = output_of(self.noise, made.cells[o], rows, (ghost, level), switches)
            if made.fold[1] > 1:
                result = self.summed(result, ghost, *made.fold)
            outputs.append(self.made(ghost, result + (made.bias[o] if made.bias else 0.0), "a linear map"))
        return outputs

    def bootstrap(self, bootstrapper: _core.Bootstrapper, inputs: Sequence[Any]) -> list[SimulatedCiphertext]:
        """The messages, with the errors that the bootstrapper forecasts."""
        source: Bootstrapper = self._encoded_by(bootstrapper)
        options, noise = source.options, BootstrapNoise.of(source)
        ghosts = self.ghost.bootstrap(bootstrapper, [each.ghost for each in inputs])
        outputs = []
        for each, ghost in zip(inputs, ghosts, strict=True):
            self._expect_message(source, each.rows[0])
            rows: Rows = each.rows.real.astype(np.complex128) if options.real else each.rows.copy()
            rows[1:] += noise.error_of(rows[0])
            variance = np.full((self.noise.rows, ghost.slots), 2.0 * noise.deviation**2)
            outputs.append(self.made(ghost, rows + self.noise.shaped(variance), "a bootstrap"))
            self.bootstraps += 1
            self.failures += options.iterations * 2.0**source.log2_failure_probability
        return outputs

    def _expect_message(self, source: Bootstrapper, values: ComplexVector) -> None:
        """Notes a message that exceeds what a bootstrapper is made for."""
        largest = source.largest_coefficient(values)
        self.largest_message = max(self.largest_message, largest)
        if largest > source.options.message_bound and not self.overflow:
            self.overflow = (
                f"a bootstrap gets a message with coefficients up to {largest:.4g}, its message_bound is "
                f"{source.options.message_bound:.4g}"
            )

    # Polynomials and comparisons

    def polynomial(
        self,
        x: Any,
        coefficients: ComplexVector,
        chebyshev: bool,
        lower: float,
        upper: float,
        level: int | None,
    ) -> SimulatedCiphertext:
        """See Engine."""
        ghost = self.ghost.polynomial(x.ghost, coefficients, chebyshev, lower, upper, level)
        p = Polynomial(coefficients, "chebyshev" if chebyshev else "monomial", (lower, upper))
        return self.made(ghost, evaluate_polynomial(self.noise, p, x.rows, ghost), "a polynomial")

    def compared(self, name: str, cts: Sequence[Any], alpha: int, bound: float) -> SimulatedCiphertext:
        """A comparison of one or two ciphertexts."""
        ghost = getattr(self.ghost, name)(*(each.ghost for each in cts), alpha, bound)
        first = cts[0]
        if len(cts) == 2:
            first = self.sub(*cts)
        rows = evaluate_chain(self.noise, name, alpha, bound, first.rows, ghost)
        if name in ("maximum", "minimum"):
            other = cts[1] if name == "maximum" else cts[0]
            to = ghost.level, ghost.scale, ghost.slots
            rows = self._aligned(other, *to) + (rows if name == "maximum" else -rows)
        return self.made(ghost, rows, name)

    def sign(self, x: Any, alpha: int, bound: float) -> SimulatedCiphertext:
        """See Engine."""
        return self.compared("sign", [x], alpha, bound)

    def step(self, x: Any, alpha: int, bound: float) -> SimulatedCiphertext:
        """See Engine."""
        return self.compared("step", [x], alpha, bound)

    def relu(self, x: Any, alpha: int, bound: float) -> SimulatedCiphertext:
        """See Engine."""
        return self.compared("relu", [x], alpha, bound)

    def compare(self, a: Any, b: Any, alpha: int, bound: float) -> SimulatedCiphertext:
        """See Engine."""
        return self.compared("compare", [a, b], alpha, bound)

    def maximum(self, a: Any, b: Any, alpha: int, bound: float) -> SimulatedCiphertext:
        """See Engine."""
        return self.compared("maximum", [a, b], alpha, bound)

    def minimum(self, a: Any, b: Any, alpha: int, bound: float) -> SimulatedCiphertext:
        """See Engine."""
        return self.compared("minimum", [a, b], alpha, bound)
