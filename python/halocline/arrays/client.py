# SPDX-License-Identifier: Apache-2.0
"""The client with encrypted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.progress import Progress
from ..base.values import expect, kind_of
from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client as VectorClient
from ..ckks.keys import EvaluationKeys, PublicKey
from ..ckks.params import Params
from ..engine.program import key_plan
from .array import EncryptedArray
from .operands import plain_array
from .packing import Packing
from .packing_choice import choose_packing, spec_of


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
        return _encrypted(self.params, self.encrypt, values, packing, level=level, public=public)

    def encrypt_for(
        self, program: Callable[..., Any], *arrays: npt.ArrayLike, bootstrap: Any = None
    ) -> list[EncryptedArray]:
        """Encrypted arrays of plain ones, in the packings with which `program(*arrays)` costs least.

        See `halocline.choose_packing`, which runs the program on ghosts. An `EncryptedArray` among the
        arguments is passed on as it is. bootstrap: as for the `Engine` that will run the program.
        """
        plain = [
            each if isinstance(each, EncryptedArray) else plain_array(each, "encrypt_for") for each in arrays
        ]
        packings = choose_packing(self.params, program, *plain, bootstrap=bootstrap)
        return [
            each if isinstance(each, EncryptedArray) else self.encrypt_array(each, packing)
            for each, packing in zip(plain, packings, strict=True)
        ]

    def keys_for(
        self,
        program: Callable[..., Any],
        *args: Any,
        circuits: CircuitChoice | None = None,
        bootstrap: Any = None,
        extend: EvaluationKeys | None = None,
        progress: Progress | None = None,
    ) -> EvaluationKeys:
        """The keys that `program(*args)` needs: those of `halocline.key_plan`.

        args: encrypted arrays and ciphertexts, `ArraySpec`s, and plain arrays, which stand for what
            `encrypt_array` makes of them; plain operands are bound with functools.partial. Without any,
            every required parameter is a fresh ciphertext of all slots.
        bootstrap: as for the `Engine` that will run the program, "auto" for those of automatic bootstraps.
        Other arguments: `evaluation_keys`.
        """
        shapes = [spec_of(each, self.params) for each in args]
        plan = key_plan(self.params, program, *shapes, circuits=circuits, bootstrap=bootstrap)
        return self.evaluation_keys(plan=plan, extend=extend, progress=progress)

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
        if not isinstance(ciphertext, EncryptedArray | Ciphertext):
            raise WrongType(
                f"decrypt: got {kind_of(ciphertext)}, expected an EncryptedArray or a Ciphertext; of "
                "several results decrypt each, and a program must return what it computed"
            )
        if not isinstance(ciphertext, EncryptedArray):
            return super().decrypt(ciphertext, real=real, flooding_bits=flooding_bits)
        real = ciphertext.is_real if real is None else real
        how: dict[str, Any] = {"real": real, "flooding_bits": flooding_bits}
        return ciphertext.packing.unpack(
            [super(Client, self).decrypt(each, **how) for each in ciphertext.parts]
        )


def encrypt_array(
    key: PublicKey | VectorClient,
    values: npt.ArrayLike,
    packing: Packing | None = None,
    *,
    level: int | None = None,
) -> EncryptedArray:
    """An encrypted array for the client of a public key, made by another party.

    Arguments, result and errors as those of `Client.encrypt_array`; a client encrypts with its secret key.
    """
    if not isinstance(key, PublicKey | VectorClient):
        raise WrongType(f"encrypt_array: got {kind_of(key)}, expected a PublicKey or a Client")
    return _encrypted(key.params, key.encrypt, values, packing, level=level)


def _encrypted(
    params: Params,
    encrypt: Callable[..., Ciphertext],
    values: npt.ArrayLike,
    packing: Packing | None,
    **how: Any,
) -> EncryptedArray:
    array = plain_array(values, "encrypt_array")
    if packing is None:
        packing = Packing.of(array.shape, params.slots)
    elif expect(packing, Packing, "encrypt_array: packing").slots > params.slots:
        raise InvalidArgument(
            f"encrypt_array: a packing for {packing.slots} slots, parameters '{params.name}' have "
            f"{params.slots}; make it with Packing.of(shape, params.slots)"
        )
    parts = [encrypt(each, slots=packing.slots, **how) for each in packing.pack(array)]
    return EncryptedArray(parts, packing)
