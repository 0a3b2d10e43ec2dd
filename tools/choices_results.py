# SPDX-License-Identifier: Apache-2.0
"""Table of docs/guides/choosing.md, of `tools/check_choices.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def choices_lines(data: Json) -> Iterator[str]:
    """How forecasts compare with encrypted runs."""
    found = data["summary"]
    gap, ratios = found["pessimism_bits"], found["forecast_over_measured"]
    yield f"{found['programs']} programs with {found['results']} results, version {data['version']}."
    yield ""
    yield "| | |"
    yield "|---|---:|"
    yield f"| results whose largest error is within its forecast | {100 * found['within_forecast']:.1f} % |"
    yield f"| programs as precise as was asked for | {100 * found['as_precise_as_wanted']:.1f} % |"
    least, median = gap["least"], gap["median"]
    yield f"| bits that are reached beyond the forecast: least, median | {least:.1f}, {median:.1f} |"
    yield f"| security of the parameters, at least | {found['least_security_bits']:.1f} bits |"
    for what, name in (("seconds", "time of one thread"), ("bytes", "memory")):
        low, middle, high = (ratios[what][each] for each in ("0.05", "0.5", "0.95"))
        yield f"| forecast over measured {name}: 5 %, median, 95 % | {low:.2f}, {middle:.2f}, {high:.2f} |"
