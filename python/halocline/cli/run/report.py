# SPDX-License-Identifier: Apache-2.0
"""Readable reports of `halocline run`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from ..common import size

_SHOWN = 5
"""Images whose class is printed; the file of `--json` has all."""


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def print_report(console: Console, report: dict[str, Any]) -> None:
    """Prints the report as tables."""
    r = report
    table = Table(
        show_header=False, title=f"{r['workload']} on {r['device']}, {r['params']}, {r['threads']} threads"
    )
    if r["workload"] == "bm-bootstrap":
        _print_bm(console, r)
    rows = {
        "digits": _digits_rows,
        "wide-rotations": _wide_rows,
        "bootstrap": _bootstrap_rows,
        "bm-bootstrap": _bm_rows,
        "resnet20": resnet20_rows,
        "resnet18": resnet18_rows,
        "helr": helr_rows,
        "sorting": sorting_rows,
    }
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


def _bm_rows(r: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kinds = len({row["kind"] for row in r["rows"]})
    yield (
        "bootstraps",
        f"{len(r['rows'])}: up to {kinds} kinds with {len(r['presets'])} sets, {r['repeat']} times",
    )
    keys = sum(each["key_bytes"] for each in r["presets"])
    yield "evaluation keys", f"{sum(each['keys'] for each in r['presets'])}, {size(keys)}"
    yield "footprint", f"{size(r['footprint_bytes'])} if everything stays"
    for each in r["presets"]:
        if each["skipped"]:
            yield f"left out with {each['params']}", ", ".join(each["skipped"])
    if r["failed"] is not None:
        yield "stopped", f"out of memory with {r['failed']['params']}"


def resnet18_rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row of `halocline run resnet18`."""
    yield from resnet20_rows(report)
    forecast = report["forecast"]
    yield (
        "forecast",
        f"{forecast['seconds']:.3f} s with {size(forecast['loaded_bytes'])} loaded, "
        f"policy {forecast['policy']} on {forecast['device']}",
    )
    last = report["measured"][-1]
    yield "measured", f"{last['seconds']:.3f} s with {size(last['loaded_bytes'])} loaded, the last image"


def resnet20_rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row of `halocline run resnet20`."""
    r = report
    for each in r["predictions"][:_SHOWN]:
        same = "the same" if each["class"] == each["plain"] else each["plain"]
        yield each["image"], f"{each['class']} (in the clear: {same})"
    yield "images", f"{r['images']}; {_percent(r['agreement'])} get the class that they get in the clear"
    if r["accuracy"] is not None:
        yield "accuracy", f"{_percent(r['accuracy'])} encrypted, {_percent(r['accuracy_plain'])} plain"
    simulated = r["logit_error_simulated"]
    forecast = "infinitely" if simulated is None else f"{simulated:.4f}"
    yield (
        "logits",
        f"off by at most {r['logit_error']:.4f} from exact ReLU; {forecast} by the polynomials alone",
    )
    if r["seconds_per_image"] is not None:
        yield "time per image", f"{r['seconds_per_image']:.3f} s on the server"
    if r["resumed_images"]:
        yield "interrupted before", f"{r['resumed_images']} images begun or done by an earlier run"
    counts = r["operations"]
    yield (
        "operations",
        f"{counts['bootstraps']} bootstraps, {counts['activations']} ReLUs, {counts['linear_maps']} linear "
        f"maps of {counts['diagonals']} diagonals, {counts['key_switches']} key switches",
    )
    yield "input", f"encrypted at level {r['levels']['fresh']}"
    yield "evaluation keys", f"{r['distinct_keys']}, {size(r['key_bytes'])}"
    parts = ", ".join(f"{name} {size(count)}" for name, count in r["footprint"].items())
    yield "footprint", f"{size(r['footprint_bytes'])} that the program touches; {parts}"
    yield "ranges", f"bounds from {r['ranges'].get('source', 'the caller')}"
    for notice in r["notices"][:_SHOWN]:
        yield "notice", notice


def helr_rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row of `halocline run helr`."""
    r = report
    yield "data", f"{r['data']}: {r['samples']} samples of {r['features']} features, {r['held_out']} held out"
    levels = r["levels"]
    yield (
        "training",
        f"{r['iterations']} iterations of {levels['iteration']} levels, {r['bootstraps']} bootstraps with "
        f"{levels['per_bootstrap']} between two of them",
    )
    yield (
        "accuracy",
        f"{_percent(r['accuracy'])} encrypted, {_percent(r['accuracy_plain'])} plain, "
        f"{_percent(r['accuracy_exact'])} plain with the exact sigmoid",
    )
    yield "agreement", f"{_percent(r['agreement'])} of the held-out samples get the same class"
    yield (
        "precision",
        f"{r['precision_bits']:.1f} bits (mean), {r['precision_worst_bits']:.1f} (worst) of weights",
    )
    yield (
        "time per iteration",
        f"{r['ms_per_iteration']:.2f} ms: {r['ms_per_iteration_bootstrap']:.2f} bootstraps, "
        f"{r['ms_per_iteration_rest']:.2f} the rest; "
        f"{r['ms_per_iteration_fastest']:.2f} in the fastest period",
    )
    counts = ", ".join(
        f"{count} {kind.replace('_', ' ')}" for kind, count in r["operations_per_iteration"].items()
    )
    yield "an iteration's operations", counts
    switches = f"{r['key_switches_per_iteration']} an iteration"
    yield "key switches", f"{switches}, {r['key_switches_per_period']} a period with its bootstrap"
    yield "evaluation keys", f"{r['distinct_keys']}, {size(r['key_bytes'])}"
    yield "ciphertexts sent", size(r["data_bytes"])
    parts = ", ".join(f"{name} {size(count)}" for name, count in r["footprint"].items())
    yield "footprint", f"{size(r['footprint_bytes'])} that the program touches: {parts}"


