# SPDX-License-Identifier: Apache-2.0
"""Engines for SEAL's integers with uniform keys and operands, for measurements that need no secret."""

from __future__ import annotations

from .. import _core
from ..base.devices import prepare_device
from ..seal.engine import DeviceCiphertext, Engine
from ..seal.objects import Parameters

SEED = 2021


def uniform_engine(
    params: Parameters,
    device: str,
    *,
    threads: int = 0,
    scalar: bool = False,
    policy: str = "resident",
    steps: tuple[int, ...] = (1,),
) -> Engine:
    """An engine with uniform keys for products and rotations. Rings may be smaller than is secure.

    threads: of a CPU; 0: one for each processor. scalar: plain C++ and radix 2, on CPUs.
    """
    made = Engine.__new__(Engine)
    made.parameters = params
    made._core = _core.SealEngine.make(
        params._core, prepare_device(device), threads, True, scalar=scalar, policy=policy
    )
    made._core.use_uniform_keys([pow(3, each, 2 * params.n) for each in steps], SEED)
    return made


def uniform_ciphertext(engine: Engine, primes: int, number: int, scale: float) -> DeviceCiphertext:
    """Two polynomials of uniform residues; equal numbers give equal ones on every device."""
    return engine._hold(engine._core.uniform_ciphertext(primes, scale, SEED + 1000 + number))
