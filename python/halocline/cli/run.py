# SPDX-License-Identifier: Apache-2.0
"""`halocline run`: whole workloads, from encryption to decryption."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from ..errors import InvalidArgument
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
    size,
    write_json,
)
from .profile_option import ProfileOption, profiling

if TYPE_CHECKING:
    from ..workloads.bootstrap_run import BootstrapRun
    from ..workloads.digits_run import DigitsRun
    from ..workloads.wide_rotations_run import WideRun

WORKLOADS = {"digits": "n14-d7", "wide-rotations": "n15-d14", "bootstrap": "n16-boot"}
"""Workload -> parameters that it runs on unless told otherwise."""

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
    int, typer.Option("--repeat", min=1, help="bootstrap: one after another, with a product between them.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="bootstrap: an option of Bootstrapper, such as slots=8 or cts_mode=small_key."
    ),
]
SeededOption = Annotated[bool, typer.Option("--seeded", help="bootstrap: expand keys at each use.")]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", help="bootstrap: picture of the errors by slot, as PNG.")
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
    seeded: SeededOption = False,
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
    if workload not in WORKLOADS:
        raise InvalidArgument(f"run: unknown workload '{workload}'; expected one of: {', '.join(WORKLOADS)}")
    chosen = load_params(params or WORKLOADS[workload], allow_insecure)
    check_device(device)
    common = RunOptions(device, memory, policy, threads, trace is not None, oversubscribe_managed, decisions)
    own: dict[str, Any] = {"images": images, "seed": seed, "batches": batches, "repeat": repeat}
    own |= {"seeded": seeded, "plot": plot, "settings": settings}
    with profiling(profile, json), _Steps() as steps:
        made = _workload(workload, chosen, common, own, steps)
        report = made.run()
    if trace is not None and made.trace is not None:
        made.trace.save(trace)
    _print(results_console(json), report)
    write_json(json, report | origin())


def _workload(
    name: str, params: Params, common: RunOptions, own: dict[str, Any], steps: _Steps
) -> DigitsRun | WideRun | BootstrapRun:
    """The workload with its own options among `own`; numpy and scikit-learn load only when it is needed."""
    shared = vars(common)
    if name == "digits":
        from ..workloads.digits_run import DigitsOptions, DigitsRun

        return DigitsRun(params, DigitsOptions(**shared, images=own["images"]), steps.update)
    if name == "bootstrap":
        from ..workloads.bootstrap_run import BootstrapRun, BootstrapRunOptions, parse_settings

        chosen = {each: own[each] for each in ("seed", "repeat", "seeded", "plot")}
        chosen |= {"batches": own["batches"] or 1, "bootstrap": parse_settings(own["settings"] or [])}
        return BootstrapRun(params, BootstrapRunOptions(**shared, **chosen), steps.update)
    from ..workloads.wide_rotations_run import WideOptions, WideRun

    wide = WideOptions(**shared, seed=own["seed"], batches=own["batches"] or 2)
    return WideRun(params, wide, steps.update)


class _Steps:
    """One progress bar for each thing that takes a while, on standard error."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
        self._progress = Progress(
            *columns, MofNCompleteColumn(), TimeElapsedColumn(), console=err(), transient=True
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


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _print(console: Console, report: dict[str, Any]) -> None:
    """The report for people."""
    r = report
    table = Table(
        show_header=False, title=f"{r['workload']} on {r['device']}, {r['params']}, {r['threads']} threads"
    )
    rows = {"digits": _digits_rows, "wide-rotations": _wide_rows, "bootstrap": _bootstrap_rows}
    for row in rows[r["workload"]](r):
        table.add_row(*row)
    phases = ", ".join(f"{name} {value:.2f}" for name, value in r["seconds"].items() if name != "total")
    table.add_row("seconds", f"{r['seconds']['total']:.2f}: {phases}")
    budget = size(r["budget_bytes"]) if r["budget_bytes"] else "unlimited"
    table.add_row("engine memory", f"peak {size(r['peak_bytes'])}, budget {budget}, policy {r['policy']}")
    moved = ", ".join(f"{link} {size(count)}" for link, count in r["bytes_moved"].items()) or "nothing"
    stalls = f"{r['stall_seconds']:.2f} s waiting, {r['plan_seconds']:.2f} s planning"
    table.add_row("bytes moved", f"{moved}; {stalls}")
    table.add_row("process memory", f"peak {size(r['peak_rss_bytes'])}")
    console.print(table)


def _precision(r: dict[str, Any]) -> tuple[str, str]:
    bits = f"{r['precision_bits']:.1f} bits (mean), {r['precision_worst_bits']:.1f} (worst)"
    return "precision", bits


def _digits_rows(r: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "images, all held out", str(r["images"])
    yield "accuracy", f"{_percent(r['accuracy'])} encrypted, {_percent(r['accuracy_plain'])} plain"
    yield "agreement", f"{_percent(r['agreement'])} of the images get the same digit"
    yield _precision(r)
    yield "time per image", f"{r['ms_per_image']:.2f} ms on the server"
    yield "evaluation keys", f"{size(r['key_bytes'])}, {size(r['key_sent_bytes'])} on the way"
    yield "ciphertext", f"{size(r['ciphertext_bytes'])}, {size(r['ciphertext_sent_bytes'])} on the way"
    share = r["peak_rss_bytes"] / r["footprint_bytes"]
    yield "calculated footprint", f"{size(r['footprint_bytes'])}; the process took {share:.2f} of it"


def _wide_rows(r: dict[str, Any]) -> Iterator[tuple[str, str]]:
    shape = f"{r['batches']} batches of {r['layers']} layers, seed {r['seed']}"
    yield "network", f"{shape}: {r['key_switches']} key switches with {r['distinct_keys']} rotation keys"
    yield _precision(r)
    yield "time per key switch", f"{r['ms_per_key_switch']:.2f} ms, everything included"
    yield "evaluation keys", size(r["key_bytes"])
    yield "footprint", f"{size(r['footprint_bytes'])} that the program touches"


def _bootstrap_rows(r: dict[str, Any]) -> Iterator[tuple[str, str]]:
    b = r["bootstrap"]
    calls = f"{r['batches']} ciphertexts at once, {r['repeat']} times"
    yield "bootstrap", f"{b['slots']} slots, {b['order']}, {calls}"
    levels = f"CoeffToSlot {b['cts_levels']}, EvalMod {b['mod1_levels']}, SlotToCoeff {b['stc_levels']}"
    yield "levels", f"{levels}; result at {b['output_level']}, {r['log2_modulus_left']:.0f} bits left"
    yield _precision(r)
    forecast = f"{b['mean_bits']:.1f} bits (mean), {b['worst_bits']:.1f} (worst)"
    yield "forecast", f"{forecast}; fails with 2^{b['log2_failure_probability']:.1f}"
    if r["repeat"] > 1:
        mean, worst = r["precision_bits_by_call"][-1], r["precision_worst_bits_by_call"][-1]
        yield "after the last call", f"{mean:.1f} bits (mean), {worst:.1f} (worst)"
    yield "time per bootstrap", f"{r['ms_per_bootstrap']:.0f} ms, the fastest call"
    yield "evaluation keys", f"{r['distinct_keys']}, {size(r['key_bytes'])}"
    yield "diagonals", size(b["nbytes"])
    yield "footprint", f"{size(r['footprint_bytes'])} that the program touches"
