# SPDX-License-Identifier: Apache-2.0
"""Circuits as bytes, so that a key node evaluates them.

The weights travel as they were given, before they are encoded: the encoder makes the same integers of them on
both sides. Numbers that are real travel as 8 bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import limits
from ..base.errors import CorruptData, Error, InvalidArgument
from ..base.values import integer
from ..circuits.bootstrapping import BootstrapCircuit, BootstrapOptions, Bootstrapper
from ..circuits.choice import CircuitChoice
from ..circuits.encoded import EncodedCircuit
from ..circuits.functions import ComparisonCircuit, PolynomialCircuit, WholeCircuit
from ..circuits.layers import BlockMatmul, Convolution2d, ImageLayout, MatrixVector
from ..circuits.polynomial import Polynomial
from ..circuits.transforms import LinearTransform, TransformGrid
from .wire import pack, unpack

Array = npt.NDArray[Any]
Circuit = EncodedCircuit | WholeCircuit
_TYPES = {"f": "<f8", "c": "<c16"}
OWN = CircuitChoice()
"""Leaves a circuit its own options."""
MOST_CELLS = 1 << 16
"""Cells of a grid."""
MOST_COEFFICIENTS = 1 << 13
"""Of a polynomial."""
MOST_ROUNDS = 64
"""Iterations of a bootstrap, and the degree of its arcsine."""
MOST_STAGES = 20
"""Matrices of CoeffToSlot with stages of their own."""
MOST_PLAIN = 4 * limits.GIB
"""Bytes of all diagonals in the clear, 16 for each slot, as they are while a node encodes them."""


class _Arrays:
    """Arrays of a map, each once."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self._known: dict[int, int] = {}

    def add(self, array: Array) -> int:
        """The number of an array; it must live until all are packed."""
        if id(array) not in self._known:
            self._known[id(array)] = len(self.blobs)
            real = array.dtype.kind != "c" or not array.imag.any()
            data = np.ascontiguousarray(array.real if real else array, dtype="<f8" if real else "<c16")
            self.blobs.append((b"f" if real else b"c") + data.tobytes())
        return self._known[id(array)]


def to_bytes(circuit: Circuit, said: CircuitChoice = OWN) -> bytes | None:
    """A circuit as `from_bytes` reads it; None for one of another class, which no node evaluates.

    said: what the engine decides about it, which the copy has as its own options.
    """
    arrays = _Arrays()
    about: dict[str, Any]
    if isinstance(circuit, WholeCircuit):
        described = _described(circuit, said, arrays)
        return None if described is None else pack(described, arrays.blobs)
    if type(circuit) in (TransformGrid, LinearTransform):
        cells = [[[(d, arrays.add(v)) for d, v in cell.items()] for cell in row] for row in circuit._cells]  # type: ignore[attr-defined]
        about = {"kind": "grid", "cells": cells}
    elif type(circuit) is Convolution2d:
        about = {"kind": "convolution", "shape": circuit._weights.shape, "bias": circuit._bias}
        about |= {"weights": arrays.add(circuit._weights), "stride": circuit._stride}
        about |= {"layout": dataclasses.astuple(circuit._layout)}
    elif type(circuit) is MatrixVector:
        about = {"kind": "matrix", "shape": circuit._matrix.shape, "weights": arrays.add(circuit._matrix)}
    elif type(circuit) is BlockMatmul:
        rows = [[(arrays.add(each), *each.shape) for each in row] for row in circuit._matrices]
        about = {"kind": "blocks", "matrices": rows, "block": circuit._block, "fold": circuit._fold}
    else:
        return None
    compact = circuit._compact if said.compact is None else bool(said.compact)
    baby_count = circuit._baby_count if said.baby_count is None else said.baby_count
    about |= {"slots": circuit._slots, "mode": said.mode or circuit._mode, "compact": compact}
    about |= {"baby_count": baby_count, "real": circuit._real}
    return pack(about, arrays.blobs)


def _described(circuit: WholeCircuit, said: CircuitChoice, arrays: _Arrays) -> dict[str, Any] | None:
    """A circuit without encoded weights; None for one that no node evaluates."""
    if isinstance(circuit, Bootstrapper | BootstrapCircuit):
        options = circuit._options_with(said) if isinstance(circuit, Bootstrapper) else circuit.options
        given = dataclasses.asdict(options)
        finite = all(math.isfinite(each) for each in given.values() if isinstance(each, float))
        return {"kind": "bootstrap", "options": given} if finite else None
    if isinstance(circuit, ComparisonCircuit):
        return {"kind": "comparison", "name": circuit.name, "alpha": circuit.alpha, "bound": circuit.bound}
    if isinstance(circuit, PolynomialCircuit) and len(circuit.polynomial.coefficients) <= MOST_COEFFICIENTS:
        p = circuit.polynomial
        about = {"kind": "polynomial", "coefficients": arrays.add(p.coefficients), "level": circuit.level}
        return about | {"basis": p.basis, "domain": list(p.domain)}
    return None


