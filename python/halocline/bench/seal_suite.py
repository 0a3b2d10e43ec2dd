# SPDX-License-Identifier: Apache-2.0
"""Operations of SEAL in one thread: ours beside those of SEAL itself, through the wheel `seal-python`.

Processor time of the process, because other programs may run on the machine. Both take turns, a call each,
and the least time of each counts: what is more is due to the machine. Parameters are SEAL's own
(`CoeffModulus.BFVDefault`, 128 bits) for products and rotations, and four data primes of 50 bits for
transforms: SEAL transforms a BFV ciphertext of two polynomials, which is eight limbs, there and back.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import importlib.util
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..base.errors import MissingExtra
from ..base.option_values import Choice, Count, Several
from ..base.options import Options, option
from ..seal.objects import Parameters
from .keeping import SILENT, Json, Watcher
from .machine import load_average, processor
from .uniform_seal import uniform_ciphertext, uniform_engine

SCHEMA = 1
SUITE = "seal"
RINGS = ("14", "15")
SCALE = 2.0**40
TARGETS = {"multiply, relinearize, rescale": 2.6, "rotate": 2.6, "transforms of 50-bit primes": 3.0}
"""How many times as fast as SEAL each should be."""
_TRANSFORM_BITS = (50,) * 5
_MESSAGE = [0.5, -0.25]

Pair = tuple[str, Callable[[], Any], Callable[[], Any]]


@dataclasses.dataclass(frozen=True)
class SealOptions(Options):
    """Operations of SEAL on one thread."""

    subject: ClassVar[str] = "bench seal"

    log_n: Sequence[str] = option(RINGS, "log2 of the ring degrees.", Several(Choice(RINGS, "LOG2")))
    repetitions: int = option(20, "Calls of each operation of each side; the least time counts.", Count())


def run(options: SealOptions | None = None, watcher: Watcher = SILENT) -> Json:
    """The suite, as `--json` writes it. Raises MissingExtra without seal-python."""
    o = options or SealOptions()
    lib = _seal()

    content: Json = {
        "schema": SCHEMA,
        "suite": SUITE,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(),
        "load_before": load_average(),
        "repetitions": o.repetitions,
        "rows": [],
    }
    total = len(TARGETS) * len(o.log_n)
    for log_n in map(int, o.log_n):
        for pairs in (_operations(lib, 1 << log_n), _transforms(lib, 1 << log_n)):
            for name, theirs, ours in pairs:
                content["rows"].append({"log_n": log_n, "operation": name} | _times(name, theirs, ours, o))
                watcher.row("timing", content, len(content["rows"]), total)
    content["load_after"] = load_average()
    return content


def _seal() -> Any:
    if importlib.util.find_spec("seal") is None:
        raise MissingExtra("bench seal: needs seal-python; pip install seal-python==4.4.0")
    return importlib.import_module("seal")


def _times(name: str, theirs: Callable[[], Any], ours: Callable[[], Any], o: SealOptions) -> Json:
    """Least milliseconds of both, which take turns."""
    taken: dict[str, list[float]] = {"seal": [], "ours": []}
    for call in (theirs, ours):
        call()
    for _ in range(o.repetitions):
        for side, call in (("seal", theirs), ("ours", ours)):
            begin = time.process_time()
            call()
            taken[side].append(1e3 * (time.process_time() - begin))
    least = {f"{side}_ms": min(times) for side, times in taken.items()}
    return least | {"ratio": least["seal_ms"] / least["ours_ms"], "target": TARGETS[name]}


def _primes(moduli: Any) -> list[int]:
    return [each.value() for each in moduli]


def _operations(lib: Any, n: int) -> list[Pair]:
    """Products and rotations with SEAL's default primes."""
    moduli = lib.CoeffModulus.BFVDefault(n, lib.sec_level_type.tc128)
    chain = lib.EncryptionParameters(lib.scheme_type.ckks)
    chain.set_poly_modulus_degree(n)
    chain.set_coeff_modulus(moduli)
    context = lib.SEALContext(chain)
    keys = lib.KeyGenerator(context)
    relin, galois = keys.create_relin_keys(), lib.GaloisKeys()
    keys.create_galois_keys([1], galois)
    encryptor, on = lib.Encryptor(context, keys.create_public_key()), lib.Evaluator(context)
    plain = lib.CKKSEncoder(context).encode(_MESSAGE, SCALE)
    a, b = encryptor.encrypt(plain), encryptor.encrypt(plain)
    primes = _primes(moduli)
    engine = uniform_engine(Parameters(n, primes), "cpu", threads=1, policy="cached")
    x, y = (uniform_ciphertext(engine, len(primes) - 1, i, SCALE) for i in range(2))
    return [
        (
            "multiply, relinearize, rescale",
            lambda: on.rescale_to_next(on.relinearize(on.multiply(a, b), relin)),
            lambda: engine.rescale_to_next(engine.relinearize(engine.multiply(x, y))),
        ),
        ("rotate", lambda: on.rotate_vector(a, 1, galois), lambda: engine.rotate_vector(x, 1)),
    ]


def _transforms(lib: Any, n: int) -> list[Pair]:
    """Eight limbs of 50-bit primes to NTT form and back."""
    moduli = lib.CoeffModulus.Create(n, list(_TRANSFORM_BITS))
    chain = lib.EncryptionParameters(lib.scheme_type.bfv)
    chain.set_poly_modulus_degree(n)
    chain.set_coeff_modulus(moduli)
    chain.set_plain_modulus(lib.PlainModulus.Batching(n, 20))
    context = lib.SEALContext(chain)
    encryptor = lib.Encryptor(context, lib.KeyGenerator(context).create_public_key())
    cipher, on = encryptor.encrypt(lib.BatchEncoder(context).encode([1] * n)), lib.Evaluator(context)
    engine = uniform_engine(Parameters(n, _primes(moduli)), "cpu", threads=1, policy="cached")
    work = [uniform_ciphertext(engine, len(_TRANSFORM_BITS) - 1, 0, 1.0)._core]

    def theirs() -> None:
        on.transform_to_ntt_inplace(cipher)
        on.transform_from_ntt_inplace(cipher)

    def ours() -> None:
        engine._core.transform(work, False)
        engine._core.transform(work, True)

    return [("transforms of 50-bit primes", theirs, ours)]
