# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/papers/fhe_storage_io.md from the JSON of `halocline paper storage`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]
SCHEMA = 1
POLICIES = ("none", "prefetch", "lru", "planned")
TIERS = {"hbm": "HBM", "ddr": "DDR", "pcie": "PCIe", "rdma": "RDMA"}
NAMES = {
    "sharp": "SHARP",
    "tensorfhe": "TensorFHE",
    "resnet20": "ResNet-20",
    "helr": "HELR",
    "bootstrap": "bootstrap",
    "ethernet": "Ethernet",
    "fastfabric": "FastFabric",
} | TIERS


def _expect(data: Json) -> str:
    """The line that says where the figures are from. Raises KeyError for another schema."""
    if data["schema"] != SCHEMA:
        raise KeyError(f"schema {data['schema']}, expected {SCHEMA}")
    return f"`halocline paper storage` (**simulated**, commit {data['commit'][:10]})"


def _table(names: Sequence[str], left: int, rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """A table whose first `left` columns are texts."""
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * left}{'---:|' * (len(names) - left)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _number(value: float) -> str:
    """Four significant digits without exponent."""
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.4g}"
    return f"{value:.6f}".rstrip("0") if "e" in text else text


def _times(value: float) -> str:
    """A slowdown: two digits behind the point, fewer for large ones."""
    return f"{value:.2f}" if value < 20 else f"{value:.1f}"


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:.3g} GB"


def text_lines(data: Json) -> Iterator[str]:
    """Every number of the text beside ours."""
    yield f"{_expect(data)}, closed form:"
    yield ""
    yield from _table(("section", "number", "paper", "ours", "difference", "agrees"), 2, _text_rows(data))


def _text_rows(data: Json) -> Iterator[list[str]]:
    for row in data["text"]:
        verdict = "yes" if row["holds"] else "**no**"
        kind = "input" if row["kind"] == "input" else verdict
        note = f" ({row['note']})" if row["note"] else ""
        yield [
            row["where"],
            row["what"] + note,
            _number(row["paper"]),
            _number(row["ours"]),
            f"{round(100 * row['difference'], 1) + 0.0:+.1f} %",
            kind,
        ]


def streaming_lines(data: Json) -> Iterator[str]:
    """Slowdowns by policy, and what planning recovers."""
    yield f"{_expect(data)}, `n16-boot` traces:"
    yield ""
    facts = {row["workload"]: row for row in data["sequences"]}
    for name, row in facts.items():
        yield (
            f"* {NAMES[name]}: {row['uses']} uses of {row['pieces']} halves of digits, "
            f"{_gigabytes(row['read_bytes'])} read of {_gigabytes(row['key_set_bytes'])} of keys; "
            f"{row['linear_maps']} linear maps."
        )
    yield ""
    names = (
        "accelerator",
        "program",
        "keys wait in",
        "closed form",
        *POLICIES[:2],
        "max(1, B/W)",
        *POLICIES[2:],
    )
    rows = (
        [
            *(NAMES[row[key]] for key in ("accelerator", "workload", "tier")),
            *(_times(row[key]) for key in ("closed_form", "none", "prefetch", "bound", "lru", "planned")),
            f"{100 * row['recovered']:.0f} %",
        ]
        for row in data["streaming"]
    )
    yield from _table((*names, "waiting recovered"), 3, rows)


def memory_lines(data: Json) -> Iterator[str]:
    """TensorFHE by key memory, and by users."""
    names = ("key memory", "prefetch", "lru", "planned")
    yield f"{_expect(data)}, slowdown of TensorFHE:"
    yield ""
    columns = ("program", "keys wait in", *names)
    rows = (
        [
            NAMES[row["workload"]],
            NAMES[row["tier"]],
            _gigabytes(row["key_memory_bytes"]),
            *(_times(row[key]) for key in names[1:]),
        ]
        for row in data["key_memory"]
    )
    yield from _table(columns, 2, rows)
    yield ""
    memory, workload = data["options"]["key_memory"], NAMES[data["users"][0]["workload"]]
    rounds = data["users"][0]["rounds"]
    yield f"Users in turn, {rounds} rounds of {workload}, in {memory} of key memory:"
    yield ""
    rows = (
        [
            NAMES[row["tier"]],
            str(row["users"]),
            *(_times(row[key]) for key in POLICIES),
            f"{100 * row['planned_bytes_share']:.1f} %",
        ]
        for row in data["users"]
    )
    yield from _table(("keys wait in", "users", *POLICIES, "bytes that `planned` loads"), 1, rows)


