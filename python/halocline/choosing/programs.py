# SPDX-License-Identifier: Apache-2.0
"""Programs run on simulated engines: their arguments from arrays, their results as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays.array import EncryptedArray
from ..arrays.operands import plain_array
from ..arrays.packing import Packing
from ..base.errors import WrongType
from ..base.values import expect, integer, kind_of, power_of_two
from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext
from ..ckks.params import Params
from ..engine.automatic_runs import Bootstrap
from .engine import SimulatedEngine

Inputs = Any
"""The arguments of a program: one array; a list or tuple with one entry for each positional parameter; a
dictionary with one for each named one. Arrays stand for what the client encrypts."""
MOST_SLOTS = 1 << 16
"""Of a ciphertext under any parameters; longer vectors are encrypted arrays."""


@dataclasses.dataclass(frozen=True)
class Simulated:
    """One run of a program on a simulated engine."""

    engine: SimulatedEngine
    """What it ran on."""
    result: Any
    """What the program returned: ciphertexts of that engine."""
    encrypted: tuple[Ciphertext, ...]
    """The ciphertexts that the client sends."""


def run_simulated(
    program: Callable[..., Any],
    inputs: Inputs,
    params: Params,
    *,
    rows: int,
    seed: int = 0,
    arrays: bool = False,
    public: bool = False,
    circuits: CircuitChoice | None = None,
    bootstrap: Bootstrap | None = None,
) -> Simulated:
    """Runs a program on `rows` rows of numbers: see `SimulatedEngine`."""
    if not callable(program):
        raise WrongType(f"simulate: got {kind_of(program)}, expected a function of ciphertexts")
    expect(params, Params, "simulate: params")
    seed = integer(seed, "simulate: seed", 0)
    engine = SimulatedEngine(params, rows, seed, circuits=circuits, bootstrap=bootstrap)
    sent: list[Ciphertext] = []

    def encrypt(values: npt.NDArray[Any], slots: int) -> Ciphertext:
        sent.append(engine.encrypt(values, slots=slots, public=public))
        return sent[-1]

    positional, keywords = encrypted(inputs, params.slots, arrays, encrypt)
    if not sent:
        raise WrongType(
            "simulate: no input is an array; give numpy arrays of what the client encrypts, as in "
            "simulate(program, [np.array([1.0, 2.0])], params)"
        )
    return Simulated(engine, engine.compute(program, (tuple(positional), keywords)), tuple(sent))


def arguments_of(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments."""
    if isinstance(inputs, np.ndarray):
        return (inputs,), {}
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, list | tuple):
        return tuple(inputs), {}
    raise WrongType(
        f"simulate: inputs: got {kind_of(inputs)}, expected an array, a list of arguments or a dictionary"
    )


def encrypted(
    inputs: Inputs, slots: int, arrays: bool, encrypt: Callable[[npt.NDArray[Any], int], Ciphertext]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments with what `encrypt(vector, slots)` makes in place of arrays; `slots`: the most there are."""

    def one(values: npt.NDArray[Any]) -> Any:
        if is_array(values, arrays):
            array = plain_array(values, "simulate")
            packing = Packing.of(array.shape, slots)
            return EncryptedArray([encrypt(each, packing.slots) for each in packing.pack(array)], packing)
        return encrypt(np.atleast_1d(values), power_of_two(max(values.size, 1)))

    args, named = arguments_of(inputs)
    return [replaced(each, one) for each in args], {name: replaced(each, one) for name, each in named.items()}


def is_array(values: npt.NDArray[Any], arrays: bool) -> bool:
    """Whether an input stands for an encrypted array, and not for a ciphertext."""
    return arrays or values.ndim > 1 or values.size > MOST_SLOTS


def replaced(value: Any, encrypt: Callable[[npt.NDArray[Any]], Any]) -> Any:
    """`value` with arrays encrypted, inside lists, tuples and dictionaries too."""
    if isinstance(value, np.ndarray):
        return encrypt(value)
    if isinstance(value, list | tuple):
        return type(value)(replaced(each, encrypt) for each in value)
    if isinstance(value, dict):
        return {key: replaced(each, encrypt) for key, each in value.items()}
    return value


def outputs_of(value: Any, name: str = "result") -> Iterator[tuple[str, Ciphertext | EncryptedArray]]:
    """Names, ciphertexts and arrays of what a program returned."""
    if isinstance(value, Ciphertext | EncryptedArray):
        yield name, value
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from outputs_of(each, f"{name}[{index}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from outputs_of(each, f"{name}[{key!r}]")


def rows_of(engine: SimulatedEngine, output: Ciphertext | EncryptedArray) -> npt.NDArray[Any]:
    """(rows, ...) of the values of an output: slots of a ciphertext, elements of an array."""
    if isinstance(output, Ciphertext):
        return np.asarray(engine.decrypt_rows(output))
    parts = np.stack([engine.decrypt_rows(each) for each in output.parts], axis=1)
    parts = parts.real if output.is_real else parts
    return np.stack([output.packing.unpack(list(each)) for each in parts])


def decrypted(made: Simulated, row: int) -> Any:
    """The result of a run with the numbers of one row in place of ciphertexts."""

    def opened(value: Any) -> Any:
        if isinstance(value, Ciphertext | EncryptedArray):
            return np.array(rows_of(made.engine, value)[row])
        if isinstance(value, list | tuple):
            return type(value)(opened(each) for each in value)
        if isinstance(value, dict):
            return {key: opened(each) for key, each in value.items()}
        return value

    return opened(made.result)
