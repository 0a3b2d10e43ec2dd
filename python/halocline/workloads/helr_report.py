# SPDX-License-Identifier: Apache-2.0
"""Rows of the printed report of `halocline run helr`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _core


def rows(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of each row."""
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
    yield "evaluation keys", f"{r['distinct_keys']}, {_size(r['key_bytes'])}"
    yield "ciphertexts sent", _size(r["data_bytes"])
    parts = ", ".join(f"{name} {_size(count)}" for name, count in r["footprint"].items())
    yield "footprint", f"{_size(r['footprint_bytes'])} that the program touches: {parts}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _size(count: int) -> str:
    return _core.format_bytes(int(count))
