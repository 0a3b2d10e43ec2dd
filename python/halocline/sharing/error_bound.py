# SPDX-License-Identifier: Apache-2.0
"""Bounds on the error of a computation, for `Client.decrypt_for_sharing`, found by running it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidArgument, WrongType
from ..base.values import expect, integer, kind_of, positive
from ..ckks.ciphertext import Ciphertext
from ..ckks.client import Client
from ..ckks.params import Params
from ..engine.engine import Engine
from ..engine.program import key_plan

MEASURED_SLOTS = 16
"""Errors of at least so many slots are measured for each key."""


def measure_error_bound(
    params: Params,
    program: Callable[..., Any],
    *inputs: npt.ArrayLike,
    runs: int = 4,
    margin: float = 4.0,
    public: bool = False,
    **engine_options: Any,
) -> float:
    """Bound on the error of what `program(*ciphertexts)` computes, measured with keys of its own.

    Runs the program on encryptions of `inputs` under `runs` fresh secret keys, which are thrown away, and
    compares the results with each other; so errors of approximations, which are the same for all keys and no
    secret, do not count. Returns `margin` times the largest difference from the mean, of all slots and all
    ciphertexts that the program returns, in units of the message. 0 where no error was found.

    The inputs must be public or made up, and the worst that the program is meant for: errors grow with the
    values. Do not measure with the values that are to be protected or with the client's own key: a width that
    depends on the error at hand is no protection (abstract of ePrint 2022/816).

    `program` finds its engine as `ct.engine`. `public`: inputs are encrypted with the public key.
    `engine_options` go to the engine, such as `memory` or `threads`.
    """
    expect(params, Params, "measure_error_bound")
    count = integer(runs, "measure_error_bound: runs", 2, 1000)
    factor = safe_margin(margin, "measure_error_bound: margin")
    if not inputs:
        raise InvalidArgument(
            "measure_error_bound: no inputs; give one vector for each argument of the program"
        )
    if not callable(program):
        raise WrongType(f"measure_error_bound: got {kind_of(program)}, expected a function of ciphertexts")
    if any(isinstance(each, Ciphertext) for each in inputs):
        raise WrongType(
            "measure_error_bound: got a Ciphertext; give values that you make up: they are encrypted with "
            "keys of the measurement"
        )
    vectors = [np.atleast_1d(np.asarray(each)) for each in inputs]
    plan = key_plan(params, program, *vectors)
    results: list[list[npt.NDArray[Any]]] = []
    for _ in range(count):
        client = Client(params)
        engine = Engine(params, client.evaluation_keys(plan=plan), **engine_options)
        first = _evaluate(client, engine, program, vectors, public)
        repeats = max(1, MEASURED_SLOTS // min(len(each) for each in first))
        more = (_evaluate(client, engine, program, vectors, public) for _ in range(repeats - 1))
        results += [first, *more]
    return factor * max(_spread(list(same)) for same in zip(*results, strict=True))


def safe_margin(margin: Any, what: str) -> float:
    """A factor on the largest error found. Raises InvalidArgument for one that makes it smaller."""
    factor = positive(margin, what)
    if factor < 1:
        raise InvalidArgument(
            f"{what}: got {factor:g}, expected at least 1: a bound below an error that was found is none"
        )
    return factor


def _evaluate(
    client: Client, engine: Any, program: Callable[..., Any], vectors: list[npt.NDArray[Any]], public: bool
) -> list[npt.NDArray[Any]]:
    made = engine.run(program, *(client.encrypt(each, public=public) for each in vectors))
    found = list(_ciphertexts(made))
    if not found:
        raise WrongType("measure_error_bound: the program returns no ciphertext")
    return [client.decrypt(each, real=False) for each in found]


def _ciphertexts(value: Any) -> Iterable[Ciphertext]:
    if isinstance(value, Ciphertext):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _ciphertexts(each)
    elif isinstance(value, dict):
        yield from _ciphertexts(list(value.values()))


def _spread(results: list[npt.NDArray[Any]]) -> float:
    """Largest magnitude of an error, from results with the same message; the mean errs a little as well."""
    stacked = np.stack(results)
    unbiased = math.sqrt(len(results) / (len(results) - 1))
    return float(np.abs(stacked - stacked.mean(axis=0)).max()) * unbiased
