# SPDX-License-Identifier: Apache-2.0
"""The client with encrypted arrays."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..base.errors import InvalidArgument
from ..base.values import expect
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client as VectorClient
from .array import EncryptedArray
from .operands import plain_array
from .packing import Packing


class Client(VectorClient):
    """The party that owns the secret key.

    `Client(params)` draws a fresh secret key from the operating system's randomness. A client cannot be
    pickled; `save_secret_key` and `Client.load` are the only way the key leaves the process.

    `threads` limits the worker threads. `seed` (32 bytes) makes every key and ciphertext reproducible: for
    tests only, because the seed determines the secret key. Such a client draws randomness only in the process
    that made it; a forked child gets InvalidArgument. Without a seed no two processes or threads draw the
    same.

    `device`, `memory`, `policy` and `memory_options` are as those of an `Engine`: "cuda:0" does all the work
    on a GPU, with the same bytes as results. Evaluation keys are made one by one and moved to host memory: a
    budget must hold tables, the secret key, one key and three polynomials, however many keys there are.
    """

    def encrypt_array(
        self,
        values: npt.ArrayLike,
        packing: Packing | None = None,
        *,
        level: int | None = None,
        public: bool = False,
    ) -> EncryptedArray:
        """An unbound encrypted array of the shape of `values`: real or complex numbers, any length.

        packing: where elements are in the ciphertexts; one after the other, the last axis in neighbouring
            slots, unless given. `halocline.choose_packing` finds what suits a program.
        level, public: as for `encrypt`.

        Raises InvalidArgument for arrays without elements, NaN, infinity, and a packing of another shape or
        more slots than the parameters have; WrongType for anything but numbers.
        """
        array = plain_array(values, "encrypt_array")
        slots = self.params.slots
        if packing is None:
            packing = Packing.of(array.shape, slots)
        elif expect(packing, Packing, "encrypt_array: packing").slots > slots:
            raise InvalidArgument(
                f"encrypt_array: a packing for {packing.slots} slots, parameters '{self.params.name}' have "
                f"{slots}; make it with Packing.of(shape, params.slots)"
            )
        how: dict[str, Any] = {"level": level, "public": public, "slots": packing.slots}
        return EncryptedArray([self.encrypt(each, **how) for each in packing.pack(array)], packing)

    def decrypt(
        self,
        ciphertext: Ciphertext | EncryptedArray,
        *,
        real: bool | None = None,
        flooding_bits: float = 0.0,
    ) -> npt.NDArray[Any]:
        """The values of a ciphertext or of an encrypted array, in its shape; bound or not.

        They are float64 when only real numbers went in and complex128 otherwise; `real=True` and `real=False`
        choose. Values carry the noise of encryption and of all operations.

        Keep them on the client, and use `decrypt_for_sharing` for results that other parties see, because
        exact noise gradually reveals the secret key (IND-CPA-D; SECURITY.md). `flooding_bits` adds Gaussian
        noise of standard deviation 2^flooding_bits to the encoded integers, for those who compute the width
        themselves.

        Raises KeyMismatch for what another client encrypted, which would decrypt to noise.
        """
        if not isinstance(ciphertext, EncryptedArray):
            return super().decrypt(ciphertext, real=real, flooding_bits=flooding_bits)
        real = ciphertext.is_real if real is None else real
        how: dict[str, Any] = {"real": real, "flooding_bits": flooding_bits}
        return ciphertext.packing.unpack(
            [super(Client, self).decrypt(each, **how) for each in ciphertext.parts]
        )
