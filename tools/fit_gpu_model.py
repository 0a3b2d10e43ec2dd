# SPDX-License-Identifier: Apache-2.0
"""Fits the times of operations of the H200 device model (cpp/src/memory/sim/devices.cpp) to measured ones.

An operation takes `fixed_us + slope * bytes`, with the bytes that the trace of a program says it touches.
Lines of single operations go through measured times at 47 and 23 limbs: `bench operations` for transforms
and additions, the kernel bench for the rest. The former are of a commit whose products with keys
transformed no digits (apart_operations.json). `key_multiply_accumulate` and `ntt_linear_combine` are what is
left of rotations, multiplications and rescalings when the others are deducted, by least squares of relative
errors: on a device they run in groups of primes, which the trace of a ghost does not show. Products with
seeded keys take what those with whole keys do, and the difference of the two kernels. Products that also
transform digits are measured as they are. Applications take no part in the fit, so that they can check it.

usage: tools/fit_gpu_model.py [--results cpp/bench/results/h200]
"""

from __future__ import annotations

import argparse
import collections
import json
from collections.abc import Iterator
from pathlib import Path

import halocline as hc
import numpy as np
from halocline.bench.operation_sets import FIELDS

SET = "w32-47"
LEVELS = {33: 47, 15: 23}
KERNELS = {
    "automorphism": "automorphism",
    "dot": "dot",
    "encode_expand": "encode_expand",
    "base_convert": "mod_up",
    "tensor": "tensor",
}
LEFT_OVER = ("key_multiply_accumulate", "ntt_linear_combine")
Line = tuple[float, float]
Steps = dict[tuple[int, str], list[tuple[str, float]]]


def line(far: tuple[float, float], near: tuple[float, float]) -> Line:
    """Microseconds, and per byte, through two points (bytes, us); through zero if they say less."""
    slope = (far[1] - near[1]) / (far[0] - near[0])
    fixed = near[1] - slope * near[0]
    return (fixed, slope) if fixed >= 0 else (0.0, (far[1] / far[0] + near[1] / near[0]) / 2)


def steps_of(params: hc.Params, level: int, operation: str) -> list[tuple[str, float]]:
    """Name and bytes, tables left out, of each step of an operation on a ghost."""
    engine = hc.Engine(params, device="ghost")
    scale = params.level(level).scale
    x, y = (engine.ghost_input(level=level) for _ in range(2))
    product = engine.ghost_input(level=level, scale=scale * scale)
    run = {
        "rotate": lambda: x.rotate(1),
        "multiply": lambda: x * y,
        "add": lambda: x + y,
        "rescale": product.rescale,
    }[operation]
    run()  # makes keys and tables
    with engine.record() as trace:
        run()
    columns = trace._core.columns()
    names, actions, classes = (
        [columns[name][0][i] for i in columns[name][1]] for name in ("op", "action", "class")
    )
    found: dict[tuple[int, str], float] = collections.defaultdict(float)
    for name, action, kind, count, step in zip(
        names, actions, classes, columns["bytes"], columns["step"], strict=True
    ):
        if action in ("read", "write"):
            found[int(step), name] += 0.0 if kind == "table" else float(count)
    return [(name, count) for (_, name), count in found.items()]


def measured_kernels(path: Path) -> Iterator[tuple[str, Line]]:
    """Lines of the kernel bench, with the variants that the library chooses."""
    best: dict[tuple[str, int], tuple[float, float]] = {}
    for row in json.loads(path.read_text())["rows"]:
        key = row["op"], row["limbs"]
        if key not in best or row["variant"] == "table":
            best[key] = row["bytes"], row["median_us"]
    limbs = tuple(LEVELS.values())
    for name, kernel in KERNELS.items():
        yield name, line(best[kernel, limbs[0]], best[kernel, limbs[1]])


