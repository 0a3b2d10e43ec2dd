# SPDX-License-Identifier: Apache-2.0
"""Table of docs/concepts/key_nodes.md from the JSON of `halocline bench key-nodes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SCHEMA = 1


def key_node_lines(data: dict[str, Any]) -> Iterator[str]:
    """One row for each operation. Raises KeyError for another schema."""
    if data["schema"] != SCHEMA:
        raise KeyError(f"schema {data['schema']}, expected {SCHEMA}")
    rate = data["bytes_per_second"] / 1e6
    yield (
        f"`halocline bench key-nodes` (**measured**, commit {data['commit'][:10]}), `{data['params']}`, both "
        f"links throttled to {rate:g} MB/s:"
    )
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
