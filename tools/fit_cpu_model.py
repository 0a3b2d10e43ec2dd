# SPDX-License-Identifier: Apache-2.0
"""Fits the CPU models of time forecasts (python/halocline/data/cpu_device_w*.json) on this machine.

For a program with the common operations, at several ring degrees, it takes the least time of each kernel over
many runs with one thread, and divides by the bytes that the trace of the program says the kernel touches. The
least time leaves out what other processes of the machine take.

usage: tools/fit_cpu_model.py [--runs 30] [--out python/halocline/data]
"""

from __future__ import annotations

import argparse
import collections
import json
import platform
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np

WIDE: dict[str, Any] = {"word_bits": 64, "main_bits": 0, "terminal_bits": 0, "special_bits": 60.5}
SETS = {
    32: [hc.Params.preset(name) for name in ("n13-d3", "n14-d7", "n15-d14")],
    64: [
        hc.Params(log_n=13, depth=3, scale_bits=30.0, base_bits=36.0, special_primes=1, digit_size=1, **WIDE),
        hc.Params(log_n=14, depth=5, scale_bits=36.0, base_bits=40.0, special_primes=2, digit_size=3, **WIDE),
        hc.Params(
            log_n=15, depth=12, scale_bits=40.0, base_bits=50.0, special_primes=5, digit_size=6, **WIDE
        ),
    ],
}
BYTES_PER_S = 1e10
DATA = Path("python/halocline/data")


def program(x: Any, y: Any) -> Any:
    """Products, rotations, sums and plain factors."""
    z = (x * y).rotate(1) + x
    z = z * np.linspace(0.0, 1.0, x.slots) * 0.3
    return z + (x - y) + 0.5


def bytes_by_operation(params: hc.Params) -> dict[str, float]:
    """What each kernel reads and writes, tables left out."""
    vector = np.ones(params.slots)
    columns = hc.trace_program(params, program, vector, vector).trace._core.columns()
    names, actions, classes = ([each[0][i] for i in each[1]] for each in
                               (columns["op"], columns["action"], columns["class"]))  # fmt: skip
    found: dict[str, float] = collections.defaultdict(float)
    for name, action, kind, count in zip(names, actions, classes, columns["bytes"], strict=True):
        if action in ("read", "write") and kind != "table":
            found[name] += float(count)
    return found


def least_times(params: hc.Params, runs: int) -> dict[str, float]:
    """Nanoseconds of each kernel in one run of the program: the least of each row over the runs."""
    client = hc.Client(params, threads=1)
    vector = np.ones(params.slots)
    keys = client.evaluation_keys(plan=hc.key_plan(params, program, vector, vector))
    engine = hc.Engine(params, keys, threads=1)
    inputs = client.encrypt(vector), client.encrypt(vector)
    engine.run(program, *inputs)
    least: dict[tuple[str, str], float] = {}
    for _ in range(runs):
        with engine.profile() as profile:
            engine.run(program, *inputs)
        for row in profile._core.rows:
            key = row[0], row[1]
            least[key] = min(least.get(key, np.inf), float(row[4]))
    found: dict[str, float] = collections.defaultdict(float)
    for (_, name), nanoseconds in least.items():
        found[name] += nanoseconds
    return found


def fitted(runs: int, bits: int) -> dict[str, float]:
    """Bytes of time at `BYTES_PER_S` for each byte that a kernel touches."""
    times: dict[str, float] = collections.defaultdict(float)
    sizes: dict[str, float] = collections.defaultdict(float)
    for params in SETS[bits]:
        size, time = bytes_by_operation(params), least_times(params, runs)
        for kernel in size.keys() & time.keys():
            times[kernel] += time[kernel] * 1e-9
            sizes[kernel] += size[kernel]
    return {kernel: times[kernel] * BYTES_PER_S / sizes[kernel] for kernel in times if sizes[kernel]}


def model_of(factors: dict[str, float], source: str) -> dict[str, Any]:
    """A device model in which a kernel takes its factor times its bytes, and nothing else takes time."""
    model: dict[str, Any] = json.loads(hc.device_models()["h200"]._core.to_json())
    model["name"] = "cpu"
    for name, constant in model["constants"].items():
        constant["source"] = "not used: everything is resident"
        if name.endswith("_us") or name.endswith("_us_per_mib"):
            constant["value"] = 0
    model["constants"]["memory_bytes_per_s"] = {"value": BYTES_PER_S, "source": "unit of the factors"}
    model["operations"] = {
        kernel: {"launches": 1, "fixed_us": 0, "factor": round(factors[kernel], 3), "source": source}
        for kernel in sorted(factors)
    }
    model["other_operation"] = {
        "launches": 1, "fixed_us": 0, "factor": round(factors["add"], 3), "source": "as an addition",
    }  # fmt: skip
    return model


def main() -> None:
    """Fits, and writes the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--out", type=Path, default=DATA)
    options = parser.parse_args()
    for bits in SETS:
        factors = fitted(options.runs, bits)
        source = f"fitted: least of {options.runs} runs, 1 thread, {platform.machine()}, {bits}-bit words"
        text = json.dumps(model_of(factors, source), indent=2) + "\n"
        (options.out / f"cpu_device_w{bits}.json").write_text(text)
        print(bits, {kernel: round(factor, 3) for kernel, factor in factors.items()})


if __name__ == "__main__":
    main()
