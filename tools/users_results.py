# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/guides/many_users.md, of `tools/bench_users.py` and `tools/soak_key_store.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_MIB = 2.0**20


def users_lines(data: Json) -> Iterator[str]:
    """A row for each case; times are those of one request in the fastest round."""
    yield (
        f"{data['users']} users in turn, `{data['params']}`, {data['threads']} threads, commit "
        f"{data['commit'][:10]}. Keys of a user: {data['key_bytes'] / _MIB:.0f} MiB in the engine, "
        f"{data['stored_bytes'] / _MIB:.0f} MiB as stored (`{data['store']}:`)."
    )
    yield ""
    yield "| keys | ms a request | against one user | MiB a request from the store |"
    yield "|---|---:|---:|---:|"
    for row in data["rows"]:
        yield (
            f"| {row['case']} | {1e3 * row['seconds']:.1f} | {row['ratio']:.2f} "
            f"| {row['store_bytes'] / _MIB:.1f} |"
        )


def soak_lines(data: Json) -> Iterator[str]:
    """What a soak did, and that nothing was found."""
    counts, store = data["counts"], data["store"]
    found = f"**{len(data['findings'])} findings**" if data["findings"] else "no findings"
    yield (
        f"{data['requests']} requests of {data['users']} users, {100 * data['faults']:g} % of the answers "
        f"damaged, seed {data['seed']}, commit {data['commit'][:10]}, {data['seconds']:.0f} s: {found}."
    )
    yield ""
    yield "| what | count |"
    yield "|---|---:|"
    yield f"| results, every one equal to that of an engine of the user's own | {counts.get('right', 0)} |"
    yield f"| requests that ended with an error of the store | {counts.get('failed', 0)} |"
    yield f"| times that keys were put again | {counts.get('put again', 0)} |"
    yield f"| requests to the store, of them retries | {store['requests']}, {store['retries']} |"
    yield f"| keys found in the engine, loaded | {data['hits']}, {data['misses']} |"
    yield f"| users whose keys left the engine for others | {data['evictions']} |"
    yield (
        f"| resident size at the end, and its growth from the third to the last quarter of the run "
        f"| {data['rss_bytes'] / _MIB:.0f} MiB, {data['rss_growth_bytes'] / _MIB:+.1f} MiB |"
    )
    yield f"| open files at the end, and their growth | {data['open_files']}, {data['file_growth']:+d} |"
