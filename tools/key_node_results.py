# SPDX-License-Identifier: Apache-2.0
"""Table of docs/concepts/key_nodes.md from the JSON of `halocline bench key-nodes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_results import device_text

SCHEMA = 1


def key_node_lines(data: dict[str, Any]) -> Iterator[str]:
    """One row for each operation. Raises KeyError for another schema, ValueError where no key was fetched."""
    if data["schema"] != SCHEMA:
        raise KeyError(f"schema {data['schema']}, expected {SCHEMA}")
    unfetched = [row["operation"] for row in data["rows"] if row["fetched_bytes"] <= 0]
    if unfetched:
        raise ValueError(f"no bytes of keys were counted for {', '.join(unfetched)}")
    rate = data["bytes_per_second"] / 1e6
    command, where = _place(data)
    yield (f"`{command}` (**measured**, {where}), `{data['params']}`, both links throttled to {rate:g} MB/s:")
    yield ""
    yield (
        "| operation | keys | fetched | node, first | node | fewer bytes, first | fewer bytes | fetched, s "
        "| node, first, s | node, s |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in data["rows"]:
        moved = (f"{row[name] / 1e6:.2f} MB" for name in ("fetched_bytes", "first_bytes", "moved_bytes"))
        fewer = (f"{row[name]:.1f} times" for name in ("fewer_first", "fewer"))
        seconds = (f"{row[name]:.3f}" for name in ("fetched_seconds", "first_seconds", "moved_seconds"))
        yield f"| {row['operation']} | {row['keys']} | {' | '.join([*moved, *fewer, *seconds])} |"


def _place(data: dict[str, Any]) -> tuple[str, str]:
    """The command with its devices, and what it ran on. Files of CPUs may have no `node_device`."""
    command = "halocline bench key-nodes"
    for option, name in (("--device", "device"), ("--node-device", "node_device")):
        if data.get(name, "cpu") != "cpu":
            command += f" {option} {data[name]}"
    return command, device_text(data) if "report" in data else f"commit {data['commit'][:10]}"
