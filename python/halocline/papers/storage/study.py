# SPDX-License-Identifier: Apache-2.0
"""The whole study: `halocline paper storage`. Results are plain dictionaries, ready for JSON and CSV."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ... import _core
from ...bench.keeping import SILENT, Watcher
from .chain import Chain, simulate_chain
from .closed_form import needed_hit_ratio, on_hosts, overlapped, slowdown
from .cluster import cluster_steps, simulate_cluster
from .inputs import (
    ACCELERATORS,
    CASES,
    GIGA,
    HOSTS,
    KEY_SET_BYTES,
    NETWORKS,
    SHARP_KEY_MEMORY,
    TIERS,
    Case,
    case,
)
from .key_nodes import map_rows
from .loads import KeyLoad, scaled
from .options import StorageOptions
from .routing import ROUTES, Traffic, simulate_routing
from .sequence import ITERATIONS, KeySequence, recorded
from .simgrid_check import compare, expect_simgrid
from .streaming import POLICIES, simulate
from .text import figure_4, quoted

SCHEMA = 1
SUITE = "storage-paper"
HIT_RATIOS = (0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
USERS = (1, 2, 4)
ROUNDS = 2
KEY_MEMORIES = (5, 10, 20, 30, 40)
"""Gigabytes."""
LOADS = (2, 4, 8, 16)
"""Requests under way for each host, besides what the options say."""
CHAIN_NETWORKS = {"rdma": TIERS["rdma"], "10 Gbit/s": 1.25 * GIGA}
"""Networks behind host memory."""
REQUEST_TIER = "ddr"
"""Where the hosts that serve many users hold their keys."""
PIECES = 8
"""Pieces of keys that a key memory holds at least."""

Row = dict[str, Any]


def run(options: StorageOptions | None = None, watcher: Watcher = SILENT) -> Row:
    """The study with its options, as `--json` writes it.

    Raises MissingExtra where SimGrid is asked for and not installed.
    """
    o = options or StorageOptions()
    if o.simgrid:
        expect_simgrid()
    study = _Study(o)
    parts: list[tuple[str, Callable[[], list[Row]]]] = [
        ("text", lambda: [each.to_dict() for each in quoted()]),
        ("figure_4", figure_4),
        ("figure_5", lambda: list(_figure_5())),
        ("figure_6", lambda: list(_figure_6())),
        ("sequences", lambda: [_facts(study.sequence(each)) for each in o.workloads]),
        ("streaming", lambda: list(study.streaming())),
        ("key_memory", lambda: list(study.key_memory())),
        ("users", lambda: list(study.users())),
        ("chain", lambda: list(study.chain())),
        ("cluster", lambda: list(study.cluster())),
        ("routing", lambda: list(study.routing())),
        ("routing_load", lambda: list(study.routing_load())),
        ("key_nodes", lambda: list(study.key_nodes())),
        ("simgrid", lambda: list(study.simgrid()) if o.simgrid else []),
    ]
    found: Row = {"schema": SCHEMA, "suite": SUITE, "simulated": True, "options": _plain(o)}
    watcher.progress("simulating", 0, len(parts))
    for done, (name, part) in enumerate(parts, start=1):
        found[name] = part()
        watcher.row("simulating", found, done, len(parts))
    return found


def _plain(options: StorageOptions) -> Row:
    """Options without what depends on the machine."""
    return {k: v for k, v in dataclasses.asdict(options).items() if k != "sequences"} | {
        "workloads": list(options.workloads)
    }


def _figure_5() -> Iterator[Row]:
    """Performance by hit ratio, and the hit ratio for 80 % of it."""
    for (accelerator, application), each in CASES.items():
        for tier, bandwidth in TIERS.items():
            yield {
                "accelerator": accelerator,
                "application": application,
                "tier": tier,
                "needed_for_80": needed_hit_ratio(each.rate, bandwidth),
                "hit_ratios": list(HIT_RATIOS),
                "performance": [1 / slowdown(each.rate, bandwidth, ratio) for ratio in HIT_RATIOS],
            }


def _figure_6() -> Iterator[Row]:
    """Time and its parts by hosts, in runs of the accelerator alone (figures 6 and 7)."""
    for (accelerator, application), each in CASES.items():
        for network in NETWORKS:
            for tier in TIERS:
                for hosts in HOSTS:
                    parts = on_hosts(each, tier, network, hosts)
                    about = {"accelerator": accelerator, "application": application}
                    yield about | {
                        "network": network,
                        "tier": tier,
                        "hosts": hosts,
                        **dataclasses.asdict(parts),
                        "time": parts.total,
                    }


def _facts(sequence: KeySequence) -> Row:
    return {
        "workload": sequence.name,
        "uses": len(sequence),
        "pieces": int(sequence.piece.max()) + 1,
        "read_bytes": sequence.read_bytes,
        "key_set_bytes": sequence.key_set_bytes,
        "linear_maps": len(sequence.maps),
    }


class _Study:
    """The simulations of a set of options."""

    def __init__(self, options: StorageOptions) -> None:
        self._options = options
        folder = options.sequences
        self._folder = None if folder is None else Path(folder)
        self._memory = {"sharp": SHARP_KEY_MEMORY, "tensorfhe": float(_core.parse_bytes(options.key_memory))}

    def sequence(self, workload: str) -> KeySequence:
        """The recorded one."""
        return recorded(workload, self._folder)

    def case(self, accelerator: str, workload: str) -> Case:
        """Inputs of the paper; for bootstrapping those of ResNet-20, scaled by our traces of both."""
        if workload != "bootstrap":
            return case(accelerator, workload)
        whole, ours, other = (
            case(accelerator, "resnet20"),
            self.sequence("bootstrap"),
            self.sequence("resnet20"),
        )
        seconds = whole.seconds * ours.total_work / other.total_work
        rate = whole.key_bytes * ours.read_bytes / other.read_bytes / seconds
        source = "ResNet-20's, by the share of a bootstrap in work and key bytes (ours)"
        return dataclasses.replace(whole, application=workload, seconds=seconds, rate=rate, source=source)

    def load(self, accelerator: str, workload: str) -> KeyLoad:
        """The sequence with the accelerator's time and bytes."""
        found, times = self.case(accelerator, workload), ITERATIONS[workload]
        return scaled(self.sequence(workload), found.seconds * times, found.key_bytes * times)

    def streaming(self) -> Iterator[Row]:
        """One accelerator and link, by policy."""
        for accelerator in ACCELERATORS:
            memory = self._memory[accelerator]
            for workload in self._options.workloads:
                load = self.load(accelerator, workload).split(memory / PIECES)
                rate = self.case(accelerator, workload).rate
                for tier, bandwidth in TIERS.items():
                    about = {"accelerator": accelerator, "workload": workload, "tier": tier}
                    yield about | _by_policy(load, rate, bandwidth, memory)

    def key_memory(self) -> Iterator[Row]:
        """TensorFHE by the memory that it has for keys."""
        for workload in self._options.workloads:
            load = self.load("tensorfhe", workload)
            rate = self.case("tensorfhe", workload).rate
            for gigabytes in KEY_MEMORIES:
                for tier in ("ddr", "pcie"):
                    memory = gigabytes * GIGA
                    about = {"workload": workload, "tier": tier, "key_memory_bytes": int(memory)}
                    yield about | _by_policy(load.split(memory / PIECES), rate, TIERS[tier], memory)

    def users(self) -> Iterator[Row]:
        """Users in turn on TensorFHE with keys behind slow links."""
        workload, memory = self._options.workloads[0], self._memory["tensorfhe"]
        rate = self.case("tensorfhe", workload).rate
        for count in USERS:
            load = self.load("tensorfhe", workload).users(count, ROUNDS).split(memory / PIECES)
            for tier in ("pcie", "rdma"):
                about = {"workload": workload, "tier": tier, "users": count, "rounds": ROUNDS}
                yield about | _by_policy(load, rate, TIERS[tier], memory)

    def chain(self) -> Iterator[Row]:
        """Users in turn on TensorFHE, their keys over a network into host memory and over PCIe from there."""
        workload, memory = self._options.workloads[0], self._memory["tensorfhe"]
        host = float(_core.parse_bytes(self._options.host_memory))
        for count in USERS:
            load = self.load("tensorfhe", workload).users(count, ROUNDS).split(memory / PIECES)
            for network, rate in CHAIN_NETWORKS.items():
                chain = Chain(TIERS["pcie"], rate, memory, host)
                runs = {policy: simulate_chain(load, chain, policy) for policy in POLICIES}
                about = {"workload": workload, "network": network, "users": count, "rounds": ROUNDS}
                yield about | {
                    "host_memory_bytes": int(host),
                    **{policy: each.slowdown for policy, each in runs.items()},
                    "bound": runs["planned"].bound(chain),
                    "near_bytes": runs["planned"].near_bytes,
                    "far_bytes": runs["planned"].far_bytes,
                    "lru_far_bytes": runs["lru"].far_bytes,
                }

    def cluster(self) -> Iterator[Row]:
        """32 hosts that share limbs, with and without loading ahead."""
        hosts = HOSTS[-1]
        for accelerator in ACCELERATORS:
            for workload in self._options.workloads:
                for network in NETWORKS:
                    for tier in TIERS:
                        yield self._cluster_row(accelerator, workload, network, tier, hosts)

    def _cluster_row(self, accelerator: str, workload: str, network: str, tier: str, hosts: int) -> Row:
        found, memory = self.case(accelerator, workload), self._memory[accelerator]
        load = self.load(accelerator, workload).split(memory / PIECES)
        steps = cluster_steps(load, found, network, hosts, memory)
        times = {
            name: simulate_cluster(
                steps, hosts, TIERS[tier], NETWORKS[network], ahead=ahead, key_memory=memory
            )
            / load.compute
            for name, ahead in (("none", False), ("prefetch", True))
        }
        parts, one = on_hosts(found, tier, network, hosts), on_hosts(found, tier, network, 1).total
        about = {"accelerator": accelerator, "workload": workload, "network": network, "tier": tier}
        speedups = {f"speedup_{name}": one / time for name, time in times.items()}
        return about | {"hosts": hosts, "closed_form": parts.total, **times, **speedups}

    def routing(self) -> Iterator[Row]:
        """Requests of many users on several hosts."""
        for accelerator in ACCELERATORS:
            yield from self._routes(accelerator)

    def _traffic(self, accelerator: str) -> Traffic:
        """What users ask of hosts with this accelerator over Ethernet."""
        o, workload, memory = self._options, self._options.workloads[0], self._memory[accelerator]
        load = self.load(accelerator, workload).split(memory / PIECES)
        planned = simulate(load, TIERS[REQUEST_TIER], "planned", memory)
        sequence, link = self.sequence(workload), NETWORKS["ethernet"]
        moved = int(sequence.maps[:, 2].sum()) * load.total_bytes / sequence.read_bytes
        return Traffic(
            o.hosts, o.slots, o.users, o.exponent, o.requests, o.outstanding, planned.seconds,
            KEY_SET_BYTES[accelerator], moved, link, o.seed,
        )  # fmt: skip

    def routing_load(self) -> Iterator[Row]:
        """Locality against turns by how many requests are under way: few give the router little choice."""
        for accelerator in ACCELERATORS:
            asked = self._traffic(accelerator)
            for count in LOADS:
                if asked.requests <= count * asked.hosts:
                    continue
                turn, near = (
                    simulate_routing(dataclasses.replace(asked, outstanding=count), route)
                    for route in ROUTES[:2]
                )
                about = {"accelerator": accelerator, "outstanding": count}
                fewer, rate = turn.network_bytes / near.network_bytes, near.throughput / turn.throughput
                yield about | {"fewer": fewer, "rate": rate}

    def _routes(self, accelerator: str) -> Iterator[Row]:
        o, workload, network = self._options, self._options.workloads[0], "ethernet"
        found, memory = self.case(accelerator, workload), self._memory[accelerator]
        load = self.load(accelerator, workload).split(memory / PIECES)
        traffic, link = self._traffic(accelerator), NETWORKS[network]
        about = {"accelerator": accelerator, "workload": workload, "network": network, "hosts": o.hosts}
        for route in ROUTES:
            served = simulate_routing(traffic, route)
            yield (
                about
                | {"route": route, **_served(served.throughput, served.network_bytes, o.requests)}
                | {
                    "key_loads": served.loads,
                    "most_copies": served.copies,
                }
            )
        steps = cluster_steps(load, found, network, o.hosts, memory)
        tier = TIERS[REQUEST_TIER]
        seconds = simulate_cluster(steps, o.hosts, tier, link, ahead=True, key_memory=memory)
        exchanged = sum(each.exchanged for each in steps) * o.hosts * o.requests
        none = {"key_loads": 0, "most_copies": 1}
        yield about | {"route": "limb-parallel", **_served(1 / seconds, exchanged, o.requests), **none}

    def key_nodes(self) -> Iterator[Row]:
        """Keys fetched against ciphertexts moved, for the linear maps of our programs."""
        for workload in self._options.workloads:
            compute = self.load("tensorfhe", workload).compute
            yield from map_rows(self.sequence(workload), TIERS["rdma"], compute)

    def simgrid(self) -> Iterator[Row]:
        """The same scenarios in SimGrid."""
        for accelerator in ACCELERATORS:
            for workload in self._options.workloads:
                found, memory = self.case(accelerator, workload), self._memory[accelerator]
                load = self.load(accelerator, workload).split(memory / PIECES)
                for hosts in (1, HOSTS[-1]):
                    steps = cluster_steps(load, found, "ethernet", hosts, memory)
                    for ahead in (False, True):
                        name = f"{accelerator}, {workload}, pcie, ethernet"
                        yield compare(name, steps, hosts, TIERS["pcie"], NETWORKS["ethernet"], ahead)


def _served(throughput: float, network_bytes: float, requests: int) -> Row:
    return {"requests_per_second": throughput, "network_bytes_per_request": network_bytes / requests}


def _by_policy(load: KeyLoad, rate: float, bandwidth: float, memory: float) -> Row:
    """Slowdowns of all policies, beside the closed form and its bound; bytes that planned loads."""
    runs = {policy: simulate(load, bandwidth, policy, memory) for policy in POLICIES}
    none, planned = runs["none"].slowdown, runs["planned"].slowdown
    return {
        "closed_form": slowdown(rate, bandwidth),
        **{policy: each.slowdown for policy, each in runs.items()},
        "bound": overlapped(rate, bandwidth),
        "recovered": (none - planned) / (none - 1),
        "planned_bytes_share": runs["planned"].loaded_bytes / load.total_bytes,
    }
