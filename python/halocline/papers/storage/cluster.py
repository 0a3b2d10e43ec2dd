# SPDX-License-Identifier: Apache-2.0
"""Hosts that share the limbs of each polynomial: each loads its part of a key, computes, and exchanges limbs.

Hosts are alike, so each one takes the same share of every step; what they exchange follows the key bytes of
the step, since raising a digit makes as many limbs as the digit of a key has.
"""

from __future__ import annotations

import dataclasses

from ...base.errors import InvalidArgument
from .clock import Barrier, Clock, Event, Link, Memory, Process
from .inputs import NETWORKS, Case
from .loads import KeyLoad

LEAST_STEPS = 64
"""Uses are joined to at least so many steps; more where a quarter of the key memory holds less."""


@dataclasses.dataclass(frozen=True)
class Step:
    """What each host does between two exchanges."""

    bytes: float
    seconds: float
    exchanged: float
    """Bytes that it receives from the others."""


def cluster_steps(load: KeyLoad, case: Case, network: str, hosts: int, key_memory: float) -> list[Step]:
    """The steps of one host of several, by the constants of the closed form."""
    if hosts < 1 or network not in NETWORKS:
        raise InvalidArgument(
            f"paper storage: {hosts} hosts, network '{network}'; expected at least 1 host and one of: "
            f"{', '.join(NETWORKS)}"
        )
    scaling, total = case.scaling, load.total_bytes
    io, compute = scaling.gain(scaling.io, hosts), scaling.gain(scaling.compute, hosts)
    most = min(total / LEAST_STEPS, key_memory / 4 * io)
    exchanged = scaling.communication(network, hosts) * load.compute * NETWORKS[network] / total
    steps, count, seconds = [], 0.0, load.lead
    for size, time in zip(load.bytes, load.seconds, strict=True):
        if count and count + size > most:
            steps.append(Step(count / io, seconds / compute, count * exchanged))
            count, seconds = 0.0, 0.0
        count, seconds = count + size, seconds + time
    return [*steps, Step(count / io, seconds / compute, count * exchanged)]


def simulate_cluster(
    steps: list[Step], hosts: int, tier: float, network: float, *, ahead: bool, key_memory: float
) -> float:
    """Seconds until all hosts are done. tier, network: bytes per second of each host's links.

    ahead: keys are loaded as early as the key memory has room, while the host computes and exchanges.
    """
    clock = Clock()
    barrier = Barrier(hosts)

    def host() -> None:
        keys, others, room = Link(clock, tier), Link(clock, network), Memory(key_memory)
        arrived = [Event() for _ in steps]

        def load_ahead() -> Process:
            for event, step in zip(arrived, steps, strict=True):
                yield room.take(step.bytes)
                keys.transfer(step.bytes).when(event.happen)

        def run() -> Process:
            for event, step in zip(arrived, steps, strict=True):
                yield event if ahead else keys.transfer(step.bytes)
                yield step.seconds
                if ahead:
                    room.give(step.bytes)
                yield others.transfer(step.exchanged)
                yield barrier.arrive()

        if ahead:
            clock.start(load_ahead())
        clock.start(run())

    for _ in range(hosts):
        host()
    return clock.run()
