# SPDX-License-Identifier: Apache-2.0
"""Compares the forecasts of `halocline.choose` with real runs of random programs.

For each program it draws a precision, lets `choose` find parameters, runs the program encrypted under them,
and compares the largest error of each result, the time of one thread and the peak of memory with their
forecasts. Times are of the process, so they leave out waiting for the processor. Parameters are read
back from JSON without allow_insecure, which refuses what has less than 128 bits of security.

usage: tools/check_choices.py [--programs 200] [--first 0] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/tests/support"))
from random_programs import RandomProgram

PRECISIONS = (12, 24)
"""Wanted bits are drawn from here."""
RUNS = 5
"""Of each program, the fastest of which counts."""


def check(seed: int, most_depth: int = 6, most_log_slots: int = 12) -> dict[str, Any]:
    """One program: what was chosen, and for each result the forecast and the measured bits."""
    program = RandomProgram.drawn(seed, most_depth, most_log_slots)
    values = program.values()
    wanted = int(np.random.default_rng([seed, 3]).integers(*PRECISIONS, endpoint=True))
    choice = hc.choose(program, values, precision=wanted)
    params = hc.Params.from_json(choice.params.to_json())
    client = hc.Client(params, seed=seed.to_bytes(32, "little"))
    keys = client.evaluation_keys(plan=hc.key_plan(params, program, *values))
    engine = hc.Engine(params, keys, threads=1)
    inputs = [client.encrypt(each) for each in values]
    engine.run(program, *inputs)  # makes tables
    seconds, made = math.inf, None
    for _ in range(RUNS):
        made = None  # results of one run are in memory, as in the forecast
        begin = time.process_time()
        made = engine.run(program, *inputs)
        seconds = min(seconds, time.process_time() - begin)
    exact = hc.simulate(program, values, params, noise=False)
    rows = []
    for output, result, right in zip(choice.outputs, made, exact, strict=True):
        error = float(np.abs(client.decrypt(result) - right).max())
        if error > 0:  # a difference of a value with itself is exact
            rows.append({"forecast": output.precision, "measured": -math.log2(error)})
    return {
        "seed": seed,
        "params": params.name,
        "security_bits": params.security_bits,
        "wanted": wanted,
        "seconds": {"forecast": choice.best.seconds, "measured": seconds},
        "bytes": {"forecast": choice.best.memory_bytes, "measured": int(engine.stats()["peak_bytes"])},
        "outputs": rows,
    }


def summary(programs: list[dict[str, Any]]) -> dict[str, Any]:
    """Share of results within their forecasts, and how many bits forecasts are below measurements."""
    gaps = [each["measured"] - each["forecast"] for row in programs for each in row["outputs"]]
    reached = [
        min((each["measured"] for each in row["outputs"]), default=math.inf) - row["wanted"]
        for row in programs
    ]
    ratios = {
        what: [row[what]["forecast"] / row[what]["measured"] for row in programs]
        for what in ("seconds", "bytes")
    }
    return {
        "programs": len(programs),
        "results": len(gaps),
        "within_forecast": float(np.mean(np.array(gaps) >= 0)),
        "programs_within": float(np.mean([
            all(each["measured"] >= each["forecast"] for each in row["outputs"]) for row in programs
        ])),
        "as_precise_as_wanted": float(np.mean(np.array(reached) >= 0)),
        "pessimism_bits": {name: float(np.quantile(gaps, q)) for name, q in
                           (("least", 0.0), ("median", 0.5), ("most", 1.0))},
        "forecast_over_measured": {
            what: {str(q): float(np.quantile(each, q)) for q in (0.05, 0.5, 0.95)}
            for what, each in ratios.items()
        },
        "least_security_bits": min(row["security_bits"] for row in programs),
        "presets": sorted({row["params"] for row in programs} & set(hc.preset_names())),
    }  # fmt: skip


def main() -> None:
    """Checks, prints, and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    begin, rows = time.perf_counter(), []
    for seed in range(options.first, options.first + options.programs):
        rows.append(check(seed))
        if sys.stderr.isatty():
            print(f"\r{len(rows)} of {options.programs}", end="", file=sys.stderr)
    found = summary(rows)
    print(json.dumps(found, indent=2), f"{time.perf_counter() - begin:.0f} s")
    if options.json is not None:
        content = {
            "schema": 1, "suite": "choices", "machine": platform.machine(), "commit": hc.__commit__,
            "version": hc.__version__, "summary": found, "programs": rows,
        }  # fmt: skip
        options.json.write_text(json.dumps(content, indent=None).replace('{"seed"', '\n{"seed"') + "\n")


if __name__ == "__main__":
    main()
