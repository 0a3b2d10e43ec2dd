# SPDX-License-Identifier: Apache-2.0
"""Times many users in turn on one engine against one user whose keys are resident.

    tools/bench_users.py [--params n14-d7] [--users 32] [--rounds 3] [--threads N] [--store URL] [--json FILE]

Each user's request is the same small program: a square, a linear map of 64 diagonals, and eight rotations
that are summed. Cases: keys of all users in the engine; an eighth of them, and the others in host memory, as
they are stored, without and with a prefetch of the next user while the present one computes; the same with
host memory for a quarter, so that keys come from the store. Seconds are those of the fastest round.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
from users_results import users_lines

STEPS = [1, 2, 3, 4, 5, 6, 7, 8]
DIAGONALS = 64


def main(arguments: list[str] | None = None) -> int:
    """Runs all cases and prints the table."""
    options = parse(arguments)
    params = hc.Params.preset(options.params)
    bench = Bench(params, options)
    with tempfile.TemporaryDirectory() as folder:
        rows = bench.run(options.store or f"file:{folder}")
    report = {
        "suite": "users", "params": options.params, "users": options.users, "rounds": options.rounds,
        "threads": options.threads, "store": (options.store or "file:").partition(":")[0],
        "key_bytes": bench.key_bytes, "stored_bytes": bench.stored_bytes,
        "machine": platform.machine(), "commit": hc.__commit__, "version": hc.__version__, "rows": rows,
    }  # fmt: skip
    print("\n".join(users_lines(report)))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Options, checked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--params", default="n14-d7", help="name of a preset")
    parser.add_argument("--users", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3, help="each of which serves every user once")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the engine")
    parser.add_argument("--store", help="URL of an empty key store; a temporary folder unless given")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(arguments)
    for name, low in (("users", 8), ("rounds", 1), ("threads", 1)):
        if getattr(options, name) < low:
            parser.error(f"--{name} is {getattr(options, name)}, expected at least {low}")
    return options


class Bench:
    """Users, their keys and inputs, and the program."""

    def __init__(self, params: hc.Params, options: argparse.Namespace) -> None:
        self.params, self.options = params, options
        rng = np.random.default_rng(1)
        slots = params.slots
        self.map = hc.LinearTransform({k: rng.uniform(-1, 1, slots) / DIAGONALS for k in range(DIAGONALS)})
        self.plan = hc.key_plan(params, self.program)
        self.key_bytes = self.plan.nbytes()
        self.stored_bytes = 0
        self.names = [f"user{i}" for i in range(options.users)]
        self.inputs: dict[str, hc.Ciphertext] = {}
        self.expected: dict[str, bytes] = {}
        self.digests: dict[str, str] = {}

    def program(self, x: hc.Ciphertext) -> hc.Ciphertext:
        """What every user asks for."""
        y = self.map(x * x)
        for step in STEPS:
            y = y + x.rotate(step)
        return y

    def run(self, url: str) -> list[dict[str, Any]]:
        """A row for each case."""
        store = hc.KeyStore(url)
        for name in self.names:
            client = hc.Client(self.params)
            keys = client.evaluation_keys(plan=self.plan)
            self.digests[name] = store.put(name, keys)
            self.inputs[name] = client.encrypt(np.linspace(-1, 1, self.params.slots))
            engine = hc.Engine(self.params, keys, threads=self.options.threads)
            self.expected[name] = engine.run(self.program, self.inputs[name]).to_bytes()
        one_user = self.timed(lambda _: engine.run(self.program, self.inputs[self.names[-1]]))
        self.stored_bytes = store.nbytes(self.names[0])
        rows = [{"case": "one user, resident", "seconds": one_user, "ratio": 1.0, "store_bytes": 0}]
        for part, host, ahead in ((1, 1, False), (8, 1, False), (8, 1, True), (8, 4, False), (8, 4, True)):
            rows.append(self.case(store, part, host, ahead, one_user))
        return rows

    def case(self, store: hc.KeyStore, part: int, host: int, ahead: bool, one_user: float) -> dict[str, Any]:
        """All users in turn, with room for 1 / part of their keys in the engine, 1 / host in host memory."""
        count = self.options.users
        where = (
            f"{count // part} in the engine, {count // host} in host memory"
            if part > 1
            else "all in the engine"
        )
        with hc.UserEngine(
            self.params, store, key_memory=count // part * self.key_bytes,
            key_host_memory=count // host * (self.stored_bytes + (1 << 20)), threads=self.options.threads,
        ) as users:  # fmt: skip

            def serve(number: int) -> hc.Ciphertext:
                name, then = self.names[number], self.names[(number + 1) % count]
                with users.user(name, digest=self.digests[name]) as engine:
                    if ahead:
                        users.prefetch(then, self.program, digest=self.digests[then])
                    return engine.run(self.program, self.inputs[name])

            for number in range(count):
                if serve(number).to_bytes() != self.expected[self.names[number]]:
                    raise SystemExit(f"bench users: a wrong result for {self.names[number]}, {where}")
            before = store.counts()["read_bytes"]
            seconds = self.timed(serve)
            read = (store.counts()["read_bytes"] - before) / (count * self.options.rounds)
        return {
            "case": where + (", prefetch" if ahead else ""),
            "seconds": seconds,
            "ratio": seconds / one_user,
            "store_bytes": int(read),
        }

    def timed(self, serve: Callable[[int], Any]) -> float:
        """Seconds of a request, in the fastest round."""
        best = float("inf")
        for _ in range(self.options.rounds):
            begin = time.perf_counter()
            for number in range(self.options.users):
                serve(number)
            best = min(best, (time.perf_counter() - begin) / self.options.users)
        return best


if __name__ == "__main__":
    sys.exit(main())
