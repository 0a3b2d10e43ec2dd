# SPDX-License-Identifier: Apache-2.0
"""Scenarios in SimGrid: reads JSON from standard input, writes seconds to standard output.

A program of its own, which needs SimGrid 3.32 (4.x names functions otherwise) and nothing of Halocline:
SimGrid has one engine in a process. Each host has a disk, which is its tier of keys, and a link to
the switch of a star; it passes what it exchanges to the next host, so that each link carries it once in each
direction.
"""

from __future__ import annotations

import json
import sys
from typing import Any

UNIT = 1e9
"""Flop/s of a host: work is in seconds times this."""


def _platform(simgrid: Any, scenario: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Hosts with their disks, linked to one switch."""
    zone = simgrid.NetZone.create_star_zone("cluster")
    hosts = []
    for number in range(scenario["hosts"]):
        host = zone.create_host(f"host{number}", UNIT)
        disk = host.create_disk(f"keys{number}", scenario["tier"], scenario["tier"])
        disk.seal()
        link = zone.create_split_duplex_link(f"link{number}", scenario["network"])
        link.set_latency(0).seal()
        up = simgrid.LinkInRoute(link, simgrid.LinkInRoute.Direction.UP)
        zone.add_route(host.netpoint, None, None, None, [up], True)
        host.seal()
        hosts.append((host, disk))
    zone.seal()
    return hosts


def run(scenario: dict[str, Any]) -> float:
    """Seconds of one scenario."""
    import simgrid

    options = ["TCP-gamma:0", "bandwidth-factor:1", "latency-factor:1", "weight-S:0", "crosstraffic:0"]
    flags = [f"--cfg=network/{each}" for each in options]
    engine = simgrid.Engine(["scenario", *flags, "--log=root.thres:error"])
    hosts = _platform(simgrid, scenario)
    steps, ahead = scenario["steps"], scenario["ahead"]
    barrier = simgrid.Barrier(len(hosts))
    mailboxes = [simgrid.Mailbox.by_name(f"to{number}") for number in range(len(hosts))]

    def computing(number: int, disk: Any, arrived: Any, room: Any) -> None:
        for count, seconds, exchanged in steps:
            if ahead:
                arrived.acquire()
            else:
                disk.read(round(count))
            simgrid.this_actor.execute(seconds * UNIT)
            if ahead:
                room.release()
            if exchanged:
                sent = mailboxes[(number + 1) % len(hosts)].put_async("limbs", round(exchanged))
                mailboxes[number].get()
                sent.wait()
            barrier.wait()

    def loading(disk: Any, arrived: Any, room: Any) -> None:
        for count, _, _ in steps:
            room.acquire()
            disk.read(round(count))
            arrived.release()

    for number, (host, disk) in enumerate(hosts):
        arrived, room = simgrid.Semaphore(0), simgrid.Semaphore(scenario["room"])
        simgrid.Actor.create(f"compute{number}", host, computing, number, disk, arrived, room)
        if ahead:
            simgrid.Actor.create(f"load{number}", host, loading, disk, arrived, room)
    engine.run()
    return float(engine.clock)


def main() -> None:
    """The program."""
    scenario = json.load(sys.stdin)
    seconds = run(scenario)
    sys.stdout.write(json.dumps({"seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()
