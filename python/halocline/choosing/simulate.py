# SPDX-License-Identifier: Apache-2.0
"""Programs on numbers with the noise that encryption would add, without encryption."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, integer, kind_of
from ..circuits.choice import CircuitChoice
from ..ckks.ciphertext import Ciphertext
from ..ckks.params import Params
from .engine import SimulatedEngine

Inputs = Any
"""The arguments of a program: one array; a list or tuple with one entry for each positional parameter; a
dictionary with one for each named one. Arrays stand for what the client encrypts."""


@dataclasses.dataclass(frozen=True)
class Simulated:
    """One run of a program on a simulated engine."""

    engine: SimulatedEngine
    """What it ran on."""
    result: Any
    """What the program returned: ciphertexts of that engine."""
    encrypted: tuple[Ciphertext, ...]
    """The ciphertexts that the client sends."""


def simulate(
    program: Callable[..., Any],
    inputs: Inputs,
    params: Params,
    *,
    noise: bool = True,
    seed: int = 0,
    public: bool = False,
    circuits: CircuitChoice | None = None,
) -> Any:
    """What `program` returns for `inputs`, with arrays of decrypted numbers in place of ciphertexts.

    The program is any code on ciphertexts: operators, methods of their engine (`ct.engine`), circuits,
    bootstraps. Nothing is encrypted: each operation adds the error that it would add under `params`, drawn
    from the distributions in docs/concepts/error_budget.md. So results are off as decrypted ones would be, at
    a small part of the cost. Levels, scales and refusals (LevelExhausted and so on) are those of a ghost
    engine.

    inputs: one array, a list or tuple of the program's arguments, or a dictionary of named ones. Arrays (of
        one dimension) are encrypted by the client, also in lists, tuples and dictionaries; anything else is
        passed on. Bind plain arrays with `functools.partial`.
    noise: without it the result is what the program would compute if it were exact; approximations such as
        polynomials in place of functions stay.
    seed: results with equal seeds are equal. public: inputs are encrypted with the public key.
    circuits: as for `Engine`.

    Raises InvalidArgument where values exceed what the modulus of their level holds, where inputs do not fit,
    and for what simulations cannot do; WrongType where no input is an array; what the program raises.
    """
    made = run_simulated(program, inputs, params, rows=2 if noise else 1, seed=seed, public=public,
                         circuits=circuits)  # fmt: skip
    if made.engine.simulated.overflow:
        raise InvalidArgument(
            f"simulate: {made.engine.simulated.overflow}; expected smaller values: scale the inputs, or take "
            "parameters with more base_bits"
        )
    return decrypted(made, -1)


def run_simulated(
    program: Callable[..., Any],
    inputs: Inputs,
    params: Params,
    *,
    rows: int,
    seed: int = 0,
    public: bool = False,
    circuits: CircuitChoice | None = None,
) -> Simulated:
    """Runs a program on `rows` rows of numbers: see `SimulatedEngine`."""
    if not callable(program):
        raise WrongType(f"simulate: got {kind_of(program)}, expected a function of ciphertexts")
    expect(params, Params, "simulate: params")
    seed = integer(seed, "simulate: seed", 0)
    engine = SimulatedEngine(params, rows, seed, circuits=circuits)
    sent: list[Ciphertext] = []

    def encrypt(values: npt.NDArray[Any]) -> Any:
        sent.append(engine.encrypt(values, public=public))
        return sent[-1]

    args, named = arguments_of(inputs)
    positional = [replaced(each, encrypt) for each in args]
    keywords = {name: replaced(each, encrypt) for name, each in named.items()}
    if not sent:
        raise WrongType(
            "simulate: no input is an array; give numpy arrays of what the client encrypts, as in "
            "simulate(program, [np.array([1.0, 2.0])], params)"
        )
    return Simulated(engine, program(*positional, **keywords), tuple(sent))


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


def replaced(value: Any, encrypt: Callable[[npt.NDArray[Any]], Any]) -> Any:
    """`value` with arrays encrypted, inside lists, tuples and dictionaries too."""
    if isinstance(value, np.ndarray):
        return encrypt(value)
    if isinstance(value, list | tuple):
        return type(value)(replaced(each, encrypt) for each in value)
    if isinstance(value, dict):
        return {key: replaced(each, encrypt) for key, each in value.items()}
    return value


def outputs_of(value: Any, name: str = "result") -> Iterator[tuple[str, Ciphertext]]:
    """Names and ciphertexts of what a program returned."""
    if isinstance(value, Ciphertext):
        yield name, value
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from outputs_of(each, f"{name}[{index}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from outputs_of(each, f"{name}[{key!r}]")


def decrypted(made: Simulated, row: int) -> Any:
    """The result of a run with the numbers of one row in place of ciphertexts."""

    def opened(value: Any) -> Any:
        if isinstance(value, Ciphertext):
            return np.array(made.engine.decrypt_rows(value)[row])
        if isinstance(value, list | tuple):
            return type(value)(opened(each) for each in value)
        if isinstance(value, dict):
            return {key: opened(each) for key, each in value.items()}
        return value

    return opened(made.result)
