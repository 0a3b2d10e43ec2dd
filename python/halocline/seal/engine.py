# SPDX-License-Identifier: Apache-2.0
"""Computing with the integers of SEAL."""

from __future__ import annotations

from typing import Any, NoReturn, overload

from .. import _core
from ..base.devices import prepare_device
from ..base.errors import InvalidArgument, NotPicklable, WrongType
from ..base.values import expect, integer, kind_of, positive
from .objects import Ciphertext, GaloisKeys, Parameters, Plaintext, RelinKeys, core_parameters


class _OnDevice:
    """An object in the memory of an engine."""

    _core: Any

    def __init__(self, engine: Engine, core: Any) -> None:
        self.engine, self._core = engine, core

    @property
    def prime_count(self) -> int:
        """Number of primes left."""
        return int(self._core.prime_count)

    @property
    def scale(self) -> float:
        """Factor between message and encoded integers. It may be set, as programs for SEAL do."""
        return float(self._core.scale)

    @scale.setter
    def scale(self, value: float) -> None:
        self._core.scale = positive(value, "scale")

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(f"seal.{type(self).__name__}: it is in an engine's memory; store() it first")


class DeviceCiphertext(_OnDevice):
    """A ciphertext in the memory of an engine."""

    _core: _core.SealDeviceCiphertext

    @property
    def size(self) -> int:
        """Number of polynomials."""
        return self._core.size

    def store(self) -> Ciphertext:
        """A copy in host memory."""
        core = self.engine._core.store_ciphertext(self._core)
        return Ciphertext._hold(core, self.engine.parameters)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"seal.DeviceCiphertext(size={self.size}, primes={self.prime_count}, scale={self.scale:g})"


class DevicePlaintext(_OnDevice):
    """A plaintext in the memory of an engine."""

    _core: _core.SealDevicePlaintext

    def store(self) -> Plaintext:
        """A copy in host memory."""
        core = self.engine._core.store_plaintext(self._core)
        return Plaintext._hold(core, self.engine.parameters)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"seal.DevicePlaintext(primes={self.prime_count}, scale={self.scale:g})"


