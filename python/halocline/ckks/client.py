# SPDX-License-Identifier: Apache-2.0
"""The client: owns the secret key, encrypts, decrypts, generates keys."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.devices import prepare_device
from ..base.errors import InvalidArgument, KeyMismatch, NotPicklable, WrongType
from ..base.files import file_only
from ..base.names import Device, Policy
from ..base.progress import Progress
from ..base.values import expect, integer, kind_of, positive, vector
from ..memory.budget import MemoryBudget, MemoryOptions, engine_budget
from .ciphertext import Ciphertext
from .encrypted import expect_encrypted
from .keys import RELINEARIZATION, EvaluationKeys, KeyPlan, PublicKey
from .params import ENCAPSULATION, Params, carried_params, expect_same
from .sharing import STATISTICAL_BITS, Ledger, SharedResult, decrypt_for_sharing


def _place(
    threads: int | None,
    device: str,
    memory: int | str | MemoryBudget | None,
    policy: str,
    options: MemoryOptions | None,
) -> tuple[int, str, int, str, _core.MemoryOptions]:
    """(threads, device, budget, policy, memory options) for the extension module."""
    workers = 0 if threads is None else integer(threads, "Client: threads", 1, 1024)
    prepare_device(expect(device, str, "Client: device"))
    expect(policy, str, "Client: policy")
    budget, shared = engine_budget(memory, "Client: memory")
    chosen = expect(options or MemoryOptions(), MemoryOptions, "Client: memory_options")
    return workers, device, budget, policy, chosen._bind(False, shared, f"client on {device}")


class Client:
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

    def __init__(
        self,
        params: Params,
        *,
        seed: bytes | None = None,
        threads: int | None = None,
        device: Device = "cpu",
        memory: int | str | MemoryBudget | None = None,
        policy: Policy = "resident",
        memory_options: MemoryOptions | None = None,
    ) -> None:
        if isinstance(params, EvaluationKeys | PublicKey):
            raise WrongType(
                f"Client: got {kind_of(params)}, which holds no secret key; expected Params: "
                "a client is made from parameters, an engine from parameters and keys"
            )
        self._params = expect(params, Params, "Client", "use Params.preset(name)")
        if seed is not None and not isinstance(seed, bytes):
            raise WrongType(f"Client: seed is {kind_of(seed)}, expected 32 bytes")
        place = _place(threads, device, memory, policy, memory_options)
        self._core = _core.Client.make(params._core, place[0], seed, *place[1:])
        self._device = device
        self._shared = Ledger()

    @property
    def params(self) -> Params:
        """Parameters of everything that this client makes."""
        return self._params

    @property
    def key_id(self) -> str | None:
        """Public name of the secret key, 32 hexadecimal digits, which everything made by this client carries.

        It is drawn with the key and says nothing about it. Ciphertexts and keys of two clients are never
        combined: KeyMismatch names both. None for a key from a file of format version 1, whose objects go
        with those of every key; see `assign_key_id`.
        """
        return self._core.key_id

    def assign_key_id(self) -> str:
        """Draws an identifier for a secret key that has none, and returns it.

        Save the key afterwards (`save_secret_key(path, overwrite=True)`): the old file does not contain the
        identifier. Older ciphertexts and keys stay usable with this client.
        Raises InvalidArgument when the key has an identifier, which is never changed.
        """
        self._core.assign_key_id()
        assert self.key_id is not None
        return self.key_id

    @property
    def device(self) -> str:
        """Name of the device that it works on, as given."""
        return self._device

    def stats(self) -> dict[str, int]:
        """live_bytes, peak_bytes and peak_fast_bytes of its device."""
        return self._core.statistics()

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        public: bool = False,
        level: int | None = None,
        scale: float | None = None,
        slots: int | None = None,
    ) -> Ciphertext:
        """An unbound ciphertext of a vector of real or complex numbers.

        `slots` is the next power of two of the number of values unless given; missing values are zero. A
        ciphertext of fewer slots than `params.slots` behaves like its vector, also under rotation. `level` is
        the highest and `scale` that of the level unless given. `public` encrypts through the public key and
        costs about 8 bits of precision; by default the secret key is used and the result can be sent with
        half of its bytes replaced by a seed.

        Raises InvalidArgument for too many values, a number of slots that is no power of two, NaN, infinity,
        and values so large that they overflow the modulus at this scale.
        """
        array, real = vector(values, "encrypt")
        level = self._params._fresh_level(level, "encrypt: level")
        scale = None if scale is None else positive(scale, "encrypt: scale")
        count = 0 if slots is None else integer(slots, "encrypt: slots", 1)
        return Ciphertext(self._core.encrypt(array, level, scale, count, bool(public)), None, real)

    def decrypt(
        self, ciphertext: Ciphertext, *, real: bool | None = None, flooding_bits: float = 0.0
    ) -> npt.NDArray[Any]:
        """The values of a ciphertext, bound or not: an array of `ciphertext.slots` numbers.

        They are float64 when only real numbers went into the ciphertext and complex128 otherwise; `real=True`
        and `real=False` choose. Values carry the noise of encryption and of all operations.

        Keep them on the client, and use `decrypt_for_sharing` for results that other parties see, because
        exact noise gradually reveals the secret key (IND-CPA-D; SECURITY.md). `flooding_bits` adds Gaussian
        noise of standard deviation 2^flooding_bits to the encoded integers, for those who compute the width
        themselves.

        Raises KeyMismatch for a ciphertext of another client, which would decrypt to noise.
        """
        expect(ciphertext, Ciphertext, "decrypt", "a client decrypts ciphertexts only")
        expect_encrypted(ciphertext, "decrypt")
        expect_same(self._params, [("the ciphertext", ciphertext.params)], "decrypt")
        bits = float(flooding_bits)
        if not 0.0 <= bits <= 100.0:
            raise InvalidArgument(f"decrypt: flooding_bits is {flooding_bits}, expected 0 to 100")
        values = self._core.decrypt(ciphertext._core, bits)
        wanted = ciphertext.is_real if real is None else real
        return np.ascontiguousarray(values.real) if wanted else values

    def decrypt_for_sharing(
        self,
        ciphertext: Ciphertext,
        *,
        error_bound: float | None = None,
        queries: int = 1,
        statistical_bits: float = STATISTICAL_BITS,
        magnitude: float = 1.0,
        real: bool | None = None,
    ) -> SharedResult:
        """The values of a ciphertext with noise that hides the error: for results that leave the client.

        error_bound: bound on the magnitude of the complex error of each slot, in units of the values. It must
        hold for the program and all inputs, and may not come from the result at hand. It can be left out only
        for ciphertexts straight from `encrypt` with the secret key; for computed ones
        `halocline.measure_error_bound` measures one, docs/concepts/error_budget.md computes one.
        queries: how many results will ever be shared under this secret key. This object counts its own, and
        refuses one more.
        statistical_bits: security of all of them together; each bit costs half a bit of precision.
        magnitude: the largest value that is expected; more noise than half of it is refused.
        real: as for `decrypt`.

        `result.values` are the slots, `result.flooding` says how much noise they have. Each call draws its
        own. Raises InvalidArgument for a computed ciphertext without a bound, a bound that cannot hold, noise
        that exceeds the values or the modulus, and more results than `queries`. The theory is in
        docs/concepts/sharing_results.md.
        """
        return decrypt_for_sharing(
            self,
            self._shared,
            ciphertext,
            error_bound=error_bound,
            queries=queries,
            statistical_bits=statistical_bits,
            magnitude=magnitude,
            real=real,
        )

    def evaluation_keys(
        self,
        rotations: Iterable[int] = (),
        *,
        conjugation: bool = False,
        relinearization: bool = True,
        encapsulation: bool = False,
        level: int | None = None,
        plan: KeyPlan | None = None,
        extend: EvaluationKeys | None = None,
        progress: Progress | None = None,
    ) -> EvaluationKeys:
        """The keys that an engine needs; they hold no secret.

        rotations: steps, positive to the left, each below `params.slots` in magnitude.
        relinearization: for products of ciphertexts; conjugation: for `conj`.
        encapsulation: the key with which bootstrapping raises the modulus, for parameters that have one.
        level: highest level at which the keys are used; keys for low levels are smaller. All up to
        `params.max_level` unless given. The encapsulation key is for `params.top_level`.
        plan: exactly the keys of a plan (`halocline.key_plan`) instead of the above.
        extend: keys of this client that the result has as well; those among them that reach the level wanted
            are not generated again. Raises KeyMismatch for keys of another client.
        progress: called after each key with the number of keys done and in all.
        """
        requests = self._plan_requests(plan) if plan is not None else None
        if requests is None:
            requests = self._requests(rotations, conjugation, relinearization, level)
            if encapsulation:
                requests = sorted([*requests, self._encapsulation_request()])
        elif tuple(rotations) or conjugation or encapsulation or level is not None:
            raise InvalidArgument("evaluation_keys: give a plan or a selection of keys, not both")
        bundle = self._core.new_keys()
        if extend is not None:
            requests = self._adopt(bundle, extend, requests)
        for done, (element, highest) in enumerate(requests, start=1):
            self._core.generate_key(bundle, element, highest, True)
            if progress is not None:
                progress(done, len(requests))
        return EvaluationKeys(bundle)

    def _adopt(
        self, bundle: _core.EvaluationKeys, extend: EvaluationKeys, requests: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Puts keys that are there into a bundle; the requests that are left."""
        expect(extend, EvaluationKeys, "evaluation_keys: extend")
        expect_same(self._params, [("the key bundle", extend.params)], "evaluation_keys")
        if None not in (self.key_id, extend.key_id) and self.key_id != extend.key_id:
            raise KeyMismatch(
                f"evaluation_keys: the keys to extend belong to the secret key {extend.key_id}, this client "
                f"is {self.key_id}; extend keys of this client"
            )
        self._core.adopt_keys(bundle, extend._core)
        there = dict(extend.requests())
        return [each for each in requests if there.get(each[0], -1) < each[1]]

    def _plan_requests(self, plan: KeyPlan) -> list[tuple[int, int]]:
        expect(plan, KeyPlan, "evaluation_keys: plan", "use halocline.key_plan(...)")
        expect_same(self._params, [("the plan", plan.params)], "evaluation_keys")
        return plan.requests()

    def _encapsulation_request(self) -> tuple[int, int]:
        chosen = self._params.bootstrapping
        if chosen is None or not chosen.encapsulated:
            raise InvalidArgument(
                f"evaluation_keys: parameters '{self._params.name}' have no sparse secret for bootstrapping "
                "and no encapsulation key; take a preset such as n16-boot, or leave it out"
            )
        return ENCAPSULATION, self._params.top_level

    def _requests(
        self, rotations: Iterable[int], conjugation: bool, relinearization: bool, level: int | None
    ) -> list[tuple[int, int]]:
        core, slots = self._params._core, self._params.slots
        highest = self._params._level(level)
        if not isinstance(rotations, Iterable):
            raise WrongType(
                f"evaluation_keys: rotations: got {kind_of(rotations)}, expected a list of steps, as [1, 2]"
            )
        steps = [integer(step, "evaluation_keys: rotation", 1 - slots, slots - 1) for step in rotations]
        elements = {core.galois_element(step) for step in steps if step}
        elements |= {core.conjugation_element} if conjugation else set()
        elements |= {RELINEARIZATION} if relinearization else set()
        return [(element, highest) for element in sorted(elements)]

    def public_key(self) -> PublicKey:
        """The key with which others can encrypt for this client; made at first use."""
        return PublicKey(self._core.public_key())

    def save_secret_key(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the secret key to a file that only its owner may read. The file is not encrypted.

        Raises InvalidArgument where there is such a file, unless `overwrite`: a secret key that is replaced
        is lost, and with it all that was encrypted for it.
        """
        name = file_only(path, "save_secret_key")
        if not overwrite and os.path.lexists(name):
            raise InvalidArgument(
                f"save_secret_key: '{name}' exists; name another file, or say overwrite=True if nothing that "
                "was encrypted for the key in it will be needed"
            )
        self._core.save_secret_key(name)

    @classmethod
    def load(
        cls,
        path: str | Path,
        params: Params | None = None,
        *,
        threads: int | None = None,
        device: Device = "cpu",
        memory: int | str | MemoryBudget | None = None,
        policy: Policy = "resident",
        memory_options: MemoryOptions | None = None,
        allow_insecure: bool = False,
    ) -> Client:
        """The client of a secret key file, on a device as in `Client(...)`.

        With `params` the file must belong to them; otherwise the parameters that it carries are taken, which
        must be secure unless `allow_insecure=True`. Raises IoError, CorruptData, InvalidArgument (a
        public file, other parameters), InsecureParameters.
        """
        name = file_only(path, "Client.load")
        made = cls.__new__(cls)
        made._params = carried_params(name, params, allow_insecure)
        place = _place(threads, device, memory, policy, memory_options)
        made._core = _core.Client.load(name, made._params._core, *place)
        made._device = device
        made._shared = Ledger()
        return made

    def __program_identity__(self) -> Client:
        return self

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a Client owns a secret key and cannot be pickled or copied; send ciphertexts, public keys and "
            "evaluation keys instead, or keep the key in a file with save_secret_key"
        )

    def __repr__(self) -> str:
        return f"Client({self._params!r})"
