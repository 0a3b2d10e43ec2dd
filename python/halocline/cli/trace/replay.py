# SPDX-License-Identifier: Apache-2.0
"""`halocline trace plan`, `replay` and `decide`: what to move when, and how long it would take."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ...base.errors import InvalidArgument, OutOfMemory
from ...base.files import write_file
from ...base.names import policy_name
from ...base.option_values import Size
from ...memory.plan import Plan
from ...memory.trace import Trace
from ...tracing.plan_trace import plan_trace
from ...tracing.replay import (
    DEFAULT_ASYNC_RATIO,
    DeviceModel,
    ReplayReport,
    budget_bytes,
    decide,
    device_model,
    device_models,
    replay,
    replay_timeline,
    resident_seconds,
)
from ..common import (
    JsonOption,
    checked,
    command,
    no_standard_output,
    origin,
    progress_bar,
    results_console,
    size,
    write_json,
)
from .common import (
    REPLAY_HEADER,
    AsyncRatioOption,
    DeviceModelOption,
    KernelScaleOption,
    LifetimeOption,
    PoliciesOption,
    RecordedTimesOption,
    TraceArgument,
    chosen_policies,
    load,
    replay_row,
    seconds,
)

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="Budget: 2GiB, or 25% of the most bytes that are live at once.",
        callback=checked(Size()),
    ),
]
PerfettoOption = Annotated[
    Path | None,
    typer.Option("--perfetto", help="Timeline for ui.perfetto.dev; of several policies, NAME-POLICY.json."),
]
SteadyOption = Annotated[
    bool,
    typer.Option(
        "--steady",
        help="The program runs repeatedly: show a run that finds what another one left on the device.",
    ),
]
ListOption = Annotated[
    bool, typer.Option("--list", help="Show the device models, their constants and where these come from.")
]


@command
def plan(
    path: TraceArgument,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            help="Budget: 2GiB, or 25% of the most bytes that are live at once.",
            callback=checked(Size()),
        ),
    ],
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Plan file to write.")] = None,
    device: DeviceModelOption = "h200",
    kernel_scale: KernelScaleOption = 1.0,
    recorded_times: RecordedTimesOption = False,
    parameters: Annotated[
        str, typer.Option("--parameters", help="Text to store: what the program runs with.")
    ] = "",
    json: JsonOption = None,
) -> None:
    """Plan what to keep, load and drop when, so that the program of a trace runs within a budget."""
    console = results_console(json, output)
    trace = load(path, "trace plan")
    model = device_model(device)
    made = plan_trace(
        trace, memory, model, kernel_scale=kernel_scale, recorded_times=recorded_times, parameters=parameters
    )
    _print_plan(console, path.name, trace, model, made)
    if output is not None:
        made.save(output)
        console.print(f"{output}: {len(made.to_bytes())} bytes", markup=False, soft_wrap=True)
    about = {"trace": path.name, "device": model.name, "live_peak_bytes": trace.peak_bytes}
    counts = {"steps": made.steps, "directives": made.directives(), "parameters": parameters}
    write_json(json, about | counts | made.summary.to_dict() | origin())


def _print_plan(console: Console, name: str, trace: Trace, model: DeviceModel, made: Plan) -> None:
    s = made.summary
    table = Table(show_header=False, title=f"{name} in {size(s.capacity_bytes)} of {model.name}")
    share = s.capacity_bytes / trace.peak_bytes
    table.add_row("live at once", f"{size(trace.peak_bytes)}; the budget is {share:.1%} of that")
    table.add_row("smallest budget", size(s.minimum_bytes))
    table.add_row("peak", size(s.peak_bytes))
    made_here = f"{size(s.expanded_bytes)} expanded from seeds, {size(s.encoded_bytes)} encoded"
    table.add_row("brought in", f"{size(s.loaded_bytes)} loaded, {made_here}")
    table.add_row("written back", size(s.written_bytes))
    gap = f"{s.gap:.1%} above it" if math.isfinite(s.gap) else "which is 0"
    table.add_row("lower bound", f"{size(s.lower_bound_bytes)} must be brought in; the plan is {gap}")
    table.add_row(
        "predicted time", f"{seconds(s.total_seconds)}, {s.slowdown:.3f} times the operations alone"
    )
    table.add_row("stalls", f"{seconds(s.stall_seconds)} waiting for copies")
    busy = s.load_busy_seconds / s.total_seconds if s.total_seconds else 0.0
    table.add_row("link", f"{busy:.0%} of the time loading, {seconds(s.store_busy_seconds)} writing back")
    counts = ", ".join(f"{n} {verb.replace('_', ' ')}" for verb, n in made.directives().items() if n)
    table.add_row("directives", f"{counts or 'none'} over {made.steps} steps")
    console.print(table)


@command
def replay_command(
    path: Annotated[Path | None, typer.Argument(metavar="TRACE", help="A trace, or a log of RMM.")] = None,
    device: DeviceModelOption = "h200",
    policies: PoliciesOption = None,
    memory: MemoryOption = None,
    kernel_scale: KernelScaleOption = 1.0,
    recorded_times: RecordedTimesOption = False,
    async_ratio: AsyncRatioOption = DEFAULT_ASYNC_RATIO,
    lifetime: LifetimeOption = None,
    steady: SteadyOption = False,
    perfetto: PerfettoOption = None,
    list_devices: ListOption = False,
    json: JsonOption = None,
) -> None:
    """Replay a trace on a simulated device, under one policy after the other."""
    if list_devices:
        _list_devices(results_console(json), json)
        return
    if path is None:
        raise InvalidArgument("trace replay: give a trace, or --list")
    chosen = chosen_policies(policies)
    if len(chosen) > 1:
        no_standard_output(perfetto, "trace replay: --perfetto of several policies")
    console = results_console(json, perfetto)
    trace = load(path, "trace replay")
    constants: dict[str, Any] = {"kernel_scale": kernel_scale, "recorded_times": recorded_times}
    profile: dict[str, Any] = {
        "async_ratio": async_ratio,
        "lifetime": math.inf if lifetime is None else lifetime,
        "steady": steady,
    }
    study = _Study(trace, device_model(device), memory, constants, profile)
    rows = []
    with progress_bar("replaying") as progress:
        for done, name in enumerate(chosen):
            progress(done, len(chosen))
            rows.append((name, study.run(name)))
    study.show(console, path.name, rows)
    if perfetto is not None:
        study.write_timelines([name for name, found in rows if isinstance(found, ReplayReport)], perfetto)
    write_json(json, study.to_dict(path.name, rows) | origin())


class _Study:
    """One trace on one device within one budget."""

    def __init__(
        self,
        trace: Trace,
        model: DeviceModel,
        memory: str | None,
        constants: dict[str, Any],
        profile: dict[str, Any],
    ) -> None:
        self.trace, self.model, self.memory = trace, model, memory
        self.constants, self.profile = constants, profile
        self.budget = budget_bytes(trace, memory) or model.usable_bytes
        self.base = resident_seconds(trace, model, **constants)

    def run(self, policy: str) -> ReplayReport | OutOfMemory:
        """The report, or why the policy cannot run in the budget."""
        try:
            return replay(
                self.trace, self.model, policy_name(policy), self.budget, **self.constants, **self.profile
            )
        except OutOfMemory as refused:
            return refused

    def show(self, console: Console, name: str, rows: list[tuple[str, ReplayReport | OutOfMemory]]) -> None:
        """A table with one row per policy."""
        share = self.budget / self.trace.peak_bytes
        title = f"{name} on {self.model.name} in {size(self.budget)}, {share:.0%} of what is live at once"
        table = Table(*REPLAY_HEADER, title=title)
        for policy, found in rows:
            table.add_row(*replay_row(policy, found if isinstance(found, ReplayReport) else None, self.base))
        console.print(table)
        console.print(
            f"slowdown: multiple of {seconds(self.base)}, the time of resident with room for everything; "
            "faults, copies, host: what the device waits for; links busy: in / out",
            soft_wrap=True,
        )

    def write_timelines(self, policies: list[str], path: Path) -> None:
        """A file per policy."""
        for name in policies:
            target = path if len(policies) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}")
            text = replay_timeline(
                self.trace, self.model, policy_name(name), self.budget, **self.constants, **self.profile
            )
            write_file(target, text.encode())

    def to_dict(self, name: str, rows: list[tuple[str, ReplayReport | OutOfMemory]]) -> dict[str, Any]:
        """For JSON."""
        replays = [
            found.to_dict() | {"slowdown": found.total_seconds / self.base}
            if isinstance(found, ReplayReport)
            else {"policy": policy, "out_of_memory": str(found)}
            for policy, found in rows
        ]
        about = {"trace": name, "device": self.model.name, "budget_bytes": self.budget}
        about["steady"] = self.profile["steady"]
        base = {"live_peak_bytes": self.trace.peak_bytes, "resident_seconds": self.base}
        return about | base | self.constants | {"replays": replays}


def _list_devices(console: Console, json: Path | None) -> None:
    models = device_models()
    for model in models.values():
        table = Table("constant", "value", "source", title=f"{model.name}, {size(model.capacity_bytes)}")
        for name, constant in model.constants.items():
            table.add_row(name, f"{constant.value:.6g}", constant.source)
        console.print(table)
    rows = {
        model.name: {name: vars(constant) for name, constant in model.constants.items()}
        for model in models.values()
    }
    write_json(json, {"devices": rows})


@command
def decide_command(
    path: TraceArgument,
    output: Annotated[Path, typer.Option("--out", "-o", help="Decision file to write.")],
    lifetime: LifetimeOption = None,
    pool: Annotated[
        str | None,
        typer.Option(
            "--pool",
            metavar="SIZE",
            help="Most bytes in the pool: 2GiB, or 10% of the live peak.",
            callback=checked(Size()),
        ),
    ] = None,
) -> None:
    """Decide which allocations go to the pool and which are managed: a file for policy `profiled`."""
    from ... import _core

    console = results_console(output)
    trace = load(path, "trace decide")
    room = budget_bytes(trace, pool) if pool is not None else None
    made = decide(trace, lifetime=math.inf if lifetime is None else lifetime, pool_bytes=room)
    write_file(output, _core.decisions_to_text(made).encode())
    share = sum(made) / len(made) if made else 0.0
    console.print(
        f"{output}: {len(made)} allocations, {share:.1%} of them to the pool", markup=False, soft_wrap=True
    )
