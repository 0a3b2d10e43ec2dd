# SPDX-License-Identifier: Apache-2.0
"""Ciphertexts: plain data until bound to an engine, then values with operators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Ciphertext as NativeCiphertext
from ..base.errors import InvalidArgument, PrecisionLoss, WrongType
from ..base.files import load_object, save_object
from ..base.values import (
    ComplexVector,
    byte_string,
    expect,
    integer,
    is_scalar,
    positive,
    scalar,
    vector,
)
from .host import Host
from .instead import divisor_encrypted, refuse_function, unsupported
from .params import Params, carried_params

_SURELY_KEPT = 2.0**-16
"""Factors from here on are not 0 at any scale that parameters have."""

Operand = Any
"""What stands beside a ciphertext: another one, a number, or a vector of at most `slots` numbers."""


class Ciphertext:
    """An encrypted vector of `slots` complex numbers.

    A ciphertext is plain data, with `to_bytes`, `save` and pickle, until `ct.to(engine)` binds it. Then it
    computes with `+ - * / **`, `rotate`, `conj`; `ct @` is not defined, but `matrix @ ct` is. Operands may be
    ciphertexts of the same engine, numbers, and vectors: shorter ones count as padded with zeros, and a
    single number in a vector is refused because it could mean both that and all slots. Ciphertexts are
    immutable: `ct += 1` makes a new one.

    In automatic mode (the default) a product is relinearized and rescaled and costs one level; operands of
    different levels and scales are brought together exactly. `with engine.manual():` leaves all that to
    the caller.

    Operations raise InvalidArgument (not bound, another engine, bad operand), KeyMismatch (operands or
    evaluation keys of two clients), LevelExhausted, MissingKey, ScaleMismatch (manual mode) and OutOfMemory.
    """

    __slots__ = ("__weakref__", "_engine", "_native", "_real", "_waits")

    def __init__(self, core: NativeCiphertext, engine: Host | None, real: bool) -> None:
        self._native = expect(core, NativeCiphertext, "Ciphertext", "use client.encrypt(values)")
        self._engine = engine
        self._real = real
        refreshes = None if engine is None else engine._refreshes
        self._waits = refreshes is not None and refreshes.adopt(self)

    @property
    def _core(self) -> NativeCiphertext:
        """The native ciphertext; one that waits for its bootstrap gets it now."""
        if self._waits and self._engine is not None and self._engine._refreshes is not None:
            self._engine._refreshes.settle(self)
        return self._native

    @property
    def params(self) -> Params:
        """Parameters that it belongs to."""
        return Params._wrap(self._native.params)

    @property
    def level(self) -> int:
        """Multiplications left."""
        return self._core.level

    @property
    def scale(self) -> float:
        """Factor between the message and the encrypted integers; a little above 2^40 in most presets."""
        return self._core.scale

    @property
    def slots(self) -> int:
        """Number of values, a power of two."""
        return self._native.slots

    @property
    def components(self) -> int:
        """2, or 3 after a product in manual mode that was not relinearized."""
        return self._core.parts

    @property
    def key_id(self) -> str | None:
        """The secret key that it is encrypted under, as `Client.key_id`; None where that is unknown."""
        return self._native.key_id

    @property
    def nbytes(self) -> int:
        """Bytes that it occupies in memory."""
        return self._core.nbytes

    @property
    def is_real(self) -> bool:
        """Whether only real numbers went into it, so that `decrypt` returns real numbers."""
        return self._real

    @property
    def engine(self) -> Any:
        """The `Engine` that it is bound to, or None."""
        return self._engine

    @property
    def device(self) -> str | None:
        """Device of its engine, such as "cpu"; None while it is unbound."""
        return self._engine.device if self._engine is not None else None

    def to(self, engine: Host) -> Ciphertext:
        """This ciphertext bound to an engine of equal parameters: its bytes are copied there.

        Raises KeyMismatch when the engine's keys are those of another client.
        """
        return engine._bind(self)

    # Plain data

    def to_bytes(self) -> bytes:
        """The container form. Straight from symmetric encryption it has half the bytes of `nbytes`."""
        return self._core.to_bytes(self._real)

    @classmethod
    def from_bytes(
        cls, data: bytes, params: Params | None = None, *, allow_insecure: bool = False
    ) -> Ciphertext:
        """An unbound ciphertext from `to_bytes`. Everything is checked before it comes out.

        With `params` it must belong to them; otherwise the parameters that the bytes carry are taken, which
        must be secure unless `allow_insecure=True`. Raises CorruptData, InvalidArgument (another kind of
        object, other parameters), InsecureParameters.
        """
        data = byte_string(data, "Ciphertext.from_bytes")
        core, real = _core.ciphertext_from_bytes(data, carried_params(data, params, allow_insecure)._core)
        return cls(core, None, real)

    def save(self, path: str | Path) -> None:
        """Writes a container file: as a whole or not at all. Raises IoError."""
        save_object(path, "Ciphertext.save", lambda name: self._core.save(name, self._real), self.to_bytes)

    @classmethod
    def load(
        cls, path: str | Path, params: Params | None = None, *, allow_insecure: bool = False
    ) -> Ciphertext:
        """An unbound ciphertext from a file of `save`; see `from_bytes`. Raises IoError."""

        def from_file(name: str) -> Ciphertext:
            core, real = _core.ciphertext_from_file(name, carried_params(name, params, allow_insecure)._core)
            return cls(core, None, real)

        return load_object(
            path,
            "Ciphertext.load",
            from_file,
            lambda data: cls.from_bytes(data, params, allow_insecure=allow_insecure),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Ciphertext.from_bytes, (self.to_bytes(), self.params)

    # Arithmetic

    def _on(self, operation: str) -> Host:
        """The engine that computes `operation`."""
        if self._engine is None:
            raise InvalidArgument(
                f"{operation}: this ciphertext is plain data, not bound to an engine; bind it with "
                "ct.to(engine), or run the program with engine.run(fn, ct)"
            )
        return self._engine

    def _made(self, core: NativeCiphertext, real: bool = True) -> Ciphertext:
        return Ciphertext(core, self._engine, self._real and real)

    def _switched(self, operation: str, steps: tuple[int, ...] = ()) -> Ciphertext | None:
        """What a key node made of this ciphertext; None where its engine shall compute."""
        nodes = self._on(operation)._elsewhere
        done = nodes and nodes.switch(operation, [self], steps)
        return self._made(done[0]) if done else None

    def _partner(self, other: Ciphertext, operation: str) -> Ciphertext:
        engine = self._on(operation)
        if other._on(operation) is not engine:
            if (self.device == "ghost") != (other.device == "ghost"):
                raise InvalidArgument(
                    f"{operation}: one operand is an argument of the program, the other one is bound to an "
                    "engine outside of it; pass both as arguments of the program"
                )
            raise InvalidArgument(
                f"{operation}: the operands are bound to two engines ({self.device} and {other.device}); "
                "bind both to one with ct.to(engine)"
            )
        return other

    def _values(self, values: Operand, operation: str) -> tuple[ComplexVector, bool]:
        """A plain operand as a vector that fits this ciphertext."""
        array, real = vector(values, operation)
        if len(array) > self.slots:
            raise InvalidArgument(
                f"{operation}: {len(array)} values, but the ciphertext has {self.slots} slots; "
                "encrypt it with more slots, or split the values"
            )
        if len(array) == 1 < self.slots:
            raise InvalidArgument(
                f"{operation}: a vector of one value could mean slot 0 or all {self.slots} slots; pass a "
                "number for all slots, or a vector padded with zeros"
            )
        return array, real

    def __add__(self, other: Operand) -> Ciphertext:
        engine = self._on("add")._core
        if isinstance(other, Ciphertext):
            self._partner(other, "add")
            return self._made(engine.add(self._core, other._core), other._real)
        if is_scalar(other):
            number = scalar(other, "add")
            return self._made(engine.add_constant(self._core, number), not number.imag)
        array, real = self._values(other, "add")
        return self._made(engine.add_values(self._core, array), real)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Ciphertext:
        engine = self._on("subtract")._core
        if isinstance(other, Ciphertext):
            self._partner(other, "subtract")
            return self._made(engine.sub(self._core, other._core), other._real)
        if is_scalar(other):
            return self + -scalar(other, "subtract")
        array, _ = self._values(other, "subtract")
        return self + (-array.real if not array.imag.any() else -array)

    def __rsub__(self, other: Operand) -> Ciphertext:
        return -self + other

    def __neg__(self) -> Ciphertext:
        return self._made(self._on("negate")._core.negate(self._core))

    def __pos__(self) -> Ciphertext:
        return self

    def __mul__(self, other: Operand) -> Ciphertext:
        engine = self._on("multiply")._core
        if isinstance(other, Ciphertext):
            return self._times(self._partner(other, "multiply"))
        if is_scalar(other):
            number = scalar(other, "multiply")
            self._warn_if_lost(max(abs(number.real), abs(number.imag)))
            return self._made(engine.multiply_constant(self._core, number), not number.imag)
        array, real = self._values(other, "multiply")
        self._warn_if_lost(float(np.abs(array).max(initial=0.0)))
        return self._made(engine.multiply_values(self._core, array), real)

    __rmul__ = __mul__

    def _times(self, other: Ciphertext) -> Ciphertext:
        """The product with a ciphertext of the same engine."""
        host = self._on("multiply")
        if host._elsewhere is None or host._core.manual:
            return self._made(host._core.multiply(self._core, other._core), other._real)
        return self._made(host._core.unfinished_product(self._core, other._core), other._real)._finished()

    def _finished(self) -> Ciphertext:
        """A product of three components as automatic mode leaves it; a key node may do that."""
        sent = self._switched("product")
        return self._made(self._on("multiply")._core.finish_product(self._core)) if sent is None else sent

    def _warn_if_lost(self, largest: float) -> None:
        """Warns of a factor that rounds to 0 at the scale with which it is encoded: its largest magnitude."""
        if largest == 0.0 or largest >= _SURELY_KEPT:
            return
        scale = self._on("multiply")._core.plain_scale(self._core)
        if largest * scale < 0.5:
            warnings.warn(
                f"multiply: the factor {largest:.3g} times the scale 2^{np.log2(scale):.2f} rounds to 0, and "
                f"so does the product; it takes {0.5 / scale:.3g} or more. Results so small are below the "
                "precision of the parameters: scale the values up, or take parameters of a larger scale",
                PrecisionLoss,
                stacklevel=3,
            )

    def __truediv__(self, other: Operand) -> Ciphertext:
        """Product with the reciprocal of a number or vector. Ciphertexts cannot be divided by."""
        self._on("divide")
        if isinstance(other, Ciphertext):
            raise divisor_encrypted()
        if is_scalar(other):
            number = scalar(other, "divide")
            if number == 0:
                raise InvalidArgument("divide: the divisor is zero")
            return self * (1.0 / (number if number.imag else number.real))
        array, real = self._values(other, "divide")
        if len(array) < self.slots or not array.all():
            raise InvalidArgument(f"divide: the divisor must have {self.slots} values, none of them zero")
        return self * (1.0 / (array.real if real else array))

    def __rtruediv__(self, other: Operand) -> Ciphertext:
        """Raises WrongType: ciphertexts cannot be divided by."""
        raise divisor_encrypted()

    def __pow__(self, exponent: int) -> Ciphertext:
        """Integer power by squaring and multiplying; costs ceil(log2(exponent)) levels."""
        self._on("power")
        rest = integer(exponent, "power: exponent", 1)
        square: Ciphertext = self
        result: Ciphertext | None = None
        while True:
            if rest & 1:
                result = square if result is None else result * square
            rest >>= 1
            if not rest:
                assert result is not None  # the highest bit is set
                return result
            square = square * square

    def __rmatmul__(self, matrix: npt.ArrayLike) -> Ciphertext:
        """Product of a plain matrix (rows, columns) with this vector; see `Engine.matvec`."""
        return self._on("matrix product").matvec(matrix, self)

    def rotate(self, steps: int) -> Ciphertext:
        """Slots moved to the left by `steps` (negative: to the right), cyclically. Needs a rotation key."""
        engine = self._on("rotate")
        steps = integer(steps, "rotate: steps")
        if steps % self.slots == 0:
            return self
        sent = self._switched("rotate", (steps,))
        return self._made(engine._core.rotate(self._core, steps)) if sent is None else sent

    def conj(self) -> Ciphertext:
        """Complex conjugate of every slot. Needs the conjugation key."""
        sent = self._switched("conjugate")
        return self._made(self._on("conjugate")._core.conjugate(self._core)) if sent is None else sent

    def mul_i(self) -> Ciphertext:
        """Product with the imaginary unit. Exact, costs no level."""
        return self._made(self._on("multiply by i")._core.multiply_by_i(self._core), False)

    # Maintenance, mostly for manual mode

    def relinearize(self) -> Ciphertext:
        """Three components brought back to two. Needs the relinearization key."""
        sent = self._switched("relinearize")
        return self._made(self._on("relinearize")._core.relinearize(self._core)) if sent is None else sent

    def rescale(self) -> Ciphertext:
        """One level lower, with the scale divided by about the scale of the parameters."""
        return self._made(self._on("rescale")._core.rescale(self._core))

    def drop_level(self, level: int) -> Ciphertext:
        """The same values at a lower level: less to compute with. One division with rounding.

        On an engine with automatic bootstraps `level` may be above its level: it is bootstrapped then, where
        that gives so many levels, and stays as it is where it does not.
        """
        engine = self._on("drop_level")
        most = self.level if engine._refreshes is None else self.params.max_level
        return self._made(engine._core.drop_level(self._core, integer(level, "drop_level: level", 0, most)))

    def adjust(self, level: int, scale: float) -> Ciphertext:
        """The same values at exactly `level` and `scale`; needs a level more unless the scale fits."""
        engine = self._on("adjust")
        level = integer(level, "adjust: level", 0, self.level)
        return self._made(engine._core.adjust(self._core, level, positive(scale, "adjust: scale")))

    def with_slots(self, slots: int) -> Ciphertext:
        """The same ciphertext read as one of `slots` slots; costs a copy.

        More slots: the values repeat themselves. Fewer: of values that repeat themselves after `slots` slots,
        which the caller must know, one repetition; differences between them become noise.
        """
        engine = self._on("with_slots")
        return self._made(engine._core.with_slots(self._core, integer(slots, "with_slots: slots", 1)))

    # What encrypted values cannot do, and what to do instead

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Ciphertext:
        """`array * ct` and `np.multiply(array, ct)` are operators of this class; no other function is."""
        name = _OPERATORS.get(function.__name__)
        if method == "__call__" and name is not None and not options and len(inputs) <= 2:
            if inputs[0] is self or isinstance(inputs[0], Ciphertext):
                return getattr(inputs[0], f"__{name}__")(*inputs[1:])
            return getattr(self, f"__r{name}__")(inputs[0])
        raise unsupported(f"np.{function.__name__}" + ("" if method == "__call__" else f".{method}"))

    __array_function__ = refuse_function

    def __matmul__(self, other: object) -> NoReturn:
        raise WrongType(
            "matrix product: a ciphertext stands on the right, as in `matrix @ x`, so write `matrix.T @ x` "
            "for `x @ matrix`; the inner product of two ciphertexts is engine.inner_sum(x * y)"
        )

    def __getitem__(self, index: object) -> NoReturn:
        raise WrongType(
            f"ciphertext[{index!r}]: slots cannot be taken out of a ciphertext. client.decrypt(ct)[...] has "
            "them; to compute with some, multiply by a vector of ones and zeros, and move them with "
            "ct.rotate(k)"
        )

    def __len__(self) -> int:
        raise WrongType("a ciphertext has no length; ct.slots is the number of its values")

    def __bool__(self) -> bool:
        raise WrongType(
            "a ciphertext has no truth value: what it holds is encrypted, so no `if` can depend on it. "
            "Compute both ways and choose: c = engine.compare(a, b); c * yes + (1 - c) * no"
        )

    def _number(self, kind: str) -> NoReturn:
        raise WrongType(
            f"{kind}: a ciphertext cannot become a number: what it holds is encrypted; use client.decrypt"
        )

    def __float__(self) -> float:
        self._number("float")

    def __int__(self) -> int:
        self._number("int")

    def __complex__(self) -> complex:
        self._number("complex")

    def _ordered(self, other: object) -> NoReturn:
        raise WrongType(
            "compare: an encrypted order cannot be seen; engine.compare(a, b) is an encrypted 1 or 0, and "
            "engine.maximum(a, b), engine.minimum(a, b) choose"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _ordered

    def __abs__(self) -> NoReturn:
        raise unsupported("abs")

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise unsupported("round")

    def __mod__(self, other: object) -> NoReturn:
        raise unsupported("%")

    def __floordiv__(self, other: object) -> NoReturn:
        raise unsupported("//")

    __rmod__, __rfloordiv__ = __mod__, __floordiv__

    def __repr__(self) -> str:
        place = f"on {self.device}" if self._engine is not None else "unbound"
        return (
            f"Ciphertext({self.slots} slots, level {self.level}, scale 2^{np.log2(self.scale):.2f}, "
            f"{_core.format_bytes(self.nbytes)}, {place})"
        )


_OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "true_divide": "truediv",
    "matmul": "matmul",
    "negative": "neg",
    "positive": "pos",
    "power": "pow",
}
"""Functions of numpy that are operators of ciphertexts, by the names of their methods."""


def bind_all(value: Any, bind: Callable[[Ciphertext], Ciphertext]) -> Any:
    """`value` with every ciphertext in it bound, inside lists, tuples and dictionaries too.

    An object that holds ciphertexts says so with a method `_map_ciphertexts(bind)`, which returns the same
    kind of object with bound ones, and has `__program_identity__`, which says the rest of its shape.
    """
    try:
        return _bind_in(value, bind)
    except RecursionError:
        raise InvalidArgument(
            "run: an argument of the program contains itself, or is nested too deeply"
        ) from None


def _bind_in(value: Any, bind: Callable[[Ciphertext], Ciphertext]) -> Any:
    kind = type(value)  # objects may answer isinstance with code of their own
    if issubclass(kind, Ciphertext):
        return bind(value)
    if kind in (list, tuple):
        return kind(_bind_in(each, bind) for each in value)
    if kind is dict:
        return {key: _bind_in(each, bind) for key, each in value.items()}
    for base in kind.__mro__:  # the class alone decides, as above
        if "_map_ciphertexts" in vars(base):
            return vars(base)["_map_ciphertexts"](value, bind)
    return value
