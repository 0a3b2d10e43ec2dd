# SPDX-License-Identifier: Apache-2.0
"""`halocline error-bound`: what `decrypt --for-sharing` needs for computed results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from ..base.errors import InvalidArgument
from ..base.names import device_name, policy_name
from ..base.values import integer, positive
from ..ckks.params import Params
from ..sharing.error_bound import measure_error_bound, safe_margin
from .common import (
    AllowInsecureOption,
    DeviceOption,
    JsonOption,
    PolicyOption,
    ThreadsOption,
    check_device,
    command,
    load_params,
    origin,
    results_console,
    write_json,
)
from .files import ExprOption, FunctionOption, ScriptOption, named_inputs, program_of
from .script import script_errors
from .value_files import read_values

MarginOption = Annotated[
    float, typer.Option("--margin", help="Factor on the largest error found; at least 1.")
]


@command
def error_bound(
    params: Annotated[str, typer.Option("--params", help="A preset, or a file with parameters.")] = "n14-d7",
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="NAME=FILE of numbers: the worst that the program is meant for."),
    ] = None,
    magnitude: Annotated[
        float, typer.Option("--magnitude", help="Without --input: random values up to this.")
    ] = 1.0,
    slots: Annotated[int | None, typer.Option("--slots", help="How many of them; all by default.")] = None,
    runs: Annotated[int, typer.Option("--runs", min=2, max=1000, help="Secret keys to measure with.")] = 4,
    margin: MarginOption = 4.0,
    public: Annotated[
        bool, typer.Option("--public", help="Inputs are encrypted with the public key.")
    ] = False,
    device: DeviceOption = "cpu",
    memory: Annotated[str | None, typer.Option("--memory", help="Budget of the engine, e.g. 2GiB.")] = None,
    policy: PolicyOption = "resident",
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
) -> None:
    """Measure a bound on the error of a program's results, for decrypt --for-sharing --error-bound.

    The program runs on made-up values under secret keys that are thrown away. Do not measure with the values
    that are to be protected: a bound that depends on them is no protection.
    """
    console = results_console(json)
    check_device(device)
    safe_margin(margin, "error-bound: --margin")
    chosen = load_params(params, allow_insecure)
    program, names = program_of(expr, script, function)
    vectors = _vectors(chosen, inputs, names, positive(magnitude, "error-bound: magnitude"), slots)
    begin = time.perf_counter()
    options: dict[str, Any] = {"runs": runs, "margin": margin, "public": public, "memory": memory}
    options |= {"threads": threads, "device": device_name(device), "policy": policy_name(policy)}
    with script_errors(script):
        bound = measure_error_bound(chosen, program, *vectors, **options)
    console.print(_advice(bound), markup=False, soft_wrap=True)
    content = {"params": chosen.name, "error_bound": bound, "runs": runs, "margin": margin, "public": public}
    write_json(json, origin() | content | {"seconds": {"total": time.perf_counter() - begin}})


def _advice(bound: float) -> str:
    if bound == 0:
        return (
            "no error was found: the results are the same for all keys, so there is no bound to give to "
            "decrypt --for-sharing; check the program"
        )
    up = f"{bound * 1.006:.3g}"  # not below the bound after rounding to three digits
    return f"errors are at most {up}: halocline decrypt --for-sharing --error-bound {up}"


def _vectors(
    params: Params, inputs: list[str] | None, names: list[str], magnitude: float, slots: int | None
) -> list[npt.NDArray[Any]]:
    """Values for each input, from files or random."""
    if inputs:
        if slots is not None or magnitude != 1.0:
            raise InvalidArgument(
                "error-bound: --magnitude and --slots are for random values; leave --input out"
            )
        chosen = named_inputs(inputs, names, "error-bound")
        return [read_values(Path(chosen[name])) for name in names]
    count = params.slots if slots is None else integer(slots, "error-bound: slots", 1, params.slots)
    rng = np.random.default_rng()
    return [rng.uniform(-magnitude, magnitude, count) for _ in names]
