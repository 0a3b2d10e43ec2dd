# SPDX-License-Identifier: Apache-2.0
"""`halocline plan advise`: which way to run a program reads least and is fastest, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ...base.errors import InvalidArgument
from ...base.option_values import Checked, Count, Several, Size
from ...ckks.params import Params
from ...engine.advice import Advice, advise, advise_subject
from ...tracing.links import LINKS, link_of
from ..common import (
    AllowInsecureOption,
    JsonOption,
    checked,
    command,
    origin,
    progress_bar,
    results_console,
    write_json,
)
from ..files import ExprOption, FunctionOption, ScriptOption, program_of
from ..groups import Group
from ..run.table import params_of, workload_named
from ..script import script_errors
from ..trace.common import DeviceModelOption, KernelScaleOption
from .table import Asked, print_advice

app = typer.Typer(cls=Group, help="Plan programs before they run.", no_args_is_help=True)

BATCHES = Several(Count(1, 1024), "COUNT,...")


@app.callback()
def _group() -> None:
    """Has no options of its own; Typer makes a group of an application that has one."""


def _batches(text: str | None) -> tuple[int, ...]:
    return () if text is None else tuple(BATCHES.read(text))


def _problem_of_batches(text: str) -> None:
    problem = BATCHES.problem(_batches(text))
    if problem is not None:
        raise InvalidArgument(problem)


ProgramArgument = Annotated[
    str | None, typer.Argument(help="A workload of `halocline run`; or give --expr or --script.")
]
ParamsOption = Annotated[
    str | None, typer.Option("--params", help="A preset, or a file; of a workload its own by default.")
]
LinkOption = Annotated[
    str,
    typer.Option(
        "--link",
        metavar="LINK",
        help=f"Where keys and weights wait: {', '.join(LINKS)}, or a rate such as "
        "12GB/s,latency=50us,requests=8. Names take latency and requests too.",
        callback=checked(Checked("LINK", link_of)),
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="Budget: 2GiB, or 25% of what is live at once in the program as it is written; all that the "
        "device leaves by default.",
        callback=checked(Size()),
    ),
]
BatchesOption = Annotated[
    str | None,
    typer.Option(
        "--batches",
        metavar=BATCHES.metavar,
        help="Numbers of inputs in one run to try besides 1.",
        callback=checked(Checked(BATCHES.metavar, _problem_of_batches)),
    ),
]
KeepLevelsOption = Annotated[
    bool,
    typer.Option("--keep-levels", help="Of programs: results keep the levels that they have as written."),
]
OnlyKeysOption = Annotated[
    bool,
    typer.Option("--only-keys-cold", help="Weights and tables stay in the device's memory; keys do not."),
]
TopOption = Annotated[
    int, typer.Option("--top", min=1, metavar="COUNT", help="Rows of the table; JSON has all of them.")
]


@app.command("advise")
@command
def advise_command(
    program: ProgramArgument = None,
    params: ParamsOption = None,
    link: LinkOption = "pcie",
    memory: MemoryOption = None,
    device: DeviceModelOption = "h200",
    kernel_scale: KernelScaleOption = 1.0,
    batches: BatchesOption = None,
    keep_levels: KeepLevelsOption = False,
    only_keys_cold: OnlyKeysOption = False,
    top: TopOption = 12,
    expr: ExprOption = None,
    script: ScriptOption = None,
    function: FunctionOption = "program",
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Compare the ways to run a program whose keys and weights come over a link, the best first.

    Tried are modes, baby steps and weights as coefficients of linear maps and bootstraps, seeds of keys,
    composed rotations, whole keys instead of prefixes, inputs of fewer levels and batches. Each is planned
    for the budget and simulated on the device; nothing is computed. Bytes and requests are those over the
    link, of a run that begins with nothing in memory, or with all but keys.
    """
    if program is not None and (expr is not None or script is not None):
        raise InvalidArgument("plan advise: give a workload or a program, not both")
    if program is None and expr is None and script is None:
        raise _no_program()
    if program is not None:
        workload_named(program, "plan advise")
    chosen = params_of(program or "digits", params, allow_insecure)[0]
    console = results_console(json)
    how: dict[str, Any] = {"memory": memory, "link": link, "device": device, "kernel_scale": kernel_scale}
    how["only_keys_cold"] = only_keys_cold
    with progress_bar("trying variants") as report:
        how["progress"] = lambda what, done: report(done, done + 1)
        if program is None:
            how |= {"batches": _batches(batches), "keep_levels": keep_levels}
            found = _of_program(chosen, expr, script, function, how)
        else:
            found = _of_workload(program, chosen, _batches(batches), how)
    print_advice(console, found, Asked(program, chosen, params), top)
    about = {"program": program or expr or str(script), "params": chosen.name}
    write_json(json, about | found.to_dict() | origin())


def _no_program() -> InvalidArgument:
    from ...workloads.advice import ADVISED

    return InvalidArgument(
        f"plan advise: no program; give a workload ({', '.join(ADVISED)}), or --expr or --script"
    )


def _of_program(
    params: Params, expr: str | None, script: Path | None, function: str, how: dict[str, Any]
) -> Advice:
    """Of an expression or a function of a script, for fresh ciphertexts of all slots."""
    program, names = program_of(expr, script, function)
    with script_errors(script):
        return advise(params, program, *(np.zeros(params.slots) for _ in names), **how)


def _of_workload(name: str, params: Params, batches: tuple[int, ...], how: dict[str, Any]) -> Advice:
    from ...workloads.advice import workload_subject

    return advise_subject(workload_subject(name, params, batches), **how)
