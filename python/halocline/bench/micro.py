# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: the C++ micro suites as a program of their own, and the comparison with other libraries."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..base.errors import CorruptData, InvalidArgument
from .keeping import SILENT, Watcher
from .options import MicroOptions
from .programs import watch

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


def run_micro(
    suite: str = "micro", quick: bool = False, binary: Path | None = None, watcher: Watcher = SILENT
) -> dict[str, Any]:
    """Runs one suite and returns Google Benchmark's JSON: context and benchmarks."""
    if suite not in MICRO_SUITES:
        raise InvalidArgument(f"bench: unknown suite '{suite}'; expected one of: {', '.join(MICRO_SUITES)}")
    program = find_micro_binary(binary)
    chosen = [f"--benchmark_filter={MICRO_SUITES[suite]}"] if MICRO_SUITES[suite] else []
    total = _count(program, chosen)

    def grown(text: str) -> None:
        content = _document(_closed(text))
        if content is not None and content["benchmarks"]:
            watcher.row(suite, {"suite": suite} | content, len(content["benchmarks"]), total)

    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [str(program), f"--benchmark_out={result}", "--benchmark_out_format=json", *chosen]
        command += [f"--benchmark_min_time={_QUICK_SECONDS}"] if quick else []
        watch(suite, command, result, grown)
        content = _document((result.read_text() if result.exists() else "") or "{}")
    if content is None:
        raise CorruptData(f"bench {suite}: '{program}' wrote no JSON")
    return {"suite": suite} | content


def run(
    options: MicroOptions | None = None, watcher: Watcher = SILENT, suite: str = "micro"
) -> dict[str, Any]:
    """A suite with its options, as `--json` writes it."""
    o = options or MicroOptions()
    return run_micro(suite, o.quick, None if o.binary is None else Path(o.binary), watcher)


def _count(program: Path, chosen: list[str]) -> int:
    """How many benchmarks there are to run, as the program lists them; at least one."""
    command = [str(program), "--benchmark_list_tests=true", *chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return max(1, len(done.stdout.splitlines()))


def _closed(text: str) -> str:
    """What Google Benchmark has written so far, with the brackets that it writes at the end."""
    return text.rstrip().removesuffix(",") + "]}"


def _document(text: str) -> dict[str, Any] | None:
    """Context and benchmarks; None for what is no JSON, or not yet."""
    try:
        content: dict[str, Any] = json.loads(text)
        content.setdefault("benchmarks", [])
    except (ValueError, AttributeError):
        return None
    return content
