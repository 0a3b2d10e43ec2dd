# SPDX-License-Identifier: Apache-2.0
"""Computing with the integers of SEAL."""

from __future__ import annotations

from collections.abc import Sequence
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


class DeviceMatrix:
    """Ciphertexts of one level and scale in one block of an engine's memory."""

    def __init__(self, engine: Engine, core: _core.SealMatrix) -> None:
        self.engine, self._core = engine, core

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._core.rows, self._core.columns

    @property
    def scale(self) -> float:
        """Factor between messages and encoded integers."""
        return self._core.scale

    def entries(self, numbers: Sequence[int] | None = None) -> list[DeviceCiphertext]:
        """Copies of entries by their number row by row; all unless given. Raises InvalidArgument."""
        all_of_them = range(self._core.rows * self._core.columns)
        wanted = [integer(each, "entries", 0, 2**32 - 1) for each in numbers or all_of_them]
        return [self.engine._hold(each) for each in self.engine._core.entries(self._core, wanted)]

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("seal.DeviceMatrix: it is in an engine's memory; store() its entries")

    def __repr__(self) -> str:
        of = self._core
        return (
            f"seal.DeviceMatrix({of.rows} by {of.columns}, size={of.size}, primes={of.prime_count}, "
            f"scale={of.scale:g})"
        )


class DevicePlaintext(_OnDevice):
    """A plaintext in the memory of an engine."""

    _core: _core.SealDevicePlaintext

    def store(self) -> Plaintext:
        """A copy in host memory."""
        core = self.engine._core.store_plaintext(self._core)
        return Plaintext._hold(core, self.engine.parameters)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"seal.DevicePlaintext(primes={self.prime_count}, scale={self.scale:g})"


Batch = Sequence[DeviceCiphertext]
"""Ciphertexts of equal levels and equal numbers of polynomials; scales may differ."""
Operand = DeviceCiphertext | Batch


def _cores(of: Operand) -> list[_core.SealDeviceCiphertext]:
    """The cores of one or several ciphertexts."""
    if isinstance(of, DeviceCiphertext):
        return [of._core]
    if not isinstance(of, (list, tuple)):
        raise WrongType(
            f"seal.Engine: got {kind_of(of)}, expected DeviceCiphertext; load it with engine.load, or give a "
            "list of them"
        )
    return [expect(each, DeviceCiphertext, "seal.Engine", "load it with engine.load")._core for each in of]


def _plain_cores(of: DevicePlaintext | Sequence[DevicePlaintext]) -> list[_core.SealDevicePlaintext]:
    if isinstance(of, DevicePlaintext):
        return [of._core]
    return [expect(each, DevicePlaintext, "seal.Engine", "load it with engine.load")._core for each in of]


def _matrix(of: DeviceMatrix) -> _core.SealMatrix:
    return expect(of, DeviceMatrix, "seal.Engine", "make it with engine.matrix")._core


def _check_alike(a: Any, b: Any, kind: type, what: str) -> None:
    """Requires a list beside a list, and an object beside an object."""
    lists = [isinstance(each, (list, tuple)) for each in (a, b)]
    if lists[0] == lists[1] and (lists[1] or isinstance(b, kind)):
        return
    expected = "a list, as the first operand is one" if lists[0] else f"a seal.{kind.__name__}"
    raise WrongType(f"seal.Engine.{what}: got {kind_of(b)}, expected {expected}; load it with engine.load")


