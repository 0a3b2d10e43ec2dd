# SPDX-License-Identifier: Apache-2.0
"""The five routines of the paper's Figures 17 and 19."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...bench.uniform_seal import uniform_ciphertext
from ...seal.engine import DeviceCiphertext, Engine
from .rigs import Row, Step, chain, equal, make_engine, timed

LEVELS = 8
"""Data primes, the paper's L."""
PRIME_BITS = 55
"""As SEAL's default primes for N = 32K; the special prime too."""
SCALE = 2.0**40

List = list[DeviceCiphertext]


def _mul_lin(on: Engine, a: List, b: List, c: List) -> List:
    return on.relinearize(on.multiply(a, b))


def _mul_lin_rs(on: Engine, a: List, b: List, c: List) -> List:
    return on.rescale_to_next(on.relinearize(on.multiply(a, b)))


def _sqr_lin_rs(on: Engine, a: List, b: List, c: List) -> List:
    return on.rescale_to_next(on.relinearize(on.square(a)))


def _mul_lin_rs_mod_sw_add(on: Engine, a: List, b: List, c: List) -> List:
    products = on.rescale_to_next(on.relinearize(on.multiply(a, b)))
    lower = on.mod_switch_to_next(c)
    for product, each in zip(products, lower, strict=True):
        each.scale = product.scale
    return on.add(products, lower)


def _rotate(on: Engine, a: List, b: List, c: List) -> List:
    return on.rotate_vector(a, 1)


ROUTINES: dict[str, Callable[[Engine, List, List, List], List]] = {
    "MulLin": _mul_lin,
    "MulLinRS": _mul_lin_rs,
    "SqrLinRS": _sqr_lin_rs,
    "MulLinRSModSwAdd": _mul_lin_rs_mod_sw_add,
    "Rotate": _rotate,
}


class Rig:
    """Engines of one step, with operands."""

    def __init__(self, device: str, step: Step, log_n: int) -> None:
        self.step = step
        params = chain(1 << log_n, [PRIME_BITS] * (LEVELS + 1))
        self.engines = [make_engine(params, device, step) for _ in range(step.queues)]
        self._operands = [
            [[uniform_ciphertext(on, LEVELS, 3 * i + k, SCALE) for i in range(step.batch)] for k in range(3)]
            for on in self.engines
        ]

    def run(self, name: str, queue: int = 0) -> List:
        """The routine on all operands of an engine."""
        a, b, c = self._operands[queue]
        return ROUTINES[name](self.engines[queue], a, b, c)

    def time(self, name: str, samples: int) -> Row:
        """A row: microseconds for one ciphertext."""
        got = timed(self.engines, lambda queue: self.run(name, queue), samples, self.step.graph)
        count = self.step.batch * self.step.queues
        each = {key: got[key] / count for key in ("us", "min_us", "max_us")}
        return (
            {"routine": name, "step": self.step.name, "ciphertexts": count} | each | {"calls": got["calls"]}
        )


def differing(device: str, step: Step, log_n: int) -> list[str]:
    """Routines whose integers differ between a device and the scalar kernels: none."""
    reference = Rig("cpu", Step("scalar", scalar=True), log_n)
    tested = Rig(device, step, log_n)
    found = []
    for name in ROUTINES:
        wanted = reference.run(name)[0]
        if not equal(tested.run(name)[0], wanted):
            found.append(name)
    return found


def floors(log_n: int) -> dict[str, Any]:
    """Transforms of one limb in MulLinRS: those of the digits, of two divisions by P, and of the rescale."""
    switch = LEVELS + LEVELS * LEVELS + 2 + 2 * LEVELS
    transforms = switch + 2 + 2 * (LEVELS - 1)
    return {"transforms": transforms, "butterflies": transforms * (log_n << (log_n - 1))}
