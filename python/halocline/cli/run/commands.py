# SPDX-License-Identifier: Apache-2.0
"""`halocline run`: whole workloads, from encryption to decryption."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ...base.errors import OutOfMemory
from ...workloads.running import RunOptions
from ..common import (
    AllowInsecureOption,
    DeviceOption,
    JsonOption,
    OversubscribeOption,
    PolicyOption,
    ThreadsOption,
    check_device,
    command,
    err,
    no_standard_output,
    origin,
    results_console,
    write_json,
)
from ..profile_option import ProfileOption, profiling
from .report import print_report
from .table import OWN_OPTIONS, WORKLOADS, WorkloadRun, own_options, params_of, takers

MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", help="Budget of the engine: 256MiB, or 25% of what the program touches."),
]
WorkloadArgument = Annotated[str, typer.Argument(help=f"One of: {', '.join(WORKLOADS)}.")]
ParamsOption = Annotated[
    str | None, typer.Option("--params", help="A preset, or a file; the workload's own by default.")
]
DecisionsOption = Annotated[
    Path | None, typer.Option("--decisions", help="Policy profiled: file of `halocline trace decide`.")
]
BlockingOption = Annotated[
    bool, typer.Option("--blocking-copies", help="Policy lru on a GPU: wait for each copy.")
]
TraceOption = Annotated[Path | None, typer.Option("--trace", help="Write the engine's trace as CSV.")]


def _own(name: str, text: str, **limits: Any) -> Any:
    """An option of some workloads only; the help names them."""
    flag = f"--{name.replace('_', '-')}"
    return typer.Option(flag, help=f"{takers(name)}: {text}", **limits)


SeedOption = Annotated[int | None, _own("seed", "which network, or messages; 0.", min=0)]
ImagesOption = Annotated[int | None, _own("images", "number of images; all.")]
BatchesOption = Annotated[int | None, _own("batches", "input ciphertexts; 2 and 1.", min=1)]
RepeatOption = Annotated[int | None, _own("repeat", "runs, or calls one after another; 1.", min=1)]
SetOption = Annotated[
    list[str] | None, _own("set", "an option of Bootstrapper, such as slots=8 or cts_mode=small_key.")
]
PresetsOption = Annotated[
    str | None, typer.Option("--presets", help="bm-bootstrap: parameters, with commas between them.")
]
KindsOption = Annotated[str | None, _own("kinds", "kinds of bootstrapping, with commas between.")]
AsyncPeakOption = Annotated[
    float | None, _own("async_peak", "policy profiled: share of the pool, 0 to 1.", min=0, max=1)
]
SeededOption = Annotated[bool, _own("seeded", "expand keys at each use.")]
KeyMemoryOption = Annotated[
    str | None, _own("key_memory", "what keys may take; those used least stay seeded.")
]
PlotOption = Annotated[Path | None, _own("plot", "picture of what was found, as PNG.")]
ImageOption = Annotated[Path | None, _own("image", "an image, or a folder of them; a held-out digit.")]
WeightsOption = Annotated[
    Path | None, _own("weights", "safetensors with the names of PyTorch; the shipped network.")
]
CalibrationOption = Annotated[
    Path | None, _own("calibration", "images, or JSON, that tell the ranges of the activations.")
]
MarginOption = Annotated[
    float | None, _own("margin", "ranges are so many times what the calibration finds; 1.5.", min=1)
]
CheckpointOption = Annotated[
    Path | None,
    _own("checkpoint", "folder to go on from after an interruption; it has the secret key until the end."),
]
EncodeOption = Annotated[
    str | None, _own("encode", "keep: encoded weights stay; fly: they are encoded at each use.")
]
AlphaOption = Annotated[int | None, _own("alpha", "precision of comparisons, 6 to 13.")]
DataOption = Annotated[Path | None, _own("data", "folder with MNIST's test set as IDX files; digits.")]
BatchOption = Annotated[int | None, _own("batch", "samples to train with.", min=1)]
IterationsOption = Annotated[int | None, _own("iterations", "steps of gradient descent; 32.", min=1)]
RateOption = Annotated[float | None, _own("rate", "learning rate.")]
IntervalOption = Annotated[float | None, _own("interval", "the sigmoid is fitted on -x to x.")]
PerBootstrapOption = Annotated[
    int | None, _own("per_bootstrap", "iterations from a bootstrap to the next.", min=1)
]
CountOption = Annotated[int | None, _own("count", "numbers to sort, a power of two; 16384.")]


@command
def run(
    workload: WorkloadArgument,
    params: ParamsOption = None,
    device: DeviceOption = "cpu",
    memory: MemoryOption = None,
    policy: PolicyOption = "resident",
    decisions: DecisionsOption = None,
    blocking_copies: BlockingOption = False,
    trace: TraceOption = None,
    profile: ProfileOption = None,
    oversubscribe_managed: OversubscribeOption = False,
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
    presets: PresetsOption = None,
    seed: SeedOption = None,
    images: ImagesOption = None,
    batches: BatchesOption = None,
    repeat: RepeatOption = None,
    set: SetOption = None,
    kinds: KindsOption = None,
    async_peak: AsyncPeakOption = None,
    seeded: SeededOption = False,
    key_memory: KeyMemoryOption = None,
    plot: PlotOption = None,
    image: ImageOption = None,
    weights: WeightsOption = None,
    calibration: CalibrationOption = None,
    margin: MarginOption = None,
    checkpoint: CheckpointOption = None,
    encode: EncodeOption = None,
    alpha: AlphaOption = None,
    data: DataOption = None,
    batch: BatchOption = None,
    iterations: IterationsOption = None,
    rate: RateOption = None,
    interval: IntervalOption = None,
    per_bootstrap: PerBootstrapOption = None,
    count: CountOption = None,
) -> None:
    """Run a workload: the client encrypts, an engine without secret key evaluates, the client decrypts."""
    arguments = dict(locals())
    console = _console(arguments)
    chosen = params_of(workload, params, presets, allow_insecure)
    own = own_options(workload, {name: arguments[name] for name in OWN_OPTIONS})
    check_device(device)
    common = _common(arguments)
    with profiling(profile, json), _Steps() as steps:
        made = WORKLOADS[workload].make(chosen, vars(common), own, steps.update)
        report = made.run()
    _save_picture(made, report, plot)
    _finish(console, made, report, trace, json)


def _console(given: dict[str, Any]) -> Console:
    """Where results are shown; refuses "-" for outputs that cannot be standard output."""
    for name in ("profile", "checkpoint"):
        no_standard_output(given[name], f"run: --{name}")
    return results_console(given["json"], given["trace"], given["plot"])


def _save_picture(made: Any, report: dict[str, Any], path: Path | None) -> None:
    """The picture of `--plot`, from what a run found."""
    if path is None:
        return
    from ...plots.bootstraps import save_bm_bootstrap, save_errors

    if report["workload"] == "bm-bootstrap":
        save_bm_bootstrap(report, path)
    else:
        save_errors(made.first_errors, [dataclasses.asdict(each) for each in made.calls], path)


def _common(given: dict[str, Any]) -> RunOptions:
    """What all workloads share, of the options of `run`."""
    names = ("device", "memory", "policy", "threads", "oversubscribe_managed", "decisions", "blocking_copies")
    return RunOptions(record_trace=given["trace"] is not None, **{name: given[name] for name in names})


def _finish(
    console: Console, made: WorkloadRun, report: dict[str, Any], trace: Path | None, json: Path | None
) -> None:
    """Shows and writes what came out; raises OutOfMemory where the run says that it stopped."""
    if trace is not None and made.trace is not None:
        made.trace.save(trace)
    print_report(console, report)
    write_json(json, report | origin())
    if report.get("failed") is not None:
        raise OutOfMemory("{params}: {message}".format(**report["failed"]))


class _Steps:
    """One progress bar for each thing that takes a while, on standard error."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        self._progress = Progress(
            *columns,
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=err(),
            transient=True,
            disable=not err().is_terminal,
        )
        self._tasks: dict[str, Any] = {}

    def update(self, what: str, done: int, total: int) -> None:
        """Shows how much of something is done."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=done)

    def __enter__(self) -> _Steps:
        self._progress.start()
        self.update("loading data", 0, 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