def chain_lines(data: Json) -> Iterator[str]:
    """Two links with host memory between them."""
    first, memory = data["chain"][0], data["options"]["key_memory"]
    host = _gigabytes(first["host_memory_bytes"])
    yield (
        f"{_expect(data)}, slowdown of TensorFHE, {first['rounds']} rounds of {NAMES[first['workload']]} "
        f"in {memory} of key memory and {host} of host memory:"
    )
    yield ""
    rows = (
        [
            NAMES.get(row["network"], row["network"]),
            str(row["users"]),
            *(_times(row[key]) for key in (*POLICIES, "bound")),
            *(_gigabytes(row[key]) for key in ("near_bytes", "far_bytes")),
        ]
        for row in data["chain"]
    )
    names = ("network", "users", *POLICIES, "its bound", "over PCIe", "over the network")
    yield from _table(names, 1, rows)


def cluster_lines(data: Json) -> Iterator[str]:
    """32 hosts that share limbs."""
    hosts = data["cluster"][0]["hosts"]
    yield f"{_expect(data)}, speedup of {hosts} hosts over one that waits for each key:"
    yield ""
    names = (
        "accelerator",
        "program",
        "network",
        "keys wait in",
        "no overlap",
        "keys loaded ahead",
        "of time",
    )
    rows = (
        [
            *(NAMES[row[key]] for key in ("accelerator", "workload", "network", "tier")),
            _times(row["speedup_none"]),
            _times(row["speedup_prefetch"]),
            f"{100 * (row['prefetch'] / row['none'] - 1):+.0f} %",
        ]
        for row in data["cluster"]
    )
    yield from _table(names, 4, rows)


def routing_lines(data: Json) -> Iterator[str]:
    """Requests of many users."""
    o = data["options"]
    yield (
        f"{_expect(data)}: {o['hosts']} hosts with keys of {o['slots']} users each, {o['users']} users,\n"
        f"Zipf's exponent {o['exponent']:g}, {o['requests']} requests, {o['outstanding']} a host under way, "
        f"seed {o['seed']}:"
    )
    yield ""
    names = ("accelerator", "route", "requests a second", "over the network, a request", "users' keys loaded")
    rows = (
        [
            NAMES[row["accelerator"]],
            f"`{row['route']}`",
            f"{row['requests_per_second']:.4g}",
            _gigabytes(row["network_bytes_per_request"]),
            str(row["key_loads"]),
            str(row["most_copies"]),
        ]
        for row in data["routing"]
    )
    yield from _table((*names, "most hosts for one user"), 2, rows)
    yield ""
    yield "`locality` against `round-robin`, by the number of requests under way for each host:"
    yield ""
    names = ("accelerator", "under way", "fewer key bytes", "requests a second, of `round-robin`")
    rows = (
        [
            NAMES[row["accelerator"]],
            str(row["outstanding"]),
            f"{row['fewer']:.1f} times",
            f"{row['rate']:.4f}",
        ]
        for row in data["routing_load"]
    )
    yield from _table(names, 1, rows)


def node_lines(data: Json) -> Iterator[str]:
    """Keys fetched against ciphertexts moved."""
    yield f"{_expect(data)}, in bytes of `n16-boot`, over a link of 12.5 GB/s with TensorFHE's time:"
    yield ""
    names = (
        "program",
        "key switches of a map",
        "maps",
        "keys",
        "ciphertexts",
        "fewer bytes",
        "fetched, s",
        "moved, s",
    )
    rows = (
        [
            NAMES[row["workload"]],
            row["maps"],
            str(row["count"]),
            _gigabytes(row["fetched_bytes"]),
            _gigabytes(row["moved_bytes"]),
            f"{row['fewer']:.1f} times",
            _number(row["fetched_seconds"]),
            _number(row["moved_seconds"]),
        ]
        for row in data["key_nodes"]
    )
    yield from _table(names, 2, rows)


def simgrid_lines(data: Json) -> Iterator[str]:
    """The same scenarios in SimGrid."""
    if not data["simgrid"]:
        yield "Not run with SimGrid."
        return
    worst = max(abs(row["difference"]) for row in data["simgrid"])
    yield f"{_expect(data)}, seconds; the largest difference is {worst:.1e}:"
    yield ""
    rows = (
        [
            row["scenario"],
            str(row["hosts"]),
            row["policy"],
            _number(row["ours_seconds"]),
            _number(row["simgrid_seconds"]),
        ]
        for row in data["simgrid"]
    )
    yield from _table(("scenario", "hosts", "policy", "ours", "SimGrid"), 1, rows)
