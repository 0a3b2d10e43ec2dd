# SPDX-License-Identifier: Apache-2.0
"""Whole processes of the paper's Figure 20: encode, encrypt, C += A B, decrypt, decode.

The client is SEAL itself (`seal-python`), on the host in one thread, as in the paper; objects cross as
bytes of SEAL. The first step leaves the products to SEAL too.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.errors import CorruptData, MissingExtra
from ...bench.uniform_seal import uniform_engine
from ...seal.engine import DeviceCiphertext, Engine
from ...seal.files import from_bytes, to_bytes
from ...seal.objects import Ciphertext, Parameters
from . import matrices
from .rigs import Row, Step

STAGES = ("encode_encrypt", "load", "compute", "store", "decrypt_decode")
"""Parts of a process, in order; each row has their seconds."""
SEAL_ALONE = "SEAL on one thread"
TOLERANCE = 1e-4
"""Of decoded slots, which lie in [-k, k] for k products."""

Slots = npt.NDArray[np.float64]
Values = list[list[Slots]]


def seal_python() -> Any:
    """The module of seal-python. Raises MissingExtra."""
    if importlib.util.find_spec("seal") is None:
        raise MissingExtra("paper xehe: processes need seal-python; pip install seal-python==4.4.0")
    return importlib.import_module("seal")


class Client:
    """Keys, and values of the matrices."""

    def __init__(self, log_n: int, shape: tuple[int, int, int]) -> None:
        self.lib = lib = seal_python()
        self.shape = rows, columns, inner = shape
        chain = lib.EncryptionParameters(lib.scheme_type.ckks)
        chain.set_poly_modulus_degree(1 << log_n)
        chain.set_coeff_modulus(lib.CoeffModulus.Create(1 << log_n, list(matrices.PRIME_BITS)))
        self.context = lib.SEALContext(chain)
        keys = lib.KeyGenerator(self.context)
        self.encoder, self.evaluator = lib.CKKSEncoder(self.context), lib.Evaluator(self.context)
        self.encryptor = lib.Encryptor(self.context, keys.create_public_key())
        self.decryptor = lib.Decryptor(self.context, keys.secret_key())
        self.parameters = from_bytes(chain.to_bytes(), Parameters)
        random = np.random.default_rng(1)
        self.a, self.b = (
            [[random.uniform(-1, 1, 1 << (log_n - 1)) for _ in range(width)] for _ in range(height)]
            for height, width in ((rows, inner), (inner, columns))
        )

    def encrypt(self, values: Values) -> list[list[Any]]:
        """Ciphertexts of a matrix."""
        encode, encrypt = self.encoder.encode, self.encryptor.encrypt
        return [[encrypt(encode(each, matrices.SCALE)) for each in row] for row in values]

    def decrypt(self, cipher: Any) -> Slots:
        """The message."""
        return np.asarray(self.encoder.decode(self.decryptor.decrypt(cipher)))

    def error(self, found: Slots, row: int, column: int) -> float:
        """Largest error of an entry of the product."""
        wanted = sum(self.a[row][t] * self.b[t][column] for t in range(self.shape[2]))
        return float(np.abs(found - wanted).max())


class Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    def run(self, stage: str, work: Callable[..., Any], *given: Any) -> Any:
        """Adds the time of `work(*given)` to a stage."""
        begin = time.perf_counter()
        made = work(*given)
        self.seconds[stage] += time.perf_counter() - begin
        return made


def _on_device(client: Client, engine: Engine, fused: bool, clock: Clock) -> Iterator[Any]:
    """The entries of the product as ciphertexts of SEAL, row by row; computed on an engine."""
    rows, columns, inner = client.shape
    fresh = [clock.run("encode_encrypt", client.encrypt, of) for of in (client.a, client.b)]

    def load(of: list[list[Any]]) -> list[list[DeviceCiphertext]]:
        read = engine.parameters
        return [[engine.load(from_bytes(each.to_string(), Ciphertext, read)) for each in row] for row in of]

    a, b = (clock.run("load", load, of) for of in fresh)

    def compute() -> list[list[DeviceCiphertext]] | Any:
        if fused:
            made: Any = engine.multiply_matrices(engine.matrix(a), engine.matrix(b))
        else:
            made = []
            for i in range(rows):
                sums = engine.multiply([a[i][0]] * columns, b[0])
                for t in range(1, inner):
                    sums = engine.add(sums, engine.multiply([a[i][t]] * columns, b[t]))
                made.append(sums)
        engine.wait()
        return made

    product = clock.run("compute", compute)
    for i in range(rows):
        numbers = range(i * columns, (i + 1) * columns)
        entries = product.entries(list(numbers)) if fused else product[i]
        for each in entries:
            made = client.lib.Ciphertext()
            stored = clock.run("store", to_bytes, each)
            clock.run("store", made.load_bytes, client.context, stored)
            yield made


def _on_seal(client: Client, clock: Clock) -> Iterator[Any]:
    """The same by SEAL's evaluator."""
    rows, columns, inner = client.shape
    a, b = (clock.run("encode_encrypt", client.encrypt, of) for of in (client.a, client.b))
    by = client.evaluator

    def entry(i: int, j: int) -> Any:
        made = by.multiply(a[i][0], b[0][j])
        for t in range(1, inner):
            by.add_inplace(made, by.multiply(a[i][t], b[t][j]))
        return made

    for i in range(rows):
        for j in range(columns):
            yield clock.run("compute", entry, i, j)


def _once(client: Client, entries: Iterator[Any], clock: Clock) -> None:
    """A whole process. Raises CorruptData for a wrong result."""
    for number, cipher in enumerate(entries):
        found = clock.run("decrypt_decode", client.decrypt, cipher)
        error = client.error(found, *divmod(number, client.shape[1]))
        if error > TOLERANCE * client.shape[2]:
            raise CorruptData(f"paper xehe: entry {number} of a matrix product is wrong by {error:.3g}")


STEPS = (
    Step(SEAL_ALONE),
    Step("no memory cache", policy="async"),
    Step("memory cache", policy="cached"),
    Step("fused"),
)
"""SEAL alone, then the paper's steps."""


def time_process(device: str, step: Step, log_n: int, name: str, samples: int) -> Row:
    """Median microseconds of whole processes, and seconds of their stages in the median one.

    Checks of results are not timed; keys and the engine are made before.
    """
    client = Client(log_n, matrices.SHAPES[name])
    engine = None
    if step.name != SEAL_ALONE:
        engine = uniform_engine(client.parameters, device, policy=step.policy)
    found = []
    for _ in range(samples):
        clock = Clock()
        source = (
            _on_seal(client, clock)
            if engine is None
            else _on_device(client, engine, step.name == "fused", clock)
        )
        _once(client, source, clock)
        found.append(clock.seconds)
    totals = [1e6 * sum(each.values()) for each in found]
    middle = found[totals.index(statistics.median_low(totals))]
    stages = {f"{stage}_us": 1e6 * seconds for stage, seconds in middle.items()}
    return {"product": name, "step": step.name, "us": statistics.median(totals), "samples": samples} | stages
