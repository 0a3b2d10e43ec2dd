# SPDX-License-Identifier: Apache-2.0
"""`halocline run`: whole workloads, from encryption to decryption."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ..errors import InvalidArgument, OutOfMemory
from ..params import Params
from ..workloads.running import RunOptions
from .common import (
    AllowInsecureOption,
    DeviceOption,
    JsonOption,
    OversubscribeOption,
    ThreadsOption,
    check_device,
    command,
    err,
    load_params,
    origin,
    results_console,
    write_json,
)
from .profile_option import ProfileOption, profiling
from .run_report import print_report

if TYPE_CHECKING:
    from ..workloads.bm_bootstrap_run import BmBootstrapRun
    from ..workloads.bootstrap_run import BootstrapRun
    from ..workloads.digits_run import DigitsRun
    from ..workloads.wide_rotations_run import WideRun

WORKLOADS = {
    "digits": "n14-d7",
    "wide-rotations": "n15-d14",
    "bootstrap": "n16-boot",
    "bm-bootstrap": "FVa-boot,FVb-boot,FVc-boot,FGa-boot,FGb-boot,FTa-boot,FTb-boot",
}
"""Workload -> parameters that it runs on unless told otherwise; of bm-bootstrap, one after another."""

MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", help="Budget of the engine: 256MiB, or 25% of what the program touches."),
]
WorkloadArgument = Annotated[str, typer.Argument(help=f"One of: {', '.join(WORKLOADS)}.")]
ParamsOption = Annotated[
    str | None, typer.Option("--params", help="A preset, or a file; the workload's own by default.")
]
ImagesOption = Annotated[
    int | None, typer.Option("--images", help="digits: number of images; all by default.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Which network, or messages.")]
BatchesOption = Annotated[
    int | None, typer.Option("--batches", min=1, help="Input ciphertexts; wide-rotations: 2, bootstrap: 1.")
]
RepeatOption = Annotated[
    int, typer.Option("--repeat", min=1, help="(bm-)bootstrap: one after another; wide-rotations: runs.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="(bm-)bootstrap: an option of Bootstrapper, such as slots=8 or cts_mode=small_key."
    ),
]
PresetsOption = Annotated[
    str | None, typer.Option("--presets", help="bm-bootstrap: parameters, with commas between them.")
]
KindsOption = Annotated[
    str | None, typer.Option("--kinds", help="bm-bootstrap: kinds of bootstrapping, with commas between.")
]
AsyncPeakOption = Annotated[
    float | None,
    typer.Option(
        "--async-peak", min=0, max=1, help="bm-bootstrap, policy profiled: share of the pool, 0 to 1."
    ),
]
KeyMemoryOption = Annotated[
    str | None,
    typer.Option("--key-memory", help="bootstrap: what keys may take; those used least stay seeded."),
]
SeededOption = Annotated[bool, typer.Option("--seeded", help="(bm-)bootstrap: expand keys at each use.")]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", help="(bm-)bootstrap: picture of what was found, as PNG.")
]
PolicyOption = Annotated[str, typer.Option("--policy", help="How the engine manages memory.")]
DecisionsOption = Annotated[
    Path | None, typer.Option("--decisions", help="Policy profiled: file of `halocline trace decide`.")
]
TraceOption = Annotated[Path | None, typer.Option("--trace", help="Write the engine's trace as CSV.")]


@command
def run(
    workload: WorkloadArgument,
    params: ParamsOption = None,
    images: ImagesOption = None,
    seed: SeedOption = 0,
    batches: BatchesOption = None,
    repeat: RepeatOption = 1,
    settings: SettingsOption = None,
    presets: PresetsOption = None,
    kinds: KindsOption = None,
    async_peak: AsyncPeakOption = None,
    seeded: SeededOption = False,
    key_memory: KeyMemoryOption = None,
    plot: PlotOption = None,
    device: DeviceOption = "cpu",
    memory: MemoryOption = None,
    policy: PolicyOption = "resident",
    decisions: DecisionsOption = None,
    trace: TraceOption = None,
    profile: ProfileOption = None,
    oversubscribe_managed: OversubscribeOption = False,
    allow_insecure: AllowInsecureOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = None,
) -> None:
    """Run a workload: the client encrypts, an engine without secret key evaluates, the client decrypts."""
    chosen = params_of(workload, params, presets, allow_insecure)
    check_device(device)
    common = RunOptions(device, memory, policy, threads, trace is not None, oversubscribe_managed, decisions)
    own: dict[str, Any] = {"images": images, "seed": seed, "batches": batches, "repeat": repeat}
    own |= {"seeded": seeded, "key_memory": key_memory, "plot": plot}
    own |= {"settings": settings, "kinds": kinds, "async_peak": async_peak}
    with profiling(profile, json), _Steps() as steps:
        made = _workload(workload, chosen, common, own, steps)
        report = made.run()
    if trace is not None and made.trace is not None:
        made.trace.save(trace)
    print_report(results_console(json), report)
    write_json(json, report | origin())
    if report.get("failed") is not None:
        raise OutOfMemory("{params}: {message}".format(**report["failed"]))


def params_of(workload: str, params: str | None, presets: str | None, allow_insecure: bool) -> list[Params]:
    """The parameters of a workload: those that are given, or its own."""
    if workload not in WORKLOADS:
        raise InvalidArgument(f"run: unknown workload '{workload}'; expected one of: {', '.join(WORKLOADS)}")
    several = workload == "bm-bootstrap"
    if (params if several else presets) is not None:
        wanted = "several parameter sets; use --presets A,B" if several else "one parameter set; use --params"
        raise InvalidArgument(f"run: {workload} takes {wanted}")
    chosen = presets or params or WORKLOADS[workload]
    names = chosen.split(",") if several else [chosen]
    return [load_params(each, allow_insecure) for each in names]


def _workload(
    name: str, params: list[Params], common: RunOptions, own: dict[str, Any], steps: _Steps
) -> DigitsRun | WideRun | BootstrapRun | BmBootstrapRun:
    """The workload with its own options among `own`; numpy and scikit-learn load only when it is needed."""
    shared = vars(common)
    if name == "digits":
        from ..workloads.digits_run import DigitsOptions, DigitsRun

        return DigitsRun(params[0], DigitsOptions(**shared, images=own["images"]), steps.update)
    if name in ("bootstrap", "bm-bootstrap"):
        return _bootstraps(name, params, shared, own, steps)
    from ..workloads.wide_rotations_run import WideOptions, WideRun

    wide = WideOptions(**shared, seed=own["seed"], batches=own["batches"] or 2, repeat=own["repeat"])
    return WideRun(params[0], wide, steps.update)


def _bootstraps(
    name: str, params: list[Params], shared: dict[str, Any], own: dict[str, Any], steps: _Steps
) -> BootstrapRun | BmBootstrapRun:
    """One of the workloads that bootstrap."""
    from ..workloads.bootstrap_run import BootstrapRun, BootstrapRunOptions, parse_settings

    chosen = {each: own[each] for each in ("seed", "repeat", "seeded", "plot")}
    chosen["bootstrap"] = parse_settings(own["settings"] or [])
    if name == "bootstrap":
        options = BootstrapRunOptions(
            **shared, **chosen, batches=own["batches"] or 1, key_memory=own["key_memory"]
        )
        return BootstrapRun(params[0], options, steps.update)
    from ..workloads.bm_bootstrap_run import BmBootstrapRun, BmOptions

    if own["kinds"] is not None:
        chosen["kinds"] = own["kinds"].split(",")
    if own["async_peak"] is not None:
        chosen["async_peak"] = own["async_peak"]
    return BmBootstrapRun(params, BmOptions(**shared, **chosen), steps.update)


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
