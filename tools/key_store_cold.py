# SPDX-License-Identifier: Apache-2.0
"""First results of engines whose keys come from a web server over a link of limited rate.

The bound is (bytes of the keys that the program needs) / (rate of the link) + (time of the first run of a new
engine that has the keys): what a run takes that does one after the other and loses nothing. Keys count
seeded, as they are stored, down to the level at which the program needs them. `first result` is the time from
the creation of the engine, or, with --ready, from the call of `run`, to the end of the run; a run that
overlaps loads with arithmetic is below the bound. In each round the engine, the connections and what they
keep are new.

The link is a relay of this process, which passes on what an nginx serves; its bytes are counted. Prints a row
for each program and policy, the best of all rounds, as other load of the machine only adds. Exits with 1
where a row exceeds --limit times its bound. Needs nginx; Linux.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import halocline as hc
import numpy as np
from halocline.bench.relay import Relay

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python/tests/support"))
import store_rig

BURST = 0.005
"""Seconds of the rate that may pass at once."""
Program = Callable[[hc.Engine, hc.Ciphertext], hc.Ciphertext]


@dataclasses.dataclass
class Row:
    """Of one program and policy; seconds are the best of all rounds."""

    program: str
    policy: str
    keys: int
    needed_bytes: int
    """Of keys, seeded, at the levels where they are needed."""
    moved_bytes: int
    """Over the link, HTTP included."""
    compute_seconds: float
    """Of a new engine that has the keys: its first run, weights encoded."""
    bound_seconds: float
    first_seconds: float

    @property
    def share(self) -> float:
        """Of the bound."""
        return self.first_seconds / self.bound_seconds


def programs(params: hc.Params, diagonals: int, seed: int) -> dict[str, Program]:
    """What is run."""
    rng = np.random.default_rng(seed)
    wide = hc.LinearTransform({d: rng.uniform(-1, 1, params.slots) for d in range(diagonals)})
    few = {k: 1 << k for k in range(8)}

    def layers(engine: hc.Engine, x: hc.Ciphertext) -> hc.Ciphertext:
        y = wide(x)
        return y * y + y.rotate(1)

    return {
        "rotation": lambda engine, x: x.rotate(1),
        f"map of {diagonals}": lambda engine, x: wide(x),
        "map, square, rotation": layers,
        "8 rotations in turn": lambda engine, x: sum((x.rotate(k) for k in few.values()), 0 * x),
    }


def needed(params: hc.Params, program: Program) -> hc.KeyPlan:
    """The keys of a program, at the levels where it needs them."""
    ghost = hc.Engine(params, device="ghost")
    program(ghost, ghost.ghost_input())
    return ghost.key_plan


class Rig:
    """A server, a link, a user."""

    def __init__(
        self, params: hc.Params, store: hc.KeyStore, link: Relay, options: argparse.Namespace
    ) -> None:
        self.params, self.link, self.options = params, link, options
        self.keys = store.get("alice")

    def computing(self, program: Program, x: hc.Ciphertext) -> float:
        """Seconds of the first run of a new engine that has the keys."""
        engine = hc.Engine(self.params, self.keys, threads=self.options.threads)
        begin = time.perf_counter()
        engine.run(lambda y: program(engine, y), x)
        return time.perf_counter() - begin

    def cold(self, program: Program, x: hc.Ciphertext, policy: str, memory: int | None) -> tuple[float, int]:
        """Seconds to the first result, and bytes over the link."""
        store = hc.KeyStore(f"http://127.0.0.1:{self.link.port}/keys", connections=self.options.connections)
        how: dict[str, Any] = {"policy": policy, "memory": memory, "threads": self.options.threads}
        begin, moved = time.perf_counter(), self.link.received
        engine = hc.Engine(self.params, store.user("alice"), **how)
        if self.options.ready:
            begin, moved = time.perf_counter(), self.link.received
        made = engine.run(lambda y: program(engine, y), x)
        seconds = time.perf_counter() - begin
        assert made.components == 2
        return seconds, self.link.received - moved

    def row(self, name: str, program: Program, x: hc.Ciphertext, policy: str) -> Row:
        """All rounds of one program."""
        plan = needed(self.params, program)
        memory = None if policy == "resident" else self.options.budget
        computing, runs = [], []
        for _ in range(self.options.rounds):  # in turn, so that other load of the machine meets both
            computing.append(self.computing(program, x))
            runs.append(self.cold(program, x, policy, memory))
        compute = min(computing)
        size = sum(self.params._request_bytes(g, level, True) for g, level in plan.requests())
        bound = size / self.options.rate + compute
        seconds, moved = (min(each) for each in zip(*runs, strict=True))
        return Row(name, policy, len(plan.requests()), size, int(moved), compute, bound, seconds)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Each program under each policy."""
    params = hc.Params.preset(options.params)
    chosen = programs(params, options.diagonals, options.seed)
    client = hc.Client(params, threads=options.threads)
    steps = {step for program in chosen.values() for step, _ in rotations_of(params, needed(params, program))}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name, store_rig.Nginx(Path(name)) as server:
        kept = hc.KeyStore(Path(name) / "www" / "keys")
        kept.put("alice", client.evaluation_keys(rotations=sorted(steps)))
        x = client.encrypt(np.random.default_rng(options.seed).uniform(-1, 1, params.slots))
        with Relay(server.port, options.rate, BURST) as link:
            rig = Rig(params, kept, link, options)
            for policy in options.policies.split(","):
                for title, program in chosen.items():
                    yield rig.row(title, program, x, policy)


def rotations_of(params: hc.Params, plan: hc.KeyPlan) -> list[tuple[int, int]]:
    """(step, level) of the rotations of a plan."""
    found = [(params._core.rotation_of(element), level) for element, level in plan.requests() if element != 1]
    return [(step, level) for step, level in found if step is not None]


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--params", default="n14-d7", help="a preset")
    parser.add_argument("--rate", type=float, default=125e6, help="bytes a second of the link")
    parser.add_argument("--diagonals", type=int, default=64, help="of the linear map")
    parser.add_argument("--policies", default="resident,lru", help="of the engine, separated by commas")
    parser.add_argument("--budget", default="2GiB", help="of the engine's memory, where buffers move")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.1, help="share of the bound that is allowed")
    parser.add_argument("--ready", action="store_true", help="count from the call of run")
    parser.add_argument("--json", type=Path, default=None, help="where to write the rows")
    options = parser.parse_args()
    found = []
    print(f"{'program':24} {'policy':9} keys  needed MB  moved MB   compute s  bound s  first s  share")
    for row in rows(options):
        found.append(row)
        print(
            f"{row.program:24} {row.policy:9} {row.keys:4d} {row.needed_bytes / 1e6:10.2f} "
            f"{row.moved_bytes / 1e6:9.2f} {row.compute_seconds:10.3f} {row.bound_seconds:8.3f} "
            f"{row.first_seconds:8.3f} {row.share:6.2f}",
            flush=True,
        )
    if options.json is not None:
        plain = {k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items()}
        about = {"schema": 1, "options": plain, "rows": [dataclasses.asdict(each) for each in found]}
        options.json.write_text(json.dumps(about, indent=2) + "\n")
    return 1 if any(each.share > options.limit for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
