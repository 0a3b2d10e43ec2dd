# SPDX-License-Identifier: Apache-2.0
"""The other side of test_peer.cpp: SEAL itself, through seal-python.

`peer.py write FOLDER` makes keys and objects, and `peer.py contexts FOLDER` writes what SEAL says of random
parameters. The exit status is 77 without seal-python.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

try:
    import numpy
    import seal
except ImportError:
    sys.exit(77)

DEGREE, BITS = 4096, [36, 36, 37]


def make_context() -> seal.SEALContext:
    """The parameters of the test."""
    parms = seal.EncryptionParameters(seal.scheme_type.ckks)
    parms.set_poly_modulus_degree(DEGREE)
    parms.set_coeff_modulus(seal.CoeffModulus.Create(DEGREE, BITS))
    return seal.SEALContext(parms)


def write(folder: Path) -> None:
    """One object of each kind."""
    context = make_context()
    keygen = seal.KeyGenerator(context)
    public, relin, galois = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
    keygen.create_public_key(public)
    keygen.create_relin_keys(relin)
    keygen.create_galois_keys([1], galois)
    plain = seal.CKKSEncoder(context).encode(numpy.array([1.0, 2.0]), 2.0**30)
    cipher = seal.Encryptor(context, public).encrypt(plain)
    context.key_context_data().parms().save(str(folder / "parms"), seal.compr_mode_type.none)
    objects = {"secret": keygen.secret_key(), "public": public, "relin": relin, "galois": galois}
    for name, made in (objects | {"plain": plain, "cipher": cipher}).items():
        made.save(str(folder / name))


def contexts(folder: Path) -> None:
    """A line for each random set of parameters: the set, then what SEAL says of it and of each level."""
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    lines = [f"seed {seed}"]
    schemes = [seal.scheme_type.bfv, seal.scheme_type.ckks, seal.scheme_type.bgv]
    levels = [seal.sec_level_type.none, seal.sec_level_type.tc128, seal.sec_level_type.tc256]
    for _ in range(200):
        n = rng.choice([2, 4, 16, 64, 1024, 2048, 4096, 3, 6])
        power = 1 << (n - 1).bit_length()
        scheme, level, expand = rng.choice(schemes), rng.choice(levels), rng.random() < 0.7
        count = rng.randint(1, 4)
        primes = [
            m.value() for m in seal.CoeffModulus.Create(power, [rng.randint(18, 40) for _ in range(count)])
        ]
        if rng.random() < 0.2:
            primes[rng.randrange(count)] = rng.choice([2, 17, 97, 15, primes[0]])
        plain = (
            0
            if scheme == seal.scheme_type.ckks
            else rng.choice([2, 17, 257, 65537, 786433, 1 << 20, primes[0]])
        )
        parms = seal.EncryptionParameters(scheme)
        parms.set_poly_modulus_degree(n)
        parms.set_coeff_modulus([seal.Modulus(q) for q in primes])
        parms.set_plain_modulus(plain)
        made = seal.SEALContext(parms, expand, level)
        head = [int(scheme), n, plain, int(expand), int(level), count, *primes]
        tail: list[object] = [made.parameter_error_name()]
        data = made.key_context_data()
        while data is not None:
            q = data.qualifiers()
            tail += [data.chain_index(), data.total_coeff_modulus_bit_count(), data.parms_id()[0]]
            tail += [int(q.using_fft), int(q.using_ntt), int(q.using_batching), int(q.using_fast_plain_lift)]
            tail += [int(q.using_descending_modulus_chain), int(q.sec_level)]
            data = data.next_context_data()
        lines.append(" ".join(map(str, [*head, ":", *tail])))
    (folder / "contexts").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    {"write": write, "contexts": contexts}[sys.argv[1]](Path(sys.argv[2]))