class Engine:
    """Evaluates ciphertexts of SEAL on a device; results have exactly the residues that SEAL computes.

    Operations have the names of SEAL's Evaluator and give new objects. They raise InvalidArgument for
    operands of different levels, ScaleMismatch for scales that differ or a result whose scale exceeds its
    modulus.
    """

    def __init__(
        self,
        parameters: Parameters,
        *,
        relin_keys: RelinKeys | None = None,
        galois_keys: GaloisKeys | None = None,
        device: str = "cpu",
        threads: int | None = None,
        allow_insecure: bool = False,
    ) -> None:
        """An engine for a parameter set, with its keys in the device's memory.

        device: "cpu", "cuda:0" in a build with CUDA, or "sycl:0" with the extra halocline[sycl]. threads: of
            a CPU; None: one for each processor.

        Raises InsecureParameters for sets below 128-bit security, by SEAL's table and that of this library,
        unless `allow_insecure`; InvalidArgument for a ring degree below 1024, a modulus that is not prime, or
        keys of other parameters.
        """
        of = core_parameters(parameters, "seal.Engine")
        name = prepare_device(expect(device, str, "seal.Engine: device"))
        if name == "ghost":
            raise InvalidArgument("seal.Engine: a ghost computes nothing; give 'cpu' or a GPU")
        workers = 0 if threads is None else integer(threads, "seal.Engine: threads", 1, 1024)
        insecure = expect(allow_insecure, bool, "seal.Engine: allow_insecure")
        self.parameters = parameters
        self._core = _core.SealEngine.make(of, name, workers, insecure)
        if relin_keys is not None:
            self._core.set_relin_keys(expect(relin_keys, RelinKeys, "seal.Engine: relin_keys")._core)
        if galois_keys is not None:
            self._core.set_galois_keys(expect(galois_keys, GaloisKeys, "seal.Engine: galois_keys")._core)

    @overload
    def load(self, value: Ciphertext) -> DeviceCiphertext: ...
    @overload
    def load(self, value: Plaintext) -> DevicePlaintext: ...
    def load(self, value: Ciphertext | Plaintext) -> DeviceCiphertext | DevicePlaintext:
        """A copy in the memory of the engine. Raises InvalidArgument for an object of other parameters."""
        if isinstance(value, Ciphertext):
            return self._hold(self._core.load_ciphertext(value._core))
        if isinstance(value, Plaintext):
            return DevicePlaintext(self, self._core.load_plaintext(value._core))
        raise WrongType(f"seal.Engine.load: got {kind_of(value)}, expected a seal.Ciphertext or Plaintext")

    def _hold(self, core: _core.SealDeviceCiphertext) -> DeviceCiphertext:
        return DeviceCiphertext(self, core)

    def _ciphertext(self, value: Any) -> _core.SealDeviceCiphertext:
        """The core of a ciphertext of this engine."""
        return expect(value, DeviceCiphertext, "seal.Engine", "load it with engine.load")._core

    def _plaintext(self, value: Any) -> _core.SealDevicePlaintext:
        return expect(value, DevicePlaintext, "seal.Engine", "load it with engine.load")._core

    def negate(self, a: DeviceCiphertext) -> DeviceCiphertext:
        """-a."""
        return self._hold(self._core.negate(self._ciphertext(a)))

    def add(self, a: DeviceCiphertext, b: DeviceCiphertext) -> DeviceCiphertext:
        """a + b, of equal scales; numbers of polynomials may differ."""
        return self._hold(self._core.add(self._ciphertext(a), self._ciphertext(b)))

    def sub(self, a: DeviceCiphertext, b: DeviceCiphertext) -> DeviceCiphertext:
        """a - b."""
        return self._hold(self._core.sub(self._ciphertext(a), self._ciphertext(b)))

    def add_plain(self, a: DeviceCiphertext, b: DevicePlaintext) -> DeviceCiphertext:
        """a + b, of equal scales."""
        return self._hold(self._core.add_plain(self._ciphertext(a), self._plaintext(b)))

    def sub_plain(self, a: DeviceCiphertext, b: DevicePlaintext) -> DeviceCiphertext:
        """a - b."""
        return self._hold(self._core.sub_plain(self._ciphertext(a), self._plaintext(b)))

    def multiply_plain(self, a: DeviceCiphertext, b: DevicePlaintext) -> DeviceCiphertext:
        """a b; scales multiply."""
        return self._hold(self._core.multiply_plain(self._ciphertext(a), self._plaintext(b)))

    def multiply(self, a: DeviceCiphertext, b: DeviceCiphertext) -> DeviceCiphertext:
        """a b with size(a) + size(b) - 1 polynomials, 16 at most; scales multiply."""
        return self._hold(self._core.multiply(self._ciphertext(a), self._ciphertext(b)))

    def square(self, a: DeviceCiphertext) -> DeviceCiphertext:
        """a a."""
        return self._hold(self._core.square(self._ciphertext(a)))

    def relinearize(self, a: DeviceCiphertext) -> DeviceCiphertext:
        """The same message in two polynomials. Raises MissingKey."""
        return self._hold(self._core.relinearize(self._ciphertext(a)))

    def rescale_to_next(self, a: DeviceCiphertext) -> DeviceCiphertext:
        """Divides by the last prime, which is dropped. Raises LevelExhausted with one prime left."""
        return self._hold(self._core.rescale_to_next(self._ciphertext(a)))

    @overload
    def mod_switch_to_next(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def mod_switch_to_next(self, a: DevicePlaintext) -> DevicePlaintext: ...
    def mod_switch_to_next(self, a: DeviceCiphertext | DevicePlaintext) -> DeviceCiphertext | DevicePlaintext:
        """Drops the last prime; the scale stays. Raises LevelExhausted with one prime left."""
        if isinstance(a, DevicePlaintext):
            return DevicePlaintext(self, self._core.mod_switch_plain(a._core))
        return self._hold(self._core.mod_switch_to_next(self._ciphertext(a)))

    def rotate_vector(self, a: DeviceCiphertext, steps: int) -> DeviceCiphertext:
        """Rotates slots to the left by `steps`, to the right by negative ones.

        Without a key for `steps` itself, keys of powers of two are used one after the other, as SEAL does.
        Raises MissingKey.
        """
        half = self.parameters.n // 2
        number = integer(steps, "rotate_vector: steps", 1 - half, half - 1)
        return self._hold(self._core.rotate_vector(self._ciphertext(a), number))

    def apply_galois(self, a: DeviceCiphertext, element: int) -> DeviceCiphertext:
        """X -> X^element, an odd number below 2 n. Raises MissingKey."""
        number = integer(element, "apply_galois: element", 1, 2 * self.parameters.n - 1)
        return self._hold(self._core.apply_galois(self._ciphertext(a), number))

    def complex_conjugate(self, a: DeviceCiphertext) -> DeviceCiphertext:
        """Conjugates all slots. Raises MissingKey."""
        return self._hold(self._core.complex_conjugate(self._ciphertext(a)))

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("seal.Engine: it is bound to a device; make one where it is needed")