def sorting_rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row of `halocline run sorting`."""
    r = report
    levels = r["levels"]
    yield "sorted", f"{r['count']} numbers in {r['stages']} stages, seed {r['seed']}, alpha {r['alpha']}"
    yield (
        "levels",
        f"bootstraps {levels['bootstrap_from']} to {levels['bootstrap_to']}, "
        f"stages {levels['stage_from']} to {levels['stage_to']}",
    )
    yield (
        "time",
        f"{r['sort_seconds']:.2f} s, of which bootstraps {r['bootstrap_seconds']:.2f}; "
        f"{r['ms_per_stage']:.1f} ms a stage (median)",
    )
    yield (
        "error",
        f"{r['max_error']:.2g} at most, {r['mean_error']:.2g} on average; without noise "
        f"{r['max_error_simulated']:.2g} and {r['mean_error_simulated']:.2g}",
    )
    yield (
        "order",
        f"{r['neighbours_out_of_order']} neighbours out of order, at most {r['largest_disorder']:.2g} apart",
    )
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in r["operations"].items())
    yield "operations", f"{counts}; {r['key_switches']} key switches"
    yield "evaluation keys", f"{r['distinct_keys']}, {size(r['key_bytes'])}"
    parts = ", ".join(f"{name} {size(count)}" for name, count in r["footprint"].items())
    yield "footprint", f"{size(r['footprint_bytes'])} that the program touches: {parts}"


def _print_bm(console: Console, r: dict[str, Any]) -> None:
    """A row for each bootstrap."""
    columns = (
        "round",
        "parameters",
        "kind",
        "ms",
        "bits, mean",
        "worst",
        "keys",
        "moved",
        "waiting, ms",
        "peak",
    )
    table = Table(*columns)
    for row in r["rows"]:
        table.add_row(
            str(row["round"]),
            row["params"],
            row["kind"],
            f"{1e3 * row['seconds']:.1f}",
            f"{row['precision_bits']:.1f}",
            f"{row['precision_worst_bits']:.1f}",
            f"{row['keys']}, {size(row['key_bytes'])}",
            size(sum(row["bytes_moved"].values())),
            f"{1e3 * row['stall_seconds']:.1f}",
            size(row["peak_bytes"]),
        )
    console.print(table)