def digest_of(data: bytes) -> str:
    """The name of a map: a BLAKE2b digest of 32 bytes, in hexadecimal."""
    return hashlib.blake2b(data, digest_size=32, person=b"halocline map").hexdigest()


class KnownMaps:
    """The bytes of circuits, made when they are sent first; kept as long as the circuits live."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: weakref.WeakKeyDictionary[Circuit, dict[CircuitChoice, tuple[str, int]]]
        self._names = weakref.WeakKeyDictionary()

    def name(self, circuit: Circuit, said: CircuitChoice) -> tuple[str, int] | None:
        """Digest and size of a circuit; None for one that no node evaluates. Weights never change."""
        with self._lock:
            known = self._names.get(circuit, {}).get(said)
        if known is not None:
            return known
        data = to_bytes(circuit, said)
        if data is None or len(data) > limits.KEY_NODE_MESSAGE:
            return None
        with self._lock:
            found = digest_of(data), len(data)
            self._names.setdefault(circuit, {})[said] = found
        return found


def from_bytes(data: bytes) -> Circuit:
    """The circuit. CorruptData for anything but what `to_bytes` makes, InvalidArgument as its class does."""
    about, blobs = unpack(data, "map")
    arrays = [_array(each) for each in blobs]
    try:
        made = _BUILDERS[about["kind"]](about, arrays)
        if isinstance(made, EncodedCircuit):
            made._real = bool(about["real"])
    except Error:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise CorruptData(f"map: its description is not that of a circuit ({kind_of_error(error)})") from None
    return made


def kind_of_error(error: Exception) -> str:
    """What was wrong, in few words."""
    return f"{type(error).__name__}: {str(error)[:100]}"


def _array(blob: bytes) -> Array:
    """A vector of finite numbers."""
    dtype = np.dtype(_TYPES.get(blob[:1].decode("latin-1"), "V1"))
    if dtype.kind == "V" or len(blob) == 1 or (len(blob) - 1) % dtype.itemsize:
        raise CorruptData(f"map: {len(blob)} bytes are no array of numbers")
    array = np.frombuffer(blob, dtype, offset=1)
    if not np.isfinite(array).all():
        raise CorruptData("map: NaN or infinite weights; expected finite numbers")
    return array.astype(np.complex128 if dtype.kind == "c" else np.float64)


def _options(about: dict[str, Any]) -> dict[str, Any]:
    mode, compact = about["mode"], about["compact"]
    if not isinstance(mode, str) or not isinstance(compact, bool):
        raise CorruptData("map: mode and compact must be text and a truth value")
    return {"mode": mode, "compact": compact, "baby_count": _count(about["baby_count"], "baby_count", 0)}


def _count(value: Any, what: str, low: int = 1, high: int = 1 << 24) -> int:
    if isinstance(value, bool):
        raise CorruptData(f"map: {what} is a truth value, expected a number")
    return integer(value, f"map: {what}", low, high)


def _at(arrays: Sequence[Array], index: Any) -> Array:
    return arrays[_count(index, "number of an array", 0, len(arrays) - 1)]


def _shaped(arrays: Sequence[Array], index: Any, shape: Any, dtype: Any, dimensions: int) -> Array:
    """An array of a shape; the product of which is compared with what came before it is used."""
    sizes = [_count(each, "size of an array") for each in shape]
    found = _at(arrays, index)
    if len(sizes) != dimensions or math.prod(sizes) != len(found):
        raise CorruptData(f"map: {len(found)} numbers for an array of {sizes}")
    return found.reshape(sizes).astype(dtype, copy=False)


def _expect_bounded(diagonals: int, slots: int) -> None:
    """Before anything is made of them: few bytes may describe many diagonals."""
    if diagonals * slots * 16 > MOST_PLAIN:
        raise InvalidArgument(
            f"map: {diagonals} diagonals of {slots} slots, expected at most {MOST_PLAIN // (16 * slots)}"
        )


def _grid(about: dict[str, Any], arrays: Sequence[Array]) -> EncodedCircuit:
    rows = about["cells"]
    if sum(len(row) for row in rows) > MOST_CELLS:
        raise CorruptData(f"map: more than {MOST_CELLS} cells")
    slots = _count(about["slots"], "slots", 1, 1 << 17)
    _expect_bounded(sum(len(cell) for row in rows for cell in row), slots)
    vectors = [each.astype(np.complex128, copy=False) for each in arrays]
    cells = []
    for row in rows:
        pairs = [[(_count(d, "diagonal", -(1 << 24)), _at(vectors, v)) for d, v in cell] for cell in row]
        if any(len(dict(each)) != len(each) for each in pairs):
            raise CorruptData("map: a diagonal is there twice")
        cells.append([dict(each) for each in pairs])
    if len(cells) == len(cells[0]) == 1:
        return LinearTransform(cells[0][0], slots=slots, **_options(about))
    return TransformGrid(cells, slots=slots, **_options(about))


def _convolution(about: dict[str, Any], arrays: Sequence[Array]) -> EncodedCircuit:
    weights = _shaped(arrays, about["weights"], about["shape"], np.float64, 4)
    layout = ImageLayout(*(_count(each, "layout", 0) for each in about["layout"]))
    bias = [float(each) for each in about["bias"]] or None
    slots, stride = _count(about["slots"], "slots", 1, 1 << 17), _count(about["stride"], "stride")
    _expect_bounded(weights.size, slots)
    return Convolution2d(weights, layout, slots, bias=bias, stride=stride, **_options(about))


def _matrix(about: dict[str, Any], arrays: Sequence[Array]) -> EncodedCircuit:
    matrix = _shaped(arrays, about["weights"], about["shape"], np.complex128, 2)
    slots = _count(about["slots"], "slots", 1, 1 << 17)
    _expect_bounded(2 * min(matrix.shape), slots)
    return MatrixVector(matrix, slots, **_options(about))


def _blocks(about: dict[str, Any], arrays: Sequence[Array]) -> EncodedCircuit:
    rows = [[_shaped(arrays, i, (r, c), np.complex128, 2) for i, r, c in row] for row in about["matrices"]]
    slots, block = _count(about["slots"], "slots", 1, 1 << 17), _count(about["block"], "block")
    _expect_bounded(2 * block * sum(len(row) for row in rows), slots)
    if not isinstance(about["fold"], bool):
        raise InvalidArgument("map: fold must be a truth value")
    return BlockMatmul(rows, block, slots, fold=about["fold"], **_options(about))


def _polynomial(about: dict[str, Any], arrays: Sequence[Array]) -> WholeCircuit:
    coefficients = _at(arrays, about["coefficients"])
    if len(coefficients) > MOST_COEFFICIENTS:
        raise CorruptData(f"map: {len(coefficients)} coefficients, expected at most {MOST_COEFFICIENTS}")
    level = None if about["level"] is None else _count(about["level"], "level", 0, 1 << 10)
    return PolynomialCircuit(
        Polynomial(coefficients, about["basis"], [_number(each) for each in about["domain"]]), level
    )


def _comparison(about: dict[str, Any], arrays: Sequence[Array]) -> WholeCircuit:
    return ComparisonCircuit(about["name"], _count(about["alpha"], "alpha"), _number(about["bound"]))


_LISTS = {"cts_stages": int, "cts_matrices": str, "stc_matrices": str}
"""Options that are tuples, which arrive as lists, because JSON has no tuples."""


def _is_short_list(value: Any, kind: type) -> bool:
    return type(value) is list and len(value) <= MOST_STAGES and all(type(each) is kind for each in value)


def _bootstrap(about: dict[str, Any], arrays: Sequence[Array]) -> WholeCircuit:
    given = about["options"]
    for field in dataclasses.fields(BootstrapOptions):
        value, default = given[field.name], field.default
        fits = isinstance(value, int | float) if isinstance(default, float) else type(value) is type(default)
        fits = fits or (field.name in ("slots", "memory", "range") and type(value) in (int, float, str))
        fits = fits or (field.name in _LISTS and _is_short_list(value, _LISTS[field.name]))
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            raise CorruptData(f"map: {field.name} of a bootstrap is {value!r:.40}")
    made = BootstrapOptions(**{**given, **{name: tuple(given[name]) for name in _LISTS}})
    if max(made.iterations, made.arcsine_degree) > MOST_ROUNDS:
        raise InvalidArgument(
            f"map: a bootstrap of {made.iterations} iterations with an arcsine of degree "
            f"{made.arcsine_degree}, expected at most {MOST_ROUNDS} of both"
        )
    made._core_options()  # its texts and sizes are checked there
    return BootstrapCircuit(made)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CorruptData(f"map: {value!r:.40} is no number")
    return float(value)


_BUILDERS: dict[str, Callable[[dict[str, Any], Sequence[Array]], Circuit]] = {
    "grid": _grid,
    "convolution": _convolution,
    "matrix": _matrix,
    "blocks": _blocks,
    "polynomial": _polynomial,
    "comparison": _comparison,
    "bootstrap": _bootstrap,
}
