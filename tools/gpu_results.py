# SPDX-License-Identifier: Apache-2.0
"""Tables of GPU results: `halocline bench operations` for docs/guides/gpu.md, `halocline bench ratio` for
docs/papers/hybrid_unified_memory.md, `halocline_kernel_bench` for docs/concepts/cuda_backend.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
KERNELS_SCHEMA = 1
OPERATIONS_SCHEMA = 1
RATIO_SCHEMA = 1

TITLES = {
    "multiply": "multiply + relinearize + rescale",
    "rotate": "rotate",
    "rescale": "rescale, both components",
    "multiply_plain": "multiply by plaintext",
    "add": "add",
    "ntt": "NTT of one polynomial",
    "ntt_batch": "NTT per polynomial in a batch of 8",
}
PEERS = {"w32-47": "Cheddar", "w64-28": "Phantom"}
PHASES = ("allocate", "copy", "addition", "butterfly")


def expect_schema(data: Json, suite: str, schema: int) -> None:
    """Raises KeyError unless the data is of a suite and schema."""
    if (data["suite"], data["schema"]) != (suite, schema):
        raise KeyError(f"suite '{data['suite']}', schema {data['schema']}; expected '{suite}', {schema}")


def device_text(data: Json) -> str:
    """GPU, driver and commit."""
    report = data["report"]
    driver = data["clocks"].get("after", {}).get("driver_version")
    version = f"driver {driver}" if driver else f"CUDA {report['driver_version'] / 1000:.1f}"
    return f"{report['model']}, {version}, commit {data['commit'][:10]}"


def microseconds(value: float | None) -> str:
    """Three digits, or a dash where nothing was measured."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def operations_lines(data: Json) -> Iterator[str]:
    """One table for each parameter set and number of limbs."""
    expect_schema(data, "operations", OPERATIONS_SCHEMA)
    yield f"`halocline bench operations --device {data['device']}`, median of {data['samples']} samples"
    yield f"({device_text(data)}), microseconds:"
    groups: dict[tuple[str, int], list[Json]] = {}
    for row in data["rows"]:
        groups.setdefault((row["set"], row["limbs"]), []).append(row)
    for (name, limbs), rows in groups.items():
        about = data["sets"][name]
        yield ""
        yield (
            f"`{name}`, {limbs} limbs (N 2^{about['n'].bit_length() - 1}, {about['word_bits']}-bit words, "
            f"log PQ {about['log_pq']:.0f}, {about['security_bits']:.0f} bits of security):"
        )
        yield ""
        columns = f"{PEERS[name]} | target | eager | graph | {data['operand_sets']} sets in turns"
        yield f"| operation | ours | {columns} | floor: bytes | floor: arithmetic | of the larger |"
        yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        for row in rows:
            yield _operation_row(row)


def _operation_row(row: Json) -> str:
    target = row["target_us"]
    met = "" if target is None else " yes" if row["us"] <= target else " no"
    cells = [
        TITLES[row["operation"]],
        f"**{microseconds(row['us'])}**",
        microseconds(row["peer_us"]),
        f"{microseconds(target)}{met}",
        microseconds(row["eager_us"]),
        microseconds(row["graph_us"]),
        microseconds(row["eager_turns_us"]),
        microseconds(row["bytes_floor_us"]),
        microseconds(row["arithmetic_floor_us"]),
        f"{row['of_floor']:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


CHOSEN = ("", "table", "8 terms", "256 threads", "keys first", "seeded", "2 words")
"""Variants of kernels that the backend takes."""


def kernels_lines(data: Json) -> Iterator[str]:
    """What each kernel takes at both numbers of limbs, with its floors."""
    expect_schema(data, "kernels", KERNELS_SCHEMA)
    rows: dict[tuple[str, str], dict[int, Json]] = {}
    for row in data["rows"]:
        if row["variant"] in CHOSEN:
            key = row["op"], "seeded" if row["variant"] == "seeded" else ""
            rows.setdefault(key, {})[row["limbs"]] = row
    limbs = sorted({row["limbs"] for row in data["rows"]}, reverse=True)
    yield (
        f"`halocline_kernel_bench` ({data['device']}, driver {data['driver']}, commit "
        f"{data['commit'][:10]}), N 2^{data['log_n']}, 32-bit words, back to back, medians in"
    )
    yield (
        f"microseconds. Bandwidth {data['bandwidth_bytes_per_s'] / 1e12:.2f} TB/s, "
        f"{data['mads_per_s'] / 1e12:.2f} T wide multiply-adds/s."
    )
    yield ""
    names = " | ".join(f"{each} limbs | bytes | multiply-adds | of the larger" for each in limbs)
    yield f"| kernel | {names} |"
    yield f"|---|{'---:|' * 4 * len(limbs)}"
    for (op, variant), by_limbs in rows.items():
        cells = [f"`{op}`{' from seeds' if variant else ''}"]
        for each in limbs:
            row = by_limbs[each]
            cells += [
                f"**{microseconds(row['median_us'])}**",
                microseconds(row["byte_floor_us"]),
                microseconds(row["mad_floor_us"]),
                f"{row['over_floor']:.2f}",
            ]
        yield f"| {' | '.join(cells)} |"


def ratio_lines(data: Json) -> Iterator[str]:
    """Sweep, allocations, multiplications."""
    expect_schema(data, "ratio", RATIO_SCHEMA)
    budget = data["budget_bytes"] >> 20
    yield f"`halocline bench ratio` ({device_text(data)}), budget {budget} MiB, milliseconds:"
    yield ""
    yield from _sweep_table(data)
    yield ""
    yield "Microseconds to allocate, touch and free, by method and size:"
    yield ""
    yield from _allocation_table(data)
    if data["multiplication"]:
        yield ""
        rows = data["multiplication"]
        times = ", ".join(f"`{row['policy']}` {microseconds(row['us'])}" for row in rows)
        yield f"Multiplication, relinearization and rescale (`{rows[0]['params']}`), microseconds: {times}."


def _sweep_table(data: Json) -> Iterator[str]:
    shares = sorted({row["async_share"] for row in data["sweep"]})
    yield f"| data, of the budget | phase | {' | '.join(f'{100 * each:.0f} % async' for each in shares)} |"
    yield f"|---:|---|{'---:|' * len(shares)}"
    cells = {(row["oversubscription"], row["async_share"]): row for row in data["sweep"]}
    for size in sorted({row["oversubscription"] for row in data["sweep"]}):
        for phase in PHASES:
            times = (f"{1e3 * cells[size, share][f'{phase}_seconds']:.1f}" for share in shares)
            yield f"| {100 * size:.0f} % | {phase} | {' | '.join(times)} |"


def _allocation_table(data: Json) -> Iterator[str]:
    sizes = sorted({row["bytes"] for row in data["allocations"]})
    methods = list(dict.fromkeys(row["method"] for row in data["allocations"]))
    cells = {(row["method"], row["bytes"]): row for row in data["allocations"]}
    yield f"| method | {' | '.join(_size(each) for each in sizes)} |"
    yield f"|---|{'---:|' * len(sizes)}"
    for method in methods:
        yield f"| {method} | {' | '.join(_total(cells.get((method, each))) for each in sizes)} |"


def _size(count: int) -> str:
    for unit, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >> unit:
            return f"{count >> unit} {name}"
    return f"{count} B"


def _total(row: Json | None) -> str:
    if row is None or "allocate_us" not in row:
        return "-"
    return microseconds(row["allocate_us"] + row["touch_us"] + row["free_us"])