class Engine:
    """Evaluates ciphertexts of SEAL on a device; results have exactly the residues that SEAL computes.

    Operations have the names of SEAL's Evaluator and give new objects. They take a ciphertext and give one,
    or take a list (of two operands: two lists of equal lengths) and give a list: each step is then one batch
    on the device, which keeps a GPU busy that single ciphertexts leave idle. They raise InvalidArgument for
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
        self._core = _core.SealEngine.make(of, name, workers, insecure, scalar=False, policy="resident")
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

    def _made(self, like: Operand, cores: list[_core.SealDeviceCiphertext]) -> Any:
        """The results of operands that were a ciphertext, or a list of them."""
        if isinstance(like, DeviceCiphertext):
            return self._hold(cores[0])
        return [self._hold(each) for each in cores]

    @overload
    def negate(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def negate(self, a: Batch) -> list[DeviceCiphertext]: ...
    def negate(self, a: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """-a."""
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, self._core.negate(_cores(a)))
        return made

    @overload
    def add(self, a: DeviceCiphertext, b: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def add(self, a: Batch, b: Batch) -> list[DeviceCiphertext]: ...
    def add(self, a: Operand, b: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a + b, of equal scales; numbers of polynomials may differ."""
        _check_alike(a, b, DeviceCiphertext, "add")
        cores = self._core.add(_cores(a), _cores(b))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def sub(self, a: DeviceCiphertext, b: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def sub(self, a: Batch, b: Batch) -> list[DeviceCiphertext]: ...
    def sub(self, a: Operand, b: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a - b."""
        _check_alike(a, b, DeviceCiphertext, "sub")
        cores = self._core.sub(_cores(a), _cores(b))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def add_plain(self, a: DeviceCiphertext, b: DevicePlaintext) -> DeviceCiphertext: ...
    @overload
    def add_plain(self, a: Batch, b: Sequence[DevicePlaintext]) -> list[DeviceCiphertext]: ...
    def add_plain(
        self, a: Operand, b: DevicePlaintext | Sequence[DevicePlaintext]
    ) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a + b, of equal scales."""
        _check_alike(a, b, DevicePlaintext, "add_plain")
        cores = self._core.add_plain(_cores(a), _plain_cores(b))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def sub_plain(self, a: DeviceCiphertext, b: DevicePlaintext) -> DeviceCiphertext: ...
    @overload
    def sub_plain(self, a: Batch, b: Sequence[DevicePlaintext]) -> list[DeviceCiphertext]: ...
    def sub_plain(
        self, a: Operand, b: DevicePlaintext | Sequence[DevicePlaintext]
    ) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a - b."""
        _check_alike(a, b, DevicePlaintext, "sub_plain")
        cores = self._core.sub_plain(_cores(a), _plain_cores(b))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def multiply_plain(self, a: DeviceCiphertext, b: DevicePlaintext) -> DeviceCiphertext: ...
    @overload
    def multiply_plain(self, a: Batch, b: Sequence[DevicePlaintext]) -> list[DeviceCiphertext]: ...
    def multiply_plain(
        self, a: Operand, b: DevicePlaintext | Sequence[DevicePlaintext]
    ) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a b; scales multiply."""
        _check_alike(a, b, DevicePlaintext, "multiply_plain")
        cores = self._core.multiply_plain(_cores(a), _plain_cores(b))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def multiply(self, a: DeviceCiphertext, b: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def multiply(self, a: Batch, b: Batch) -> list[DeviceCiphertext]: ...
    def multiply(self, a: Operand, b: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a b with size(a) + size(b) - 1 polynomials, 16 at most; scales multiply."""
        _check_alike(a, b, DeviceCiphertext, "multiply")
        cores = self._core.multiply(_cores(a), _cores(b))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def square(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def square(self, a: Batch) -> list[DeviceCiphertext]: ...
    def square(self, a: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """a a."""
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, self._core.square(_cores(a)))
        return made

    @overload
    def relinearize(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def relinearize(self, a: Batch) -> list[DeviceCiphertext]: ...
    def relinearize(self, a: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """The same message in two polynomials. Raises MissingKey."""
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, self._core.relinearize(_cores(a)))
        return made

    @overload
    def rescale_to_next(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def rescale_to_next(self, a: Batch) -> list[DeviceCiphertext]: ...
    def rescale_to_next(self, a: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """Divides by the last prime, which is dropped. Raises LevelExhausted with one prime left."""
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, self._core.rescale_to_next(_cores(a)))
        return made

    @overload
    def mod_switch_to_next(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def mod_switch_to_next(self, a: Batch) -> list[DeviceCiphertext]: ...
    @overload
    def mod_switch_to_next(self, a: DevicePlaintext) -> DevicePlaintext: ...
    def mod_switch_to_next(
        self, a: Operand | DevicePlaintext
    ) -> DeviceCiphertext | list[DeviceCiphertext] | DevicePlaintext:
        """Drops the last prime; the scale stays. Raises LevelExhausted with one prime left."""
        if isinstance(a, DevicePlaintext):
            return DevicePlaintext(self, self._core.mod_switch_plain(a._core))
        cores = self._core.mod_switch_to_next(_cores(a))
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def rotate_vector(self, a: DeviceCiphertext, steps: int) -> DeviceCiphertext: ...
    @overload
    def rotate_vector(self, a: Batch, steps: int) -> list[DeviceCiphertext]: ...
    def rotate_vector(self, a: Operand, steps: int) -> DeviceCiphertext | list[DeviceCiphertext]:
        """Rotates slots to the left by `steps`, to the right by negative ones.

        Without a key for `steps` itself, keys of powers of two are used one after the other, as SEAL does.
        Raises MissingKey.
        """
        half = self.parameters.n // 2
        number = integer(steps, "rotate_vector: steps", 1 - half, half - 1)
        cores = self._core.rotate_vector(_cores(a), number)
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def apply_galois(self, a: DeviceCiphertext, element: int) -> DeviceCiphertext: ...
    @overload
    def apply_galois(self, a: Batch, element: int) -> list[DeviceCiphertext]: ...
    def apply_galois(self, a: Operand, element: int) -> DeviceCiphertext | list[DeviceCiphertext]:
        """X -> X^element, an odd number below 2 n. Raises MissingKey."""
        number = integer(element, "apply_galois: element", 1, 2 * self.parameters.n - 1)
        cores = self._core.apply_galois(_cores(a), number)
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(a, cores)
        return made

    @overload
    def complex_conjugate(self, a: DeviceCiphertext) -> DeviceCiphertext: ...
    @overload
    def complex_conjugate(self, a: Batch) -> list[DeviceCiphertext]: ...
    def complex_conjugate(self, a: Operand) -> DeviceCiphertext | list[DeviceCiphertext]:
        """Conjugates all slots. Raises MissingKey."""
        made: DeviceCiphertext | list[DeviceCiphertext] = self._made(
            a, self._core.complex_conjugate(_cores(a))
        )
        return made

    def matrix(self, rows: Sequence[Sequence[DeviceCiphertext]]) -> DeviceMatrix:
        """A matrix with copies of ciphertexts: two polynomials each, equal levels and scales.

        Raises InvalidArgument for rows of different lengths, or none.
        """
        entries = [each for row in rows for each in row]
        width = len(rows[0]) if len(rows) > 0 else 0
        if any(len(row) != width for row in rows):
            raise InvalidArgument("seal.Engine.matrix: rows of different lengths; expected equal ones")
        return DeviceMatrix(self, self._core.make_matrix(_cores(entries), len(rows), width))

    def multiply_matrices(self, a: DeviceMatrix, b: DeviceMatrix) -> DeviceMatrix:
        """a b for m by k and k by n ciphertexts: entries of three polynomials, as `multiply` and `add` give.

        Each word is reduced once. Raises InvalidArgument for other shapes or different levels.
        """
        return DeviceMatrix(self, self._core.multiply_matrices(_matrix(a), _matrix(b)))

    def add_matrix_product(self, c: DeviceMatrix, a: DeviceMatrix, b: DeviceMatrix) -> None:
        """c += a b, in place. Raises as `multiply_matrices`, and ScaleMismatch."""
        self._core.add_matrix_product(_matrix(c), _matrix(a), _matrix(b))

    def wait(self) -> None:
        """Returns when a GPU has done everything that it was asked for. Operations do not wait."""
        self._core.wait()

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("seal.Engine: it is bound to a device; make one where it is needed")
