# SPDX-License-Identifier: Apache-2.0
"""`halocline choose`: the smallest secure parameters for a program."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..base.errors import InvalidArgument
from ..base.values import integer, positive
from ..choosing.choose import choose as choose_parameters
from .common import JsonOption, command, expect_writable, origin, results_console, write_json
from .files import ExprOption, FunctionOption, ScriptOption, named_inputs, program_of
from .script import script_errors
from .value_files import read_values

InputsOption = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", help="NAME=FILE of numbers like those that will be encrypted."),
]
MagnitudeOption = Annotated[
    float, typer.Option("--magnitude", help="Without --input: random values up to this.")
]
SlotsOption = Annotated[
    int, typer.Option("--slots", min=1, max=1 << 16, help="Without --input: how many of them.")
]
ArraysOption = Annotated[
    bool,
    typer.Option(
        "--arrays", help="With --script: inputs of one dimension are encrypted arrays too, not ciphertexts."
    ),
]
PrecisionOption = Annotated[
    float, typer.Option("--precision", help="Bits: errors of results are below 2^-precision.")
]
FailureOption = Annotated[
    float, typer.Option("--log2-failure", help="log2 of the probability that a forecast error is exceeded.")
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="For the time: cpu, cuda:0, a device model or its file.")
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Write the chosen parameters to this file.")]


@command
def choose(
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    inputs: InputsOption = None,
    magnitude: MagnitudeOption = 1.0,
    slots: SlotsOption = 4096,
    arrays: ArraysOption = False,
    precision: PrecisionOption = 20.0,
    failure: FailureOption = -40.0,
    device: DeviceOption = "cpu",
    out: OutOption = None,
    json: JsonOption = None,
) -> None:
    """Find the smallest secure parameters for a program, with a forecast and alternatives.

    Nothing is encrypted: the program runs on numbers with the noise that encryption would add. To a script,
    .npy files of several dimensions are encrypted arrays of their shape.
    """
    console = results_console(json)
    for path in (out, json):
        if path is not None:
            expect_writable(path)
    if failure >= 0:
        raise InvalidArgument(f"choose: --log2-failure: got {failure:g}, expected a number below 0")
    program, names = program_of(expr, script, function)
    values = _values(
        inputs, names, positive(magnitude, "choose: --magnitude"), slots, shaped=script is not None
    )
    if arrays and script is None:
        raise InvalidArgument("choose: --arrays is for --script; an expression is one on ciphertexts")
    with script_errors(script):
        choice = choose_parameters(program, values, precision, 2.0**failure, device, arrays=arrays)
    console.print(str(choice), markup=False, highlight=False, soft_wrap=True)
    if out is not None:
        choice.params.save(out)
    write_json(json, origin() | choice.to_dict() | {"log2_failure": math.log2(choice.failure)})


def _values(
    inputs: list[str] | None, names: list[str], magnitude: float, slots: int, *, shaped: bool
) -> list[Any]:
    """Values for each input, from files or random, the same at each call."""
    if inputs:
        if magnitude != 1.0:
            raise InvalidArgument("choose: --magnitude is for random values; leave --input out")
        chosen = named_inputs(inputs, names, "choose")
        return [read_values(Path(chosen[name]), shaped=shaped) for name in names]
    rng = np.random.default_rng(0)
    return [rng.uniform(-magnitude, magnitude, integer(slots, "choose: slots", 1)) for _ in names]
