# SPDX-License-Identifier: Apache-2.0
"""Products of matrices of encrypted polynomials: the paper's Figure 20."""

from __future__ import annotations

from collections.abc import Callable

from ...bench.uniform_seal import uniform_ciphertext
from ...seal.engine import DeviceCiphertext, DeviceMatrix
from .rigs import Row, Step, chain, equal, make_engine, timed

SHAPES = {"100x100x1": (100, 100, 1), "10x9x8": (10, 9, 8)}
"""matMul_mxnxk: C += A B with A m by k, B k by n."""
PRIME_BITS = (60, 40, 60)
"""Two data primes: one product of scale 2^40, and its sums."""
LEVELS = 2
SCALE = 2.0**40


class Rig:
    """One matrix product on an engine."""

    def __init__(self, device: str, step: Step, log_n: int, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.on = make_engine(chain(1 << log_n, PRIME_BITS), device, step)
        rows, columns, inner = shape
        self.a = [[self._operand(1, i * inner + t) for t in range(inner)] for i in range(rows)]
        self.b = [[self._operand(2, t * columns + j) for j in range(columns)] for t in range(inner)]
        self.left, self.right = self.on.matrix(self.a), self.on.matrix(self.b)
        self.sums: list[list[DeviceCiphertext]] = []
        self.sum: DeviceMatrix | None = None

    def _operand(self, kind: int, number: int) -> DeviceCiphertext:
        return uniform_ciphertext(self.on, LEVELS, 100_000 * kind + number, SCALE)

    def separate(self) -> None:
        """C += A B by products and sums of ciphertexts, a row of C at a time."""
        rows, columns, inner = self.shape
        fresh = not self.sums
        for i in range(rows):
            for t in range(inner):
                products = self.on.multiply([self.a[i][t]] * columns, self.b[t])
                if fresh and t == 0:
                    self.sums.append(products)
                else:
                    self.sums[i] = self.on.add(self.sums[i], products)

    def fused(self) -> None:
        """C += A B in one operation with one reduction for each word."""
        if self.sum is None:
            self.sum = self.on.multiply_matrices(self.left, self.right)
        else:
            self.on.add_matrix_product(self.sum, self.left, self.right)

    def floors(self) -> dict[str, int]:
        """Bytes of C, read and written, and of A and B, read once; products of words."""
        rows, columns, inner = self.shape
        words = LEVELS * self.on.parameters.n
        entries = 6 * rows * columns + 2 * rows * inner + 2 * inner * columns
        return {"bytes": 8 * words * entries, "products": 4 * rows * columns * inner * words}


def is_correct(device: str, log_n: int) -> bool:
    """Whether a small product, taken twice, has the integers of the scalar kernels, in both ways."""
    shape = (3, 2, 5)
    reference = Rig("cpu", Step("scalar", scalar=True), log_n, shape)
    tested = Rig(device, Step("device"), log_n, shape)
    for _ in range(2):
        reference.separate()
        tested.separate()
        tested.fused()
    wanted = [each for row in reference.sums for each in row]
    assert tested.sum is not None
    both = [each for row in tested.sums for each in row], tested.sum.entries()
    return all(equal(ours, theirs) for found in both for ours, theirs in zip(found, wanted, strict=True))


def time_steps(device: str, log_n: int, name: str, samples: int) -> list[Callable[[], Row]]:
    """What measures the rows of a shape."""
    cuda = device.startswith("cuda")
    steps = [] if cuda else [Step("naive", scalar=True, threads=1, policy="async")]
    steps += [Step("no memory cache", policy="async"), Step("memory cache", policy="cached"), Step("fused")]

    def measure(step: Step) -> Row:
        rig = Rig(device, step, log_n, SHAPES[name])
        call = rig.fused if step.name == "fused" else rig.separate
        got = timed([rig.on], lambda _: call(), samples, False)
        return {"product": name, "step": step.name} | got | rig.floors()

    return [lambda step=step: measure(step) for step in steps]  # type: ignore[misc]
