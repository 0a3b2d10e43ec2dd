# SPDX-License-Identifier: Apache-2.0
"""The side of SEAL itself in test_seal_python.cpp, which runs this file: seal-python is SEAL.

`make FOLDER N BITS...` writes parameters, keys, operands and results of operations. `check FOLDER` reads the
keys and ciphertexts that the test has written, and fails unless they decrypt to the numbers in `message`.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

try:
    import seal
except ImportError:
    sys.exit(77)  # not installed

SCALE = 2.0**30
STEPS = (1, -1, 3, -5, 7)


def values(count: int, seed: int) -> list[float]:
    """Numbers in [-1, 1] that look random."""
    return [math.sin(1.0 + 12.9898 * i * (seed + 1) + seed) for i in range(count)]


def parameters(folder: Path) -> Any:
    """Those of `make`."""
    made = seal.EncryptionParameters(seal.scheme_type.ckks)
    made.load(str(folder / "parms"))
    return made


def make(folder: Path, n: int, bits: list[int]) -> None:
    """Everything that the test compares."""
    parms = seal.EncryptionParameters(seal.scheme_type.ckks)
    parms.set_poly_modulus_degree(n)
    parms.set_coeff_modulus(seal.CoeffModulus.Create(n, bits))
    parms.save(str(folder / "parms"))
    context = seal.SEALContext(parms)
    keys = seal.KeyGenerator(context)
    relin, galois = keys.create_relin_keys(), keys.create_galois_keys()
    secret, public = keys.secret_key(), keys.create_public_key()
    encoder, on = seal.CKKSEncoder(context), seal.Evaluator(context)
    encryptor = seal.Encryptor(context, public, secret)
    a, b = (encoder.encode(values(n // 2, seed), SCALE) for seed in (1, 2))
    x, y = encryptor.encrypt(a), encryptor.encrypt(b)
    product = on.multiply(x, y)
    linear = on.relinearize(product, relin)
    lower = on.mod_switch_to_next(x)
    made = {
        "secret": secret,
        "public": public,
        "relin": relin,
        "galois": galois,
        "x": x,
        "y": y,
        "plain": b,
        "number": encoder.encode(1.25, SCALE),
        "integer": encoder.encode(-37),
        "negate": on.negate(x),
        "add": on.add(x, y),
        "sub": on.sub(x, y),
        "add_plain": on.add_plain(x, b),
        "sub_plain": on.sub_plain(x, b),
        "multiply_plain": on.multiply_plain(x, b),
        "multiply": product,
        "square": on.square(x),
        "relinearize": linear,
        "rescale": on.rescale_to_next(linear),
        "rescale_product": on.rescale_to_next(product),
        "mod_switch": lower,
        "from_ntt": on.transform_from_ntt(x),
        "conjugate": on.complex_conjugate(lower, galois),
        "galois_element": on.apply_galois(x, 9, galois),
        "sum": on.add_many([x, y, x]),
    }
    for step in STEPS:
        made[f"rotate{step}"] = on.rotate_vector(lower, step, galois)
    for name, each in made.items():
        each.save(str(folder / name))


def check(folder: Path) -> None:
    """Our keys and ciphertexts in SEAL."""
    context = seal.SEALContext(parameters(folder))
    secret, public = seal.SecretKey(), seal.PublicKey()
    relin, galois = seal.RelinKeys(), seal.GaloisKeys()
    for each, name in ((secret, "secret"), (public, "public"), (relin, "relin"), (galois, "galois")):
        each.load(context, str(folder / f"our_{name}"))
    encoder, on = seal.CKKSEncoder(context), seal.Evaluator(context)
    decryptor, encryptor = seal.Decryptor(context, secret), seal.Encryptor(context, public)
    message = [float(each) for each in (folder / "message").read_text().split()]

    def close(found: Any, expected: list[float], what: str) -> None:
        numbers = encoder.decode(decryptor.decrypt(found))
        most = max(abs(s - t) for s, t in zip(numbers, expected, strict=True))
        if not most < 0.01:
            sys.exit(f"{what}: off by {most}")

    for name in ("public", "symmetric", "seeded"):
        x = seal.Ciphertext()
        x.load(context, str(folder / f"our_{name}_ciphertext"))
        close(x, message, name)
    square = on.relinearize(on.square(x), relin)
    close(square, [each * each for each in message], "square")
    close(on.rotate_vector(x, 3, galois), message[3:] + message[:3], "rotate")
    close(encryptor.encrypt(encoder.encode(message, SCALE)), message, "encrypt")


if __name__ == "__main__":
    where = Path(sys.argv[2])
    if sys.argv[1] == "make":
        make(where, int(sys.argv[3]), [int(each) for each in sys.argv[4:]])
    else:
        check(where)
