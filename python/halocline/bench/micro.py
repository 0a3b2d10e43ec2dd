# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: the C++ micro suites as a program of their own, and the comparison with other libraries."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..base.errors import CorruptData, Error, InvalidArgument

MICRO_SUITES = {
    "micro": "",
    "ntt": "ntt",
    "base_convert": "base_convert|mod_up|mod_down",
    "key_switch": "key_switch|key_multiply",
    "evaluator": "evaluator",
    "encode": "encode|embedding",
    "encrypt": "encrypt|decrypt|sample",
}
"""Suite -> regular expression over benchmark names; "micro" is all of them."""

_QUICK_SECONDS = "0.02"


def find_micro_binary(given: Path | None = None) -> Path:
    """The micro benchmark program: the given one, or build/cpu of the checkout that this package is in."""
    candidates = (
        [given] if given else [Path(__file__).resolve().parents[3] / "build" / "cpu" / "halocline_bench"]
    )
    for each in candidates:
        if each.is_file() and os.access(each, os.X_OK):
            return each
    raise InvalidArgument(
        f"bench: no program at '{candidates[0]}'; build it with `make bench`, or name it with --binary"
    )


def run_micro(suite: str = "micro", quick: bool = False, binary: Path | None = None) -> dict[str, Any]:
    """Runs one suite and returns Google Benchmark's JSON: context and benchmarks."""
    if suite not in MICRO_SUITES:
        raise InvalidArgument(f"bench: unknown suite '{suite}'; expected one of: {', '.join(MICRO_SUITES)}")
    program = find_micro_binary(binary)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [str(program), f"--benchmark_out={result}", "--benchmark_out_format=json"]
        command += [f"--benchmark_filter={MICRO_SUITES[suite]}"] if MICRO_SUITES[suite] else []
        command += [f"--benchmark_min_time={_QUICK_SECONDS}"] if quick else []
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise Error(
                f"bench: '{program}' failed with status {done.returncode}: {done.stderr.strip()[-500:]}"
            )
        try:
            content: dict[str, Any] = json.loads(result.read_text() or "{}")
        except ValueError as error:
            raise CorruptData(f"bench: '{program}' wrote no JSON ({error})") from None
    content.setdefault("benchmarks", [])
    return content
