# SPDX-License-Identifier: Apache-2.0
"""Rates of key stores over HTTP on loopback beside those of `curl`, with the same number of connections.

Starts an nginx, puts keys of several rotations, and then in turn, so that other load of the machine meets all
alike:

* curl, discarded: ranges to /dev/null; nothing is kept, and no byte is looked at
* curl, in memory: the same ranges to files in /dev/shm, one page of memory for each page received
* check: `KeyStore.check`, every block compared with its digest, one buffer used again and again
* get: `KeyStore.get`, all keys in memory, verified, with residues checked, ready for an engine
* folder: `KeyStore.check` of the same keys in a folder: digests without a network

Prints the best of all rounds in GB/s (10^9 bytes a second of the container), and the processor time of the
client and of nginx in seconds per GB: on a busy machine the second says more. Needs nginx and curl; Linux.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import halocline as hc

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python/tests/support"))
import store_rig

PRESET = "n15-d14"
KEY_MEGABYTES = 15


@dataclasses.dataclass
class Taken:
    """What one transfer took: seconds of the clock, of the client's processors and of nginx's."""

    wall: float
    client: float
    server: float


def processor_seconds() -> float:
    """Of this process and of the children that have ended."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in parts)


def seconds_of(process: int) -> float:
    """Processor time of another process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def curl(url: str, size: int, connections: int, outputs: Callable[[int], str], folder: Path) -> None:
    """Fetches an object in as many ranges as connections."""
    step = -(-size // connections)
    entries = [
        f'url = "{url}"\nrange = "{at}-{min(at + step, size) - 1}"\noutput = "{outputs(at)}"\n'
        for at in range(0, size, step)
    ]
    config = folder / "curl.conf"
    config.write_text("next\n".join(entries))
    command = ["curl", "-sS", "--no-progress-meter", "--parallel", "--parallel-immediate"]
    subprocess.run([*command, "--parallel-max", str(connections), "-K", str(config)], check=True)


def measure(work: Callable[[], object], server: int) -> Taken:
    """Runs once; what it returns is freed after the clock is read."""
    begin = (time.perf_counter(), processor_seconds(), seconds_of(server))
    result = work()
    end = (time.perf_counter(), processor_seconds(), seconds_of(server))
    del result
    return Taken(*(b - a for a, b in zip(begin, end, strict=True)))


def make_keys(path: Path, megabytes: int) -> None:
    """A file of keys of about that size."""
    params = hc.Params.preset(PRESET)
    count = max(1, megabytes // KEY_MEGABYTES)
    hc.Client(params).evaluation_keys(rotations=list(range(1, count + 1))).save(path)


def report(found: dict[str, list[Taken]], size: int) -> None:
    """A line for each way, and the two ratios."""
    rate = {name: size / min(each.wall for each in times) / 1e9 for name, times in found.items()}
    print(f"{'':18} {'GB/s':>6} {'client s/GB':>12} {'nginx s/GB':>11}")
    for name, times in found.items():
        client = min(each.client for each in times) / size * 1e9
        server = min(each.server for each in times) / size * 1e9
        print(f"{name:18} {rate[name]:6.2f} {client:12.2f} {server:11.2f}")
    print(f"check / curl, discarded: {rate['check'] / rate['curl, discarded']:.0%}")
    print(f"get / curl, in memory:   {rate['get'] / rate['curl, in memory']:.0%}")
    print(f"get / curl, discarded:   {rate['get'] / rate['curl, discarded']:.0%}")


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=500, help="of keys")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        root = Path(name)
        make_keys(root / "keys.hlc", options.megabytes)
        with store_rig.Nginx(root) as server:
            assert server.process is not None
            store = hc.KeyStore(server.url, connections=options.connections)
            store.put("alice", root / "keys.hlc")
            folder = hc.KeyStore(root / "www" / "keys")
            container = next((root / "www/keys/alice").glob("*.hlc"))
            size, url = container.stat().st_size, f"{server.url}/alice/{container.name}"
            ways: dict[str, Callable[[], object]] = {
                "curl, discarded": lambda: curl(url, size, options.connections, lambda _: "/dev/null", root),
                "curl, in memory": lambda: curl(
                    url, size, options.connections, lambda at: f"{root}/{at}", root
                ),
                "check": lambda: store.check("alice"),
                "get": lambda: store.get("alice"),
                "folder": lambda: folder.check("alice"),
            }
            found: dict[str, list[Taken]] = {way: [] for way in ways}
            for _ in range(options.rounds):
                for way, work in ways.items():
                    for each in root.glob("[0-9]*"):
                        each.unlink()  # curl takes new pages, as keys do
                    found[way].append(measure(work, server.process.pid))
    print(
        f"{size / 1e6:.0f} MB of keys ({PRESET}), {options.connections} connections, best of {options.rounds}"
    )
    report(found, size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
