# SPDX-License-Identifier: Apache-2.0
"""`halocline nn`: what an encrypted network takes, and what its clients must have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..base.errors import InvalidArgument
from ..nn.client_spec import ClientSpec
from ..nn.compiled import CompiledModel
from ..nn.compiler import compile as compile_model
from ..nn.description import load
from ..nn.options import MAX_BATCH
from ..nn.ranges import Ranges
from .common import (
    AllowInsecureOption,
    JsonOption,
    command,
    load_params,
    no_standard_output,
    origin,
    results_console,
    write_json,
)
from .groups import Group
from .kept_files import expect_no_input, expect_no_secret
from .trace.common import DeviceModelOption

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Networks for encrypted inputs: tables of layers, files for clients.",
)

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL.json", help="A description that halocline.nn.save wrote.")
]
WeightsOption = Annotated[
    Path | None,
    typer.Option("--weights", metavar="FILE", help="Its safetensors file; of the same name by default."),
]
ParamsOption = Annotated[str, typer.Option("--params", help="A preset, or a file with parameters.")]
RangesOption = Annotated[
    Path | None,
    typer.Option(
        "--ranges", metavar="FILE", help="Ranges of activations; those in the weights' metadata by default."
    ),
]


BatchOption = Annotated[
    int,
    typer.Option(
        "--batch", min=1, max=MAX_BATCH, metavar="COUNT", help="Inputs at once, which share ciphertexts."
    ),
]


def _compiled(
    model: Path, weights: Path | None, params: str, ranges: Path | None, batch: int, allow_insecure: bool
) -> CompiledModel:
    """The network of files, compiled as it is by default."""
    read = load(model, weights)
    known = Ranges.stored_in(read) if ranges is None else Ranges.load(ranges)
    if known is None:
        raise InvalidArgument(
            f"nn: the weights of '{model}' have no ranges of activations in their metadata; give --ranges, a "
            "file that halocline.nn.calibrate(...).save wrote"
        )
    return compile_model(read, load_params(params, allow_insecure=allow_insecure), known, batch=batch)


@app.command("report")
@command
def report(
    model: ModelArgument,
    params: ParamsOption,
    weights: WeightsOption = None,
    ranges: RangesOption = None,
    batch: BatchOption = 1,
    device: DeviceModelOption = "h200",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="A picture of the layers with levels.")
    ] = None,
    allow_insecure: AllowInsecureOption = False,
    json: JsonOption = None,
) -> None:
    """Show the layers of an encrypted network: levels, bootstraps, keys, memory, forecast times.

    Nothing is computed: the table comes from a ghost run, the times from a simulated device that has room for
    everything.
    """
    _expect_output(plot, "--plot", model, weights, ranges)
    compiled = _compiled(model, weights, params, ranges, batch, allow_insecure)
    found = compiled.report(device=device)
    results_console(json).print(str(found), markup=False, highlight=False, soft_wrap=True)
    if plot is not None:
        found.plot(plot)
    write_json(json, found.to_dict() | origin())


@app.command("spec")
@command
def spec(
    model: ModelArgument,
    params: ParamsOption,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.hlspec", help="The file for clients; - is allowed.")
    ],
    weights: WeightsOption = None,
    ranges: RangesOption = None,
    batch: BatchOption = 1,
    name: Annotated[str, typer.Option("--name", help="Label of the network.")] = "",
    classes: Annotated[
        str | None, typer.Option("--classes", metavar="NAME,...", help="A name for each value of the result.")
    ] = None,
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Write what clients need to use a network: shapes, packing, parameters, keys; no weights."""
    _expect_output(out, "", model, weights, ranges)
    compiled = _compiled(model, weights, params, ranges, batch, allow_insecure)
    listed = None if classes is None else [each.strip() for each in classes.split(",")]
    made = compiled.client_spec(name=name, classes=listed)
    made.save(out)
    results_console(out).print(str(made), markup=False, highlight=False, soft_wrap=True)


@app.command("show")
@command
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE.hlspec", help="What `halocline nn spec` wrote.")],
    allow_insecure: AllowInsecureOption = False,
) -> None:
    """Show what the file for clients says, after checking all of it."""
    found = ClientSpec.load(file, allow_insecure=allow_insecure)
    results_console().print(str(found), markup=False, highlight=False, soft_wrap=True)


def _expect_output(path: Path | None, option: str, *inputs: Path | None) -> None:
    """Refuses outputs that would replace an input or a secret."""
    if path is None:
        return
    if option:
        no_standard_output(path, option)
    expect_no_secret(path)
    expect_no_input(path, [each for each in inputs if each is not None])
