# SPDX-License-Identifier: Apache-2.0
"""Files of Microsoft SEAL 4.x (CKKS), and an engine that computes exactly SEAL's integers with them.

from halocline import seal

params = seal.load("params.seal", seal.Parameters)            # from a client that uses SEAL
relin = seal.load("relin.seal", seal.RelinKeys, params)
engine = seal.Engine(params, relin_keys=relin)
x = engine.load(seal.load("x.seal", seal.Ciphertext, params))
y = engine.rescale_to_next(engine.relinearize(engine.multiply(x, x)))
seal.save("y.seal", y, version="4.1")                         # the client reads it with SEAL 4.1
"""

from .engine import DeviceCiphertext, DeviceMatrix, DevicePlaintext, Engine
from .files import from_bytes, load, save, to_bytes
from .objects import (
    Ciphertext,
    GaloisKeys,
    Parameters,
    Plaintext,
    PublicKey,
    RelinKeys,
    SecretKey,
)

__all__ = [
    "Ciphertext",
    "DeviceCiphertext",
    "DeviceMatrix",
    "DevicePlaintext",
    "Engine",
    "GaloisKeys",
    "Parameters",
    "Plaintext",
    "PublicKey",
    "RelinKeys",
    "SecretKey",
    "from_bytes",
    "load",
    "save",
    "to_bytes",
]