def fitted(times: dict[tuple[int, str], float], steps: Steps, lines: dict[str, Line]) -> dict[str, Line]:
    """The lines of `LEFT_OVER`, given those of all other steps."""
    rows, rest = [], []
    for key, parts in steps.items():
        row, left = [0.0] * (2 * len(LEFT_OVER)), times[key]
        for name, count in parts:
            if name in LEFT_OVER:
                at = 2 * LEFT_OVER.index(name)
                row[at] += 1
                row[at + 1] += count
            else:
                fixed, slope = lines.get(name, lines["other"])
                left -= fixed + slope * count
        rows.append([each / times[key] for each in row])
        rest.append(left / times[key])
    found = np.linalg.lstsq(np.array(rows), np.array(rest), rcond=None)[0]
    return {name: (float(found[2 * i]), float(found[2 * i + 1])) for i, name in enumerate(LEFT_OVER)}


def seeded(path: Path, whole: Line) -> Line:
    """Products with keys of which one half is expanded, given the line of those with whole keys."""
    rows = {
        (row["variant"], row["limbs"]): row
        for row in json.loads(path.read_text())["rows"]
        if row["op"] == "key_multiply"
    }
    points = []
    for limbs in LEVELS.values():
        kept, full = rows["seeded", limbs], rows["keys first", limbs]
        longer = kept["median_us"] - full["median_us"]
        points.append((kept["bytes"], whole[0] + whole[1] * full["bytes"] + longer))
    return line(points[0], points[1])


def transforming(path: Path) -> Line:
    """Products that also transform digits, the digits read and, where they are raised, written once more."""
    limb = 4 << 16
    points = []
    for row in json.loads(path.read_text())["rows"]:
        if row["op"] != "key_transform" or row["variant"] != "rows in the product":
            continue
        limbs, special, digits = row["limbs"], 12, -(-row["limbs"] // 12)
        raised = digits * (limbs + special) - limbs
        moved = (3 * digits + 2) * (limbs + special) + raised
        points.append((float(moved * limb), row["median_us"]))
    return line(points[0], points[1])


def main() -> None:
    """Prints the constants, and every measured operation with the time that the model says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("cpp/bench/results/h200"))
    results = parser.parse_args().results
    times = {
        (row["level"], row["operation"]): row["graph_us"]
        for row in json.loads((results / "apart_operations.json").read_text())["rows"]
        if row["set"] == SET
    }
    params = hc.Params(**FIELDS[SET])
    steps = {
        key: steps_of(params, *key) for key in times if key[1] in ("rotate", "multiply", "rescale", "add")
    }
    lines = dict(measured_kernels(results / "kernels.json"))
    polynomial = {level: 8.0 * params.n * limbs for level, limbs in LEVELS.items()}  # read and written
    for level, count in polynomial.items():  # apart_operations.json: rotations turned both results then
        steps[level, "rotate"].append(("automorphism", 2 * count))
    high, low = LEVELS
    lines["ntt"] = lines["intt"] = line(
        (polynomial[high], times[high, "ntt"]), (polynomial[low], times[low, "ntt"])
    )
    lines["other"] = line(
        (steps[high, "add"][0][1], times[high, "add"]), (steps[low, "add"][0][1], times[low, "add"])
    )
    lines |= fitted(times, {key: parts for key, parts in steps.items() if key[1] != "add"}, lines)

    lines[f"{LEFT_OVER[0]}:seeded"] = seeded(results / "kernels.json", lines[LEFT_OVER[0]])

    lines[f"{LEFT_OVER[0]}:transforming"] = transforming(results / "key_rows.json")

    rate = hc.device_models()["h200"].constants["memory_bytes_per_s"].value
    for name, (fixed, slope) in sorted(lines.items()):
        print(f"{name:31} fixed {fixed:5.1f} us, factor {slope * rate * 1e-6:5.2f}")
    for key, parts in steps.items():
        says = sum(f + s * count for name, count in parts for f, s in [lines.get(name, lines["other"])])
        print(f"{key[1]} at {LEVELS[key[0]]} limbs: measured {times[key]:.1f} us, model {says:.1f}")


if __name__ == "__main__":
    main()
