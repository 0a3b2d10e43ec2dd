# SPDX-License-Identifier: Apache-2.0
"""Encrypted arrays: what they hold, and their methods and operators by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, KeyMismatch, WrongType
from ..base.files import Path as FilePath
from ..base.files import read_file, write_file
from ..base.limits import ENCRYPTED_ARRAY
from ..base.values import byte_string, expect
from ..ckks.ciphertext import Ciphertext
from ..ckks.host import Host
from ..ckks.params import Params
from .container import read_container, write_container
from .packing import Packing
from .registry import perform

Axis = int | Sequence[int] | None
"""One axis, several, or all of them."""
Operand = Any
"""What stands beside an encrypted array: another one, a number, or anything numpy makes an array from."""


class _NoAttribute(WrongType, AttributeError):
    """A method of numpy's arrays that encrypted ones lack; an AttributeError for `hasattr`."""


class EncryptedArray:
    """An encrypted array of real or complex numbers, with the vocabulary of numpy and its meaning.

    `client.encrypt_array(x)` makes one, `client.decrypt(array)` gives the numbers. Like a ciphertext it is
    plain data, with `to_bytes`, `save` and pickle, until `array.to(engine)` or `engine.run(program, array)`
    binds it; then it computes. Arrays are immutable: `x += 1` makes a new one.

    parts: its ciphertexts, `packing.count` of `packing.slots` slots each, all bound to one engine or none.
    packing: where the elements are in them.
    clean: whether the slots that hold no element are 0. Operations keep track of it: what needs zeros there
        multiplies by ones and zeros first, which costs a level.

    Operations raise errors as those of `Ciphertext` do; shapes that do not fit raise InvalidArgument.
    """

    __slots__ = ("__weakref__", "_clean", "_degree", "_packing", "_parts")

    def __init__(self, parts: Sequence[Ciphertext], packing: Packing, clean: bool = True) -> None:
        what = "EncryptedArray"
        self._packing = expect(packing, Packing, f"{what}: packing", "use client.encrypt_array(values)")
        if isinstance(parts, Ciphertext):
            raise WrongType(f"{what}: parts: got a Ciphertext, expected a list of {packing.count}")
        self._parts = tuple(expect(each, Ciphertext, f"{what}: part") for each in parts)
        self._clean, self._degree = bool(clean), 0 if clean else 1
        if len(self._parts) != packing.count:
            raise InvalidArgument(
                f"{what}: {len(self._parts)} ciphertexts, but the packing of shape {packing.shape} has "
                f"{packing.count}"
            )
        wrong = [each.slots for each in self._parts if each.slots != packing.slots]
        if wrong:
            raise InvalidArgument(f"{what}: a ciphertext of {wrong[0]} slots, expected {packing.slots}")
        if len({id(each.engine) for each in self._parts}) > 1:
            raise InvalidArgument(f"{what}: ciphertexts of several engines; bind all to one with to(engine)")
        keys = sorted({each.key_id for each in self._parts if each.key_id})  # unknown ones go with all
        if len(keys) > 1:
            raise KeyMismatch(
                f"{what}: its ciphertexts belong to the secret keys {keys[0]} and {keys[1]}, expected one; "
                "encrypt all of them with one client"
            )

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._packing.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._packing.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._packing.size

    @property
    def packing(self) -> Packing:
        """Where the elements are."""
        return self._packing

    @property
    def parts(self) -> tuple[Ciphertext, ...]:
        """The ciphertexts, in the order of `packing.numbers`."""
        return self._parts

    @property
    def is_clean(self) -> bool:
        """Whether the slots that hold no element are known to be 0."""
        return self._clean or self._packing.is_full

    @property
    def _dirt(self) -> int:
        """Of how many factors the slots between elements may hold a product; 0 where they hold 0."""
        return 0 if self.is_clean else self._degree

    @property
    def level(self) -> int:
        """Multiplications left: the least of its ciphertexts."""
        return min(each.level for each in self._parts)

    @property
    def params(self) -> Params:
        """Parameters that it belongs to."""
        return self._parts[0].params

    @property
    def key_id(self) -> str | None:
        """The secret key that it is encrypted under; None where that is unknown."""
        return self._parts[0].key_id

    @property
    def nbytes(self) -> int:
        """Bytes that its ciphertexts occupy in memory."""
        return sum(each.nbytes for each in self._parts)

    @property
    def is_real(self) -> bool:
        """Whether only real numbers went into it."""
        return all(each.is_real for each in self._parts)

    @property
    def engine(self) -> Any:
        """The `Engine` that it is bound to, or None."""
        return self._parts[0].engine

    @property
    def device(self) -> str | None:
        """Device of its engine; None while it is unbound."""
        return self._parts[0].device

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers that decryption gives: float64, or complex128."""
        return np.dtype(np.float64 if self.is_real else np.complex128)

    def copy(self) -> EncryptedArray:
        """The same array, which never changes."""
        return self

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise _NoAttribute(perform("no method", name))
        raise AttributeError(f"'EncryptedArray' object has no attribute '{name}'")

    def to(self, engine: Host) -> EncryptedArray:
        """This array bound to an engine of equal parameters; KeyMismatch for keys of another client."""
        return self._map_ciphertexts(lambda ct: ct.to(engine))

    def _map_ciphertexts(self, bind: Callable[[Ciphertext], Ciphertext]) -> EncryptedArray:
        """The same array with other ciphertexts: for `engine.run` and plans."""
        return self._made([bind(each) for each in self._parts], self._packing, self._clean)

    def _made(
        self, parts: Sequence[Ciphertext], packing: Packing, clean: bool, *others: EncryptedArray
    ) -> EncryptedArray:
        """An array whose slots between elements hold what is there in this one and others, or sums of it."""
        made = EncryptedArray(parts, packing, clean)
        made._degree = max(each._degree for each in (made, self, *others))
        return made

    def __program_identity__(self) -> Any:
        """For plans: what decides the course of a program on this array."""
        packing = self._packing
        parts = [(each.level, each.scale, each.slots, each.is_real) for each in self._parts]
        return packing.shape, packing.strides, packing.slots, packing.copies, self._clean, parts

    # Plain data

    def to_bytes(self) -> bytes:
        """The packing and the containers of the ciphertexts: docs/reference/array_format.md."""
        return write_container(self._packing, self._clean, [each.to_bytes() for each in self._parts])

    @classmethod
    def from_bytes(
        cls, data: bytes, params: Params | None = None, *, allow_insecure: bool = False
    ) -> EncryptedArray:
        """An unbound array from `to_bytes`; everything is checked. Arguments as `Ciphertext.from_bytes`.

        Raises CorruptData, InvalidArgument (other parameters), InsecureParameters, KeyMismatch (parts of
        several secret keys).
        """
        packing, clean, parts = read_container(
            byte_string(data, "EncryptedArray.from_bytes"), params, allow_insecure
        )
        return cls(parts, packing, clean)

    def save(self, path: FilePath | Path) -> None:
        """Writes a file: as a whole or not at all; "-" is standard output. Raises IoError."""
        write_file(path, self.to_bytes())

    @classmethod
    def load(
        cls, path: FilePath | Path, params: Params | None = None, *, allow_insecure: bool = False
    ) -> EncryptedArray:
        """An unbound array from a file of `save`; see `from_bytes`. Raises IoError."""
        data = read_file(path, "EncryptedArray.load", ENCRYPTED_ARRAY)
        return cls.from_bytes(data, params, allow_insecure=allow_insecure)

    def __reduce__(self) -> tuple[Any, ...]:
        return EncryptedArray.from_bytes, (self.to_bytes(), self.params)

    # Elementwise: elementwise.py

    def __add__(self, other: Operand) -> EncryptedArray:
        return _array(perform("add", self, other))

    def __radd__(self, other: Operand) -> EncryptedArray:
        return _array(perform("add", self, other))

    def __sub__(self, other: Operand) -> EncryptedArray:
        return _array(perform("subtract", self, other))

    def __rsub__(self, other: Operand) -> EncryptedArray:
        return _array(perform("subtract", other, self))

    def __mul__(self, other: Operand) -> EncryptedArray:
        return _array(perform("multiply", self, other))

    def __rmul__(self, other: Operand) -> EncryptedArray:
        return _array(perform("multiply", self, other))

    def __truediv__(self, other: Operand) -> EncryptedArray:
        return _array(perform("divide", self, other))

    def __rtruediv__(self, other: Operand) -> EncryptedArray:
        return _array(perform("divide", other, self))

    def __pow__(self, exponent: int) -> EncryptedArray:
        return _array(perform("power", self, exponent))

    def __rpow__(self, base: Operand) -> EncryptedArray:
        return _array(perform("power", base, self))

    def __neg__(self) -> EncryptedArray:
        return _array(perform("negative", self))

    def __pos__(self) -> EncryptedArray:
        return self

    def conj(self) -> EncryptedArray:
        """The complex conjugate of each element. Real arrays come back as they are."""
        return _array(perform("conj", self))

    conjugate = conj

    @property
    def real(self) -> EncryptedArray:
        """The real part of each element; of a complex array it costs a level and a key switch each."""
        return _array(perform("real", self))

    @property
    def imag(self) -> EncryptedArray:
        """The imaginary part of each element; of a complex array it costs a level and a key switch each."""
        return _array(perform("imag", self))

    # Products (products.py): helpers below this line register "matmul", "dot", ...

    def __matmul__(self, other: Operand) -> EncryptedArray:
        return _array(perform("matmul", self, other))

    def __rmatmul__(self, other: Operand) -> EncryptedArray:
        return _array(perform("matmul", other, self))

    def dot(self, other: Operand) -> EncryptedArray:
        """np.dot(self, other)."""
        return _array(perform("dot", self, other))

    # Reductions: reductions.py

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> EncryptedArray:
        """np.sum: rotations and additions, no level."""
        return _array(perform("sum", self, axis, keepdims=keepdims))

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> EncryptedArray:
        """np.mean; costs a level."""
        return _array(perform("mean", self, axis, keepdims=keepdims))

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> EncryptedArray:
        """np.var; costs two levels."""
        return _array(perform("var", self, axis, ddof=ddof, keepdims=keepdims))

    def std(
        self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False, **options: Any
    ) -> EncryptedArray:
        """np.std: `var`, and the square root with the options of `halocline.arrays.functions.sqrt`."""
        return _array(perform("std", self, axis, ddof=ddof, keepdims=keepdims, **options))

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> EncryptedArray:
        """np.prod; costs ceil(log2(length)) levels for each axis."""
        return _array(perform("prod", self, axis, keepdims=keepdims))

    def cumsum(self, axis: int | None = None) -> EncryptedArray:
        """np.cumsum; costs a level for each factor 64 of the length."""
        return _array(perform("cumsum", self, axis))

    # Shapes: shapes.py

    def __getitem__(self, index: Any) -> EncryptedArray:
        return _array(perform("getitem", self, index))

    def repack(self, packing: Packing | None = None) -> EncryptedArray:
        """The same elements in another packing, the one without gaps unless given; costs a level, or none.

        Worth it where few elements lie in many ciphertexts, as after sums along the last axis.
        """
        return _array(perform("repack", self, packing))

    def __iter__(self) -> Iterator[EncryptedArray]:
        for number in range(len(self)):
            yield self[number]

    def __len__(self) -> int:
        if not self.shape:
            raise WrongType("len: an encrypted array without axes has no length")
        return self.shape[0]

    def reshape(self, *shape: Any) -> EncryptedArray:
        """np.reshape, with one length -1; free where only powers of two are split or joined, else a level."""
        return _array(perform("reshape", self, shape[0] if len(shape) == 1 else shape))

    def ravel(self) -> EncryptedArray:
        """np.ravel: `reshape(-1)`."""
        return _array(perform("reshape", self, -1))

    flatten = ravel

    def transpose(self, *axes: Any) -> EncryptedArray:
        """np.transpose; free."""
        return _array(perform("transpose", self, axes[0] if len(axes) == 1 else axes or None))

    @property
    def T(self) -> EncryptedArray:  # the name of numpy
        """`transpose()`."""
        return self.transpose()

    def swapaxes(self, first: int, second: int) -> EncryptedArray:
        """np.swapaxes; free."""
        return _array(perform("swapaxes", self, first, second))

    def squeeze(self, axis: Axis = None) -> EncryptedArray:
        """np.squeeze; free."""
        return _array(perform("squeeze", self, axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> EncryptedArray:
        """np.diagonal; costs a level."""
        return _array(perform("diagonal", self, offset, axis1, axis2))

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> EncryptedArray:
        """np.trace; costs a level."""
        return _array(perform("trace", self, offset, axis1, axis2))

    # Comparisons and order (comparisons.py, tournaments.py); with other options: halocline.functions

    def clip(self, low: float | None, high: float | None, **options: Any) -> EncryptedArray:
        """np.clip; see `halocline.functions.clip`."""
        return _array(perform("clip", self, low, high, **options))

    def max(self, axis: int | None = None, *, keepdims: bool = False, **options: Any) -> EncryptedArray:
        """np.max; see `halocline.functions.max`."""
        return _array(perform("max", self, axis, keepdims=keepdims, **options))

    def min(self, axis: int | None = None, *, keepdims: bool = False, **options: Any) -> EncryptedArray:
        """np.min; see `halocline.functions.min`."""
        return _array(perform("min", self, axis, keepdims=keepdims, **options))

    def argmax(self, axis: int | None = None, **options: Any) -> EncryptedArray:
        """np.argmax; see `halocline.functions.argmax`."""
        return _array(perform("argmax", self, axis, **options))

    def argmin(self, axis: int | None = None, **options: Any) -> EncryptedArray:
        """np.argmin; see `halocline.functions.argmin`."""
        return _array(perform("argmin", self, axis, **options))

    def __abs__(self) -> EncryptedArray:
        return _array(perform("abs", self))

    def __lt__(self, other: Operand) -> EncryptedArray:
        return _array(perform("less", self, other))

    def __le__(self, other: Operand) -> EncryptedArray:
        return _array(perform("less_equal", self, other))

    def __gt__(self, other: Operand) -> EncryptedArray:
        return _array(perform("greater", self, other))

    def __ge__(self, other: Operand) -> EncryptedArray:
        return _array(perform("greater_equal", self, other))

    def __eq__(self, other: Operand) -> EncryptedArray:  # type: ignore[override]
        return _array(perform("equal", self, other))

    def __ne__(self, other: Operand) -> EncryptedArray:  # type: ignore[override]
        return _array(perform("not_equal", self, other))

    __hash__ = object.__hash__

    # numpy: numpy_protocol.py

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """`np.multiply(x, y)` and operators with plain arrays on the left."""
        return perform("ufunc", function, method, inputs, options)

    def __array_function__(self, function: Any, kinds: Any, args: Any, options: Any) -> Any:
        """`np.sum(x, axis=0)`, `np.concatenate([x, y])` and others that arrays have."""
        return perform("function", function, args, options)

    def __array__(self, *args: Any, **options: Any) -> npt.NDArray[Any]:
        raise WrongType(
            "an encrypted array cannot become a plain one: what it holds is encrypted. Make one array of "
            "several with np.stack([x, y]) or np.concatenate instead of np.array or np.mean([x, y]); the "
            "client sees values with client.decrypt(array)"
        )

    # What encrypted values cannot do

    def __bool__(self) -> NoReturn:
        raise WrongType(
            "an encrypted array has no truth value: what it holds is encrypted, so no `if` can depend on it; "
            "compute both ways and choose: c * yes + (1 - c) * no with an encrypted c of 1 or 0"
        )

    def _number(self) -> NoReturn:
        raise WrongType("an encrypted array cannot become a number; use client.decrypt(array)")

    __float__ = __int__ = __complex__ = __index__ = _number

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise WrongType(
            "x[index] = value: encrypted arrays never change; make a new one with np.concatenate, or as "
            "mask * value + (1 - mask) * x with a plain mask"
        )

    def __contains__(self, value: object) -> NoReturn:
        raise WrongType("value in x: what an encrypted array holds is not known; decrypt it")

    def _no_operator(self, *others: Any) -> NoReturn:
        raise WrongType(
            "%, //, <<, >>, &, |, ^, ~ and round are not defined on encrypted arrays: they need whole "
            "numbers or jumps. Defined are + - * / by plain numbers, **, and functions by polynomials. Of "
            "conditions a and b, which are 1 or 0, `and` is a * b, `or` is a + b - a * b, `not` is 1 - a"
        )

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _no_operator
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _no_operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __round__ = _no_operator

    def __repr__(self) -> str:
        place = f"on {self.device}" if self.engine is not None else "unbound"
        kind = "real" if self.is_real else "complex"
        return (
            f"EncryptedArray(shape {self.shape}, {kind}, {len(self._parts)} x {self._packing.slots} slots, "
            f"level {self.level}, {place})"
        )


def _array(made: Any) -> EncryptedArray:
    """What an operation returned, for the checker of types; NotImplemented passes through for Python."""
    result: EncryptedArray = made
    return result
