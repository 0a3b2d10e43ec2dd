# SPDX-License-Identifier: Apache-2.0
"""`halocline bench` with suites of whole workloads: within budgets, under policies, on any device."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ... import _core
from ...base.errors import InvalidArgument
from ...base.extras import require
from ...tracing.replay import device_models
from ..common import check_device, progress_bar, size
from .options import BenchOptions, numbers, print_rows, several, stored

if TYPE_CHECKING:
    from ...bench.budgets.curve import CurveOptions

CURVES = ("bootstrap-budget", "resnet20-budget")
SUITES = ("hybrid-paper", "wide-rotations", *CURVES, "bm-operations", "bm-bootstrap")
WITH_PICTURES = {name: name for name in (*CURVES, "bm-operations", "bm-bootstrap")}

Json = dict[str, Any]
Progress = Callable[[int, int], None]


def run_workload_suite(suite: str, options: BenchOptions) -> Json:
    """The result of a suite: measured, or read from a file."""
    if options.plot is not None or suite in CURVES:  # before the measurement, not after it
        require("matplotlib", "lab", f"bench {suite}")
    if options.source is not None:
        content = stored(suite, options.source, WITH_PICTURES)
    else:
        device = options.device or "cpu"
        if device not in device_models():
            check_device(device)
        elif suite not in CURVES:
            raise InvalidArgument(
                f"bench {suite}: '{device}' is a device model; only {' and '.join(CURVES)} simulate"
            )
        with progress_bar(suite) as progress:
            content = _RUNS[suite](options, progress)
        content |= _card(device)
    if options.plot is not None:
        if suite not in WITH_PICTURES:
            raise InvalidArgument(
                f"bench {suite}: --plot is for suites with pictures: {', '.join(WITH_PICTURES)}"
            )
        from ...plots.budgets import save_plots

        save_plots(content, options.plot)
    return content


def _card(device: str) -> Json:
    """When, and on which GPU with which driver."""
    made: Json = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    report = None if device in device_models() else _core.report_device(device, False)
    if report is not None:
        from ...bench.operations import clocks

        made |= {"report": report, "clocks": {"after": clocks()}}
    return made


def _hybrid_paper(options: BenchOptions, progress: Progress) -> Json:
    from ...papers.hybrid.replay import run_hybrid_paper

    return run_hybrid_paper(progress=lambda _, done, total: progress(done, total))


def _wide_rotations(options: BenchOptions, progress: Progress) -> Json:
    from ...bench.budgets.wide_rotations import BUDGETS, POLICIES, kinds_of, run_wide_bench

    arguments = [] if options.params is None else ["--params", options.params]
    kinds = kinds_of(several(options.policies) or POLICIES, several(options.budgets) or BUDGETS)
    device = options.device or "cpu"
    return run_wide_bench(
        options.threads or 1,
        options.repetitions,
        [*arguments, *_common(options)],
        kinds,
        device,
        progress,
    )


def _bootstrap_budget(options: BenchOptions, progress: Progress) -> Json:
    from ...bench.budgets.bootstrap import BATCHES, run_bootstrap_budget
    from ...workloads.bootstrap.messages import parse_settings

    (params,) = options.several("n16-boot")
    settings = parse_settings(options.sets or [])
    chosen = _curve_options(options, BATCHES)
    return run_bootstrap_budget(params, chosen, settings, lambda _, done, total: progress(done, total))


def _resnet20_budget(options: BenchOptions, progress: Progress) -> Json:
    from ...bench.budgets.resnet20 import BUDGETS, POLICIES, Network, run_resnet20_budget
    from ...workloads.bootstrap.messages import parse_settings

    (params,) = options.several("n16-boot")
    network = Network(options.weights, options.image, parse_settings(options.sets or []))
    chosen = _curve_options(options, (1,), POLICIES, BUDGETS)
    return run_resnet20_budget(params, chosen, network, lambda _, done, total: progress(done, total))


def _curve_options(
    options: BenchOptions,
    batches: tuple[int, ...],
    policies: Sequence[str] | None = None,
    budgets: Sequence[str] | None = None,
) -> CurveOptions:
    from ...bench.budgets.curve import BUDGETS, POLICIES, RUNS, CurveOptions

    return CurveOptions(
        device=options.device or "cpu",
        policies=several(options.policies) or policies or POLICIES,
        budgets=several(options.budgets) or budgets or BUDGETS,
        batches=numbers(options.batches, "--batches") or batches,
        runs=options.repetitions or RUNS,
        threads=options.threads,
        seeded=options.seeded,
    )


def _bm_operations(options: BenchOptions, progress: Progress) -> Json:
    from ...papers.hybrid.operations import BUDGETS, OperationsOptions, run_bm_operations
    from ...papers.hybrid.replay import POLICIES
    from ...papers.hybrid.traces import REPEATS
    from ...workloads.bootstrap.messages import parse_settings

    chosen = OperationsOptions(
        device=options.device or "cpu",
        policies=several(options.policies) or POLICIES,
        budgets=several(options.budgets) or BUDGETS,
        repeats=options.repetitions or REPEATS,
        threads=options.threads,
        seeded=options.seeded,
        bootstrap=parse_settings(options.sets or []),
    )
    params = options.several("FGa-boot,FGb-boot,FVb-boot")
    return run_bm_operations(params, chosen, lambda _, done, total: progress(done, total))


def _bm_bootstrap(options: BenchOptions, progress: Progress) -> Json:
    from ...papers.hybrid.bootstrap_bench import BUDGET, run_bm_bench
    from ...papers.hybrid.replay import POLICIES

    arguments = ["--device", options.device or "cpu", *_common(options)]
    arguments += [] if options.params is None else ["--presets", options.params]
    arguments += [] if options.kinds is None else ["--kinds", options.kinds]
    arguments += [] if options.threads is None else ["--threads", str(options.threads)]
    arguments += ["--seeded"] * options.seeded
    for each in options.sets or []:
        arguments += ["--set", each]
    policies, budgets = several(options.policies) or POLICIES, several(options.budgets) or (BUDGET,)
    return run_bm_bench(budgets, policies, arguments=arguments, progress=progress)


def _common(options: BenchOptions) -> list[str]:
    """Arguments of `halocline run` that are the same for all workloads."""
    flags = {"--allow-insecure": options.allow_insecure, "--oversubscribe-managed": options.oversubscribe}
    return [name for name, given in flags.items() if given]


_RUNS: dict[str, Callable[[BenchOptions, Progress], Json]] = {
    "hybrid-paper": _hybrid_paper,
    "wide-rotations": _wide_rotations,
    "bootstrap-budget": _bootstrap_budget,
    "resnet20-budget": _resnet20_budget,
    "bm-operations": _bm_operations,
    "bm-bootstrap": _bm_bootstrap,
}


def print_workload_suite(console: Console, content: Json) -> None:
    """The result for people."""
    if content["suite"] in CURVES:
        _print_curve(console, content)
    elif content["suite"] == "bm-operations":
        print_rows(console, [_session(each) for each in content["sessions"]], "Milliseconds, mean")
    elif content.get("rows"):
        print_rows(console, content["rows"])
    else:
        console.print("done; --json FILE keeps the result, tools/update_results.py makes the tables")


def _print_curve(console: Console, content: Json) -> None:
    from ...plots.budgets import CURVES as titles

    boots = content["suite"] == "bootstrap-budget"
    quality = ("worst bits", "precision_worst_bits") if boots else ("logit error", "logit_error")
    rows = [
        {
            "policy": row["policy"],
            "batch": row["batch"],
            "budget": size(row["budget_bytes"]) if row["budget_bytes"] else "all",
            "share": None if row["share"] is None else f"{row['share']:.1%}",
            "ms": None if "seconds" not in row else 1e3 * row["seconds"],
            "slowdown": row.get("slowdown", "out of memory"),
            "waiting, ms": None if row.get("stall_seconds") is None else 1e3 * row["stall_seconds"],
            "loaded": None if "loaded_bytes" not in row else size(row["loaded_bytes"]),
            quality[0]: row.get(quality[1]),
        }
        for row in content["rows"]
    ]
    where = f"simulated {content['device']}" if content["simulated"] else content["device"]
    print_rows(console, rows, f"{titles[content['suite']]} with {content['params']} on {where}")


def _session(row: Json) -> Json:
    from ...papers.hybrid.traces import OPERATIONS

    found = row.get("operations")
    names = {"params": row["params"], "budget": size(row["budget_bytes"]), "policy": row["policy"]}
    times = {name: 1e3 * found[name]["mean"] if found else "out of memory" for name in OPERATIONS}
    return names | times
