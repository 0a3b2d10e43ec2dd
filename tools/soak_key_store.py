# SPDX-License-Identifier: Apache-2.0
"""Serves many users from a key store over HTTP with injected faults, and checks every result.

    tools/soak_key_store.py [--requests 10000] [--users 50] [--faults 0.03] [--seed N] [--json FILE]

Users are drawn by a Zipf law. Their keys lie behind a real nginx and a proxy, in processes of their own,
that cuts, corrupts, shortens, delays or refuses a part of the answers. The caches hold a part of the users,
so keys come and go all the time; sometimes a user puts keys again, or is prefetched or dropped. A request
may end with IoError or CorruptData, when several faults meet; any other error, a result that differs in one
bit from that of an engine of the user's own, memory or open files that grow are findings: the exit status
is 1 then. Needs nginx.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import platform
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python" / "tests" / "support"))

import halocline as hc
import numpy as np
import store_rig as rig

PARAMS = hc.Params.preset("test-n10-d3", allow_insecure=True)
STEPS = [1, 2, 4, 8]
SAMPLES = 40
MOST_GROWTH = 6 << 20
"""Bytes that the median of the resident size may grow from the third to the last quarter of a run."""
MOST_FILES = 8
"""The same for open files: connections come and go."""
EPOCHS = 2
"""Different keys of a user, which are put one after the other."""


def sums(x: hc.Ciphertext) -> hc.Ciphertext:
    """Uses all keys."""
    y = x * x
    for step in STEPS:
        y = y + y.rotate(step)
    return y


def turned(x: hc.Ciphertext) -> hc.Ciphertext:
    """Uses one key."""
    return (x * 0.5).rotate(2)


def cubed(x: hc.Ciphertext) -> hc.Ciphertext:
    """Uses the relinearization key, and another one at a low level."""
    return (x * x * x).rotate(1)


PROGRAMS = [sums, turned, cubed]


def main(arguments: list[str] | None = None) -> int:
    """Runs the soak; 1 when something was found."""
    options = parse(arguments)
    if options.proxy:
        return serve_faults(options.proxy, options.faults, options.seed)
    if rig.NGINX is None:
        print("soak: nginx is not installed (tools/bootstrap.sh test)", file=sys.stderr)
        return 2
    print(f"soak: seed {options.seed}, {options.requests} requests of {options.users} users", flush=True)
    with tempfile.TemporaryDirectory() as folder, rig.nginx(Path(folder)) as upstream:
        command = [sys.executable, __file__, "--proxy", upstream, "--seed", str(options.seed)]
        proxy = subprocess.Popen(
            [*command, "--faults", str(options.faults)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert proxy.stdout is not None
            soak = Soak(options, upstream, proxy.stdout.readline().strip())
            report = soak.run()
        finally:
            proxy.kill()
            proxy.wait()
    print(text_of(report), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if report["findings"] else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Options, checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--faults", type=float, default=0.03, help="part of the answers that are damaged")
    parser.add_argument("--threads", type=int, default=3, help="that send requests")
    parser.add_argument("--seed", type=int, help="of all random choices; drawn anew unless given")
    parser.add_argument("--json", type=Path, help="file for the report")
    parser.add_argument("--proxy", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for name, low in (("requests", 1), ("users", 2), ("threads", 1)):
        if getattr(options, name) < low:
            parser.error(f"--{name} is {getattr(options, name)}, expected at least {low}")
    if not 0 <= options.faults < 1:
        parser.error(f"--faults is {options.faults}, expected at least 0 and below 1")
    options.seed = secrets.randbits(32) if options.seed is None else options.seed
    return options


def serve_faults(upstream: str, rate: float, seed: int) -> int:
    """The proxy: prints its address and serves until it is killed."""
    rng, lock = random.Random(seed), threading.Lock()
    kinds = [rig.cut, rig.error_500, rig.corrupt, rig.truncated, rig.wrong_length, slow]

    def maybe(head: bytes, body: bytes) -> tuple[bytes, bool]:
        with lock:
            kind = rng.choice(kinds) if rng.random() < rate else None
        return (head + body, False) if kind is None else kind(head, body)

    with rig.faulty(upstream) as proxy:
        proxy.every = maybe
        print(proxy.url, flush=True)
        threading.Event().wait()
    return 0


def slow(head: bytes, body: bytes) -> tuple[bytes, bool]:
    """Silent for longer than the store waits."""
    time.sleep(0.6)
    return head + body, False


class Soak:
    """One run."""

    def __init__(self, options: argparse.Namespace, upstream: str, url: str) -> None:
        self.options = options
        self.names = [f"user{i}" for i in range(options.users)]
        self.writer = hc.KeyStore(upstream)
        self.keys: dict[tuple[str, int], hc.EvaluationKeys] = {}
        self.inputs: dict[tuple[str, int], hc.Ciphertext] = {}
        self.expected: dict[tuple[str, int, str], bytes] = {}
        self.epoch = dict.fromkeys(self.names, 0)
        self.digests: dict[tuple[str, int], str] = {}
        for name in self.names:
            self.prepare(name)
        one = hc.key_plan(PARAMS, sums).nbytes()
        store = hc.KeyStore(url, connections=3, deadline=20, stall_timeout=0.5, connect_timeout=5, attempts=4)
        host = max(3, options.users // 3) * self.writer.nbytes(self.names[0])
        self.users = hc.UserEngine(
            PARAMS, store, key_memory=max(2, options.users // 6) * one, key_host_memory=host, threads=1
        )
        weights = 1.0 / np.arange(1, options.users + 1)
        self.popularity = weights / weights.sum()
        self.lock = threading.Lock()
        self.next = 0
        self.counts: collections.Counter[str] = collections.Counter()
        self.findings: list[str] = []
        self.samples: list[tuple[int, int, int]] = []
        self.swaps = {name: threading.Lock() for name in self.names}

    def prepare(self, name: str) -> None:
        """Keys, inputs and right results of a user; puts the first keys."""
        values = np.linspace(-1, 1, PARAMS.slots)
        for epoch in range(EPOCHS):
            client = hc.Client(PARAMS, threads=1)
            keys = client.evaluation_keys(rotations=STEPS)
            x = client.encrypt(values)
            engine = hc.Engine(PARAMS, keys, threads=1)
            for program in PROGRAMS:
                self.expected[name, epoch, program.__name__] = engine.run(program, x).to_bytes()
            self.keys[name, epoch], self.inputs[name, epoch] = keys, x
        self.digests[name, 0] = self.writer.put(name, self.keys[name, 0])

    def run(self) -> dict[str, Any]:
        """All requests; the report."""
        begin = time.monotonic()
        threads = [threading.Thread(target=self.work, args=(i,)) for i in range(self.options.threads)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        seconds = time.monotonic() - begin
        growth, files = self.grown()
        if growth > MOST_GROWTH:
            self.findings.append(f"the resident size grew by {growth} bytes")
        if files > MOST_FILES:
            self.findings.append(f"open files grew by {files}")
        stats = self.users.stats()
        if stats["waiting"] or any(each["pinned"] for each in stats["users"].values()):
            self.findings.append(f"pins or waits are left: {stats}")
        store = self.users.cache.store.counts()
        return {
            "requests": self.options.requests, "users": self.options.users, "faults": self.options.faults,
            "threads": self.options.threads, "seed": self.options.seed, "seconds": seconds,
            "machine": platform.machine(), "commit": hc.__commit__, "counts": dict(self.counts),
            "findings": self.findings, "rss_growth_bytes": growth, "file_growth": files,
            "rss_bytes": self.samples[-1][1], "open_files": self.samples[-1][2],
            "store": store, "hits": stats["hits"], "misses": stats["misses"],
            "evictions": stats["evictions"], "host_evicted_bytes": stats["host"]["evicted_bytes"],
            "samples": self.samples,
        }  # fmt: skip

    def work(self, number: int) -> None:
        """Sends requests until all are done."""
        rng = np.random.default_rng([self.options.seed, number])
        every = max(1, self.options.requests // SAMPLES)
        while True:
            with self.lock:
                index = self.next
                if index >= self.options.requests:
                    return
                self.next += 1
                if index % every == 0 or index == self.options.requests - 1:
                    self.samples.append((index, *usage()))
            try:
                self.request(rng)
            except (hc.IoError, hc.CorruptData):
                self.count("failed")
            except BaseException as error:
                self.findings.append(f"request {index}: {type(error).__name__}: {error}")

    def request(self, rng: np.random.Generator) -> None:
        """One request, and what else happens at times."""
        name = self.names[int(rng.choice(len(self.names), p=self.popularity))]
        chance = rng.random()
        if chance < 0.01:
            self.put_again(name)
        elif chance < 0.02:
            self.users.drop(name)
        elif chance < 0.1:
            self.users.prefetch(self.names[int(rng.integers(len(self.names)))], sums)
        program = PROGRAMS[int(rng.integers(len(PROGRAMS)))]
        with self.swaps[name]:  # its keys are not put again meanwhile
            epoch = self.epoch[name]
            digest = self.digests[name, epoch] if rng.random() < 0.5 else None
            result = self.users.run(name, program, self.inputs[name, epoch], digest=digest)
            if result.to_bytes() != self.expected[name, epoch, program.__name__]:
                self.findings.append(f"a wrong result of {program.__name__} for {name}, keys {epoch}")
        self.count("right")

    def put_again(self, name: str) -> None:
        """The user has other keys from now on."""
        with self.swaps[name]:
            epoch = (self.epoch[name] + 1) % EPOCHS
            self.digests[name, epoch] = self.writer.put(name, self.keys[name, epoch])
            self.epoch[name] = epoch
        self.count("put again")

    def count(self, what: str) -> None:
        """Counts an event."""
        with self.lock:
            self.counts[what] += 1

    def grown(self) -> tuple[int, int]:
        """What resident size and open files grew by, from the third quarter of the run to the last one.

        The caches, and what the allocator keeps, fill before.
        """
        quarter = len(self.samples) // 4
        if quarter == 0:
            return 0, 0
        early, late = self.samples[2 * quarter : 3 * quarter], self.samples[-quarter:]
        rss = statistics.median(each[1] for each in late) - statistics.median(each[1] for each in early)
        files = statistics.median(each[2] for each in late) - statistics.median(each[2] for each in early)
        return int(rss), int(files)


def usage() -> tuple[int, int]:
    """Resident bytes and open files of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))


def text_of(report: dict[str, Any]) -> str:
    """The report in a few lines."""
    store, counts = report["store"], report["counts"]
    lines = [
        f"soak: {counts.get('right', 0)} right results, {counts.get('failed', 0)} requests failed with an "
        f"error of the store, {counts.get('put again', 0)} times keys put again, {report['seconds']:.0f} s",
        f"  store: {store['requests']} requests, {store['retries']} retries, {store['resumed']} resumed, "
        f"{store['read_bytes'] / 1e9:.2f} GB; keys found {report['hits']}, loaded {report['misses']}; "
        f"users evicted {report['evictions']}",
        f"  resident size {report['rss_bytes'] / 2**20:.0f} MiB, grew by "
        f"{report['rss_growth_bytes'] / 2**20:.2f} MiB; open files {report['open_files']}, grew by "
        f"{report['file_growth']}",
        *(f"FOUND {each}" for each in report["findings"][:20]),
        f"soak: {len(report['findings'])} findings" if report["findings"] else "soak: nothing found",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
