# SPDX-License-Identifier: Apache-2.0
"""SEAL itself, through the wheels `seal-python` and TenSEAL, which exchange objects with us by files."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from halocline import seal

PEERS = "install tools/requirements/peers.txt"


def is_prime(number: int) -> bool:
    """Miller and Rabin with bases that are enough for 64 bits."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, odd, number)
        if x not in (1, number - 1) and not any((x := x * x % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


def primes_below(bound: int, n: int, count: int = 1) -> list[int]:
    """Primes that are 1 modulo 2 n, falling."""
    found: list[int] = []
    candidate = (bound - 2) // (2 * n) * (2 * n) + 1
    while len(found) < count:
        if is_prime(candidate):
            found.append(candidate)
        candidate -= 2 * n
    return found


def seal_python() -> Any:
    """The module of seal-python, or a skip that says what is missing."""
    if importlib.util.find_spec("seal") is None:
        pytest.skip(f"seal-python is not installed: {PEERS}")
    return importlib.import_module("seal")


def sealapi() -> Any:
    """SEAL's interface in TenSEAL, or a skip that says what is missing."""
    if importlib.util.find_spec("tenseal") is None:
        pytest.skip(f"tenseal is not installed: {PEERS}")
    return importlib.import_module("tenseal.sealapi")


class Peer:
    """A SEAL client and evaluator, and an engine of ours with the same keys."""

    def __init__(self, folder: Path, n: int, bits: list[int], **engine: Any) -> None:
        self.lib = lib = seal_python()
        self.folder = folder
        chain = lib.EncryptionParameters(lib.scheme_type.ckks)
        chain.set_poly_modulus_degree(n)
        chain.set_coeff_modulus(lib.CoeffModulus.Create(n, bits))
        self.context = lib.SEALContext(chain)
        assert self.context.parameters_set(), self.context.parameter_error_message()
        generator = lib.KeyGenerator(self.context)
        self.relin, self.galois = generator.create_relin_keys(), generator.create_galois_keys()
        self.secret = generator.secret_key()
        self.encoder, self.evaluator = lib.CKKSEncoder(self.context), lib.Evaluator(self.context)
        self.encryptor = lib.Encryptor(self.context, generator.create_public_key(), self.secret)
        self.decryptor = lib.Decryptor(self.context, self.secret)
        chain.save(str(folder / "parameters"))
        self.params = seal.load(folder / "parameters", seal.Parameters)
        self.engine = seal.Engine(
            self.params,
            relin_keys=self.ours(self.relin, seal.RelinKeys),
            galois_keys=self.ours(self.galois, seal.GaloisKeys),
            **engine,
        )

    def ours(self, theirs: Any, kind: Any) -> Any:
        """An object of SEAL as ours."""
        theirs.save(str(self.folder / "exchange"))
        return seal.load(self.folder / "exchange", kind, self.params)

    def theirs(self, ours: Any) -> Any:
        """A ciphertext of ours as SEAL's."""
        seal.save(self.folder / "exchange", ours)
        made = self.lib.Ciphertext()
        made.load(self.context, str(self.folder / "exchange"))
        return made

    def encode(self, values: Any, scale: float, primes: int) -> tuple[Any, seal.DevicePlaintext]:
        """A plaintext with `primes` primes on both sides."""
        plain = self.encoder.encode(np.asarray(values).tolist(), scale)
        for _ in range(self.params.data_primes - primes):
            self.evaluator.mod_switch_to_next_inplace(plain)
        return plain, self.engine.load(self.ours(plain, seal.Plaintext))

    def encrypt(self, values: Any, scale: float, primes: int) -> tuple[Any, seal.DeviceCiphertext]:
        """A ciphertext with `primes` primes on both sides."""
        cipher = self.encryptor.encrypt(self.encode(values, scale, self.params.data_primes)[0])
        for _ in range(self.params.data_primes - primes):
            self.evaluator.mod_switch_to_next_inplace(cipher)
        return cipher, self.engine.load(self.ours(cipher, seal.Ciphertext))

    def check_equal(self, ours: seal.DeviceCiphertext, theirs: Any, what: str) -> None:
        """Every residue, the scale, and the bytes of the file are equal."""
        host = ours.store()
        wanted = self.ours(theirs, seal.Ciphertext)
        assert host.residues.shape == wanted.residues.shape, what
        different = np.argwhere(host.residues != wanted.residues)
        assert different.size == 0, f"{what}: first differs at {different[0]}"
        assert seal.to_bytes(host) == (self.folder / "exchange").read_bytes(), what
