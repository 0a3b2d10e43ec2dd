# SPDX-License-Identifier: Apache-2.0
"""Programs on numbers with the noise that encryption would add, without encryption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import InvalidArgument
from ..base.values import expect_call
from ..circuits.choice import CircuitChoice
from ..ckks.params import Params
from ..engine.automatic_runs import Bootstrap
from .choose import choose
from .programs import Inputs, arguments_of, decrypted, run_simulated


def simulate(
    program: Callable[..., Any],
    inputs: Inputs,
    params: Params | None = None,
    *,
    noise: bool = True,
    seed: int = 0,
    arrays: bool = False,
    public: bool = False,
    circuits: CircuitChoice | None = None,
    bootstrap: Bootstrap | None = None,
) -> Any:
    """What `program` returns for `inputs`, with arrays of decrypted numbers in place of ciphertexts.

    The program is any code on ciphertexts and encrypted arrays: operators, methods of their engine
    (`ct.engine`), circuits, bootstraps. Nothing is encrypted: each operation adds the error that it would add
    under `params`, drawn from the distributions in docs/concepts/error_budget.md. So results are off as
    decrypted ones would be, at a small part of the cost. Levels, scales and refusals (LevelExhausted and so
    on) are those of a ghost engine.

    inputs: one array, a list or tuple of the program's arguments, or a dictionary of named ones. Arrays of
        one dimension stand for ciphertexts (`client.encrypt`), others for an `EncryptedArray`
        (`client.encrypt_array`), also in lists, tuples and dictionaries; anything else is passed on. Bind
        plain arrays with `functools.partial`.
    params: those that `choose` finds for 20 bits unless given.
    arrays: arrays of one dimension stand for encrypted arrays too.
    noise: without it the result is what the program would compute if it were exact; approximations such as
        polynomials in place of functions stay.
    seed: results with equal seeds are equal. public: inputs are encrypted with the public key.
    circuits, bootstrap: as for `Engine`: bootstrap="auto" bootstraps where levels would be missing.

    Raises InvalidArgument where values exceed what the modulus of their level holds, where inputs do not fit,
    and for what simulations cannot do; WrongType where no input is an array; what the program raises.
    """
    expect_call(program, *arguments_of(inputs), "simulate")
    if params is None:
        params = choose(program, inputs, arrays=arrays, seed=seed).params
    made = run_simulated(program, inputs, params, rows=2 if noise else 1, seed=seed, arrays=arrays,
                         public=public, circuits=circuits, bootstrap=bootstrap)  # fmt: skip
    if made.engine.simulated.overflow:
        raise InvalidArgument(
            f"simulate: {made.engine.simulated.overflow}; expected smaller values: scale the inputs, or take "
            "parameters with more base_bits"
        )
    return decrypted(made, -1)
