# SPDX-License-Identifier: Apache-2.0
"""Rows of the printed report of `halocline run resnet20`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _core

_SHOWN = 5
"""Images whose class is printed; the file of `--json` has all."""


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row."""
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
    yield "evaluation keys", f"{r['distinct_keys']}, {_core.format_bytes(r['key_bytes'])}"
    parts = ", ".join(f"{name} {_core.format_bytes(count)}" for name, count in r["footprint"].items())
    yield "footprint", f"{_core.format_bytes(r['footprint_bytes'])} that the program touches; {parts}"
    yield "ranges", f"bounds from {r['ranges'].get('source', 'the caller')}"
    for notice in r["notices"][:_SHOWN]:
        yield "notice", notice
